"""The same walks with the `transitions` library: an implementation by other people, with nested states."""

from __future__ import annotations

from typing import Any

from mirror import Packages, Translation
from transitions import MachineError
from walks import Explored

from fsmdsl import model as m
from fsmdsl.classes.naming import state_path
from fsmdsl.classes.statements.effects import post_name
from fsmdsl.classes.tabular import timer_key, trigger_names
from fsmdsl.step import ChannelStep, EventStep, OutcomeStep, Posted, Requested, Step, TimerStep, Universe, Value, World

Told = tuple[int, str, tuple[Value, ...]]


class Oracle(Translation):
    """Models of `transitions` in the place of a system's instances.

    They cannot undo half a step, and know nothing of answers that are awaited, of channels and of crashes. After a step
    that they cannot be asked about they are put where `step` is.
    """

    def __init__(self, packages: Packages, universe: Universe) -> None:
        self.packages, self.context, self.universe = packages, packages.context, universe
        self.told: list[Told] = []
        self.made: list[Any] = []
        self.machines: list[Any] = []
        for n, machine in enumerate(universe.machines):
            names = self.context.machine(machine.qualified)
            module = packages.of(machine.qualified, names.file)
            model = _recording(self, n, machine, module.__dict__[names.class_])
            self.made.append(model)
            self.machines.append(module.__dict__["build"](model))
        for n, machine in enumerate(universe.machines):
            for p in machine.params:
                name = self.context.machine(machine.qualified).values[p.name]
                setattr(self.made[n], name, self.python(p.type, universe.params[n][p.name]))
        self.put(universe.start)

    def put(self, world: World) -> None:
        """Everything as in a world."""
        for n, machine in enumerate(self.universe.machines):
            self.machines[n].set_state(state_path(machine, world.states[n]), self.made[n])
            names = self.context.machine(machine.qualified).values
            for f, value in zip(machine.fields, world.fields[n], strict=True):
                setattr(self.made[n], names[f.name], self.python(f.type, value))

    def world(self) -> tuple[Any, Any]:
        """States and fields."""
        fields = []
        for machine, made in zip(self.universe.machines, self.made, strict=True):
            names = self.context.machine(machine.qualified).values
            fields.append(tuple(self.value(f.type, getattr(made, names[f.name])) for f in machine.fields))
        return tuple(x.state.rpartition(".")[2] for x in self.made), tuple(fields)

    def take(self, explored: Explored, world: World, step: Step) -> None:
        """A step, if it is one that can be compared; whatever it was, the models are then where `step` is."""
        result = explored.fire(world, step)
        self.put(world)
        trigger = self.trigger(world, step)
        self.told = []
        if trigger is None:
            return
        fault = result.fault
        if fault is None:
            call, arguments = trigger
            call(*arguments)
            assert self.world() == (result.world.states, result.world.fields), step
            assert self.told == [_told(x) for x in result.cascade if isinstance(x, Requested | Posted)], step
        elif fault.kind == "unhandled" and not result.cascade:
            assert _refuses(*trigger), step
            assert self.world() == (world.states, world.fields), step

    def trigger(self, world: World, step: Step) -> tuple[Any, tuple[Any, ...]] | None:
        """What to call for a step; None where that is nothing that a model can be asked."""
        match step:
            case EventStep(instance, event, arguments):
                return self._event(instance, event, arguments)
            case OutcomeStep(instance, action, outcome):
                return self._called(instance, f"{action}.{outcome}"), ()
            case TimerStep(instance, transition):
                return self._called(instance, timer_key(self.universe.machines[instance].transitions[transition])), ()
            case ChannelStep("deliver", queue, position):
                message = world.channels[queue][position]
                return self._event(self.universe.queues[queue].receiver, message.event, message.arguments)
            case _:
                return None

    def _event(self, instance: int, event: str, arguments: tuple[Value, ...]) -> tuple[Any, tuple[Any, ...]]:
        types = [p.type for p in self.universe.machines[instance].event_named[event].parameters]
        given = tuple(self.python(t, x) for t, x in zip(types, arguments, strict=True))
        return self._called(instance, event), given

    def _called(self, instance: int, trigger: str) -> Any:
        machine = self.universe.machines[instance]
        name = trigger_names(self.context.machine(machine.qualified), machine)[trigger]
        return getattr(self.made[instance], name, _unknown)


def _unknown(*_: object) -> bool:
    """The library makes no method for an event that nothing handles."""
    raise MachineError("no such trigger")


def _refuses(call: Any, arguments: tuple[Any, ...]) -> bool:
    """An event that no transition of the state has is an error; one whose guards are all false is not taken."""
    try:
        return not call(*arguments)
    except MachineError:
        return True


def _told(happening: Requested | Posted) -> Told:
    if isinstance(happening, Requested):
        return (happening.instance, happening.action, happening.arguments)
    assert happening.sender is not None
    return (happening.sender, post_name(happening.channel, happening.event), happening.arguments)


def _recording(oracle: Oracle, number: int, machine: m.Machine, class_: Any) -> Any:
    """A model whose actions make a note. Parameters that have to be given are none at first."""
    names = oracle.context.machine(machine.qualified)
    body: dict[str, Any] = {}
    for a in machine.actions:
        body[f"action_{names.actions[a.name]}"] = _note(oracle, number, a.name, a.parameters)
    for name in (x for x in dir(class_) if x.startswith("post_")):
        body[name] = _note(oracle, number, name, _parameters(oracle.context.model, name))
    recorded = type(f"Recorded{names.class_}", (class_,), body)
    model: Any = object.__new__(recorded)
    model._number = number
    return model


def _parameters(model: m.Model, method: str) -> tuple[m.Variable, ...]:
    for channel in model.channels.values():
        for event in model.machines[channel.receiver].events:
            if post_name(channel.qualified, event.name) == method:
                return event.parameters
    raise KeyError(method)


def _note(oracle: Oracle, number: int, name: str, parameters: tuple[m.Variable, ...]) -> Any:
    def note(_: object, *given: Any) -> None:
        values = tuple(oracle.value(p.type, x) for p, x in zip(parameters, given, strict=True))
        oracle.told.append((number, name, values))

    return note
