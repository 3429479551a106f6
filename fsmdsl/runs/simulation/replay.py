"""Runs that were found elsewhere (`fsm verify --format json`), walked again by the definition of the language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.runs.simulation.session import Session
from fsmdsl.runs.trace import Entry, world_data
from fsmdsl.step import Result, Step, TooManyValuesError, Universe, World, enabled, fire
from fsmdsl.step.describe import describe

Data = dict[str, Any]


class ReplayError(Exception):
    """A document is no run, or not one of this spec; the message says what does not fit."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run in a document of `fsm verify`, and what it shows."""

    system: str
    """Qualified."""
    title: str
    """`invariant s7`."""
    outcome: str
    explanation: tuple[str, ...]
    trace: Data = field(repr=False)


def recorded_runs(document: object) -> list[RecordedRun]:
    """The runs that a document of kind `verify` has. Raises `ReplayError`."""
    if not isinstance(document, dict) or document.get("kind") != "verify":
        raise ReplayError("this is not what `fsm verify --format json` prints")
    try:
        return [
            RecordedRun(f"{x['module']}.{x['name']}", _title(v), str(v["outcome"]), tuple(v["explanation"]), v["trace"])
            for x in document["systems"]
            for v in x["verdicts"]
            if v["trace"] is not None
        ]
    except (KeyError, TypeError) as error:
        raise ReplayError(f"this is not what `fsm verify --format json` prints: {error}") from error


def _title(v: Data) -> str:
    return "deadlock" if v["kind"] == "deadlock" else f"{v['kind']} {v['name']}"


def replayed(universe: Universe, trace: Data) -> Session:
    """The session of a run that a document describes, standing at its beginning. Raises `ReplayError`.

    Each step is found among the enabled ones by how it reads; of those that read the same, the one that leads to the
    world that the document tells.
    """
    if not isinstance(trace, dict) or not isinstance(steps := trace.get("steps"), list):
        raise ReplayError("this is not a run: it has no `steps`")
    start = next((x for x in universe.starts if world_data(universe, x) == trace.get("start")), None)
    if start is None:
        raise ReplayError("the run begins in another state than this system does: the spec has changed since")
    loop = trace.get("loop")
    if not (loop is None or (type(loop) is int and 0 <= loop <= len(steps))):
        raise ReplayError("the run's `loop` is not a position in it")
    return Session(universe, tuple(_entries(universe, start, steps)), 0, loop, start)


def _entries(universe: Universe, world: World, steps: Sequence[object]) -> Iterator[Entry]:
    for n, record in enumerate(steps, 1):
        if not isinstance(record, dict) or not isinstance(text := record.get("step"), str):
            raise ReplayError(f"step {n} of the run has no `step`")
        try:
            possible = enabled(universe, world)
        except TooManyValuesError as error:
            raise ReplayError(f"step {n}, `{text}`: cannot determine what is possible here: {error}") from error
        fits = [(s, fire(universe, world, s)) for s in possible if describe(universe, s, world) == text]
        step, result = _matching_step(universe, fits, record, n)
        yield Entry(step, result.cascade, result.world, result.fault)
        world = result.world


def _matching_step(universe: Universe, fits: list[tuple[Step, Result]], record: Data, n: int) -> tuple[Step, Result]:
    for step, result in fits:
        if world_data(universe, result.world) == record.get("world") and _fault(result) == _fault_kind(record):
            return step, result
    text = record["step"]
    if fits:
        raise ReplayError(f"step {n}, `{text}`, leads to another state than the run tells: the spec has changed since")
    raise ReplayError(f"step {n}, `{text}`, is not possible there: the spec has changed since")


def _fault(result: Result) -> str | None:
    return None if result.fault is None else result.fault.kind


def _fault_kind(record: Data) -> object:
    fault = record.get("fault")
    return fault.get("kind") if isinstance(fault, dict) else None
