"""`fsm verify --hide`: runs without machines, sets, instances and events."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process import fsm

SPEC = """module relay
machine Clock {
    n: 0..3
    initial state On
    event tick from environment
    On on tick do n = (n + 1) % 4
}
machine Lamp {
    initial state Off
    state Lit
    event light from Relay
    Off -> Lit on light
}
machine Relay {
    param lamp: Lamp
    count: 0..2
    initial state Idle
    event push(times: 1..2) from environment
    Idle on push(times) when lamp in Off do { count = times; lamp.light }
}
system S {
    clock: Clock
    lamp: Lamp
    relays: Relay[2] { lamp = lamp }
    environment {
        clock.tick
        some r in relays: r.push(2) when clock.n == 1
    }
    invariant dark: not (lamp in Lit and clock.n == 1)
}
"""
WHOLE = """\
    0  start          clock: On; lamp: Off; r0: Idle; r1: Idle
    1  clock.tick     in On
         clock.n: 0 → 1
    2  r0.push(2)     in Idle
         lamp.light   Off → Lit
         r0.count: 0 → 2
"""
SHOWN = {
    (): WHOLE,
    ("Clock",): """\
    0  start          lamp: Off; r0: Idle; r1: Idle
    2  r0.push(2)     in Idle
         lamp.light   Off → Lit
         r0.count: 0 → 2
    (1 hidden step)
""",
    ("tick", "relays"): """\
    0  start        clock: On; lamp: Off
    2  lamp.light   Off → Lit
    (1 hidden step)
""",
    ("r0.push", "Lamp.light"): """\
    0  start        clock: On; lamp: Off; r0: Idle; r1: Idle
    1  clock.tick   in On
         clock.n: 0 → 1
    (1 hidden step)
""",
    ("r1", "lamp"): """\
    0  start        clock: On; r0: Idle
    1  clock.tick   in On
         clock.n: 0 → 1
    2  r0.push(2)   in Idle
         r0.count: 0 → 2
""",
}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "relay.fsm"
    path.write_text(SPEC)
    return path


def hiding(spec: Path, *names: str) -> list[str]:
    return [str(spec), *(x for name in names for x in ("--hide", name))]


@pytest.mark.parametrize("names", SHOWN)
def test_a_run_is_shown_without_what_is_hidden(spec: Path, names: tuple[str, ...]) -> None:
    shown = fsm("verify", *hiding(spec, *names)).stdout
    run = shown.partition("steps)\n")[2].partition("    `lamp in Lit` holds")[0]
    assert run == SHOWN[names]


def test_of_brief_runs_the_steps_are_left_out(spec: Path) -> None:
    shown = fsm("verify", "--brief", *hiding(spec, "Clock")).stdout
    assert "    2  r0.push(2)\n    (1 hidden step)\n" in shown
    assert "tick" not in shown


def test_a_step_that_fails_is_never_hidden(spec: Path) -> None:
    spec.write_text(SPEC.replace("    Off -> Lit on light\n", "    Off -> Lit on light when false\n"))
    shown = fsm("verify", *hiding(spec, "relays", "lamp")).stdout
    assert "    2    fails: `light` reaches lamp in `Off`, where it is not ignored" in shown


def test_charts_have_no_columns_for_what_is_hidden(spec: Path, tmp_path: Path) -> None:
    fsm("verify", *hiding(spec, "relays"), "--charts", str(tmp_path / "charts"))
    (drawn,) = (tmp_path / "charts").glob("*.svg")
    text = drawn.read_text()
    assert "lamp" in text
    assert "light" in text
    assert ">r0<" not in text
    assert ">r1<" not in text


def test_a_name_that_nothing_has_is_misuse(spec: Path) -> None:
    done = fsm("verify", *hiding(spec, "clok"))
    assert done.returncode == 2
    assert done.stderr == "fsm: --hide: no system here has `clok`; did you mean `clock`?\n"


def test_other_formats_keep_the_whole_run(spec: Path) -> None:
    assert "clock.tick" in fsm("verify", *hiding(spec, "Clock"), "--format", "json").stdout
