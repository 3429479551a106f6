"""Generated Python: what it looks like, what it imports, what it promises at run time.

`UPDATE=1 pytest tests/test_emit.py` rewrites the golden files; each begins with the spec that it was made from. That
the classes mean what `step` means is shown in tests/twin.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from stepping import compiled

from fsmdsl import emit
from fsmdsl import model as m
from fsmdsl.parse import parse
from fsmdsl.resolve import resolve
from fsmdsl.source import Source
from fsmdsl.workspace import load

HERE = Path(__file__).parent
ROOT = HERE.parent
RULES = "E,F,W,I,B,UP,SIM,C4,PIE,RET,RUF,PT,PERF"
NOT_RULES = "SIM114,RUF001,RUF002,RUF003,RUF012,SIM108,RET505,PERF401"

HIVED = """module hived

/// The unit of resource: a lowest-level physical cell, such as one GPU.
machine Cell {
    durable user: AffinityGroup?     /// whose pods run here
    reserver:     AffinityGroup?     /// who waits for this cell

    initial state Free               /// no affinity group is associated with the cell
    state Used                       /// only an allocated or being-preempted group
    state Reserving "being reserved" /// a preempting and a being-preempted group

    event take(by: AffinityGroup), reserve(by: AffinityGroup), free, cancel   from AffinityGroup

    action allocate(to: AffinityGroup), release

    e0: Free      -> Used       on take(by)     do { allocate(by); user = by }
    e1: Used      -> Free       on free         do { release; user = none }
    e2: Used      -> Reserving  on reserve(by)  do { user.preempted; release; reserver = by }
    e4: Reserving -> Used       on cancel       do { release; allocate(user); reserver = none }
    ec: Reserving -> Used on crash

    invariant used: Used => user != none
}

/// The unit of scheduling: pods that are placed all together or not at all.
machine AffinityGroup {
    param priority: 0..1000
    durable cells:  set<Cell>

    initial persistent state Pending
    persistent state Allocated
    volatile state Preempting
    final persistent state Deleted

    event schedule(choice: set<Cell>), pods_deleted   from environment
    event preempted                                   from Cell

    /// Every chosen cell is free.
    e0: Pending -> Allocated  on schedule(choice) when all c in choice: c in Free
        do { cells = choice; for c in choice { c.take(self) } }
    e1: Pending -> Preempting on schedule(choice) when some c in choice: c in Used
        do { cells = choice; for c in choice { c.reserve(self) } }
    e3: Allocated -> Deleted  on pods_deleted do { for c in cells { c.free }; cells = {} }
    ec: Preempting -> Pending on crash do cells = {}

    amends "one preemptor may take two cells of one victim"
        ignore preempted in Allocated
}
"""


class Generated:
    """A spec's packages in a folder, and what they define."""

    def __init__(self, folder: Path, text: str, name: str, target: Callable[..., dict[str, str]] = emit.python) -> None:
        self.model = compiled(text)
        self.folder, self.name = folder, name
        self.files = {p: t for module in self.model.modules for p, t in target(self.model, module.name).items()}
        write(folder / name, self.files)
        sys.path.insert(0, str(folder))

    def __getitem__(self, file: str) -> ModuleType:
        return importlib.import_module(f"{self.name}.{self.model.modules[0].name}.{file}")

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(f"{self.name}.{self.model.modules[0].name}"), name)


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


_names = (f"made_{n}" for n in itertools.count())


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], Generated]:
    return lambda text: Generated(tmp_path, text, next(_names))


class Calls:
    """Hand-written actions that make notes, and answer or fail as they are told."""

    def __init__(self, *answers: str | Exception) -> None:
        self.made: list[tuple[str, tuple[Any, ...]]] = []
        self.answers = list(answers)

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any) -> str | None:
            self.made.append((name, given))
            answer = self.answers.pop(0) if self.answers else None
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.made]


# What it looks like --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["python", "transitions"])
def test_golden(target: str) -> None:
    files = getattr(emit, target)(compiled(HIVED), "hived")
    shown = "\n".join([HIVED, *(f"----- {path}\n{text}" for path, text in files.items())])
    golden = HERE / "golden" / f"emit_{target}.txt"
    if os.environ.get("UPDATE"):
        golden.write_text(shown)
    assert shown == golden.read_text()


def test_the_same_model_gives_the_same_text() -> None:
    first, second = (emit.python(compiled(HIVED), "hived") for _ in range(2))
    assert first == second
    assert list(first) == sorted(first)
    assert all(text.startswith(f"# {emit.MARK}") for text in first.values())


def all_of(target: str) -> dict[str, str]:
    """Every file for every spec there is."""
    model = load([ROOT / "specs", HERE / "twin", ROOT / "benchmarks" / "application.fsm"]).model
    assert model is not None
    return {p: t for module in model.modules for p, t in getattr(emit, target)(model, module.name).items()}


@pytest.mark.parametrize("target", ["python", "transitions"])
def test_types_and_lint_are_clean(target: str, tmp_path: Path) -> None:
    write(tmp_path, all_of(target))
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file=", "."]
    done = subprocess.run(mypy, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length=120", "--target-version=py311"]
    done = subprocess.run(
        [*ruff, f"--select={RULES}", f"--ignore={NOT_RULES}", "."], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


# What it imports -----------------------------------------------------------------------------------------------------


def test_a_package_imports_the_standard_library_and_itself() -> None:
    for path, text in all_of("python").items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                assert {a.name for a in node.names} <= {"threading"}, path
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                assert node.module in {"__future__", "collections.abc", "enum", "itertools", "typing"}, path


def test_a_package_can_be_copied_away_and_imports_nothing_slow(tmp_path: Path) -> None:
    write(tmp_path, all_of("python"))
    slow = {"typing", "dataclasses", "re", "inspect", "json", "datetime", "threading", "fsmdsl"}
    program = f"import sys; import hived; print(sorted(set(sys.modules) & {slow!r}))"
    away = tmp_path / "away"
    shutil.copytree(tmp_path / "hived", away / "hived")
    environment = {**os.environ, "PYTHONPATH": str(away)}
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, cwd=away, capture_output=True, text=True, env=environment)
    assert done.stdout == "[]\n", done.stderr


def test_modules_that_refer_to_one_another_share_the_machinery_of_their_folder() -> None:
    texts = ["module a.b\nmachine M { initial state S  event go  S on go }",
             "module a.c\nimport a.b\nmachine N { m: a.b.M?  initial state S  event go  S on go do m.go }",
             "module d\nmachine M { initial state S  event go  S on go }"]  # fmt: skip
    found = resolve([parse(Source("x.fsm", t)).module for t in texts])
    assert found.model is not None, found.diagnostics
    files = {p for module in ("a.b", "a.c", "d") for p in emit.python(found.model, module)}
    assert {p for p in files if p.endswith("machinery.py")} == {"a/machinery.py", "d/machinery.py"}
    assert "from ..b.m import M" in emit.python(found.model, "a.c")["a/c/n.py"]


# Names and texts that mean harm --------------------------------------------------------------------------------------


def test_hostile_names_and_texts_stay_text(tmp_path: Path) -> None:
    """A spec of keywords, builtins, quotes and backslashes. The types and the lint of its code are looked at above."""
    model = load([HERE / "twin" / "hostile.fsm"]).model
    assert model is not None
    for path, content in {**emit.python(model, "class.def"), **emit.transitions(model, "class.def")}.items():
        ast.parse(content, path)
    write(tmp_path, emit.python(model, "class.def"))
    program = (
        "from class_.def_ import Lambda, Lambda_, System\n"
        "class Actions:\n"
        "    def yield_(self, machine, n): print('yield', n)\n"
        "    def return_(self, machine): return 'raise'\n"
        "x = Lambda(System(), Actions())\n"
        "x.init(); x.class_(); x.open(2, True); print(x, x.none)\n"
        "y = Lambda_(); y.s(); y.s_(); print(y)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    wanted = ["yield 1", "yield 2", "yield 1", "<Lambda 0: free> 2", "<Lambda_: S>"]
    assert run.stdout.splitlines() == wanted, run.stderr
    assert not (tmp_path / "harmed").exists()


# At run time ---------------------------------------------------------------------------------------------------------


def hived(made: Callable[[str], Generated], calls: Any = None) -> tuple[Generated, Any, Any, Any]:
    """A system of two groups and two cells."""
    package = made(HIVED)
    system = package.System()
    groups = [package.AffinityGroup(system, priority=n) for n in (1, 2)]
    cells = [package.Cell(system, calls or Calls()) for _ in range(2)]
    return package, system, groups, cells


def test_an_event_and_what_it_causes(made: Callable[[str], Generated]) -> None:
    calls = Calls()
    package, system, groups, cells = hived(made, calls)
    told: list[Any] = []
    system.listen(told.append)
    groups[0].schedule(frozenset(cells))
    assert groups[0].state is package.AffinityGroupState.ALLOCATED
    assert [c.state.display for c in cells] == ["Used", "Used"]
    assert calls.made == [("allocate", (cells[0], groups[0])), ("allocate", (cells[1], groups[0]))]
    assert [list(map(repr, step)) for step in told] == [
        ["AffinityGroup e0: Pending -> Allocated", "Cell e0: Free -> Used", "Cell e0: Free -> Used"]
    ]
    assert (told[0][0].label, told[0][0].event, told[0][0].source.value) == ("e0", "schedule", "Pending")


def test_an_unhandled_event_says_where_it_is_handled(made: Callable[[str], Generated]) -> None:
    package, _, groups, _ = hived(made)
    groups[0].schedule(frozenset())
    groups[0].pods_deleted()
    with pytest.raises(package.UnhandledEvent) as caught:
        groups[0].schedule(frozenset())
    assert str(caught.value) == "AffinityGroup is Deleted and does not handle schedule (handled in Pending)"


def test_a_guard_that_does_not_hold_is_told_apart(made: Callable[[str], Generated]) -> None:
    package, _, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells[:1]))
    groups[1].schedule(frozenset(cells[:1]))
    with pytest.raises(package.UnhandledEvent, match="Pending, and no guard of its transitions on schedule holds"):
        package.AffinityGroup(groups[0]._system, priority=3).schedule(frozenset([cells[0]]))


def test_a_fault_in_the_middle_leaves_everything_as_it_was(made: Callable[[str], Generated]) -> None:
    """Without the amendment the second `preempted` is refused, when one cell has been reserved already."""
    package = made(HIVED.replace("ignore preempted in Allocated", "Pending on preempted"))
    system, calls = package.System(), Calls()
    groups = [package.AffinityGroup(system, priority=n) for n in (1, 2)]
    cells = [package.Cell(system, calls) for _ in range(2)]
    groups[0].schedule(frozenset(cells))
    before, calls.made = system.snapshot(), []
    told: list[Any] = []
    system.listen(told.append)
    with pytest.raises(package.UnhandledEvent, match="Allocated and does not handle preempted"):
        groups[1].schedule(frozenset(cells))
    assert system.snapshot() == before
    assert (calls.made, told) == ([], [])
    groups[0].pods_deleted()
    assert [c.state.display for c in cells] == ["Free", "Free"]


def test_an_interrupt_in_the_middle_undoes_the_step(made: Callable[[str], Generated]) -> None:
    _, system, groups, cells = hived(made)
    before = system.snapshot()

    class Breaking(frozenset[Any]):
        def __iter__(self) -> Any:
            yield from cells
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        groups[0].schedule(Breaking(cells))
    assert system.snapshot() == before
    groups[0].schedule(frozenset(cells))


def test_an_action_that_fails_undoes_nothing_and_stops_no_other(made: Callable[[str], Generated]) -> None:
    calls = Calls(ValueError("first"), OSError("second"))
    _, _, groups, cells = hived(made, calls)
    with pytest.raises(ExceptionGroup) as caught:
        groups[0].schedule(frozenset(cells))
    assert [type(e) for e in caught.value.exceptions] == [ValueError, OSError]
    assert [c.state.display for c in cells] == ["Used", "Used"]
    assert len(calls.made) == 2


def test_an_action_may_send_events(made: Callable[[str], Generated]) -> None:
    package = made(HIVED)
    system = package.System()
    group = package.AffinityGroup(system, priority=1)
    seen: list[str] = []

    class Hasty:
        def allocate(self, cell: Any, to: Any) -> None:
            seen.append("allocate")
            to.pods_deleted()
            seen.append(to.state.display)

        def release(self, cell: Any) -> None:
            seen.append("release")

    cells = [package.Cell(system, Hasty()) for _ in range(1)]
    group.schedule(frozenset(cells))
    assert seen == ["allocate", "Deleted", "release"]


def test_values_cannot_be_set_from_outside(made: Callable[[str], Generated]) -> None:
    _, _, groups, cells = hived(made)
    for thing, name in ((groups[0], "state"), (groups[0], "priority"), (cells[0], "user")):
        with pytest.raises(AttributeError):
            setattr(thing, name, None)
    with pytest.raises(AttributeError):
        groups[0].new_attribute = 1


def test_parameters_are_checked(made: Callable[[str], Generated]) -> None:
    package = made(HIVED)
    system = package.System()
    with pytest.raises(package["machinery"].OutOfRange, match="priority is 0 to 1000, not 1001"):
        package.AffinityGroup(system, priority=1001)
    assert system.machines == ()


def test_invariants_can_be_checked(made: Callable[[str], Generated]) -> None:
    package, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells))
    system.check_invariants()
    cells[1]._user = None
    with pytest.raises(package["machinery"].InvariantBroken, match=r"<Cell 3: Used>: used: Used => user != none"):
        system.check_invariants()


def test_snapshots_go_through_json(made: Callable[[str], Generated]) -> None:
    package, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells[:1]))
    saved = json.loads(json.dumps(system.snapshot()))
    assert saved["machines"][2] == {"number": 2, "state": "Used", "fields": {"user": 0, "reserver": None}}
    groups[1].schedule(frozenset(cells[:1]))
    system.restore(saved)
    assert system.snapshot() == saved
    other = hived(made)[1]
    other.restore(saved)
    assert other.snapshot() == saved
    with pytest.raises(ValueError, match="shorter"):
        package.System().restore(saved)


def test_a_crash_reaches_the_whole_system(made: Callable[[str], Generated]) -> None:
    _, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells[:1]))
    groups[1].schedule(frozenset(cells[:1]))
    assert (cells[0].state.display, cells[0].reserver) == ("being reserved", groups[1])
    system.crash()
    assert (cells[0].state.display, cells[0].reserver, cells[0].user) == ("Used", None, groups[0])
    assert [g.state.display for g in groups] == ["Allocated", "Pending"]


def test_a_machine_can_be_taken_out(made: Callable[[str], Generated]) -> None:
    package, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells))
    groups[0].pods_deleted()
    system.remove(groups[0])
    assert system.machines == (groups[1], *cells)
    assert package.AffinityGroup(system, priority=7)._number == 4


# Actions with outcomes -----------------------------------------------------------------------------------------------

WORKER = """module work
machine Worker {
    tries: 0..3
    action begin -> ok | err
    async action fetch(n: 0..3) -> yes | no
    action log
    initial state Idle
    transient state Trying
    state Fetching
    state Done
    event go, look
    on entry(Trying) do begin
    Idle -> Trying on go do log
    Trying -> Idle on begin.err do tries = tries + 1
    Trying -> Fetching on begin.ok do fetch(tries)
    Fetching -> Done on fetch.yes
    Fetching -> Idle on fetch.no
    Idle, Done on look do log
    again: Idle -> Trying when wait and tries > 0
}
"""


def test_the_answer_of_an_action_is_the_next_step_of_the_round(made: Callable[[str], Generated]) -> None:
    package, calls = made(WORKER), Calls("", "err")
    worker = package.Worker(package.System(), calls)
    worker.go()
    assert calls.names == ["log", "begin"]
    assert (worker.state.display, worker.tries) == ("Idle", 1)


def test_an_action_that_breaks_off_keeps_everything_waiting(made: Callable[[str], Generated]) -> None:
    package = made(WORKER)
    system, calls = package.System(), Calls("", RuntimeError("lost"))
    worker, other = package.Worker(system, calls), package.Worker(system, Calls())
    with pytest.raises(RuntimeError, match="lost"):
        worker.go()
    busy = package["machinery"].Busy
    for blocked in (worker.look, other.look):
        with pytest.raises(busy, match=r"look comes while <Worker 0: Trying> waits for the answer of begin"):
            blocked()
    worker.begin_err()
    assert (worker.state.display, worker.tries) == ("Idle", 1)
    other.look()


def test_an_impossible_answer_is_refused(made: Callable[[str], Generated]) -> None:
    package = made(WORKER)
    worker = package.Worker(package.System(), Calls("", "perhaps"))
    with pytest.raises(ValueError, match="begin answers ok or err, not 'perhaps'"):
        worker.go()
    worker.begin_err()


def test_an_asynchronous_answer_comes_with_its_ticket(made: Callable[[str], Generated]) -> None:
    package = made(WORKER)
    system, calls = package.System(), Calls("", "ok")
    worker, other = package.Worker(system, calls), package.Worker(system, Calls())
    worker.go()
    (_, (who, ticket, n)) = calls.made[-1]
    assert (who, n, worker.state.display) == (worker, 0, "Fetching")
    other.look()
    with pytest.raises(package["machinery"].Busy, match="gets look while it waits for the answer of fetch"):
        worker.look()
    with pytest.raises(package["machinery"].StaleAnswer):
        worker.fetch_yes(ticket + 1)
    worker.fetch_yes(ticket)
    with pytest.raises(package["machinery"].StaleAnswer, match=r"does not wait for fetch.no"):
        worker.fetch_no(ticket)
    assert worker.state.display == "Done"


def test_what_is_awaited_is_part_of_a_snapshot(made: Callable[[str], Generated]) -> None:
    package, calls = made(WORKER), Calls("", "ok")
    system = package.System()
    worker = package.Worker(system, calls)
    worker.go()
    saved = json.loads(json.dumps(system.snapshot()))
    worker.fetch_yes(calls.made[-1][1][1])
    system.restore(saved)
    worker.fetch_no(calls.made[-1][1][1])
    assert worker.state.display == "Idle"


# Time ----------------------------------------------------------------------------------------------------------------

TIMED = """module timed
machine Job {
    param patience: duration = 2s
    ready: bool
    beats: 0..3
    action hold -> done
    initial state Waiting
    state Running { initial state Slow  state Fast }
    final state Over
    event start, prepare, faster, stop, pause
    Waiting -> Running on start
    Waiting on prepare do ready = true
    Slow -> Fast on faster
    Running -> Waiting on stop
    Waiting -> Over after patience when ready
    Running -> Over after 5min
    tick: Fast after 1min do beats = beats + 1
    Slow on pause do hold
    Slow on hold.done
}
"""


def timed(made: Callable[[str], Generated], calls: Any = None, **given: Any) -> tuple[Any, Any, Any]:
    package = made(TIMED)
    clock = package.VirtualClock()
    return clock, package.Job(package.System(clock), calls or Calls(), **given), package


def test_a_timer_waits_for_its_guard(made: Callable[[str], Generated]) -> None:
    clock, job, _ = timed(made)
    clock.advance(3)
    assert job.state.display == "Waiting"
    job.prepare()
    clock.advance(0.9)
    assert job.state.display == "Waiting"
    clock.advance(0.2)
    assert job.state.display == "Over"


def test_a_timer_runs_from_entry_to_exit(made: Callable[[str], Generated]) -> None:
    clock, job, _ = timed(made, patience=1.0)
    job.start()
    clock.advance(299)
    job.stop()
    job.start()
    clock.advance(150)
    job.faster()
    assert job._system.remaining(job) == {"Running after 5min": 150.0, "Fast after 1min": 60.0}
    clock.advance(149)
    assert (job.state.display, job.beats) == ("Fast", 2)
    clock.advance(1)
    assert job.state.display == "Over"
    assert job._system.remaining(job) == {}


def test_a_timer_whose_step_fails_runs_again(made: Callable[[str], Generated]) -> None:
    clock, job, package = timed(made, beats=3)
    job.start()
    job.faster()
    with pytest.raises(package["machinery"].OutOfRange):
        clock.advance(60)
    assert job.beats == 3
    assert job._system.remaining(job) == {"Running after 5min": 240.0, "Fast after 1min": 60.0}


def test_a_timer_waits_for_an_answer(made: Callable[[str], Generated]) -> None:
    clock, job, _ = timed(made, Calls(RuntimeError("later")))
    job.start()
    with pytest.raises(RuntimeError):
        job.pause()
    clock.advance(300)
    assert job.state.display == "Slow"
    job.hold_done()
    assert job.state.display == "Over"


def test_snapshots_hold_what_is_left_of_timers(made: Callable[[str], Generated]) -> None:
    clock, job, _ = timed(made)
    job.start()
    clock.advance(100)
    saved = json.loads(json.dumps(job._system.snapshot()))
    clock.advance(250)
    assert job.state.display == "Over"
    job._system.restore(saved)
    clock.advance(199)
    assert job.state.display == "Slow"
    clock.advance(1)
    assert job.state.display == "Over"


def test_an_event_loop_is_a_clock(made: Callable[[str], Generated]) -> None:
    package = made(TIMED.replace("2s", "20ms"))

    async def wait() -> str:
        job = package.Job(package.System(asyncio.get_running_loop()), Calls(), ready=True)
        await asyncio.sleep(0.2)
        return str(job.state.display)

    assert asyncio.run(wait()) == "Over"


# Standing alone ------------------------------------------------------------------------------------------------------

ALONE = """module alone
machine Light {
    level: 0..3
    left:  0..3 = 3
    initial state Off
    state On
    event toggle, dim(by: 0..3)
    t1: Off -> On on toggle
    t2: On -> Off on toggle
    On on dim(by) do { level = level + by; left = left - by }
}
"""


def test_a_machine_that_stands_alone_needs_no_system(made: Callable[[str], Generated]) -> None:
    package = made(ALONE)
    light = package.Light()
    told: list[Any] = []
    light.listen(told.append)
    light.toggle()
    light.toggle()
    assert [x.label for (x,) in told] == ["t1", "t2"]
    with pytest.raises(package.UnhandledEvent, match=r"Light is Off and does not handle dim \(handled in On\)"):
        light.dim(1)
    assert "class System" not in package.files["alone/machinery.py"]
    assert sys.getsizeof(light) <= 120


def test_a_fault_changes_nothing_in_a_machine_that_stands_alone(made: Callable[[str], Generated]) -> None:
    package = made(ALONE)
    light = package.Light(left=1)
    light.toggle()
    with pytest.raises(package["machinery"].OutOfRange, match="left is 0 to 3, not -1"):
        light.dim(2)
    saved = json.loads(json.dumps(light.snapshot()))
    assert saved == {"state": "On", "fields": {"level": 0, "left": 1}}
    light.toggle()
    light.restore(saved)
    assert light.state.display == "On"


# Locks ---------------------------------------------------------------------------------------------------------------

LOCKS = """module locks
locks Order {
    Partition > Queue
    Queue > child Queue
    write(Queue) > Application
    operation drop { write(Partition) { read(Queue) } }
}
"""


def test_locks_refuse_an_undeclared_order(made: Callable[[str], Generated]) -> None:
    package = made(LOCKS)
    order = package.Order()
    partition, root, application = order.partition(), order.queue(), order.application()
    leaf, stranger = order.queue(root), order.queue()
    with partition.write(), root.write(), leaf.write(), application.read():
        shown = "write(Partition) write(Queue) write(Queue) read(Application)"
        assert " ".join(map(repr, order.held())) == shown
    refused = [(application, partition), (partition, application), (root, stranger), (leaf, root), (root, root)]
    for held, wanted in refused:
        with held.write(), pytest.raises(package.LockOrderBroken), wanted.write():
            raise AssertionError
    why = r"read\(Application\) may not be taken while read\(Queue\) is held"
    with root.read(), pytest.raises(package.LockOrderBroken, match=why), application.read():
        raise AssertionError
    assert order.held() == []


def test_many_can_read_and_one_can_write(made: Callable[[str], Generated]) -> None:
    lock = made(LOCKS).Order().partition()
    counts, inside = [], 0
    together = threading.Barrier(2, timeout=5)

    def read() -> None:
        with lock.read():
            together.wait()

    def add() -> None:
        nonlocal inside
        for _ in range(200):
            with lock.write():
                inside += 1
                counts.append(inside)
                inside -= 1

    for work in (read, add):
        threads = [threading.Thread(target=work) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(5)
    assert set(counts) == {1}


# Machines that are made in circles -----------------------------------------------------------------------------------


def test_parameters_in_a_circle_are_given_later(made: Callable[[str], Generated]) -> None:
    package = made("""module ring
machine Node {
    param next: Node
    param weight: 0..3 = 1
    let far = next.next.weight
    initial state Calm
    state Called
    event call, reset
    Calm -> Called on call do if next.next in Called { next.call }
    * -> Calm on reset
}
""")
    system = package.System()
    nodes = [package.Node(system, weight=n) for n in range(3)]
    for a, b in zip(nodes, [*nodes[1:], nodes[0]], strict=True):
        a.connect(next=b)
    assert [n.far for n in nodes] == [2, 0, 1]
    for n in (2, 0):
        nodes[n].call()
    assert [n.state.display for n in nodes] == ["Called", "Called", "Called"]


# The transitions library, mypyc --------------------------------------------------------------------------------------


def test_the_table_runs_in_the_transitions_library(tmp_path: Path) -> None:
    made = Generated(tmp_path, HIVED, next(_names), emit.transitions)
    cell_file, group_file = made["cell"], made["affinity_group"]
    told: list[str] = []

    class Cell(cell_file.Cell):  # type: ignore[name-defined, misc]
        def action_allocate(self, to: Any) -> None:
            told.append(f"allocate {to.priority}")

    cell, group = Cell(), group_file.AffinityGroup(priority=3)
    cell_file.build(cell)
    group_file.build(group)
    assert group.schedule(frozenset([cell]))
    assert (group.state, cell.state, cell.user, told) == ("Allocated", "Used", group, ["allocate 3"])


@pytest.mark.skipif(shutil.which("gcc") is None, reason="mypyc needs a C compiler")
def test_mypyc_compiles_the_classes_unchanged(tmp_path: Path) -> None:
    write(tmp_path, emit.python(compiled(ALONE), "alone"))
    environment = {**os.environ, "MYPYC_OPT_LEVEL": "0"}
    command = [str(Path(sys.executable).with_name("mypyc")), "--strict", "alone"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    program = (
        "import alone.light, alone\n"
        "assert alone.light.__file__.endswith('.so')\n"
        "x = alone.Light(); x.toggle(); x.dim(2); print(x, x.level)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert run.stdout == "<Light: On> 2\n", run.stderr


def test_every_machine_of_the_model_has_a_class(tmp_path: Path) -> None:
    model = load([ROOT / "specs"]).model
    assert model is not None
    write(tmp_path / "all_specs", all_of("python"))
    sys.path.insert(0, str(tmp_path))
    for module in model.modules:
        package = importlib.import_module(".".join(("all_specs", *emit.folder(module.name))))
        assert {x.name for x in module.machines} <= set(package.__all__)
    assert isinstance(model, m.Model)
