"""The type of what is wrong ends with resolve: no model that is handed on has it anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from literate import CASES, cases
from random_specs import spec
from random_systems import text_of
from tiers import today

from fsmdsl import model as m
from fsmdsl.model.resolve import resolve
from fsmdsl.model.workspace import load
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source, Span

SPECS = Path(__file__).parent.parent / "specs"


def errors(x: object, where: str, seen: set[int]) -> Iterator[str]:
    """The places in a model that have the type, as paths of field names."""
    if isinstance(x, m.ErrorType):
        yield where
    elif isinstance(x, tuple | list | frozenset):
        for y in x:
            yield from errors(y, where, seen)
    elif isinstance(x, Mapping):
        yield from errors(list(x.values()), where, seen)
    elif is_dataclass(x) and not isinstance(x, Span | type) and id(x) not in seen:
        seen.add(id(x))
        for f in fields(x):
            yield from errors(getattr(x, f.name), f"{where}.{type(x).__name__}.{f.name}"[-300:], seen)


def check(model: m.Model | None) -> None:
    if model is not None:
        assert list(dict.fromkeys(errors(model, "", set())))[:3] == []


@pytest.mark.parametrize("path", today(sorted(SPECS.rglob("*.fsm"))), ids=lambda x: x.stem)
@pytest.mark.parametrize("as_documented", [False, True])
def test_specs(path: Path, as_documented: bool) -> None:
    check(load([path], as_documented=as_documented).model)


@pytest.mark.parametrize("path", sorted(CASES.glob("*.md")), ids=lambda x: x.stem)
def test_literate_cases(path: Path) -> None:
    for case in cases(path):
        check(resolve([parse(x).module for x in case.sources], as_documented=case.as_documented).model)


@pytest.mark.parametrize("seed", today(range(30)))
def test_random_specs(seed: int) -> None:
    for text in (spec(seed), text_of(seed)):
        check(resolve([parse(Source("x.fsm", text)).module]).model)
