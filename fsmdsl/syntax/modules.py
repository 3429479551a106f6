"""Modules as written: what a file holds."""

from __future__ import annotations

from typing import Literal

from fsmdsl.dataclasses import field
from fsmdsl.syntax.expressions import Name, Path, Text, TypeExpr
from fsmdsl.syntax.machines import LetDecl, MachineDecl
from fsmdsl.syntax.nodes import node
from fsmdsl.syntax.systems import ScenarioDecl, SharedEnvironment, SystemDecl
from fsmdsl.text.source import NOWHERE, Span

__all__ = [
    "ChannelDecl", "EnumDecl", "EnumMember", "Hold", "Import", "LockAmendment", "LockOrder", "LockUse", "LocksDecl",
    "Module", "ModuleMember", "OpaqueDecl", "OperationDecl", "RecordDecl", "RecordPart", "SourceDecl",
]  # fmt: skip


@node
class Import:
    """`import hived` (then `hived.Cell`) or `import hived { Cell }` (then `Cell`)."""

    path: Path
    names: tuple[Name, ...]
    span: Span = field(compare=False, default=NOWHERE)


@node
class SourceDecl:
    """`source "HiveD state machines" at "hived-state-machines.md"`: the document that the module formalises."""

    title: Text
    location: Text | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class EnumMember:
    name: Name
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class EnumDecl:
    name: Name
    members: tuple[EnumMember, ...]
    ordered: bool
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class RecordPart:
    name: Name
    type: TypeExpr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class RecordDecl:
    """`record Entry { term: 0..3  value: bool }`."""

    name: Name
    parts: tuple[RecordPart, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class OpaqueDecl:
    names: tuple[Name, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class ChannelDecl:
    """`channel to_cache: lossy fifo[2] to Cache`, `channel inbox: waiting bag[2] to each Node`, `channel link: fifo[2]
    from each Node to each Node`."""

    name: Name
    order: Literal["fifo", "bag"]
    bound: int
    lossy: bool
    duplicating: bool
    waiting: bool
    sender: Path | None
    """Given where each pair of a sender and a receiver has a queue."""
    each: bool
    receiver: Path
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class LockUse:
    """`write(Partition)`, `read(child Queue)`, `Node` (either mode)."""

    name: Name
    mode: Literal["read", "write", "any"]
    child: bool
    span: Span = field(compare=False, default=NOWHERE)


@node
class LockOrder:
    """`Cluster > Partition > Queue`: each may be taken while the one before it is held."""

    locks: tuple[LockUse, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Hold:
    """`write(Partition) { read(Node) }`: locks taken while one is held."""

    lock: LockUse
    inside: tuple[Hold, ...]
    span: Span = field(compare=False, default=NOWHERE)


@node
class OperationDecl:
    name: Name
    holds: tuple[Hold, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class LocksDecl:
    name: Name | None
    members: tuple[LockOrder | OperationDecl | LockAmendment, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class LockAmendment:
    """`amends "reason" Cluster > Partition`."""

    name: Name | None
    reason: Text
    members: tuple[LockOrder | OperationDecl, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


ModuleMember = (
    EnumDecl | RecordDecl | OpaqueDecl | LetDecl | MachineDecl | ChannelDecl | LocksDecl | SharedEnvironment
    | SystemDecl | ScenarioDecl
)  # fmt: skip


@node
class Module:
    """One `.fsm` file. A file without a `module` line is named after itself."""

    name: Path | None
    sources: tuple[SourceDecl, ...]
    imports: tuple[Import, ...]
    members: tuple[ModuleMember, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)
