"""What a crash of the whole system does."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.step.cascade import Draft, bound, choose, perform
from fsmdsl.step.universe import CRASH, flag
from fsmdsl.step.world import Crashed, FaultError, Followed, Lost, Value


def crash(draft: Draft) -> None:
    """All at once: pending actions and messages are gone, and what is not durable is as it was in the beginning.

    An instance takes its enabled crash transition, whose guard sees the values before; one in a state that does not
    last must have one.
    """
    draft.cascade.append(Crashed())
    draft.busy.clear()
    chosen = [_crash_transition(draft, n) for n in range(len(draft.states))]
    draft.pending.clear()
    draft.waited.clear()
    draft.channels = [() for _ in draft.channels]
    for n in range(len(draft.states)):
        draft.fields[n] = _durable(draft, n)
    for n, t in enumerate(chosen):
        if t is not None:
            _follow_crash(draft, n, t)
    draft.down = draft.universe.system.recover is not None


def _crash_transition(draft: Draft, instance: int) -> m.Transition | None:
    t = choose(draft, instance, CRASH)
    machine, state = draft.universe.machines[instance], draft.states[instance]
    lasting = flag(machine, state) not in ("volatile", "transient")
    if t is None and not lasting:
        raise FaultError(Lost(state, flag(machine, state)), instance, machine.state_named[state].span)
    return t


def _durable(draft: Draft, instance: int) -> tuple[Value, ...]:
    fields = draft.universe.machines[instance].fields
    now, first = draft.fields[instance], draft.universe.start.fields[instance]
    return tuple(x if f.durable else y for f, x, y in zip(fields, now, first, strict=True))


def _follow_crash(draft: Draft, instance: int, t: m.Transition) -> None:
    """Its effects are assignments, which see the values after the reset; hooks do not run."""
    before = draft.states[instance]
    after = before if t.target is None else draft.universe.machines[instance].entered(t.target)
    draft.cascade.append(Followed(instance, t.index, before, after))
    perform(draft, draft.frame(instance, bound(t, ())), t.effects)
    draft.states[instance] = after
