"""What was resolved before, for what is the same again.

NOTE(memory): what the inside of a machine, system or scenario means depends on its own text, on what all modules
declare outside of machines, and on what those machines declare that it speaks of, itself or through a `let`. As long as
these stay as they are, a declaration that was not read again means what it meant. Only what was resolved without any
finding is kept: a finding may be the first to notice something that others would notice else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.model.resolve.names.meanings import Use
from fsmdsl.model.resolve.names.scope import MachineNames, ModuleNames, Program

T = TypeVar("T")

Interface = tuple[object, ...]

Body = s.MachineDecl | s.SharedEnvironment | s.SystemDecl | s.ScenarioDecl | s.Path
"""What is resolved one by one, once all names are known; of a system the path to the one that it refines."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """`decl` is kept so that no other can have its id; `modules` and `machines` are the interfaces that it needs."""

    decl: object
    around: object
    value: object
    uses: Sequence[Use]
    modules: Interface
    machines: Mapping[str, Interface]


@dataclass
class Memory:
    """From one resolution of a model to the next."""

    entries: dict[int, _Entry] = field(default_factory=dict)
    _machines: dict[int, tuple[s.MachineDecl, Interface]] = field(default_factory=dict)

    def interfaces(self, names: Sequence[ModuleNames]) -> tuple[Interface, Mapping[str, Interface]]:
        """What modules declare outside of machines, and what each machine declares."""
        modules = tuple((n.name, n.syntax.imports, tuple(map(_part, n.syntax.members))) for n in names)
        machines = [x for n in names for x in n.machines.values()]
        decls = [x.decl for x in machines]
        self._machines = {id(x): self._machines.get(id(x)) or (x, _members(x.members)) for x in decls}
        return modules, {x.qualified: (*self._machines[id(x.decl)][1], *_types(x)) for x in machines}


def _part(x: s.ModuleMember) -> object:
    match x:
        case s.MachineDecl() | s.SystemDecl() | s.ScenarioDecl() | s.LocksDecl():
            return type(x), x.name.text if x.name is not None else None
        case s.SharedEnvironment():
            return x, x.span.source  # what systems have of it says where it stands
        case _:
            return x


def _members(members: Iterable[s.MachineMember]) -> Interface:
    """What others can see of a machine: all but guards, effects, and lines that declare nothing."""
    parts: list[object] = []
    for x in members:
        match x:
            case s.TransitionDecl(label=label, edges=edges, trigger=trigger):
                timer = edges if isinstance(trigger, s.After) else None
                event = trigger.path if isinstance(trigger, s.On) and label is not None else None
                parts.append((label, event, timer))
            case s.HookDecl() | s.IgnoreDecl() | s.PriorityDecl() | s.LayoutDecl() | s.InvariantDecl():
                pass
            case s.AmendDecl():
                parts.append((x.reason, x.replaces, x.label, _members(x.members)))
            case _:
                parts.append(x)
    return tuple(parts)


def _types(machine: MachineNames) -> Iterator[m.Type]:
    """The types of what others can see, of which the text does not say all: other machines have the states of `state of
    Pod`."""
    yield from (*machine.params.values(), *machine.fields.values())
    for owner in (machine.events, machine.actions):
        yield from (v.type for x in owner.values() for v in x.parameters)


class Remembering:
    """One resolution with a memory of those before it."""

    def __init__(self, program: Program, memory: Memory | None, names: Sequence[ModuleNames]) -> None:
        self._program = program
        self._memory = memory
        self._own = {id(x.decl): x.qualified for n in names for x in n.machines.values()}
        self._modules, self._machines = ((), {}) if memory is None else memory.interfaces(names)
        self._entries: dict[int, _Entry] = {}

    def recall(self, decl: Body, make: Callable[[], T], around: m.System | None = None) -> T:
        """What a declaration means, as far as that depends on nothing but interfaces and `around`."""
        if self._memory is None:
            return make()
        before = self._memory.entries.get(id(decl))
        if before is not None and before.around is around and self._stands(before):
            self._entries[id(decl)] = before
            self._program.uses.extend(before.uses)
            return before.value  # type: ignore[return-value]  # the same `make` has made it
        noted = len(self._program.uses)
        value = make()
        uses = self._program.uses[noted:]
        met = self._met(uses) | ({g.machine for g in around.groups} if around is not None else set())
        met |= {self._own[id(decl)]} if id(decl) in self._own else set()
        machines = {q: self._machines[q] for q in met & self._machines.keys()}
        own = [u for u in uses if u.span.source is decl.span.source]  # others are noted where they stand, too
        self._entries[id(decl)] = _Entry(decl, around, value, own, self._modules, machines)
        return value

    def _stands(self, entry: _Entry) -> bool:
        alike = all(self._machines.get(q) == interface for q, interface in entry.machines.items())
        return alike and entry.modules == self._modules

    def _met(self, uses: Iterable[Use]) -> set[str]:
        """Whatever owns something that is named, also by the `let`s that are."""
        met: set[str] = set()
        waiting = [uses]
        seen: set[tuple[str, str]] = set()
        while waiting:
            for _, meaning, _, _ in waiting.pop():
                key = (meaning.owner, meaning.name)
                met.update((meaning.owner, meaning.qualified, meaning.owner.rpartition(".")[0]))
                if meaning.kind == "let" and key not in seen:
                    seen.add(key)
                    waiting.append(self._program.uses_in_lets.get(key, ()))
        return met

    def keep(self) -> None:
        """Remember this resolution, if nothing was wrong."""
        if self._memory is not None and not self._program.diagnostics:
            self._memory.entries = self._entries
