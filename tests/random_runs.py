"""Random systems with many properties of runs: nested formulas, quantifiers, and fairness of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from random_expressions import Env
from random_systems import _Systems

from fsmdsl import model as m

PROPERTIES = 12


def runs(seed: int) -> str:
    """The text of a module; the same for the same seed."""
    return _Runs(Random(seed), newer=True).text(f"runs_{seed}")


class _Runs(_Systems):
    """Writes such modules."""

    def _asked(self, env: Env) -> Iterator[str]:
        yield from self._start(env)
        yield from self._bounded(env)
        for n in range(PROPERTIES):
            yield f"    property p{n}: {self._nested(env, self.random.randint(1, 3))}{self._under()}"

    def _nested(self, env: Env, depth: int) -> str:
        """A formula in parentheses."""
        if depth == 0 or self.chance(0.1):
            return f"({self.condition(env, 1).text})"
        a = self._nested(env, depth - 1)
        groups = [n for n, t in env.names.items() if isinstance(t, m.SetType) and isinstance(t.of, m.RefType)]
        refs = [n for n, t in env.names.items() if isinstance(t, m.RefType)]
        kinds = ["always", "eventually", "next", "not", "and", "or", "=>", "until", "~>", "==", "if"]
        kind = self.random.choice([*kinds, *["all", "some"] * bool(groups), *["stuck"] * bool(refs)])
        match kind:
            case "always" | "eventually" | "next" | "not":
                return f"({kind} {a})"
            case "stuck":
                return f"({'not ' * self.chance(0.5)}stuck({self.random.choice(refs)}))"
            case "all" | "some":
                group = self.random.choice(groups)
                variable = f"v{depth}"
                of = env.names[group]
                assert isinstance(of, m.SetType)
                return f"({kind} {variable} in {group}: {self._nested(env.bind({variable: of.of}), depth - 1)})"
        b = self._nested(env, depth - 1)
        if kind == "if":
            return f"(if {self._nested(env, depth - 1)} then {a} else {b})"
        return f"({a} {kind} {b})"
