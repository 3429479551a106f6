"""`refines`: every step of a system is a step of another, or changes nothing of what that would look like."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from random_refinement import Example, example
from stepping import compiled
from tiers import enough, today

from fsmdsl import model as m
from fsmdsl.cli.parser import cli
from fsmdsl.editor.editing import completions
from fsmdsl.graphs import states
from fsmdsl.interop.second_opinion.compare import compare
from fsmdsl.interop.second_opinion.opinion import Opinion
from fsmdsl.model.resolve import Memory, resolve
from fsmdsl.report.compare.parts import of_system
from fsmdsl.runs import refinement
from fsmdsl.runs.liveness.grounding import questions
from fsmdsl.runs.verdicts.judge import judge
from fsmdsl.search import Limits, Means, Verdict, diagnostics, explore
from fsmdsl.search.definition_search import Search
from fsmdsl.step import Universe, enabled, fire
from fsmdsl.syntax.parse import parse
from fsmdsl.text.budget import Budget
from fsmdsl.text.source import Source

LAMPS = """
machine Lamp {
    light: 0..2
    initial state Off
    state On
    event up, down from environment
    Off -> On on up do light = 1
    On -> Off on down do light = 0
}
machine Relay {
    count: 0..3
    initial state Open
    state Closing
    state Closed
    event push, close, release, count_up from environment
    Open -> Closing on push
    Closing -> Closed on close
    Closed -> Open on release
    Open on count_up when count < 3 do count = count + 1
}
system Plan { lamp: Lamp }
"""

BUILT = LAMPS + "system Built refines Plan { relay: Relay %s }"

ROWS = """
    map lamp in On when relay in Closed
    map lamp in Off
    map lamp.light = if relay in Closed then 1 else 0
"""


def verdict(text: str, system: str = "Built", limits: Limits | None = None, **how: Any) -> Verdict:
    """What is said of `refines`, by both searches."""
    model = compiled(text)
    (found,) = (x for x in model.systems.values() if x.name == system)
    packed = explore(model, found, limits, **how)
    universe = Universe(model, found)
    by_definition = Search(universe, limits or Limits(), None, questions(universe))
    by_definition.run()
    (a,), (b,) = ([v for v in x if v.kind == "refinement"] for x in (packed.verdicts, judge(by_definition)))
    assert (a.outcome, length(a), a.images) == (b.outcome, length(b), b.images)
    return a


def length(v: Verdict) -> int | None:
    return None if v.trace is None else len(v.trace.entries)


def steps(v: Verdict) -> list[str]:
    """The counterexample, which must be a run of the system."""
    assert v.trace is not None
    world = v.trace.start
    for entry in v.trace.entries:
        assert isinstance(v.trace.roster, Universe)
        assert entry.step in enabled(v.trace.roster, world)
        world = fire(v.trace.roster, world, entry.step).world
        assert world == entry.world
    return v.trace.steps()


def seen(v: Verdict) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The states of the refined system's instances before and after the step."""
    assert v.images is not None
    return v.images.before.states, v.images.after.states


# What refines, and mutations of it -----------------------------------------------------------------------------------


def test_steps_of_the_other_and_steps_that_change_nothing_there() -> None:
    found = verdict(BUILT % ROWS)
    assert (found.outcome, found.basis, found.label) == ("holds", "exhaustive: 12 states", "refines Plan")
    assert [x.partition(" (")[0] for x in found.explanation] == [
        "only ever stutters: Relay push", "only ever stutters: Relay count_up",
    ]  # fmt: skip


def test_a_first_state_that_is_different() -> None:
    rows = "map lamp in On when relay in {Open, Closed} map lamp in Off map lamp.light = 0"
    found = verdict(BUILT % rows)
    assert (found.outcome, steps(found)) == ("violated", [])
    assert found.explanation == ("its initial state is not an initial state of `Plan`: lamp: Off → On",)
    assert seen(found) == (("Off",), ("On",))


def test_a_step_too_many() -> None:
    """A relay that counts is not seen; one whose count is the light is."""
    found = verdict(BUILT % ROWS.replace("else 0", "else relay.count / 3"))
    assert (found.outcome, steps(found)) == ("violated", ["relay.count_up"] * 3)
    assert found.explanation == (
        "the last step changes lamp.light: 0 → 1, but no step of `Plan` does that",
        "`Plan` can do `lamp.up` there: lamp: Off → On, lamp.light: 0 → 1",
    )


def test_a_field_that_is_wrong() -> None:
    found = verdict(BUILT % ROWS.replace("then 1", "then 2"))
    assert (found.outcome, steps(found)) == ("violated", ["relay.push", "relay.close"])
    assert found.images is not None
    assert (found.images.before.fields, found.images.after.fields) == (((0,),), ((2,),))


def test_two_steps_at_once() -> None:
    """Each of two lamps changes by a step of its own; two of them do not change in one."""
    text = LAMPS.replace("lamp: Lamp", "lamps: Lamp[2]") + BUILT[len(LAMPS) :] % ROWS.replace("lamp", "lamps[i]")
    found = verdict(text)
    assert (found.outcome, steps(found)) == ("violated", ["relay.push", "relay.close"])
    assert seen(found) == (("Off", "Off"), ("On", "On"))
    assert [x.split("`")[3] for x in found.explanation[1:]] == ["l0.up", "l1.up"]


def test_of_many_steps_of_the_other_the_nearest_come_first() -> None:
    text = LAMPS.replace("lamp: Lamp", "lamps: Lamp[8]") + (
        "system Built refines Plan { relays: Relay[8] map lamps[i] in On when relays[i] in Closed map lamps[i] in Off"
        " map lamps[i].light = if relays[i] in Closed then 2 else 0 environment { relays[6].push relays[6].close } }"
    )
    found = verdict(text)
    assert steps(found) == ["r6.push", "r6.close"]
    assert found.explanation[1] == "`Plan` can do `l6.up` there: l6: Off → On, l6.light: 0 → 1"
    assert (len(found.explanation), found.explanation[-1]) == (8, "and 2 other steps")


def test_a_state_for_which_no_row_is_true() -> None:
    found = verdict(BUILT % ROWS.replace("map lamp in Off", "map lamp in Off when relay in Open"))
    assert (found.outcome, steps(found)) == ("violated", ["relay.push"])
    assert found.explanation == ("no row says in which state `lamp` is",)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("relay.count", "`lamp.light` would be 3, which `light: 0..2` cannot be"),
        ("if relay.count == 3 then 1 / (relay.count - 3) else 0", "cannot determine what `lamp.light` is: "),
    ],
)
def test_a_field_without_a_value(value: str, told: str) -> None:
    brighter = "Off on more do light = light + 1 On -> Off on down"
    text = BUILT.replace("On -> Off on down", brighter).replace("event up,", "event more, up,")
    found = verdict(text % f"map lamp in Off map lamp.light = {value}")
    assert (found.outcome, steps(found)) == ("violated", ["relay.count_up"] * 3)
    assert found.explanation[0].startswith(told)


def test_rows_are_tried_in_order() -> None:
    """The row above counts: with the first two exchanged, a relay that closes is a lamp that is off."""
    in_order = "map lamp in On when relay in Closed map lamp in Off when relay in {Closed, Closing} map lamp in Off"
    light = "map lamp.light = if relay in Closed then 1 else 0"
    assert verdict(BUILT % f"{in_order} {light}").outcome == "holds"
    other = "map lamp in Off when relay in {Closed, Closing} map lamp in On when relay in Closed map lamp in Off"
    assert verdict(BUILT % f"{other} {light}").outcome == "violated"


def test_a_mapping_by_which_nothing_is_seen_is_vacuous() -> None:
    text = BUILT % "map lamp in Off map lamp.light = 0"
    found = verdict(text)
    assert found.outcome == "holds"
    assert found.explanation == (
        "vacuous: no step of `Built` corresponds to a step of `Plan`: the mapped state never changes",
    )
    model = compiled(text)
    told = diagnostics(explore(model, model.systems["test.Built"]))
    assert [(d.rule.code, d.message.partition(",")[0]) for d in told] == [("FSM306", "`refines Plan` holds in `Built`")]


def test_a_violation_is_reported_where_it_is_said_that_it_refines() -> None:
    model = compiled(BUILT % ROWS.replace("then 1", "then 2"))
    (told,) = diagnostics(explore(model, model.systems["test.Built"]))
    assert (told.rule.code, told.span.text, told.message) == ("FSM310", "Plan", "`Built` does not refine `Plan`")
    assert told.run == "run: relay.push, then relay.close"


# The same in both ----------------------------------------------------------------------------------------------------

BOTH = """
channel orders: fifo[2] to Cook
machine Table { number: 0..1 = 0 initial state Laid }
machine Guest {
    table: Table?
    initial state Hungry
    state Waiting
    event sit(t: Table) from environment
    event ask from environment
    Hungry on sit(t) do table = t
    Hungry -> Waiting on ask when table != none do send orders.order(table)
}
machine Cook {
    cooked: set<Table>
    action fry -> done | burnt
    initial state Free
    state Busy
    event order(t: Table) from orders
    Free -> Busy on order(t) do { add t to cooked; fry }
    Busy -> Free on fry.done
    Busy -> Free on fry.burnt %s
}
machine Clock { at: 0..2 initial state On event tick from environment On on tick do at = (at + 1) %% 3 }
system Plan { tables: Table[2] guest: Guest cook: Cook }
system Built refines Plan { clock: Clock guest: Guest tables: Table[2] cook: Cook }
"""


def test_references_messages_and_answers_of_what_is_the_same_in_both() -> None:
    """The instances have other numbers in the two."""
    assert verdict(BOTH % "").outcome == "holds"


def test_a_crash_is_a_step_of_a_system_that_crashes() -> None:
    crash = "environment { guest.ask some t in tables: guest.sit(t) crash } recover { }"
    text = BOTH % ""
    crashing = text.replace("cook: Cook }", f"cook: Cook {crash} }}")
    assert verdict(crashing).outcome == "holds"
    only_built = crashing.replace(f"cook: Cook {crash} }}", "cook: Cook }", 1)
    found = verdict(only_built)
    assert (found.outcome, steps(found)) == ("violated", ["guest.sit(t0)", "crash"])
    only_plan = text.replace("cook: Cook }", f"cook: Cook {crash} }}", 1)
    assert verdict(only_plan).outcome == "holds"


def test_what_the_environment_may_send_belongs_to_the_comparison() -> None:
    """The system that is refined has an environment of its own."""
    text = BUILT % ROWS
    assert (
        verdict(text.replace("{ lamp: Lamp }", "{ lamp: Lamp environment { lamp.up lamp.down } }")).outcome == "holds"
    )
    found = verdict(text.replace("{ lamp: Lamp }", "{ lamp: Lamp environment { lamp.up } }"))
    assert (found.outcome, steps(found)) == ("violated", ["relay.push", "relay.close", "relay.release"])
    assert found.explanation[1:] == ("`Plan` can do nothing there",)


def test_instances_that_are_interchangeable_are_told_apart() -> None:
    rows = ROWS.replace("lamp", "lamps[i]").replace("relay", "relays[i]")
    plan = LAMPS.replace("lamp: Lamp", "lamps: Lamp[3] symmetric")
    text = f"{plan} system Built refines Plan {{ relays: Relay[3] symmetric {rows} }}"
    model = compiled(text)
    x = explore(model, model.systems["test.Built"])
    (found,) = (v for v in x.verdicts if v.kind == "refinement")
    assert (found.outcome, x.states, x.reduced) == ("holds", 12**3, ())
    assert x.note is not None
    assert "each member is compared with `Plan`" in x.note


def test_a_limit_leaves_it_unknown_and_what_was_found_stays() -> None:
    found = verdict(BUILT % ROWS, limits=Limits(states=8))
    assert (found.outcome, found.basis) == ("unknown", "bounded: stopped at 8 states")
    wrong = BUILT % ROWS.replace("then 1", "then 2")
    assert verdict(wrong, limits=Limits(states=8)).outcome == "violated"
    model = compiled(BUILT % ROWS)
    x = explore(model, model.systems["test.Built"], budget=_spent())
    assert [v.outcome for v in x.verdicts if v.kind == "refinement"] == ["unknown"]


def _spent() -> Budget:
    budget = Budget(0.0)
    budget.stop("stopped after 0 seconds")
    return budget


def test_machine_code_says_the_same() -> None:
    for rows in (ROWS, ROWS.replace("then 1", "then 2")):
        (compiled_one,), plain = (
            [v for v in _explored(BUILT % rows, Means(compiled="hastily")) if v.kind == "refinement"],
            verdict(BUILT % rows),
        )
        assert (compiled_one.outcome, compiled_one.explanation) == (plain.outcome, plain.explanation)


def _explored(text: str, means: Means) -> tuple[Verdict, ...]:
    model = compiled(text)
    return explore(model, model.systems["test.Built"], means=means).verdicts


# The specs -----------------------------------------------------------------------------------------------------------

SPECS = Path(__file__).parent.parent / "specs"


def edited(path: str, *edits: tuple[str, str]) -> m.Model:
    """The specs of a folder, with edits of one file."""
    folder = (SPECS / path).parent
    texts = {x.name: x.read_text("utf-8") for x in sorted(folder.glob("*.fsm"))}
    name = Path(path).name
    for old, new in edits:
        assert texts[name].count(old) == 1
        texts[name] = texts[name].replace(old, new)
    resolved = resolve([parse(Source(name, text)).module for name, text in texts.items()])
    assert resolved.model is not None
    return resolved.model


def refines(model: m.Model, name: str) -> Verdict:
    (found,) = (v for v in explore(model, model.systems[name]).verdicts if v.kind == "refinement")
    return found


REFINING = {
    "hived.gangs.OnCells": "hived/gangs.fsm",
    "yunikorn.core.HardGang": "yunikorn/core.fsm",
    "yunikorn.shim.CoreAndShim": "yunikorn/shim.fsm",
}


@pytest.mark.parametrize("name", REFINING)
def test_systems_of_the_specs_that_refine(name: str) -> None:
    found = refines(edited(REFINING[name]), name)
    assert found.outcome == "holds"
    assert all(x.startswith("only ever stutters: ") for x in found.explanation)


def test_a_victim_whose_pods_still_run_is_seen_as_running() -> None:
    found = refines(edited("hived/gangs.fsm", ("{Allocated, BeingPreempted}", "Allocated")), "hived.gangs.OnCells")
    assert steps(found)[1].startswith("g1.schedule(")
    assert found.explanation[0].endswith("g0: Running → Waiting, but no step of `Gangs` does that")


def test_a_recovered_allocation_takes_an_application_two_steps_on() -> None:
    found = refines(
        edited("yunikorn/core.fsm", ("system SoftGang {", "system SoftGang refines OneApplication {")),
        "yunikorn.core.SoftGang",
    )
    assert steps(found) == ["work.submit(app, true)", "work.recover"]
    assert (
        found.explanation[0] == "the last step changes app: New → Starting, but no step of `OneApplication` does that"
    )


def test_an_accepted_application_that_the_core_refuses_would_run() -> None:
    name, edit = "yunikorn.shim.CoreAndShim", ("core.Reject when shim in Submitted", "core.Reject")
    found = refines(edited("yunikorn/shim.fsm", edit), name)
    assert found.explanation[0].endswith("app: Running → Refused, but no step of `OneSubmission` does that")


def test_names_of_what_is_refined_lead_to_it() -> None:
    """The system behind `refines`, its instances, states and fields are known to editors."""
    texts = [LAMPS, f"module built\nimport test\nsystem Built refines test.Plan {{ relay: test.Relay {ROWS} }}"]
    resolved = resolve(
        [parse(Source(f"{name}.fsm", x)).module for name, x in zip(("test", "built"), texts, strict=True)]
    )
    assert resolved.diagnostics == ()
    found = {(u.meaning.kind, u.meaning.qualified) for u in resolved.uses if u.span.source.name == "built.fsm"}
    assert {("system", "test.Plan"), ("group", "test.Plan.lamp"), ("state", "test.Lamp.On")} <= found
    assert ("field", "test.Lamp.light") in found
    assert resolved.model is not None
    assert refines(resolved.model, "built.Built").label == "refines test.Plan"


# Where else it is known ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "listed"),
    [
        ("system B refines ", ["Plan"]),
        ("system B refines Plan { relay: Relay map ", ["lamp"]),
        ("system B refines Plan { relay: Relay map lamp in ", ["Off", "On"]),
        ("system B refines Plan { relay: Relay map lamp.", ["light"]),
        ("system B refines Plan { r: Relay[2] map lamp[i] in On when ", ["i", "r"]),
        ("system B ref", ["extends", "refines"]),
    ],
)
def test_completion(typed: str, listed: list[str]) -> None:
    text = LAMPS + typed
    found = [c.label for c in completions(text, len(text))]
    assert found[: len(listed)] == listed


def test_a_row_that_changes_is_a_change() -> None:
    old, new = (compiled(BUILT % rows).systems["test.Built"] for rows in (ROWS, ROWS.replace("then 1", "then 2")))
    assert [(x.what, x.name, x.text) for x in of_system(old)][-4:] == [
        ("refines", "Plan", ""),
        ("map", "", "map lamp in On when relay in Closed"),
        ("map", "", "map lamp in Off"),
        ("map", "", "map lamp.light = if relay in Closed then 1 else 0"),
    ]
    (changed,) = {x.text for x in of_system(old)} - {x.text for x in of_system(new)}
    assert changed == "map lamp.light = if relay in Closed then 1 else 0"


def test_pytest_asks_it_as_well(tmp_path: Path) -> None:
    (tmp_path / "built.fsm").write_text(BUILT % ROWS.replace("then 1", "then 2"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-v", "built.fsm"],
        capture_output=True, text=True, cwd=tmp_path, timeout=100, check=False,
    )  # fmt: skip
    assert "refines Plan FAILED" in done.stdout, done.stdout
    assert "no step of `Plan` does that" in done.stdout


def test_other_checkers_do_not_confirm_it() -> None:
    model = compiled(BUILT % ROWS)
    x = explore(model, model.systems["test.Built"])
    (row,) = (r for r in compare(x, Opinion("spin", x.states)).rows if r.what == "refines Plan")
    assert (row.ours, row.agreement) == ("holds", "not confirmed")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("light: 0..2", "light: 0..2 colour: 0..2", ["`lamp.colour` is not mapped"]),
        ("On", "Lit", ["`Lamp` has no state `On`"]),
        ("{ lamp: Lamp }", "{ lamp: Lamp more: Lamp }", ["`more` of `Plan` is not mapped"]),
        ("{ lamp: Lamp }", "{ lamp: Lamp[2] }", ["`lamp` is a set of 2 instances"]),
        ("count: 0..3", "count: 0..2", []),
    ],
)
def test_what_was_resolved_before_is_resolved_again_where_the_other_system_changes(
    old: str, new: str, told: list[str]
) -> None:
    text = f"module built\nimport test\nsystem Built refines test.Plan {{ relay: test.Relay {ROWS} }}"
    built = parse(Source("built.fsm", text))
    memory = Memory()

    def messages(text: str) -> list[str]:
        plan = parse(Source("test.fsm", text))
        found = resolve([plan.module, built.module], memory=memory).diagnostics
        assert found == resolve([plan.module, built.module]).diagnostics
        return [d.message for d in found if d.span.source.name == "built.fsm"]

    assert messages(LAMPS) == []
    assert old in LAMPS
    assert list(dict.fromkeys(messages(LAMPS.replace(old, new))))[: len(told) or None] == told
    assert messages(LAMPS) == []


# By brute force ------------------------------------------------------------------------------------------------------


def expected(x: Example) -> tuple[str, int | None, bool]:
    """Every edge of the graph of all states, by images made here, against the rows of the plan: the answer, the length
    of a shortest counterexample, and whether some step of the plan is taken."""
    model = compiled(x.text)
    graph = states(model, model.systems["test.Built"])
    images = {n: x.image(about["values"]) for n, about in graph.nodes(data=True)}
    depth = {n: about["depth"] for n, about in graph.nodes(data=True)}
    follows = {((a, n), (b, value)) for a, b, value in x.plan for n in range(3)}
    pairs = {(a, b) for a, b in graph.edges() if None not in (images[a], images[b]) and images[a] != images[b]}
    wrong = [depth[n] for n, image in images.items() if image is None]
    wrong += [depth[a] + 1 for a, b in pairs if (images[a], images[b]) not in follows]
    wrong += [0] if images[0] != ("A", 0) else []
    return ("violated", min(wrong), False) if wrong else ("holds", None, bool(pairs))


def test_the_answer_is_that_of_brute_force() -> None:
    answers = Counter[tuple[str, bool]]()
    for seed in today(range(300)):
        x = example(seed)
        outcome, shortest, moves = expected(x)
        found = verdict(x.text)
        assert (found.outcome, length(found)) == (outcome, shortest), (seed, x.text)
        if outcome == "holds":
            assert bool(found.untested) is not moves, (seed, x.text)
        answers[outcome, moves] += 1
    assert min(answers["violated", False], answers["holds", True], answers["holds", False]) >= enough(10), answers


# Rows that only stutter ----------------------------------------------------------------------------------------------

WORN = LAMPS.replace("    Open on count_up", "    state Worn  worn: Closed -> Worn on count_up\n    Open on count_up")
"""A row leads from one state that is mapped to `On` to another. Nobody notices that it should have let go."""

ALL_ON = """
    map lamp in Off when relay in {Open, Closing}
    map lamp in On
    map lamp.light = if relay in {Closed, Worn} then 1 else 0
"""


def stuttering(text: str, system: str = "Built") -> list[str]:
    v = verdict(text, system)
    assert v.outcome == "holds"
    return [x.removeprefix("only ever stutters: ") for x in v.explanation]


def test_rows_that_only_stutter_are_named() -> None:
    text = WORN + "system Built refines Plan { relay: Relay " + ALL_ON + "}"
    rows = stuttering(text)
    assert [x.partition(" (")[0] for x in rows] == ["Relay push", "Relay worn", "Relay count_up"]
    assert stuttering(LAMPS + "system Same refines Plan { lamp: Lamp }", "Same") == []


def test_a_row_that_moves_from_one_of_its_states_does_not_only_stutter() -> None:
    text = LAMPS.replace("Closed -> Open on release", "Closing, Closed -> Open on release")
    rows = stuttering(text + BUILT.removeprefix(LAMPS) % ROWS)
    assert [x.partition(" (")[0] for x in rows] == ["Relay push", "Relay count_up"]


def test_rows_without_an_effect_and_large_systems_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    text = LAMPS.replace("when count < 3 do count = count + 1", "")
    rows = stuttering(text + BUILT.removeprefix(LAMPS) % ROWS)
    assert [x.partition(" (")[0] for x in rows] == ["Relay push"]
    monkeypatch.setattr(refinement, "MAX_REPLAYED", 1)
    assert stuttering(text + BUILT.removeprefix(LAMPS) % ROWS) == []


def test_every_format_names_rows_that_only_stutter(tmp_path: Path) -> None:
    spec = tmp_path / "lamp.fsm"
    spec.write_text("module lamp" + BUILT % ROWS)

    def printed(*options: str) -> str:
        done = CliRunner().invoke(cli, ["verify", *options, str(spec)])
        assert done.exit_code == 0
        return done.output

    assert "note: refines Plan: 2 rows only ever stutter: Relay push (" in " ".join(printed().split())
    assert printed("--all").count("only ever stutters: Relay") == 2
    built = next(x for x in json.loads(printed("--format", "json"))["systems"] if x["name"] == "Built")
    (v,) = (x for x in built["verdicts"] if x["kind"] == "refinement")
    assert [(x["machine"], x["transition"]) for x in v["stutters"]] == [
        ("lamp.Relay", "push"), ("lamp.Relay", "count_up"),
    ]  # fmt: skip
    assert "**FSM313** some rows never change anything in `Plan`" in printed("--format", "markdown")
    done = CliRunner().invoke(cli, ["report", str(spec), "--out", str(tmp_path / "page")])
    assert "0 violations" in done.output
    assert "<li>only ever stutters: Relay push (" in (tmp_path / "page" / "index.html").read_text()
