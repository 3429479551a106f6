"""The names that would mean something at a place, by what the grammar awaits there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.editor.editing.analysis import Analysis
from fsmdsl.editor.editing.context_at import CursorContext, instances_of
from fsmdsl.editor.editing.declarations import declared
from fsmdsl.model.resolve import Meaning
from fsmdsl.model.resolve.names.meanings import Kind
from fsmdsl.model.resolve.names.scope import MachineNames, ModuleNames, SystemNames
from fsmdsl.model.resolve.systems.properties import events_meant
from fsmdsl.model.resolve.types.type_text import type_text
from fsmdsl.model.resolve.values.calls import FUNCTIONS
from fsmdsl.model.typing import bare
from fsmdsl.model.workspace import shipped_modules
from fsmdsl.syntax.tree import Node, Token


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name, the kind of thing that it would be, and what is said of that."""

    name: str
    kind: Kind | Literal["keyword", "function", "type"]
    detail: str = ""
    doc: str = ""
    rank: int = 1


class Finder:
    """Finds candidates at one place."""

    def __init__(self, analysis: Analysis, place: CursorContext) -> None:
        self.analysis = analysis
        self.place = place
        self.module = place.module
        self.machine = place.machine

    def of(self, kind: Kind, owner: str, names: Iterable[str], rank: int = 1) -> Iterator[Candidate]:
        """Names of a kind, with their declarations."""
        for name in names:
            declarations = declared(self.analysis, Meaning(kind, owner, name))
            detail, doc = (declarations[0].detail, declarations[0].doc) if declarations else ("", "")
            yield Candidate(name, kind, detail, doc, rank)

    # Machines ----------------------------------------------------------------------------------------------------

    def states(self, machine: MachineNames | None, rank: int = 1) -> Iterator[Candidate]:
        if machine is not None:
            yield from self.of("state", machine.qualified, machine.states, rank)

    def events(self, machine: MachineNames | None) -> Iterator[Candidate]:
        if machine is not None:
            yield from self.of("event", machine.qualified, machine.events)

    def triggers(self) -> Iterator[Candidate]:
        """What may stand behind `on`, and in `ignore`."""
        machine = self.machine
        if machine is None:
            return
        yield from self.events(machine)
        for action in machine.actions.values():
            for outcome in action.outcomes:
                yield Candidate(f"{action.name}.{outcome}", "outcome", "outcome", action.doc, 2)
        if ("on", "<event_path>") in self.place.accepted.awaiting:
            yield Candidate("crash", "event", "of every machine", "Its process crashes, alone or with all others.", 2)

    def labels(self, machine: MachineNames | None, rank: int = 1) -> Iterator[Candidate]:
        if machine is not None:
            yield from self.of("label", machine.qualified, sorted(machine.labels), rank)

    def data(self, machine: MachineNames | None, rank: int = 1) -> Iterator[Candidate]:
        """Fields, parameters and derived values."""
        if machine is not None:
            yield from self.of("field", machine.qualified, machine.fields, rank)
            yield from self.of("param", machine.qualified, machine.params, rank)
            yield from self.of("let", machine.qualified, machine.lets, rank)

    def machines_of_system(self) -> list[MachineNames]:
        system = self.place.system
        groups = () if system is None else system.groups.values()
        machines = self.module.program.machines
        return [machines[q] for q in dict.fromkeys(g.machine for g in groups) if q in machines]

    # Modules -----------------------------------------------------------------------------------------------------

    def exported(self, kind: Kind, table: Callable[[ModuleNames], Iterable[str]], rank: int = 1) -> Iterator[Candidate]:
        """What the module declares or has taken from others, and what is behind the name of an import."""
        yield from self.of(kind, self.module.name, table(self.module), rank)
        for name, home in self.module.borrowed.items():
            if name in table(home):
                yield from self.of(kind, home.name, [name], rank)
        for dotted, home in self.module.imports.items():
            yield from (
                Candidate(f"{dotted}.{x.name}", kind, x.detail, x.doc, rank + 1)
                for x in self.of(kind, home.name, table(home))
            )

    def machines(self, rank: int = 1) -> Iterator[Candidate]:
        yield from self.exported("machine", lambda n: n.machines, rank)

    def types(self) -> Iterator[Candidate]:
        yield Candidate("bool", "type", "true or false")
        yield Candidate("duration", "type", "such as 5min")
        yield from self.machines()
        yield from self.exported("enum", lambda n: n.enums)
        yield from self.exported("record", lambda n: n.records)
        yield from self.exported("opaque", lambda n: n.opaques)

    def systems(self) -> Iterator[Candidate]:
        yield from self.exported("system", lambda n: n.systems)

    def environments(self) -> Iterator[Candidate]:
        yield from self.exported("environment", lambda n: n.environments)

    def channels(self, rank: int = 1) -> Iterator[Candidate]:
        yield from self.exported("channel", lambda n: n.channels, rank)

    def modules(self) -> Iterator[Candidate]:
        own = self.module.name
        for name, names in self.analysis.modules.items():
            if name != own:
                yield Candidate(name, "module", "module", names.syntax.doc)
        for name in shipped_modules():
            if name not in self.analysis.modules:
                yield Candidate(name, "module", "module of the library", "")

    # Values ------------------------------------------------------------------------------------------------------

    def values(self) -> Iterator[Candidate]:
        """Whatever an expression may begin with; what is of the type that is wanted comes first."""
        sign, expected = self.expected()
        expected_type = None if expected is None else bare(expected)
        if isinstance(expected_type, m.EnumType) and expected_type.machine:
            yield from self.states(self.module.program.machines.get(expected_type.machine), 0)
        elif isinstance(expected_type, m.EnumType):
            yield from self.of("member", expected_type.name, expected_type.members, 0)
        if isinstance(expected_type, m.RefType) and sign in ("in", "not in"):
            yield from self.states(self.module.program.machines.get(expected_type.machine), 0)
        for name, type_ in self.place.scope.locals.items():
            yield Candidate(name, "local", type_text(type_), "", 0)
        yield from self.data(self.machine)
        yield from self.groups()
        yield from self.exported("let", lambda n: n.lets, 2)
        if self.machine is not None:
            yield from self.states(self.machine, 2)
        else:
            yield from self.machines(3)
        for enum in self.module.enums.values():
            yield from self.of("member", enum.name, enum.members, 3)
        yield from self.exported("record", lambda n: n.records, 3)
        yield from (Candidate(f, "function", f"{f}(…)", "", 3) for f in FUNCTIONS)

    def targets(self) -> Iterator[Candidate]:
        """Where an event may be sent: variables and parameters that stand for instances, and what a system has."""
        for name, type_ in self.place.scope.locals.items():
            inner = bare(type_)
            if isinstance(inner.of if isinstance(inner, m.SetType) else inner, m.RefType):
                yield Candidate(name, "local", type_text(type_), "", 0)
        yield from self.groups(0)

    def groups(self, rank: int = 1, system: SystemNames | None = None) -> Iterator[Candidate]:
        """The instances of the system, or of another."""
        system = system or self.place.system
        if system is None:
            return
        for group in system.groups.values():
            short = group.machine.rpartition(".")[2]
            yield Candidate(group.name, "group", short if group.single else f"{short}[{group.count}]", "", rank)
        for name, (group_name, _) in system.elements.items():
            if name not in system.groups:
                yield Candidate(name, "group", system.groups[group_name].machine.rpartition(".")[2], "", rank + 1)
        for name in system.lets:
            yield from self.of("let", system.owner(name), [name], rank)

    def expected(self) -> tuple[str, m.Type | None]:
        """The sign before an expression at this place, and the type of what it is compared with or assigned to, or of
        the elements of that."""
        parts = [p for p in self.place.accepted.open if not (isinstance(p, Token) and p.kind in "{[(,")]
        if len(parts) < 2:
            return "", None
        left, sign = parts[-2], parts[-1]
        kind = sign.kind if isinstance(sign, Token) else sign.text()
        if kind in ("==", "!=", "<", "<=", ">", ">=", "=", "in", "not in"):
            return kind, self.place.type_of(left)
        if kind == "has":
            type_ = self.place.type_of(left)
            return kind, type_.of if isinstance(type_, m.SetType | m.ListType) else None
        return "", None

    # Effects -----------------------------------------------------------------------------------------------------

    def effects(self) -> Iterator[Candidate]:
        if self.machine is not None:
            yield from self.of("action", self.machine.qualified, self.machine.actions)
            yield from self.of("field", self.machine.qualified, self.machine.fields)
        yield from (Candidate(n, "local", type_text(t), "", 0) for n, t in self.place.scope.locals.items())
        yield from self.groups()

    def fields(self) -> Iterator[Candidate]:
        if self.machine is not None:
            yield from self.of("field", self.machine.qualified, self.machine.fields)

    # Behind a dot ------------------------------------------------------------------------------------------------

    def members(self) -> Iterator[Candidate]:
        """What may stand behind the dot of an expression, an effect or an offer."""
        *_, target, _ = self.place.accepted.open
        text = target.text if isinstance(target, Token) else self.place.builder.span(target).text
        if text in self.module.imports:
            yield from self._of_import(self.module.imports[text])
            return
        home = self.module.home(text)
        if text in home.enums and not self.place.scope.holds(text):
            yield from self.of("member", home.enums[text].name, home.enums[text].members)
            return
        if text in home.machines and not self.place.scope.holds(text):
            yield from self.states(home.machines[text])
            return
        if text in home.channels and not self.place.scope.holds(text):
            yield from self.events(self._receiver(home, text))
            return
        machine, type_ = self.place.machine_of(target), self.place.type_of(target)
        record = None if type_ is None else bare(type_)
        if isinstance(record, m.RecordType):
            yield from self.of("part", record.name, [name for name, _ in record.parts])
        if machine is not None:
            sends = self._sends()
            yield from self.data(machine, 2 if sends else 1)
            if sends:
                yield from self.events(machine)
        elif isinstance(target, Node) and target.rule == "member":
            yield from self._outcomes(target)

    def _sends(self) -> bool:
        """Whether the place is in an effect, an offer or a step, where events are sent."""
        kinds = [p.kind if isinstance(p, Token) else p.rule for p in self.place.accepted.open]
        last = max(
            (n for n, k in enumerate(kinds) if k in ("when", "while", "=", "expect", "invariant", ":", "(")), default=-1
        )
        where = max(
            (n for n, k in enumerate(kinds) if k in ("do", "environment", "recover", "scenario", "on", "block")),
            default=-1,
        )
        return where > last or (":" in kinds[last:] and "environment" in kinds[:last] and "when" not in kinds[last:])

    def _of_import(self, home: ModuleNames) -> Iterator[Candidate]:
        yield from self.of("machine", home.name, home.machines)
        yield from self.of("enum", home.name, home.enums)
        yield from self.of("record", home.name, home.records)
        yield from self.of("opaque", home.name, home.opaques)
        yield from self.of("let", home.name, home.lets)
        yield from self.of("channel", home.name, home.channels)
        yield from self.of("environment", home.name, home.environments)
        yield from self.of("system", home.name, home.systems)

    def _receiver(self, home: ModuleNames, channel: str) -> MachineNames | None:
        located = home.at(home.channels[channel].receiver)
        return None if located is None else located[0].machines.get(located[1])

    def _outcomes(self, target: Node) -> Iterator[Candidate]:
        owner, action = target.nodes()[0], target.nodes()[-1].text()
        machine = self.place.machine_of(owner)
        if machine is not None and action in machine.actions:
            yield from self.of("outcome", f"{machine.qualified}.{action}", machine.actions[action].outcomes)

    def of_path(self) -> Iterator[Candidate]:
        """Behind the dot of a path, such as that of a type."""
        dotted = "".join(
            p.text if isinstance(p, Token) else p.text().replace(" ", "") for p in _tail(self.place.accepted.open)
        ).rstrip(".")
        if dotted in self.module.imports:
            yield from self._of_import(self.module.imports[dotted])
        for name in self.module.imports:
            if name.startswith(f"{dotted}."):
                yield Candidate(name.removeprefix(f"{dotted}."), "module", "module")

    def of_event_path(self) -> Iterator[Candidate]:
        *_, first, _ = self.place.accepted.open
        name = first.text if isinstance(first, Token) else first.text()
        if self.machine is not None and name in self.machine.actions:
            yield from self.of("outcome", f"{self.machine.qualified}.{name}", self.machine.actions[name].outcomes)
        elif name in self.module.channels:
            yield from self.events(self.machine)

    # Systems and scenarios ---------------------------------------------------------------------------------------

    def initials(self) -> Iterator[Candidate]:
        machine = self.instance()
        if machine is not None:
            yield from self.of("param", machine.qualified, machine.params)
            yield from self.of("field", machine.qualified, machine.fields)

    def instance(self) -> MachineNames | None:
        """The machine of the instance that is being declared."""
        paths = [p for p in self.place.accepted.open if isinstance(p, Node) and p.rule == "path"]
        if not paths:
            return None
        located = self.module.at(self.place.builder.path(paths[-1]))
        return None if located is None else located[0].machines.get(located[1])

    def tested(self) -> MachineNames | None:
        """The machine of the instance before `in`."""
        *_, target, _ = self.place.accepted.open
        return self.place.machine_of(target)

    def refined(self) -> SystemNames | None:
        """The names of the system that is refined."""
        nodes = [p for p in self.place.accepted.open if isinstance(p, Node) and p.rule == "refines"]
        located = self.module.at(self.place.builder.path(nodes[-1].nodes()[0])) if nodes else None
        if located is None:
            return None
        home = replace(located[0], program=self.module.program)
        return instances_of(home, located[1])

    def mapped(self) -> MachineNames | None:
        """The machine of the instance that a row is about."""
        nodes = [p for p in self.place.accepted.open if isinstance(p, Node) and p.rule == "mapped"]
        system = self.refined()
        name = nodes[-1].nodes()[0].text() if nodes else ""
        if system is None:
            return None
        group = system.groups.get(system.elements[name][0] if name in system.elements else name)
        return None if group is None else self.module.program.machines.get(group.machine)

    def mapped_fields(self) -> Iterator[Candidate]:
        machine = self.mapped()
        if machine is not None:
            yield from self.of("field", machine.qualified, machine.fields)

    def fair(self) -> Iterator[Candidate]:
        for machine in self.machines_of_system():
            yield from self.events(machine)
            yield from self.labels(machine, 2)
            for action in machine.actions.values():
                yield from (Candidate(f"{action.name}.{o}", "outcome", "outcome", "", 2) for o in action.outcomes)

    def each(self) -> Iterator[Candidate]:
        """The parameters of the events in front of `for each`."""
        nodes = [p for p in self.place.accepted.open if isinstance(p, Node)]
        begun = max((k for k, n in enumerate(nodes) if n.rule == "fairness"), default=len(nodes))
        promised = list(takewhile(lambda n: n.rule != "for_each", nodes[begun:]))
        paths = [p for n in promised for p in (n.every("path") if n.rule == "fairness" else [n])]
        for name in (str(self.place.builder.path(p)) for p in paths):
            for event in (e for x in self.machines_of_system() for e in events_meant(x, name) if e is not None):
                yield from (Candidate(p.name, "parameter", type_text(p.type)) for p in event.parameters)

    def of_all(self, what: Callable[[MachineNames], Iterator[Candidate]]) -> Iterator[Candidate]:
        for machine in self.machines_of_system():
            yield from what(machine)

    def ranked(self) -> Iterator[Candidate]:
        yield from self.events(self.machine)
        yield from self.labels(self.machine)
        if self.machine is not None:
            yield from self.of("let", self.machine.qualified, self.machine.lets, 2)

    def timers(self) -> Iterator[Candidate]:
        for machine in self.machines_of_system():
            yield from self.labels(machine)
            yield from self.states(machine)

    def import_names(self) -> Iterator[Candidate]:
        paths = [p for p in self.place.accepted.open if isinstance(p, Node) and p.rule == "path"]
        home = self.module.imports.get(str(self.place.builder.path(paths[-1]))) if paths else None
        return iter(()) if home is None else self._of_import(home)

    def parameters(self) -> Iterator[Candidate]:
        """The names that the event's own declaration gives its arguments."""
        path = next(
            (p for p in reversed(self.place.accepted.open) if isinstance(p, Node) and p.rule == "event_path"), None
        )
        machine = self.machine
        event = None if path is None or machine is None else machine.events.get(path.nodes()[-1].text())
        for p in () if event is None else event.parameters:
            yield Candidate(p.name, "parameter", type_text(p.type))


def _tail(parts: tuple[Node | Token, ...]) -> list[Node | Token]:
    """The names and dots at the end of what is open."""
    tail: list[Node | Token] = []
    for part in reversed(parts):
        kind = part.kind if isinstance(part, Token) else part.rule
        if kind not in (".", "NAME", "name"):
            break
        tail.append(part)
    return tail[::-1]
