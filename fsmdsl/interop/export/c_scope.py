"""What the C functions of one system share: names, descriptions of types, places in the source, which are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.interop.export.escape import c_comment
from fsmdsl.interop.export.runs import Promise
from fsmdsl.interop.export.scope import Scope, identifier
from fsmdsl.interop.export.values import NONE, Values, type_shown

SUBSETS = 4096
"""Maximum number of subsets that a loop visits."""


def number(n: int) -> str:
    """A constant."""
    if n == NONE:
        return "NOTHING"
    return str(n) if abs(n) < 1 << 31 else f"{n}LL"


@dataclass(slots=True)
class CScope(Scope):
    """One system on its way to C. What is asked for is noted: types, functions, steps."""

    FIRST = 0

    procedures: Mapping[s.Name, s.Procedure] = field(default_factory=dict)
    functions: dict[s.Name, str] = field(default_factory=dict)
    """The procedures that are called, by the names of their functions."""
    steps: dict[s.Name, int] = field(default_factory=dict)
    """The procedures that are steps, by number."""
    dispatched: dict[s.ProcedureKind, str] = field(default_factory=dict)
    """The kinds of procedures that are called by the machine of an instance, with the names of their tables."""
    types: dict[m.Type, int] = field(default_factory=dict)
    domains: dict[m.Type, str] = field(default_factory=dict)
    """The types whose values are enumerated, with the names of their tables."""
    promises: list[Promise] = field(default_factory=list)
    """What fairness asks about; steps take note of it."""
    names: dict[tuple[str, ...], str] = field(default_factory=dict)

    @property
    def values(self) -> Values:
        """Numbers of the values."""
        members = {x.qualified: len(self.numbers(x)) for x in self.machines}
        return Values(len(self.universe.system.instances), self.universe.system.span, members)

    @property
    def arguments(self) -> int:
        """How many arguments the longest event has, at least 1."""
        return max([1, *(len(e.parameters) for x in self.machines for e in x.events)])

    def fresh(self) -> int:
        """A number that no other label has."""
        self.used += 1
        return self.used

    # Names

    def name(self, kind: str, owner: str, *parts: str) -> str:
        """A name in C, for one thing alone. `owner`: qualified, or empty."""
        key = kind, owner, *parts
        if key not in self.names:
            machine = self.universe.model.machines.get(owner)
            short = owner.rpartition(".")[2] if machine is None else self.machine_name(machine)
            name = unique = identifier(*(x for x in (kind, short, *parts) if x))
            taken = set(self.names.values())
            while unique in taken:
                unique = f"{name}_{self.fresh()}"
            self.names[key] = unique
        return self.names[key]

    def function(self, name: s.Name) -> str:
        """The function of a procedure."""
        if name not in self.functions:
            self.functions[name] = self.name(f"do_{name.kind}", name.owner, name.subject)
        return self.functions[name]

    def step(self, name: s.Name) -> int:
        """The number of a step."""
        self.function(name)
        return self.steps.setdefault(name, len(self.steps))

    def table(self, kind: s.ProcedureKind) -> str:
        """The table of the functions of a kind, by instance."""
        for machine in self.machines:
            self.function(s.Name(kind, machine.qualified))
        return self.dispatched.setdefault(kind, f"{identifier(kind)}_of")

    def leaf(self, machine: m.Machine, leaf: str) -> str:
        """The constant that stands for a leaf."""
        return self.name("at", machine.qualified, leaf)

    def action(self, machine: str, action: str) -> str:
        """The constant that stands for an action."""
        return self.name("action", machine, action)

    def domain(self, t: m.Type) -> str:
        """The table of the values of a type."""
        return self.domains.setdefault(t, f"domain_{len(self.domains)}")

    # Types

    def type(self, t: m.Type) -> str:
        """The description of a type, as a C expression."""
        if t not in self.types:
            for inner in _parts(t):
                self.type(inner)
            self.types[t] = len(self.types)
        return f"&T{self.types[t]}"

    def descriptions(self) -> Iterator[str]:
        """Of all types that were asked for."""
        for t, n in self.types.items():
            kind, of, low, high, size, head, bits = self._description(t)
            yield (
                f"static const Type T{n} = {{{kind}, {of}, {low}LL, {high}LL, {size}LL, {head}, {bits}}}; "
                f"{c_comment(type_shown(t))}"
            )

    def _description(self, t: m.Type) -> tuple[str, str, int, int, int, int, int]:
        match t:
            case m.RangeType(low, high):
                return "RANGE_", "0", low, high, self.values.size(t), 0, 0
            case m.OptionalType(of):
                return "OPTIONAL_", self.type(of), 0, 0, self._size(t), 0, 0
            case m.NoneType():
                return "OPTIONAL_", self.type(m.NEVER), 0, 0, 1, 0, 0
            case m.SetType(of):
                return "SET_", self.type(of), 0, 0, self.values.size(t), 0, 0
            case m.ListType(of, bound):
                head, bits = self.values.length_bits(bound), self.values.item_bits(of)
                return "LIST_", self.type(of), 0, bound, self.values.size(t), head, bits
            case m.MapType(of=of):
                count, bits = self.values.keys(t), self.values.item_bits(of)
                return "MAP_", self.type(of), 0, count, self.values.size(t), 0, bits
            case m.RefType():
                return "INSTANCE_", "0", 0, 0, self.values.size(t), 0, 0
            case _:
                return "NUMBER_", "0", 0, 0, self._size(t), 0, 0

    def _size(self, t: m.Type) -> int:
        return 0 if m.DurationType() in (t, *_parts(t)) else self.values.size(t)

    def cast(self, text: str, source: m.Type, target: m.Type) -> str:
        """A value as one of another type, which holds it."""
        if self._form(source) == self._form(target) or isinstance(source, m.NoneType | m.NeverType):
            return text
        return f"convert({self.type(source)}, {self.type(target)}, {text})"

    def _form(self, t: m.Type, inside: bool = False) -> object:
        """What tells apart how values of types are written."""
        match t:
            case m.SetType(of):
                self.values.size(t)
                return "set", self._form(of, True)
            case m.ListType(of, bound):
                self.values.size(t)
                return "list", self.values.length_bits(bound), self.values.item_bits(of), self._form(of, True)
            case m.OptionalType(of):
                return ("?", self._form(of, True)) if inside else self._form(of)
            case m.RangeType(low):
                return low if inside else None
            case m.NeverType() | m.NoneType():
                return t if inside else None
            case _:
                return None


def _parts(t: m.Type) -> tuple[m.Type, ...]:
    match t:
        case m.OptionalType(of) | m.SetType(of) | m.ListType(of) | m.MapType(of=of):
            return (of,)
        case m.NoneType():
            return (m.NEVER,)
        case _:
            return ()
