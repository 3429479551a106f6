"""What a notebook shows of specs: for each object the forms that a notebook asks for."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_formats import HOSTILE, STUCK

from fsmdsl.draw import svg
from fsmdsl.notebook import Displayable, SpecError, Specs, load

PLAIN, MARKDOWN, SVG = "text/plain", "text/markdown", "image/svg+xml"


@pytest.fixture
def specs(tmp_path: Path) -> Specs:
    (tmp_path / "door.fsm").write_text(STUCK)
    return load(tmp_path / "door.fsm")


def bundle(shown: Displayable) -> dict[str, str]:
    found = shown._repr_mimebundle_()
    assert found[PLAIN] == repr(shown)
    return found


def test_what_there_is(specs: Specs) -> None:
    found = bundle(specs)
    assert found[PLAIN] == "machine  door.Door: 2 states, 2 transitions\nsystem   door.One: door"
    assert "| machine | `door.Door` | 2 states, 2 transitions |" in found[MARKDOWN]
    assert SVG not in found


def test_a_machine_is_a_diagram(specs: Specs) -> None:
    found = bundle(specs.machine("Door"))
    assert set(found) == {PLAIN, MARKDOWN, SVG}
    assert "push: Open -> Shut" in found[PLAIN]
    assert found[MARKDOWN].startswith("```mermaid\nstateDiagram-v2")
    assert ElementTree.fromstring(found[SVG]).tag.endswith("svg")


def test_without_a_renderer_there_is_mermaid(specs: Specs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svg, "_command", lambda form: None)
    assert set(bundle(specs.machine("door.Door"))) == {PLAIN, MARKDOWN}


def test_verdicts_and_their_runs(specs: Specs) -> None:
    answers = specs.verify()
    found = bundle(answers)
    assert found[PLAIN].startswith("violated  door.One: 2 states")
    assert "| ✗ failed | door.One |" in found[MARKDOWN]
    deadlock = next(run for run in answers.runs if "deadlock" in run.title)
    shown = bundle(deadlock)
    assert "1  door.push   Open → Shut" in shown[PLAIN]
    assert "```mermaid\nsequenceDiagram" in shown[MARKDOWN]
    assert "push" in "".join(ElementTree.fromstring(shown[SVG]).itertext())
    assert specs.verify("One", states=1).text().startswith("bounded")


def test_scenarios_findings_and_changes(specs: Specs, tmp_path: Path) -> None:
    assert "door.push" in bundle(specs.scenario("entry"))[PLAIN]
    assert bundle(specs.check())[PLAIN].startswith("warning[FSM2")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "door.fsm").write_text(STUCK.replace("when false", ""))
    found = bundle(specs.diff(load(tmp_path / "new")))
    assert "has lost its guard: `false`" in found[PLAIN]
    assert found[MARKDOWN].startswith("### fsm diff")


def test_a_notebook_says_which_forms_it_wants(specs: Specs) -> None:
    drawing = specs.machine("Door")
    assert set(drawing._repr_mimebundle_(include={SVG})) == {SVG}
    assert set(drawing._repr_mimebundle_(exclude={SVG})) == {PLAIN, MARKDOWN}


def test_sizes_and_names() -> None:
    specs = load("specs/hived", sizes={"cells": 1, "size": 1})
    assert "system   hived.Takeover: g0, g1, g2, c0\n" in specs.text() + "\n"
    with pytest.raises(ValueError, match="no system has a set of instances or a parameter `sheep`"):
        load("specs/hived", sizes={"sheep": 1})
    with pytest.raises(ValueError, match="there is no machine `Sell`; did you mean `Cell`"):
        specs.machine("Sell")


def test_mistakes_are_shown_as_in_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "door.fsm").write_text(STUCK.replace("Open -> Shut", "Open -> Shutt"))
    with pytest.raises(SpecError) as raised:
        load(tmp_path)
    assert raised.value._render_traceback_()[0] == "error[FSM101]: there is no state `Shutt`"


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    (tmp_path / "door.fsm").write_text(HOSTILE)
    specs = load(tmp_path)
    for shown in (specs.machine("Door"), specs.scenario("entry"), specs.verify(), *specs.verify().runs):
        found = bundle(shown)
        assert "<script" not in found.get(SVG, "")
        assert not any(line.startswith("<script") for line in found[MARKDOWN].splitlines())
