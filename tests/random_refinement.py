"""Random pairs of systems of which one is said to refine the other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from random import Random

LETTERS = "ABCD"


@dataclass(frozen=True)
class Example:
    """Two systems: `plan` and `built` are rows of machines with one field, (from, to, value of the field); `row` maps
    the states of the two built instances, and `light` their fields, in Python as in the spec."""

    plan: tuple[tuple[str, str, int], ...]
    built: tuple[tuple[tuple[str, str, int], ...], ...]
    state: tuple[tuple[str, str, str], ...]
    light: tuple[int, int]
    called: str
    """What the plan's instance is called in rows: `g`, or one of a set of one."""

    @property
    def text(self) -> str:
        first, second = self.light
        rows = [f"map {self.called} in {to} when a in {a} and b in {b}" for a, b, to in self.state]
        machines = [_machine("Plan", self.plan), *(_machine(f"Built{n}", x) for n, x in enumerate(self.built))]
        return "\n".join(
            [
                *machines,
                f"system Plan {{ g: PlanMachine{'[1]' * ('[' in self.called)} }}",
                "system Built refines Plan { a: Built0Machine b: Built1Machine",
                *rows,
                f"map {self.called}.n = {first} * a.n + {second} * b.n",
                "}",
            ]
        )

    def image(self, values: dict[str, str]) -> tuple[str, int] | None:
        """Of a state of the built system, as `graphs.states` shows it."""
        to = next((t for a, b, t in self.state if (a, b) == (values["a"], values["b"])), None)
        n = self.light[0] * int(values["a.n"]) + self.light[1] * int(values["b.n"])
        return None if to is None or n > 2 else (to, n)


def _machine(name: str, rows: tuple[tuple[str, str, int], ...]) -> str:
    told = [f"{a} -> {b} on e{n} do n = {value}" for n, (a, b, value) in enumerate(rows)]
    events = ", ".join(f"e{n}" for n in range(len(rows)))
    listed = "\n".join([f"initial state {LETTERS[0]}", *(f"state {x}" for x in LETTERS[1:])])
    return f"machine {name}Machine {{ n: 0..2\n{listed}\nevent {events} from environment\n" + "\n".join(told) + "}"


def example(seed: int) -> Example:
    """Half of them with a plan of many steps and a mapping to few states, so that both answers are common."""
    r = Random(seed)
    steady = seed % 2 == 0

    def row() -> tuple[str, str, int]:
        return r.choice(LETTERS), r.choice(LETTERS), r.randrange(3)

    plan = {row() for _ in range(r.randint(8, 30) if steady else r.randint(3, 12))}
    built = tuple(tuple({row() for _ in range(r.randint(1, 4))}) for _ in range(2))
    images = r.choice(("AB", "AAAB")) if steady else LETTERS
    pairs = [x for x in product(LETTERS, LETTERS) if x == ("A", "A") or r.random() < 0.97]
    state = tuple((a, b, "A" if (a, b) == ("A", "A") and r.random() < 0.9 else r.choice(images)) for a, b in pairs)
    light = (r.randrange(2), r.randrange(2) * r.randrange(2))
    return Example(tuple(sorted(plan)), built, state, light, r.choice(("g", "g[0]", "g[i]")))
