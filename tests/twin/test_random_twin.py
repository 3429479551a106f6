"""One meaning, on random specs: `step` and the generated classes walk side by side."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mirror import Packages
from walks import Explored, Walk

from fsmdsl import model as m
from fsmdsl.model.resolve import resolve
from fsmdsl.step import Fault, FaultError, Result, Step, TooManyValuesError, Universe, World
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

sys.path.append(str(Path(__file__).parents[1]))
from random_specs import spec
from random_unevaluated import unevaluated_spec
from seeds import seeds
from stepping import only_system

SEEDS, NEWER, UNEVALUATED = seeds(range(220)), seeds(range(20)), seeds(range(20))
"""`NEWER`: with the newer words of the language. `UNEVALUATED`: with much that is decided without being evaluated."""
RUNS, STEPS = 6, 15
MAX_ANSWERS = 60


class UnendingError(Exception):
    """Each answer of hand-written code asks for the next."""


class Bounded(Explored):
    """Gives up where hand-written code that answers at once would answer for ever."""

    answers = 0

    def fire(self, world: World, step: Step) -> Result:
        self.answers += 1
        if self.answers > MAX_ANSWERS:
            raise UnendingError
        return super().fire(world, step)


class RandomWalk(Walk):
    """A walk that counts the answers to each step."""

    def foresee(self, step: Step) -> Fault | None:
        assert isinstance(self.explored, Bounded)
        self.explored.answers = 0
        return super().foresee(step)


def text_of(seed: int, kind: str) -> str:
    return unevaluated_spec(seed) if kind == "unevaluated" else spec(seed, kind == "newer")


def model_of(seed: int, kind: str) -> m.Model:
    resolved = resolve([parse(Source(f"{seed}.fsm", text_of(seed, kind))).module])
    assert resolved.model is not None
    return resolved.model


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("random")


@pytest.mark.parametrize(
    ("seed", "kind"),
    [*((n, "specs") for n in SEEDS), *((n, "newer") for n in NEWER), *((n, "unevaluated") for n in UNEVALUATED)],
)
def test_walks_through_random_specs_agree(seed: int, kind: str, folder: Path) -> None:
    model = model_of(seed, kind)
    system = only_system(model)
    packages = Packages(model, folder, f"twin_of_{seed}_{kind}")
    universe = Universe(model, system)
    if universe.fault is not None:  # the generated constructors refuse such values
        return
    for run in range(RUNS):
        explored = Bounded(universe.beginning(universe.starts[run * 7 % len(universe.starts)]))
        try:
            RandomWalk(explored, packages, run).run(STEPS)
        except (FaultError, TooManyValuesError, UnendingError):
            return
