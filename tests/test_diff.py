"""Two versions of a spec: what is said of real edits, and that what is said is so."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from random_systems import text_of
from tiers import today

from fsmdsl import model as m
from fsmdsl.model.resolve import resolve
from fsmdsl.model.workspace import load, shipped
from fsmdsl.report.compare import Bounds, Difference, Run, compare
from fsmdsl.report.compare.behaviour import alone
from fsmdsl.report.compare.pictures import merged
from fsmdsl.report.compare.render_text import sentence
from fsmdsl.runs.trace import world_data
from fsmdsl.step import Universe, World, enabled, fire
from fsmdsl.step.describe import describe
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

ROOT = Path(__file__).parent.parent
HIVED = re.sub(r"property s14:.*", "", (ROOT / "specs" / "hived" / "hived.fsm").read_text("utf-8"))
"""Without the properties of recovery, which take their time."""
DROPPED = " when all c in cells - {cell}: c in Used"
SHORT = Bounds(3000, 600.0)


def model_of(text: str, name: str = "spec.fsm") -> m.Model:
    parsed = parse(Source(name, text))
    resolved = resolve([parsed.module])
    assert (*parsed.diagnostics, *resolved.diagnostics) == ()
    assert resolved.model is not None
    return resolved.model


def edited(old: str, new: str, text: str = HIVED) -> str:
    assert old in text
    return text.replace(old, new)


def difference(new: str, old: str = HIVED, *, deep: bool = True) -> Difference:
    return compare(model_of(old), model_of(new), SHORT, run=deep, verify=deep)


def said(found: Difference) -> list[str]:
    return [" | ".join(sentence(change)) for part in found.parts for change in part.changes]


# Nothing has changed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", sorted(p.name for p in (ROOT / "specs").iterdir()))
def test_a_spec_is_the_same_as_itself(folder: str) -> None:
    old, new = (load([ROOT / "specs" / folder]).model for _ in range(2))
    assert old is not None
    assert new is not None
    found = compare(old, new)
    assert not found.is_different
    assert {b.outcome for b in found.behaviours} == {"same"}


def test_words_and_layout_make_no_difference() -> None:
    new = re.sub(r"///.*", "/// said otherwise", HIVED).replace(
        "on take(by)     do {", "on take(by)\n\n   do {  // so\n"
    )
    new = new.replace('volatile           state BeingPreempted "Being preempted"', "volatile state BeingPreempted")
    found = difference(new)
    assert said(found) == []
    assert not found.is_different
    assert {b.basis for b in found.behaviours} == {"nothing that it is made of has changed"}


# Real edits ----------------------------------------------------------------------------------------------------------


def test_a_guard_that_is_dropped() -> None:
    found = difference(edited(DROPPED, ""))
    assert said(found) == [
        "changed transition `back: BeingPreempted -> Allocated on given_back(cell)` | "
        "has lost its guard: `all c in cells - {cell}: c in Used`"
    ]
    first = next(b for b in found.behaviours if b.name == "hived.PreemptionSmall")
    (run,) = first.runs
    assert run.trace.steps() == ["g0.schedule({c0, c1})", "g1.schedule({c0, c1})", "g1.pods_deleted"]
    assert run.allowed_by == "old"
    assert "`given_back` reaches g0 in `Allocated`" in run.why
    turned = {(t.scope, t.label): (t.old, t.new) for t in found.turns}
    assert turned["hived.PreemptionSmall", "fault unhandled"] == ("holds", "violated")
    assert turned["hived", "scenario H5Half"] == ("passes", "fails")
    assert all(t.worse for t in found.turns)


def test_a_state_that_is_renamed_is_no_other_state() -> None:
    found = difference(re.sub(r"\bReserved\b", "Held", HIVED))
    assert said(found) == ["state `Reserved` is called `Held` now"]
    assert {b.outcome for b in found.behaviours} == {"same"}
    assert all(b.basis.startswith("exhaustively: ") for b in found.behaviours)
    assert found.turns == ()


def test_two_states_that_are_renamed_at_once() -> None:
    new = re.sub(r"\bReserving\b", "Waiting", re.sub(r"\bReserved\b", "Held", HIVED))
    renamed = {a: b for part in difference(new, deep=False).parts for a, b in part.states.items()}
    assert renamed == {"Reserved": "Held", "Reserving": "Waiting"}


def test_a_state_of_another_kind_is_no_renaming() -> None:
    old = "machine A { initial state X  state Y  event e from environment  X -> Y on e }"
    new = "machine A { initial state X  state Z  event e, f from environment  X on e  Z -> X on f }"
    assert [s.split(" |")[0] for s in said(difference(new, old))][:2] == ["removed state `Y`", "added state `Z`"]


def test_which_of_two_alike_was_renamed_is_not_guessed() -> None:
    old = "machine A { initial state X  state Y  state Z  event e from environment  X -> Y on e  X -> Z on e }"
    new = old.replace("state Y  state Z", "state P  state Q").replace("X -> Y", "X -> P").replace("X -> Z", "X -> Q")
    (part,) = difference(new, old).parts
    assert dict(part.states) == {}


LARGE = {"admission.fsm"}
"""Specs whose systems have more states than `SHORT` explores."""


@pytest.mark.full(reason="whole specs; one state is renamed in any case")
@pytest.mark.parametrize("folder", sorted(p.name for p in (ROOT / "specs").iterdir()))
def test_a_machine_that_is_renamed_is_no_other_machine(folder: str, tmp_path: Path) -> None:
    """Each machine of the documents in turn: all that refers to it follows, and nothing is different but its name."""
    paths = sorted(x for x in (ROOT / "specs" / folder).glob("*.fsm") if x.name not in LARGE)
    old = load(paths).model
    assert old is not None
    for machine in (x for x in old.machines.values() if not shipped(x.span.source.name)):
        for path in paths:
            (tmp_path / path.name).write_text(re.sub(rf"\b{machine.name}\b", "Other", path.read_text("utf-8")))
        new = load(sorted(tmp_path.glob("*.fsm"))).model
        assert new is not None, machine.name
        found = compare(old, new, SHORT)
        names = [change for part in found.parts for change in part.changes if change.what == "machine"]
        assert [(x.kind, x.was, x.now) for x in names] == [("renamed", machine.qualified, f"{machine.module}.Other")]
        others = [change for part in found.parts for change in part.changes if change.what not in ("machine", "state")]
        assert others == [], machine.name  # a state may have the same name
        assert {b.outcome for b in found.behaviours} <= {"same"}
        assert found.turns == ()


@pytest.mark.full(reason="whole specs; one state is renamed in any case")
def test_a_machine_that_is_renamed_and_changed() -> None:
    found = difference(re.sub(r"\bCell\b", "Slot", edited(DROPPED, "")))
    assert said(found)[0] == "machine `hived.Cell` is called `hived.Slot` now"
    assert [x.partition(" | ")[0] for x in said(found)[1:]] == [
        "changed transition `back: BeingPreempted -> Allocated on given_back(cell)`"
    ]
    assert [b.name for b in found.behaviours if b.outcome == "different"]


def test_another_machine_in_the_place_of_one_is_another_machine() -> None:
    new = "machine B { n: 0..3  initial state P  state Q  event go from environment  P -> Q on go when n < 2 }"
    found = difference(new, "machine A { initial state X  state Y  event e from environment  X -> Y on e }")
    assert [(part.kind, part.name) for part in found.parts] == [("removed", "spec.A"), ("added", "spec.B")]


def test_a_transition_that_is_added() -> None:
    row = "    e1: Used      -> Free       on free         do { release; user = none }\n"
    found = difference(
        edited(row, f"{row}    lost: Used -> Free on pod_deleted do {{ release; user = none }}\n"), deep=False
    )
    assert said(found) == [
        "added transition `lost: Used -> Free on pod_deleted` | "
        "`lost: Used -> Free on pod_deleted do { release; user = none }`"
    ]


def test_a_long_row_that_is_added_is_shown_in_full() -> None:
    guard = " and ".join(["user != none"] * 20)
    row = "    e1: Used      -> Free       on free         do { release; user = none }\n"
    long = f"lost: Used -> Free on pod_deleted when {guard} do {{ release; user = none }}"
    for found in (
        difference(edited(row, f"{row}    {long}\n"), deep=False),
        difference(HIVED, edited(row, f"{row}    {long}\n"), deep=False),
    ):
        (told,) = said(found)
        assert told.endswith(f"| `{long}`")


def test_a_transition_that_leads_elsewhere() -> None:
    found = difference(
        edited("e7: Reserved  -> Free       on cancel ", "e7: Reserved  -> Used       on cancel "), deep=False
    )
    assert said(found) == ["moved transition `e7: Reserved -> Used on cancel` | leads to `Used`, not to `Free`"]
    (picture,) = (both for part in found.parts if (both := merged(part)) is not None)
    assert sorted(picture.rows.values()) == ["added", "removed"]


def test_another_priority() -> None:
    path = ROOT / "specs" / "confine" / "confine.fsm"
    text = path.read_text("utf-8")
    old, new = "priority U4 > U5", "priority U5 > U4"
    found = difference(edited(old, new, text), text, deep=False)
    assert said(found) == ["changed priority | `U4 > U5` → `U5 > U4`"]


def test_another_priority_is_another_behaviour() -> None:
    old = """
    machine A {
        initial state X  state Y  state Z
        event e from environment
        y: X -> Y on e  z: X -> Z on e  Y on e  Z on e
        priority y > z
    }
    system S { a: A }
    """
    (b,) = difference(edited("y > z", "z > y", old), old).behaviours
    assert [run.trace.steps() for run in b.runs] == [["a.e"], ["a.e"]]
    assert [run.why for run in b.runs] == ["a is in `Z` there, not `Y`", "a is in `Y` there, not `Z`"]


def test_lines_with_several_sources_are_told_once() -> None:
    old = "machine A { initial state X  state Y  state Z  event e from environment  X, Y -> Z on e }"
    found = difference(old.replace("on e }", "on e when false }"), old)
    assert said(found) == ["changed transition `X, Y -> Z on e` | has a guard now: `false`"]


def test_a_row_of_every_state() -> None:
    old = "machine A { initial state X  state Y  final state Z  event e, f from environment  X -> Y on e  * -> Z on f }"
    wider = old.replace("state Y ", "state Y  state W ").replace("X -> Y on e", "X -> Y on e  Y -> W on e")
    assert said(difference(wider, old, deep=False)) == ["added state `W`", "added transition `Y -> W on e`"]
    assert said(difference(old, wider, deep=False)) == ["removed state `W`", "removed transition `Y -> W on e`"]
    none = old.replace("* -> Z on f", "X -> Z on f")
    assert said(difference(old, none, deep=False)) == [
        "changed transition `* -> Z on f` | is a row of `*` now",
        "added transition `* -> Z on f`",
    ]
    guarded = old.replace("* -> Z on f", "* -> Z on f when false")
    assert said(difference(guarded, old, deep=False)) == ["changed transition `* -> Z on f` | has a guard now: `false`"]


def test_other_declarations() -> None:
    old = """
    enum Colour { red | green }
    machine A {
        n: 0..3
        c: Colour
        initial state X
        event e from environment
        action act
        X on e do act
        invariant low: n < 3
        invariant n >= 0
    }
    system S { a: A  reachable r: a in X }
    """
    new = (
        old.replace("red | green", "red | blue")
        .replace("n: 0..3", "n: 0..4 = 1")
        .replace("action act", "action act, rest")
        .replace("low: n < 3", "low: n < 4")
        .replace("invariant n >= 0", "invariant n >= 1")
        .replace("system S { a: A ", "system S { a: A[2] ")
        .replace("r: a in X", "r: a0 in X")
    )
    assert said(difference(new, old)) == [
        "changed field `n` | `n: 0..3` → `n: 0..4 = 1`",
        "changed invariant `low` | `n < 3` → `n < 4`",
        "changed invariant | `n >= 0` → `n >= 1`",
        "added action `rest`",
        "changed enum `Colour` | `enum Colour { red | green }` → `enum Colour { red | blue }`",
        "changed instances `a` | `a: A` → `a: A[2]`",
        "changed reachable `r` | `a in X` → `a0 in X`",
    ]
    (behaviour,) = difference(new, old).behaviours
    assert behaviour.outcome == "unknown"
    assert behaviour.basis == "not comparable: the instances were a, and are a0, a1"


def test_machines_that_stand_alone() -> None:
    old = "machine Door { initial state Shut  state Open  event push  Shut -> Open on push  Open -> Shut on push }"
    found = difference(old.replace("Open -> Shut on push", "Open on push"), old)
    (b,) = found.behaviours
    assert (b.name, b.alone, b.outcome) == ("spec.Door", True, "different")
    assert b.runs[0].trace.steps() == ["door.push", "door.push"]
    assert b.runs[0].why == "door is in `Open` there, not `Shut`"


def test_timers_go_by_what_they_do() -> None:
    old = "machine A { initial state X  state Y  state Z  X -> Y after 5s  X -> Z after 9s  Y -> X after 1s }"
    moved = old.replace("X -> Y after 5s  X -> Z after 9s", "late: X -> Z after 8s  soon: X -> Y after 6s")
    (b,) = difference(moved, old).behaviours
    assert (b.outcome, b.basis) == ("same", "exhaustively: 3 states")
    (b,) = difference(old.replace("X -> Z after 9s  ", ""), old).behaviours
    (run,) = b.runs
    assert (run.allowed_by, run.trace.steps(), run.why) == ("old", ["timeout a of X"], "no timer does this there")


def test_a_limit_is_no_sameness() -> None:
    new = edited("initial  state Free", "initial  state Vacant").replace("Free", "Vacant")
    found = compare(model_of(HIVED), model_of(new), Bounds(20, 5.0), verify=False)
    takeover = next(b for b in found.behaviours if b.name == "hived.Takeover")
    assert (takeover.outcome, takeover.basis) == ("unknown", "up to 20 states")


# What is claimed is so -----------------------------------------------------------------------------------------------


def observed(universe: Universe, world: World, fields: set[str]) -> Any:
    data = world_data(universe, world)
    for x in data["instances"].values():
        x["fields"] = {name: value for name, value in x["fields"].items() if name in fields}
        del x["params"]
    return data


def check_run(run: Run, old: Universe, new: Universe) -> None:
    """One version allows the run; in the other, nothing that goes by the names of its steps leads the same way."""
    mine, other = (old, new) if run.allowed_by == "old" else (new, old)
    names = [{f.name for x in u.machines for f in x.fields} for u in (old, new)]
    shared = names[0] & names[1]
    known = {other.start}
    if observed(mine, mine.start, shared) != observed(other, other.start, shared):
        assert run.trace.entries == ()
        return
    for said, (before, entry) in zip(run.trace.steps(), run.trace.befores(), strict=True):
        assert known, "they part before the last step"
        assert entry.step in enabled(mine, before)
        assert fire(mine, before, entry.step).world == entry.world
        assert entry.fault is None
        steps = ((w, s) for w in known for s in enabled(other, w) if describe(other, s, w) == said)
        results = (fire(other, w, s) for w, s in steps)
        seen = observed(mine, entry.world, shared)
        known = {r.world for r in results if r.fault is None and observed(other, r.world, shared) == seen}
    assert not known, "both allow it"


def mutants(model: m.Model, chance: random.Random) -> Iterator[m.Model]:
    """The model without a transition, without a guard, or with another target."""
    for module in model.modules:
        for machine in module.machines:
            if not machine.transitions:
                continue
            t = chance.choice(machine.transitions)
            leaf = chance.choice(machine.leaves).name
            for row in (None, replace(t, guard=None), replace(t, target=leaf)):
                rows = [row if x is t else x for x in machine.transitions]
                kept = tuple(replace(x, index=n) for n, x in enumerate(x for x in rows if x is not None))
                other = replace(machine, transitions=kept)
                machines = tuple(other if x is machine else x for x in module.machines)
                yield m.Model(tuple(replace(x, machines=machines) if x is module else x for x in model.modules))


@pytest.mark.parametrize("seed", today(range(8)))
def test_runs_of_one_version_alone_are_so(seed: int) -> None:
    model = model_of(text_of(seed), f"system_{seed}.fsm")
    assert not compare(model, model).is_different
    for new in mutants(model, random.Random(seed)):
        found = compare(model, new, Bounds(200, 1.0), verify=False)
        for b in found.behaviours:
            sides = [alone(x, x.machines[b.name]) if b.alone else Universe(x, x.systems[b.name]) for x in (model, new)]
            for run in b.runs:
                assert sides[0] is not None
                assert sides[1] is not None
                check_run(run, sides[0], sides[1])


@pytest.mark.full(reason="whole specs")
def test_runs_of_real_edits_are_so() -> None:
    old = model_of(HIVED)
    checked = 0
    for new in mutants(old, random.Random(5)):
        for b in compare(old, new, SHORT, verify=False).behaviours:
            for run in b.runs:
                check_run(run, Universe(old, old.systems[b.name]), Universe(new, new.systems[b.name]))
                checked += 1
    assert checked > 5
