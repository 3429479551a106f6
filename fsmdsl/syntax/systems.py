"""Systems and scenarios as written."""

from __future__ import annotations

from typing import Literal

from fsmdsl.dataclasses import field
from fsmdsl.syntax.effects import Effect
from fsmdsl.syntax.expressions import Binder, Expr, Name, Parameter, Path, Text
from fsmdsl.syntax.machines import AnyValue, InvariantDecl, LetDecl
from fsmdsl.syntax.nodes import node
from fsmdsl.text.source import NOWHERE, Span

__all__ = [
    "BoundDecl", "CrashOffer", "Do", "Elapse", "EnvironmentDecl", "EnvironmentUse", "Expect", "Fails", "Fairness",
    "FirstState", "FirstValue", "Initial", "InstanceDecl", "MapField", "MapState", "Mapped", "Offer",
    "ProcessCrash", "PropertyDecl", "ReachableDecl", "RecoverDecl", "Recovers", "RestDecl", "Restart", "ScenarioDecl",
    "ScenarioStep", "SharedEnvironment", "StartDecl", "SystemDecl", "SystemMember", "Taken", "Transmit", "Via",
]  # fmt: skip


@node
class Initial:
    """`priority = index` in the braces after an instance."""

    name: Name
    value: Expr | AnyValue
    span: Span = field(compare=False, default=NOWHERE)


@node
class InstanceDecl:
    """`groups: AffinityGroup[3] { size = 2 }`; `begins`: `in Busy`, `in {Idle, Busy}`, `in any`."""

    name: Name
    machine: Path
    count: int | None
    symmetric: bool
    begins: Name | tuple[Name, ...] | AnyValue | None
    initials: tuple[Initial, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class StartDecl:
    """`start when all n in ring: n.s < n.k`."""

    condition: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class RestDecl:
    """`may rest when all j in jobs: j in Done`."""

    condition: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class BoundDecl:
    """`explore while size(log) <= 3`."""

    condition: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Offer:
    """`some g in groups: g.pods_deleted when …`: an event that the environment may send."""

    binders: tuple[Binder, ...]
    call: Expr
    guard: Expr | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class CrashOffer:
    """`crash`, `crash between writes`, `crash during recovery`."""

    kind: Literal["anywhere", "between writes", "during recovery"]
    guard: Expr | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class ProcessCrash:
    """`some s in servers: crash of s when …`; `call` and `kind` are what else was written in the place of `crash`."""

    binders: tuple[Binder, ...]
    call: Expr
    kind: Literal["anywhere", "between writes", "during recovery"]
    targets: tuple[Expr, ...]
    guard: Expr | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class EnvironmentDecl:
    offers: tuple[Offer | CrashOffer | ProcessCrash, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class SharedEnvironment:
    """`environment Cluster(groups: set<Group>) { … }`, of a module: what several systems have in common."""

    name: Name
    parameters: tuple[Parameter, ...]
    offers: tuple[Offer | CrashOffer | ProcessCrash, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class EnvironmentUse:
    """`environment Cluster(groups)`, of a system."""

    path: Path
    arguments: tuple[Expr, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class RecoverDecl:
    effects: tuple[Effect, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Fairness:
    """`fair pods_deleted`, `strong fair schedule`: events, or labels of transitions; `fair deliver to_cache`: channels,
    or events of their messages. `fair take for each user`: `each` are parameters of the events."""

    strength: Literal["weak", "strong"]
    names: tuple[Path, ...]
    deliveries: tuple[Path, ...]
    each: tuple[Path, ...]
    span: Span = field(compare=False, default=NOWHERE)


@node
class Recovers:
    """`recovers on cells, user`: the property of recovery, compared on these fields (none named: on all)."""

    fields: tuple[Path, ...]
    span: Span = field(compare=False, default=NOWHERE)


@node
class PropertyDecl:
    name: Name | None
    formula: Expr | Recovers
    under: tuple[Fairness, ...]
    finite: bool
    """`finitely many crashes`"""
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class ReachableDecl:
    name: Name | None
    condition: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Mapped:
    """Which instances of the system that is refined are meant: `g`, `groups[0]`, or with a variable `groups[i]`."""

    name: Name
    element: int | Name | None
    span: Span = field(compare=False, default=NOWHERE)


@node
class MapState:
    """`map groups[i] in Running when workers[i] in Busy`."""

    mapped: Mapped
    state: Name
    guard: Expr | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class MapField:
    """`map groups[i].size = size(workers[i].jobs)`."""

    mapped: Mapped
    target: Name
    value: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


SystemMember = (
    InstanceDecl | LetDecl | StartDecl | RestDecl | BoundDecl | EnvironmentDecl | EnvironmentUse | RecoverDecl
    | InvariantDecl | PropertyDecl | ReachableDecl | MapState | MapField
)  # fmt: skip


@node
class SystemDecl:
    """`extends` is the system whose members this one has, too, `refines` the one that it is compared with."""

    name: Name
    extends: Path | None
    refines: Path | None
    members: tuple[SystemMember, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Do:
    """`g.schedule({c0})`, `sliver.deploy.ok`: an event from outside, or the outcome of a pending action. `of`: what is
    written behind it as if it were a crash."""

    call: Expr
    of: tuple[Expr, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Elapse:
    """`timeout app`, `timeout app Starting`: the timer of an instance, chosen by label or source state."""

    instance: Expr
    timer: Name | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Transmit:
    """`deliver to_cache`, `lose inbox of p0`, `duplicate link from p0 to p1`; a named message where order is free."""

    kind: Literal["deliver", "lose", "duplicate"]
    channel: Path
    ends: tuple[Expr, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Restart:
    """`crash`, `crash of s0`, or `recover`."""

    kind: Literal["crash", "recover"]
    of: tuple[Expr, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Expect:
    condition: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Via:
    """`via U3, P3, L4`: the labels followed since the last `via`, in order."""

    labels: tuple[Name, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


Taken = Do | Elapse | Transmit | Restart
"""What is done to the system."""


@node
class Fails:
    """`fails g.schedule(none) with none`: the step ends in a fault, of the kind named if one is."""

    step: Taken
    fault: Name | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


ScenarioStep = Taken | Fails | Expect | Via


@node
class FirstValue:
    """`ring[0].s = 2`, after `start with`."""

    target: Expr
    value: Expr
    span: Span = field(compare=False, default=NOWHERE)


@node
class FirstState:
    """`ring[0] in Busy`, after `start with`."""

    target: Expr
    state: Name
    span: Span = field(compare=False, default=NOWHERE)


@node
class ScenarioDecl:
    """`scenario G1 "plain path" of Small { … }`, or with instances of its own. `firsts`: what stands behind
    `start with`."""

    name: Name
    title: Text | None
    system: Path | None
    instances: tuple[InstanceDecl, ...]
    firsts: tuple[FirstValue | FirstState, ...]
    steps: tuple[ScenarioStep, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)
