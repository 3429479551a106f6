"""Answers of actions that nobody waits for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fsmdsl import model as m
from fsmdsl.checks.shape import Shape
from fsmdsl.checks.subject import Subject
from fsmdsl.checks.words import quoted
from fsmdsl.diagnostics import Diagnostic, Fix, Rule, Severity
from fsmdsl.source import Span
from fsmdsl.walk import effects

UNHANDLED = Rule(
    "FSM216",
    "outcome-unhandled",
    Severity.ERROR,
    "an answer of an action that its state does not expect",
    """
An action with outcomes ends the step in which it is called, and each of its answers must be taken up in the state
that the machine is in by then: by a transition `on action.outcome`, or by ignoring it on purpose. All outcomes are
possible at any time.

```fsm
machine Sliver {
    initial state Allocated
    state Deploying
    state Deployed
    event go, undo from environment
    action deploy -> ok | err
    on entry(Deploying) do deploy
    Allocated -> Deploying on go
    Deploying -> Deployed on deploy.ok        // and when it fails?
    Deployed -> Allocated on undo
}
```

Add a transition such as `Deploying -> Allocated on deploy.err`, or `ignore deploy.err in Deploying`.
""",
)

UNUSED = Rule(
    "FSM217",
    "outcome-never-comes",
    Severity.WARNING,
    "a transition on the answer of an action that is not called there",
    """
The answer of an action arrives in the state in which the machine is when the action has been called. No transition
that arrives in this state calls the action, and no entry effect of it does, so the answer never arrives here.

```fsm
machine Sliver {
    initial state Allocated
    state Deploying
    event go from environment
    action deploy -> ok | err
    on entry(Deploying) do deploy
    Allocated -> Deploying on go
    Deploying -> Allocated on deploy.ok
    Deploying -> Allocated on deploy.err
    Allocated -> Deploying on deploy.err      // nothing calls `deploy` there
}
```

Correct the source of the transition, or call the action on the way into it.
""",
)

RULES = (UNHANDLED, UNUSED)


@dataclass(frozen=True, slots=True)
class _Call:
    """An action that is called on the way into a leaf, or in it."""

    action: str
    leaf: str
    span: Span


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Each action with outcomes, in each state in which one of its answers arrives."""
    for shape in subject.shapes:
        if any(a.outcomes for a in shape.machine.actions):
            calls = [_calls(shape, t) for t in shape.machine.transitions]
            first = list(dict.fromkeys(c for called in calls for c in called.first))
            yield from _unhandled(shape, first)
            if not any(called.more for called in calls):
                yield from _never_comes(shape, first)


# Where actions are called --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Calls:
    """The actions that a transition may call first. Those called after them (`more`) are answered in a state that
    depends on the first answer."""

    first: tuple[_Call, ...]
    more: bool


def _calls(shape: Shape, t: m.Transition) -> _Calls:
    """In the order of a step: exit effects, the transition's own, entry effects."""
    after = shape.hierarchy.arrival(t)
    first: list[_Call] = []
    more = False
    for leaf in shape.hierarchy.inside[t.source] if t.effects or shape.machine.hooks else ():
        found, extra = _first(shape.machine, shape.selection.move(leaf, t).effects)
        first.extend(_Call(r.action, after or leaf, r.span) for r in found)
        more = more or extra
    return _Calls(tuple(first), more)


def _first(machine: m.Machine, body: Sequence[m.Effect]) -> tuple[list[m.Request], bool]:
    """The calls up to the first that does not depend on data, and whether there may be more than one."""
    found: list[m.Request] = []
    sure = False
    for effect in body:
        inside = [x for x in effects([effect]) if isinstance(x, m.Request) and machine.action_named[x.action].outcomes]
        if inside and (found or len(inside) > 1):
            return (found if sure else [*found, *inside]), True
        found.extend(inside)
        sure = sure or (isinstance(effect, m.Request) and bool(inside))
    return found, False


# Who waits for the answers -------------------------------------------------------------------------------------------


def _unhandled(shape: Shape, calls: list[_Call]) -> Iterator[Diagnostic]:
    machine = shape.machine
    ignored = {(i.event, i.state) for i in machine.ignores}
    reported: set[tuple[str, str]] = set()
    for call in calls:
        for outcome in machine.action_named[call.action].outcomes:
            name = f"{call.action}.{outcome}"
            taken = shape.selection.candidates(call.leaf, name) or (name, call.leaf) in ignored
            if not taken and (name, call.leaf) not in reported and call.leaf in shape.reachable:
                reported.add((name, call.leaf))
                yield _missing(machine, call, name)


def _missing(machine: m.Machine, call: _Call, name: str) -> Diagnostic:
    state = machine.state_named[call.leaf]
    after = Span(machine.span.source, machine.span.end - 1, machine.span.end - 1)
    fix = Fix(after, f"    ignore {name} in {call.leaf}\n", f"ignore `{name}` in `{call.leaf}`")
    message = f"`{name}` is neither handled nor ignored in `{call.leaf}`, where it arrives"
    found = UNHANDLED.at(call.span, message, fix=fix).label(state.span, "the state by then")
    return found.help(f"add `{call.leaf} -> … on {name}`, or `ignore {name} in {call.leaf}`")


def _never_comes(shape: Shape, calls: list[_Call]) -> Iterator[Diagnostic]:
    arriving = {(call.action, call.leaf) for call in calls}
    for line in shape.lines:
        trigger = line[0].trigger
        if not isinstance(trigger, m.OnOutcome):
            continue
        leaves = list(dict.fromkeys(leaf for t in line for leaf in shape.hierarchy.inside[t.source]))
        if not any((trigger.action, leaf) in arriving for leaf in leaves):
            message = f"`{trigger.action}.{trigger.outcome}` never comes in {quoted(leaves, 'or')}"
            found = UNUSED.at(line[0].span, message)
            yield found.help(f"call `{trigger.action}` on the way there, or correct the source")
