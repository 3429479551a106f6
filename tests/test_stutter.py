"""Runs that may stand still: `fsm verify --stutter`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import textbook_liveness as textbook
from in_process import fsm
from seeds import seeds
from test_liveness import Sample

from fsmdsl.runs.liveness.graph import STAYS
from fsmdsl.runs.liveness.stutter import stuttering, unstuttered

LAMP = """\
module lamp

machine Lamp {
    initial state Off
    state On
    event push from environment
    Off -> On on push
    On -> Off on push
}

system One {
    lamp: Lamp
    environment { lamp.push }
    property lit:    lamp in Off ~> lamp in On
    property fair:   lamp in Off ~> lamp in On under fair push
    property at_once: always (lamp in Off => next (lamp in On)) under fair push
    property safe:   always (lamp in {Off, On})
}
"""


@pytest.mark.parametrize("first", seeds(range(50_000, 52_000, 1000)))
def test_verdicts_are_those_of_the_textbook_where_every_state_has_a_loop(first: int) -> None:
    differ = broken = 0
    for seed in range(first, first + 1000):
        x = Sample(seed)
        if not x.small:
            continue
        still = textbook.System(x.system.letters, (*x.edges, *((s, s, 0) for s in range(x.graph.states))))
        stutters = stuttering(x.graph)
        lasso = x.decided(graph=stutters)
        assert (lasso is not None) == textbook.violated(still, x.formula, x.weak, x.strong), seed
        differ += (lasso is None) != (x.decided() is None)
        if lasso is None or not lasso.loop:
            continue
        broken += 1
        run = unstuttered(lasso, x.graph, stutters.offsets)
        for h in (*run.stem, *run.loop):
            assert h.source == h.target if h.edge == STAYS else x.edges[h.edge][:2] == (h.source, h.target)
        loop = [x.edges[h.edge] if h.edge != STAYS else (h.source, h.source, 0) for h in run.loop]
        assert textbook.fair(still, loop, x.weak, x.strong)
        stem = [x.letters[h.source] for h in run.stem]
        assert not textbook.true_on(x.formula, stem, [x.letters[e[0]] for e in loop])
    assert broken > 100
    assert differ > 10


def test_a_run_may_stand_still_where_no_fairness_forbids_it(tmp_path: Path) -> None:
    (tmp_path / "lamp.fsm").write_text(LAMP)
    assert fsm("verify", str(tmp_path)).returncode == 0
    done = fsm("verify", str(tmp_path), "--stutter", "--format", "json")
    assert done.returncode == 1
    (system,) = json.loads(done.stdout)["systems"]
    found = {x["name"]: x["outcome"] for x in system["verdicts"] if x["kind"] == "property"}
    assert found == {"lit": "violated", "fair": "holds", "at_once": "violated", "safe": "holds"}
    shown = fsm("verify", str(tmp_path), "--stutter").stdout
    assert "violated: property lit (a run of 0 steps, and then nothing more)" in shown


def test_another_checker_is_not_asked_about_such_runs(tmp_path: Path) -> None:
    (tmp_path / "lamp.fsm").write_text(LAMP)
    done = fsm("verify", str(tmp_path), "--stutter", "--second-opinion", "spin")
    assert done.returncode == 2
    assert "--stutter" in done.stderr
