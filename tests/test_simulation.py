"""Walking through systems by hand: sessions, and `fsm simulate` as a person or a script uses it."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from random_specs import spec
from stepping import compiled, only_system
from tiers import today

from fsmdsl.cli.parser import cli
from fsmdsl.editor.live.session_view import here, view
from fsmdsl.model.workspace import load
from fsmdsl.report.as_scenario import as_scenario
from fsmdsl.runs.simulation import (
    NoSuchError,
    ReplayError,
    Session,
    begin,
    closed_system,
    condition_values,
    matching,
    offered,
    recorded_runs,
    replayed,
    subject,
    why_not,
)
from fsmdsl.runs.trace import run as walked
from fsmdsl.search import data, explore, play
from fsmdsl.step import Universe, enabled
from fsmdsl.step.describe import describe

ROOT = Path(__file__).parent.parent
HIVED = str(ROOT / "specs" / "hived")

SHOP = """\
module shop

channel wire: lossy bag[2] to Shop

machine Shop {
    stock: 0..3 = 1
    initial state Shut
    state Open
    state Counting
    final state Gone
    event push, sell(n: 0..2), leave from environment
    event bill from wire
    event audit from Clerk
    action count -> ok | short
    opens: Shut -> Open on push
    sale: Open on sell(n) when n <= stock and n > 0 do stock = stock - n
    Open -> Counting on leave do count
    Counting -> Shut on count.ok
    Counting -> Gone on count.short
    Open on bill do stock = stock + 1
    late: Open -> Shut after 5min
    ignore bill in Shut, Counting, Gone
    invariant Gone => stock == 0
}

machine Clerk {
    param shop: Shop
    initial state Idle
    event write, call from environment
    Idle on write do send wire.bill
    Idle on call do shop.audit
}

system Street {
    shop: Shop
    clerk: Clerk { shop = shop }
    environment {
        shop.push
        some n in {1, 2}: shop.sell(n) when n < 2 or clerk in Idle
        shop.leave when clerk in Idle and shop.stock > 0
        clerk.write
        clerk.call
        crash
    }
    reachable closed: shop in Shut
}
"""


def street() -> Session:
    model = compiled(SHOP)
    return begin(model, only_system(model))


def take(session: Session, *texts: str) -> Session:
    for text in texts:
        (choice,) = matching(offered(session.universe, session.world).choices, text)
        session = session.took(choice.step)
    return session


def told(session: Session, text: str) -> list[str]:
    return why_not(session.universe, session.world, text)


# Sessions ------------------------------------------------------------------------------------------------------------


def test_steps_are_taken_undone_and_taken_again() -> None:
    session = take(street(), "shop.push", "clerk.write", "deliver wire")
    assert (session.at, session.world.states[0], session.world.fields[0]) == (3, "Open", (2,))
    back = session.undone(2)
    assert back.at == 1
    assert back.world.fields[0] == (1,)
    assert back.redone(2) == session
    assert back.undone(9).at == 0
    assert back.redone(9).at == 3
    other = take(back, "timeout shop")
    assert [describe(other.universe, e.step) for e in other.entries] == ["shop.push", "timeout shop of late"]
    assert other.redone() == other


def test_a_step_that_fails_changes_nothing_and_gives_way_to_the_next() -> None:
    session = take(street(), "shop.push", "clerk.write", "clerk.write", "clerk.write")
    assert session.last is not None
    assert session.last.fault is not None
    assert session.last.fault.kind == "overflow"
    assert session.world == session.before
    assert session.settled().at == 3
    assert take(session, "crash").at == 4


def test_choices_say_what_they_lead_to_and_what_would_fail() -> None:
    session = street()
    found = {c.text: c for c in offered(session.universe, session.world).choices}
    assert found["shop.push"].leads == "opens Shut → Open"
    assert found["shop.push"].instance == "shop"
    assert found["crash"].kind == "crash"
    session = take(session, "shop.push", "clerk.write")
    kinds = {c.text: c.kind for c in offered(session.universe, session.world).choices}
    assert kinds["timeout shop of late"] == "timer"
    assert kinds["deliver wire.bill"] == "delivery"
    assert kinds["lose wire.bill"] == "loss"
    called = next(c for c in offered(session.universe, session.world).choices if c.text == "clerk.call")
    assert called.fault is not None
    assert called.fault.kind == "unhandled"
    session = take(session, "shop.leave")
    assert [c.kind for c in offered(session.universe, session.world).choices] == ["answer", "answer", "crash"]


def test_a_choice_is_meant_by_number_by_text_or_by_a_part_that_only_one_has() -> None:
    session = take(street(), "shop.push")
    choices = offered(session.universe, session.world).choices
    assert [c.text for c in matching(choices, "1")] == [choices[0].text]
    assert [c.text for c in matching(choices, "shop.sell( 1 )")] == ["shop.sell(1)"]
    assert [c.text for c in matching(choices, "sell")] == ["shop.sell(1)"]
    assert [c.text for c in matching(choices, "clerk")] == ["clerk.write", "clerk.call"]
    assert matching(choices, "") == []
    assert matching(choices, "99999999999") == []


@pytest.mark.parametrize(
    ("before", "text", "answer"),
    [
        ([], "sell", "shop is in `Shut`, where no transition handles `sell`; it is handled in Open"),
        ([], "bill", "shop ignores `bill` in `Shut`; it is handled in Open"),
        ([], "shop.audit", "shop is in `Shut`, where no transition handles `audit`; no state handles it"),
        ([], "shop.push", "shop.push is possible: opens Shut → Open"),
        ([], "late", "timer `late` of shop does not run in `Shut`"),
        ([], "timeout shop", "timer `late` of shop does not run in `Shut`"),
        ([], "count.ok", "shop is not waiting for an answer to `count`"),
        ([], "recover", "the system has no `recover` block"),
        ([], "shop.pusch", "there is no event, answer or timer `shop.pusch` here; did you mean `shop.push`?"),
        (["push"], "shop.sell(2)", "shop.sell(2): the guard of `sale` does not hold: `n <= stock` is false"),
        (["push"], "bill", "`bill` comes only from shop.wire, not from the environment"),
        (["push", "sell(1)"], "shop.leave", "shop.leave: the environment sends it only when `clerk in Idle and"),
        (["push", "leave"], "clerk.write", "clerk.write: the system is blocked until shop.count is answered"),
        (["push"], "clerk.call", "clerk.call is possible, but fails: `audit` reaches shop in `Open`"),
    ],
)  # fmt: skip
def test_why_something_is_not_possible(before: list[str], text: str, answer: str) -> None:
    assert told(take(street(), *before), text)[0].startswith(answer), told(take(street(), *before), text)


@pytest.mark.parametrize(
    "text", ["(", "g0.(", ").", "timeout", "timeout x of", "crash after", "\x00", "shop.sell(9)", "."]
)
def test_odd_questions_have_an_answer(text: str) -> None:
    assert all(isinstance(line, str) for line in told(take(street(), "push"), text))


def test_what_is_asked_and_what_is_shown_are_plain_values() -> None:
    session = take(street(), "shop.push", "shop.leave", "shop.count.short")
    (invariant, reachable) = condition_values(session.universe, session.world)
    assert (invariant.holds, reachable.holds) == (False, False)
    assert "`stock == 0` is false" in invariant.why[0]
    shown = view(session, "r", "Street")
    assert json.loads(json.dumps(shown)) == shown
    assert [s["text"] for s in shown["run"]["steps"]] == ["shop.push", "shop.leave", "shop.count.short"]
    assert here(session)["asked"][0]["holds"] is False


def test_what_is_meant_by_a_name() -> None:
    model = compiled(SHOP)
    assert subject(model).name == "Street"
    assert subject(model, system="shop.Street").name == "Street"
    assert [i.machine for i in subject(model, machine="Clerk").instances] == ["shop.Clerk", "shop.Shop"]
    with pytest.raises(NoSuchError, match="did you mean `Street`"):
        subject(model, system="Stret")
    with pytest.raises(NoSuchError, match="there is no machine"):
        subject(compiled("module m\n"))
    alone = compiled("machine A { initial state S }\nmachine B { initial state S }")
    with pytest.raises(NoSuchError, match="choose a machine with `--machine`: `A`, `B`"):
        subject(alone)


# Runs from elsewhere -------------------------------------------------------------------------------------------------


def test_a_run_is_walked_again_from_what_verify_prints() -> None:
    session = take(street(), "shop.push", "clerk.write", "clerk.write", "lose wire", "clerk.call")
    document = json.loads(json.dumps(data(session.trace)))
    again = replayed(session.universe, document)
    assert again.at == 0
    assert again.moved(5) == session


def test_a_run_without_an_end_keeps_its_loop_until_it_is_left() -> None:
    text = SHOP.replace("reachable closed", "property calm: eventually always shop in Shut\n    reachable closed")
    model = compiled(text)
    (found,) = [v for v in explore(model, only_system(model)).verdicts if v.kind == "property"]
    assert found.trace is not None
    assert found.trace.loop is not None
    session = replayed(Universe(model, only_system(model)), json.loads(json.dumps(data(found.trace))))
    assert session.whole.loop == found.trace.loop
    assert take(session.moved(0), "crash").loop is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["steps"][1].update(step="shop.fly"), "step 2, `shop.fly`, is not possible there"),
        (lambda d: d["steps"][1]["world"].update(down=True), "leads to another state than the run tells"),
        (lambda d: d["start"].update(down=True), "begins in another state"),
        (lambda d: d.update(steps=None), "has no `steps`"),
        (lambda d: d["steps"].append(7), "has no `step`"),
        (lambda d: d.update(loop=99), "`loop` is not a position"),
        (lambda d: d.update(loop=True), "`loop` is not a position"),
    ],
)
def test_a_run_of_another_spec_is_refused(change: object, message: str) -> None:
    session = take(street(), "shop.push", "clerk.write")
    document = json.loads(json.dumps(data(session.trace)))
    change(document)  # type: ignore[operator]
    with pytest.raises(ReplayError, match=message):
        replayed(session.universe, document)


@pytest.mark.parametrize(
    "document", [None, [], {}, {"kind": "check"}, {"kind": "verify"}, {"kind": "verify", "systems": [{}]}]
)
def test_a_document_that_is_something_else_is_refused(document: object) -> None:
    with pytest.raises(ReplayError, match="not what `fsm verify --format json` prints"):
        recorded_runs(document)


@pytest.mark.parametrize("seed", today(range(60)))
def test_walks_through_a_machine_by_itself_become_scenarios_that_pass(seed: int, tmp_path: Path) -> None:
    text = spec(seed)
    model = compiled(text)
    (tmp_path / f"random_{seed}.fsm").write_text(text)
    for machine in model.machines.values():
        session = begin(model, closed_system(model, machine))
        if session.universe.fault is not None:
            continue
        for n in range(8):
            found = offered(session.universe, session.world).choices
            if not found or (session.last is not None and session.last.fault is not None):
                break
            session = session.took(found[(seed + 3 * n) % len(found)].step)
        script = as_scenario(session.trace, "walk")
        (tmp_path / "walk.fsm").write_text(script.text)
        loaded = load([tmp_path / "walk.fsm", tmp_path / f"random_{seed}.fsm"])
        assert loaded.model is not None, (script.text, [d.message for d in loaded.diagnostics])
        played = play(loaded.model, loaded.model.scenarios["walk.walk"])
        assert played.passed, (script.text, played.failure)


def test_long_runs_stay_quick() -> None:
    session = street()
    for _ in range(250):
        session = take(session, "clerk.write", "lose wire")
    document = data(session.trace)
    again = replayed(session.universe, document).moved(500)
    assert len(view(again, "r", "")["run"]["steps"]) == 500
    steps = [e.step for e in again.entries]
    assert walked(Universe(again.universe.model, again.universe.system), steps).end == again.world
    assert enabled(again.universe, again.world)


# The command ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "shop.fsm").write_text(SHOP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simulate(*arguments: str, lines: list[str], code: int = 0) -> list[str]:
    """A real process at pipes."""
    command = [sys.executable, "-m", "fsmdsl", "simulate", *arguments]
    done = subprocess.run(command, input="\n".join(lines).encode(), capture_output=True, timeout=60)
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stdout + done.stderr
    return (done.stdout + done.stderr).decode().splitlines()


def test_a_script_walks_and_saves_a_scenario_that_passes(folder: Path) -> None:
    out = simulate(
        lines=[
            "push",
            "sell",
            "undo",
            "redo",
            "why sell",
            "back 2",
            "goto 2",
            "run",
            "clerk",
            "save sold",
            "save two x/y",
        ]
    )
    assert out[0] == "walking through shop.Street; `help` says how"
    assert "  shop.push   opens Shut → Open" in out
    assert "state 2, after shop.sell(1)" in out
    refusal = "  shop.sell(1): the guard of `sale` does not hold: `n <= stock` is false: stock is 0"
    assert refusal in out
    assert "`clerk` is ambiguous; type more of it, or its number" in out
    assert "saved; `fsm test sold.fsm specs` runs it" in out
    assert "cannot write `x/y.fsm`: no such file or directory" in out
    assert out[-1].strip() == ">"
    done = CliRunner().invoke(cli, ["test", "sold.fsm", "specs"])
    assert done.exit_code == 0, done.output


def test_marks_tell_timers_answers_messages_and_failures(folder: Path) -> None:
    out = simulate(lines=["push", "write", "leave"])
    assert any(line.endswith("timeout shop of late   [timer]") for line in out)
    assert any(line.endswith("deliver wire.bill   [message]") for line in out)
    assert any(line.endswith("clerk.call   [would fail: unhandled]") for line in out)
    assert any(line.endswith("shop.count.ok   [answer]") for line in out)


def test_a_machine_by_itself_and_other_sizes(folder: Path) -> None:
    out = simulate("--machine", "Shop", lines=["shop.push", "save alone"])
    assert out[0] == "walking through shop.Shop by itself; `help` says how"
    assert CliRunner().invoke(cli, ["test", "alone.fsm", "specs"]).exit_code == 0
    settings = ["--set", "groups=3", "--set", "size=1"]
    out = simulate(HIVED, "--system", "PreemptionSmall", *settings, lines=["g2.schedule({c0})", "crash", "save three"])
    assert "state 2, after crash" in out
    assert CliRunner().invoke(cli, ["test", "three.fsm", HIVED]).exit_code == 0


def test_runs_of_verify_are_walked_along(folder: Path) -> None:
    arguments = ["verify", HIVED, "--system", "PreemptionSmall", "--as-documented", "--format", "json"]
    Path("found.json").write_text(CliRunner().invoke(cli, arguments).stdout)
    out = simulate(
        HIVED,
        "--as-documented",
        "--system",
        "PreemptionSmall",
        "--traces",
        "found.json",
        lines=["goto 1", "redo", "undo"],
    )
    assert any("violated, fault unhandled, 2 steps" in line for line in out)
    assert "state 1, after g0.schedule({c0, c1})" in out
    other = [HIVED, "--system", "Takeover", "--traces", "found.json"]
    assert "has no run of hived.Takeover" in "\n".join(simulate(*other, lines=[], code=2))
    Path("found.json").write_text("{")
    assert "is not JSON" in "\n".join(
        simulate(HIVED, "--system", "Takeover", "--traces", "found.json", lines=[], code=2)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--system", "Stret"], "there is no system `Stret`; did you mean `Street`?"),
        (["--machine", "Shup"], "there is no machine `Shup`; did you mean `Shop`?"),
        (["--machine", "Shop", "--system", "Street"], "`--system` or `--machine`, not both"),
        (["--set", "size=1"], "no system has a set of instances or a parameter `size`"),
        (["--traces", "none.json"], "cannot read `none.json`: no such file or directory"),
    ],
)
def test_misuse_is_explained(folder: Path, arguments: list[str], message: str) -> None:
    assert message in "\n".join(simulate(*arguments, lines=[], code=2))


def test_at_a_terminal_tab_completes_and_ctrl_d_ends(folder: Path) -> None:
    pytest.importorskip("readline", reason="SKIPPED: this Python has no readline")
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "fsmdsl", "simulate"]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, close_fds=True)
    os.close(slave)
    read_until(master, b"> ")
    os.write(master, b"shop.p\t")
    read_until(master, b"shop.push")
    os.write(master, b"\n")
    told = read_until(master, b"> ")
    assert b"state 1, after shop.push" in told
    os.write(master, b"\x04")
    assert process.wait(timeout=60) == 0
    os.close(master)


def read_until(terminal: int, end: bytes) -> bytes:
    told = b""
    while not told.rstrip(b"\x07").endswith(end):
        assert select.select([terminal], [], [], 30)[0], told
        told += os.read(terminal, 4096)
    return told
