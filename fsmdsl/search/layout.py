"""Where everything that can change stands: a world as a row of numbers, and the row as words.

A column holds one thing (the state, a field) of all instances of a machine: `column + number of the instance` is its
place in the row. Behind the row is scratch, which every step begins with zero, and behind that what is kept for a whole
search: parameters, what was seen, what failed.
"""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.core.hierarchy import Hierarchy
from fsmdsl.core.triggers import triggered_by
from fsmdsl.dataclasses import NamedTuple, dataclass, field
from fsmdsl.model.depth import DEEPEST_CASCADE, LONGEST_ROUND
from fsmdsl.model.walk import effects
from fsmdsl.search.shapes import (
    LARGEST,
    WIDEST,
    Shape,
    UnpackableError,
    from_number,
    parts_of,
    shape,
    to_number,
)
from fsmdsl.search.word_layout import Packing, packed
from fsmdsl.step.data import RecordValue
from fsmdsl.step.instances import Queue
from fsmdsl.step.universe import Universe
from fsmdsl.step.world import Message, Pending, World

MORE_AWAITED = 4

MASKS = ("busy", "touched", "waited")
"""Scratch with a bit for each instance."""

WAIT = "(wait)"
"""The name of a column, as no field has it."""

ONE_WORD, PER_WORD = LARGEST, 32
"""A mask of up to so many instances has one word. With more instances each word has a bit for `PER_WORD` of
them, a power of two."""


@dataclass(frozen=True, slots=True)
class QueueLayout:
    """Where the messages of a queue stand: how many, and each as one number, the event in the highest bits."""

    channel: m.Channel
    receiver: int
    sender: int | None
    senders: int
    """How many queues lead to the receiver."""
    length: int
    """The place of their number; the messages come behind it."""
    events: tuple[m.Event, ...]
    """The receiver's events that the channel carries; a message says which by its place here."""
    records: tuple[m.RecordType, ...]
    """The arguments of each event, which stand in a message as the parts of a record do."""
    argument_bits: int

    @property
    def first(self) -> int:
        return self.length + 1

    @property
    def places(self) -> int:
        """How many places it has: the queues of a channel come one behind the other, those of a receiver together."""
        return 1 + self.channel.bound

    @property
    def shape(self) -> Shape:
        return Shape(0, (len(self.events) << self.argument_bits) - 1)


class InstanceLayout(NamedTuple):
    """Where what an instance has stands in a row: fields with their types; `wait` None where it awaits no answers."""

    state: int
    fields: tuple[tuple[int, m.Type], ...]
    wait: int | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Where it is counted how often transitions are followed and states inhabited."""

    mask: int
    """Scratch: the transitions that a step has followed, as a mask of this number of words."""
    words: int
    first: int
    """The total of the first transition of the mask; those of the others are behind it, in their order."""
    followed: dict[tuple[str, int], int]
    """By machine (qualified) and index of the transition."""
    inhabited: dict[tuple[str, str], int]
    """By machine (qualified) and state: the leaves of a machine in the order of their numbers, then its others."""

    @property
    def places(self) -> list[int]:
        """The places of all totals."""
        return [*self.followed.values(), *self.inhabited.values()]


@dataclass(slots=True)
class Layout:
    """See above. Built by `lay_out`."""

    universe: Universe
    columns: dict[tuple[str, str], int] = field(default_factory=dict)
    """By machine and name: of fields; of the state, `""`; of whether it waited, `WAIT`, if it awaits answers."""
    shapes: list[Shape] = field(default_factory=list)
    """Of every place of the row."""
    empty: list[int] = field(default_factory=list)
    """A row with the lowest number in each place: where that can be, none."""
    places: list[InstanceLayout] = field(default_factory=list)
    """By the number of the instance."""
    boxes: list[QueueLayout] = field(default_factory=list)
    """By the number of the queue."""
    awaited: list[Pending] = field(default_factory=list)
    """Every pending action there can be; a place of `pending` holds its place here plus 1."""
    pending: int = 0
    pending_places: int = 0
    down: int | None = None
    packing: list[Packing] = field(default_factory=list)
    words: int = 0
    busy: int = 0
    """Scratch: instances in the middle of their own transition, as a mask."""
    nested: int | None = None
    """Scratch: how many instances are in the middle of a transition that sends, where they can be too many."""
    touched: int = 0
    writes: int = 0
    cut: int = 0
    mark: int = 0
    waited: int | None = None
    """Scratch: instances that have followed a transition without event in this round, as a mask. Those that may wait
    for an answer have a column instead, which is part of the world."""
    struck: int = 0
    """Scratch: instances that crash, as a mask."""
    choice: int = 0
    """Scratch: one place for each instance, for the transition that it takes in a crash."""
    copied: int = 0
    """The row and scratch: what a step begins with."""
    end: int = 0
    """The first free place behind; in the end: how many places a row has with scratch and all that is kept."""
    param_columns: dict[tuple[str, str], int] = field(default_factory=dict)
    params: dict[int, int] = field(default_factory=dict)
    """What stands in places that never change."""
    history: int = 0
    doubt: int = 0
    """Whether members of symmetric sets are told apart, and how."""
    totals: Totals | None = None
    """Where it is counted how often transitions are followed and states inhabited, if it is."""
    stack: int = 0
    """Where the first free place of the stack of rows is kept, which ends at `stack_end`."""
    stack_end: int = 0

    @property
    def row(self) -> int:
        """The number of places that make up a world."""
        return len(self.shapes)

    @property
    def history_size(self) -> int:
        """How many numbers tell whether a round comes back: the words, and the instances that have waited."""
        return self.words + (0 if self.waited is None else self.mask_words)

    @property
    def mask_words(self) -> int:
        """Words of a mask with a bit for each instance: see `lower.masks`."""
        instances = len(self.universe.machines)
        return 1 if instances <= ONE_WORD else -(-instances // PER_WORD)

    @property
    def standing(self) -> list[int]:
        """The codes of the actions that hold up the system while they are awaited."""
        return [n + 1 for n in range(len(self.awaited)) if not self.action(n).asynchronous]

    def action(self, n: int) -> m.Action:
        """What is awaited, by its place in `awaited`."""
        return self.universe.machines[self.awaited[n].instance].action_named[self.awaited[n].action]

    def reserve(self, places: int) -> int:
        """InstanceLayout behind everything else."""
        self.end += places
        return self.end - places

    # Worlds

    def fits(self, world: World) -> bool:
        """Is there room for all answers that are awaited in a world?"""
        return len(world.pending) <= self.pending_places

    def encode(self, world: World) -> list[int]:
        """The row of a world that fits."""
        universe, row = self.universe, self.empty.copy()
        for n, (machine, at) in enumerate(zip(universe.machines, self.places, strict=True)):
            row[at.state] = machine.leaf_numbers[world.states[n]]
            for (place, t), value in zip(at.fields, world.fields[n], strict=True):
                if value is not None:
                    row[place] = to_number(t, value, universe)
            if at.wait is not None and n in world.waited:
                row[at.wait] = 1
        for box, messages in zip(self.boxes, world.channels, strict=True):
            row[box.length] = len(messages)
            row[box.first : box.first + len(messages)] = [self.message_number(box, x) for x in messages]
        for n, p in enumerate(world.pending):
            row[self.pending + n] = self.awaited.index(p) + 1
        if self.down is not None:
            row[self.down] = int(world.down)
        return row

    def decode(self, row: Sequence[int]) -> World:
        """The world of a row."""
        universe = self.universe
        both = list(zip(universe.machines, self.places, strict=True))
        pending = (row[self.pending + n] for n in range(self.pending_places))
        return World(
            tuple(machine.leaves[row[at.state]].name for machine, at in both),
            tuple(tuple(from_number(t, row[place], universe) for place, t in at.fields) for at in self.places),
            frozenset(n for n, at in enumerate(self.places) if at.wait is not None and row[at.wait]),
            tuple(
                tuple(self._message(box, x) for x in row[box.first : box.first + row[box.length]]) for box in self.boxes
            ),
            tuple(self.awaited[x - 1] for x in pending if x),
            self.down is not None and bool(row[self.down]),
        )

    def message_number(self, box: QueueLayout, message: Message) -> int:
        """A message as it stands in a channel."""
        place = [e.name for e in box.events].index(message.event)
        arguments = to_number(box.records[place], RecordValue(message.arguments), self.universe)
        return place << box.argument_bits | arguments

    def _message(self, box: QueueLayout, number: int) -> Message:
        event = number >> box.argument_bits
        arguments = from_number(box.records[event], number, self.universe)
        assert isinstance(arguments, RecordValue)
        return Message(box.events[event].name, arguments.parts)

    # Words

    def pack(self, row: Sequence[int]) -> tuple[int, ...]:
        """The words of a row."""
        words = [0] * self.words
        for p in self.packing:
            code = p.shape.code(row[p.place])
            for x in p.pieces:
                words[x.word] |= (code >> x.first & x.mask) << x.shift
        return tuple(words)

    def unpack(self, words: Sequence[int]) -> list[int]:
        """The row of words."""
        row = self.empty.copy()
        for p in self.packing:
            row[p.place] = p.shape.number(p.code(words[x.word] for x in p.pieces))
        return row


def kinds(universe: Universe) -> list[m.Machine]:
    """The machines of a system, each once."""
    return list({x.qualified: x for x in universe.machines}.values())


def struck(universe: Universe) -> list[m.Machine]:
    """The machines whose instances can crash, with all others or while others live on."""
    alone = {x for crash in universe.system.process_crashes for x in crash.machines}
    return [x for x in kinds(universe) if universe.system.crashes or x.qualified in alone]


# Building ------------------------------------------------------------------------------------------------------------


def lay_out(universe: Universe, marked: bool = False, counted: bool = False) -> Layout:
    """The layout of a system, with room for the mark of a step if it has one, and for the transitions that it has
    followed if they are counted. Raises `UnpackableError`."""
    layout = Layout(universe)
    for machine in kinds(universe):
        _add_column(layout, machine, "", Shape(0, len(machine.leaves) - 1))
        for f in machine.fields:
            _add_column(layout, machine, f.name, shape(f.type, universe))
        if awaitable(machine):
            _add_column(layout, machine, WAIT, Shape(0, 1))
    _add_pending(layout)
    for queue in universe.queues:
        _add_box(layout, queue)
    if universe.system.recover is not None and universe.system.crashes:
        layout.down = _add(layout, 1, Shape(0, 1))
    layout.empty = [s.number(0) for s in layout.shapes]
    layout.places = [_places(layout, n, machine) for n, machine in enumerate(universe.machines)]
    _into_words(layout)
    _add_scratch(layout, marked, counted)
    if universe.fault is not None and layout.decode(layout.encode(universe.start)) != universe.start:
        raise UnpackableError("an initial value is impossible")
    return layout


def awaitable(machine: m.Machine) -> list[m.Action]:
    """The actions whose answers a machine waits for."""
    return [a for a in machine.actions if a.outcomes]


def _add(layout: Layout, places: int, s: Shape) -> int:
    layout.shapes.extend([s] * places)
    return layout.row - places


def span(universe: Universe, machine: str) -> range:
    """The numbers from the first instance of a machine to the last; those of others may lie between."""
    of = universe.instances_of(machine)
    return range(min(of), max(of) + 1)


def _add_column(layout: Layout, machine: m.Machine, name: str, s: Shape) -> None:
    """In gaps between instances nothing ever stands but 0."""
    numbers = span(layout.universe, machine.qualified)
    layout.columns[machine.qualified, name] = column = _add(layout, len(numbers), Shape(0, 0)) - numbers.start
    for n in layout.universe.instances_of(machine.qualified):
        layout.shapes[column + n] = s


def _places(layout: Layout, n: int, machine: m.Machine) -> InstanceLayout:
    at = {name: column + n for (of, name), column in layout.columns.items() if of == machine.qualified}
    return InstanceLayout(at[""], tuple((at[f.name], f.type) for f in machine.fields), at.get(WAIT))


def _add_pending(layout: Layout) -> None:
    for n, machine in enumerate(layout.universe.machines):
        actions = awaitable(machine)
        layout.awaited += [Pending(n, a.name) for a in actions]
        layout.pending_places += _most_awaited(machine) if actions else 0
    layout.pending = _add(layout, layout.pending_places, Shape(0, len(layout.awaited)))


def _most_awaited(machine: m.Machine) -> int:
    """How many answers an instance awaits at most. Where answers can lead to ever more questions, room for some more:
    a search that needs more gets an error."""
    hierarchy = Hierarchy(machine)
    calls = {t.index: _calls(hierarchy, t) for t in machine.transitions}
    most = max(calls.values(), default=0)
    again = max((calls[t.index] for t in triggered_by(machine, m.OnOutcome)), default=0)
    return most if again < 2 else most + MORE_AWAITED


def _calls(hierarchy: Hierarchy, t: m.Transition) -> int:
    """How many actions with outcomes a transition calls at most, hooks included: one at the end of each block."""
    machine = hierarchy.machine
    passed = {("entry", s) for s in hierarchy.arrived(t)}
    passed |= {("exit", s) for leaf in machine.leaves_of(t.source) for s in hierarchy.left(t, leaf)}
    hooks = [h.effects for h in machine.hooks if (h.kind, h.state) in passed]
    return sum(_asks(machine, body) for body in (t.effects, *hooks))


def _asks(machine: m.Machine, body: Sequence[m.Effect]) -> bool:
    outcomes = {a.name for a in awaitable(machine)}
    return any(isinstance(e, m.Request) and e.action in outcomes for e in effects(body))


def _add_box(layout: Layout, queue: Queue) -> None:
    universe, (channel, receiver, sender) = layout.universe, queue
    senders = 1 if channel.sender is None else len(universe.instances_of(channel.sender))
    receiver_events = universe.model.machines[channel.receiver].events
    events = tuple(e for e in receiver_events if not e.senders or channel.qualified in e.senders)
    records = tuple(m.RecordType(e.name, tuple((p.name, p.type) for p in e.parameters)) for e in events)
    argument_bits = max((sum(s.bits for _, s, _ in parts_of(t, universe).values()) for t in records), default=0)
    length = _add(layout, 1, Shape(0, channel.bound))
    box = QueueLayout(channel, receiver, sender, senders, length, events, records, argument_bits)
    if box.shape.bits > WIDEST:
        raise UnpackableError(f"a message of {box.shape.bits} bits in channel `{channel.name}`")
    _add(layout, channel.bound, box.shape)
    layout.boxes.append(box)


def _into_words(layout: Layout) -> None:
    """InstanceLayout with one value have no word."""
    layout.packing, layout.words = packed((place, s) for place, s in enumerate(layout.shapes) if s.bits)
    layout.params.update((place, layout.empty[place]) for place, s in enumerate(layout.shapes) if not s.bits)


def _add_scratch(layout: Layout, marked: bool, counted: bool) -> None:
    """What a step may change beside the row is copied with it; the rest has a place, and costs nothing."""
    universe = layout.universe
    rounds = any(x.has_rounds for x in kinds(universe))
    layout.end = layout.row
    needed = {"busy": True, "touched": rounds, "mark": marked}
    needed |= dict.fromkeys(("writes", "cut"), has_cuts(universe))
    needed["nested"] = len(universe.machines) > DEEPEST_CASCADE + 1
    needed["waited"] = any(not awaitable(x) and x.has_rounds for x in kinds(universe))
    for name in (name for name, is_needed in needed.items() if is_needed):
        setattr(layout, name, layout.reserve(layout.mask_words if name in MASKS else 1))
    mask = layout.end
    transitions = [(x.qualified, t.index) for x in kinds(universe) for t in x.transitions]
    layout.reserve(-(-len(transitions) // PER_WORD) if counted else 0)
    layout.copied = layout.end
    if counted:
        layout.totals = _totals(layout, mask, transitions)
    if universe.system.crashes or universe.system.process_crashes:
        layout.struck = layout.reserve(layout.mask_words)
        layout.choice = layout.reserve(len(universe.machines))
    if rounds:
        layout.history = layout.reserve((LONGEST_ROUND + 1) * layout.history_size)
    for machine in kinds(universe):
        for p in machine.params:
            _add_param(layout, machine, p)


def _totals(layout: Layout, mask: int, transitions: Sequence[tuple[str, int]]) -> Totals:
    """Room for the totals."""
    words, first = layout.copied - mask, layout.end
    followed = {key: layout.reserve(1) for key in transitions}
    inhabited: dict[tuple[str, str], int] = {}
    for machine in kinds(layout.universe):
        others = [x.name for x in machine.states if x.name not in machine.leaf_numbers]
        for name in (*machine.leaf_numbers, *others):
            inhabited[machine.qualified, name] = layout.reserve(1)
    return Totals(mask, words, first, followed, inhabited)


def has_cuts(universe: Universe) -> bool:
    """Can a crash come in the middle of a step?"""
    return any(c.kind != "anywhere" for c in universe.system.crashes)


def _add_param(layout: Layout, machine: m.Machine, p: m.Param) -> None:
    universe = layout.universe
    numbers = span(universe, machine.qualified)
    column = layout.reserve(len(numbers)) - numbers.start
    layout.param_columns[machine.qualified, p.name] = column
    for n in universe.instances_of(machine.qualified):
        value = universe.params[n][p.name]
        layout.params[column + n] = to_number(p.type, value, universe)
        if from_number(p.type, layout.params[column + n], universe) != value:
            raise UnpackableError("the value of a parameter is impossible")
