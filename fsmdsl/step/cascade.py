"""What one step causes, from the event that begins it to the end of its round.

Each rule of the semantics is one function here; `step` says which steps there are, and commits what a cascade has made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.model.depth import DEEPEST_CASCADE, LONGEST_ROUND
from fsmdsl.step.evaluate import Frame, evaluate, iterate, outside, rank, reference, truth
from fsmdsl.step.universe import EVENTLESS, Universe
from fsmdsl.step.world import (
    Assigned,
    EndlessRound,
    Fault,
    FaultError,
    Followed,
    Full,
    Ignored,
    Message,
    Nested,
    Overlap,
    Pending,
    Posted,
    Reentrance,
    Refused,
    Requested,
    Sent,
    TraceEvent,
    Unfit,
    Unhandled,
    Value,
    Waiting,
    World,
)
from fsmdsl.text.source import Span

GuardsSeen = set[tuple[str, int, bool]]
"""Which guards were found true, and which false: machine (qualified), index of the transition, value."""


class CrashPointError(Exception):
    """The step is cut here: see `step.crash`."""


class StepInProgress:
    """The next world, while a step is under way. What has happened is in `cascade`, in order. Guards that are looked at
    are added to `seen`, if there is one."""

    def __init__(self, universe: Universe, world: World, seen: GuardsSeen | None = None) -> None:
        self.universe = universe
        self.seen = seen
        self.states = list(world.states)
        self.fields = list(world.fields)
        self.waited = set(world.waited)
        self.channels = list(world.channels)
        self.pending = list(world.pending)
        self.down = world.down
        self.cascade: list[TraceEvent] = []
        self.busy: set[int] = set()
        """Instances in the middle of a transition of their own."""
        self.touched: set[int] = set()
        """Instances that have handled an event or followed a transition in this step."""
        self.writes = 0
        self.unoffered: list[Fault] = []
        """Why conditions of the environment have no value: what they are about is not offered."""
        self.crash_point: int | None = None
        """Number of writes after which the step is interrupted."""

    def frame(self, instance: int | None, bound: dict[str, Value] | None = None) -> Frame:
        """Where the expressions of an instance are read."""
        return Frame(self.universe, self, instance, bound)

    def world(self) -> World:
        """The draft as a world."""
        return World(
            tuple(self.states),
            tuple(self.fields),
            frozenset(self.waited),
            tuple(self.channels),
            tuple(self.pending),
            self.down,
        )

    def awaits(self, instance: int) -> str | None:
        """The action whose answer an instance waits for."""
        return next((p.action for p in self.pending if p.instance == instance), None)

    def wrote(self) -> None:
        """Count a write: an assignment to a durable field, or a change of state. The step may be cut after it."""
        self.writes += 1
        if self.writes == self.crash_point:
            raise CrashPointError


# Handling an event ---------------------------------------------------------------------------------------------------


def deliver(draft: StepInProgress, instance: int, event: str, arguments: tuple[Value, ...], span: Span) -> None:
    """An event reaches an instance. In the middle of its own transition, or waiting for an answer, it takes none."""
    if instance in draft.busy:
        raise FaultError(Reentrance(event), instance, span)
    if len(draft.busy) > DEEPEST_CASCADE:  # the first is in the middle of its transition without a send
        raise FaultError(Nested(event, DEEPEST_CASCADE), instance, span)
    action = draft.awaits(instance)
    if action is not None:
        raise FaultError(Waiting(event, action), instance, span)
    parameters = draft.universe.machines[instance].event_named[event].parameters
    _check_arguments(draft, instance, event, parameters, arguments, span)
    handle(draft, instance, event, arguments, span)


def handle(draft: StepInProgress, instance: int, trigger: str, arguments: tuple[Value, ...], span: Span) -> None:
    """Follow the transition of an event or outcome, or ignore it on purpose. What is neither is a fault."""
    state = draft.states[instance]
    chosen = choose(draft, instance, trigger, arguments)
    if chosen is not None:
        follow(draft, instance, chosen, arguments)
        return
    if draft.universe.ignores(instance, state, trigger):
        draft.cascade.append(Ignored(instance, trigger, arguments))
        return
    candidates = tuple(t.index for level in draft.universe.candidates(instance, state, trigger) for t in level)
    refused = Refused(candidates, draft.world(), arguments) if candidates else None
    raise FaultError(Unhandled(trigger, state, bool(candidates)), instance, span, refused)


def choose(
    draft: StepInProgress, instance: int, trigger: str, arguments: tuple[Value, ...] = ()
) -> m.Transition | None:
    """The transition to follow: of the innermost level with an enabled one, the one that has priority.

    `overlap` where two are left.
    """
    universe = draft.universe
    for level in universe.candidates(instance, draft.states[instance], trigger):
        enabled = [t for t in level if guard_holds(draft, instance, t, arguments)]
        best = universe.preferred(instance, enabled)
        if len(best) > 1:
            tied = Overlap(tuple(t.index for t in best), draft.states[instance])
            raise FaultError(tied, instance, best[-1].span)
        if best:
            return best[0]
    return None


def guard_holds(draft: StepInProgress, instance: int, t: m.Transition, arguments: tuple[Value, ...] = ()) -> bool:
    """Does the guard of a transition hold, for the arguments of its event?"""
    if t.guard is None:
        return True
    holds = truth(draft.frame(instance, bound(t, arguments)), t.guard)
    if draft.seen is not None:
        draft.seen.add((draft.universe.system.instances[instance].machine, t.index, holds))
    return holds


def bound(t: m.Transition, arguments: tuple[Value, ...]) -> dict[str, Value]:
    """What the names in brackets behind the event stand for."""
    match t.trigger:
        case m.OnEvent(arguments=names) if names:
            return dict(zip(names, arguments, strict=True))
        case _:
            return {}


# Following a transition ----------------------------------------------------------------------------------------------


def follow(draft: StepInProgress, instance: int, t: m.Transition, arguments: tuple[Value, ...] = ()) -> None:
    """Exit hooks, the transition's effects, the change of state, entry hooks; an internal one has effects only.

    Until the state changes, others see the source.
    """
    before = draft.states[instance]
    draft.busy.add(instance)
    draft.touched.add(instance)
    if t.target is None:
        draft.cascade.append(Followed(instance, t.index, before, before, arguments))
        perform(draft, draft.frame(instance, bound(t, arguments)), t.effects)
    else:
        move = draft.universe.move(instance, before, t)
        draft.cascade.append(Followed(instance, t.index, before, move.after, arguments))
        perform(draft, draft.frame(instance), move.exits)
        perform(draft, draft.frame(instance, bound(t, arguments)), t.effects)
        draft.states[instance] = move.after
        draft.wrote()
        perform(draft, draft.frame(instance), move.entries)
    draft.busy.remove(instance)
    if not isinstance(t.trigger, m.OnEvent | m.OnTimer):
        # `wait` is true until the first transition that the round itself brings about.
        draft.waited.add(instance)


# Effects -------------------------------------------------------------------------------------------------------------


def perform(draft: StepInProgress, frame: Frame, effects: Sequence[m.Effect]) -> None:
    """Effects, one after the other."""
    for e in effects:
        match e:
            case m.Assign():
                assign(draft, _owner(frame, e), e, evaluate(frame, e.value))
            case m.Change():
                owner = _owner(frame, e)
                old = draft.fields[owner][draft.universe.slots[owner][e.name]]
                assign(draft, owner, e, changed(e, old, evaluate(frame, e.item)))
            case m.Send():
                _send(draft, frame, e)
            case m.Request():
                _request(draft, frame, e)
            case m.Post():
                _post(draft, frame, e)
            case m.ForEach():
                for x in iterate(frame, e.over):
                    inner = frame.inner()
                    inner.locals[e.variable] = x
                    perform(draft, inner, e.body)
            case m.If():
                perform(draft, frame, e.then if truth(frame, e.condition) else e.otherwise)
            case _:
                assert_never(e)


def _owner(frame: Frame, e: m.Write) -> int:
    """Whose field is written: the machine's own, or in `recover` anyone's."""
    owner = frame.instance if e.target is None else reference(frame, e.target)
    assert owner is not None
    return owner


def assign(draft: StepInProgress, owner: int, e: m.Write, value: Value) -> None:
    """A field takes a value of its type; any other is a fault."""
    why = outside(e.type, value)
    if why is not None:
        raise FaultError(Unfit("field", e.name, "", why), owner, e.span)
    slot = draft.universe.slots[owner][e.name]
    old = draft.fields[owner]
    draft.fields[owner] = (*old[:slot], value, *old[slot + 1 :])
    draft.cascade.append(Assigned(owner, e.name, value))
    if draft.universe.machines[owner].fields[slot].durable:
        draft.wrote()


def changed(e: m.Change, old: Value, item: Value) -> Value:
    """A set with an item more or less; a list with one more at its end, or without its first such item."""
    if isinstance(old, frozenset):
        return old | {item} if e.kind == "add" else old - {item}
    assert isinstance(old, tuple)
    if e.kind == "add":
        return (*old, item)
    place = old.index(item) if item in old else len(old)
    return old[:place] + old[place + 1 :]


def _send(draft: StepInProgress, frame: Frame, e: m.Send) -> None:
    """The receiver handles the event at once; then the sender goes on."""
    receiver = reference(frame, e.target)
    arguments = tuple(evaluate(frame, a) for a in e.arguments)
    draft.cascade.append(Sent(frame.instance, receiver, e.event, arguments))
    deliver(draft, receiver, e.event, arguments, e.span)


def _request(draft: StepInProgress, frame: Frame, e: m.Request) -> None:
    """An action is handed over after the step; one with outcomes is awaited."""
    instance = frame.instance
    assert instance is not None
    action = draft.universe.machines[instance].action_named[e.action]
    arguments = tuple(evaluate(frame, a) for a in e.arguments)
    _check_arguments(draft, instance, e.action, action.parameters, arguments, e.span)
    draft.cascade.append(Requested(instance, e.action, arguments))
    if action.outcomes:
        draft.pending.append(Pending(instance, e.action))


def _post(draft: StepInProgress, frame: Frame, e: m.Post) -> None:
    """A message waits in its queue. A channel whose receiver is not in the system leads out of it."""
    ends = [reference(frame, x) for x in e.ends]
    arguments = tuple(evaluate(frame, a) for a in e.arguments)
    machine = draft.universe.model.machines[draft.universe.model.channels[e.channel].receiver]
    parameters = machine.event_named[e.event].parameters
    _check_arguments(draft, frame.instance, e.event, parameters, arguments, e.span)
    queue = draft.universe.queue(e.channel, ends)
    draft.cascade.append(Posted(frame.instance, e.channel, queue, e.event, arguments))
    if queue is None:
        return
    channel, messages = draft.universe.queues[queue].channel, draft.channels[queue]
    if len(messages) >= channel.bound:
        raise FaultError(Full(queue), frame.instance, e.span)
    draft.channels[queue] = put(draft.universe, channel, messages, Message(e.event, arguments))


def put(universe: Universe, channel: m.Channel, messages: tuple[Message, ...], message: Message) -> tuple[Message, ...]:
    """A channel with one message more: at the end, or, where order means nothing, in its place in a fixed order."""
    if channel.order == "fifo":
        return (*messages, message)
    return tuple(sorted((*messages, message), key=message_order(universe, channel)))


def message_order(universe: Universe, channel: m.Channel) -> Callable[[Message], tuple[object, ...]]:
    """A key that sorts messages: by event as declared, then by arguments."""
    events = universe.model.machines[channel.receiver].events
    places = {e.name: n for n, e in enumerate(events)}

    def key(message: Message) -> tuple[object, ...]:
        types = (p.type for p in events[places[message.event]].parameters)
        return (places[message.event], *(rank(t, x) for t, x in zip(types, message.arguments, strict=True)))

    return key


def _check_arguments(
    draft: StepInProgress,
    instance: int | None,
    name: str,
    parameters: Sequence[m.Variable],
    arguments: Sequence[Value],
    span: Span,
) -> None:
    for p, value in zip(parameters, arguments, strict=True):
        why = outside(p.type, value)
        if why is not None:
            raise FaultError(Unfit("argument", p.name, name, why), instance, span)


# Rounds --------------------------------------------------------------------------------------------------------------


def finish_round(draft: StepInProgress) -> None:
    """After the event: among the instances touched, in the order in which they were made, follow one enabled eventless
    transition and start again from the first, until none is enabled. Then `wait` is true again, except where an answer
    is awaited: there the round goes on with the answer."""
    seen: set[World] = set()
    while (choice := _next_eventless(draft)) is not None:
        instance, t = choice
        follow(draft, instance, t)
        world = draft.world()
        # A world that recurs recurs forever. The limit ends rounds that never repeat a world, such as counters.
        if world in seen or len(seen) >= LONGEST_ROUND:
            raise FaultError(EndlessRound(t.index), instance, t.span)
        seen.add(world)
    draft.waited.intersection_update(p.instance for p in draft.pending)


def _next_eventless(draft: StepInProgress) -> tuple[int, m.Transition] | None:
    for instance in sorted(draft.touched):
        if draft.awaits(instance) is None:
            t = choose(draft, instance, EVENTLESS)
            if t is not None:
                return instance, t
    return None
