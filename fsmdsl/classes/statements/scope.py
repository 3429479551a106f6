"""Where code stands: in which file and class, with which variables, and what is known there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fsmdsl import model as m
from fsmdsl.classes.files import File
from fsmdsl.classes.names import RESERVED, Namespace, module_of, snake
from fsmdsl.classes.naming import FUNCTIONS, MachineNames
from fsmdsl.classes.statements.code import Binds, Text
from fsmdsl.classes.statements.text import literal
from fsmdsl.core.presence import NOTHING, Present, after, present_if, without
from fsmdsl.core.selection import Selection
from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.model.walk import effects, effects_of


@dataclass(frozen=True)
class Scope:
    """Where an expression stands: in which file, in the class of which machine or system, with which variables."""

    file: File
    machine: m.Machine | None = None
    system: m.System | None = None
    locals: Mapping[str, str] = field(default_factory=dict)
    staged: Mapping[str, str] = field(default_factory=dict)
    """Own fields that a step has changed, and not written yet."""
    functions: Mapping[str, str] = field(default_factory=dict)
    """Own derived values that read such fields: functions of the method, by the name of the `let`."""
    present: Present = NOTHING
    """Optional values that are known not to be none."""
    loose: bool = False
    """Inside a derived value with parameters: it may be given values that their types do not have."""

    @property
    def system_name(self) -> str:
        """How the system is called here."""
        if self.system is not None:
            return "self.system"
        return "system" if self.machine is None else "self._system"

    def own(self, name: str) -> str:
        """A field or parameter of the machine itself. Models of `transitions` have plain attributes."""
        own = self.file.context.dialect == "classes"
        return f"self.{self.names.slot(name) if own else self.names.values[name]}"

    @property
    def own_machine(self) -> m.Machine:
        """The machine in whose class the expression stands."""
        assert self.machine is not None
        return self.machine

    @property
    def waits(self) -> bool:
        """Has the machine in whose class the expression stands to know whether it waits?"""
        return self.own_machine.qualified in self.file.context.waiting

    @property
    def selection(self) -> Selection:
        """The transitions of the machine in whose class the expression stands."""
        return self.file.context.selections[self.own_machine.qualified]

    @property
    def names(self) -> MachineNames:
        """The names of the machine in whose class the expression stands."""
        return self.file.context.machine(self.own_machine.qualified)

    def bind(self, *variables: str) -> Scope:
        """The scope inside a quantifier or a function with parameters."""
        scope = self
        for variable in variables:
            scope = scope._with(variable)
        return scope

    def turn(self, loop: m.ForEach) -> Scope:
        """The scope inside a loop of effects. Python has one type for a variable of a method: where another loop of the
        same variable runs through values of another type, that is another variable."""
        whole = effects_of(self.own_machine) if self.system is None else effects(self.system.recover or ())
        loops = (x for x in whole if isinstance(x, m.ForEach) and x.variable == loop.variable)
        return self._with(loop.variable, [*dict.fromkeys(map(_kind, loops))].index(_kind(loop)))

    def _with(self, variable: str, earlier: int = 0) -> Scope:
        """The scope with one more variable. `earlier`: the number of variables whose names are already taken by it."""
        others = (function for function, let in self.file.context.functions if let != variable)
        taken = Namespace([*self.locals.values(), *RESERVED, *FUNCTIONS, *others, "self", "_"])
        name = [taken.claim(snake(variable)) for _ in range(earlier + 1)][-1]
        present = without(self.present, variable)
        return replace(self, locals={**self.locals, variable: name}, present=present)

    def with_parameters(self, parameters: Iterable[m.Variable]) -> tuple[Scope, list[str]]:
        """The scope inside a function with these parameters, and what they are called there."""
        names = [p.name for p in parameters]
        scope = self.bind(*names)
        return scope, [scope.locals[name] for name in names]

    def inside(self, let: m.Let) -> tuple[Scope, list[str]]:
        """The scope inside a derived value, and what its parameters are called there."""
        scope, names = self.with_parameters(let.parameters)
        return replace(scope, loose=bool(names)), names

    def taking(self, t: m.Transition, parameters: Iterable[str]) -> Scope:
        """The scope where guard and effects of a transition stand, in the method of an event with these parameters."""
        if not isinstance(t.trigger, m.OnEvent):
            return self
        return replace(self, locals={**self.locals, **dict(zip(t.trigger.arguments, parameters, strict=False))})

    def knowing(self, condition: m.Expr, holds: bool = True) -> Scope:
        """The scope where a condition is known to hold, or not to."""
        return replace(self, present=self.present | present_if(condition, holds))

    def after(self, done: m.Effect) -> Scope:
        """The scope behind an effect."""
        return replace(self, present=after(self.present, done))


def _kind(loop: m.ForEach) -> m.Type:
    """What it runs through, as Python sees it: a number is a number."""
    of = m.element_of(loop.over.type)
    return m.RangeType(0, 0) if isinstance(of, m.RangeType) else of


# What needs no scope -------------------------------------------------------------------------------------------------


def constant(file: File, e: m.Constant) -> Text:
    """A constant; durations in seconds."""
    match e.type, e.value:
        case _, bool() | None:
            return Text(str(e.value))
        case m.DurationType(), int():
            return Text(seconds(e.value))
        case _, int():
            return Text(str(e.value), Binds.SIGN if e.value < 0 else Binds.ATOM)
        case m.EnumType() as t, str():
            return Text(f"{file.type_(t)}.{member(file, t, e.value)}")
        case _, str():
            return Text(literal(e.value))
        case _:
            raise TypeError(e)


def member(file: File, t: m.EnumType, name: str) -> str:
    """A member of an enum, or a state of a machine."""
    if t.machine:
        return file.context.machine(t.machine).states[name]
    return file.context.packages[module_of(t.name)].members[(t.name, name)]


def seconds(milliseconds: int) -> str:
    """A length of time as the runtime counts it."""
    return repr(milliseconds / 1000)


def machine_of(t: m.Type) -> str:
    """The machine of a reference."""
    match t:
        case m.RefType(machine):
            return machine
        case m.OptionalType(of):
            return machine_of(of)
        case _:
            raise TypeError(t)
