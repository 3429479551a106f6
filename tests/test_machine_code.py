"""Machine code: when it takes over, what it leaves behind, and where it cannot be made."""

from __future__ import annotations

import gc
import re
import sys
import threading
from array import array
from collections.abc import Callable
from itertools import count, cycle
from math import inf
from pathlib import Path
from time import monotonic, sleep

import pytest
from campaign import by_definition, differences, found, narrow, packed
from hived_lite import hived_lite
from packed_search import COMPILED, HASTY, PLAIN, SMALL, explored, found_by, needs_compiler, own_objects
from stepping import compiled, only_system

from fsmdsl.program import cache as objects_cache
from fsmdsl.program import native as program_native
from fsmdsl.search import Limits, Means, explore, machine_code, native
from fsmdsl.search.compiled import Compiled
from fsmdsl.search.machine_code import MachineCode
from fsmdsl.search.memory import Memory
from fsmdsl.search.packed_search import PackedSearch
from fsmdsl.search.plain import Plain
from fsmdsl.text.budget import available

pytestmark = [
    pytest.mark.full(reason="half a minute: compiled searches"),
    pytest.mark.usefixtures(own_objects.__name__),
]


@needs_compiler
@pytest.mark.parametrize(
    ("workers", "cap", "bits"), [(1, 1, 3), (2, 1, 3), (3, 7, 4), (1, 64, 6), (3, 64, 6), (2, 1 << 15, 17)]
)
def test_tables_and_buffers_grow(workers: int, cap: int, bits: int) -> None:
    wanted = found(found_by(PLAIN))
    with narrow(cap, bits):
        search = found_by(Means(compiled=True, workers=workers, symmetry=False))
        assert differences(wanted, found(search)) == []
    engine = search.engine
    assert isinstance(engine, Compiled)
    assert [engine.find(engine.state(n)) for n in range(search.states)] == list(range(search.states))
    assert engine.find((0x123456789,) * search.lowered.layout.words) is None


@needs_compiler
@pytest.mark.parametrize("late", [1, 64, 300, 811])
def test_machine_code_takes_over_wherever_it_is_ready(late: int) -> None:
    wanted = found(found_by(PLAIN))
    with narrow(64, 6):
        search = found_by(Means(compiled=False, workers=2, symmetry=False), late=late)
        assert differences(wanted, found(search)) == []
    assert isinstance(search.engine, Compiled)


@needs_compiler
@pytest.mark.parametrize(("workers", "states"), [(1, 1), (2, 2), (3, 17), (1, 400), (2, 811), (3, 812)])
def test_a_limit_stops_at_the_same_place(workers: int, states: int) -> None:
    model = compiled(hived_lite(3, 4, 2, progress=True))
    system, limits = only_system(model), Limits(states)
    wanted = found(by_definition(model, system, limits))
    assert wanted["states"] == states
    assert (wanted["stopped"] is None) is (states == 812)
    for how in (False, True, "hastily"):
        means = Means(compiled=how, workers=workers, symmetry=False)
        assert differences(wanted, found(packed(model, system, limits, means))) == []


@needs_compiler
@pytest.mark.parametrize("once", [True, False])
def test_what_outgrows_python_is_compiled_in_a_hurry(
    once: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """At once where it was before; and nothing is kept of what is looked at only once."""
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    monkeypatch.setattr(machine_code, "LOADING", 0)
    monkeypatch.setattr(machine_code, "IN_A_HURRY", (0, 0))
    monkeypatch.setattr(machine_code, "IN_USE", (inf, inf))
    native._of_everyone.cache_clear()
    wanted = found(found_by(PLAIN))
    search = found_by(Means(workers=1, once=once, symmetry=False))
    assert isinstance(search.engine, Compiled)
    assert differences(wanted, found(search)) == []
    assert isinstance(search.engines, MachineCode)
    assert search.engines.compilation is None
    assert {x.name[64:] for x in tmp_path.iterdir()} == (set() if once else {".hasty.obj"})
    monkeypatch.setattr(machine_code, "IN_A_HURRY", (inf, inf))
    search = found_by(Means(workers=1, symmetry=False))
    assert isinstance(search.engine, Plain if once else Compiled)


@needs_compiler
@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_what_was_compiled_before_is_looked_up_after_a_while(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer than to go through a small system."""
    now, looks = count(0.0, seconds), list[object]()
    monkeypatch.setattr(machine_code, "perf_counter", lambda: next(now))
    monkeypatch.setattr(machine_code, "cached", looks.append)
    monkeypatch.setattr(machine_code, "IN_A_HURRY", (inf, inf))
    search = found_by(Means(workers=1, symmetry=False))
    assert isinstance(search.engine, Plain)
    assert len(looks) == (seconds > 0)


def test_an_engine_that_gives_way_for_nothing_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A better engine may be in sight and, a moment later, be out of reach: compiled too late for a limit of time."""
    answers = cycle([True, False])
    monkeypatch.setattr(MachineCode, "better", lambda self, engine: next(answers))
    search = found_by(PLAIN)
    assert search.stopped is None
    assert isinstance(search.engine, Plain)


@needs_compiler
@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_compiled_well_takes_over(workers: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And stays in the cache in the place of what was compiled in a hurry."""
    done = native.Compilation.done
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    monkeypatch.setattr(machine_code, "LOADING", 0)
    monkeypatch.setattr(machine_code, "IN_A_HURRY", (0, 0))
    monkeypatch.setattr(machine_code, "IN_USE", (0, 0))
    monkeypatch.setattr(native.Compilation, "done", lambda self: done(self, wait=True))
    native._of_everyone.cache_clear()
    wanted = found(found_by(PLAIN))
    with narrow(64, 6):
        search = found_by(Means(workers=workers, symmetry=False))
    assert isinstance(search.engines, MachineCode)
    assert search.engines.well
    assert differences(wanted, found(search)) == []
    assert [x.name[64:] for x in tmp_path.iterdir()] == [".obj", ".obj"]


@needs_compiler
@pytest.mark.parametrize("beside_others", [False, True])
def test_no_compiler_takes_the_processor_of_others(
    beside_others: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where other processes explore at the same time, only what takes long is compiled well."""
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    monkeypatch.setattr(machine_code, "LOADING", 0)
    monkeypatch.setattr(machine_code, "IN_A_HURRY", (0, 0))
    monkeypatch.setattr(machine_code, "IN_USE", (0, inf))
    native._of_everyone.cache_clear()
    with narrow(64, 6):
        search = found_by(Means(workers=1, symmetry=False, beside_others=beside_others))
    assert isinstance(search.engines, MachineCode)
    assert (search.engines.compilation is None) is beside_others


def test_memory_is_zero_and_is_given_back() -> None:
    for kind, largest in (("q", (1 << 63) - 1), ("I", (1 << 32) - 1)):
        memory = Memory(1000, kind)  # type: ignore[arg-type]
        assert len(memory.numbers) == 1000
        assert set(memory.numbers) == {0}
        memory.numbers[999] = largest
        memory.numbers[:2] = memoryview(array(kind, [1, 2]))
        assert (memory.numbers[0], memory.numbers[1], memory.numbers[999]) == (1, 2, largest)
        memory.fill(0)
        assert set(memory.numbers) == {0}
        memory.close()
    assert len(Memory(0).numbers) == 1
    assert available() > 1 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says of memory")
def test_reserved_memory_does_not_count_as_used() -> None:
    """Else a process that has reserved much cannot fork."""
    memory = Memory(1 << 24)
    regions = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text(), flags=re.MULTILINE)
    found = [
        x for x in regions if x and int(x.split("-")[0], 16) <= memory.address < int(x.split("-")[1].split()[0], 16)
    ]
    assert [re.search(r"^VmFlags:.* nr\b", x, re.MULTILINE) is not None for x in found] == [True]
    memory.close()


@needs_compiler
@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_leaves_neither_memory_nor_threads_behind(workers: int) -> None:
    model, means = compiled(hived_lite(3, 4, 2, progress=True)), Means(compiled="hastily", workers=workers)
    gc.collect()
    before = threading.active_count(), sum(isinstance(x, Memory) for x in gc.get_objects())
    for _ in range(3):
        assert explore(model, only_system(model), means=means).complete
    gc.collect()
    deadline = monotonic() + 20
    while threading.active_count() > before[0] and monotonic() < deadline:
        sleep(0.01)
    assert (threading.active_count(), sum(isinstance(x, Memory) for x in gc.get_objects())) == before


# Where compiling goes wrong ------------------------------------------------------------------------------------------


def compiled_anyway() -> PackedSearch:
    """A search that would rather be compiled, which finds what it should."""
    model = compiled(SMALL)
    search = packed(model, only_system(model), Limits(), COMPILED)
    assert (search.states, search.transitions, search.stopped) == (37, 115, None)
    return search


def test_without_the_extra_a_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_native, "find_spec", lambda _: None)
    search = compiled_anyway()
    assert isinstance(search.engine, Plain)
    assert search.note == program_native.MISSING


@needs_compiler
def test_a_cache_that_cannot_be_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path / "file" / "cache"))
    search = compiled_anyway()
    assert isinstance(search.engine, Compiled)
    assert search.note is None


@needs_compiler
@pytest.mark.parametrize("damage", [lambda x: b"", lambda x: x[: len(x) // 2], lambda x: x[:-1] + b"!"])
def test_a_damaged_object_is_made_anew(
    damage: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    compiled_anyway()
    objects = sorted(tmp_path.iterdir())
    assert [x.suffix for x in objects] == [".obj", ".obj"]
    before = [x.read_bytes() for x in objects]
    for x in objects:
        x.write_bytes(damage(x.read_bytes()))
    search = compiled_anyway()
    assert isinstance(search.engine, Compiled)
    assert [len(x.read_bytes()) for x in objects] == [len(x) for x in before]
    assert all(objects_cache.read(x.name) for x in objects)


@needs_compiler
def test_the_object_of_another_system_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whole, but under a name that is not its own."""
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    right = found(compiled_anyway())
    mine = set(tmp_path.iterdir())
    large = compiled(hived_lite(3, 4, 2))
    packed(large, only_system(large), Limits(500), COMPILED)
    others = set(tmp_path.iterdir()) - mine
    assert len(mine) == 2
    assert others
    for x in mine:
        for other in others:
            x.write_bytes(other.read_bytes())
            assert differences(right, found(compiled_anyway())) == []


@needs_compiler
@pytest.mark.skipif(sys.platform == "win32", reason="needs modes")
def test_a_cache_that_others_can_write_to_is_not_used_and_a_note_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    tmp_path.chmod(0o777)
    try:
        x = explored(SMALL, COMPILED, Limits())
        assert list(tmp_path.iterdir()) == []
    finally:
        tmp_path.chmod(0o700)
    assert x.complete
    assert f"compiled code is not cached: other users can write to it (mode 0777): `{tmp_path}`" in str(x.note)


@needs_compiler
@pytest.mark.parametrize(
    ("compiler", "why"),
    [("/bin/false", "the compiler ended with exit code 1"), ("/no/such/file", "No such file or directory")],
)
def test_a_compiler_that_dies(compiler: str, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    monkeypatch.setattr(program_native, "COMPILER", (compiler, *program_native.COMPILER[1:]))
    search = compiled_anyway()
    assert isinstance(search.engine, Plain)
    assert search.note is not None
    assert search.note.startswith("compiling failed: ")
    assert why in search.note
    assert [x for x in tmp_path.iterdir() if x.suffix == ".obj"] == []


@needs_compiler
def test_code_that_cannot_be_made_in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(lowered: object, *, store: bool) -> dict[str, native.Function]:
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(machine_code, "hastily", broken)
    search = packed(compiled(SMALL), only_system(compiled(SMALL)), Limits(), HASTY)
    assert isinstance(search.engine, Plain)
    assert (search.states, search.note) == (37, "compiled code cannot be used: no such instruction")


@needs_compiler
def test_code_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(code: bytes, wanted: object) -> dict[str, native.Function]:
        raise RuntimeError("this is not for this machine")

    monkeypatch.setattr(native, "loaded", broken)
    search = compiled_anyway()
    assert isinstance(search.engine, Plain)
    assert search.note == "compiled code cannot be used: this is not for this machine"
