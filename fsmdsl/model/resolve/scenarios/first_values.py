"""What a scenario begins with in place of any value, or of any of several states."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import replace
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import MachineNames, Scope, unknown
from fsmdsl.model.resolve.names.states import entered, state_named
from fsmdsl.model.resolve.types.type_text import type_text
from fsmdsl.model.resolve.values.places import of_type, opened, typed


class _Chosen:
    """What a scenario begins with in place of any value: states by instance, fields by instance and name."""

    def __init__(self, scope: Scope, system: m.System) -> None:
        self.scope = scope
        self.system = system
        self.states: dict[int, str] = {}
        self.fields: dict[tuple[int, str], m.Expr] = {}

    def add(self, x: s.FirstValue | s.FirstState) -> None:
        """One part of what stands behind `start with`."""
        match x:
            case s.FirstState(target, state):
                n = self._instance(target, target)
                if n is not None:
                    self._begins_in(n, x, state)
            case s.FirstValue(s.Member() as target):
                n = self._instance(target.target, target)
                if n is not None:
                    self._begins_with(n, x, target.name)
            case _:
                self._instance(None, x.target)

    def _instance(self, whose: s.Expr | None, at: s.Expr) -> int | None:
        """The number of the instance that is named."""
        reference = None if whose is None else opened(typed(self.scope, whose))
        if isinstance(reference, m.InstanceRef):
            return self.system.number_of[reference.name, reference.index]
        if reference is None or not isinstance(reference.type, m.ErrorType):
            message = "`start with` can apply only to single instances"
            help_ = "name the instance: `start with a[0].x = 1`, `start with a[0] in Busy`"
            self.scope.report(rules.MISPLACED.at(at.span, message).help(help_))
        return None

    def _machine(self, n: int) -> MachineNames:
        return self.scope.module.program.machines[self.system.instances[n].machine]

    def _begins_in(self, n: int, x: s.FirstState, name: s.Name) -> None:
        instance = self.system.instances[n]
        state = state_named(self.scope, self._machine(n), name)
        leaf = "" if state is None else entered([state])
        if n in self.states:
            self._twice(x.target)
        elif not instance.states:
            message = f"the initial state of `{instance.name}` is fixed"
            help_ = f"write `{instance.group}: … in any` in the system, or leave this out"
            self.scope.report(rules.MISPLACED.at(x.target.span, message).help(help_))
        elif leaf and leaf not in instance.states:
            message = f"`{instance.name}` does not begin in `{leaf}`"
            diagnostic = rules.MISPLACED.at(name.span, message)
            self.scope.report(diagnostic.help(f"it begins in {' or '.join(f'`{y}`' for y in instance.states)}"))
        else:
            self.states[n] = leaf

    def _begins_with(self, n: int, x: s.FirstValue, name: s.Name) -> None:
        machine, instance = self._machine(n), self.system.instances[n]
        type_ = machine.fields.get(name.text)
        if type_ is None:
            of = machine.decl.name.text
            self.scope.report(unknown("field", name.text, name.span, tuple(machine.fields), of))
            return
        self.scope.note(name, "field", machine.qualified)
        if (n, name.text) in self.fields:
            self._twice(x.target)
        elif name.text not in _free(machine, instance):
            message = f"the initial value of `{name.text}` of `{instance.name}` is fixed"
            diagnostic = rules.MISPLACED.at(x.target.span, message)
            help_ = f"write `{name.text}: … = any` in {machine.decl.name.text}, or leave this out"
            self.scope.report(diagnostic.help(help_))
        else:
            self.fields[n, name.text] = of_type(self.scope, x.value, type_)

    def _twice(self, target: s.Expr) -> None:
        self.scope.report(rules.TWICE.at(target.span, f"`{target.span.quote}` already has a value"))


def begun(scope: Scope, system: m.System, decl: s.ScenarioDecl) -> m.System:
    """The system of a scenario as it begins there: with what stands behind `start with` in place of any value. Reports
    what begins with any value, or in any of several states, and is given none."""
    chosen = _Chosen(scope, system)
    for first in decl.firsts:
        chosen.add(first)
    instances = []
    for n, x in enumerate(system.instances):
        machine = scope.module.program.machines[x.machine]
        free = _free(machine, x)
        for name in (name for name in free if (n, name) not in chosen.fields):
            diagnostic = rules.INSTANCE.at(
                decl.name.span, f"`{x.name}.{name}` has no fixed initial value, so the scenario must choose one"
            )
            help_ = f"write `start with {x.name}.{name} = …`, a value of `{type_text(machine.fields[name])}`"
            scope.report(diagnostic.help(help_))
        if x.states and n not in chosen.states:
            message = f"`{x.name}` has several possible initial states, so the scenario must choose one"
            diagnostic = rules.INSTANCE.at(decl.name.span, message)
            scope.report(diagnostic.help(f"write `start with {x.name} in {x.state}`, or another of them"))
        values = tuple((name, chosen.fields[n, name]) for name in free if (n, name) in chosen.fields)
        state = chosen.states.get(n, x.state)
        instances.append(replace(x, state=state, values=(*x.values, *values), any=(), states=()))
    return replace(system, instances=tuple(instances)) if chosen.fields or chosen.states else system


def _free(machine: MachineNames, instance: m.Instance) -> list[str]:
    """The fields of an instance that begin with any value."""
    declared = (x for x, _ in machine.members if isinstance(x, s.FieldDecl) and isinstance(x.value, s.AnyValue))
    values = dict(instance.values)
    return [*dict.fromkeys([*instance.any, *(x.name.text for x in declared if x.name.text not in values)])]
