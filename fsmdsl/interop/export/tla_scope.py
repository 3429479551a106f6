"""What the operators of one system share in TLA+: the program, and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from fsmdsl.core import statements as s
from fsmdsl.core.translate import translate
from fsmdsl.core.translate.context import can_fail
from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.interop.export.questions import Question, questions
from fsmdsl.interop.export.scope import Scope, identifier


@dataclass(slots=True)
class TlaScope(Scope):
    """One system on its way to TLA+."""

    FIRST_QUEUE: ClassVar[int] = 1
    EQUAL: ClassVar[str] = "{} = {}"
    BOTH: ClassVar[str] = " /\\ "
    CHOICE: ClassVar[str] = "(IF {} THEN {} ELSE {})"

    questions: tuple[Question, ...] = ()
    program: s.Program = field(default_factory=lambda: s.Program({}))
    definitions: set[s.Name] = field(default_factory=set)
    """The procedures that are written."""
    recursive: dict[s.Name, None] = field(default_factory=dict)
    """Those that are called before."""
    dispatches: dict[s.ProcedureKind, None] = field(default_factory=dict)
    """The kinds of procedures that are called by instance."""
    _names: dict[object, str] = field(default_factory=dict)

    def read(self) -> None:
        """Translates the system, and what is asked of its states."""
        self.questions = questions(self.universe)
        conditions = {str(q.number): (q.machine, q.condition) for q in self.questions}
        self.program = translate(self.universe.model, self.universe.system, self.elaboration, conditions)

    def name(self, key: object, *parts: str) -> str:
        """The name of something: that made of these parts, unless it is taken."""
        if key not in self._names:
            text = identifier(*parts)
            is_fairness = text.startswith(("WF_", "SF_"))  # TLA+ reads these as operators
            self._names[key] = unused(f"the_{text}" if is_fairness else text, self._names.values())
        return self._names[key]

    def field(self, machine: str, name: str) -> str:
        """The part of a world that holds a field of a machine (qualified)."""
        return self.name(("field", machine, name), self.machine_name(machine), name)

    def param(self, machine: str, name: str) -> str:
        """The operator that holds a parameter of a machine (qualified)."""
        return self.name(("param", machine, name), "param", self.machine_name(machine), name)

    def procedure(self, name: s.Name) -> str:
        """The operator of a procedure."""
        is_machine = name.owner in self.universe.model.machines
        owner = self.machine_name(name.owner) if is_machine else name.owner.rpartition(".")[2]
        return self.name(name, name.kind, *(x for x in (owner, name.subject) if x))

    def operator(self, name: s.Name) -> str:
        """The operator of a procedure, which is declared before if it is not written yet."""
        if name not in self.definitions:
            self.recursive[name] = None
        return self.procedure(name)

    def by_instance(self, kind: s.ProcedureKind) -> str:
        """The operator of the procedures of a kind, for an instance of any machine."""
        self.dispatches[kind] = None
        return self.name(kind, kind, "of")

    def is_value(self, name: s.Name) -> bool:
        """Is the operator of a procedure the value that it returns? Of others it is a world."""
        return name.kind == "holds" or (name.kind == "let" and not can_fail(self.program.procedures[name].body))

    def is_instance(self, text: str, machine: str) -> str:
        """Is an instance one of a machine (qualified)?"""
        return f"{text} \\in {number_set(self.universe.instances_of(machine))}"


def unused(text: str, names: object) -> str:
    """A name that is none of these."""
    count, unique = 1, text
    while unique in names:  # type: ignore[operator]
        count, unique = count + 1, f"{text}_{count + 1}"
    return unique


def number_set(numbers: frozenset[int]) -> str:
    """A set of numbers."""
    return f"{{{', '.join(map(str, sorted(numbers)))}}}"


WORLD = ""
"""Among the names of variables, that of the world."""


class Names:
    """The names inside an operator: TLA+ has no two things of one name, even if one hides the other."""

    def __init__(self) -> None:
        self._taken: dict[str, None] = {}

    def new(self, text: str) -> str:
        """A name that nothing else has."""
        name = unused(text, self._taken)
        self._taken[name] = None
        return name


@dataclass(frozen=True, slots=True)
class Env:
    """Where an expression is: the names around it, the world, what variables are called, and the fault that an attempt
    has ended in."""

    inside: Names
    world: str
    variables: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""

    def bind(self, variable: s.Variable) -> tuple[str, Env]:
        """A variable, or a new value of it."""
        name = self.inside.new("self" if variable.name == "self" else f"v_{identifier(variable.name)}")
        return name, replace(self, variables={**self.variables, variable.name: name})

    def renewed(self, names: Sequence[str]) -> tuple[list[str], Env]:
        """New values of variables, and of the world."""
        new = [self.inside.new("w" if x == WORLD else f"v_{identifier(x)}") for x in names]
        values = dict(zip(names, new, strict=True))
        return new, replace(self, world=values.pop(WORLD, self.world), variables={**self.variables, **values})

    def values(self, names: Sequence[str]) -> list[str]:
        """The values of variables, and the world. One without a value here is not read behind."""
        return [self.world if x == WORLD else self.variables.get(x, "none") for x in names]

    def next_world(self) -> tuple[str, Env]:
        """A world that takes the place of the one before."""
        name = self.inside.new("w")
        return name, replace(self, world=name)
