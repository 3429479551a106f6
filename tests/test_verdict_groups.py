"""A first failing verdict fits on a screen: violations are grouped by what fails, and every output has the same groups.

`UPDATE=1 pytest tests/test_verdict_groups.py` writes what is printed of the models down again; read what is different.
"""

from __future__ import annotations

import html
import json
import os
import pickle
import re
from functools import cache, partial
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from stepping import compiled
from tiers import today

from fsmdsl import model as m
from fsmdsl.cli import report_command
from fsmdsl.cli.parser import cli
from fsmdsl.editor.editing.actions import heard
from fsmdsl.editor.editing.analysis import analyse
from fsmdsl.editor.editing.document import read_document
from fsmdsl.editor.editing.findings import Explored, Mark, Request
from fsmdsl.editor.editing.worker import Worker
from fsmdsl.model.resolve import Memory
from fsmdsl.model.workspace import load
from fsmdsl.report.exploration import details
from fsmdsl.report.violations import Style
from fsmdsl.runs import causes as causes_module
from fsmdsl.runs import violation_groups as groups_module
from fsmdsl.runs.causes import causes
from fsmdsl.runs.replay import shortest, with_runs
from fsmdsl.runs.violation_groups import Group, violation_groups
from fsmdsl.search import Limits, Means, Progress, explore
from fsmdsl.text.source import Source

ROOT = Path(__file__).absolute().parent.parent
GOLDEN = ROOT / "tests" / "golden" / "verdicts"
KITCHEN = GOLDEN / "kitchen.fsm"

MODELS = {
    "kitchen": "tests/golden/verdicts/kitchen.fsm",
    "shim": "specs/yunikorn/shim.fsm",
    "core": "specs/yunikorn/core.fsm",
    "grove": "specs/grove/grove.fsm",
    "confine": "specs/confine/confine.fsm",
    "gangs": "specs/hived/gangs.fsm",
}
"""Real models with many violations, as their documents say them; and one made for this."""

SOME = ["kitchen", *today([name for name in MODELS if name != "kitchen"])]
"""`make test` writes one of the real models a day in the formats that take long."""

SCREEN = 60


@cache
def groups(text: str) -> list[Group]:
    """The groups of the only system of a text."""
    model = compiled(text)
    (system,) = model.systems.values()
    return violation_groups(explore(model, system), model)


def titles(text: str) -> list[str]:
    return [g.heading for g in groups(text)]


# What is one group ---------------------------------------------------------------------------------------------------


def test_an_event_that_nine_states_do_not_handle_is_one_group() -> None:
    by_title = {g.title: g for g in groups(KITCHEN.read_text())}
    called = by_title["`called` is unhandled in 9 states of `Order`"]
    assert len(called.members) == 9
    assert sorted(called.states) == sorted(
        ["Draft", "Paid", "Cooking", "Packed", "Riding", "Late", "Delivered", "Refunded", "Closed"]
    )
    assert called.members[0].title == f"`called` is unhandled in `{called.states[0]}` of `Order`"


def test_overflows_are_told_apart_by_the_row_that_sends() -> None:
    overflows = [t for t in titles(KITCHEN.read_text()) if "overflows" in t]
    assert overflows == [
        "`shout` of `Waiter` overflows `bell` (test.fsm:42:5)",
        "`shout` of `Waiter` overflows `bell` (test.fsm:43:5)",
    ]


def test_values_out_of_range_are_grouped_by_field_and_row() -> None:
    assert [t for t in titles(KITCHEN.read_text()) if "range" in t] == [
        "`tips` is out of range in `spend` of `Waiter` (test.fsm:46:5)",
        "`tips` is out of range in `tip` of `Waiter` (test.fsm:45:5)",
    ]


def test_what_the_author_asked_for_comes_first_and_then_what_is_soonest() -> None:
    everything = groups(KITCHEN.read_text())
    ranks = ["reached" if g.subject.kind == "reachable" else "own" if g.is_own else "fault" for g in everything]
    assert ranks == sorted(ranks, key=["own", "fault", "reached"].index)
    assert set(ranks) == {"own", "fault", "reached"}
    steps = [g.steps for g in everything if not g.is_own]
    assert steps == sorted(steps, key=lambda n: n or 0)


CUT_OFF = """module cut
machine Lock {
    initial state Free
            state Held
    event take, lose from Job
    Free -> Held on take
}
machine Job {
    param lock: Lock
    initial state Idle
            state Waiting
            state Done
    event begin, end, stop from environment
    Idle -> Waiting on begin do lock.take
    Waiting -> Done on end do lock.take
    Idle on stop do lock.lose
}
system S {
    lock: Lock
    job: Job { lock = lock }
    invariant idle: job in Idle
    property ends: job in Waiting ~> job in Done
    may rest when job in Done
}
"""
TAKE, LOSE = "`take` is unhandled in `Held` of `Lock`", "`lose` is unhandled in `Free` of `Lock`"
CAUSED = f"its run goes no further because of a fault; repair it first: {TAKE}"


def test_a_fault_that_ends_the_run_of_a_property_comes_directly_before_it() -> None:
    """The other fault has a shorter run, but no property ends in it."""
    assert titles(CUT_OFF) == ["invariant idle", TAKE, "property ends", LOSE]
    idle, take, ends, lose = groups(CUT_OFF)
    assert [g.ends_in for g in (idle, take, lose)] == [()] * 3
    assert [g.title for g in ends.ends_in] == [TAKE]
    assert ends.details == (CAUSED,)


def test_a_property_that_its_runs_violate_by_themselves_ends_in_no_fault() -> None:
    text = CUT_OFF.replace("Waiting -> Done on end do lock.take", "Waiting on end")
    assert titles(text) == ["invariant idle", "property ends", LOSE]
    assert groups(text)[1].details == ()


def test_a_property_that_ends_in_several_faults_comes_behind_all_of_them() -> None:
    more = "Waiting on stop do lock.lose"
    lines = CUT_OFF.replace("Idle on stop do lock.lose", more)
    lose = LOSE.replace("Free", "Held")
    assert titles(lines) == ["invariant idle", TAKE, lose, "property ends"]
    together = f"its run goes no further because of 2 faults; repair them first: {TAKE}; {lose}"
    assert groups(lines)[-1].details == (together,)


def test_of_many_faults_that_end_a_run_the_first_are_named() -> None:
    events = [f"e{n}" for n in range(5)]
    text = CUT_OFF.replace("take, lose", f"take, {', '.join(events)}").replace(
        "event begin", f"event {', '.join(events)}, begin"
    )
    sends = "  ".join(f"Waiting on {e} do lock.{e}" for e in events)
    p = groups(text.replace("Idle on stop do lock.lose", sends))[-1]
    assert (p.title, len(p.ends_in)) == ("property ends", 6)
    assert p.end[0].startswith(
        "its run goes no further because of 6 faults; repair them first: `e0` is unhandled in `Held`"
    )
    assert p.end[0].endswith("`e2` is unhandled in `Held` of `Lock` and 3 more")


def test_a_recovery_that_fails_comes_behind_its_fault() -> None:
    text = """
    machine Node { durable n: 0..1  initial state Up  volatile state Busy  event work, rest from environment
                   Up -> Busy on work  Busy -> Up on rest }
    system S { node: Node  environment { node.work node.rest crash }  property p: recovers on n }
    """
    lost, recovery = groups(text)
    assert (lost.subject.fault, recovery.title) == ("lost", "property p")
    assert recovery.ends_in == (lost,)


@pytest.mark.parametrize(
    ("offers", "message"),
    [
        ("m.set(m.o.n)", "then every possible step fails: `m.o` (none)"),
        ("m.over", "then every possible step fails: `m.over` (range)"),
        ("m.over crash", "then every possible step except a crash fails: `m.over` (range)"),
        ("m.over m.up", ""),
    ],
    ids=["an event without a value", "a step", "a crash is possible", "another step is possible"],
)
def test_what_counts_as_a_step_that_is_possible_at_the_end_of_a_run(offers: str, message: str) -> None:
    text = f"""
    machine M {{ o: M?  n: 0..1  initial persistent state A  event up, over, set(k: 0..1) from environment
                 A on set(k) do n = k  A on over do n = n + 2  A on up  A -> A on crash }}
    system S {{ m: M  environment {{ {offers} }}  may rest when true
               property p: eventually m.n == 1 under finitely many crashes }}
    """
    model = compiled(text)
    (system,) = model.systems.values()
    (v,) = (v for v in explore(model, system).verdicts if v.kind == "property")
    assert ([line for line in v.explanation if line.startswith("then every")], len(v.ends_in)) == (
        [message] * bool(message),
        bool(message),
    )
    (p,) = (g for g in groups(text) if g.title == "property p")
    assert groups(text).index(p) == len(p.ends_in) == bool(message)


def test_every_format_lists_the_fault_before_the_property(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a format lists groups, and where it says what is wrong in one."""
    monkeypatch.chdir(tmp_path)
    Path("cut.fsm").write_text(CUT_OFF.replace("invariant idle: job in Idle", ""))
    text, sarif, junit, gitlab, markdown = (
        verify("cut.fsm", "--format", form) for form in ("text", "sarif", "junit", "gitlab", "markdown")
    )
    data = json.loads(verify("cut.fsm", "--format", "json"))["systems"][0]["groups"]
    assert [(g["name"], g["ends_in"]) for g in data] == [(None, []), ("ends", [0]), (None, [])]
    heads = [line.partition(" (")[0] for line in text.splitlines() if line.startswith("  violated: ")]
    assert heads == [f"  violated: {TAKE}", "  violated: property ends", f"  violated: {LOSE}"]
    messages = [x["message"]["text"] for x in json.loads(sarif)["runs"][0]["results"]]
    issues = [x["description"] for x in json.loads(gitlab)]
    cases = [x.get("name") for x in ElementTree.fromstring(junit).iter("testcase")]
    for listed in (messages, issues):
        assert ["`take`" in listed[0], CAUSED in listed[1], "`lose`" in listed[2]] == [True] * 3
    assert cases[:3] == [TAKE, "property ends", LOSE]
    assert markdown.index("`take` reaches") < markdown.index(CAUSED) < markdown.index("`lose` reaches")
    report = CliRunner().invoke(cli, ["report", "cut.fsm", "-o", "out"])
    assert report.exit_code == 1
    attention = re.findall(r'<a href="#cut.S-run-\d">(.*?)</a>', Path("out/index.html").read_text())
    assert [re.sub("<.*?>", "`", x).removeprefix("`cut.S`: ") for x in attention[:3]] == [TAKE, "property ends", LOSE]


# What an author is told of it ----------------------------------------------------------------------------------------

E = "initial state A  event e from environment"
OTHER = "machine N { param m: M  initial state A  event g from environment  A on g do m.f } "


@pytest.mark.parametrize(
    ("body", "title"),
    [
        (f"{E}  event f from N  state B  A -> B on e  A on f", "`f` is unhandled in `B` of `M`"),
        (f"{E}  event f from N  async action ask -> ok  A on e do ask  A on f  A on ask.ok",
         "`f` arrives while `M` waits for the answer to `ask`"),
    ],
    ids=["unhandled", "busy"],
)  # fmt: skip
def test_an_event_that_is_not_taken_has_a_title(body: str, title: str) -> None:
    assert titles(f"machine M {{ {body} }} {OTHER} system S {{ m: M  n: N {{ m = m }} }}") == [title]


@pytest.mark.parametrize(
    ("body", "title"),
    [
        (f"{E}  one: A on e  two: A on e when true", "`one` and `two` of `M` overlap in `A`"),
        (f"{E}  xs: list<0..1>[1]  go: A on e do xs = xs + [1]", "`xs` gets too long in `go` of `M` (test.fsm:1:"),
        (f"{E}  n: 0..3  go: A on e do n = 1 / n", "division by zero in `go` of `M` (test.fsm:1:"),
        (f"{E}  event f from M  m: M?  go: A on e do m.f  A on f", "`m` is none in `go` of `M` (test.fsm:1:"),
        (f"{E}  event f from M  m: M?  go: A on e do {{ m = self  m.f }}  A on f",
         "`M` receives `f` in the middle of its own transition"),
        (f"{E}  n: 0..1  go: A on e do n = 2 - n", "`n` is out of range in `go` of `M` (test.fsm:1:"),
        (f"{E}  n: bool  A on e do n = not n  again: A when n", "the round of `M` does not end"),
        (f"{E}  n: 0..1  state B  A -> B on e  B -> A on e  on entry(B) do n = n + 1",
         "`n` is out of range in `entry(B)` of `M` (test.fsm:1:"),
    ],
    ids=["overlap", "overflow of a list", "division", "none", "reentrance", "range", "endless", "hook"],
)  # fmt: skip
def test_each_kind_of_fault_has_a_title(body: str, title: str) -> None:
    (only,) = titles(f"machine M {{ {body} }} system S {{ m: M }}")
    assert only.startswith(title)


def test_a_state_that_does_not_survive_a_crash_is_a_group_for_its_machine() -> None:
    text = """
    machine M { initial volatile state A  volatile state B  event e from environment  A -> B on e  B -> A on e }
    system S { m: M  environment { m.e  crash } }
    """
    assert titles(text) == ["a crash finds `M` in 2 states that do not survive one"]


# The library ---------------------------------------------------------------------------------------------------------

LIBRARY = """module library
machine Shelf {
    n: 0..1
    initial state A
    event put, jump
    put: A on put do n = n + 1
    jump: A on jump
    invariant low: n == 0
}
"""
USER = """module user
import library { Shelf }
machine Clerk {
    param shelf: Shelf
    initial state A
    event work, rest from environment
    work: A on work do shelf.put
    rest: A on rest
}
system Shop {
    shelf: Shelf
    clerk: Clerk { shelf = shelf }
    environment { clerk.work  clerk.rest }
}
"""


def test_a_row_of_the_library_is_not_the_cause_where_a_row_of_the_authors_led_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "library.fsm").write_text(LIBRARY)
    (tmp_path / "user.fsm").write_text(USER)
    model = load([tmp_path / "user.fsm"]).model
    assert model is not None
    x = shortest(explore(model, model.systems["user.Shop"]))
    for module in (groups_module, causes_module):
        monkeypatch.setattr(module, "shipped", lambda path: str(path).endswith("library.fsm"))
    place = f"{tmp_path / 'user.fsm'}:7:5"
    low, high = violation_groups(x, model)
    assert low.heading == f"after `work` of `Clerk` ({place}), invariant Shelf: low"
    assert high.heading.startswith(f"after `work` of `Clerk` ({place}), `n` is out of range in `put` of `Shelf`")
    assert high.details == (f"in the library: `put` of `Shelf` ({tmp_path / 'library.fsm'}:6:5)",)
    assert (low.span, high.span) == (high.led_by and high.led_by.span,) * 2
    assert {c.name for c in causes(x, model).values()} == {"user.Clerk work"}


# The terminal --------------------------------------------------------------------------------------------------------


def verify(*arguments: str, code: int = 1) -> str:
    done = CliRunner().invoke(cli, ["verify", *arguments])
    assert done.exit_code == code, done.output
    return done.stdout


@pytest.mark.parametrize("columns", [None, "80"])
def test_a_first_verdict_fits_on_a_screen(columns: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.chdir(GOLDEN)
    lines = verify("kitchen.fsm").splitlines()
    assert len(lines) <= SCREEN
    heads = [line for line in lines if line.startswith("  violated: ")]
    assert heads[0].startswith("  violated: invariant one_pan")
    assert sum("0  start" in line for line in lines) <= 3


def test_a_remedy_is_printed_once_whatever_the_authors_properties_are_called(tmp_path: Path) -> None:
    """Verdicts on failing steps go by their kind, and an invariant may be called the same."""
    (tmp_path / "x.fsm").write_text("""module x
machine Lamp {
    initial state Off
    state On
    event press, hold from Hand
    Off -> On on press
}
machine Hand {
    param lamp: Lamp
    initial state Idle
    event push, keep from environment
    Idle on push do lamp.press
    Idle on keep do lamp.hold
}
system S { lamp: Lamp  hand: Hand { lamp = lamp }  invariant unhandled: lamp in Off }
""")
    printed = CliRunner().invoke(cli, ["verify", str(tmp_path)]).stdout
    assert "violated: invariant unhandled" in printed
    assert printed.count("see `fsm explain unhandled`") == 1


def test_a_run_that_is_long_is_shown_with_its_steps_alone() -> None:
    text = verify(str(KITCHEN.relative_to(ROOT)), "--shortest")
    assert "  violated: invariant one_rider (the shortest run: 10 steps)\n     0  start" in text
    model = compiled(LONG)
    (system,) = model.systems.values()
    lines = list(details(explore(model, system), model))
    worlds = [line for line in lines if "0  start" in line]
    steps = [line for line in lines if re.fullmatch(r" +\d+  m\.e", line)]
    assert (len(worlds), len(steps)) == (1, 9), "the first run has worlds, the second its steps alone"
    at = lines.index(
        "  violated as well, with the same cause as invariant second (`fsm verify --runs` shows every run in full):"
    )
    assert lines[at + 1] == "    14 steps: invariant last"


def hints(model: m.Model, style: Style) -> list[str]:
    """What is said of `--runs`."""
    (system,) = model.systems.values()
    lines = details(explore(model, system), model, style=style)
    return [line.strip() for line in lines if "--runs" in line]


def test_the_hint_says_that_runs_are_shown_in_full_only_where_some_are_not() -> None:
    in_full = "`fsm verify --runs` shows every run in full"
    long = compiled(LONG)
    only_two = LONG.replace("    invariant last: m.n < 14 or n in B", "    may rest when true")
    fitting, two = compiled(only_two), compiled(only_two.replace("m.n < 9", "m.n < 12"))
    assert hints(fitting, Style()) == [], "a second run may be as long as two that would follow"
    assert hints(long, Style())[0].endswith(f"({in_full}):")
    assert hints(long, Style(brief=True))[0].endswith("(`fsm verify --runs` shows the runs):")
    assert hints(two, Style()) == [f"note: of some runs, only the steps are shown ({in_full})"]
    assert hints(two, Style(brief=True)) == hints(two, Style(runs=True)) == hints(long, Style(runs=True)) == []


LONG = """
machine M {
    n: 0..20
    initial state A
    event e from environment
    A on e when n < 20 do n = n + 1
}
machine N { initial state A  state B  event e from environment  A -> B on e }
system S {
    m: M
    n: N
    invariant first: n in A
    invariant second: m.n < 9 or n in B
    invariant last: m.n < 14 or n in B
}
"""


def test_the_limit_of_the_search_for_simple_runs_is_a_single_note(tmp_path: Path) -> None:
    model = compiled(KITCHEN.read_text())
    (system,) = model.systems.values()
    x = shortest(explore(model, system), "stopped after 1 seconds")
    notes = [line for line in details(x, model) if "stopped after 1 seconds" in line]
    assert len(notes) == 1
    assert notes[0].startswith("  note: there may be simpler runs for ")


def test_after_a_violation_it_is_said_what_was_explored_and_what_may_be_missing() -> None:
    model = compiled(LONG)
    (system,) = model.systems.values()
    x = explore(model, system, Limits(after_violation=5))
    assert x.at_violation
    (note,) = (line for line in details(x, model) if "explored" in line)
    assert note == (
        f"  note: explored every run of up to {x.depth - 1} steps; violations that need longer runs may be missing "
        "(`fsm verify --all` continues)"
    )


# Golden files --------------------------------------------------------------------------------------------------------


@cache
def printed(name: str, form: str = "text") -> str:
    """What is printed of a model, with no times in it. The shortest runs: they do not depend on time."""
    text = verify(MODELS[name], "--as-documented", "--shortest", "--jobs", "1", "--format", form)
    return re.sub(r'(?<=time=")[\d.]+', "0.00", re.sub(r"\d+\.\d\d s", "0.00 s", text))


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def golden(name: str, content: str) -> None:
    path = GOLDEN / name
    if os.environ.get("UPDATE"):
        path.write_text(content)
    assert content == path.read_text()


@pytest.mark.parametrize("name", MODELS)
def test_the_text_of_models_with_many_violations(name: str) -> None:
    golden(f"{name}.txt", printed(name))


def test_no_model_has_more_runs_than_three_for_a_system() -> None:
    for name in MODELS:
        for system in re.split(r"^(?=\w)", printed(name), flags=re.MULTILINE):
            assert len(re.findall(r"^ +0  start", system, re.MULTILINE)) <= 3


def runs_left_out(markdown: str) -> str:
    return re.sub(r"<details><summary>The run</summary>.*?</details>", "(the run)", markdown, flags=re.DOTALL)


def grouped_json(text: str) -> str:
    """Of each system what was explored and its groups."""
    systems = json.loads(text)["systems"]
    keys = ("name", "verdict", "explored", "groups")
    return json.dumps([{key: x[key] for key in keys} for x in systems], indent=1, ensure_ascii=False) + "\n"


def grouped_sarif(text: str) -> str:
    """Of each result its place, its message and its group."""
    results = json.loads(text)["runs"][0]["results"]
    return "".join(f"{sarif_place(x)} {x['level']} {x['message']['text']}\n  {x.get('properties')}\n" for x in results)


def sarif_place(result: Any) -> str:
    place = result["locations"][0]["physicalLocation"]
    return f"{place['artifactLocation']['uri']}:{place['region']['startLine']} {result['ruleId']}"


def junit_cases(text: str) -> str:
    """Of each case its name, its outcome and the message."""
    cases = ElementTree.fromstring(text).iter("testcase")
    return "".join(f"{x.get('classname')} | {x.get('name')}{junit_outcome(x)}\n" for x in cases)


def junit_outcome(case: ElementTree.Element) -> str:
    return "".join(f" | {x.tag}: {x.get('message')}" for x in case if x.tag != "properties")


@pytest.mark.parametrize("name", SOME)
def test_the_other_formats_of_models_with_many_violations(name: str) -> None:
    golden(f"{name}.md", runs_left_out(printed(name, "markdown")))
    golden(f"{name}.json", grouped_json(printed(name, "json")))
    golden(f"{name}.sarif.txt", grouped_sarif(printed(name, "sarif")))
    golden(f"{name}.junit.txt", junit_cases(printed(name, "junit")))
    golden(f"{name}.concise.txt", printed(name, "concise"))


@pytest.mark.parametrize("name", SOME)
def test_every_format_has_the_same_groups_in_the_same_order(name: str) -> None:
    systems = json.loads(printed(name, "json"))["systems"]
    of_json = [g["title"] for x in systems for g in x["groups"]]
    cases = [
        x for x in ElementTree.fromstring(printed(name, "junit")).iter("testcase") if x.find("failure") is not None
    ]
    assert [x.get("name") for x in cases] == [t.replace("deadlock", "no deadlock") for t in of_json]
    results = json.loads(printed(name, "sarif"))["runs"][0]["results"]
    of_sarif = [x["properties"]["group"] for x in results if "group" in x.get("properties", {})]
    sizes = [(g["title"], len(g["verdicts"])) for x in systems for g in x["groups"]]
    assert of_sarif == [title for title, size in sizes for _ in range(size)]
    errors = [line for line in printed(name, "concise").splitlines() if ": error[" in line]
    assert len(errors) == len(of_json)
    quality = [x for x in json.loads(printed(name, "gitlab")) if x["severity"] == "critical"]
    assert len(quality) == len(of_json)
    assert len({x["fingerprint"] for x in quality}) == len(quality)
    assert printed(name, "markdown").count("✗ **FSM") == min(len(of_json), 20)


def test_code_quality_knows_a_group_again_when_part_of_it_is_repaired(tmp_path: Path) -> None:
    """Two states less in which an event is unhandled are no new finding."""
    spec = tmp_path / "quality.fsm"

    def quality() -> list[tuple[str, str]]:
        found = json.loads(verify(str(spec), "--format", "gitlab"))
        return [(x["fingerprint"], x["description"]) for x in found if "unhandled" in x["description"]]

    text = """module quality
    machine Job {
        initial state A  state B  state C  state D
        event go from environment
        event stop from Boss
        A -> B on go  B -> C on go  C -> D on go  D -> A on go
        HANDLED
    }
    machine Boss { param job: Job  initial state On  event tell from environment  On on tell do job.stop }
    system One { job: Job  boss: Boss { job = job } }
    """
    spec.write_text(text.replace("HANDLED", ""))
    ((name, description),) = quality()
    assert "4 states" in description
    spec.write_text(text.replace("HANDLED", "A, B on stop"))
    ((same, description),) = quality()
    assert "2 states" in description
    assert same == name


def test_each_verdict_of_json_names_its_group() -> None:
    for x in json.loads(printed("kitchen", "json"))["systems"]:
        for n, v in enumerate(x["verdicts"]):
            assert (v["group"] is not None) == (v["outcome"] == "violated")
            assert v["group"] is None or n in x["groups"][v["group"]]["verdicts"]


# The report and the editor -------------------------------------------------------------------------------------------


class Rows(HTMLParser):
    """The text of the verdicts of each system, and of the headings of runs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.path: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        kind = dict(attributes).get("class") or ""
        if tag == "tr" and any(x == "verdicts" for x in self.path):
            self.lines.append("-")
        elif tag == "h3" or (tag == "summary" and "more-runs" in self.path[-1:]):
            self.lines.append("#" if tag == "h3" else "##")
        if tag in ("table", "details"):
            self.path.append(next((x for x in ("verdicts", "more-runs") if x in kind.split()), ""))
        elif tag in ("h3", "summary"):
            self.path.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("table", "details", "h3", "summary"):
            self.path.pop()

    def handle_data(self, data: str) -> None:
        inside = self.path[-1:] in (["verdicts"], ["h3"]) or self.path[-2:] == ["more-runs", "summary"]
        if inside and data.strip():
            self.lines[-1] += f" {' '.join(data.split())}"


def report_rows(name: str, folder: Path) -> str:
    out = folder / "report"
    arguments = [MODELS[name], "--as-documented", "--out", str(out), "--jobs", "1"]
    CliRunner().invoke(cli, ["report", *arguments])
    rows = Rows()
    rows.feed((out / "index.html").read_text())
    kinds = ("- violated", "# violated", "##")
    return "\n".join(x for x in rows.lines if x.startswith(kinds)) + "\n"


@pytest.mark.parametrize("name", ["kitchen", *today(["shim", "core", "gangs"])])
def test_the_report_of_models_with_many_violations(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_command, "with_runs", partial(with_runs, simple=False))
    golden(f"{name}.report.txt", report_rows(name, tmp_path))


def test_the_report_folds_the_other_runs_of_a_group(tmp_path: Path) -> None:
    rows = report_rows("kitchen", tmp_path).splitlines()
    assert "# violated called is unhandled in 9 states of Order" in rows
    assert "## 8 more runs: called is unhandled in 9 states of Order" in rows
    assert sum("is unhandled" in x and x.startswith("- ") for x in rows) == 2


def editor_marks() -> tuple[list[Mark], Explored]:
    worker = Worker(SimpleQueue(), BytesIO())
    answers = worker._answers = BytesIO()
    request = Request(1, ("k.fsm",), {"k.fsm": KITCHEN.read_text()}, None, 100_000, 3600.0)
    worker._take(request)
    worker._answer(request)
    end = answers.tell()
    answers.seek(0)
    findings = None
    while answers.tell() < end:
        findings = pickle.load(answers)
    return list(findings.marks), findings.systems["kitchen.Evening"]


def test_the_editor_shows_a_group_once_and_knows_the_run_of_each_violation() -> None:
    marks, explored = editor_marks()
    violations = [x for x in marks if x.verdict is not None]
    published = [x for x in violations if x.is_published]
    assert [x.message for x in published if "called" in x.message] == [
        "in `Evening`, `called` is unhandled in 9 states of `Order` (unhandled)"
    ]
    assert len(published) == len(explored.data["groups"])
    (called,) = (x for x in published if "called" in x.message)
    assert {x.state for x in called.unheard} == {"Draft", "Paid", "Cooking", "Packed", "Riding", "Late", "Delivered",
                                                 "Refunded", "Closed"}  # fmt: skip
    broken = {n for n, v in enumerate(explored.data["verdicts"]) if v["outcome"] == "violated"}
    assert {x.verdict for x in violations} == broken
    stories = [x.story for x in violations if x.story]
    assert len(set(stories)) == len(stories), "each violation has its own run"
    assert set(explored.runs) == {n for n in broken if explored.data["verdicts"][n]["trace"] is not None}


def test_one_fix_ignores_an_event_in_all_states_of_a_group() -> None:
    marks, _ = editor_marks()
    document = read_document(Source("k.fsm", KITCHEN.read_text()))
    analysis = analyse({"k.fsm": document}, Memory(), checking=False)
    titles = {x.title: x.edits for x in heard(analysis, [m for m in marks if "called" in m.message])}
    assert "ignore `called` in `Cooking` of Order" in titles
    (edit,) = titles["ignore `called` in these 9 states of Order"]
    assert "ignore called in Draft, Paid, Cooking" in edit.text


# What has no name ----------------------------------------------------------------------------------------------------

UNNAMED = """
machine Door {
    n: 0..3
    initial state Open
    event push from environment
    Open on push when n < 3 do n = n + 1
    invariant n < 2
}
system S {
    doors: Door[2]
    may rest when true
    invariant doors[0].n + doors[1].n < 6 and doors[0].n + doors[1].n < 5 and true  // too long
    reachable doors[0].n > 3 or false
    property eventually doors[0].n == 1 and doors[1].n == 0
}
"""
SHOWN = (
    "Door: `n < 2`",
    "`doors[0].n + doors[1].n < 6 and doors[0].n + doors[1].n < 5…`",
    "`doors[0].n > 3 or false`",
    "`eventually doors[0].n == 1 and doors[1].n == 0`",
)


@pytest.mark.parametrize("form", ["text", "concise", "json", "sarif", "junit", "github", "gitlab", "markdown"])
def test_what_has_no_name_is_shown_by_its_condition(form: str, tmp_path: Path) -> None:
    spec = tmp_path / "unnamed.fsm"
    spec.write_text(UNNAMED)
    output = html.unescape(CliRunner().invoke(cli, ["verify", str(spec), "--format", form]).output)
    texts = json.dumps(json.loads(output), ensure_ascii=False) if form in ("json", "sarif", "gitlab") else output
    texts = texts.replace("\\", "").replace("#96;", "`").replace("#60;", "<")
    assert [x for x in SHOWN if x not in texts] == []
    numbered = re.findall(r"(?:invariant|reachable|property) [12]", texts)
    assert {*numbered} == ({"invariant 1", "reachable 1", "property 1"} if form == "json" else set())


def test_a_condition_without_a_name_keeps_its_identifier() -> None:
    model = compiled(UNNAMED)
    (system,) = model.systems.values()
    names = {v.name: v.label for v in explore(model, system).verdicts if v.is_own}
    assert names == {
        "invariant 1": f"invariant {SHOWN[1]}",
        "Door: invariant 1": f"invariant {SHOWN[0]}",
        "reachable 1": f"reachable {SHOWN[2]}",
        "property 1": f"property {SHOWN[3]}",
    }
    unknown = explore(model, system, Limits(seconds=0)).verdicts
    assert {v.name: v.label for v in unknown if v.is_own} == names


def test_what_is_violated_so_far_is_named_in_the_same_way() -> None:
    model = compiled(UNNAMED.replace("Door[2]", "Door[9]"))
    (system,) = model.systems.values()
    reports: list[Progress] = []
    explore(model, system, Limits(states=20_000), means=Means(compiled=False, workers=1), progress=reports.append)
    assert f"invariant {SHOWN[0]} after 2 steps" in {text for x in reports for text in x.violated}


# What is never reachable ---------------------------------------------------------------------------------------------


def pair(formula: str) -> m.Model:
    return compiled(pair_text(formula))


def pair_text(formula: str) -> str:
    return f"""
    machine M {{ n: 0..3  initial state A  state B  event e from environment  A -> B on e  B -> A on e }}
    system S {{ ms: M[2]  reachable x: {formula} }}
    """


@pytest.mark.parametrize("means", [Means(), Means(compiled=False, workers=1)], ids=["any engine", "plain"])
@pytest.mark.parametrize(
    ("formula", "lines"),
    [
        ("ms[0].n == 2", ()),
        ("some m in ms: m.n == 2", ()),
        ("ms[0] in B and ms[1].n == 2", ("`ms[1].n == 2` is never true",)),
        ("ms[0].n == 1 and (ms[0] in B and ms[1].n == 2)",
         ("`ms[0].n == 1` is never true", "`ms[1].n == 2` is never true")),
        ("ms[0] in B and ms[0] in A", ("each part is true in some state, but never all of them at once",)),
        ("all m in ms: m.n == 1", ("`m.n == 1` is never true of any `m`",)),
        ("all m in ms: m in B and m.n == 1", ("`m.n == 1` is never true of any `m`",)),
    ],
)  # fmt: skip
def test_what_is_never_reachable_says_so_and_which_part_never_holds(
    formula: str, lines: tuple[str, ...], means: Means
) -> None:
    model = pair(formula)
    (system,) = model.systems.values()
    (v,) = (v for v in explore(model, system, means=means).verdicts if v.kind == "reachable")
    assert (v.outcome, v.explanation) == ("violated", (f"`{formula}` is never true", *lines))


@pytest.mark.parametrize("formula", ["ms[0].n == 2", "ms[0] in B and ms[0] in A", "all m in ms: m.n == 1"])
def test_every_format_says_of_a_violated_reachable_that_it_is_never_true(formula: str, tmp_path: Path) -> None:
    spec = tmp_path / "pair.fsm"
    spec.write_text(pair_text(formula))
    formats = {
        of: CliRunner().invoke(cli, ["verify", str(spec), "--format", of]).output
        for of in ("text", "json", "sarif", "junit", "github", "gitlab", "markdown")
    }
    assert [of for of, output in formats.items() if f"`{formula}` is never true" not in output] == []
    assert CliRunner().invoke(cli, ["report", str(spec), "--out", str(tmp_path / "out")]).exit_code == 1
    assert "is never true" in (tmp_path / "out" / "index.html").read_text("utf-8")


def test_of_a_search_that_was_cut_short_no_part_is_called_never_true() -> None:
    model = pair("ms[0] in B and ms[1].n == 2")
    (system,) = model.systems.values()
    (v,) = (v for v in explore(model, system, Limits(states=2)).verdicts if v.kind == "reachable")
    assert (v.outcome, v.explanation) == ("unknown", ())
