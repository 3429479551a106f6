"""Where code stands: in which file and class, with which variables, and what is known there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from fsmdsl import model as m
from fsmdsl.emit.files import File
from fsmdsl.emit.names import RESERVED, snake
from fsmdsl.emit.naming import FUNCTIONS, MachineNames
from fsmdsl.emit.rows import conjuncts
from fsmdsl.emit.text import literal


class Binds(IntEnum):
    """How tightly an expression holds together."""

    LOOSE = 0
    CONDITIONAL = 1
    OR = 2
    AND = 3
    NOT = 4
    COMPARISON = 5
    UNION = 6
    INTERSECTION = 7
    SUM = 8
    SIGN = 9
    ATOM = 10


@dataclass(frozen=True)
class Place:
    """Where an expression stands: in which file, in the class of which machine or system, with which variables."""

    file: File
    machine: m.Machine | None = None
    system: m.System | None = None
    locals: Mapping[str, str] = field(default_factory=dict)
    staged: Mapping[str, str] = field(default_factory=dict)
    """Own fields that a step has changed, and not written yet."""
    present: frozenset[m.Expr] = frozenset()
    """Optional values that are known not to be none."""

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
    def names(self) -> MachineNames:
        """The names of the machine in whose class the expression stands."""
        assert self.machine is not None
        return self.file.context.machine(self.machine.qualified)

    def bind(self, variable: str) -> Place:
        """The place inside a loop or quantifier."""
        name = snake(variable)
        while name in self.locals.values() or name in RESERVED or name in FUNCTIONS or name in ("self", "_"):
            name += "_"
        return replace(self, locals={**self.locals, variable: name})

    def knowing(self, *found: m.Expr) -> Place:
        """The place where conditions are known to hold."""
        seen = [c.left for g in found for c in conjuncts(g) if _says_present(c) and isinstance(c, m.Binary)]
        seen += [c.target for g in found for c in conjuncts(g) if isinstance(c, m.InState)]
        return replace(self, present=self.present | {x for x in seen if isinstance(x, m.Read | m.Local)})

    def knowing_not(self, condition: m.Expr) -> Place:
        """The place where a condition is known not to hold."""
        match condition:
            case m.Binary(operator="==", left=left, right=m.Constant(value=None), type=type_):
                return self.knowing(m.Binary("!=", left, condition.right, type_))
            case m.Not(operand=operand):
                return self.knowing(operand)
            case _:
                return self


def _says_present(e: m.Expr) -> bool:
    return isinstance(e, m.Binary) and e.operator == "!=" and isinstance(e.right, m.Constant) and e.right.value is None


# What needs no place -------------------------------------------------------------------------------------------------


def constant(file: File, e: m.Constant) -> tuple[str, Binds]:
    """A constant; durations in seconds."""
    match e.type, e.value:
        case _, bool() | None:
            return str(e.value), Binds.ATOM
        case m.DurationType(), int():
            return seconds(e.value), Binds.ATOM
        case _, int():
            return str(e.value), Binds.SIGN if e.value < 0 else Binds.ATOM
        case m.EnumType() as t, str():
            return f"{file.enum(t)}.{member(file, t, e.value)}", Binds.ATOM
        case _, str():
            return literal(e.value), Binds.ATOM
        case _:
            raise TypeError(e)


def member(file: File, t: m.EnumType, name: str) -> str:
    """A member of an enum."""
    return file.context.packages[t.name.rpartition(".")[0]].members[(t.name, name)]


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
