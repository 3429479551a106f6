"""What an explorer has to record so that the properties of a system can be decided, and what is then decided.

`questions` (in `grounding`) makes a plan from a system. An explorer evaluates the atoms in every state and notes on
every edge which obligations the step fulfils; `record` shows how.
"""

from __future__ import annotations

from collections.abc import Mapping

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.runs.liveness.formula import Formula
from fsmdsl.step import FaultError, Message, Universe, Value, World, holds


class UncheckedError(Exception):
    """Why a property cannot be decided."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A condition on one state, without variables: `bound` gives their values. It is false where it has no value."""

    expr: m.Expr
    bound: tuple[tuple[str, Value], ...] = ()
    instance: int | None = None
    if_unknown: bool = False
    """Of what only a whole graph decides: its value where states that were not expanded would decide it."""

    @property
    def locals(self) -> Mapping[str, Value]:
        """The values of the variables."""
        return dict(self.bound)

    @property
    def of_graphs(self) -> bool:
        """Does only a whole graph decide it?"""
        return isinstance(self.expr, m.Temporal)

    def true(self, universe: Universe, world: World) -> bool:
        """Is it true in a world? What a world alone does not decide is not."""
        if self.of_graphs:
            return False
        try:
            return holds(universe, world, self.expr, self.locals, self.instance)
        except FaultError:
            return False


@dataclass(frozen=True, slots=True)
class Obligation:
    """What fairness asks of one instance: that it takes part in a step under a name, an event's or a transition's.

    A step fulfils it when in its course the instance follows one of the transitions (by index), or ignores one of the
    events (`event` or `action.outcome`), with these values of parameters. Of a step that a crash cuts short, only what
    the crash itself brings counts.
    """

    instance: int
    name: str
    transitions: frozenset[int] = field(compare=False)
    ignored: frozenset[str] = field(compare=False)
    arguments: tuple[tuple[m.Variable, Value], ...] = ()
    """The parameters that have a certain value; any other may have any."""

    def places(self, machine: m.Machine, trigger: str | None) -> list[tuple[int, m.Type, Value]]:
        """Which arguments of its machine's trigger have to have which values, by place, with their types."""
        event = machine.event_named.get(trigger or "")
        return [] if event is None else [(event.parameters.index(p), p.type, x) for p, x in self.arguments]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What fairness asks of a queue (by its number): that it delivers this message. A step that delivers one
    fulfils it."""

    queue: int
    message: Message


@dataclass(frozen=True, slots=True)
class MessageWaits:
    """Nobody asks for it. It is the obligation behind that of a `Delivery`, which is possible where this is: every step
    in which the queue delivers, whichever message, fulfils it, if such a message waits there; where the receiver
    chooses among the messages, only one that delivers it."""

    queue: int
    message: Message


@dataclass(frozen=True, slots=True)
class Crashes:
    """Nobody asks for it either: every crash fulfils it, so that runs can be found that have finitely many."""


FairnessConstraint = Obligation | Delivery | MessageWaits | Crashes
"""What a step can fulfil."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """An atom `stuck(x)`, by number, which only a whole graph decides; the atom that is true where x is neither in a
    final or resting state nor in one that nothing leads on from; the obligation that each transition of x fulfils."""

    atom: int
    waiting: int
    moves: int
    if_unknown: bool
    """See `Atom`."""


@dataclass(frozen=True, slots=True)
class Premise:
    """What some run has to satisfy, or a claim says nothing: a condition, as a formula for some values of variables."""

    of: m.Expr
    formula: Formula


@dataclass(frozen=True, slots=True)
class Claim:
    """A formula without variables: one part of a property, for some values of its variables.

    `bindings` tells the values (`g = g1`), `bound` has them.
    """

    bindings: tuple[str, ...]
    bound: tuple[tuple[str, Value], ...]
    formula: Formula
    premises: tuple[Premise, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A property: it holds when all its claims do, on all fair runs. `weak` and `strong` are sets of obligations, as
    bits, and so is `finite`: what happens finitely often in these runs. `unanswered` are names of its fairness that no
    instance has."""

    property: m.Property
    claims: tuple[Claim, ...]
    weak: int
    strong: int
    finite: int
    unanswered: tuple[str, ...]
    unchecked: str | None = None
    """Why it cannot be decided; then it has no claims."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All temporal properties of a system. Atom and obligation `i` are bit `i` of a graph's atoms and marks."""

    universe: Universe = field(repr=False, compare=False)
    atoms: tuple[Atom, ...]
    obligations: tuple[FairnessConstraint, ...]
    questions: tuple[Question, ...]
    stuck: tuple[Stuck, ...] = ()
    stutters: bool = False
    """Whether a run may also stand still where a step is possible, as far as fairness lets it."""
    bound: int | None = None
    """The atom that is true inside the bounds of the system: from other states no run is followed. None: no bounds."""

    @property
    def deliveries(self) -> int:
        """The obligations that are deliveries, as bits."""
        return sum(1 << n for n, o in enumerate(self.obligations) if isinstance(o, Delivery))
