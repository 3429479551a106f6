"""Formatting: what stands where, and that meaning and comments stay, for examples, all specs, and random texts."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_texts import spec
from tiers import enough, share, today

from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import Parsed, parse
from fsmdsl.text.source import Source

ROOT = Path(__file__).parent.parent
SPECS = [*sorted((ROOT / "specs").rglob("*.fsm")), *sorted((ROOT / "benchmarks").rglob("*.fsm"))]


def formatted(text: str) -> str:
    """The canonical text, after making sure that it means the same, has all comments and is its own canonical text."""
    parsed = parse(Source("x.fsm", text))
    assert [str(d) for d in parsed.diagnostics] == []
    result = format_source(parsed)
    again = parse(Source("x.fsm", result))
    assert [str(d) for d in again.diagnostics] == []
    assert again.module == parsed.module
    assert remarks(again) == remarks(parsed)
    assert format_source(again) == result
    return result


def remarks(parsed: Parsed) -> Counter[tuple[bool, str]]:
    """The comments, regardless of the space behind the slashes."""
    return Counter((c.doc, re.sub(r"^/+\s*", "", c.text).strip()) for c in parsed.comments)


def inside(lines: str, around: str = "machine M {{\n{}\n}}\n") -> str:
    """The canonical lines of what is in a machine, without their indentation."""
    result = formatted(around.format(lines)).split("\n")
    assert all(not line or line.startswith("    ") for line in result[1:-2])
    return "\n".join(line[4:] for line in result[1:-2])


# Examples ------------------------------------------------------------------------------------------------------------


def test_a_table_of_transitions() -> None:
    text = """
    e0: Free->Used on take( by ) do{allocate(by) user=by}
    e1: Used    ->   Free on free do { release;user = none }
    Used on take when by in{a,b} do release    // stays
    ec: Reserving -> Used, Reserved -> Free on crash /// the way back
    """
    assert inside(text) == (
        "e0: Free      -> Used  on take(by)  do { allocate(by); user = by }\n"
        "e1: Used      -> Free  on free      do { release; user = none }\n"
        "    Used               on take      when by in {a, b}  do release    // stays\n"
        "ec: Reserving -> Used, Reserved -> Free  on crash                    /// the way back"
    )


def test_one_transition_alone_has_single_spaces() -> None:
    assert inside("  e0 :  Free  ->  Used   on take  do  x  ") == "e0: Free -> Used on take do x"


def test_rows_with_comments_between_them_are_one_table_if_they_are_labelled() -> None:
    text = "/// One.\na: Free -> Used on x\n\n/// Two.\nb: Reserved -> Free on y\n\nc: Used -> Free on z"
    assert inside(text) == (
        "/// One.\na: Free     -> Used  on x\n\n/// Two.\nb: Reserved -> Free  on y\n\nc: Used -> Free on z"
    )


def test_long_transitions_have_their_clauses_below_one_another() -> None:
    text = """
    e0: Pending -> Allocated on schedule(choice) when all c in choice: c in {Free, Reserved, Used}
        do { cells = choice; for c in choice { c.take(self) } }
    e1: Pending -> Deleted on pods_deleted
    """
    assert inside(text) == (
        "e0: Pending -> Allocated  on schedule(choice)  when all c in choice: c in {Free, Reserved, Used}\n"
        "                          do { cells = choice; for c in choice { c.take(self) } }\n"
        "e1: Pending -> Deleted    on pods_deleted"
    )


def test_effects_that_are_too_long_become_a_block() -> None:
    long = "; ".join(f"field_{i} = parameter_{i}" for i in range(6))
    assert inside(f"A -> B on x do {{ {long}; if c {{ a }} else {{ b }} }}") == (
        "A -> B on x do {\n"
        + "".join(f"    field_{i} = parameter_{i}\n" for i in range(6))
        + "    if c { a } else { b }\n}"
    )


def test_guards_that_are_too_long_are_broken_at_their_loosest_operators() -> None:
    part = "all c in cells: c in {Free, Reserved}"
    assert inside(f"A -> B on x when ({part}) and ({part}) and ({part}) and wait do y") == (
        f"A -> B on x\n    when ({part})\n         and ({part})\n         and ({part})\n         and wait\n    do y"
    )


def test_fields_and_parameters() -> None:
    text = "param  size :1 ..16=3 // n\ndurable user: Group ?\n\n\nready:bool"
    assert inside(text) == "param size:   1..16 = 3    // n\ndurable user: Group?\n\nready: bool"


def test_states() -> None:
    text = (
        'initial state A /// first\nfinal error state Failed "it failed" /// last\nstate B { initial state C state D }'
    )
    assert inside(text) == (
        'initial     state A                     /// first\nfinal error state Failed "it failed"    /// last\n'
        "state B {\n    initial state C\n            state D\n}"
    )


def test_events_actions_hooks() -> None:
    text = (
        "event a(x:set<T>,y :list<U>[3]),b from c.D\nevent e from environment\n"
        "action p,q->ok|err\naction r\non  entry( A,B ) do p\non exit(A) do { }"
    )
    assert inside(text) == (
        "event a(x: set<T>, y: list<U>[3]), b  from c.D\n"
        "event e                               from environment\n"
        "action p, q -> ok | err\n"
        "action r\n"
        "on entry(A, B)  do p\n"
        "on exit(A)      do {}"
    )


def test_invariants_and_properties() -> None:
    text = (
        "invariant a: Used=>user!=none\ninvariant long: Free  =>  -1 <user\nreachable r:x\n"
        "property p: a~>b under fair x and strong fair y.z\ninvariant not(a or b)"
    )
    assert inside(text, "system S {{\n{}\n}}\n") == (
        "invariant a:    Used   => user != none\n"
        "invariant long: Free   => -1 < user\n"
        "reachable r:    x\n"
        "property  p:    a ~> b under fair x and strong fair y.z\n"
        "invariant not (a or b)"
    )


def test_signs_of_expressions() -> None:
    text = "let a=-b+(-c)-{d}&[e,f]*2*-g\nlet g( h :bool )=f(( x ),{ },[ ]).y[ 0 ](z)"
    assert inside(text + "\nlet k=if a then b else(count c in s :c)") == (
        "let a = -b + (-c) - {d} & [e, f] * 2 * -g\n"
        "let g(h: bool) = f((x), {}, []).y[0](z)\n"
        "let k = if a then b else (count c in s: c)"
    )


def test_amendments() -> None:
    text = 'amends "why" A -> B on x\namends "why" replaces e: A -> B on x\namends "why" { ignore x in * state C }'
    assert inside(text) == (
        'amends "why"\n    A -> B on x\namends "why" replaces\n    e: A -> B on x\n'
        'amends "why" {\n    ignore x in *\n    state C\n}'
    )


def test_modules() -> None:
    text = (
        'module a.b import c{D,E} source "t" at "p"\nenum L{ low<high }enum K { a /// one\n|b }\n'
        "opaque X,Y channel q:lossy fifo[2] to M\nmachine M{ }system S{a:M[2]{x=1}\n"
        "environment{ some g in a:g.x when y crash }\n"
        "recover{ for g in a{ g.x } } }locks{A>child B operation o{ write(A){ B } } }\n// the end"
    )
    assert formatted(text) == (
        "module a.b\n"
        "import c { D, E }\n"
        'source "t" at "p"\n'
        "enum L { low < high }\n"
        "\n"
        "enum K {\n"
        "    a    /// one\n"
        "    | b\n"
        "}\n"
        "\n"
        "opaque X, Y\n"
        "channel q: lossy fifo[2] to M\n"
        "machine M {}\n"
        "\n"
        "system S {\n"
        "    a: M[2] { x = 1 }\n"
        "    environment {\n"
        "        some g in a: g.x when y\n"
        "        crash\n"
        "    }\n"
        "    recover { for g in a { g.x } }\n"
        "}\n"
        "\n"
        "locks {\n"
        "    A > child B\n"
        "    operation o { write(A) { B } }\n"
        "}\n"
        "// the end\n"
    )


def test_steps_that_share_a_line_stay_together() -> None:
    text = "g0.schedule({c0}) expect g0 in Allocated via e0\ng0.gone   expect g0 in Deleted   via e3, e4\ncrash"
    assert inside(text, "scenario S {{\n{}\n}}\n") == (
        "g0.schedule({c0})   expect g0 in Allocated   via e0\n"
        "g0.gone             expect g0 in Deleted     via e3, e4\n"
        "crash"
    )


def test_blank_lines_are_kept_one_at_a_time_and_not_at_the_edges_of_braces() -> None:
    assert inside("\n\nstate A\n\n\n\nstate B\nstate C\n\n") == "state A\n\nstate B\nstate C"


def test_comments_stay_where_they_are() -> None:
    text = """
    // before

    //crowded
    state A // behind

    A -> B on x do { // opening
        // before an effect
        a; // behind an effect

        b
        // at the end of the effects
    } // behind the block
    A -> B on y // between clauses
        when c
    // at the end
    """
    assert inside(text) == (
        "// before\n"
        "\n"
        "// crowded\n"
        "state A    // behind\n"
        "\n"
        "A -> B  on x do {  // opening\n"
        "    // before an effect\n"
        "    a  // behind an effect\n"
        "\n"
        "    b\n"
        "    // at the end of the effects\n"
        "}    // behind the block\n"
        "A -> B on y  // between clauses\n"
        "    when c\n"
        "// at the end"
    )


def test_slashes_in_comments_stay() -> None:
    assert inside("state A //see http://x.y\nstate B /// a///b //c\n//////// c") == (
        "state A    // see http://x.y\nstate B    /// a///b //c\n//////// c"
    )


def test_a_word_that_would_become_a_keyword_keeps_its_semicolon() -> None:
    long = "; ".join(f"field_{i} = parameter_{i}" for i in range(6))
    assert "    add;\n    x\n" in inside(f"A -> B on x do {{ {long}; add; x }}") + "\n"
    assert "    add(x);\n    to\n" in inside(f"A -> B on x do {{ {long}; add(x); to; y }}") + "\n"
    assert "    remove(x);\n    from\n" in inside(f"A -> B on x do {{ {long}; remove(x); from; y }}") + "\n"


def test_nothing_and_comments_alone() -> None:
    assert formatted("") == ""
    assert formatted("\ufeff\r\n \r\n") == ""
    assert formatted("// a\r\n\r\n\r\n/// b") == "// a\n\n/// b\n"


def test_what_has_errors_is_not_formatted() -> None:
    with pytest.raises(ValueError, match="errors"):
        format_source(parse(Source("x.fsm", "machine {")))


# Everything ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", today(SPECS), ids=lambda path: path.stem)
def test_specs(path: Path) -> None:
    text = formatted(path.read_text("utf-8"))
    assert formatted(" ".join(re.sub(r"//[^\n]*", "", path.read_text("utf-8")).split()))
    assert [line for line in text.splitlines() if len(line) > 120 and "//" not in line and '"' not in line] == []
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


@given(st.integers(0, 2**32), st.integers(1, 3), st.sampled_from([0.0, 0.03, 0.15]))
@settings(max_examples=share(60), deadline=None)
def test_random_texts(seed: int, parts: int, remarks: float) -> None:
    """A few cannot be read, because a word that was meant as a name could be a keyword."""
    text = spec(Random(seed), parts, remarks)
    if not parse(Source("x.fsm", text)).diagnostics:
        formatted(text)


def test_most_random_texts_can_be_read() -> None:
    texts = [spec(Random(seed), 1, 0.0) for seed in today(range(100))]
    assert sum(not parse(Source("x.fsm", text)).diagnostics for text in texts) >= enough(90)
