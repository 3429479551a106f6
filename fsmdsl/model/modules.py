"""Modules, and the whole."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.model.channels import Channel, Locks
from fsmdsl.model.expressions import Derived
from fsmdsl.model.machine import Let, Machine
from fsmdsl.model.system import Scenario, SharedEnvironment, System
from fsmdsl.model.types import EnumType, OpaqueType, RecordType
from fsmdsl.text.source import NOWHERE, Span

__all__ = [
    "Alternative", "Document", "Enum", "LeftOut", "Model", "Module", "Opaque", "Record",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Document:
    """The document that a module formalises."""

    title: str
    location: str | None
    doc: str


@dataclass(frozen=True, slots=True)
class Enum:
    type: EnumType
    name: str
    doc: str
    member_docs: tuple[str, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Record:
    type: RecordType
    name: str
    doc: str
    part_docs: tuple[str, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Opaque:
    type: OpaqueType
    name: str
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A scenario or system that, as documented, cannot be read: it speaks of what only an amendment declares."""

    name: str
    title: str
    why: str
    """The first thing that is missing: `there is no event `retry``."""
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A repair that does not apply, as another one that does replaces the same row."""

    name: str | None
    reason: str
    machine: str
    """Of the row."""
    row: str
    instead: str
    """The repair that applies: its name, or its reason."""
    without: str
    """What `--without` takes to leave out the one that applies."""
    span: Span = field(compare=False, default=NOWHERE)

    @property
    def title(self) -> str:
        """The name, else the reason."""
        return self.name or self.reason


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    documents: tuple[Document, ...]
    imports: tuple[str, ...]
    enums: tuple[Enum, ...]
    records: tuple[Record, ...]
    opaques: tuple[Opaque, ...]
    lets: tuple[Let, ...]
    machines: tuple[Machine, ...]
    channels: tuple[Channel, ...]
    locks: tuple[Locks, ...]
    systems: tuple[System, ...]
    scenarios: tuple[Scenario, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)
    import_spans: tuple[Span, ...] = field(compare=False, default=())
    """Where each of `imports` stands."""
    left_out: tuple[LeftOut, ...] = ()
    """Scenarios."""
    systems_left_out: tuple[LeftOut, ...] = ()
    environments: tuple[SharedEnvironment, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    omitted_names: tuple[str, ...] = field(compare=False, default=())
    """The names in amendments that do not apply, sorted: what they use only seems to be unused."""


@dataclass(frozen=True)
class Model:
    """All modules that were resolved together, and look-up by qualified name."""

    modules: tuple[Module, ...]

    @cached_property
    def machines(self) -> Mapping[str, Machine]:
        return {m.qualified: m for module in self.modules for m in module.machines}

    @cached_property
    def channels(self) -> Mapping[str, Channel]:
        return {c.qualified: c for module in self.modules for c in module.channels}

    @cached_property
    def systems(self) -> Mapping[str, System]:
        return {s.qualified: s for module in self.modules for s in module.systems}

    @cached_property
    def scenarios(self) -> Mapping[str, Scenario]:
        return {s.qualified: s for module in self.modules for s in module.scenarios}

    @cached_property
    def enums(self) -> Mapping[str, Enum]:
        return {e.type.name: e for module in self.modules for e in module.enums}

    @cached_property
    def module_lets(self) -> Mapping[str, Mapping[str, Let]]:
        return {module.name: {x.name: x for x in module.lets} for module in self.modules}

    def let(self, derived: Derived, system: System | None) -> Let:
        """The declaration of a derived value."""
        if derived.owner in self.machines:
            return self.machines[derived.owner].let_named[derived.name]
        if system is not None and derived.owner == system.qualified:
            return next(x for x in system.lets if x.name == derived.name)
        return self.module_lets[derived.owner][derived.name]
