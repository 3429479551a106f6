"""What people read: frames around source lines, sequence diagrams of runs, the page."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

from fsmdsl import model as m
from fsmdsl.draw import sequence
from fsmdsl.model.resolve import resolve
from fsmdsl.report.anchors import anchor
from fsmdsl.report.assets import fingerprint, script, style
from fsmdsl.report.chart import chart, violation
from fsmdsl.report.columns import columns
from fsmdsl.report.exploration import details, explored_part, never_followed, summary, verdict
from fsmdsl.report.frames import frame, frames, tally
from fsmdsl.report.page import SCRIPTS, STYLES, page, paragraphs, prose, script_data
from fsmdsl.report.views import Report
from fsmdsl.search import explore, play
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity, ordered
from fsmdsl.text.source import Source, Span

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
    changes = [i.label for i in drawn.items if isinstance(i, sequence.Change)]
    assert changes[:3] == ["go: A → B", "come: in C", "work.done: B → A"] or changes[:3] == [
        "go: A → B",
        "come: in C",
        "done: B → A",
    ]


def test_what_is_posted_is_shown_with_its_arguments() -> None:
    spec = PAIR.replace("event letter from", "event letter(n: 0..9) from").replace(
        "send letters.letter", "send letters.letter(3)"
    )
    played = play(model(spec), model(spec).scenarios["x.both"])
    (message,) = [i for i in chart("both", played.trace).items if isinstance(i, sequence.Message) and i.posted]
    assert message.text == "letter(3)"


def test_a_transition_that_leaves_its_source_is_not_internal_even_if_it_comes_back() -> None:
    assert sequence.Change(0, "A", "A", "e6").label == "e6: A → A"
    assert sequence.Change(0, "A", "A", "e6", internal=True).label == "e6: in A"


LAMP = """
machine Lamp {
    initial state Off
    state On
    event toggle, look from environment
    Off -> On on toggle
    On -> Off on toggle
    * on look
}
system Room { lamp: Lamp  property lit: lamp in Off ~> always lamp in On }
"""


def test_a_run_for_ever_is_a_loop_in_the_chart_that_ends_with_what_is_wrong() -> None:
    (v,) = explore(model(LAMP), model(LAMP).systems["x.Room"]).violations
    items = violation("lit", v).items
    assert sum(isinstance(i, sequence.LoopBegins) for i in items) == 1
    (failure,) = [i for i in items if isinstance(i, sequence.Failure)]
    assert failure.text.startswith(
        "lit violated: in the beginning, `lamp in Off` holds; from the beginning on, `always lamp in On`"
    )


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


# Explorations as text ------------------------------------------------------------------------------------------------


def test_what_is_asked_reads_as_words() -> None:
    of = model(LAMP.replace("~> always lamp in On", "~> lamp in On"))
    shown = [v.label for v in explore(of, of.systems["x.Room"]).verdicts]
    assert shown == ["no step fails", "no deadlock", "property lit"]
    of = model("machine M { initial state A  final state B }  system S { m: M }")
    assert [v.label for v in explore(of, of.systems["x.S"]).violations] == ["deadlock"]


def test_a_row_that_is_followed_from_some_sources_says_from_which_it_is_not() -> None:
    of = model(
        "machine M { initial state A  state B  event e, f from environment  e: A, B -> A on e  f: B -> A on f }"
        "system S { m: M }"
    )
    assert never_followed(explore(of, of.systems["x.S"]), of) == ["M e from B", "M f"]


FAILING = """
machine Lamp {
    n: 0..1
    initial state Off
    state On
    event toggle, up from environment
    Off -> On on toggle
    On -> Off on toggle
    up: On on up do n = n + 1
    invariant low: n < 2
}
system Room {
    lamp: Lamp
    property lit: lamp in Off ~> lamp in On
    reachable on: lamp in On
    reachable high: lamp.n == 2
}
"""


def test_the_evidence_of_what_holds_says_that_some_steps_fail() -> None:
    """What is behind them is unknown. A run shows what it shows all the same."""
    some_fail = "exhaustive, but some steps fail: 4 states"
    for text, basis in ((FAILING, some_fail), (FAILING.replace("n + 1", "0"), "exhaustive: 2 states")):
        of = model(text)
        x = explore(of, of.systems["x.Room"])
        bases = {v.label: v.basis for v in x.verdicts if v.kind != "fault"}
        assert bases == {
            "invariant Lamp: low": basis,
            "reachable on": "a trace of 1 step",
            "reachable high": basis,
            "no deadlock": basis,
            "property lit": basis,
        }
        assert f"({basis.partition(':')[0]})" in summary(x)
        unchecked = replace(x, verdicts=(*x.verdicts, replace(x.verdicts[0], outcome="not checked")))
        joint = ", but some steps fail, and" if x.fails else ", but"
        assert f"(exhaustive{joint} 1 not checked)" in summary(unchecked)
        assert explored_part(x) == "every reachable state" + ", but some steps fail" * x.fails
        within = explored_part(replace(x, beyond=1))
        assert within == "every state within the bound" + ", but some steps fail" * x.fails
        assert replace(x, beyond=1).extent == "within the bound" + ", but some steps fail" * x.fails
        assert replace(x, stopped="stopped at 4 states").extent == "stopped at 4 states"


def test_what_could_not_be_checked_is_no_success() -> None:
    of = model(LAMP.replace("~> always lamp in On", "~> lamp in On"))
    x = explore(of, of.systems["x.Room"])
    some = replace(x, verdicts=(*x.verdicts, replace(x.verdicts[-1], outcome="not checked", basis="too large")))
    assert (verdict(x), verdict(some)) == ("violated", "violated")
    held = replace(some, verdicts=tuple(v for v in some.verdicts if v.outcome != "violated"))
    assert verdict(held) == "bounded"
    assert "(exhaustive, but 1 not checked)" in summary(held)
    assert "  not checked: property lit (too large)" in list(details(held, of))


# The page ------------------------------------------------------------------------------------------------------------


def test_columns_are_as_high_as_their_counts() -> None:
    drawn = columns((1, 40, 20, 0))
    assert re.findall(r'height="([\d.]+)" fill', drawn) == ["2.20", "88.00", "44.00", "0.00"]
    assert "depth 1: 40 states" in drawn
    assert re.findall(r">(\d+)</text>", drawn) == ["40", "0", "0", "1", "2", "3"]
    assert columns(()) == ""
    assert 'width="780"' in columns((3,) * 1000)
    assert re.findall(r">(\d+)</text>", columns((3,) * 1000))[2:] == ["0", *map(str, range(50, 1000, 50)), "999"]


def test_an_empty_page_is_a_page() -> None:
    text = page(Report("<Nothing>", (), ()))
    assert "&lt;Nothing&gt;" in text
    assert "<Nothing>" not in text
    assert "No system was explored." in text


def test_data_cannot_end_the_script_it_stands_in() -> None:
    assert str(script_data({"a": "</script><!--\u2028"})) == '{"a":"\\u003c/script>\\u003c!--\\u2028"}'


def test_scripts_and_styles_can_stand_in_a_page() -> None:
    together = script(*SCRIPTS) + style(*STYLES)
    assert not re.search(r"</(script|style)|<!--", together, re.IGNORECASE)
    assert not re.search(r"^(import|export) ", together, re.MULTILINE)
    assert fingerprint("a") == "sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs="


def test_doc_comments_are_escaped_and_code_is_marked() -> None:
    assert str(prose("a `<b>` & c")) == "a <code>&lt;b&gt;</code> &amp; c"
    assert str(prose("one ` alone <i>")) == "one ` alone &lt;i&gt;"


def test_lines_of_doc_comments_flow_and_lists_do_not() -> None:
    text = "one\ntwo <b>\n\nthree:\n- four\n  five\n- six"
    assert str(paragraphs(text)) == (
        '<p class="doc">one two &lt;b&gt;</p>\n<p class="doc">three:\n- four five\n- six</p>'
    )


def test_anchors_are_harmless() -> None:
    assert anchor("a.b", 'x" onclick="y') == "a.b-x--onclick--y"
    assert anchor("né") != anchor("nè")
