"""Is `specs/confine` the document's machine? Row by row, decision by decision, and round by round.

The tables are restated here as data. The counts are those of an exploration that was written apart from this project,
with rounds as its steps: the registry changes one thing at a time, and the node follows a round to its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from fsmdsl import model as m
from fsmdsl import step
from fsmdsl.model.resolve import resolve
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

SPEC = Path(__file__).parent.parent / "specs" / "confine" / "confine.fsm"

# The tables ----------------------------------------------------------------------------------------------------------

Row = tuple[str, str, str, str, tuple[str, ...]]
"""Label, source, target, condition, actions. Z0, the creation of a slice, is its initial state."""

SLICE: list[Row] = [
    ("Z1", "register", "allocating", "set_ds", ()),
    ("Z2", "allocating", "deploy", "alloc.ok", ()),
    ("Z3", "allocating", "register", "alloc.err", ()),
    ("Z4", "deploy", "start", "set_s", ()),
    ("Z5", "start", "deploy", "set_rd", ()),
    ("Z6", "deploy", "register", "set_r", ("dealloc",)),
    ("Z7", "register", "gone", "delete", ("dealloc",)),
    ("Z7", "deploy", "gone", "delete", ("dealloc",)),
    ("Z7", "start", "gone", "delete", ("dealloc",)),
]

SLIVER: list[Row] = [
    ("N1", "absent", "registered", "add_conf", ("store",)),
    ("R1", "registered", "absent", "del_conf", ("forget",)),
    ("R2", "registered", "registered", "new_conf", ("store",)),
    ("R3", "registered", "allocating", "set_ds", ()),
    ("A1", "allocating", "allocated", "alloc.ok", ()),
    ("A2", "allocating", "fail_allocate", "alloc.err", ()),
    ("FA1", "fail_allocate", "registered", "wait", ()),
    ("L1", "allocated", "registered", "del_conf", ("dealloc",)),
    ("L2", "allocated", "registered", "sliver_up", ("dealloc",)),
    ("L3", "allocated", "registered", "set_r", ("dealloc",)),
    ("L4", "allocated", "deploying", "set_ds", ()),
    ("D1", "deploying", "deployed", "deploy.ok", ()),
    ("D2", "deploying", "fail_deploy", "deploy.err", ()),
    ("FD1", "fail_deploy", "allocated", "wait", ()),
    ("P1", "deployed", "allocated", "del_conf", ("undeploy",)),
    ("P2", "deployed", "allocated", "sliver_up", ("undeploy",)),
    ("P3", "deployed", "allocated", "slice_rst", ("undeploy", "stsn")),
    ("P4", "deployed", "allocated", "set_r", ("undeploy",)),
    ("P5", "deployed", "starting", "set_s", ()),
    ("S1", "starting", "started", "start.ok", ()),
    ("S2", "starting", "fail_start", "start.err", ()),
    ("FS1", "fail_start", "deployed", "wait", ()),
    ("U1", "started", "deployed", "del_conf", ("stop",)),
    ("U2", "started", "deployed", "sliver_up", ("stop",)),
    ("U3", "started", "deployed", "slice_rst", ("stop",)),
    ("U4", "started", "deployed", "set_rd", ("stop",)),
    ("U5", "started", "fail_start", "err_run", ()),
]

CHAIN = ("absent", "registered", "allocating", "allocated", "deploying", "deployed", "starting", "started")


def compiled(text: str, *, as_documented: bool = False) -> m.Model:
    parsed = parse(Source("confine.fsm", text))
    resolved = resolve([parsed.module], as_documented=as_documented)
    assert not [*parsed.diagnostics, *resolved.diagnostics]
    assert resolved.model is not None
    return resolved.model


@cache
def confine(as_documented: bool = False) -> m.Model:
    return compiled(SPEC.read_text(), as_documented=as_documented)


def rows(machine: m.Machine) -> list[Row]:
    return [
        (
            t.label,
            t.source,
            str(t.target),
            t.shown_trigger or (t.guard.span.text if t.guard is not None else ""),
            tuple(e.action for e in flat(t.effects) if isinstance(e, m.Request)),
        )
        for t in machine.transitions
        if t.label is not None
    ]


def flat(effects: tuple[m.Effect, ...]) -> Iterator[m.Effect]:
    for e in effects:
        yield from chain(flat(e.then), flat(e.otherwise)) if isinstance(e, m.If) else (e,)


@pytest.mark.parametrize("as_documented", [False, True])
@pytest.mark.parametrize(("name", "table"), [("Slice", SLICE), ("Sliver", SLIVER)])
def test_rows_are_those_of_the_tables(name: str, table: list[Row], as_documented: bool) -> None:
    assert sorted(rows(confine(as_documented).machines[f"confine.{name}"])) == sorted(table)


EXCLUDED = (
    "of the slice its name, description, expires_on, set_state, properties, sliver_defaults.instance_sn and "
    "sliver_defaults.set_state; of the sliver its description, set_state and properties."
)


def test_the_ten_excluded_attributes_are_said_where_the_configuration_is() -> None:
    """Seven of the slice and three of the sliver, as the text lists them."""
    (found,) = [e for x in confine().modules for e in x.enums if e.name == "Config"]
    assert EXCLUDED in " ".join(found.doc.split())


def test_rows_without_a_label_begin_rounds_and_lead_nowhere() -> None:
    others = [t for x in confine().machines.values() for t in x.transitions if t.label is None]
    commands = {"set_state", "reset", "configure", "override", "update"}
    assert {t.shown_trigger for t in others} == {*commands, "fetched", "not_found", "died"}
    assert all(t.target is None for t in others)


@pytest.mark.parametrize(
    ("name", "initial", "transient", "error", "final"),
    [
        ("Slice", "register", {"allocating"}, set(), {"gone"}),
        (
            "Sliver",
            "absent",
            {"allocating", "allocated", "deploying", "starting"},
            {"fail_allocate", "fail_deploy", "fail_start"},
            set(),
        ),
    ],
)
def test_states(name: str, initial: str, transient: set[str], error: set[str], final: set[str]) -> None:
    machine = confine().machines[f"confine.{name}"]
    assert machine.initial.name == initial
    assert {s.name for s in machine.states if s.transient} == transient
    assert {s.name for s in machine.states if s.error} == error
    assert {s.name for s in machine.states if s.final} == final
    assert {s.display for s in machine.states if s.transient} == {f"({s})" for s in transient}


def test_entry_actions() -> None:
    hooks = {
        (x.name, h.state): [e.action for e in flat(h.effects) if isinstance(e, m.Request)]
        for x in confine().machines.values()
        for h in x.hooks
        if not h.amended
    }
    assert hooks == {
        ("Slice", "allocating"): ["alloc"],
        ("Sliver", "allocating"): ["alloc"],
        ("Sliver", "deploying"): ["deploy"],
        ("Sliver", "starting"): ["start"],
    }


def test_priority_and_its_amendment() -> None:
    classes = ("del_conf", "new_conf", "sliver_up", "slice_rst", "*")
    assert confine(as_documented=True).machines["confine.Sliver"].priority == (classes,)
    assert confine().machines["confine.Sliver"].priority == (classes, ("U4", "U5"))


def test_three_decisions_are_amendments_and_no_row_is() -> None:
    machines = confine().machines.values()
    assert not [t.label for x in machines for t in x.transitions if t.amended]
    assert {(x.name, h.state) for x in machines for h in x.hooks if h.amended} == {
        ("Slice", "register"),
        ("Sliver", "started"),
    }
    assert sum(len(x.amendments) for x in machines) == 3


# What the rows alone say ---------------------------------------------------------------------------------------------


def test_q6_what_is_stored_changes_on_four_rows_only() -> None:
    found = {
        t.label: {e.name for e in flat(t.effects) if isinstance(e, m.Assign) and e.name.startswith("cur_")}
        for t in confine().machines["confine.Sliver"].transitions
    }
    whole = {"cur_config", "cur_slice_sn", "cur_sliver_sn"}
    changing = {label: names for label, names in found.items() if names}
    assert changing == {"N1": whole, "R1": {"cur_config"}, "R2": whole, "P3": {"cur_slice_sn"}}


def test_q8_the_chain_is_walked_one_level_at_a_time() -> None:
    kept = [s for s in CHAIN if not s.endswith("ing")]
    for label, source, target, *_ in SLIVER:
        if source in CHAIN and target in CHAIN and label != "R2":
            up = CHAIN.index(target) - CHAIN.index(source) == 1
            down = {source, target} <= {*kept} and kept.index(source) - kept.index(target) == 1
            assert up or down, label
        elif source.startswith("fail_"):
            failing = next(s for label2, s, t, *_ in SLIVER if t == source and label2 != "U5")
            assert target == CHAIN[CHAIN.index(failing) - 1], label


# Rounds --------------------------------------------------------------------------------------------------------------

Registry = tuple[str, str, int, int] | None
"""The sliver as the registry has it: effective set state, configuration, the slice's number and the sliver's."""
Path_ = tuple[str, ...]

NOTHING: dict[str, step.Value] = {
    "slice_set": "register",
    "own_set": "register",
    "new_config": None,
    "new_slice_sn": 0,
    "new_sliver_sn": 0,
    "err_run": False,
}
"""What the node forgets between rounds: the descriptions, which the registry has."""

LONGEST = 20


@dataclass
class Rounds:
    """An exploration in which a step is a whole round, or one change in the registry."""

    states: set[tuple[Registry, step.World]] = field(default_factory=set)
    rounds: set[tuple[Registry, step.World, Path_]] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    """Invariants that did not hold somewhere, kinds of faults, and `endless` for rounds that do not end."""


class Node:
    """The node's side, by the definition of the language."""

    def __init__(self, model: m.Model) -> None:
        self.universe = step.Universe(model, model.systems["confine.OneSliver"])
        self.machine = self.universe.machines[0]
        self.names = [f.name for f in self.machine.fields]

    def start(self) -> step.World:
        return self.with_fields(step.initial(self.universe), {})

    def with_fields(self, world: step.World, values: dict[str, step.Value]) -> step.World:
        known = dict(zip(self.names, world.fields[0], strict=True)) | values
        if known["cur_config"] is None:
            known |= {"cur_slice_sn": 0, "cur_sliver_sn": 0}
        return world._replace(fields=(tuple(known[n] for n in self.names),))

    def alive(self, world: step.World) -> bool:
        return world.fields[0][self.names.index("running")] is True

    def broken(self, world: step.World) -> set[str]:
        found = self.machine.invariants
        return {i.name for i in found if not step.holds(self.universe, world, i.condition, instance=0)}

    def round(self, registry: Registry, world: step.World, broken: set[str]) -> Iterator[tuple[Path_, step.World]]:
        """Every way in which a round can go: the rows followed, and the world at its end."""
        first = step.EventStep(0, "not_found")
        if registry is not None:
            effective, config, slice_sn, sliver_sn = registry
            first = step.EventStep(0, "fetched", (effective, None, "start", config, slice_sn, sliver_sn))
        todo: list[tuple[step.World, step.Step, Path_]] = [(world, first, ())]
        while todo:
            before, taken, path = todo.pop()
            result = step.fire(self.universe, before, taken)
            if result.fault is not None:
                broken.add(result.fault.kind)
                continue
            followed = (h.transition for h in result.cascade if isinstance(h, step.Followed))
            path += tuple(x for x in (self.machine.transitions[n].label for n in followed) if x is not None)
            broken |= self.broken(result.world)
            if len(path) > LONGEST:
                broken.add("endless")
            elif result.world.pending:
                todo.extend((result.world, s, path) for s in step.enabled(self.universe, result.world))
            else:
                yield path, self.with_fields(result.world, NOTHING)


def changes(registry: Registry, highest: int) -> Iterator[Registry]:
    """What one command in the registry can make of a sliver."""
    set_states = ("register", "deploy", "start")
    if registry is None:
        yield from ((e, "c1", 0, 0) for e in set_states)
        return
    effective, config, slice_sn, sliver_sn = registry
    yield from ((e, config, slice_sn, sliver_sn) for e in set_states)
    yield effective, "c2", slice_sn, sliver_sn
    if slice_sn < highest:
        yield effective, config, slice_sn + 1, sliver_sn
    if sliver_sn < highest:
        yield effective, config, slice_sn, sliver_sn + 1
    yield None


def explored(model: m.Model, highest: int, until: frozenset[str] = frozenset({"nothing"})) -> Rounds:
    """All that can happen to one sliver while its numbers are at most `highest`, or until all of `until` broke."""
    node, found = Node(model), Rounds()
    todo: list[tuple[Registry, step.World]] = [(None, node.start())]
    while todo and not until <= found.broken:
        at = todo.pop()
        if at in found.states:
            continue
        found.states.add(at)
        registry, world = at
        todo.extend((r, world) for r in changes(registry, highest))
        if world.states[0] == "started" and node.alive(world):
            todo.append((registry, node.with_fields(world, {"running": False})))
        for path, after in node.round(registry, world, found.broken):
            found.rounds.add((registry, world, path))
            todo.append((registry, after))
    return found


@cache
def reference() -> Rounds:
    return explored(confine(), 1)


def test_the_reference_counts_are_met() -> None:
    found = reference()
    assert (len(found.states), len(found.rounds), found.broken) == (1425, 2889, set())


@pytest.mark.full(reason="size; smaller counts are met in any case")
def test_the_reference_counts_with_a_third_number_are_met() -> None:
    found = explored(confine(), 2)
    assert (len(found.states), len(found.rounds), found.broken) == (6985, 14959, set())


def test_every_row_is_followed() -> None:
    assert {row for _, _, path in reference().rounds for row in path} == {label for label, *_ in SLIVER}


def test_q9_wait_decides_the_first_row_of_a_round_at_most() -> None:
    assert all(row not in ("FA1", "FD1", "FS1") for _, _, path in reference().rounds for row in path[1:])


def test_q10_a_failed_action_ends_the_round() -> None:
    assert all(row not in ("A2", "D2", "S2") for _, _, path in reference().rounds for row in path[:-1])


def test_q11_the_longest_round_is_the_full_update() -> None:
    longest = max(len(path) for _, _, path in reference().rounds)
    found = {path for _, _, path in reference().rounds if len(path) == longest}
    rest = ("P2", "L2", "R2", "R3", "A1", "L4", "D1", "P5", "S1")
    assert longest == 10
    assert {("U2", *rest), ("FS1", *rest)} <= found


def test_q15_a_reset_touches_neither_resources_nor_configuration() -> None:
    assert resets(confine(), reference())
    assert not touching(resets(confine(), reference()))


RESET_FROM = ("deployed", "started", "fail_deploy", "fail_start")


def resets(model: m.Model, found: Rounds) -> list[Path_]:
    """The rounds that see a reset of a sliver that is deployed or was to be, and no other change."""
    names = [f.name for f in model.machines["confine.Sliver"].fields]
    paths: list[Path_] = []
    for registry, world, path in found.rounds:
        config, slice_sn, sliver_sn = (world.fields[0][names.index(f"cur_{n}")] for n in STORED)
        if registry is None or registry[0] == "register" or world.states[0] not in RESET_FROM:
            continue
        if (registry[1], registry[3]) == (config, sliver_sn) and (slice_sn, registry[2]) == (0, 1):
            paths.append(path)
    return paths


STORED = ("config", "slice_sn", "sliver_sn")


def touching(paths: list[Path_]) -> list[Path_]:
    return [p for p in paths if {"L1", "L2", "L3", "L5", "A1", "A2", "R2", "N1"} & {*p}]


# The document's holes ------------------------------------------------------------------------------------------------


def test_as_documented_the_two_holes_of_a_dead_container_show() -> None:
    """H7: two rows of one class; H4: a container that was booted again counts as dead, and runs unnoticed."""
    assert explored(confine(as_documented=True), 1).broken == {"overlap", "Q3", "Q12"}


def test_as_documented_a_slice_that_gets_no_resources_asks_for_ever() -> None:
    """H3: the answer of the failing action leads back to the world in which it was asked for."""
    model = confine(as_documented=True)
    universe = step.Universe(model, model.systems["confine.OneSlice"])
    asked = step.fire(universe, step.initial(universe), step.EventStep(0, "set_state", ("deploy",))).world
    again = step.fire(universe, asked, step.OutcomeStep(0, "alloc", "err"))
    assert again.world == asked


# A row that is wrong does not stay unnoticed -------------------------------------------------------------------------

WRONG: dict[str, tuple[str, str, str]] = {
    "a reset is never acknowledged": ("P3", "stsn; cur_slice_sn = new_slice_sn", "stsn"),
    "numbers are no part of the configuration": (
        "let new_conf",
        "not stored(new_config, new_slice_sn, new_sliver_sn)",
        "new_config != cur_config",
    ),
    "R2 is missing": ("R2", "when new_conf", "when new_conf and false"),
    "an allocation is tried again at once": ("FA1", "wait", "true"),
    "a failed deploy leaves files": ("D2", "deploy.err", "deploy.err do files = cur_config"),
    "U4 does not stop": ("U4", "do { stop; running = false }", ""),
    "L4 is for start alone": ("L4", "set_ds", "set_s"),
    "FD1 is missing": ("FD1", "wait", "wait and false"),
    "P1 is missing": ("P1", "del_conf", "del_conf and false"),
    "P3 does not undeploy": ("P3", "undeploy; files = none;", ""),
    "L3 is missing": ("L3", "set_r", "set_r and false"),
    "a deletion does not stop": ("U1", "do { stop; running = false }", ""),
}
BREAKS = ("endless", "endless", "endless", "endless", "Q4", "Q3", "Q1", "Q12", "Q12", "Q4", "Q1", "Q3")


@pytest.mark.parametrize(("wrong", "breaks"), [*zip(WRONG, BREAKS, strict=True)])
def test_a_wrong_row_is_found(wrong: str, breaks: str) -> None:
    assert breaks in explored(changed(*WRONG[wrong]), 1, until=frozenset({breaks})).broken


def test_a_reset_that_goes_down_to_registered_breaks_q15_and_no_invariant() -> None:
    model = changed(
        "P3",
        "stsn; cur_slice_sn = new_slice_sn }",
        "}\n L5: allocated -> registered when slice_rst do { dealloc; reserved = false }",
    )
    found = explored(model, 1)
    assert not found.broken
    assert touching(resets(model, found))


def changed(row: str, old: str, new: str) -> m.Model:
    """The model with one line changed."""
    lines = SPEC.read_text().splitlines()
    (n,) = (n for n, line in enumerate(lines) if line.split(":")[0].split("=")[0].strip() == row)
    assert lines[n].count(old) == 1
    lines[n] = lines[n].replace(old, new)
    return compiled("\n".join(lines))
