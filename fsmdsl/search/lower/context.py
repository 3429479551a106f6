"""What every part of the lowering needs: the layout, the codes given out, and which functions are wanted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core import translate
from fsmdsl.core.elaborate import Elaboration
from fsmdsl.core.selection import Selection
from fsmdsl.core.triggers import trigger_name
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.program.builder import Builder
from fsmdsl.program.nodes import ZERO, Bool, Element, Expr, Function, Int, Operand, Var
from fsmdsl.runs.liveness.plan import Delivery, FairnessConstraint, MessageWaits, Obligation
from fsmdsl.search.layout import Layout, QueueLayout, has_cuts, kinds
from fsmdsl.search.lower.fault_codes import FIRST
from fsmdsl.search.shapes import Shape, shape, to_number
from fsmdsl.search.symmetry import Reduction
from fsmdsl.step.universe import Universe
from fsmdsl.step.values import cardinality


@dataclass(slots=True)
class Fail:
    """Writes what happens where a value is missing: a fault, of which a function may have returned the code; else it is
    a new one."""

    write: Callable[[Expr | None], None]
    used: bool = False
    """Can a value be missing at all?"""

    def __call__(self, code: Expr | None = None) -> None:
        self.used = True
        self.write(code)


Bits = dict[int, dict[tuple[tuple[int, int], ...], int]]
"""By instance, and by the numbers of arguments at their places: the bits of what is fulfilled."""


@dataclass(frozen=True, slots=True)
class AsymmetryWitness:
    """How a search can find that members of symmetric sets are told apart."""

    sets: tuple[str, ...]
    why: str


@dataclass(slots=True)
class Context:
    """One module that is being written."""

    layout: Layout
    expression: Callable[[Scope, s.Expr, m.Type | None], Expr]
    """`expressions.value`, for parts of expressions that are themselves part of it."""
    statements: Callable[[Scope, s.Block], bool]
    """`statements.execute`, likewise."""
    core: translate.Context = field(init=False)
    """What the system's steps are, in core statements."""
    universe: Universe = field(init=False)
    codes: int = FIRST
    """How many codes there are of what a step can come to."""
    handlers: dict[tuple[str, str], str] = field(default_factory=dict)
    """The handlers that are called: machine and trigger, and the function's name."""
    steps: dict[s.Name, str] = field(default_factory=dict)
    """The functions for steps that are called."""
    followed: dict[tuple[str, int], int] = field(default_factory=dict)
    """Where it is kept that a transition was followed."""
    guards: dict[tuple[str, int], int] = field(default_factory=dict)
    """Where it is kept that a guard was false; behind it, that it was true."""
    obligations: Sequence[FairnessConstraint] = ()
    """What fairness asks; each has a bit of a step's mark."""
    reduction: Reduction = field(default_factory=Reduction)
    lets: dict[s.Name, str] = field(default_factory=dict)
    """The functions for `let`s."""
    parts: list[Function] = field(default_factory=list)
    """Functions for `let`s, and for loops that would stand too deep in others."""
    doubts: list[AsymmetryWitness] = field(default_factory=list)
    loops: list[list[Function]] = field(default_factory=list)
    """The functions of each loop that is run in every order."""
    bits: int = 0
    """The most bits of a number that was asked for."""

    def __post_init__(self) -> None:
        self.universe = universe = self.layout.universe
        self.bits = max((s.bits for s in self.layout.shapes), default=0)
        elaboration = Elaboration(universe.model, universe.system, lambda t: cardinality(t, universe))
        self.core = translate.Context(elaboration, fused=True)

    def selection(self, machine: m.Machine) -> Selection:
        """Which transitions come into question in a machine."""
        return self.core.selection(machine)

    def shape(self, t: m.Type) -> Shape:
        """The numbers of a type. Raises `UnpackableError`."""
        result = shape(t, self.universe)
        self.bits = max(self.bits, result.bits)
        return result

    def procedure(self, kind: s.ProcedureKind, owner: str = "", subject: str = "") -> s.Procedure:
        """A procedure of the system."""
        return translate.procedure(self.core, s.Name(kind, owner, subject))

    @property
    def rounds(self) -> bool:
        """Are there transitions that need no event?"""
        return any(x.has_rounds for x in kinds(self.universe))

    @property
    def cuts(self) -> bool:
        """Can a crash come in the middle of a step?"""
        return has_cuts(self.universe)

    def column(self, machine: str, name: str) -> int:
        """Where a column stands; 0 for a machine without instances, which nobody ever reads."""
        return self.layout.columns.get((machine, name), 0)

    def handler(self, machine: m.Machine, trigger: str) -> str:
        """The function that handles an event or outcome in a machine; it will be written if it is not there yet."""
        key = (machine.qualified, trigger)
        if key not in self.handlers:
            self.handlers[key] = f"on_{machine.name}_{trigger.replace('.', '_')}_{len(self.handlers)}"
        return self.handlers[key]

    def step(self, procedure: s.Procedure) -> str:
        """The function that takes a step, up to its round; it will be written if it is not there yet."""
        return self.steps.setdefault(procedure.name, f"step_{len(self.steps)}")

    def doubt(self, names: Sequence[str], why: str) -> int:
        """The number of a doubt, from 1 on."""
        witness = AsymmetryWitness(tuple(names), why)
        if witness not in self.doubts:
            self.doubts.append(witness)
        return self.doubts.index(witness) + 1

    def code(self, code: Expr | None) -> Operand:
        """The code of a fault: the one that a function has returned, or a new one."""
        return self.site() if code is None else code

    def site(self, count: int = 1) -> int:
        """The first of so many new codes, one after the other."""
        self.codes += count
        return self.codes - count

    def followed_bits(self, machine: m.Machine, t: m.Transition) -> Bits:
        """What is fulfilled when an instance follows a transition."""
        return self._bits(machine, trigger_name(t.trigger), lambda o: t.index in o.transitions)

    def ignored_bits(self, machine: m.Machine, event: str) -> Bits:
        """What is fulfilled when an instance ignores an event."""
        return self._bits(machine, event, lambda o: event in o.ignored)

    def delivered_bits(self, box: QueueLayout, kind: type[Delivery | MessageWaits]) -> dict[int, int]:
        """By the number of a message: the bit of its delivery, or that it waits."""
        return {
            self.layout.message_number(box, o.message): 1 << n
            for n, o in enumerate(self.obligations)
            if isinstance(o, kind) and self.layout.boxes[o.queue] is box
        }

    def _bits(self, machine: m.Machine, trigger: str | None, fulfils: Callable[[Obligation], bool]) -> Bits:
        of = self.universe.instances_of(machine.qualified)
        bits: Bits = {}
        for n, o in enumerate(self.obligations):
            if isinstance(o, Obligation) and o.instance in of and fulfils(o):
                arguments = tuple((k, to_number(t, x, self.universe)) for k, t, x in o.places(machine, trigger))
                mine = bits.setdefault(o.instance, {})
                mine[arguments] = mine.get(arguments, 0) | 1 << n
        return bits


@dataclass(slots=True)
class Scope:
    """Where core statements are lowered: in which function, about which instance, reading which row."""

    context: Context
    builder: Builder
    row: Var
    """The row that is read: `s`, or `t` for the one that is being made."""
    instance: Var | Int | None
    machine: m.Machine | None
    fail: Fail
    variables: dict[str, Expr] = field(default_factory=dict)
    """The numbers of variables of core statements."""
    names: translate.Builder = field(default_factory=translate.Builder)
    blame: Callable[[Expr], Operand] | None = None
    """The result where an event cannot be delivered, which is a fault at its sender; see `fault_codes`."""
    state: Var | None = None
    """The variable with the state of the instance, as long as it has not changed."""
    choice: tuple[Var, Mapping[int, frozenset[str]] | None] | None = None
    """The variable with the crash transition that the instance has chosen, plus 1; or with the state in which it was,
    where that decides, and the leaves of each transition. See `crashes`."""
    trial: bool = False
    """Whether transitions are selected, but not followed."""
    offer: Callable[[Scope, s.Statement], None] | None = None
    """In a function that takes the steps that are offered: writes what offers one, and how it comes to that."""
    end: Expr = ZERO
    """What a function returns that is worth no value."""
    places: Mapping[s.Queue, Expr] = field(default_factory=dict)
    """Where a queue begins that is asked about several times."""
    message: Var | None = None
    """The variable with the message that is delivered."""
    waits: bool = False
    """Whether it goes on waiting where it is not handled: then nothing happens."""
    leave: Callable[[], None] | None = None
    """Writes the end of the innermost loop."""
    shared: dict[Hashable, Var] | None = None
    """In a function that changes nothing: variables for values that are computed once; see `lets`."""
    lasting: frozenset[Var] = frozenset()
    """The parameters of such a function, which stand for the same number everywhere in it."""
    meanings: dict[Var, Expr] = field(default_factory=dict)
    """In such a function: what variables stand for."""

    @property
    def own(self) -> tuple[Var | Int, m.Machine]:
        """The instance that expressions are about, and its machine."""
        assert self.instance is not None
        assert self.machine is not None
        return self.instance, self.machine

    def value(self, e: s.Expr, want: m.Type | None = None) -> Expr:
        """The number of an expression here, as one of the type wanted; see `expressions`."""
        return self.context.expression(self, e, want)

    def variable(self, e: s.Expr) -> Var | Int | Bool:
        """The number of an expression that is used several times."""
        value = self.value(e)
        result = self.builder.temporary(value)
        if self.shared is not None and isinstance(result, Var):
            self.meanings.setdefault(result, value)
        return result

    def execute(self, block: s.Block) -> bool:
        """Writes statements; see `statements`."""
        return self.context.statements(self, block)

    def at(self, column: int, instance: Operand) -> Element:
        """A place of the row."""
        return self.row[column + instance if column else instance]

    def standing_for(self, number: Expr, t: m.Type) -> s.Variable:
        """A variable of core statements for a number in a variable."""
        x = s.Variable(f"({len(self.variables)})", t)
        self.variables[x.name] = number
        return x


S, T, AT, STATE, N, F, OUT, CAP = (Var(name) for name in ("s", "t", "at", "state", "n", "f", "out", "cap"))
"""Names that the functions of a system share: the row that is left, the row that is made, an instance, its state, how
many successors there are, the code of a fault, where successors go, and for how many there is room."""
