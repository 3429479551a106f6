"""The steps of scenarios: what is done, what fails, what is expected."""

from __future__ import annotations

from typing import assert_never

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import MachineNames, Scope, unknown
from fsmdsl.model.resolve.names.states import lasting, machine_of
from fsmdsl.model.resolve.systems.environments import ONLY_CRASHES, event_call, struck
from fsmdsl.model.resolve.values.calls import apart
from fsmdsl.model.resolve.values.channels import channel_at, ends
from fsmdsl.model.resolve.values.places import condition, instance, opened, typed
from fsmdsl.model.typing import bare

FAULTS = ("unhandled", "overlap", "reentrance", "busy", "none", "range", "overflow", "endless", "lost")
"""What a step can fail with; see `step.Fault`."""


def step(scope: Scope, x: s.ScenarioStep) -> m.ScenarioStep | None:
    """One step; None where it is wrong, which is reported."""
    match x:
        case s.Do() | s.Elapse() | s.Transmit() | s.Restart():
            return _taken(scope, x)
        case s.Fails():
            return _fails(scope, x)
        case s.Expect(test, doc, span):
            return m.Expect(condition(scope, test), doc, span)
        case s.Via(labels, doc, span):
            _note_labels(scope, labels)
            return m.Via(tuple(n.text for n in labels), doc, span)
        case _:
            assert_never(x)


def _taken(scope: Scope, x: s.Taken) -> m.Taken | None:
    match x:
        case s.Do():
            return _do(scope, x)
        case s.Elapse():
            return _elapse(scope, x)
        case s.Transmit():
            return _transmit(scope, x)
        case s.Restart(kind, of, doc, span):
            targets = struck(scope, of)
            return None if targets is None else m.Restart(kind, tuple(targets), doc, span)
        case _:
            assert_never(x)


def _fails(scope: Scope, x: s.Fails) -> m.Fails | None:
    if x.fault is not None and x.fault.text not in FAULTS:
        scope.report(unknown("kind of fault", x.fault.text, x.fault.span, FAULTS))
    step = _taken(scope, x.step)
    return None if step is None else m.Fails(step, None if x.fault is None else x.fault.text, x.doc, x.span)


def _note_labels(scope: Scope, labels: tuple[s.Name, ...]) -> None:
    """Keep which rows the names behind `via` stand for: in any of the machines, as nothing says in which."""
    assert scope.system is not None
    machines = {g.machine for g in scope.system.groups.values()}
    for x in (scope.module.program.machines[q] for q in sorted(machines)):
        machine_labels = x.labels
        for name in (n for n in labels if n.text in machine_labels):
            scope.note(name, "label", x.qualified)


def _do(scope: Scope, x: s.Do) -> m.Do | None:
    if x.of:
        scope.report(rules.MISPLACED.at(x.of[0].span, ONLY_CRASHES).help("write `crash of x`"))
        return None
    target, arguments = apart(x.call)
    answer = _outcome(scope, target)
    if answer is not None:
        to, machine, event = answer
        return m.Do(to, machine, event, (), x.doc, x.span)
    located = event_call(scope, target, arguments)
    if located is None:
        return None
    to, event_decl, machine, values = located
    return m.Do(to, machine, event_decl.name, values, x.doc, x.span)


def _outcome(scope: Scope, target: s.Expr) -> tuple[m.Expr, str, str] | None:
    """`sliver.deploy.ok`: the instance, its machine, and `deploy.ok`."""
    if not (isinstance(target, s.Member) and isinstance(target.target, s.Member)):
        return None
    action_name, owner = target.target.name.text, target.target.target
    if not isinstance(owner, s.Name | s.Index):
        return None
    if isinstance(owner, s.Name) and not scope.holds(owner.text):
        return None
    noted = len(scope.module.program.uses)
    to = opened(typed(scope, owner))
    machine = machine_of(scope, bare(to.type))
    action = machine.actions.get(action_name) if machine is not None else None
    if machine is None or action is None:
        del scope.module.program.uses[noted:]  # this is read again as something else
        return None
    scope.note(target.target.name, "action", machine.qualified)
    if target.name.text in action.outcomes:
        scope.note(target.name, "outcome", f"{machine.qualified}.{action_name}")
    if target.name.text not in action.outcomes:
        scope.report(unknown("outcome", target.name.text, target.name.span, action.outcomes, action_name))
    return to, machine.qualified, f"{action_name}.{target.name.text}"


def _elapse(scope: Scope, x: s.Elapse) -> m.Elapse | None:
    none = rules.MISMATCH.at(x.instance.span, f"`{x.instance.span.quote}` is not an instance")
    located = instance(scope, x.instance, none)
    if located is None:
        return None
    whose, machine = located
    timers = _timers(machine)
    if not timers:
        scope.report(rules.MISPLACED.at(x.span, f"{machine.decl.name.text} has no timer"))
    elif x.timer is not None and x.timer.text not in timers:
        scope.report(unknown("timer", x.timer.text, x.timer.span, tuple(timers), machine.decl.name.text))
    if x.timer is not None and x.timer.text in timers:
        scope.note(x.timer, "label" if x.timer.text in machine.labels else "state", machine.qualified)
    timer = x.timer.text if x.timer is not None else None
    return m.Elapse(whose, machine.qualified, timer, x.doc, x.span)


def _timers(machine: MachineNames) -> list[str]:
    """The labels and sources of the machine's timers."""
    names: list[str] = []
    for t, _ in machine.members:
        if isinstance(t, s.TransitionDecl) and isinstance(t.trigger, s.After):
            names.extend(sorted(machine.labels_of(t)))
            for n in (n for e in t.edges for n in e.sources):
                names.extend(lasting(machine) if n.text == "*" else [n.text])
    return names


def _transmit(scope: Scope, x: s.Transmit) -> m.Transmit | None:
    location = channel_at(scope, x.channel)
    if location is None:
        return None
    home, last, event = location
    whose = ends(scope, home, last, x.ends, x.span, lambda y: f"{x.kind} {x.channel} {y}")
    return None if whose is None else m.Transmit(x.kind, f"{home.name}.{last}", whose, event, x.doc, x.span)
