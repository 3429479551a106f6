"""What names mean where: the declarations of modules, machines and systems, and scopes of expressions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.meanings import Kind, Meaning, Use, prefix
from fsmdsl.text.diagnostics import Diagnostic, Fix, closest
from fsmdsl.text.source import Span

T = TypeVar("T", covariant=True)


@dataclass
class MachineNames:
    """The declarations of one machine, before its bodies are resolved."""

    decl: s.MachineDecl
    module: ModuleNames
    members: list[tuple[s.MachineMember, str | None]]
    """Every member that counts, amendments opened, each with the reason of its amendment."""
    documented_labels: Mapping[int, str] = field(default_factory=dict)
    """By the id of a row that an amendment has put in the place of a documented one: the label of that."""
    states: dict[str, s.StateDecl] = field(default_factory=dict)
    params: dict[str, m.Type] = field(default_factory=dict)
    fields: dict[str, m.Type] = field(default_factory=dict)
    lets: dict[str, s.LetDecl] = field(default_factory=dict)
    events: dict[str, m.Event] = field(default_factory=dict)
    actions: dict[str, m.Action] = field(default_factory=dict)

    @property
    def qualified(self) -> str:
        return f"{self.module.name}.{self.decl.name.text}"

    @property
    def top(self) -> list[s.StateDecl]:
        """The states that are in no other."""
        return [x for x, _ in self.members if isinstance(x, s.StateDecl)]

    @property
    def labels(self) -> set[str]:
        """The labels that mean transitions."""
        return {name for x, _ in self.members if isinstance(x, s.TransitionDecl) for name in self.labels_of(x)}

    def labels_of(self, x: s.TransitionDecl) -> set[str]:
        """The label of a row, and that of the documented row in whose place it is."""
        own = set() if x.label is None else {x.label.text}
        return own | ({self.documented_labels[id(x)]} if id(x) in self.documented_labels else set())

    @property
    def data(self) -> Iterator[str]:
        yield from (*self.fields, *self.params, *self.lets)


@dataclass
class SystemNames:
    """The declarations of a system, or of a scenario with instances of its own."""

    qualified: str
    module: ModuleNames
    groups: dict[str, m.InstanceGroup] = field(default_factory=dict)
    elements: dict[str, tuple[str, int]] = field(default_factory=dict)
    """`g0` → the group and the index."""
    lets: dict[str, s.LetDecl] = field(default_factory=dict)
    homes: dict[str, ModuleNames] = field(default_factory=dict)
    """Of a `let` that is not declared in `module`: where it is."""
    owners: dict[str, str] = field(default_factory=dict)
    """Of what a system that is extended has already: the first that has it, qualified."""
    sized: bool = True
    """Is it known how many instances there are? A shared environment is read by itself, too."""

    def owner(self, name: str) -> str:
        """The system that a set of instances or a `let` is declared in first."""
        return self.owners.get(name, self.qualified)


@dataclass(frozen=True, slots=True)
class Member(Generic[T]):
    """A member of a system, the module that it is written in, and the first system that has it."""

    decl: T
    home: ModuleNames
    owner: str

    def scope(self, names: SystemNames) -> Scope:
        """The names that it can use."""
        return Scope(self.home, system=names)


Members = Sequence[Member[s.SystemMember]]


@dataclass
class Program:
    """What all modules share: every machine by its qualified name, the `let`s resolved so far, what was found."""

    as_documented: bool
    expression: Callable[[Scope, s.Expr, m.Type | None], m.Expr]
    """`expressions.expression`, for the parts of expressions and for values that are resolved when first used."""
    machines: dict[str, MachineNames] = field(default_factory=dict)
    lets: dict[tuple[str, str], m.Let | None] = field(default_factory=dict)
    """By owner and name; None while it is being resolved."""
    records: dict[str, m.Type | None] = field(default_factory=dict)
    """By qualified name; None while it is being resolved."""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    """What each name stands for, as far as that has been found out."""
    uses_in_lets: dict[tuple[str, str], list[Use]] = field(default_factory=dict)
    """By owner and name. The uses belong to the owner, whichever declaration needs the `let` first: see
    `lets.all_of`."""
    excluded_ids: AbstractSet[int] = frozenset()
    """The ids of the amendments that do not apply, as another one replaces the same row."""
    incomplete: bool = False
    """Were amendments left out, all or some, which what is there may need?"""
    members: dict[int, Members] = field(default_factory=dict)
    """Of a system, by the id of its declaration: see `inheritance`."""

    def note(self, span: Span, kind: Kind, owner: str, name: str, *, declares: bool = False) -> None:
        """Keep what a name stands for."""
        self.uses.append(Use(span, Meaning(kind, owner, name), declares))

    def amended_since(self, before: int) -> str | None:
        """Without amendments, the first of what is missing since so much was found: only they declare it. What was
        found since then is forgotten."""
        if not self.incomplete or len(self.diagnostics) == before:
            return None
        first = self.diagnostics[before].message
        del self.diagnostics[before:]
        return first


@dataclass
class ModuleNames:
    """The declarations of one module, and what it imports."""

    name: str
    syntax: s.Module
    program: Program
    enums: dict[str, m.EnumType] = field(default_factory=dict)
    records: dict[str, s.RecordDecl] = field(default_factory=dict)
    opaques: dict[str, m.OpaqueType] = field(default_factory=dict)
    machines: dict[str, MachineNames] = field(default_factory=dict)
    channels: dict[str, s.ChannelDecl] = field(default_factory=dict)
    left_out: list[m.LeftOut] = field(default_factory=list)
    systems_left_out: list[m.LeftOut] = field(default_factory=list)
    lets: dict[str, s.LetDecl] = field(default_factory=dict)
    environments: dict[str, s.SharedEnvironment] = field(default_factory=dict)
    systems: dict[str, s.SystemDecl] = field(default_factory=dict)
    imports: dict[str, ModuleNames] = field(default_factory=dict)
    """By dotted path."""
    borrowed: dict[str, ModuleNames] = field(default_factory=dict)
    """`import hived { Cell }`: the module that a plain name comes from."""

    def home(self, name: str) -> ModuleNames:
        """The module where a plain name is declared."""
        return self.borrowed.get(name, self)

    def machines_in_sight(self) -> Iterator[tuple[str, MachineNames]]:
        """The machines that are declared here or imported by name, with the names that they have here."""
        yield from self.machines.items()
        yield from ((name, home.machines[name]) for name, home in self.borrowed.items() if name in home.machines)

    def at(self, path: s.Path) -> tuple[ModuleNames, str] | None:
        """The module and last name of a path, or None if the module is not imported."""
        *modules, last = (n.text for n in path.names)
        if not modules:
            return self.home(last), last
        target = self.imports.get(".".join(modules))
        return None if target is None else (target, last)

    @property
    def tables(self) -> dict[Kind, Collection[str]]:
        """The names that others can use, by kind."""
        return {
            "machine": self.machines, "enum": self.enums, "record": self.records, "opaque": self.opaques,
            "channel": self.channels, "let": self.lets, "environment": self.environments, "system": self.systems,
        }  # fmt: skip

    def note(self, path: s.Path, home: ModuleNames, kind: Kind) -> None:
        """Keep what a path stands for, and the module in front of it."""
        before, last = prefix(path), path.names[-1]
        if before is not None:
            self.program.note(before, "module", "", home.name)
        self.program.note(last.span, kind, home.name, last.text)


def machine_at(module: ModuleNames, path: s.Path) -> MachineNames | None:
    """The machine of a path; reports when there is none."""
    location = module.at(path)
    if location is not None and location[1] in location[0].machines:
        module.note(path, location[0], "machine")
        return location[0].machines[location[1]]
    names = (*module.machines, *(n for n, home in module.borrowed.items() if n in home.machines))
    module.program.diagnostics.append(unknown("machine", str(path), path.span, names))
    return None


@dataclass(frozen=True)
class Scope:
    """Where an expression stands, and so what its names mean."""

    module: ModuleNames
    machine: MachineNames | None = None
    system: SystemNames | None = None
    locals: dict[str, m.Type] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)
    """Where each of `locals` is bound."""
    temporal: bool = False
    ordinal: bool = False
    """`index` has a value here."""
    channel: bool = False
    """A channel can be named here."""
    arguments: Mapping[str, m.Expr] | None = None
    """In a shared environment, what is known of its parameters. No name of the system is known there."""

    @property
    def visible_system(self) -> SystemNames | None:
        """The system whose names are known here."""
        return self.system if self.arguments is None else None

    def bind(self, name: s.Name, type_: m.Type) -> Scope:
        """The scope inside a binder."""
        self.module.program.uses.append(Use(name.span, Meaning("local", "", name.text, name.span), True, type_))
        local_types, arguments = {**self.locals, name.text: type_}, self.arguments
        if arguments is not None and name.text in arguments:
            arguments = {x: value for x, value in arguments.items() if x != name.text}
        return replace(self, locals=local_types, places={**self.places, name.text: name.span}, arguments=arguments)

    def note(self, name: s.Name, kind: Kind, owner: str, *, declares: bool = False) -> None:
        """Keep what a name stands for."""
        self.module.program.note(name.span, kind, owner, name.text, declares=declares)

    def note_local(self, name: s.Name) -> None:
        """Keep that a name is that of something bound."""
        meaning = Meaning("local", "", name.text, self.places.get(name.text))
        self.module.program.uses.append(Use(name.span, meaning))

    def report(self, diagnostic: Diagnostic) -> None:
        self.module.program.diagnostics.append(diagnostic)

    def holds(self, name: str) -> bool:
        """Does the name stand for a value here, whatever type is expected?"""
        machine, system = self.machine, self.visible_system
        if name in self.locals or (self.ordinal and name == "index"):
            return True
        if machine is not None and (name in machine.fields or name in machine.params or name in machine.lets):
            return True
        if system is not None and (name in system.groups or name in system.elements or name in system.lets):
            return True
        return name in self.module.home(name).lets

    def computes(self, name: str) -> bool:
        """Is the name that of a `let` here? Data of the same name as a function (`size`) leaves the function alone."""
        owners = (self.machine, self.visible_system, self.module.home(name))
        return any(owner is not None and name in owner.lets for owner in owners)

    def values(self) -> Iterator[str]:
        """The names that `holds` knows, for suggestions."""
        yield from self.locals
        if self.machine is not None:
            yield from self.machine.data
        if self.visible_system is not None:
            yield from (*self.visible_system.groups, *self.visible_system.elements, *self.visible_system.lets)
        yield from self.module.lets

    def enum_members(self, name: str) -> list[m.EnumType]:
        """The enums in sight that have a member of this name."""
        seen = [*self.module.enums.values(), *(h.enums[n] for n, h in self.module.borrowed.items() if n in h.enums)]
        return [e for e in dict.fromkeys(seen) if name in e.members]


def dotted(e: s.Expr) -> tuple[str, ...] | None:
    """The names of `a.b.c`, if it is nothing else."""
    match e:
        case s.Name(text):
            return (text,)
        case s.Member(target, name):
            before = dotted(target)
            return None if before is None else (*before, name.text)
        case _:
            return None


def unknown(
    kind: str, name: str, span: Span, candidates: Iterator[str] | tuple[str, ...], of: str | None = None
) -> Diagnostic:
    """`kind` says what was looked for; `of`, in what it was."""
    names = sorted(set(candidates))
    suggestion = closest(name, names)
    fix = None if suggestion is None else Fix(span, suggestion, f"write `{suggestion}`")
    message = f"there is no {kind} `{name}`" if of is None else f"`{of}` has no {kind} `{name}`"
    diagnostic = rules.UNKNOWN.at(span, message, fix=fix)
    advice = None if suggestion is None else f"did you mean `{suggestion}`?"
    if advice is None:
        advice = f"known: {', '.join(f'`{k}`' for k in names)}" if 0 < len(names) <= 8 else "declare it"
    return diagnostic.help(advice)


def miscounted(name: str, expected: int, actual: int, at: Span) -> Diagnostic:
    """Too many arguments, or too few."""
    return rules.ARGUMENTS.at(at, f"`{name}` takes {expected} argument{'s' * (expected != 1)}, not {actual}")
