"""Many processes find what one finds: the same states under the same numbers, the same verdicts, the same traces.

Most is shown with ranks that are threads of this process; with real ones, started by `mpiexec`, that they are silent,
agree, and can be killed.
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from dealt_out import deal_out, small_blocks
from hived_lite import PATH, hived_lite
from random_crowds import crowd
from stepping import compiled
from threaded import together

from fsmdsl import model as m
from fsmdsl.model.workspace import load
from fsmdsl.program.native import missing
from fsmdsl.search import Exploration, Keeping, Limits, Means, compose, data, explore, resumable
from fsmdsl.search.checkpoint import read as saved_search
from fsmdsl.search.errors import SavedError, UnavailableError
from fsmdsl.search.memory import Memory
from fsmdsl.search.ranks import distributed, exchange, partition, process
from fsmdsl.search.ranks.exchange import Alone, Exchange, agreed

ROOT = Path(__file__).parent.parent
HOLES = ROOT / "specs" / "hived" / "holes"
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")

pytestmark = [
    pytest.mark.full(reason="mpiexec, and a minute"),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
needs_mpi = pytest.mark.skipif(
    MPIEXEC is None or exchange.find_spec("mpi4py") is None,
    reason="NOT TESTED with several processes: there is no mpiexec, or no mpi4py (pip install 'fsmdsl[mpi,fast]')",
)


@pytest.fixture(autouse=True)
def _many_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((process, "SMALL"), (distributed, "LEAST_MESSAGE"), (distributed, "CAP")):
        monkeypatch.setattr(module, name, getattr(module, name))
    deal_out()
    small_blocks()


# Ranks that are threads ----------------------------------------------------------------------------------------------


def told(x: Exploration) -> dict[str, Any]:
    """All that an exploration tells, but for the time it took."""
    verdicts = [
        (v.kind, v.name, v.outcome, v.basis, v.explanation, None if v.trace is None else data(v.trace))
        for v in x.verdicts
    ]
    return {
        "counts": (x.states, x.transitions, x.depth, x.levels, x.stopped),
        "verdicts": verdicts,
        "coverage": x.coverage,
        "tally": x.tally,
        "note": x.note,
    }


def by_ranks(
    monkeypatch: pytest.MonkeyPatch, size: int, model: m.Model, system: m.System, **options: Any
) -> list[Exploration]:
    def one(between: Exchange) -> Exploration:
        here.between = between
        return explore(model, system, **options)

    here = threading.local()
    with monkeypatch.context() as patch:
        patch.setattr(compose, "exchange", lambda: here.between)
        return together(size, one)


def hived(groups: int, cells: int, size: int, **options: bool) -> tuple[m.Model, m.System]:
    model = compiled(hived_lite(groups, cells, size, **options))
    return model, next(iter(model.systems.values()))


def broken() -> tuple[m.Model, m.System]:
    """3,348 states, of which some break an invariant."""
    text = hived_lite(3, 5, 2)
    few = "invariant few: some g in groups: g not in {Allocated, Deleted}"
    model = compiled(f"{text[: text.rindex('}')]}    {few}\n}}\n")
    return model, next(iter(model.systems.values()))


def as_documented(path: Path, name: str) -> tuple[m.Model, m.System]:
    model = load([str(path)], as_documented=True).model
    assert model is not None
    return model, next(x for x in model.systems.values() if x.name == name)


SYSTEMS = {
    "counts": lambda: hived(3, 5, 2),
    "symmetric, with a property of runs": lambda: hived(4, 5, 2, symmetric=True, progress=True),
    "a property of runs": lambda: hived(3, 4, 2, progress=True),
    "violations": lambda: as_documented(ROOT / "specs" / "hived", "Takeover"),
    "crashes, and recovery": lambda: as_documented(HOLES / "h11_restarts_apart.fsm", "Restarts"),
    "channels": lambda: as_documented(HOLES / "h10_messages.fsm", "OneThread"),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_number_of_ranks_tells_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, system = SYSTEMS[name]()
    means = Means(counted=True)
    alone = told(explore(model, system, means=means))
    for size in (2, 3, 4):
        first, *others = map(told, by_ranks(monkeypatch, size, model, system, means=means))
        assert first == alone
        assert all(x["counts"] == alone["counts"] and x["coverage"] == alone["coverage"] for x in others)


def test_something_is_violated_and_a_trace_compared() -> None:
    explored = {name: explore(*SYSTEMS[name]()) for name in ("violations", "crashes, and recovery", "channels")}
    assert all(any(v.trace is not None for v in x.violations) for x in explored.values())


def test_what_is_small_is_exchanged_with_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "SMALL", 10_000)
    monkeypatch.delattr(process.Ranks, "_dealt_out")
    model, system = hived(3, 4, 2)
    assert [x.states for x in by_ranks(monkeypatch, 2, model, system)] == [812, 812]


def test_numbers_of_more_than_32_bits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With spans of few states, what is kept of numbers is counted from many places."""
    monkeypatch.setattr(partition, "SPAN", 300)
    model, system = hived(3, 5, 2, progress=True)
    alone = told(explore(model, system))
    keeping = Keeping(tmp_path, None, 0.0)
    limited = by_ranks(monkeypatch, 3, model, system, limits=Limits(1000), keeping=keeping)[0]
    assert limited.stopped == "stopped at 1000 states"
    for size in (2, 3):
        assert told(by_ranks(monkeypatch, size, model, system, keeping=Keeping(None, tmp_path))[0]) == alone


@pytest.mark.parametrize("most", [1, 700, 2000, 3347, 3348])
def test_a_limit_is_one_for_all(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model, system = hived(3, 5, 2, progress=most in (700, 3347))
    first, *others = by_ranks(monkeypatch, 3, model, system, limits=Limits(most))
    alone = told(explore(model, system, Limits(most)))
    assert told(first) == alone
    assert all(told(x)["counts"] == alone["counts"] for x in others)


@pytest.mark.parametrize("least", [0, 700])
def test_a_violation_ends_a_search_in_all_ranks_with_the_same_level(
    least: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model, system = broken()
    limits = Limits(after_violation=least)
    alone = told(explore(model, system, limits))
    assert alone["counts"][-1] == "stopped at violations"
    for size in (2, 3):
        first, *others = map(told, by_ranks(monkeypatch, size, model, system, limits=limits))
        assert first == alone
        assert all(x["counts"] == alone["counts"] for x in others)
    # What is saved says that something is violated.
    saved = Keeping(tmp_path, None, 0.0)
    by_ranks(monkeypatch, 2, model, system, limits=limits, keeping=saved)
    for little in (0, 20_000):
        monkeypatch.setattr(resumable, "LITTLE", little)
        assert told(explore(model, system, limits, keeping=Keeping(None, tmp_path))) == alone
        whole = explore(model, system, Limits(after_violation=None), keeping=Keeping(None, tmp_path))
        assert told(whole) == told(explore(model, system))
    assert told(by_ranks(monkeypatch, 3, model, system, limits=limits, keeping=Keeping(None, tmp_path))[0]) == alone


def test_time_and_memory_end_a_search_in_all_ranks_at_the_same_state(monkeypatch: pytest.MonkeyPatch) -> None:
    model, system = hived(4, 5, 2)
    for limits, why in ((Limits(seconds=1e-9), "stopped after 1e-09 seconds"), (Limits(memory=100_000), "of memory")):
        found = by_ranks(monkeypatch, 2, model, system, limits=limits)
        assert len({(x.states, x.stopped) for x in found}) == 1
        assert why in str(found[0].stopped)
        assert {v.outcome for v in found[0].verdicts} <= {"unknown", "holds"}
        assert found[0].states < 23756


def test_where_a_graph_does_not_fit_properties_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "BYTES_OF_EDGE", 1 << 50)
    model, system = hived(3, 4, 2, progress=True)
    (verdict,) = (v for v in by_ranks(monkeypatch, 2, model, system)[0].verdicts if v.name == "progress")
    assert verdict.outcome == "not checked"
    assert "one process must have all states and steps" in verdict.basis


# The exchange --------------------------------------------------------------------------------------------------------


def test_alone_all_comes_back() -> None:
    memory = Memory(3)
    memory.numbers[:] = memoryview(array("q", [5, 6, 7]))
    received, counts = Alone().all_to_all(memory, [3])
    assert (list(received.numbers), counts) == ([5, 6, 7], [3])
    assert Alone().all_reduce([1, 2], "sum") == [1, 2]


def test_the_problem_of_any_rank_is_known_to_all() -> None:
    problems = {1: "no space left — on the second", 2: "x" * 2000}
    assert together(3, lambda x: agreed(x, problems.get(x.rank))) == ["no space left — on the second"] * 3
    assert together(3, lambda x: agreed(x, None)) == [None] * 3
    assert together(3, lambda x: len(agreed(x, problems[2]) or ""))[0] == 512


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    exchange.exchange.cache_clear()
    monkeypatch.setenv("PMI_SIZE", "4")
    monkeypatch.setenv("PMI_RANK", "3")
    monkeypatch.setattr(exchange, "find_spec", lambda _: None)
    with pytest.raises(UnavailableError, match=r"pip install 'fsmdsl\[mpi,fast\]'"):
        exchange.exchange()
    monkeypatch.undo()
    exchange.exchange.cache_clear()
    monkeypatch.setattr(process, "missing", lambda: "needs the extra `fast`")
    model, system = hived(3, 4, 2)
    monkeypatch.setattr(process, "SMALL", 1)
    with pytest.raises(UnavailableError, match="needs the extra `fast`"):
        by_ranks(monkeypatch, 2, model, system)


# Saving and going on -------------------------------------------------------------------------------------------------


def folder_of(tmp_path: Path) -> Path:
    (found,) = (x for x in tmp_path.iterdir() if x.is_dir())
    return found


def test_any_number_of_ranks_goes_on_with_what_any_has_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model, system = hived(3, 5, 2, progress=True)
    alone, limited = told(explore(model, system)), told(explore(model, system, Limits(1000)))
    fast = Means(compiled=True)
    for size in (1, 2, 3):
        limits, keeping = Limits(1500), Keeping(tmp_path / str(size), None, 0.0)
        if size == 1:
            assert not explore(model, system, limits, means=fast, keeping=keeping).complete
        else:
            assert not by_ranks(monkeypatch, size, model, system, limits=limits, keeping=keeping)[0].complete
        going_on = Keeping(None, tmp_path / str(size))
        for little in (0, 20_000):
            monkeypatch.setattr(resumable, "LITTLE", little)
            assert told(explore(model, system, keeping=going_on)) == alone
            assert told(explore(model, system, Limits(1000), keeping=going_on)) == limited
        for others in (2, 3):
            assert told(by_ranks(monkeypatch, others, model, system, keeping=going_on)[0]) == alone
        few = by_ranks(monkeypatch, 2, model, system, limits=Limits(1000), keeping=going_on)
        assert told(few[0]) == limited


def test_what_goes_on_is_saved_again_and_what_is_complete_is_known_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model, system = hived(3, 5, 2)
    alone = told(explore(model, system))
    by_ranks(monkeypatch, 2, model, system, limits=Limits(500), keeping=Keeping(tmp_path, None, 0.0))
    by_ranks(monkeypatch, 3, model, system, limits=Limits(1500), keeping=Keeping(tmp_path, tmp_path, 0.0))
    explore(model, system, limits=Limits(2500), keeping=Keeping(tmp_path, tmp_path, 0.0))
    assert told(by_ranks(monkeypatch, 2, model, system, keeping=Keeping(tmp_path, tmp_path, 0.0))[0]) == alone
    monkeypatch.delattr(distributed.Distributed, "block")
    assert told(by_ranks(monkeypatch, 2, model, system, keeping=Keeping(None, tmp_path))[0]) == alone
    with pytest.raises(SavedError, match="already holds a search"):
        explore(model, system, keeping=Keeping(tmp_path))


def test_what_plain_python_has_found_is_saved_too(tmp_path: Path) -> None:
    model, system = hived(3, 4, 2)
    slow = Means(compiled=False)
    explore(model, system, Limits(500), means=slow, keeping=Keeping(tmp_path))
    assert told(explore(model, system, keeping=Keeping(None, tmp_path))) == told(explore(model, system))


def damaged(folder: Path) -> Iterator[tuple[str, str]]:
    """Ways to damage a folder, and what is said of each."""
    part = next(x for x in sorted(folder.glob("*.states")) if x.stat().st_size > 200)
    whole = part.read_bytes()
    part.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    yield f"`{part}` is damaged: its checksum", "a bit has changed"
    part.write_bytes(whole[:-1])
    yield f"`{part}` is damaged: its length", "it was cut off"
    part.unlink()
    yield f"`{part}`, which the manifest lists, is missing", "a file is lost"
    part.write_bytes(whole)
    manifest = folder / "manifest.json"
    content = manifest.read_text()
    manifest.write_text(content[: len(content) // 2])
    yield f"`{manifest}` is damaged: it is not a manifest", "the manifest was cut off"
    manifest.write_text(content.replace('"depth": ', '"depth": 1'))
    yield f"`{manifest}` is damaged: its checksum", "the manifest was edited"
    manifest.write_text(content.replace('"format": 2', '"format": 1'))
    yield f"`{manifest}` was written by another version of fsmdsl", "the format is another"
    manifest.write_text("[]")
    yield f"`{manifest}` is damaged: it is not a manifest", "there is something else"
    manifest.unlink()
    yield "no search is saved in", "the manifest is lost"


def test_damage_is_found_and_told_by_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model, system = hived(3, 4, 2)
    by_ranks(monkeypatch, 2, model, system, limits=Limits(300), keeping=Keeping(tmp_path, None, 0.0))
    for message, _ in damaged(folder_of(tmp_path)):
        for size in (2, 3):
            with pytest.raises(SavedError, match=re.escape(message)):
                by_ranks(monkeypatch, size, model, system, keeping=Keeping(None, tmp_path))
        with pytest.raises(SavedError, match=re.escape(message)):
            explore(model, system, keeping=Keeping(None, tmp_path))


def test_the_search_of_another_model_is_refused(tmp_path: Path) -> None:
    explore(*hived(3, 4, 2), keeping=Keeping(tmp_path))
    for other in (hived(3, 4, 1), hived(3, 4, 2, progress=True), hived(2, 3, 2)):
        with pytest.raises(SavedError, match="holds a search of a different model"):
            explore(*other, keeping=Keeping(None, tmp_path))


def test_of_several_systems_those_that_were_not_begun_are_begun(tmp_path: Path) -> None:
    explore(*hived(3, 4, 2), keeping=Keeping(tmp_path))
    model, system = as_documented(HOLES / "h10_messages.fsm", "OneThread")
    x = explore(model, system, keeping=Keeping(None, tmp_path))
    assert "started from the beginning" in str(x.note)
    assert x.violations


def test_a_search_that_gives_up_symmetry_begins_anew_in_its_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for seed in range(100):
        model = compiled(crowd(seed))
        system = next(iter(model.systems.values()))
        x = explore(model, system)
        if x.note is not None and x.states > 100:
            break
    assert "not reduced by symmetry" in str(x.note)
    assert told(by_ranks(monkeypatch, 2, model, system, keeping=Keeping(tmp_path, None, 0.0))[0]) == told(x)
    assert told(by_ranks(monkeypatch, 3, model, system, keeping=Keeping(None, tmp_path))[0]) == told(x)
    assert told(explore(model, system, keeping=Keeping(None, tmp_path))) == told(x)


def test_a_full_disk_ends_the_saving_and_not_the_search(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model, system = hived(3, 5, 2)
    by_ranks(monkeypatch, 2, model, system, limits=Limits(500), keeping=Keeping(tmp_path, None, 0.0))
    saved = folder_of(tmp_path)
    following = f"{max(int(x.name[:6]) for x in saved.glob('*.states')) + 3:06}-00001.states"
    write = saved_search.write

    def full(path: Path, *arguments: Any, **options: Any) -> bool:
        if path.name == following:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, *arguments, **options)

    monkeypatch.setattr(saved_search, "write", full)
    first, _ = by_ranks(monkeypatch, 2, model, system, keeping=Keeping(tmp_path, tmp_path, 0.0))
    assert "no longer saved: cannot write to" in str(first.note)
    assert "no space left" in str(first.note)
    assert first.complete
    last = told(explore(model, system, keeping=Keeping(None, tmp_path)))
    assert last == told(explore(model, system))


# Real processes ------------------------------------------------------------------------------------------------------


def started(size: int, *arguments: str) -> subprocess.Popen[str]:
    runner = [sys.executable, str(ROOT / "tests" / "dealt_out.py")]
    command = runner if size == 1 else [str(MPIEXEC), "-n", str(size), *runner]
    return subprocess.Popen([*command, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(size: int, *arguments: str) -> tuple[int, str, str]:
    process = started(size, *arguments)
    out, err = process.communicate(timeout=100)
    return process.returncode, out, err


def counted(out: str) -> dict[str, Any]:
    """What was printed, but for the time."""
    found = json.loads(out)
    for system in found["systems"]:
        del system["seconds"]
    assert isinstance(found, dict)
    return found


SIZED = [str(PATH), "--set", "groups=4", "--set", "cells=5", "--set", "size=2", "--no-symmetry"]


@cache
def alone(*arguments: str) -> tuple[int, dict[str, Any], str]:
    code, out, err = ended(1, *arguments, "--format", "json")
    return code, counted(out), err


HIVED = ["specs/hived", "--as-documented", "--shortest", "--system"]


@needs_mpi
@pytest.mark.parametrize(
    ("size", "arguments"), [(2, SIZED), (4, SIZED), (2, [*HIVED, "Takeover"]), (4, [*HIVED, "Settling"])]
)
def test_processes_speak_with_one_voice(size: int, arguments: list[str]) -> None:
    code, out, err = ended(size, "verify", *arguments, "--format", "json")
    assert (code, counted(out), err) == alone("verify", *arguments)


@needs_mpi
def test_misuse_is_told_once() -> None:
    code, out, err = ended(3, "verify", str(PATH), "--system", "Nobody")
    assert (code, out, err.count("there is no system `Nobody`")) == (2, "", 1)


@needs_mpi
def test_a_process_that_cannot_go_on_ends_all() -> None:
    code, _, err = ended(3, "--in-small-blocks", "--failing", "2", "verify", *SIZED)
    assert code != 0
    assert "process 2 of 3 cannot continue: no memory, says the test" in err


@needs_mpi
def test_a_process_that_ends_while_the_others_do_not_ends_all() -> None:
    code, _, err = ended(2, "--misused", "1", "verify", *SIZED)
    assert code != 0
    assert "there is no system `Nobody`" in err
    assert "process 1 of 2 has ended with exit code 2, but others have not" in err


def processes_of(parent: int) -> list[int]:
    """A process's children, and theirs."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            child = int(path.parent.name)
            found += [child, *processes_of(child)]
    return found


def ranks_of(mpiexec: int) -> list[int]:
    def is_rank(pid: int) -> bool:
        try:
            return b"dealt_out.py" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1]
        except (OSError, IndexError):
            return False

    return [pid for pid in processes_of(mpiexec) if is_rank(pid)]


@needs_mpi
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("seed", range(3))
def test_a_killed_search_goes_on_where_it_was_saved(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    size, times = chance.randrange(2, 4), chance.randrange(1, 80)
    process = started(size, "--in-small-blocks", "verify", *SIZED, "--save", str(tmp_path), "--save-every", "0")
    while len({x.name[:6] for x in tmp_path.glob("*/*.states")}) < times:
        assert process.poll() is None
        time.sleep(0.002)
    os.kill(chance.choice(sorted(ranks_of(process.pid))), signal.SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode != 0
    going_on = ("verify", *SIZED, "--resume", str(tmp_path), "--save", str(tmp_path), "--format", "json")
    manifests = list(tmp_path.glob("*/manifest.json"))
    if not manifests:  # it was killed before it was saved for the first time
        assert "no search is saved" in ended(2, *going_on)[2]
        return
    assert 0 < json.loads(manifests[0].read_text())["states"] <= 23756
    code, out, err = ended(chance.randrange(1, 4), *going_on)
    assert (code, counted(out), err) == alone("verify", *SIZED)
