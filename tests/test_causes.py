"""One cause is one finding: violations whose runs go wrong first at the same step are one finding with a list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from stepping import compiled

from fsmdsl.cli.parser import cli
from fsmdsl.cli.printing import wrapped
from fsmdsl.report.exploration import details
from fsmdsl.runs.causes import causes
from fsmdsl.runs.replay import simplest
from fsmdsl.search import Exploration, explore

SPEC = """module desk
/// `drop` forgets to count: all that goes wrong comes from it, but for `odd` and `five`.
machine Desk {
    papers: 0..4
    known: 0..4
    odd: bool
    initial state Open
    event put, drop, turn from environment
    put:  Open on put when papers < 3 do { papers = papers + 1  known = known + 1 }
    drop: Open on drop when papers > 0 do papers = papers - 1
    turn: Open on turn when not odd do odd = true
    invariant agree: papers == known
}
system One {
    d: Desk
    invariant low: d.known <= d.papers
    invariant even: not d.odd
    reachable five: d.papers == 4
    reachable two: d.papers == 2
}
system Two {
    a: Desk
    b: Desk
    invariant low: a.known <= a.papers and b.known <= b.papers
}
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("causes") / "desk.fsm"
    path.write_text(SPEC)
    return path


def verify(spec: Path, *options: str, code: int = 1) -> str:
    done = CliRunner().invoke(cli, ["verify", str(spec), *options])
    assert done.exit_code == code, done.output
    return done.stdout


def explored() -> Iterator[tuple[Exploration, dict[str, str]]]:
    """Each system, with the causes by what is violated."""
    model = compiled(SPEC)
    for system in model.systems.values():
        x = simplest(explore(model, system), model)
        yield x, {x.verdicts[n].label: cause.name for n, cause in causes(x, model).items()}


def test_what_goes_wrong_first_is_the_cause_whatever_is_violated_later() -> None:
    (_, one), (_, two) = explored()
    assert one == {
        "invariant low": "desk.Desk drop",
        "invariant even": "desk.Desk turn",
        "invariant Desk: agree": "desk.Desk drop",
        "fault range": "desk.Desk drop",
    }
    assert two == dict.fromkeys(("invariant low", "invariant Desk: agree", "fault range"), "desk.Desk drop")


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("n: 0..3 = 3  initial state A  event e from environment  go: A on e do n = n - 1  invariant low: n < 0",
         {"invariant M: low": "the initial values", "fault range": "the initial values"}),
        ("n: 0..3  initial state A  event e, f from environment  go: A on e do n = n + 1  A on f",
         {"fault range": "fault range at test.fsm:"}),
        ("initial state A  state B  final state C  event e from environment  go: A -> B on e  B -> C on e when false"
         "  ignore e in C",
         {"deadlock": "test.M go"}),
        ("durable n: 0..1  initial persistent state A  event e from environment  go: A on e do n = 1"
         "  ec: A on crash  do n = 0",
         {}),
    ],
    ids=["in the beginning", "a fault by itself", "a deadlock by itself", "nothing"],
)  # fmt: skip
def test_what_goes_wrong_by_itself_is_its_own_cause(body: str, names: dict[str, str]) -> None:
    model = compiled(f"machine M {{ {body} }} system S {{ m: M }} system T {{ m: M[2] }}")
    found = [{x.verdicts[n].label: c for n, c in causes(x, model).items()} for x in (
        simplest(explore(model, system), model) for system in model.systems.values()
    )]  # fmt: skip
    for told in found:
        assert {shown: cause.name[: len(names[shown])] for shown, cause in told.items()} == names
    assert found[0] == found[1], "the same in all systems"


@pytest.mark.parametrize(
    ("body", "shared"),
    [
        ("n: 0..3 = 3  initial state A  event e from environment  go: A on e do n = n - 1  invariant low: n < 3",
         False),
        ("n: 0..3  initial state A  event e from environment  go: A on e do n = n + 1  invariant low: n < 2", True),
        ("n: 0..3  initial state A  event e from environment  go: A on e do n = n + 1  invariant low: n != 2", False),
        ("n: 0..1  initial state A  state B  event e(k: 0..1) from environment  "
         "go: A -> B on e(k) when k == 0 or n == 0 do n = k  ignore e in B  invariant low: n == 0", False),
        ("n: 0..2  initial resting state A  event e(k: 0..2) from environment  go: A on e(k) do n = k  "
         "invariant one: n != 1  invariant two: n != 2", False),
        ("n: 0..2  initial resting state A  event e(k: 0..2) from environment  go: A on e(k) do n = k  "
         "invariant one: n < 2  invariant two: n < 1", False),
        ("n: 0..2  initial resting state A  event e from environment  go: A on e do n = 2  "
         "invariant one: n < 2  invariant two: n < 1", True),
    ],
    ids=["repaired on the way", "broken up to the end", "repaired at the end", "a deadlock on another run",
         "invariants that the row breaks on different runs", "one of them is broken alone", "both at once"],
)  # fmt: skip
def test_violations_with_one_first_step_may_have_different_causes(body: str, shared: bool) -> None:
    model = compiled(f"machine M {{ {body} }} system S {{ m: M }}")
    (system,) = model.systems.values()
    x = simplest(explore(model, system), model)
    first, second = causes(x, model).values()
    assert (first == second) == shared


def test_the_run_of_a_cause_is_shown_once_and_the_others_are_listed(spec: Path) -> None:
    lines = verify(spec).splitlines()
    heads = [line for line in lines if not line.startswith("    ")]
    assert [line.partition(" (")[0].partition(": 1")[0] for line in heads if line.startswith("  ")] == [
        "  violated: invariant even",
        "  violated: invariant low",
        "  violated: reachable five",
        "  violated as well, with the same cause as invariant low",
        "  violated: invariant low, invariant Desk: agree, `known` is out of range in `put` of `Desk`",
    ]
    at = next(n for n, line in enumerate(lines) if "violated as well" in line)
    assert lines[at + 1] == "    2 steps: invariant Desk: agree"


def test_every_run_can_be_shown(spec: Path) -> None:
    assert verify(spec).count("0  start") == 2
    assert verify(spec, "--runs").count("0  start") == 7
    assert verify(spec, "--all").count("0  start") == 7 + 1  # and a witness


def test_in_brief_a_step_is_a_line(spec: Path) -> None:
    told = verify(spec, "--brief", "--system", "One")
    assert "    1  d.put\n    2  d.drop\n" in told
    assert "start" not in told


def test_formats_have_every_violation_and_name_its_cause(spec: Path) -> None:
    content = json.loads(verify(spec, "--format", "json"))
    listed = [(x["name"], v["name"], v["cause"]) for x in content["systems"] for v in x["verdicts"]]
    assert ("Two", "low", "desk.Desk drop") in listed
    assert ("One", "even", "desk.Desk turn") in listed
    assert ("One", "five", None) in listed
    results = json.loads(verify(spec, "--format", "sarif"))["runs"][0]["results"]
    assert [x["properties"].get("cause") for x in results].count("desk.Desk drop") == 6
    root = ElementTree.fromstring(verify(spec, "--format", "junit"))
    found = {
        (x.get("classname"), x.get("name")): y.get("value") for x in root.iter("testcase") for y in x.iter("property")
    }
    assert found["fsm.verify.desk.Two", "invariant low"] == "desk.Desk drop"
    assert len(found) == 7


def test_details_without_a_memory_tell_each_system_for_itself() -> None:
    model = compiled(SPEC)
    for system in model.systems.values():
        told = list(details(simplest(explore(model, system), model), model))
        assert any("0  start" in line for line in told)


def test_lines_are_no_wider_than_the_terminal(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "  one two  three\nfour"
    assert wrapped(text, None) == text
    assert wrapped(text, 10) == "  one two\n     three\nfour"
    assert wrapped("\x1b[1mone\x1b[0m two", 7) == "\x1b[1mone\x1b[0m two"
    assert wrapped("x" * 12, 10) == "x" * 12
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.chdir(spec.parent)
    assert max(map(len, verify(Path(spec.name)).splitlines())) <= 60
