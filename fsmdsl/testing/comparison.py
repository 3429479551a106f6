"""Model and implementation side by side: each step is taken by both, then states, fields and actions are compared."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

from fsmdsl.step import EventStep, Ignored, Requested, Result, Step, Universe, fire
from fsmdsl.step.describe import describe
from fsmdsl.testing.drive import drive
from fsmdsl.testing.implementation import Action, Implementation
from fsmdsl.testing.plain_values import arguments_by_name, fields, instances, same


class DifferenceError(AssertionError):
    """An implementation that differs from its model after some steps, the last of which shows it."""

    def __init__(self, twin: str, universe: Universe, steps: Sequence[Step], difference: str) -> None:
        self.universe, self.steps, self.difference = universe, tuple(steps), difference
        lines = [f"  {n}. {text}" for n, text in enumerate(_texts(universe, steps), 1)] or ["  (at the beginning)"]
        super().__init__("\n".join([f"{twin} differs from {universe.system.qualified}:", *lines, difference]))


class SideBySide:
    """One run. Raises `DifferenceError` where the two differ, at the latest by `take`."""

    def __init__(self, twin: Implementation, universe: Universe) -> None:
        self.twin, self.universe, self.world = twin, universe, universe.start
        self.steps: list[Step] = []
        self._runner: asyncio.Runner | None = None
        try:
            twin.objects = self._awaited(twin.start(instances(universe))) or {}
            self._awaited(twin.performed())
            self._compare([])
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the event loop of asynchronous code, and what still runs in it."""
        if self._runner is not None:
            self._runner.close()

    def take(self, step: Step, result: Result | None = None) -> bool:
        """Take a step: what `fire` returns for it, where that is known. False where there is nothing to compare: a step
        that fails in the model, other than an event that the first receiver does not handle."""
        result = result or fire(self.universe, self.world, step)
        if result.fault is None:
            self._follow(step, result)
        elif refusable(self.twin, step, result):
            self._refused(step)
        else:
            return False
        return True

    def _follow(self, step: Step, result: Result) -> None:
        self.steps.append(step)
        try:
            self._awaited(drive(self.twin, self.universe, step))
        except NotImplementedError:
            raise
        except Exception as error:
            raise self._different(f"the model takes this step; yours raised {error!r}") from error
        self.world = result.world
        self._compare([self._action(x) for x in result.cascade if isinstance(x, Requested)])

    def _refused(self, step: Step) -> None:
        self.steps.append(step)
        refusal = self.twin.refusal
        assert refusal is not None, "otherwise it would not have been sent"
        try:
            self._awaited(drive(self.twin, self.universe, step))
        except refusal:
            self._compare([])
            return
        except Exception as error:
            raise self._different(f"the model does not handle this event; yours raised {error!r}") from error
        raise self._different("the model does not handle this event; yours did not refuse it")

    def _action(self, x: Requested) -> Action:
        action = self.universe.machines[x.instance].action_named[x.action]
        return Action(
            self.universe.name(x.instance), x.action, arguments_by_name(self.universe, action.parameters, x.arguments)
        )

    def _compare(self, actions: list[Action]) -> None:
        different = self._differences(actions)
        if different:
            raise self._different("\n".join(different))

    def _differences(self, actions: list[Action]) -> list[str]:
        different, names = [], {id(x): name for name, x in self.twin.objects.items()}
        for n, machine in enumerate(self.universe.machines):
            name = self.universe.name(n)
            expected, state = self.world.states[n], self._awaited(self.twin.state(name))
            if not same(expected, state, names):
                different.append(f"{name} ({machine.name}) is in {expected} in the model, in {state} in yours")
            ours = fields(self.universe, self.world, n)
            theirs = self._awaited(self.twin.fields(name))
            if theirs is None:
                theirs = self.twin.attributes(name, tuple(ours))
            for field, value in theirs.items():
                if field not in ours:
                    raise ValueError(f"{machine.name} has no field `{field}`; it has {', '.join(ours) or 'none'}")
                if not same(ours[field], value, names):
                    actual = names.get(id(value), value)
                    different.append(f"{name}.{field} is {ours[field]!r} in the model, {actual!r} in yours")
        performed = self._awaited(self.twin.performed())
        if performed is not None and not same(actions, list(performed), names):
            different.append(f"the model asks for {_render_actions(actions)}, yours for {_render_actions(performed)}")
        return different

    def _different(self, what: str) -> DifferenceError:
        return DifferenceError(type(self.twin).__name__, self.universe, self.steps, what)

    def _awaited(self, value: Any) -> Any:
        """A value of the implementation. Its methods may be coroutines, which share one event loop."""
        if not inspect.isawaitable(value):
            return value
        self._runner = self._runner or asyncio.Runner()

        async def wait() -> Any:
            return await value

        return self._runner.run(wait())


def refusable(twin: Implementation, step: Step, result: Result) -> bool:
    """Is a step an event that the model does not handle, and that the implementation has to refuse?"""
    unhandled = result.fault is not None and result.fault.kind == "unhandled" and not result.cascade
    return twin.refusal is not None and isinstance(step, EventStep) and unhandled


def ignored(step: Step, result: Result) -> bool:
    """Is a step an event that its receiver ignores on purpose?"""
    only = result.fault is None and len(result.cascade) == 1
    return only and isinstance(step, EventStep) and isinstance(result.cascade[0], Ignored)


def _texts(universe: Universe, steps: Sequence[Step]) -> list[str]:
    """Steps as their author would write them."""
    world, texts = universe.start, []
    for step in steps:
        result = fire(universe, world, step)
        texts.append(describe(universe, step, world) + ("" if result.fault is None else "   (not handled)"))
        world = result.world
    return texts


def _render_actions(actions: Sequence[Action]) -> str:
    calls = (f"{x.instance}.{x.name}({', '.join(f'{k}={v!r}' for k, v in x.arguments.items())})" for x in actions)
    return ", ".join(calls) or "nothing"
