"""Which declarations a model uses."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Literal, assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import NamedTuple
from fsmdsl.model.typing import machine_of
from fsmdsl.model.walk import blocks, conditions, effects, expressions, first_values, of_environment, offered, required

Kind = Literal["read", "set", "let", "action", "type", "channel", "module"]


class Use(NamedTuple):
    """Something that is used: data, a `let` or an action of an owner; a type or channel, by its full name, of no owner;
    or a module, by the owner, another module."""

    kind: Kind
    owner: str
    name: str


def uses(model: m.Model) -> frozenset[Use]:
    """Everything that any part of a model uses."""
    all_uses: set[Use] = set()
    for module in model.modules:
        collector = _Collector(model, module.name)
        collector.module(module)
        all_uses |= collector.uses
    return frozenset(all_uses)


class _Collector:
    """Goes through one module."""

    def __init__(self, model: m.Model, name: str) -> None:
        self.model = model
        self.name = name
        self.uses: set[Use] = set()

    def _use(self, kind: Kind, owner: str, name: str) -> None:
        self.uses.add(Use(kind, owner, name))

    def _names(self, qualified: str) -> None:
        """A full name: its module is used."""
        self._use("module", self.name, qualified.rpartition(".")[0])

    # Declarations ----------------------------------------------------------------------------------------------------

    def module(self, module: m.Module) -> None:
        """All that a module says."""
        for machine in module.machines:
            self._machine(machine)
        for let in module.lets:
            self._let(None, let)
        for channel in module.channels:
            self._names(channel.receiver)
        for x in module.environments:
            self._parameters(x.parameters)
            for e in of_environment(x.lines):
                self._expression(None, e)
        for system in module.systems:
            self._system(system)
        for scenario in module.scenarios:
            self._scenario(scenario)

    def _machine(self, machine: m.Machine) -> None:
        owner = machine.qualified
        for p in machine.params:
            self._type(p.type)
            if p.default is not None:
                self._expression(owner, p.default)
        for f in machine.fields:
            self._type(f.type)
            self._expression(owner, f.default)
        for let in machine.lets:
            self._let(owner, let)
        for event in machine.events:
            self._parameters(event.parameters)
            for sender in event.senders:
                self._names(sender)
        for action in machine.actions:
            self._parameters(action.parameters)
        for e in conditions(machine):
            self._expression(owner, e)
        for block in blocks(machine):
            self._effects(owner, block)

    def _let(self, owner: str | None, let: m.Let) -> None:
        self._parameters(let.parameters)
        self._expression(owner, let.value)

    def _parameters(self, parameters: Iterable[m.Variable]) -> None:
        for p in parameters:
            self._type(p.type)

    def _system(self, system: m.System) -> None:
        for qualified in (*(g.machine for g in system.groups), *system.made_of):
            self._names(qualified)
        for let in system.lets:
            self._let(None, let)
        for e in chain(first_values(system), offered(system), required(system)):
            self._expression(None, e)
        self._effects(None, system.recover or ())
        for d in (d for p in system.properties for fairness in p.under for d in fairness.deliveries):
            self._names(d.channel)
        for recovers in (p.formula for p in system.properties if isinstance(p.formula, m.Recovers)):
            for path in recovers.fields:
                for group in system.groups:
                    self._use("read", group.machine, path.rpartition(".")[2])

    def _scenario(self, scenario: m.Scenario) -> None:
        """Its instances, where they are its own, and its steps."""
        self._names(scenario.system.qualified)
        self._system(scenario.system)
        for step in scenario.steps:
            match step.step if isinstance(step, m.Fails) else step:
                case m.Do(target=target, arguments=arguments):
                    for e in (target, *arguments):
                        self._expression(None, e)
                case m.Expect(condition=condition):
                    self._expression(None, condition)
                case m.Transmit(channel=channel):
                    self._names(channel)
                case m.Restart(of=of):
                    for e in of:
                        self._expression(None, e)
                case m.Elapse() | m.Via():
                    pass
                case _:
                    assert_never(step)

    # Types and expressions -------------------------------------------------------------------------------------------

    def _type(self, t: m.Type) -> None:
        match t:
            case m.EnumType(name=name) | m.OpaqueType(name=name) | m.RecordType(name=name):
                self._use("type", "", name)
                self._names(name)
            case m.RefType(machine=name):
                self._names(name)
            case m.SetType(of=of) | m.ListType(of=of) | m.OptionalType(of=of):
                self._type(of)
            case m.MapType(key=key, of=of):
                self._type(key)
                self._type(of)
            case _:
                pass

    def _expression(self, owner: str | None, e: m.Expr, own: str | None = None) -> None:
        """`own` is a field of the machine whose reading does not count, as it is what is being assigned to."""
        for x in expressions(e):
            match x:
                case m.Read(name=name, target=None) if name != own and owner is not None:
                    self._use("read", owner, name)
                case m.Read(name=name, target=target) if target is not None:
                    self._use("read", machine_of(target.type) or "", name)
                case m.Derived(name=name, owner=home):
                    self._use("let", home, name)
                    self._names(home if home in self.model.machines else f"{home}.{name}")
                case m.AllOf(machine=name) | m.ChannelRef(name=name):
                    self._names(name)
                case m.Constant(type=t) | m.Construction(type=t):
                    self._type(t)
                case _:
                    pass

    def _effects(self, owner: str | None, body: tuple[m.Effect, ...]) -> None:
        for x in effects(body):
            own = x.name if isinstance(x, m.Write) and x.target is None else None
            for e in m.operands(x):
                self._expression(owner, e, own)
            if isinstance(x, m.Write):
                whose = owner if x.target is None else machine_of(x.target.type)
                self._use("set", whose or "", x.name)
            match x:
                case m.Request(action=name):
                    self._use("action", owner or "", name)
                case m.Post(channel=channel):
                    self._use("channel", "", channel)
                    self._names(channel)
                case m.Send(machine=receiver):
                    self._names(receiver)
                case _:
                    pass
