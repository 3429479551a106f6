"""Random specs in which much is decided without being evaluated: see `random_specs` and `random_systems`.

Beside all that these write, there are ranges that are empty or have one number, ends of ranges and other operands that
have no value, constant conditions in front of them, and pairs of rows whose guards exclude each other and may fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from random_expressions import NOT, Env, MachinePlan, Text, within
from random_specs import _Specs
from random_systems import _Systems

from fsmdsl import model as m


def unevaluated_spec(seed: int) -> str:
    """The text of a module; the same for the same seed."""
    return _UnevaluatedSpecs(Random(seed), newer=True).text(f"unevaluated_{seed}")


def unevaluated_system(seed: int) -> str:
    """The text of a module that is made to be explored; the same for the same seed."""
    return _UnevaluatedSystems(Random(seed), newer=True).text(f"unevaluated_system_{seed}")


class _Unevaluated(_Specs):
    """Writes what may be left out."""

    def _boolean(self, env: Env, depth: int) -> Text:
        if self.chance(0.6):
            return super()._boolean(env, depth)
        match self.random.randrange(5):
            case 0:
                return self._decided(env, depth)
            case 1:
                left, right = self.faulty(env), self.faulty(env)
                return Text(f"({left} {self.random.choice(['==', '<', '>='])} {right})")
            case 2:
                return Text(f"({self.faulty(env)} in {{}})")
            case _:
                return self._of_range(env, self.random.choice(["all", "some"]), depth)

    def _decided(self, env: Env, depth: int) -> Text:
        """A constant condition beside one that may have no value, on either side of it."""
        other = within(self.condition(env, depth), NOT, False).text
        risky = self.random.choice([f"{self.faulty(env)} >= {self.faulty(env)}", f"({other})"])
        constant = self.random.choice(["true", "false"])
        sides = [constant, risky]
        self.random.shuffle(sides)
        if self.chance(0.3):
            return Text(f"(if {risky} then {constant} else {self.random.choice(['true', 'false'])})")
        return Text(f"({sides[0]} {self.random.choice(['and', 'or', '=>'])} {sides[1]})")

    def _of_range(self, env: Env, kind: str, depth: int) -> Text:
        """A quantifier over numbers, often over none or one."""
        name = self.random.choice(["x", "y", "n_", "_it"])
        low, high = self._end(env, name), self._end(env, name)
        if not high.startswith("self."):  # a derived value may be a large number to the checker, and so the range
            high = f"min({high}, 4)"
        if self.chance(0.3):
            n = self.random.randint(-1, 2)
            low, high = str(n), str(n + self.random.choice([-2, -1, -1, 0, 0, 1]))
        env = env.bind({name: m.RangeType(-1, 4)})
        inner = self.condition(env, depth - 1).text if self.chance(0.5) else f"{self.faulty(env)} - {name} < {name} + 1"
        return Text(f"{kind} {name} in {low}..{high}: {inner}", NOT, True)

    def _end(self, env: Env, variable: str) -> str:
        """An end of a range, which does not speak of a variable of the same name."""
        end = self.faulty(env) if self.chance(0.5) else self.random.choice(["0", "1", "2", "-1"])
        return "1" if re.search(rf"\b{variable}\b", end) else end

    def faulty(self, env: Env) -> str:
        """A small number that may have no value: by what is written, or by what there is now."""
        always = ["first(rest([1]))", "last(rest([2]))", "min(1, first(rest([0])))"]
        lists = [n for n, t in self.paths(env) if _is_of_numbers(t)]
        named = [f"{n}[0]" for n in lists if "." not in n] + [f"first({n})" for n in lists]
        numbers = [n for n, t in self.paths(env) if _is_small(t)]
        quotients = [f"(2 / (if {n} > 0 then 1 else {n}))" for n in numbers]
        return self.random.choice([*always, *named, *named, *quotients, *numbers, "1", "2"])

    def _transitions(self, machine: MachinePlan) -> Iterator[str]:
        yield from super()._transitions(machine)
        env = self._machine_env(machine)
        event = next((e for e, p in machine.events.items() if not p), None)
        states = [x for x in self.leaves[machine.name] if x not in self.final.get(machine.name, set())]
        if event is None or not states or self.chance(0.3):
            return
        source, target = self.random.choice(states), self.random.choice(states)
        number = next((n for n, t in machine.fields.items() if _is_small(t)), None)
        tests = [("wait", "not wait")] if number is None else [(f"{number} < 1", f"{number} >= 1")]
        first, second = self.random.choice(tests)
        for test in (first, second):
            risky = self.condition(env, 2).text
            yield f"{source} -> {target} on {event} when {test} and ({risky})"


def _is_small(t: object) -> bool:
    return isinstance(t, m.RangeType) and t.low >= -4 and t.high <= 4


def _is_of_numbers(t: object) -> bool:
    return isinstance(t, m.ListType) and _is_small(t.of)


class _UnevaluatedSpecs(_Unevaluated):
    pass


class _UnevaluatedSystems(_Unevaluated, _Systems):
    pass
