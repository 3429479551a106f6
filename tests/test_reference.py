"""What docs/language.md says in a sentence, and no other test looks at."""

from __future__ import annotations

import pytest
from stepping import Run, compiled, only_system

from fsmdsl.search import explore

TOGGLES = """
machine M {
    p: bool
    q: bool
    n: 0..3
    initial state A
    event a, b from environment
    A on a do p = not p
    A on b do q = not q
}
"""


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("not m.n == 1 and m.q", "(not (m.n == 1)) and m.q"),
        ("always m.p and m.q", "(always m.p) and m.q"),
        ("eventually m.p or m.q", "(eventually m.p) or m.q"),
        ("next m.p => m.q", "(next m.p) => m.q"),
        ("m.p or m.q until m.q and m.p", "(m.p or m.q) until (m.q and m.p)"),
        ("m.p until m.q => m.p", "(m.p until m.q) => m.p"),
        ("m.p => m.q ~> m.p", "(m.p => m.q) ~> m.p"),
        ("m.p ~> m.q ~> m.p", "m.p ~> (m.q ~> m.p)"),
        ("m.p => m.q => m.p", "m.p => (m.q => m.p)"),
        ("not all x in {1, 2}: m.n == x and m.q", "not (all x in {1, 2}: (m.n == x and m.q))"),
        ("always if m.p then m.q else m.q and m.p", "always (if m.p then m.q else (m.q and m.p))"),
    ],
)
def test_operators_bind_as_the_reference_says(short: str, long: str) -> None:
    def formula(text: str) -> object:
        return only_system(compiled(f"{TOGGLES} system S {{ m: M  property it: {text} }}")).properties[0].formula

    assert formula(short) == formula(long)


LEVELS = """
machine M {
    other: M?
    k: bool
    initial state Outer { initial state Inner }
    event go from environment
    Inner on go when %s
    Outer on go when other.k
}
system S { m: M }
"""


def test_guards_further_out_are_not_evaluated_once_one_further_in_holds() -> None:
    assert Run(LEVELS % "not k").send("m", "go").fault is None
    fault = Run(LEVELS % "k").send("m", "go").fault
    assert fault is not None
    assert fault.kind == "none"


def test_all_guards_of_one_source_are_evaluated() -> None:
    text = """
    machine M { other: M?  k: bool  initial state A  event go from environment
                a: A on go when not k  b: A on go when other.k  priority a > b }
    system S { m: M }
    """
    fault = Run(text).send("m", "go").fault
    assert fault is not None
    assert fault.kind == "none"


def test_a_crash_can_come_while_an_answer_is_awaited_and_the_answer_never_comes() -> None:
    run = Run("""
    machine M { initial persistent state A  persistent state B  event go from environment  action work -> ok
                A -> B on go do work  B -> A on work.ok }
    system S { m: M  environment { m.go crash } }
    """)
    run.take("m.go")
    assert run.steps() == ["m.work.ok", "crash"]
    run.take("crash")
    assert run.world.pending == ()
    assert run.steps() == ["crash"]


def test_the_nearest_of_persistent_and_volatile_counts() -> None:
    text = """
    machine M { initial state Up
                volatile state Outer { initial persistent state Kept  state Gone }
                event in_, on_ from environment
                Up -> Kept on in_  Kept -> Gone on on_ }
    system S { m: M  environment { m.in_ m.on_ crash } }
    """
    run = Run(text)
    run.take("m.in_")
    assert run.attempt("crash").fault is None
    run.take("m.on_")
    fault = run.attempt("crash").fault
    assert fault is not None
    assert fault.kind == "lost"


def test_a_state_whose_only_steps_fail_is_no_deadlock() -> None:
    model = compiled("""
    machine M { n: 0..1 = 1  initial state A  final state B  event go from environment  A on go do n = n + 1 }
    system S { m: M }
    """)
    x = explore(model, only_system(model))
    assert [(v.kind, v.name) for v in x.violations] == [("fault", "range")]


def test_a_repeated_message_waits_behind_the_first() -> None:
    run = Run("""
    channel c: duplicating fifo[3] to M
    machine M { initial state A  event note(n: 0..1) from c  event go from environment  A on note
                A on go do { send c.note(0) send c.note(1) } }
    system S { m: M  environment { m.go when size(c) == 0 } }
    """)
    run.take("m.go")
    run.take("duplicate c")
    assert [x.arguments for x in run.world.channels[0]] == [(0,), (0,), (1,)]
