"""What everything is called in generated code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fsmdsl import model as m
from fsmdsl.classes.names import (
    RESERVED,
    RESERVED_IN_CLASSES,
    STANDARD_LIBRARY,
    Namespace,
    camel,
    private,
    snake,
    upper,
)
from fsmdsl.classes.traits import stored
from fsmdsl.dataclasses import dataclass

SUPPORT = ("machinery", "clock", "states", "values", "derived", "actions", "channels", "locks", "systems")
"""Files of a package that are not those of machines."""

SHARED = ("machinery", "clock")
"""Files of the folder that holds the packages of modules that belong together."""

_TAKEN = (
    "AbstractSet", "Any", "Busy", "Callable", "Channel", "Clock", "EndlessRound", "Enum", "Followed", "Final", "Full",
    "IntEnum", "InvariantBroken", "Iterable", "Listener", "Literal", "Lost", "Machine", "Mapping", "MissingReference",
    "OutOfRange", "Overlap", "Protocol", "ReentrantEvent", "Sequence", "StaleAnswer", "State", "StepRefused", "System",
    "TypeAlias", "UnhandledEvent", "VirtualClock", "Lock", "LockOrder", "LockOrderBroken", "Timer", "Data", "Saved",
    "ForeignSnapshot", "VERSION", "Alone", "Named", "Migrations", "TimedMachine", "ConcurrentStep", "ListKind",
    "MemberKind", "ModelKind", "NumberKind", "OpaqueKind", "OptionalKind", "RecordKind", "ReferenceKind",
    "SecondsKind", "SetKind", "TableKind", "TruthKind",
)  # fmt: skip

MEMBERS = (
    "state", "snapshot", "restore", "check_invariants", "connect", "listen", "system", "number", "actions", "first",
    "wait", "save", "load", "encode", "decode", "forget", "crash_row", "crash", "follow", "go_on", "due", "period",
    "start_timers", "listeners", "tell", "self", "timers", "name", "version", "can", "unlisten",
)  # fmt: skip
"""Names that machines have anyway, with or without an underscore before them."""

CHECKS = ("in_range", "in_range_or_none", "each_in_range", "not_longer")
"""What constructors look at their arguments with, which are called as the values of a machine are."""

FUNCTIONS = (
    *CHECKS, "self", "present", "first", "rest", "item", "divisor", "subsets", "in_order", "without", "each", "state",
    "alike", "key_of",
)  # fmt: skip
"""Names that no variable may hide."""


@dataclass(frozen=True, slots=True)
class MachineNames:
    """`values` are fields, parameters and derived values; `answers` go by action and outcome."""

    class_: str
    states_class: str
    actions_class: str
    file: str
    states: Mapping[str, str]
    composites: Mapping[str, str]
    values: Mapping[str, str]
    events: Mapping[str, str]
    answers: Mapping[tuple[str, str], str]
    actions: Mapping[str, str]
    asking: Mapping[str, str]
    """Private methods that call an action with outcomes."""

    def slot(self, value: str) -> str:
        """The private attribute of a parameter or field, by its name in the spec."""
        return private(self.values[value])


@dataclass(frozen=True, slots=True)
class PackageNames:
    """All of one module. `folder` is where its package lies, from the top of what is generated."""

    folder: tuple[str, ...]
    machines: Mapping[str, MachineNames]
    """By qualified name, as are types, channels, locks and systems."""
    types: Mapping[str, str]
    """Enums, records and opaque types."""
    members: Mapping[tuple[str, str], str]
    parts: Mapping[tuple[str, str], str]
    channels: Mapping[str, str]
    lets: Mapping[str, str]
    locks: Mapping[str, str]
    systems: Mapping[str, str]


def folder(module: str) -> tuple[str, ...]:
    """`yunikorn.core` lies in `yunikorn/core`. What Python could not import, or would import in place of one of its own
    modules, has an underscore behind it: `class_`, `typing_`."""
    taken = {*RESERVED_IN_CLASSES, *SHARED}
    first, *inner = module.split(".")
    outer = f"{first}_" if first in taken | STANDARD_LIBRARY else first
    return (outer, *(f"{part}_" if part in taken else part for part in inner))


def package_names(module: m.Module, inner: Iterable[str]) -> PackageNames:
    """The names of one module's package. `inner` are the packages inside its folder."""
    classes = Namespace([*RESERVED, *_TAKEN])
    functions = Namespace([*RESERVED, *FUNCTIONS])
    lets = {x.name: functions.claim(snake(x.name)) for x in module.lets}
    files = Namespace([*RESERVED, *SUPPORT, *inner, *lets.values()])  # a package exports functions beside its files
    declared: tuple[m.Enum | m.Record | m.Opaque, ...] = (*module.enums, *module.records, *module.opaques)
    types = {x.type.name: classes.claim(camel(x.name)) for x in declared}
    machines = {x.qualified: _machine(x, classes, files) for x in module.machines}
    return PackageNames(
        folder(module.name),
        machines,
        types,
        {(e.type.name, n): name for e in module.enums for n, name in _constants(e.type.members).items()},
        {(r.type.name, part): name for r in module.records for part, name in _attributes(r.type).items()},
        {c.qualified: classes.claim(camel(c.name)) for c in module.channels},
        lets,
        {x.name: classes.claim(camel(x.name)) for x in module.locks},
        {x.qualified: classes.claim(camel(x.name)) for x in module.systems},
    )


def _constants(names: Iterable[str]) -> dict[str, str]:
    space = Namespace(("FIRST", "TYPE_CHECKING", "VERSION"))
    return {n: space.claim(upper(n)) for n in names}


def _attributes(t: m.RecordType) -> dict[str, str]:
    space = Namespace(RESERVED)
    return {part: space.claim(snake(part)) for part, _ in t.parts}


def _machine(machine: m.Machine, classes: Namespace, files: Namespace) -> MachineNames:
    class_ = classes.claim(camel(machine.name))
    states = [s.name for s in machine.states]
    constants = _constants(states)
    members = Namespace([*RESERVED_IN_CLASSES, *MEMBERS, *CHECKS])
    values = [*(x.name for x in stored(machine)), *(x.name for x in machine.lets)]
    value_names = {n: members.claim(snake(n)) for n in values}
    events = {e.name: members.claim(snake(e.name)) for e in machine.events}
    answers = [(a.name, o) for a in machine.actions for o in a.outcomes]
    spare = Namespace(RESERVED_IN_CLASSES)
    calls = {a.name: spare.claim(snake(a.name)) for a in machine.actions}
    return MachineNames(
        class_,
        classes.claim(f"{class_}State"),
        classes.claim(f"{class_}Actions"),
        files.claim(snake(machine.name)),
        constants,
        {s.name: members.claim(f"in_{snake(s.name)}") for s in machine.states if s.children},
        value_names,
        events,
        {(a, o): members.claim(f"{snake(a)}_{snake(o)}") for a, o in answers},
        calls,
        {a: members.claim(f"ask_{name}") for a, name in calls.items()},
    )


# States of `transitions` ---------------------------------------------------------------------------------------------


def is_nested(machine: m.Machine) -> bool:
    """Are there states in states?"""
    return any(s.children for s in machine.states)


def state_path(machine: m.Machine, state: str) -> str:
    """What a state is called in the `transitions` library: `Up.Idle`."""
    return ".".join(reversed(list(machine.ancestors(state))))
