"""Limits of time and memory, and Ctrl-C: at every stage they end the work with a partial answer. And work that grows
no faster than the text."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from counting import grows_with
from in_process import fsm
from stepping import compiled, only_system

from fsmdsl import __main__ as program
from fsmdsl import search as explore_module
from fsmdsl.check import check
from fsmdsl.cli import declared
from fsmdsl.cli import run as cli_module
from fsmdsl.cli.parser import cli
from fsmdsl.model.resolve import resolve
from fsmdsl.program import native
from fsmdsl.program.thread_pool import Crew
from fsmdsl.runs import replay
from fsmdsl.runs import simplest_run as best_module
from fsmdsl.runs.liveness import engine as engine_module
from fsmdsl.runs.replay import simplest_in_time
from fsmdsl.search import Exploration, Limits, Means, Verdict, explore
from fsmdsl.search import counters as boards
from fsmdsl.search.compiled import Compiled
from fsmdsl.search.memory import Memory
from fsmdsl.search.packed_search import PackedSearch
from fsmdsl.search.plain import Plain
from fsmdsl.syntax.parse import parse
from fsmdsl.syntax.parse.table import load as load_table
from fsmdsl.text import budget as budget_module
from fsmdsl.text.budget import Budget, LimitError
from fsmdsl.text.source import Source

ROOT = Path(__file__).parent.parent

declared("verify")  # imported now, so that it does not bind what a test has replaced

BROKEN = """module x
machine M {
    n: 0..3
    initial state A
    event e from environment
    A on e when n < 3 do n = n + 1
    invariant low: n < 2
}
system S { m: M  invariant small: m.n < 3  reachable two: m.n == 2  property p: eventually m.n == 3 }
"""


def for_ever(*_: object, **__: object) -> Any:
    """Work that does not end by itself, though not for so long that a broken limit would hang the tests."""
    for _ in range(1000):
        sleep(0.01)
    raise AssertionError("no limit came")


def pressed(*_: object, **__: object) -> Any:
    os.kill(os.getpid(), signal.SIGINT)
    for_ever()


def verdicts(found: tuple[Verdict, ...]) -> dict[str, str]:
    return {v.name: v.outcome for v in found}


# The budget ----------------------------------------------------------------------------------------------------------


def test_a_limit_of_time_ends_what_suppresses_errors() -> None:
    with pytest.raises(LimitError, match=r"^stopped after 0.1 seconds$"), Budget(0.1), suppress(Exception):
        for_ever()


def test_a_limit_of_memory_is_that_of_the_process() -> None:
    with pytest.raises(LimitError, match=r"^stopped at 0.0 GiB of memory$"), Budget(memory=1 << 20):
        for_ever()


def test_signals_are_given_back() -> None:
    before = [signal.getsignal(x) for x in (signal.SIGINT, signal.SIGALRM)]
    with suppress(LimitError), Budget(0.05):
        for_ever()
    assert [signal.getsignal(x) for x in (signal.SIGINT, signal.SIGALRM)] == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_patient_work_is_asked_to_stop_before_it_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(0.01)
    with budget, budget.patience():
        while not budget.over():
            sleep(0.005)
    assert (budget.reached, budget.raised) == ("stopped after 0.01 seconds", False)
    monkeypatch.setattr(budget_module, "GRACE", 0.1)
    with pytest.raises(LimitError), Budget(0.05) as budget, budget.patience():
        for_ever()


def test_an_error_that_was_lost_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_module, "RAISE_INTERVAL", 0.1)

    def loses_one() -> None:
        with suppress(LimitError):
            for_ever()
        for_ever()

    with pytest.raises(LimitError), Budget(0.05):
        loses_one()


def test_no_stage_begins_after_one_that_was_ended() -> None:
    with Budget(0.05) as budget:
        budget.proceed()
        with suppress(LimitError):
            for_ever()
        with pytest.raises(LimitError, match=r"^stopped after 0.05 seconds$"):
            budget.proceed()
        budget.renewed().proceed()


def test_the_second_interruption_is_one_as_ever() -> None:
    def twice() -> None:
        with suppress(LimitError):
            pressed()
        pressed()

    with pytest.raises(KeyboardInterrupt), Budget():
        twice()


def test_in_other_threads_limits_hold_where_they_are_looked_at() -> None:
    found: list[bool] = []

    def work() -> None:
        with Budget(1e-9) as budget:
            found.append(budget.over())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True]


def test_a_budget_shared_by_processes_raises_nothing() -> None:
    with Budget(1e-9, shared=True) as budget:
        budget.check()
        sleep(0.12)
    assert budget.over()


# Stages --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["search.Universe", "runs.liveness.grounding.questions", "search.compose.run"])
@pytest.mark.parametrize(("work", "why"), [(for_ever, "stopped after 0.1 seconds"), (pressed, "interrupted")])
def test_a_limit_before_the_first_state(
    monkeypatch: pytest.MonkeyPatch, stage: str, work: Callable[..., Any], why: str
) -> None:
    model = compiled(BROKEN)
    wanted = [(v.kind, v.name, v.machine) for v in explore(model, only_system(model), Limits(states=1)).verdicts]
    monkeypatch.setattr(f"fsmdsl.{stage}", work)
    x = explore(model, only_system(model), Limits(seconds=0.1))
    assert (x.states, x.stopped) == (0, why)
    assert [(v.kind, v.name, v.machine) for v in x.verdicts] == wanted
    assert {(v.outcome, v.basis) for v in x.verdicts} == {("unknown", f"bounded: {why}")}


def test_no_memory_left_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Any:
        raise MemoryError

    model = compiled(BROKEN)
    monkeypatch.setattr(explore_module, "Universe", fails)
    x = explore(model, only_system(model))
    assert (x.stopped, {v.outcome for v in x.verdicts}) == ("stopped: no memory is left", {"unknown"})


def test_what_is_violated_stays_so_where_there_is_no_time_to_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = compiled(BROKEN)
    monkeypatch.setattr(PackedSearch, "trace", pressed)
    x = explore(model, only_system(model))
    found = verdicts(x.verdicts)
    assert (found["M: low"], found["small"], found["two"], found["p"]) == ("violated", "violated", "holds", "unknown")
    assert all(v.trace is None for v in x.verdicts)
    assert {v.basis for v in x.violations} == {"interrupted, before the run to it could be shown"}


def test_a_step_that_fails_is_a_violation_before_it_is_known_which(monkeypatch: pytest.MonkeyPatch) -> None:
    model = compiled(BROKEN.replace("when n < 3 ", ""))
    monkeypatch.setattr("fsmdsl.search.cross_check.faults_from", pressed)
    x = explore(model, only_system(model))
    assert [v.outcome for v in x.verdicts if v.kind == "fault"] == ["violated"]


def test_a_property_that_takes_too_long_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    model = compiled(BROKEN)
    monkeypatch.setattr(PackedSearch, "graph", pressed)
    x = explore(model, only_system(model))
    found = verdicts(x.verdicts)
    assert (found["p"], found["small"], found["no deadlock"]) == ("unknown", "violated", "violated")
    assert all(v.trace is not None for v in x.violations)


def test_the_shortest_run_is_shown_where_the_simplest_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    model = compiled(BROKEN)
    x = explore(model, only_system(model))
    monkeypatch.setattr(best_module._Search, "run", for_ever)
    with Budget(0.1) as budget:
        shown = simplest_in_time(x, model, budget)
    low = next(v for v in shown.verdicts if v.name == "M: low")
    assert low.basis == "the shortest run: 2 steps"
    assert low.limit == "stopped after 0.1 seconds before a simpler one was looked for"


def test_a_search_that_is_ended_in_a_state_asks_no_more_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them may take as long as that one."""
    calls: list[object] = []
    model = compiled(BROKEN)
    monkeypatch.setattr(Plain, "_successors", for_ever)
    monkeypatch.setattr(Plain, "note_rest", lambda engine: calls.append(engine))
    x = explore(model, only_system(model), Limits(seconds=0.1), means=Means(compiled=False))
    assert (x.stopped, calls) == ("stopped after 0.1 seconds", [])
    monkeypatch.undo()
    monkeypatch.setattr(Plain, "note_rest", lambda engine: calls.append(engine))
    explore(model, only_system(model), Limits(states=2), means=Means(compiled=False))
    assert len(calls) == 1


def test_a_search_that_is_ended_in_a_state_shows_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second state takes too long; a step from the first fails."""
    model = compiled(BROKEN.replace("A on e when n < 3 do n = n + 1", "event f from environment\n"
                                    "    A on e do n = n - 1\n    A on f when n < 3 do n = n + 1"))  # fmt: skip
    successors, traced = Plain._successors, list[object]()

    def first_only(engine: Plain) -> int:
        return successors(engine) if engine.frontier.first == 0 else for_ever()

    monkeypatch.setattr(Plain, "_successors", first_only)
    monkeypatch.setattr(PackedSearch, "trace", lambda *_: traced.append(None))
    x = explore(model, only_system(model), Limits(seconds=0.1), means=Means(compiled=False))
    assert (x.stopped, traced) == ("stopped after 0.1 seconds", [])
    (fault,) = (v for v in x.verdicts if v.kind == "fault")
    assert (fault.outcome, fault.basis) == (
        "violated",
        "stopped after 0.1 seconds, before the failing step could be identified",
    )


def test_a_large_program_is_compiled_by_another_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """During a call into the compiler no signal is handled; here the compiler does not end by itself."""
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    monkeypatch.setattr(native, "MAX_IN_PROCESS", 0)
    model, means = compiled(BROKEN), Means(compiled="hastily", once=True)
    whole = explore(model, only_system(model), means=means)
    assert (whole.states, whole.note, verdicts(whole.verdicts)["p"]) == (4, None, "holds")
    monkeypatch.setattr(native, "COMPILER", (sys.executable, "-c", "raise SystemExit('broken')"))
    assert explore(model, only_system(model), means=means).note == "compiled code cannot be used: broken"
    monkeypatch.setattr(native, "COMPILER", (sys.executable, "-c", "import time; time.sleep(60)"))
    x = explore(model, only_system(model), Limits(seconds=0.5), means=means)
    assert (x.stopped, x.seconds < 30) == ("stopped after 0.5 seconds", True)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_block_of_compiled_code_that_does_not_return_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    pytest.importorskip("llvmlite")
    model, forgotten = compiled(BROKEN), threading.Event()

    def stuck(self: Crew, _: object) -> list[int]:
        return each(self, lambda _: int(forgotten.wait(20)))

    each = Crew.each
    monkeypatch.setattr(Crew, "each", stuck)
    x = explore(model, only_system(model), Limits(seconds=1), means=Means(workers=workers, compiled="hastily"))
    forgotten.set()
    assert x.stopped == "stopped after 1 seconds"
    assert {v.outcome for v in x.verdicts} == {"unknown"}


def test_what_a_thread_works_on_stays_when_nobody_waits_for_it_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it writes where there is no memory any more."""
    pytest.importorskip("llvmlite")
    model, left, made = compiled(BROKEN), [], []

    def abandoned(self: Crew, work: Callable[[int], int]) -> list[int]:
        left.append(work)
        raise LimitError("no time")

    def board(lowered: object) -> Memory:
        memory = Memory(1000)
        made.append(weakref.ref(memory))
        return memory

    def graph(engine: Compiled) -> Any:
        engine._pace = 1.0
        monkeypatch.setattr(Crew, "each", abandoned)
        monkeypatch.setattr(boards, "CounterMemory", board)
        return whole(engine)

    whole = Compiled.graph
    monkeypatch.setattr(Compiled, "graph", graph)
    x = explore(model, only_system(model), means=Means(workers=1, compiled="hastily"))
    assert verdicts(x.verdicts)["p"] == "unknown"
    gc.collect()
    assert [memory() is not None for memory in made] == [True]
    assert len(left) == 1


def test_a_kernel_of_a_large_graph_that_does_not_return_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    model, forgotten = compiled(BROKEN), threading.Event()
    for name in ("LARGE", "HUGE"):
        monkeypatch.setattr(engine_module, name, 0)
    using = engine_module.engine(0)
    assert isinstance(using, engine_module.Compiled)
    assert verdicts(explore(model, only_system(model)).verdicts)["p"] == "holds"
    search = engine_module._apart(lambda *_: int(forgotten.wait(20)))
    monkeypatch.setattr(using, "kernels", SimpleNamespace(**{**vars(using.kernels), "search": search}))
    x = explore(model, only_system(model), Limits(seconds=1))
    forgotten.set()
    found = verdicts(x.verdicts)
    assert (x.states, found["p"], found["M: low"], found["no deadlock"]) == (4, "unknown", "violated", "violated")
    assert x.seconds < 10


def test_an_interruption_ends_the_systems_that_are_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = tmp_path / "x.fsm"
    spec.write_text(BROKEN + "\nsystem T { m: M }\n")
    monkeypatch.setattr("fsmdsl.search.compose.run", pressed)
    done = CliRunner().invoke(cli, ["verify", str(spec)])
    assert (done.exit_code, done.stdout.count("(interrupted)")) == (130, 2)


# Commands ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["check"], ["test"], ["verify"], ["report"], ["diff", "HEAD"]], ids=lambda x: x[0])
def test_a_limit_while_specs_are_read(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from fsmdsl.model import workspace

    monkeypatch.setattr(workspace, "parse", for_ever)
    path = str(ROOT / "specs" / "hived")
    more = [path, str(ROOT / "specs" / "grove")] if command[0] == "diff" else [path]
    done = CliRunner().invoke(cli, [command[0], *more, "--max-seconds", "0.2"])
    assert done.exit_code == 3, done.output
    assert "stopped after 0.2 seconds, before the specs were read and checked" in done.stdout


@pytest.mark.parametrize("command", ["check", "test", "verify", "report", "diff"])
def test_the_time_of_a_command_begins_with_its_process(command: str) -> None:
    path = str(ROOT / "specs" / "hived")
    more = [str(ROOT / "specs" / "grove")] if command == "diff" else []
    arguments = [command, path, *more, "--max-seconds", "900"]
    done = CliRunner().invoke(cli, arguments, obj=monotonic() - 1000)
    assert (done.exit_code, "stopped after 900 seconds, before the specs were read" in done.stdout) == (3, True)


def test_a_process_tells_its_command_when_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    monkeypatch.setattr(cli_module, "main", lambda *, begun: given.append(begun))
    before, handler = monotonic(), signal.getsignal(signal.SIGINT)
    try:
        program.main()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert before <= given[0] <= monotonic()


def test_a_process_that_reads_specs_looks_for_no_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsmdsl.model import workspace

    enabled: list[bool] = []
    monkeypatch.setattr(workspace, "parse", lambda *given: (enabled.append(gc.isenabled()), parse(*given))[1])
    for begun in (None, monotonic()):
        assert CliRunner().invoke(cli, ["check", str(ROOT / "specs" / "grove")], obj=begun).exit_code == 0
    gc.unfreeze()
    assert (set(enabled), enabled[0], enabled[-1], gc.isenabled()) == ({True, False}, True, False, True)


def test_the_end_of_a_process_looks_for_no_garbage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli_module.main(["check", str(ROOT / "specs"), "--max-seconds", "900"], begun=monotonic() - 1000)
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    assert (ended.value.code, frozen > 0) == (3, True)
    assert capsys.readouterr().out.startswith("bounded   stopped after 900 seconds")


def test_a_limit_while_specs_are_read_is_told_in_every_format(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsmdsl.model import workspace

    monkeypatch.setattr(workspace, "parse", for_ever)
    for form in ("json", "sarif", "github", "junit"):
        arguments = ["check", str(ROOT / "specs"), "--max-seconds", "0.1", "--format", form]
        assert "FSM512" in CliRunner().invoke(cli, arguments).stdout


def lets(count: int) -> str:
    lines = "\n".join(f"    let v{n} = v{n + 1} => v{n + 1}" for n in range(count))
    return f"""module lets
machine M {{
    n: 0..1
    initial state A
    event go from environment
{lines}
    let v{count} = n == 0
    A on go do n = if v0 then 1 else 0
}}
system S {{ m: M }}
"""


ONE = "machine M { n: 0..1  initial state A  event go from environment  A on go do n = 1 - n }"
CHAIN = "\n".join(f"    state S{n}\n    S{n} -> S{(n + 1) % 10_000} on go" for n in range(1, 10_000))
ROWS = {
    "derived values": lets(22),
    "3,000 instances": f"{ONE} system S {{ ms: M[3000] }}",
    "three binders": f"{ONE} system S {{ ms: M[300]  invariant all a in ms, b in ms, c in ms: a.n + b.n + c.n <= 3 }}",
    "10,000 states": f"machine M {{\n  event go from environment\n  initial state S0\n  S0 -> S1 on go\n{CHAIN}\n}}\n"
    "system S { m: M }",
    "a long channel": "channel c: fifo[10000] to R\nmachine R { initial state A  event x from c  A on x }\n"
    "machine W { initial state A  event go from environment  A on go do send c.x }\nsystem S { r: R  w: W }",
}


@pytest.mark.full(reason="size")
@pytest.mark.parametrize("text", ROWS.values(), ids=ROWS.keys())
def test_what_cannot_be_explored_ends_with_a_partial_verdict(text: str, tmp_path: Path) -> None:
    """Where a machine is fast enough to explore all of it, that is as good."""
    spec = tmp_path / "x.fsm"
    spec.write_text(text)
    command = [sys.executable, "-m", "fsmdsl", "verify", str(spec), "--max-seconds", "1", "--max-memory", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    assert (done.returncode, done.stdout[:7]) in ((3, "bounded"), (0, "holds  "))


# Nesting -------------------------------------------------------------------------------------------------------------


def test_twenty_loops_in_each_other_are_generated(tmp_path: Path) -> None:
    """Python itself allows 20 blocks in each other, and no more."""
    loops = "".join(f"for m{n} in ms {{ " for n in range(20)) + "m0.go" + " }" * 20
    peer = "machine N { initial state A  event go from M  A on go }"
    (tmp_path / "x.fsm").write_text(
        f"{peer}\nmachine M {{ ms: set<N>  initial state A  event go  A on go do {{ {loops} }} }}"
    )
    done = CliRunner().invoke(cli, ["generate", str(tmp_path / "x.fsm"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    made = list((tmp_path / "out").rglob("*.py"))
    assert any("m19" in x.read_text("utf-8") for x in made)
    for path in made:
        compile(path.read_text("utf-8"), str(path), "exec")


def test_twenty_quantifiers_in_each_other_are_decided(tmp_path: Path) -> None:
    """Over a set that a field holds, each of them is a loop."""
    binders = "".join(f"all a{n} in ms: " for n in range(20))
    (tmp_path / "x.fsm").write_text(f"""{ONE.replace("M", "N")}
machine P {{
    ms: set<N>
    initial state A
    event go(x: N) from environment
    A on go(x) do ms = {{x}}
    invariant {binders}a0.n + a19.n <= 2
}}
system S {{ n: N  p: P }}""")
    for command in (["verify"], ["report", "--out", str(tmp_path / "out")]):
        done = CliRunner().invoke(cli, [*command[:1], str(tmp_path / "x.fsm"), *command[1:]])
        assert done.exit_code == 0, done.output


# Growth --------------------------------------------------------------------------------------------------------------


def test_members_of_an_enum() -> None:
    def resolved(count: int) -> Callable[[], object]:
        module = parse(Source("x", f"enum E {{ {' | '.join(f'e{n}' for n in range(count))} }}")).module
        return lambda: resolve([module])

    assert grows_with(resolved)


def test_transitions_that_are_checked() -> None:
    def checked(count: int) -> Callable[[], object]:
        events = ", ".join(f"e{n}" for n in range(count))
        rows = "\n".join(f"A -> B on e{n}\nB -> A on e{n}" for n in range(count))
        text = f"machine M {{\nevent {events} from environment\ninitial state A\nstate B\n{rows}\n}}\n"
        return lambda: list(check(compiled(text)))

    assert grows_with(checked)


def test_machines_that_are_drawn(tmp_path: Path) -> None:
    def drawn(count: int) -> Callable[[], object]:
        spec = tmp_path / f"x{count}.fsm"
        spec.write_text("\n".join(ONE.replace("M", f"M{n}", 1) for n in range(count)))
        arguments = ["draw", str(spec), "--format", "dot", "--out", str(tmp_path / str(count))]

        def work() -> None:
            done = CliRunner().invoke(cli, arguments)
            assert done.exit_code == 0, done.output
            assert len(list((tmp_path / str(count)).rglob("*.dot"))) == count

        return work

    assert grows_with(drawn, 50)


def test_states_of_a_machine_that_is_explored() -> None:
    def explored(count: int) -> Callable[[], object]:
        rows = "\n".join(f"state S{n}\nS{n} -> S{(n + 1) % count} on go" for n in range(1, count))
        model = compiled(
            f"machine M {{ event go from environment  initial state S0\nS0 -> S1 on go\n{rows} }} system S {{ m: M }}"
        )
        return lambda: explore(model, only_system(model), means=Means(compiled=False))

    assert grows_with(explored)


def test_a_comment_as_in_c_is_read_once() -> None:
    """The pattern stops behind its beginning: else each comment would read the rest of its line."""
    found = load_table().pattern.match("/* a */ b /* c */")
    assert found is not None
    assert found["FOREIGN_COMMENT"] == "/*"
    text = "module x\n/* a */ /* b\n c */ machine M { initial state A } /* /* */\n/* open"
    parsed = parse(Source("x", text))
    assert [(d.span.start, d.span.text) for d in parsed.diagnostics] == [
        (9, "/* a */"), (17, "/* b\n c */"), (text.index("/* /*"), "/* /* */"), (text.index("/* open"), "/* open"),
    ]  # fmt: skip


TOO_LARGE = """\
module large
let square(n: 0..9) = n * n
let fourth(n: 0..9) = square(square(n))
let more(n: 0..9) = fourth(fourth(n))
let most(n: 0..9) = more(more(n))
machine A { n: 0..9  initial state S  event go from environment  S on go when most(most(n)) > 3 do n = 3 }
system X { a: A  invariant i: most(most(a.n)) >= 0 }
"""


@pytest.mark.full(reason="every command")
@pytest.mark.parametrize(
    "command",
    ["check", "verify", "verify --as-documented", "test", "report --out out", "report --as-documented --out out",
     "generate --out out", "draw --format mermaid --out out"],
)  # fmt: skip
def test_numbers_that_nobody_can_compute_are_an_error_in_every_command(command: str, tmp_path: Path) -> None:
    (tmp_path / "large.fsm").write_text(TOO_LARGE)
    done = fsm(*command.split(), "large.fsm", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "FSM115" in done.stdout + done.stderr
    assert "internal error" not in done.stderr


def test_a_model_that_nobody_has_checked_is_not_explored_with_such_numbers() -> None:
    model = compiled(TOO_LARGE.partition("\n")[2])
    found = explore(model, only_system(model))
    assert {v.outcome for v in found.verdicts} == {"unknown"}
    assert found.stopped is not None
    assert "a number may be larger than" in found.stopped


STUCK = "module a machine M { initial state A state B event go from environment A -> B on go } system S { m: M }"


def test_a_limit_between_a_search_and_its_runs_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer raises at any moment: here, when the search is done and what makes its run simpler is just called."""

    def late(*_: object) -> Exploration:
        budget.stop("stopped after 1 seconds")
        raise LimitError(budget.reached)

    model = compiled(STUCK)
    system = next(iter(model.systems.values()))
    monkeypatch.setattr(replay, "simplest_in_time", late)
    budget = Budget(seconds=60)
    x = replay.with_runs(lambda: explore(model, system), model, budget)
    (found,) = (v for v in x.verdicts if v.outcome == "violated")
    assert found.trace is not None
    assert found.limit == "stopped after 1 seconds before a simpler one was looked for"


def test_a_limit_before_a_search_is_told() -> None:
    def never() -> Exploration:
        raise LimitError("stopped")

    with pytest.raises(LimitError):
        replay.with_runs(never, compiled(STUCK), Budget(seconds=60))
