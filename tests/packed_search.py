"""Packed searches for tests: the ways to search, and objects in a cache of their own (`own_objects`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from campaign import own_cache, packed
from hived_lite import hived_lite
from stepping import compiled, only_system

from fsmdsl.program import native as program_native
from fsmdsl.search import Exploration, Limits, Means, explore
from fsmdsl.search.packed_search import PackedSearch

PLAIN = Means(compiled=False, symmetry=False)
COMPILED = Means(compiled=True, workers=1, symmetry=False)
HASTY = Means(compiled="hastily", workers=1, once=True, symmetry=False)


needs_compiler = pytest.mark.skipif(program_native.missing() is not None, reason="needs the extra `fast`")


@pytest.fixture(scope="module")
def own_objects() -> Iterator[None]:
    with own_cache():
        yield


def explored(text: str, means: Means, limits: Limits | None = None) -> Exploration:
    model = compiled(text)
    return explore(model, only_system(model), limits, means=means)


SWITCH = "machine Switch { initial state Off  state On  event flip from environment  Off -> On, On -> Off on flip }\n"


def found_by(means: Means, *, late: int | None = None, size: tuple[int, int, int] = (3, 4, 2)) -> PackedSearch:
    model = compiled(hived_lite(*size, progress=True))
    return packed(model, only_system(model), Limits(), means, late)


SMALL = hived_lite(2, 3, 2)
