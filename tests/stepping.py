"""A spec text as a system that can be stepped, for the tests of the semantics."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.model.resolve import resolve
from fsmdsl.step import EventStep, Fault, Result, Step, Universe, Value, World, enabled, fire, initial
from fsmdsl.step.describe import describe, fault_message, value_text
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source


def compiled(text: str, *, as_documented: bool = False) -> m.Model:
    """The model of a text that has nothing wrong."""
    parsed = parse(Source("test.fsm", text))
    resolved = resolve([parsed.module], as_documented=as_documented)
    found = [*parsed.diagnostics, *resolved.diagnostics]
    assert found == [], "\n".join(f"{d.span} {d.message}" for d in found)
    assert resolved.model is not None
    return resolved.model


def only_system(model: m.Model) -> m.System:
    """The system that a text has; of several, the one that no other extends."""
    (system,) = (x for x in model.systems.values() if all(x.qualified not in y.made_of for y in model.systems.values()))
    return system


class Run:
    """A system under way."""

    def __init__(self, text: str) -> None:
        model = compiled(text)
        self.universe = Universe(model, only_system(model))
        self.world: World = initial(self.universe)

    def number(self, name: str) -> int:
        return [i.name for i in self.universe.system.instances].index(name)

    def steps(self) -> list[str]:
        """What can come next, as the author would write it."""
        return [describe(self.universe, s) for s in enabled(self.universe, self.world)]

    def take(self, *names: str) -> list[str]:
        """Take enabled steps, by their descriptions, which must not fail; what happened in the last."""
        told: list[str] = []
        for name in names:
            step = self.called(name)
            result = fire(self.universe, self.world, step)
            assert result.fault is None, result.fault
            self.world = result.world
            told = [describe(self.universe, h) for h in result.cascade]
        return told

    def called(self, name: str) -> Step:
        for step in enabled(self.universe, self.world):
            if describe(self.universe, step) == name:
                return step
        raise AssertionError(f"{name} is not enabled: {self.steps()}")

    def attempt(self, name: str) -> Result:
        """The result of an enabled step, which is not kept."""
        return fire(self.universe, self.world, self.called(name))

    def send(self, instance: str, event: str, *arguments: Value) -> Result:
        """The result of an event that need not be enabled, which is not kept."""
        return fire(self.universe, self.world, EventStep(self.number(instance), event, arguments))

    def why(self, fault: Fault) -> str:
        """Why a step fails, in words."""
        return fault_message(self.universe, fault)

    def state(self, name: str) -> str:
        return self.world.states[self.number(name)]

    def states(self) -> str:
        return " ".join(self.world.states)

    def field(self, path: str) -> str:
        """The value of `instance.field`."""
        name, _, field = path.partition(".")
        n = self.number(name)
        slot = self.universe.slots[n][field]
        return value_text(self.universe, self.universe.machines[n].fields[slot].type, self.world.fields[n][slot])
