"""Where a packed search ends: interruptions, memory, time, room."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from campaign import by_definition, differences, found, packed
from hived_lite import hived_lite
from packed_search import COMPILED, HASTY, PLAIN, SMALL, explored, needs_compiler, own_objects
from stepping import compiled, only_system

from fsmdsl.program import native as program_native
from fsmdsl.search import Exploration, Limits, Means, Progress, explore, packed_search
from fsmdsl.search.packed_search import PackedSearch
from fsmdsl.search.plain import Plain
from fsmdsl.search.shapes import UnpackableError
from fsmdsl.step import Universe

pytestmark = pytest.mark.usefixtures(own_objects.__name__)

LARGE = hived_lite(4, 6, 2)


@pytest.fixture
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_search, "REPORT_EVERY", 0)


def interrupted(means: Means, how: Callable[[], None], text: str = LARGE) -> Exploration:
    def progress(p: Progress) -> None:
        if p.states > 1000:
            how()

    model = compiled(text)
    return explore(model, only_system(model), None, progress, means)


def pressed() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def raised() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("how", [pressed, raised])
@pytest.mark.parametrize("means", [PLAIN, *(pytest.param(x, marks=needs_compiler) for x in (COMPILED, HASTY))])
@pytest.mark.usefixtures("talkative")
def test_an_interruption_keeps_what_was_found(means: Means, how: Callable[[], None]) -> None:
    before = signal.getsignal(signal.SIGINT)
    x = interrupted(means, how)
    assert x.stopped == "interrupted"
    assert 1000 < x.states < 129_406
    assert {v.outcome for v in x.verdicts if v.kind == "invariant"} == {"unknown"}
    assert {v.basis for v in x.verdicts if v.kind == "invariant"} == {"bounded: interrupted"}
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interruption_in_the_middle_of_a_state() -> None:
    model = compiled(hived_lite(3, 4, 2, progress=True))
    whole = packed(model, only_system(model), Limits(), PLAIN)
    search = PackedSearch(Universe(model, only_system(model)), Limits(), PLAIN, None, whole.plan)
    assert isinstance(search.engine, Plain)
    arrive, count = search.engine._arrive, 0

    def interrupted(words: tuple[int, ...], origin: int) -> None:
        nonlocal count
        count += 1
        if count == 500:
            search.engine.number[words] = -1  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        arrive(words, origin)

    search.engine._arrive = interrupted  # type: ignore[method-assign]
    search.run()
    assert search.stopped == "interrupted"
    assert [search.world(n) for n in range(search.states)] == [whole.world(n) for n in range(search.states)]
    assert [search.number(search.world(n)) for n in range(search.states)] == list(range(search.states))
    graph = search.graph()
    assert graph.expanded is not None
    assert list(graph.offsets[: graph.expanded + 1]) == list(whole.graph().offsets[: graph.expanded + 1])  # type: ignore[index]


@pytest.mark.parametrize("means", [PLAIN, *(pytest.param(x, marks=needs_compiler) for x in (COMPILED, HASTY))])
def test_memory_that_is_used_up_stops_the_search(means: Means) -> None:
    x = explored(LARGE, means, Limits(memory=4_000_000))
    # A compiler that is loaded here counts for the process.
    assert re.match(r"stopped at 0\.[01] GiB of memory, ", x.stopped or "")
    assert 1000 < x.states < 129_406
    assert all(v.outcome != "holds" for v in x.verdicts if v.kind == "invariant")


@needs_compiler
def test_time_that_is_used_up_stops_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\nexec sleep 86400\n")
    sleeper.chmod(0o700)
    monkeypatch.setattr(program_native.sys, "executable", str(sleeper))
    x = explored(SMALL, COMPILED, Limits(seconds=0.2))
    assert x.stopped == "stopped after 0.2 seconds", "and not at the end of the day, as the compiler would"


def test_a_state_with_more_steps_than_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsmdsl.search.plain.CAP", 2)
    wanted = found(by_definition(compiled(SMALL), only_system(compiled(SMALL)), Limits()))
    assert differences(wanted, found(packed(compiled(SMALL), only_system(compiled(SMALL)), Limits(), PLAIN))) == []


def test_more_answers_than_there_is_room_for() -> None:
    """An answer that leads to two more questions: there is no end of them."""
    text = """module x
machine A {
    initial state S
    state T
    event go from environment
    action ask -> yes
    S -> T on go do ask
    T -> T on ask.yes do ask
    on exit(T) do ask
}
system X { a: A }
"""
    with pytest.raises(UnpackableError, match="more answers awaited"):
        packed(compiled(text), only_system(compiled(text)), Limits(), PLAIN)
    x = explored(text, Means(), Limits(states=10))
    assert x.note is not None
    assert (x.states, x.stopped) == (10, "stopped at 10 states")


COUNTER = """
module counter
machine Counter {
    n: 0..9
    initial state Counts
    event look, count from environment
    Counts on look
    Counts on count when n < 9 do n = n + 1
    invariant not_one: n != 1
}
system One { c: Counter  environment { c.look  c.count } }
"""


def test_a_violation_in_the_level_that_fills_the_limit_ends_the_search() -> None:
    """The limit of states has not been reached then, so nothing of the next level counts."""
    model = compiled(COUNTER)
    system, limits = only_system(model), Limits(3, after_violation=2)
    wanted = by_definition(model, system, limits)
    assert (wanted.at_violation, wanted.states, wanted.transitions) == (True, 3, 4)
    found_packed = packed(model, system, limits, Means(compiled=False))
    assert differences(found(wanted), found(found_packed)) == []
