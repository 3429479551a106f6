"""The runtime of generated classes: modules that are copied, unchanged, into each generated package that needs them.

They import one another and the standard library, nothing else. What depends on a spec is in generated modules, which
subclass what is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files

from fsmdsl.core.graphs import reachable
from fsmdsl.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuntimeModule:
    """A module of the runtime."""

    public: tuple[str, ...] = ()
    """Names that users import, from the folder that has the module."""
    internal: tuple[str, ...] = ()
    """Names that generated code alone uses, from the module itself."""
    requires: tuple[str, ...] = ()
    """The modules that it imports."""


MODULES: Mapping[str, RuntimeModule] = {
    "errors": RuntimeModule((
        "Busy", "ConcurrentStep", "EndlessRound", "ForeignSnapshot", "Full", "InvariantBroken", "Lost",
        "MissingReference", "OutOfRange", "Overlap", "ReentrantEvent", "StaleAnswer", "StepRefused",
    )),
    "values": RuntimeModule(
        internal=(
            "divisor", "each_in_range", "first", "in_order", "in_range", "in_range_or_none", "item", "not_longer",
            "present", "subsets", "without",
        ),
        requires=("errors",),
    ),
    "kinds": RuntimeModule(
        internal=(
            "ListKind", "MemberKind", "ModelKind", "NumberKind", "OpaqueKind", "OptionalKind", "RecordKind",
            "ReferenceKind", "SecondsKind", "SetKind", "TruthKind",
        ),
        requires=("errors", "values"),
    ),
    "tables": RuntimeModule(("Table",), ("TableKind", "alike", "key_of"), ("errors", "kinds")),
    "snapshots": RuntimeModule(
        internal=(
            "Data", "Saved", "duration", "items", "named", "reference", "state_named", "truth", "whole",
        ),
        requires=("errors", "values"),
    ),
    "machine": RuntimeModule(("Followed", "State", "UnhandledEvent"), requires=("errors", "snapshots")),
    "standalone": RuntimeModule(("Alone",), requires=("errors", "machine", "snapshots")),
    "system": RuntimeModule(("Machine",), ("System",), requires=("errors", "kinds", "machine", "snapshots", "values")),
    "channels": RuntimeModule(("Channel", "Message"), requires=("errors", "snapshots", "system")),
    "clock": RuntimeModule(),
    "timers": RuntimeModule(("TimedMachine", "VirtualClock"), requires=("clock", "errors", "snapshots", "system")),
    "locks": RuntimeModule(internal=("Lock", "LockOrder", "LockOrderBroken")),
}  # fmt: skip

MODULE_OF: Mapping[str, str] = {name: m for m, x in MODULES.items() for name in (*x.public, *x.internal)}
"""Where a name is defined."""


def needed(names: Iterable[str]) -> list[str]:
    """The modules that define these names, and those that they import."""
    return sorted(reachable([MODULE_OF[x] for x in names], lambda m: MODULES[m].requires))


def source(module: str) -> str:
    """The text of a module."""
    return files("fsmdsl.classes.runtime").joinpath(f"{module}.py").read_text("utf-8")
