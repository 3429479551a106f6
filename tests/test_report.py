"""What people read: frames around source lines, sequence diagrams of runs, the page."""

from __future__ import annotations

from typing import get_args

from fsmdsl import model as m
from fsmdsl.diagnostics import Diagnostic, Rule, Severity, ordered
from fsmdsl.draw import sequence
from fsmdsl.explore import explore, play
from fsmdsl.parse import parse
from fsmdsl.report.chart import chart
from fsmdsl.report.frames import frame, frames, tally
from fsmdsl.report.page import Report, anchor, page, prose
from fsmdsl.resolve import resolve
from fsmdsl.source import Source, Span

RULE = Rule("FSM999", "made-up", Severity.ERROR, "for tests", "")
NOTE = Rule("FSM998", "made-up-note", Severity.NOTE, "for tests", "")


def found(text: str, start: int, end: int, message: str = "wrong") -> Diagnostic:
    return RULE.at(Span(Source("a.fsm", text), start, end), message)


def model(text: str) -> m.Model:
    resolved = resolve([parse(Source("x.fsm", text)).module])
    assert resolved.diagnostics == ()
    assert resolved.model is not None
    return resolved.model


# Frames --------------------------------------------------------------------------------------------------------------


def test_a_frame_marks_the_place_and_says_what_to_do() -> None:
    d = found("one\n  two three\nfour", 10, 15).label(Span(Source("b.fsm", "other"), 0, 5), "seen here")
    assert frame(d.note("a note\nof two lines").help("do that")) == (
        "error[FSM999]: wrong\n"
        " --> a.fsm:2:7\n"
        "  |\n"
        "2 |   two three\n"
        "  |       ^^^^^\n"
        " ::: b.fsm:1:1\n"
        "  |\n"
        "1 | other\n"
        "  | ----- seen here\n"
        "  = note: a note\n"
        "          of two lines\n"
        "  = help: do that\n"
    )


def test_tabs_and_wide_letters_keep_the_mark_in_place() -> None:
    lines = frame(found("\t状態 x", 4, 5)).splitlines()
    assert lines[3:] == ["1 |     状態 x", "  |          ^"]


def test_what_spans_lines_is_marked_to_the_end_of_the_first() -> None:
    assert frame(found("ab\ncd", 1, 5)).splitlines()[-1] == "  |  ^"


def test_a_megabyte_on_one_line_is_cut() -> None:
    text = "x" * 1_000_000
    shown = frame(found(text, 500_000, 500_003))
    assert len(shown) < 500
    assert shown.splitlines()[-1].strip().endswith("^^^")


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in frame(found("a\x1b[31mb", 0, 1))


def test_a_place_without_text_is_a_file() -> None:
    assert frame(RULE.at(Span(Source("gone.fsm", ""), 0, 0), "cannot be read")).splitlines()[1:] == [" --> gone.fsm"]


def test_findings_are_counted_and_ordered() -> None:
    text = "some text"
    listed = [found(text, 5, 6), found(text, 1, 2), NOTE.at(Span(Source("a.fsm", text), 0, 1), "by the way")]
    assert tally(listed) == "2 errors, 1 note"
    assert [d.span.start for d in ordered([*listed, *listed])] == [0, 1, 5]
    assert frames(listed).count("-->") == 3


# Sequence diagrams ---------------------------------------------------------------------------------------------------

PAIR = """
channel letters: fifo[1] to Right
machine Left {
    param right: Right
    initial state A
    state B
    event go, write from environment
    action work -> done
    go:    A -> B on go do { right.come(3); work }
    done:  B -> A on work.done
    write: A on write do send letters.letter
}
machine Right {
    number: 0..9
    initial state C
    event come(n: 0..9) from Left
    event letter from letters
    come:   C on come(n) do number = n
    ignore letter in C
}
scenario both {
    right: Right
    left: Left { right = right }
    left.go
    left.work.done
    left.write
    deliver letters
    fails right.come(1) with unhandled
}
"""


def test_a_run_becomes_a_chart() -> None:
    played = play(model(PAIR.replace("    fails right.come(1) with unhandled\n", "")), model(PAIR).scenarios["x.both"])
    drawn = chart("both", played.trace)
    names = [p.name for p in drawn.participants]
    assert names == ["environment", "right", "left", "letters"]
    told = [
        (names[i.source or 0], names[i.target or 0], i.text) for i in drawn.items if isinstance(i, sequence.Message)
    ]
    assert told == [
        ("environment", "left", "go"),
        ("left", "right", "come(3)"),
        ("environment", "left", "work.done"),
        ("environment", "left", "write"),
        ("left", "letters", "letter"),
        ("letters", "right", "deliver"),
        ("environment", "right", "come(1)"),
    ]
    notes = [i.text for i in drawn.items if isinstance(i, sequence.Note)]
    assert notes == ["number = 3", "calls work", "ignores letter", "number = 1"]
    changes = [i.shown for i in drawn.items if isinstance(i, sequence.Change)]
    assert changes[:3] == ["go: A → B", "come: C → C", "work.done: B → A"] or changes[:3] == [
        "go: A → B",
        "come: C → C",
        "done: B → A",
    ]


def test_a_fault_stands_in_the_chart() -> None:
    spec = "machine M { initial state A event go from environment A -> A on go do self.go } system S { m: M }"
    (violation,) = explore(model(spec.replace("from environment", "from environment, M")), _system(spec)).violations
    assert violation.trace is not None
    items = chart("fault", violation.trace).items
    (failure,) = [i for i in items if isinstance(i, sequence.Failure)]
    assert failure.text.startswith("reentrance")
    assert {type(i) for i in items} <= set(get_args(sequence.Item))


def _system(spec: str) -> m.System:
    return model(spec.replace("from environment", "from environment, M")).systems["x.S"]


# The page ------------------------------------------------------------------------------------------------------------


def test_an_empty_page_is_a_page() -> None:
    text = page(Report("<Nothing>", (), ()))
    assert "&lt;Nothing&gt;" in text
    assert "<script" not in text


def test_doc_comments_are_escaped_and_code_is_marked() -> None:
    assert str(prose("a `<b>` & c")) == "a <code>&lt;b&gt;</code> &amp; c"
    assert str(prose("one ` alone <i>")) == "one ` alone &lt;i&gt;"


def test_anchors_are_harmless() -> None:
    assert anchor("a.b", 'x" onclick="y') == "a.b-x--onclick--y"
