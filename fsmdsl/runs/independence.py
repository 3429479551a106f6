"""Loops whose turns have nothing to do with one another, so that their order makes no difference.

A turn may change its own member: by an event to which the member does what concerns itself alone, or, in `recover`, by
assignment. Of the instance that performs the loop it may add to sets, or take from them, but not both. And it may read
nothing that another turn changes. Where it fails, it fails whatever the others do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.model.typing import machine_of
from fsmdsl.model.walk import children
from fsmdsl.step.universe import Universe

Field = tuple[str, str]
"""Machine and field; `""` is the state."""

Whose = str | None
"""Of the reader itself (None), of the instance that a variable stands for, or of any other (the empty text)."""

NONE: frozenset[str] = frozenset()


def independent(universe: Universe, machine: m.Machine | None, loop: m.ForEach) -> bool:
    """Has no turn of a loop over instances to do with another? The machine is the one that performs it."""
    of = m.element_of(loop.over.type)
    if not isinstance(of, m.RefType):
        return False
    turn = _Turn(universe, machine, loop.variable, of.machine)
    turn.look(loop.body)
    return not turn.entangled and not turn.foreign & (turn.own | turn.added.keys())


@dataclass(slots=True)
class _Turn:
    """What a turn reads and writes."""

    universe: Universe
    machine: m.Machine | None
    variable: str
    member: str
    """The machine of the members, qualified."""
    entangled: bool = False
    own: set[Field] = field(default_factory=set)
    """What is written of the member."""
    added: dict[Field, str] = field(default_factory=dict)
    """The sets of the performer that are changed, and whether elements are added or removed."""
    foreign: set[Field] = field(default_factory=set)
    """What is read of others than the member, the performer among them."""

    def look(self, effects: Sequence[m.Effect]) -> None:
        """Effects of the loop's body."""
        for e in effects:
            match e:
                case m.Assign(target=target, value=value) if self._is_member(target):
                    self._write(e.name)
                    self._read(value)
                case m.Change(target=target, item=item) if self._is_member(target):
                    self._write(e.name)
                    self._read(item)
                case m.Change(target=None, type=m.SetType(), item=item) if self.machine is not None:
                    key = (self.machine.qualified, e.name)
                    self.entangled |= self.added.setdefault(key, e.kind) != e.kind
                    self._read(item)
                case m.Send(target=target, event=event, arguments=arguments) if self._is_member(target):
                    self._read(*arguments)
                    self._handle(event)
                case m.Request(action=action, arguments=arguments) if self._is_quiet(action):
                    self._read(*arguments)
                case m.If(condition=condition, then=then, otherwise=otherwise):
                    self._read(condition)
                    self.look(then)
                    self.look(otherwise)
                case _:
                    self.entangled = True

    def _is_member(self, target: m.Expr | None) -> bool:
        return isinstance(target, m.Local) and target.name == self.variable

    def _is_quiet(self, action: str) -> bool:
        return self.machine is not None and not self.machine.action_named[action].outcomes

    def _write(self, name: str) -> None:
        self.own.add((self.member, name))

    def _read(self, *expressions: m.Expr) -> None:
        """Expressions of the body."""
        for e in expressions:
            for key, whose in reads(self.universe, e, None if self.machine is None else self.machine.qualified):
                if whose != self.variable:
                    self.foreign.add(key)

    # What a member does with an event

    def _handle(self, event: str) -> None:
        kind = self.universe.model.machines[self.member]
        chosen = [t for t in kind.transitions if isinstance(t.trigger, m.OnEvent) and t.trigger.event == event]
        for t in chosen:
            if t.guard is not None:
                self._read_by_member(t.guard)
            self._perform(kind, t.effects)
        if any(t.target is not None for t in chosen):
            self._write("")
            for hook in kind.hooks:
                self._perform(kind, hook.effects)

    def _perform(self, kind: m.Machine, effects: Sequence[m.Effect]) -> None:
        for e in effects:
            match e:
                case m.Assign(target=None, value=value):
                    self._write(e.name)
                    self._read_by_member(value)
                case m.Change(target=None, item=item):
                    self._write(e.name)
                    self._read_by_member(item)
                case m.Request(action=action, arguments=arguments) if not kind.action_named[action].outcomes:
                    self._read_by_member(*arguments)
                case m.If(condition=condition, then=then, otherwise=otherwise):
                    self._read_by_member(condition)
                    self._perform(kind, (*then, *otherwise))
                case _:
                    self.entangled = True

    def _read_by_member(self, *expressions: m.Expr) -> None:
        for e in expressions:
            self.foreign.update(key for key, whose in reads(self.universe, e, self.member) if whose is not None)


def reads(
    universe: Universe, e: m.Expr, machine: str | None, bound: frozenset[str] = NONE
) -> Iterator[tuple[Field, Whose]]:
    """The fields and states that an expression of a machine reads. `bound` are variables of its own."""
    match e:
        case m.Read(kind="field", name=name, target=target):
            yield ((machine if target is None else machine_of(target.type)) or "", name), _whose(target, bound)
        case m.InState(target=target) | m.StateOf(target=target):
            yield (machine_of(target.type) or "", ""), _whose(target, bound)
        case m.Derived(target=target, arguments=arguments):
            let = universe.let(e)
            owner = machine if target is None else machine_of(target.type)
            owners = {p.name: _whose(a, bound) for p, a in zip(let.parameters, arguments, strict=True)}
            for key, whose in reads(universe, let.value, owner):
                yield key, _whose(target, bound) if whose is None else owners.get(whose, "")
        case m.Quantified(variable=variable, over=over, body=body):
            yield from reads(universe, over, machine, bound)
            yield from reads(universe, body, machine, bound | {variable})
            return
        case _:
            pass
    for x in children(e):
        yield from reads(universe, x, machine, bound)


def _whose(target: m.Expr | None, bound: frozenset[str]) -> Whose:
    match target:
        case None | m.Self():
            return None
        case m.Local(name=name) if name not in bound:
            return name
        case _:
            return ""
