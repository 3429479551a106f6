"""One meaning, on random specs: `step` and the generated classes walk side by side."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mirror import Packages
from walks import Explored, Walk

from fsmdsl import model as m
from fsmdsl.parse import parse
from fsmdsl.resolve import resolve
from fsmdsl.source import Source
from fsmdsl.step import Fault, FaultError, Result, Step, TooManyValuesError, Universe, World

sys.path.append(str(Path(__file__).parents[1]))
from random_specs import spec
from seeds import seeds
from stepping import only_system

SEEDS, NEWER = seeds(range(220)), seeds(range(20))
"""`NEWER`: with the newer words of the language."""
RUNS, STEPS = 6, 15
MOST_ANSWERS = 60


class UnendingError(Exception):
    """Each answer of hand-written code asks for the next."""


class Bounded(Explored):
    """Gives up where hand-written code that answers at once would answer for ever."""

    answers = 0

    def fire(self, world: World, step: Step) -> Result:
        self.answers += 1
        if self.answers > MOST_ANSWERS:
            raise UnendingError
        return super().fire(world, step)


class RandomWalk(Walk):
    """A walk that counts the answers to each step."""

    def foresee(self, step: Step) -> Fault | None:
        assert isinstance(self.explored, Bounded)
        self.explored.answers = 0
        return super().foresee(step)


def model_of(seed: int, newer: bool = False) -> m.Model:
    resolved = resolve([parse(Source(f"{seed}.fsm", spec(seed, newer))).module])
    assert resolved.model is not None
    return resolved.model


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("random")


@pytest.mark.parametrize(("seed", "newer"), [*((n, False) for n in SEEDS), *((n, True) for n in NEWER)])
def test_walks_through_random_specs_agree(seed: int, newer: bool, folder: Path) -> None:
    model = model_of(seed, newer)
    system = only_system(model)
    packages = Packages(model, folder, f"twin_of_{seed}{'_newer' * newer}")
    universe = Universe(model, system)
    if universe.fault is not None:  # the generated constructors refuse such values
        return
    for run in range(RUNS):
        explored = Bounded(universe.beginning(universe.starts[run * 7 % len(universe.starts)]))
        try:
            RandomWalk(explored, packages, run).run(STEPS)
        except (FaultError, TooManyValuesError, UnendingError):
            return
