"""A search by one process that goes on with one that was saved."""

from __future__ import annotations

from array import array
from functools import partial

from fsmdsl.dataclasses import replace
from fsmdsl.program.native import missing
from fsmdsl.runs.verdicts.verdict import Means
from fsmdsl.search.checkpoint.read import Saved
from fsmdsl.search.checkpoint.write import Saver
from fsmdsl.search.compiled import Compiled
from fsmdsl.search.counters import answered
from fsmdsl.search.errors import FullError, SavedError, UnavailableError
from fsmdsl.search.machine_code import BYTES_OF_TABLE, MachineCode
from fsmdsl.search.memory import processors
from fsmdsl.search.native import Compilation, Function, jobs
from fsmdsl.search.packed_search import PackedSearch
from fsmdsl.search.plain import Plain
from fsmdsl.search.ranks.partition import Share, append, states_of

MISSING_STATES = "the search that was saved is damaged: some state numbers are missing or duplicated"

LITTLE = 20_000
"""With so many states, plain Python can go on."""


def take_up(search: PackedSearch, saver: Saver, means: Means) -> None:
    """Put the states that were saved into a search that has not begun. Raises `SavedError`, `UnavailableError`,
    `FullError`."""
    saved = saver.resumed
    if saved is None:
        return
    count, most = saved.frontier.count, search.limits.states
    if count <= LITTLE and (most is None or count <= max(most, 1)):
        assert isinstance(search.engine, Plain)
        _into_plain(search.engine, saved, saver)
    else:
        search.engine = _compiled(search, saved, saver, means.workers or processors())
        search.engines = MachineCode(search.lowered, replace(means, compiled=False), search.budget, search.memory)
    saver.resumed_with(count)


def _into_plain(plain: Plain, saved: Saved, saver: Saver) -> None:
    """In plain Python, at once."""
    states = [x for loaded in saver.parts() for x in states_of(loaded, saved.width)]
    states.sort()
    if [number for number, *_ in states] != list(range(saved.frontier.count)):
        raise SavedError(MISSING_STATES)
    plain.states, plain.preds = [words for _, words, _ in states], [origin for *_, origin in states]
    plain.number = {words: n for n, words in enumerate(plain.states)}
    plain.frontier, plain.board = saved.frontier, answered(plain.lowered, saved.board)


def _compiled(search: PackedSearch, saved: Saved, saver: Saver, workers: int) -> Compiled:
    """In machine code."""
    problem = missing()
    if problem is not None:
        raise UnavailableError(problem)
    compilation = Compilation(jobs(search.lowered, ranks=True))
    compilation.done(wait=True)
    if compilation.failed is not None:
        raise UnavailableError(f"compiling failed: {compilation.failed}")
    functions = compilation.functions()
    room = search.memory // (8 * saved.width + BYTES_OF_TABLE)
    if saved.frontier.count >= room:
        raise FullError(f"{saved.frontier.count} states were saved, and there is memory for {room}")
    board, fill = answered(search.lowered, saved.board), partial(_fill, functions, saver)
    return Compiled(search.lowered, functions, workers, room, saved.frontier, board, fill)


def _fill(functions: dict[str, Function], saver: Saver, engine: Compiled) -> None:
    """All states are of the one process, which has memory for them."""
    room = engine.frontier.count
    share = Share(engine.lowered, functions, room)
    share.words, share.origins = engine.words, engine.preds
    for loaded in saver.parts():
        append(share, functions, loaded, 0, 1)
    if share.count != room or share.numbers.numbers[:room] != memoryview(array("I", range(room))):
        raise SavedError(MISSING_STATES)
