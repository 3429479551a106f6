"""Outcomes of actions that arrive where no transition handles them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fsmdsl import model as m
from fsmdsl.check.machine_graph import Shape
from fsmdsl.check.phrases import quoted
from fsmdsl.check.subject import Subject
from fsmdsl.model.walk import effects
from fsmdsl.text.diagnostics import Diagnostic, Fix, Rule, Severity
from fsmdsl.text.source import Span

UNHANDLED = Rule(
    "FSM216",
    "outcome-unhandled",
    Severity.ERROR,
    "an action outcome that the state does not handle",
    """
A call to an action with outcomes ends the step. The state that the machine is in at that point must handle each outcome
with a transition `on action.outcome`, or ignore it explicitly. Any of the outcomes can occur.

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
    "a transition on an action outcome that never arrives in the transition's source state",
    """
The outcome of an action arrives in the state that the machine is in after the call. No transition that ends in this
state calls the action, and neither does an entry effect of the state. So the outcome never arrives here.

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

Correct the source state of the transition, or call the action in a transition that enters that state.
""",
)

RULES = (UNHANDLED, UNUSED)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Each action with outcomes, in each state in which one of its answers arrives."""
    for shape in subject.shapes:
        if any(a.outcomes for a in shape.machine.actions):
            calls, more = _calls(shape)
            yield from _unhandled(shape, calls)
            if not more:
                yield from _never_comes(shape, calls)


# Where actions are called --------------------------------------------------------------------------------------------

_Calls = Mapping[tuple[str, str], Span]
"""By an action and the leaf in which its answer arrives: where it is called on the way into the leaf, or in it."""


def _calls(shape: Shape) -> tuple[_Calls, bool]:
    """The actions that transitions may call first, and whether others may be called after them: those are answered in a
    state that depends on the first answer. In the order of a step: exit effects, the transition's own, entry effects.
    """
    calls: dict[tuple[str, str], Span] = {}
    more = False
    for t in shape.machine.transitions:
        after = shape.hierarchy.arrival(t)
        for leaf in shape.hierarchy.inside[t.source] if t.effects or shape.machine.hooks else ():
            requests, extra = _first(shape.machine, shape.selection.move(leaf, t).effects)
            for r in requests:
                calls.setdefault((r.action, after or leaf), r.span)
            more = more or extra
    return calls, more


def _first(machine: m.Machine, body: Sequence[m.Effect]) -> tuple[list[m.Request], bool]:
    """The calls up to the first that does not depend on data, and whether there may be more than one."""
    requests: list[m.Request] = []
    sure = False
    for effect in body:
        inside = [x for x in effects([effect]) if isinstance(x, m.Request) and machine.action_named[x.action].outcomes]
        if inside and (requests or len(inside) > 1):
            return (requests if sure else [*requests, *inside]), True
        requests.extend(inside)
        sure = sure or (isinstance(effect, m.Request) and bool(inside))
    return requests, False


# Who waits for the answers -------------------------------------------------------------------------------------------


def _unhandled(shape: Shape, calls: _Calls) -> Iterator[Diagnostic]:
    machine = shape.machine
    ignored = {(i.event, i.state) for i in machine.ignores}
    for (action, leaf), span in calls.items():
        for outcome in machine.action_named[action].outcomes:
            name = f"{action}.{outcome}"
            taken = shape.selection.candidates(leaf, name) or (name, leaf) in ignored
            if not taken and leaf in shape.reachable:
                yield _missing(machine, leaf, span, name)


def _missing(machine: m.Machine, leaf: str, called: Span, name: str) -> Diagnostic:
    after = Span(machine.span.source, machine.span.end - 1, machine.span.end - 1)
    fix = Fix(after, f"    ignore {name} in {leaf}\n", f"ignore `{name}` in `{leaf}`")
    message = f"`{name}` is neither handled nor ignored in `{leaf}`, where it arrives"
    diagnostic = UNHANDLED.at(called, message, fix=fix).label(machine.state_named[leaf].span, "the state by then")
    return diagnostic.help(f"add `{leaf} -> … on {name}`, or `ignore {name} in {leaf}`")


def _never_comes(shape: Shape, calls: _Calls) -> Iterator[Diagnostic]:
    for line in shape.lines:
        trigger = line[0].trigger
        if not isinstance(trigger, m.OnOutcome):
            continue
        leaves = list(dict.fromkeys(leaf for t in line for leaf in shape.hierarchy.inside[t.source]))
        if not any((trigger.action, leaf) in calls for leaf in leaves):
            message = f"`{trigger.action}.{trigger.outcome}` never arrives in {quoted(leaves, 'or')}"
            diagnostic = UNUSED.at(line[0].span, message)
            yield diagnostic.help(f"call `{trigger.action}` on the way there, or correct the source")
