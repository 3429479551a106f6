"""`refines`: what each instance of the refined system is, in terms of the system that refines it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import MachineNames, ModuleNames, Scope, unknown
from fsmdsl.model.resolve.names.states import leaves, state_named
from fsmdsl.model.resolve.systems.inheritance import resolved_at
from fsmdsl.model.resolve.systems.instances import names_of
from fsmdsl.model.resolve.values.calls import settled
from fsmdsl.model.resolve.values.places import condition, of_type
from fsmdsl.model.typing import referred
from fsmdsl.text.diagnostics import Diagnostic


def refined(
    module: ModuleNames, decl: s.SystemDecl, system: m.System, systems: Mapping[str, m.System]
) -> m.Refinement | None:
    """What a system refines, which says that it does. None where the other does not exist, or, as documented, needs
    what only an amendment declares. `systems` are those resolved already, by qualified name."""
    assert decl.refines is not None
    before = len(module.program.diagnostics)
    of = resolved_at(module, decl.refines, systems)
    refinement = None if of is None else _Mapping(module, decl, system, *of).refinement(str(decl.refines))
    return None if module.program.amended_since(before) is not None else refinement


def misplaced(module: ModuleNames, decl: s.SystemDecl) -> None:
    """Report rows that map nothing."""
    for x in decl.members if decl.refines is None else ():
        if isinstance(x, s.MapState | s.MapField):
            diagnostic = rules.MISPLACED.at(x.span, f"`{decl.name.text}` refines no system, so there is nothing to map")
            module.program.diagnostics.append(diagnostic.help(f"write `system {decl.name.text} refines …`"))


@dataclass
class _Rows:
    """What the rows say of one instance."""

    states: list[m.MapState] = field(default_factory=list)
    fields: dict[str, m.MapField] = field(default_factory=dict)


class _Mapping:
    """The rows of one system, by the instances of the other that they map."""

    def __init__(
        self, module: ModuleNames, decl: s.SystemDecl, system: m.System, home: ModuleNames, abstract: m.System
    ) -> None:
        assert decl.refines is not None
        self.module, self.abstract, self.impl = module, abstract, system
        self.at = decl.refines.span
        self.row_decls = [x for x in decl.members if isinstance(x, s.MapState | s.MapField)]
        self.scope = Scope(module, system=names_of(module, module, decl, system))
        self.theirs = names_of(module, home, home.systems[abstract.name], abstract)
        self.rows: dict[int, _Rows] = {}
        self.before = len(module.program.diagnostics)
        self.same: frozenset[str] = frozenset()

    def refinement(self, label: str) -> m.Refinement:
        """All of it; reports what is missing and what cannot be mapped."""
        names = frozenset(x.mapped.name.text for x in self.row_decls)
        spoken = names | {group for name, (group, _) in self.theirs.elements.items() if name in names}
        ours = {g.name: g for g in self.impl.groups}
        self.same = frozenset(
            g.name
            for g in self.abstract.groups
            if g.name not in spoken
            and g.name in ours
            and (ours[g.name].machine, ours[g.name].count) == (g.machine, g.count)
        )
        for x in self.row_decls:
            self._row(x)
        others = [g for g in self.abstract.groups if g.name not in self.same]
        for group in others:
            self._complete(group, group.name in spoken)
        self._carried()
        numbers = [n for n, x in enumerate(self.abstract.instances) if x.group not in self.same]
        mapped = tuple(self._mapped(n) for n in numbers)
        return m.Refinement(self.abstract.qualified, label, tuple(sorted(self.same)), mapped, self.at)

    def _report(self, diagnostic: Diagnostic) -> None:
        self.module.program.diagnostics.append(diagnostic)

    # Rows

    def _row(self, x: s.MapState | s.MapField) -> None:
        """A row, for each instance that it means."""
        targets = self._mapped_instances(x.mapped)
        if targets is None:
            return
        group, indices = targets
        machine = self.module.program.machines[group.machine]
        scope, variable = self.scope, x.mapped.element
        if isinstance(variable, s.Name):
            scope = scope.bind(variable, m.RangeType(0, group.count - 1))
        add = self._state(scope, machine, x) if isinstance(x, s.MapState) else self._field(scope, machine, x)
        for index in () if add is None else indices:
            bound = ((variable.text, index),) if isinstance(variable, s.Name) else ()
            assert add is not None
            add(self.rows.setdefault(self.abstract.number_of[group.name, index], _Rows()), bound)

    def _mapped_instances(self, mapped: s.Mapped) -> tuple[m.InstanceGroup, Sequence[int]] | None:
        """The group, and which of its instances."""
        name, at = mapped.name, mapped.element
        if name.text in self.theirs.groups:
            group = self.theirs.groups[name.text]
            self.scope.note(name, "group", self.theirs.owner(name.text))
            if at is None and group.single:
                return group, (0,)
            if at is None:
                diagnostic = rules.MAPPING.at(name.span, f"`{name.text}` is a set of {group.count} instances")
                self._report(diagnostic.help(f"write `{name.text}[i]` for all of them, `{name.text}[0]` for one"))
            elif isinstance(at, int) and at >= group.count:
                last = f"`{name.text}` has instances 0 to {group.count - 1}"
                self._report(rules.MAPPING.at(mapped.span, last))
            else:
                return group, (at,) if isinstance(at, int) else range(group.count)
        elif name.text in self.theirs.elements and at is None:
            of, index = self.theirs.elements[name.text]
            self.module.program.note(name.span, "group", self.theirs.owner(of), of)
            return self.theirs.groups[of], (index,)
        else:
            self._report(unknown("instance", name.text, name.span, tuple(self.theirs.groups), self.abstract.name))
        return None

    def _state(self, scope: Scope, machine: MachineNames, x: s.MapState) -> _Add | None:
        guard = None if x.guard is None else condition(scope, x.guard)
        state = state_named(scope, machine, x.state)
        if state is None:
            return None
        if state.children:
            inside = sorted(leaves(state))
            diagnostic = rules.MAPPING.at(
                x.state.span, f"`{x.state.text}` is a composite state; name one of its states"
            )
            self._report(diagnostic.help(f"write {' or '.join(f'`{y}`' for y in inside)}"))
            return None

        def add(rows: _Rows, bound: tuple[tuple[str, int], ...]) -> None:
            if rows.states and rows.states[-1].guard is None:
                diagnostic = rules.MAPPING.at(x.span, "this row is never tried: the one before it has no condition")
                self._report(diagnostic.label(rows.states[-1].span, "always taken"))
                rows.states.pop()
            rows.states.append(m.MapState(x.state.text, guard, bound, x.span))

        return add

    def _field(self, scope: Scope, machine: MachineNames, x: s.MapField) -> _Add | None:
        type_ = machine.fields.get(x.target.text)
        if type_ is None:
            of = machine.decl.name.text
            self._report(unknown("field", x.target.text, x.target.span, tuple(machine.fields), of))
            return None
        scope.note(x.target, "field", machine.qualified)
        value = settled(scope, of_type(scope, x.value, type_))
        empty = isinstance(value, m.Collection) and not value.items
        stranger = None if empty else self._stranger(value.type)
        if stranger is not None:
            self._report(_refers(rules.MAPPING.at(x.value.span, f"this can refer to `{stranger}`"), stranger))

        def add(rows: _Rows, bound: tuple[tuple[str, int], ...]) -> None:
            if x.target.text in rows.fields:
                diagnostic = rules.TWICE.at(x.span, f"`{x.target.text}` is already mapped")
                self._report(diagnostic.label(rows.fields[x.target.text].span, "here"))
            rows.fields[x.target.text] = m.MapField(value, bound, x.span)

        return add

    # What is missing

    def _complete(self, group: m.InstanceGroup, spoken: bool) -> None:
        """Every instance of a group has a state, and a value for each field."""
        machine = self.module.program.machines[group.machine]
        one = group.name if group.single else f"{group.name}[i]"
        leaf = next((x.name.text for x in machine.states.values() if not x.children), "…")
        if not spoken:
            diagnostic = rules.MAPPING.at(self.at, f"`{group.name}` of `{self.abstract.name}` is not mapped")
            self._report(diagnostic.label(group.span, "declared here").help(f"write `map {one} in {leaf} when …`"))
            return
        if len(self.module.program.diagnostics) > self.before:
            return  # a row that is wrong may have been the one
        missing: dict[str, Diagnostic] = {}
        for i in range(group.count):
            rows = self.rows.get(self.abstract.number_of[group.name, i], _Rows())
            name = group.name if group.single else f"{group.name}[{i}]"
            if not rows.states:
                diagnostic = rules.MAPPING.at(self.at, f"the state of `{name}` is not mapped")
                missing.setdefault("in", diagnostic.help(f"write `map {one} in {leaf} when …`"))
            for unmapped in (x for x in _needed(machine) if x not in rows.fields):
                diagnostic = rules.MAPPING.at(self.at, f"`{name}.{unmapped}` is not mapped")
                missing.setdefault(unmapped, diagnostic.help(f"write `map {one}.{unmapped} = …`"))
        self.module.program.diagnostics.extend(missing.values())

    def _mapped(self, n: int) -> m.Mapped:
        machine = self.module.program.machines[self.abstract.instances[n].machine]
        rows = self.rows.get(n, _Rows())
        return m.Mapped(n, tuple(rows.states), tuple(rows.fields.get(name) for name in machine.fields))

    # What cannot be mapped

    def _stranger(self, t: m.Type) -> str | None:
        """A group that a value of a type can refer to, and that the refined system does not have."""
        machines = frozenset(referred(t))
        return next((g.name for g in self.impl.groups if g.machine in machines and g.name not in self.same), None)

    def _carried(self) -> None:
        """What is the same in both, and what waits in channels or for answers, means the same in both."""
        for group in self.abstract.groups:
            machine = self.module.program.machines[group.machine]
            if group.name in self.same:
                for name, type_ in machine.fields.items():
                    stranger = self._stranger(type_)
                    if stranger is not None:
                        diagnostic = rules.MAPPING.at(self.at, f"`{name}` of `{group.name}` can refer to `{stranger}`")
                        self._report(_refers(diagnostic, stranger))
            elif any(x.outcomes for x in machine.actions.values()):
                action = next(x.name for x in machine.actions.values() if x.outcomes)
                why = f"`{group.name}` waits for the answer to `{action}`, but no row can specify when"
                diagnostic = rules.MAPPING.at(self.at, why)
                self._report(
                    diagnostic.help(f"let `{self.impl.name}` have the same `{group.name}`, without rows for it")
                )
        for channel in self.abstract.channels:
            self._messages(channel)

    def _messages(self, channel: str) -> None:
        short = channel.rpartition(".")[2]
        for group in self.abstract.groups:
            machine = self.module.program.machines[group.machine]
            sent = [e for e in machine.events.values() if channel in e.senders]
            if sent and group.name not in self.same:
                why = f"`{group.name}` has messages in `{short}`, but no row can specify which ones"
                diagnostic = rules.MAPPING.at(self.at, why)
                self._report(
                    diagnostic.help(f"let `{self.impl.name}` have the same `{group.name}`, without rows for it")
                )
            elif stranger := next((x for e in sent for p in e.parameters if (x := self._stranger(p.type))), None):
                self._report(
                    _refers(rules.MAPPING.at(self.at, f"messages in `{short}` can refer to `{stranger}`"), stranger)
                )


_Add = Callable[[_Rows, tuple[tuple[str, int], ...]], None]


def _refers(diagnostic: Diagnostic, stranger: str) -> Diagnostic:
    return diagnostic.help(
        f"mapped values can refer only to instances that both systems share, and `{stranger}` is not one of them"
    )


def _needed(machine: MachineNames) -> Iterator[str]:
    """The fields that need a row: all but those that have only one value."""
    return (name for name, t in machine.fields.items() if not isinstance(t, m.OpaqueType))
