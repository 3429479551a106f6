"""What a crash does: of the whole system, or of some instances alone."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.step.cascade import StepInProgress, bound, choose, perform
from fsmdsl.step.universe import CRASH, flag
from fsmdsl.step.world import Crashed, FaultError, Followed, Lost, Message, Value


def crash(draft: StepInProgress) -> None:
    """All at once. The messages in channels are gone, too, and `recover` comes next if there is one."""
    draft.busy.clear()
    _strike(draft, range(len(draft.states)), Crashed(), [() for _ in draft.channels])
    draft.down = draft.universe.system.recover is not None


def crash_alone(draft: StepInProgress, instances: Sequence[int]) -> None:
    """These instances alone, together. Everything else lives on: other instances, and messages in channels."""
    _strike(draft, instances, Crashed(tuple(instances)), draft.channels)


def _strike(
    draft: StepInProgress, instances: Sequence[int], what: Crashed, channels: list[tuple[Message, ...]]
) -> None:
    """Pending actions of the instances are gone, and what is not durable is as it was in the beginning.

    An instance takes its enabled crash transition, whose guard sees the values before; one in a state that does not
    last must have one.
    """
    draft.cascade.append(what)
    chosen = [(n, _crash_transition(draft, n)) for n in instances]
    draft.pending = [p for p in draft.pending if p.instance not in instances]
    draft.waited.difference_update(instances)
    draft.channels = channels
    for n in instances:
        draft.fields[n] = _durable(draft, n)
    for n, t in chosen:
        if t is not None:
            _follow_crash(draft, n, t)


def _crash_transition(draft: StepInProgress, instance: int) -> m.Transition | None:
    t = choose(draft, instance, CRASH)
    machine, state = draft.universe.machines[instance], draft.states[instance]
    lasting = flag(machine, state) not in ("volatile", "transient")
    if t is None and not lasting:
        raise FaultError(Lost(state, flag(machine, state)), instance, machine.state_named[state].span)
    return t


def _durable(draft: StepInProgress, instance: int) -> tuple[Value, ...]:
    fields = draft.universe.machines[instance].fields
    now, first = draft.fields[instance], draft.universe.start.fields[instance]
    return tuple(x if f.durable else y for f, x, y in zip(fields, now, first, strict=True))


def _follow_crash(draft: StepInProgress, instance: int, t: m.Transition) -> None:
    """Its effects are assignments, which see the values after the reset; hooks do not run."""
    before = draft.states[instance]
    after = before if t.target is None else draft.universe.machines[instance].entered(t.target)
    draft.cascade.append(Followed(instance, t.index, before, after))
    perform(draft, draft.frame(instance, bound(t, ())), t.effects)
    draft.states[instance] = after
