"""Counterexamples as tests for pytest, run on the generated classes as a person would run them."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from random_scenarios import wandering
from random_specs import spec
from stepping import compiled, only_system
from tiers import today

from fsmdsl import classes as emit
from fsmdsl import model as m
from fsmdsl.classes.replays.replay import Moment, Run, impossible, replay
from fsmdsl.cli.replays import CONFTEST, PACKAGE, write_replays
from fsmdsl.model.workspace import load
from fsmdsl.runs.replay import broken, simplest
from fsmdsl.runs.trace import run
from fsmdsl.search import Limits, Trace, explore
from fsmdsl.step import ChannelStep, Step, Universe, enabled, fire
from fsmdsl.step.describe import describe

ROOT = Path(__file__).parent.parent


def model_of(*paths: Path, as_documented: bool = False) -> m.Model:
    model = load(list(paths), as_documented=as_documented).model
    assert model is not None
    return model


def replays(model: m.Model, folder: Path) -> list[Path]:
    done = [simplest(explore(model, x), model) for x in model.systems.values()]
    return write_replays(done, model, folder)


def pytest_on(folder: Path) -> tuple[int, str]:
    """Exit code and last line of pytest in a process of its own, somewhere else."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(folder)],
        cwd=folder.parent, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout


def moments(trace: Trace) -> tuple[Moment, ...]:
    return tuple(Moment(e.step, e.cascade, e.world, e.fault) for e in trace.entries)


# In a process of their own -------------------------------------------------------------------------------------------


@pytest.mark.full(reason="whole specs; random runs are replayed in any case")
@pytest.mark.parametrize("name", ["hived", "confine", "grove", "yunikorn"])
def test_the_violations_of_a_document_are_replayed(name: str, tmp_path: Path) -> None:
    model = model_of(*sorted((ROOT / "specs" / name).glob("*.fsm")), as_documented=True)
    count = len(replays(model, tmp_path / "replays"))
    assert count > 5
    code, told = pytest_on(tmp_path / "replays")
    assert (code, f"{count} passed" in told) == (0, True), told[-3000:]


@pytest.mark.full(reason="whole specs")
def test_a_replay_fails_on_classes_without_the_fault(tmp_path: Path) -> None:
    spec_ = ROOT / "specs" / "hived" / "hived.fsm"
    replays(model_of(spec_, as_documented=True), tmp_path / "replays")
    repaired = model_of(spec_)
    for path, text in emit.python(repaired, "hived").items():
        (tmp_path / "replays" / PACKAGE / path).write_text(text)
    code, told = pytest_on(tmp_path / "replays")
    assert code == 1
    assert "DID NOT RAISE" in told


def test_the_text_is_what_a_person_would_write(tmp_path: Path) -> None:
    model = model_of(ROOT / "specs" / "hived" / "hived.fsm", as_documented=True)
    system = model.systems["hived.PreemptionSmall"]
    x = simplest(explore(model, system), model)
    (path,) = write_replays([x], model, tmp_path)
    assert path.name == "test_hived_PreemptionSmall_unhandled.py"
    body = path.read_text().split("def test_")[1]
    assert body.splitlines()[2:] == [
        "    system = System()",
        "    actions = Actions()",
        "    g0 = AffinityGroup(system, priority=0, size=2)",
        "    g1 = AffinityGroup(system, priority=1, size=2)",
        "    c0 = Cell(system, actions)",
        "    c1 = Cell(system, actions)",
        "",
        "    # 1. g0.schedule({c0, c1})",
        "    g0.schedule(frozenset({c0, c1}))",
        "    assert g0.state is AffinityGroupState.ALLOCATED",
        "    assert g0.cells == frozenset({c0, c1})",
        "    assert c0.state is CellState.USED",
        "    assert c0.user == g0",
        "    assert c1.state is CellState.USED",
        "    assert c1.user == g0",
        "",
        "    # 2. g1.schedule({c0, c1})",
        "    with pytest.raises(UnhandledEvent):",
        "        g1.schedule(frozenset({c0, c1}))",
        "",
        "    # The step that fails has not happened.",
        "    assert g0.state is AffinityGroupState.ALLOCATED",
        "    assert g0.cells == frozenset({c0, c1})",
        "    assert g0.demoted is False",
        "    assert g1.state is AffinityGroupState.PENDING",
        "    assert g1.cells == frozenset()",
        "    assert g1.demoted is False",
        "    assert c0.state is CellState.USED",
        "    assert c0.user == g0",
        "    assert c0.reserver is None",
        "    assert c1.state is CellState.USED",
        "    assert c1.user == g0",
        "    assert c1.reserver is None",
    ]


OFFICE = """
channel letters: CHANNEL to Office
machine Office {
    got: list<0..3>[3]
    initial state Open
    event write(n: 0..3) from environment
    event letter(n: 0..3) from letters
    Open on write(n) do send letters.letter(n)
    Open on letter(n) do add n to got
"""

POST = f"""
module post
{OFFICE.replace("CHANNEL", "lossy duplicating bag[3]")}
    invariant no_two: not (size(got) == 2 and first(got) == 2 and first(rest(got)) == 2)
}}
system S {{
    office: Office
    environment {{ office.write(3) when size(letters) == 0  office.write(2) when size(letters) == 1 }}
}}
"""

JOBS = """
module jobs
machine Job {
    tries: 0..3
    initial state Idle
    state Working
    state Asking
    event go from environment
    action work -> ok | err
    async action ask(n: 0..3) -> yes | no
    Idle -> Working on go do { work }
    Working -> Asking on work.ok do ask(tries)
    Working -> Idle on work.err do tries = tries + 1
    Asking -> Idle on ask.no do tries = tries + 1
    Asking -> Idle on ask.yes
    late: Asking -> Idle after 5s when tries == 2
    ignore ask.yes, ask.no in Idle, Working
    invariant patient: tries < 3
}
system S { jobs: Job[2] }
"""

BOOKS = """
module books
machine Book {
    durable a: 0..2
    durable b: 0..2
    open: bool
    initial state On
    event flip, use from environment
    event mend from Book
    On on flip when a < 2 do { a = a + 1; b = b + 1 }
    On on use do open = true
    On on mend do b = a
    invariant shut: not (open and a == 1 and b == 1)
}
system S {
    one: Book
    two: Book
    environment { one.flip when not two.open  two.use  one.use when one.a == 1  crash between writes when not two.open }
    recover { one.mend }
    invariant equal: one.a == one.b or one.a == 0
}
"""


def test_messages_are_lost_repeated_and_delivered_out_of_order(tmp_path: Path) -> None:
    (tmp_path / "post.fsm").write_text(POST)
    model = model_of(tmp_path / "post.fsm")
    universe = Universe(model, model.systems["post.S"])
    trace = taken(universe, "office.write(3)", "office.write(2)", "duplicate letters.letter(2)",
                  "lose letters.letter(3)", "deliver letters.letter(2)", "deliver letters.letter(2)")  # fmt: skip
    found = Run(universe, "post", ("two and two",), moments(trace), None, 0)
    text = replay(found, PACKAGE)
    assert "letters.duplicate(1)" in text, "the generated bag keeps messages as they came, `step` sorts them"
    assert "    letters.lose()" in text
    write_one(model, text, tmp_path / "replays")
    assert pytest_on(tmp_path / "replays")[0] == 0
    assert len(replays(model, tmp_path / "all")) >= 1
    assert pytest_on(tmp_path / "all")[0] == 0


LINE = f"""
module line
{OFFICE.replace("CHANNEL", "lossy fifo[3]")}}}
system S {{ office: Office }}
"""


def test_of_equal_messages_in_a_line_the_one_that_is_meant_is_lost(tmp_path: Path) -> None:
    model = compiled(LINE)
    universe = Universe(model, only_system(model))
    begun = taken(universe, "office.write(1)", "office.write(2)", "office.write(1)")
    steps: list[Step] = [*(x.step for x in begun.entries if x.step is not None)]
    steps += [ChannelStep("lose", 0, 2), ChannelStep("deliver", 0, 0)]
    found = Run(universe, "line", ("the last is lost",), moments(run(universe, steps, None)), None, 0)
    text = replay(found, PACKAGE)
    assert "    letters.lose(2)" in text
    assert text.count("    assert [(x.event, x.arguments) for x in letters.messages] == [") == 6, (
        "after each step, and at the end"
    )
    head = " ".join(text.split('"""')[-2].split())
    assert head.startswith("1. office.write(1), 2. office.write(2), 3. office.write(1), 4. lose ")
    assert head.endswith("5. deliver letters.letter(1).")
    write_one(model, text, tmp_path / "replays")
    assert pytest_on(tmp_path / "replays")[0] == 0


def test_answers_are_steps_of_their_own_and_async_ones_have_tickets(tmp_path: Path) -> None:
    (tmp_path / "jobs.fsm").write_text(JOBS)
    model = model_of(tmp_path / "jobs.fsm")
    tests = replays(model, tmp_path / "replays")
    texts = "".join(path.read_text() for path in tests)
    assert "with pytest.raises(NoAnswer):" in texts
    universe = Universe(model, model.systems["jobs.S"])
    trace = taken(universe, "j0.go", "j0.work.ok", "j1.go", "j1.work.ok", "j1.ask.no", "j0.ask.yes", "j1.go",
                  "j1.work.ok", "j1.ask.no")  # fmt: skip
    text = replay(Run(universe, "tickets", (), moments(trace)), PACKAGE)
    assert 'j1.ask_no(job_actions.ticket(j1, "ask"))' in text
    (tmp_path / "replays" / "test_tickets.py").write_text(text)
    code, told = pytest_on(tmp_path / "replays")
    assert (code, "skipped" in told) == (0, False), told[-3000:]


HELP = """
machine Job {
    param peers: set<Job>
    initial state Idle
    state Working
    event go from environment
    event help from Job
    action work -> ok | err
    go:   Idle -> Working on go do { for p in peers { p.help }  work }
    help: Idle -> Working on help do work
    Working -> Idle on work.ok
    Working -> Idle on crash
    Working -> Idle on work.err
}
system S {
    one: Job { peers = {two, three} }
    two: Job { peers = {} }
    three: Job { peers = {} }
    environment {
        one.go
        some j in {two, three}: crash of j
    }
}
"""


def test_a_crash_takes_what_its_instances_have_called_for_and_no_more(tmp_path: Path) -> None:
    """While `two` waits for its answer, the calls of `three` and `one` wait as well: only that of `three` is gone."""
    model = compiled(HELP)
    universe = Universe(model, only_system(model))
    trace = taken(universe, "one.go", "crash of three", "two.work.ok", "one.work.ok", "one.go")
    text = replay(Run(universe, "help", (), moments(trace)), PACKAGE)
    write_one(model, text, tmp_path / "replays")
    assert pytest_on(tmp_path / "replays")[0] == 0


def test_a_crash_inside_a_step_is_put_and_not_played(tmp_path: Path) -> None:
    (tmp_path / "books.fsm").write_text(BOOKS)
    model = model_of(tmp_path / "books.fsm")
    universe = Universe(model, model.systems["books.S"])
    trace = taken(universe, "crash after 1 write of one.flip", "recover", "one.use")
    text = replay(Run(universe, "cut", ("open",), moments(trace), None, 0), PACKAGE)
    assert "# A generated step is saved whole and cannot be cut." in text
    assert "    one = Book(system, a=1)\n" in text
    assert "    system.down = True\n" in text
    write_one(model, text, tmp_path / "replays")
    ends = replay(Run(universe, "ends", (), moments(trace)[:1], None, "system"), PACKAGE)
    assert "@pytest.mark.skip" in ends
    (tmp_path / "replays" / "test_ends.py").write_text(ends)
    code, told = pytest_on(tmp_path / "replays")
    assert code == 0, told[-3000:]
    assert "1 passed, 1 skipped" in told
    assert "a generated step is saved whole, and cannot be cut" in told


def test_a_crash_between_steps_is_played() -> None:
    model = compiled(
        "machine Lamp { initial state Off  volatile state On  event toggle from environment  Off -> On on toggle  "
        "On -> Off on crash } system S { lamp: Lamp  environment { lamp.toggle  crash } }"
    )
    universe = Universe(model, only_system(model))
    trace = taken(universe, "lamp.toggle", "crash")
    assert impossible(Run(universe, "ends", (), moments(trace), None, "system")) is None


def test_a_loop_ends_where_it_begins(tmp_path: Path) -> None:
    model = compiled(
        "machine Lamp { initial state Off  state On  event toggle from environment  Off -> On on toggle  "
        "On -> Off on toggle } system S { lamp: Lamp }"
    )
    universe = Universe(model, only_system(model))
    trace = taken(universe, "lamp.toggle", "lamp.toggle", "lamp.toggle", loop=1)
    text = replay(Run(universe, "blink", (), moments(trace), trace.loop), PACKAGE)
    assert "    # Repeated forever from here:\n    # 2. lamp.toggle\n" in text
    assert "# And so on from step 2, for everything is as it was before that." in text
    write_one(model, text, tmp_path / "replays")
    assert pytest_on(tmp_path / "replays")[0] == 0


def test_impossible_initial_values_are_said_to_be_no_run(tmp_path: Path) -> None:
    model = compiled("machine M { param size: 1..3  final initial state A } system S { m: M { size = 9 } }")
    x = explore(model, only_system(model))
    (path,) = write_replays([x], model, tmp_path / "replays")
    assert 'reason="an initial value is impossible' in path.read_text()
    code, told = pytest_on(tmp_path / "replays")
    assert (code, "1 skipped" in told) == (0, True)


def test_the_command_writes_tests_and_takes_away_those_that_show_nothing_any_more(tmp_path: Path) -> None:
    spec_ = ROOT / "specs" / "hived" / "hived.fsm"
    command = [sys.executable, "-m", "fsmdsl", "verify", str(spec_), "--replay", "out", "--system", "PreemptionSmall"]
    done = subprocess.run([*command, "--as-documented"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "1 test in out; `pytest out` replays them" in done.stdout
    assert pytest_on(tmp_path / "out")[0] == 0
    (tmp_path / "out" / "test_mine.py").write_text("def test_mine(): pass\n")
    done = subprocess.run([*command, "--format", "json"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, '"replays": []' in done.stdout) == (0, True)
    assert [p.name for p in (tmp_path / "out").glob("test_*.py")] == ["test_mine.py"]


def taken(universe: Universe, *steps: str, loop: int | None = None) -> Trace:
    world, found = universe.start, list[Step]()
    for wanted in steps:
        step = next(s for s in enabled(universe, world) if describe(universe, s, world) == wanted)
        found.append(step)
        world = fire(universe, world, step).world
    return run(universe, found, loop)


def write_one(model: m.Model, text: str, folder: Path) -> None:
    """A test beside the classes of a model."""
    packages(model, folder, PACKAGE)
    (folder / "test_one.py").write_text(text)
    (folder / "conftest.py").write_text(CONFTEST)


# Many, in this process -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("replayed")
    sys.path.insert(0, str(found))
    return found


def play(model: m.Model, run_: Run, package: str) -> None:
    """Run the test that is written."""
    text = replay(run_, package)
    code = compile(text, f"{run_.name}.py", "exec")
    if impossible(run_) is None:
        names: dict[str, object] = {}
        exec(code, names)
        test = names[f"test_{run_.name}"]
        assert callable(test)
        test()


def packages(model: m.Model, folder: Path, name: str) -> None:
    for module in model.modules:
        for path, text in emit.python(model, module.name).items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(text)
    importlib.invalidate_caches()


@pytest.mark.parametrize("seed", today(range(70)))
def test_runs_of_random_systems_are_replayed(seed: int, folder: Path) -> None:
    model = compiled(spec(seed))
    system = only_system(model)
    universe = Universe(model, system)
    if universe.fault is not None:
        return
    packages(model, folder, f"random_{seed}_")
    for n in range(4):
        trace = wandering(universe, n, 12)
        play(model, Run(universe, f"walk_{n}", (), moments(trace)), f"random_{seed}_")
    for n, v in enumerate(explore(model, system, Limits(150, 1.0)).verdicts):
        if v.trace is not None:
            found = broken(universe, v, v.trace.end) if v.kind == "invariant" else None
            holder = None if found is None else "system" if found[0].instance is None else found[0].instance
            trace = v.trace
            play(
                model,
                Run(universe, f"verdict_{n}", v.explanation, moments(trace), None, holder),
                f"random_{seed}_",
            )


def test_walks_through_everything_the_language_has_are_replayed(folder: Path) -> None:
    model = model_of(ROOT / "tests" / "twin" / "features.fsm")
    packages(model, folder, "features_")
    for system in model.systems.values():
        universe = Universe(model, system)
        for n in range(60):
            trace = wandering(universe, n, 25)
            play(model, Run(universe, f"walk_{n}", (), moments(trace)), "features_")
