"""The checks as a whole: decisions about guards against brute force, fixes, the table of events, and time."""

from __future__ import annotations

import re
from itertools import product
from typing import Literal

import pytest
from counting import calls
from hypothesis import given
from hypothesis import strategies as st
from literate import findings

from fsmdsl import model as m
from fsmdsl.check import check, completeness
from fsmdsl.check.subject import Subject
from fsmdsl.model.resolve import resolve
from fsmdsl.runs.simulation.closed_system import closed
from fsmdsl.search import explore
from fsmdsl.step import Frame, Universe, initial, truth
from fsmdsl.step.values import domain
from fsmdsl.step.world import World
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Source


def model_of(text: str) -> m.Model:
    parsed = parse(Source("case.fsm", text))
    resolved = resolve([parsed.module])
    assert resolved.model is not None, (parsed.diagnostics, resolved.diagnostics)
    return resolved.model


def found_in(text: str, code: str) -> list[Diagnostic]:
    return [d for d in findings([Source("case.fsm", text)]) if d.rule.code == code]


# Decisions about guards, against trying everything -------------------------------------------------------------------

NUMBERS = st.sampled_from(["n", "k", "how", "0", "1", "2", "3"])
SUMS = st.one_of(
    NUMBERS,
    st.builds("({} {} {})".format, NUMBERS, st.sampled_from("+-*"), NUMBERS),
    st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), NUMBERS, NUMBERS),
    st.builds("(if lit then {} else {})".format, NUMBERS, NUMBERS),
)
COMPARISONS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
ATOMS = st.one_of(
    st.builds("{} {} {}".format, SUMS, COMPARISONS, SUMS),
    st.builds("level {} {}".format, COMPARISONS, st.sampled_from(["low", "mid", "high"])),
    st.builds("{} in {{{}, {}}}".format, NUMBERS, NUMBERS, NUMBERS),
    st.builds("kinds has {}".format, st.sampled_from(["soft", "hard"])),
    st.sampled_from(["lit", "wide", "A", "maybe == none", "maybe != none", "maybe == 1", "kinds == {}", "enough(k)"]),
    st.sampled_from(["size(kinds) > 1", "maybe != none and maybe < n", "maybe == none or maybe > 1"]),
)
GUARDS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("not ({})".format, inner),
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["and", "or", "=>"]), inner),
        st.builds("(if {} then {} else {})".format, inner, inner, inner),
    ),
    max_leaves=5,
)
MACHINE = """
enum Level {{ low < mid < high }}
enum Kind {{ soft | hard }}
machine Door {{
    n: 0..3
    k: 1..3
    lit: bool
    level: Level
    maybe: 0..1?
    kinds: set<Kind>
    let wide = n + k > 3
    let enough(x: 0..9) = x >= 2 or lit
    initial state A
    state B
    event push(how: 0..2), back from environment
    one: A -> B on push(how) when {0}
    two: A -> A on push(how) when {1}
    B -> A on back
}}
"""


def worlds(universe: Universe) -> list[tuple[World, dict[str, int]]]:
    """The machine in its initial state with every combination of values, and every argument of `push`."""
    begin = initial(universe)
    types = [f.type for f in universe.machines[0].fields]
    combinations = product(*(domain(t, universe) for t in types))
    return [
        (World(begin.states, (values,), begin.waited, begin.channels, begin.pending, begin.down), {"how": how})
        for values in combinations
        for how in range(3)
    ]


def truths(model: m.Model, guard: m.Expr) -> list[bool | None]:
    """Of a guard, for everything; None where it ends in a fault."""
    universe = Universe(model, closed(model, next(iter(model.machines.values()))))
    return [_truth(universe, world, bound, guard) for world, bound in worlds(universe)]


def _truth(universe: Universe, world: World, bound: dict[str, int], guard: m.Expr) -> bool | None:
    from fsmdsl.step import FaultError

    try:
        return truth(Frame(universe, world, 0, bound), guard)
    except FaultError:
        return None


@given(GUARDS, GUARDS)
def test_guards_are_decided_as_trying_everything_does(one: str, two: str) -> None:
    model = model_of(MACHINE.format(one, two))
    first, second = (t for t in next(iter(model.machines.values())).transitions if t.label)
    assert first.guard is not None
    assert second.guard is not None
    a, b = truths(model, first.guard), truths(model, second.guard)
    found = check(model)
    assert _reported(found, "FSM206") is any(x is True and y is True for x, y in zip(a, b, strict=True))
    assert not _reported(found, "FSM207")
    for t, values in ((first, a), (second, b)):
        assert t.guard is not None
        at = {d.rule.code for d in found if d.span == t.guard.span}
        assert ("FSM209" in at) is (True not in values)
        assert ("FSM208" in at) is (True in values and False not in values)


def _reported(found: list[Diagnostic], code: str) -> bool:
    return any(d.rule.code == code for d in found)


@given(
    GUARDS, st.sampled_from(["n = n + how", "n = n - k", "n = k + how", "k = n", "k = max(n, how)", "n = k - 1 + n"])
)
def test_ranges_are_decided_as_trying_everything_does(guard: str, effect: str) -> None:
    text = MACHINE.format(guard, "false").replace(f"when {guard}\n", f"when {guard} do {effect}\n", 1)
    model = model_of(text)
    machine = next(iter(model.machines.values()))
    t = machine.transitions[0]
    assert t.guard is not None
    assign = t.effects[0]
    assert isinstance(assign, m.Assign)
    allowed = {
        v: isinstance(assign.type, m.RangeType) and assign.type.low <= v <= assign.type.high for v in range(-9, 19)
    }
    universe = Universe(model, closed(model, machine))
    from fsmdsl.step import evaluate

    fits = [
        allowed[value]
        for world, bound in worlds(universe)
        if _truth(universe, world, bound, t.guard) is True
        and isinstance(value := evaluate(Frame(universe, world, 0, bound), assign.value), int)
    ]
    found = check(model)
    assert _reported(found, "FSM221") is (bool(fits) and not any(fits))
    assert _reported(found, "FSM222") is (any(fits) and not all(fits))


def test_both_remedies_of_a_counter_that_only_grows_prevent_the_fault() -> None:
    text = """
    machine Counter {{ n: 0..9  initial state On  event up from environment  On on up do n = {} }}
    system S {{ counters: Counter[2]  {}  may rest when true  invariant small: all c in counters: c.n <= 9 }}
    """
    (note,) = found_in(text.format("n + 2", ""), "FSM222")
    assert note.advice is not None
    saturating, bound = re.findall("`(.*?)`", note.advice)
    assert saturating == "n = min(n + 2, 9)"
    remedies = (text.format(saturating.removeprefix("n = "), ""), text.format("n + 2", bound))
    for spec, fails in ((text.format("n + 2", ""), True), *((x, False) for x in remedies)):
        model = model_of(spec)
        assert explore(model, model.systems["case.S"]).fails is fails


def test_a_witness_is_named_as_the_author_wrote_it() -> None:
    text = MACHINE.format("n == 2 and lit and maybe == none and kinds has hard", "how == 1 and level > mid")
    (found,) = found_in(text, "FSM206")
    assert found.message == (
        "from `A` on `push`, `one` and `two` are enabled at once when `n` is 2 and `lit` is true and `maybe` is none "
        "and `kinds` is {hard} and `how` is 1 and `level` is high"
    )
    assert found.advice is not None
    assert "priority one > two" in found.advice


DOOR = """
machine Door {{
    enum_: Level
    n: 0..3
    k: 0..9
    lit: bool
    far: 0..100000
    near: 0..100000
    delay: duration
    items: list<0..9>[2]
    numbers: set<0..3>
    initial state A
    state B
    event push(x: 0..9) from environment
    {}
}}
enum Level {{ low < mid < high }}
"""


def messages(rows: str) -> list[str]:
    """All that is found in a machine with these rows, but for what is not used."""
    text = DOOR.format(rows)
    return [d.message for d in findings([Source("case.fsm", text)]) if d.rule.code in DECIDED]


DECIDED = frozenset({"FSM206", "FSM207", "FSM208", "FSM209", "FSM221", "FSM222"})
NEVER, ALWAYS = "the guard of `push` is never true", "the guard of `push` is always true"


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        # of what is smaller or greater
        ("A -> B on push(x) when min(n, x) > 2 and n < 2", [NEVER]),
        ("A -> B on push(x) when max(n, x) < 2 and n > 2", [NEVER]),
        ("A -> B on push(x) when min(n, x) < 2 and n > 2", []),
        # of many values, by how they stand to each other
        ("A -> B on push when far < near and near < far", [NEVER]),
        ("A -> B on push when far < near and near > far", []),
        ("A -> B on push when far <= near and near <= far and far != near", [NEVER]),
        # of a choice between members of an enum
        ("A -> B on push when (if lit then Level.low else Level.mid) == Level.high", [NEVER]),
        ("A -> B on push when (if lit then Level.low else Level.mid) <= Level.mid", [ALWAYS]),
        ("A -> B on push when (if lit then Level.low else Level.high) == Level.high", []),
        # of an element, with a constant on either side
        ("A -> B on push when 2 in numbers and numbers == {}", [NEVER]),
        ("A -> B on push when 2 in numbers and 1 in numbers", []),
        ("A -> B on push when 2 > n and n > 1", [NEVER]),
        # of times, of which there are too many to be tried one by one
        ("A -> B on push when delay > 30d and delay < 1d", [NEVER]),
        ("A -> B on push when delay > 30d", []),
        # of rows without guards
        ("A -> B on push  A -> A on push", ["from `A` on `push`, two transitions are enabled at once"]),
    ],
)
def test_what_is_said_of_guards(rows: str, found: list[str]) -> None:
    assert messages(rows) == found


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("A on push(x) when x <= 3 do n = x", []),
        ("A on push(x) do n = x", ["`n` may be given a value outside 0..3 when `x` is 4"]),
        # a variable that hides an argument is not what is known of that
        ("A on push(x) when x <= 3 do for x in items { n = x }", ["`n` may be given a value outside 0..3"]),
        # what is added to a set
        ("A on push(x) do add x to numbers", ["`numbers` may be given a value outside 0..3 when `x` is 4"]),
        ("A on push(x) when x < 4 do add x to numbers", []),
        ("A on push(x) do remove x from numbers", []),
    ],
)
def test_what_is_said_of_values_that_may_not_fit(rows: str, found: list[str]) -> None:
    assert messages(rows) == found


def test_a_module_whose_name_has_dots_is_used_by_its_declarations() -> None:
    parts = Source("a/b.fsm", "module a.b\nmachine Cell { initial state On }")
    user = Source("m.fsm", "module m\nimport a.b\nsystem S { cell: a.b.Cell }")
    assert [d.message for d in findings([user, parts])] == []


# Fixes ---------------------------------------------------------------------------------------------------------------


def repaired(text: str, code: str) -> str:
    """The text with the first fix for a rule carried out."""
    fix = next(d.fix for d in findings([Source("case.fsm", text)]) if d.rule.code == code)
    assert fix is not None
    return text[: fix.span.start] + fix.replacement + text[fix.span.end :]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            "FSM203",
            """machine Task {
    initial state New
    persistent state Done "all done"
    event finish from environment
    New -> Done on finish
}
""",
        ),
        (
            "FSM216",
            """machine Sliver {
    initial state Idle
    state Busy
    event go, back from environment
    action deploy -> ok | err
    Idle -> Busy on go do deploy
    Busy -> Idle on deploy.ok
    Busy -> Idle on back
}
""",
        ),
        ("FSM225", "locks Order {\n    Queue > Queue\n}\n"),
    ],
)
def test_a_fix_settles_its_finding(code: str, text: str) -> None:
    assert findings([Source("case.fsm", repaired(text, code))]) == []


def test_a_row_that_a_fix_adds_is_the_last_of_the_machine() -> None:
    text = (
        "machine M {\n    initial state A\n    event go from environment\n    action ask -> ok\n    A on go do ask\n}\n"
    )
    assert repaired(text, "FSM216") == text.replace("ask\n}", "ask\n    ignore ask.ok in A\n}")


# The table of events -------------------------------------------------------------------------------------------------


def test_the_table_says_what_each_state_makes_of_each_event() -> None:
    model = model_of(
        """machine Door {
    locked: bool
    initial state Open
    state Closed {
        initial state Shut
        state Barred
    }
    event push, pull, bar from environment
    action ring -> ok | err
    Open -> Closed on push
    Closed -> Open on pull when not locked
    Shut -> Barred on bar do ring
    Barred on ring.ok do locked = true
    ignore pull in Open, Barred
    ignore ring.err in Barred
}
"""
    )
    table = completeness(model, model.machines["case.Door"])
    assert table.events == ("push", "pull", "bar", "ring.ok", "ring.err")
    assert table.states == ("Open", "Shut", "Barred")
    rows = {e: [table.cells[(e, s)] for s in table.states] for e in table.events}
    assert rows == {
        "push": ["handled", "fault", "fault"],
        "pull": ["ignored", "if", "handled"],
        "bar": ["fault", "handled", "fault"],
        "ring.ok": ["fault", "fault", "handled"],
        "ring.err": ["fault", "fault", "ignored"],
    }


def test_what_a_channel_that_waits_brings_stays_there_where_no_row_takes_it() -> None:
    model = model_of(
        """channel inbox: waiting bag[2] to Server
channel other: bag[2] to Server
machine Server {
    initial state Idle
    state Busy
    event ask from inbox
    event tell from inbox, other
    event done from environment
    Idle -> Busy on ask
    Busy -> Idle on done
}
machine Client { initial state A  event go from environment  A on go do send inbox.ask }
"""
    )
    table = completeness(model, model.machines["case.Server"])
    rows = {e: [table.cells[(e, s)] for s in table.states] for e in table.events}
    assert rows == {"ask": ["handled", "waits"], "tell": ["fault", "fault"], "done": ["fault", "handled"]}


# Amendments ----------------------------------------------------------------------------------------------------------

AMENDED = """machine Group {
    initial state Pending
    state Gone
    event go, stop from environment
    Pending -> Gone on go
    amends "the document forgets the way back" Gone -> Pending on stop
}
"""


def test_what_is_checked_is_the_model_with_or_without_its_amendments() -> None:
    def codes(as_documented: bool) -> list[str]:
        return [d.rule.code for d in findings([Source("case.fsm", AMENDED)], as_documented=as_documented)]

    assert codes(False) == []
    assert codes(True) == ["FSM203", "FSM214"]


# Time ----------------------------------------------------------------------------------------------------------------


def large(transitions: int) -> str:
    """A machine with ten transitions to a state, each with a guard and an effect."""
    states = transitions // 10
    lines = ["machine Large {", "    n: 0..99", "    lit: bool", "    initial state S0"]
    lines += [f"    state S{i}" for i in range(1, states)]
    lines += [f"    event e{j}(k: 0..99) from environment" for j in range(5)]
    for i, j in product(range(states), range(5)):
        limit, there = i % 90 + 5, (7 * i + j + 1) % states
        lines.append(f"    S{i} -> S{there} on e{j}(k) when n < {limit} and k > {j} do n = n + 1")
        lines.append(f"    S{i} -> S{(i + 1) % states} on e{j}(k) when n >= {limit} do {{ n = k; lit = not lit }}")
    return "\n".join([*lines, "    invariant n < 99 or lit", "}"])


@pytest.mark.full(reason="size")
def test_twice_as_many_transitions_are_about_twice_as_much_work() -> None:
    half, whole = model_of(large(1_000)), model_of(large(2_000))
    first = calls(lambda: check(half), 10_000_000)
    assert calls(lambda: check(whole), 20_000_000) < 2.2 * first
    assert check(whole) == []


Hard = Literal["sums", "pairs"]


@pytest.mark.full(reason="size")
@pytest.mark.parametrize("kind", ["sums", "pairs"])
def test_what_is_too_hard_is_given_up(kind: Hard) -> None:
    numbers = "\n".join(f"    v{i}: 0..1000" for i in range(6))
    many = {
        "sums": "\n".join(
            f"    event e{i} from environment\n"
            f"    A -> B on e{i} when v0 + v1 + v2 == v3 + v4 + v5 + {i} and v0 + v1 != v2 + v3\n"
            f"    A -> A on e{i} when v0 + v1 - v2 == v3 - {i} and v4 + v5 == v0 + v0 + 1"
            for i in range(100)
        )
        + "\n    event x from environment\n    A -> B on x when v0 < 5\n    A -> A on x when v0 > 3",
        "pairs": "    event e from environment\n" + "\n".join(f"    A -> B on e when v0 == {i}" for i in range(900)),
    }
    model = model_of(f"machine Hard {{\n{numbers}\n    initial state A\n    state B\n{many[kind]}\n}}")
    found: list[Diagnostic] = []
    calls(lambda: found.extend(check(model)), 10_000_000)
    assert _reported(found, "FSM207")
    assert kind != "sums" or _reported(found, "FSM206"), "what is easy is decided all the same"


@pytest.mark.parametrize(
    "guards",
    [
        pytest.param(("a40 > 5", "a40 <= 5"), id="each twice in the next"),
        pytest.param((f"{'n > 0 and ' * 200} b300", f"{'n > 0 and ' * 200} not b300"), id="each in the next"),
    ],
)
def test_lets_within_lets_are_given_up(guards: tuple[str, str]) -> None:
    twice = "\n".join(f"let a{i + 1} = a{i} + a{i}" for i in range(40))
    once = "\n".join(f"let b{i + 1} = not b{i}" for i in range(300))
    rows = "\n".join(f"S on go when {x}" for x in guards)
    lets = f"let a0 = n\n{twice}\nlet b0 = n == 1\n{once}"
    model = model_of(f"machine M {{ n: 0..9  initial state S  event go from environment\n{lets}\n{rows}\n}}")
    found: list[Diagnostic] = []
    calls(lambda: found.extend(check(model)), 1_000_000)
    assert _reported(found, "FSM207")


@pytest.mark.full(reason="size")
def test_many_hard_guards_share_their_time() -> None:
    def work(count: int) -> int:
        rows = "\n".join(
            f"event e{i} from environment\n"
            f"A on e{i} when v0 + v1 + v2 == v3 + v4 + v5 + {i} and v0 + v1 != v2 + v3\n"
            f"A on e{i} when v0 + v1 - v2 == v3 - {i} and v4 + v5 == v0 + v0 + 1"
            for i in range(count)
        )
        numbers = "\n".join(f"v{i}: 0..1000" for i in range(6))
        model = model_of(f"machine Hard {{\n{numbers}\ninitial state A\n{rows}\n}}")
        return calls(lambda: check(model), 20_000_000)

    assert work(10) < 3 * work(2)


def test_checks_leave_the_model_alone_and_find_the_same_again() -> None:
    model = model_of(large(100))
    assert check(model) == check(model)
    assert Subject(model).model is model
