"""What the page is made from: runs as data of the stepper, formulas taken apart, coverage, pictures of all states."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from loading import SPECS, model_of

from fsmdsl import model as m
from fsmdsl.draw.graph import graph_of
from fsmdsl.draw.svg import NO_GRAPHVIZ, rendered_together
from fsmdsl.model.resolve import resolve
from fsmdsl.report.assemble import assemble
from fsmdsl.report.attention import ORDER
from fsmdsl.report.coverage import covered, explored, on_diagram, overlay
from fsmdsl.report.formula import MAX_PARTS, parts
from fsmdsl.report.page import page, summary
from fsmdsl.report.space import layout, space_view
from fsmdsl.report.state_counts import SMALL, census
from fsmdsl.report.stepping import of_verdict, stepping
from fsmdsl.report.views import Report
from fsmdsl.search import Exploration, Limits, Means, Tally, Verdict, explore, play
from fsmdsl.step import Universe
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import NOWHERE, Source

MAIL = """
machine Sender {
    left: 0..2 = 2
    initial state Idle
    state Waiting
    event go from environment
    action ask -> yes | no
    send: Idle -> Waiting on go when left > 0 do { left = left - 1; send letters.letter(left); ask }
    back: Waiting -> Idle on ask.yes
    stay: Waiting -> Waiting on ask.no
}
machine Box {
    got: set<0..2>
    initial state Empty
    state Full
    event letter(n: 0..2) from letters
    one:  Empty -> Full on letter(n) do add n to got
    more: Full on letter(n) when n > 0 do add n to got
}
channel letters: fifo[2] to Box
system Post {
    a: Sender
    box: Box
    let room(n: 0..2) = size(box.got) <= n
    invariant few: all n in {0, 1}: n == 0 or room(n - 1) or box in Empty
    property done: a in Waiting ~> a in Idle
    reachable full: box in Full
}
scenario S1 "one letter" { a: Sender { left = 1 }  box: Box  a.go  a.ask.yes  deliver letters  expect box in Full }
scenario S2 "fails" { a: Sender  box: Box  a.go  a.ask.yes  fails a.ask.yes  a.ask.no }
"""


def model(text: str = MAIL) -> m.Model:
    resolved = resolve([parse(Source("x.fsm", text)).module])
    assert resolved.diagnostics == ()
    assert resolved.model is not None
    return resolved.model


COUNTED = Means(counted=True)


def found(of: m.Model, system: str = "x.Post", limits: Limits | None = None, means: Means | None = None) -> Exploration:
    return explore(of, of.systems[system], limits, means=means)


def verdict(x: Exploration, name: str) -> Verdict:
    return next(v for v in x.verdicts if v.name == name)


# Runs ----------------------------------------------------------------------------------------------------------------


def test_a_run_is_told_by_what_changes() -> None:
    of = model()
    trace = play(of, of.scenarios["x.S1"]).trace
    told = json.loads(json.dumps(stepping(trace, "run")))
    assert told["instances"] == [{"name": "a", "machine": "x.Sender"}, {"name": "box", "machine": "x.Box"}]
    places = [tuple(x) for x in told["places"]]
    now = dict(zip(places, told["start"], strict=True))
    assert now["a", ""] == "Idle"
    assert now["", "letters"] == "[]"
    seen = []
    for step in told["steps"]:
        for n, value in step["changes"]:
            now[places[n]] = value
        seen.append(
            (step["text"], now["a", ""], now["", "letters"], now["", "waits for the answer to"], now["box", "got"])
        )
    assert seen == [
        ("a.go", "Waiting", "[letter(0)]", "a.ask", "{}"),
        ("a.ask.yes", "Idle", "[letter(0)]", "", "{}"),
        ("deliver letters.letter(0)", "Idle", "[]", "", "{0}"),
    ]
    assert [step["followed"] for step in told["steps"]] == [[[0, 0]], [[0, 1]], [[1, 0]]]
    assert told["steps"][0]["then"]["then"] == "send Idle → Waiting"


def test_a_failing_step_says_why_and_changes_nothing() -> None:
    of = model(MAIL.replace("on ask.no\n", "on ask.no do left = left + 3\n"))
    (fault,) = [v for v in found(of).violations if v.kind == "fault" and v.name == "range"]
    told = of_verdict(Universe(of, of.systems["x.Post"]), fault, "x-run")
    last = told["steps"][-1]
    assert last["changes"] == []
    assert "(range)" in last["fault"]
    assert (told["id"], told["outcome"], told["loop"]) == ("x-run", "violated", None)


def test_a_formula_is_taken_apart_and_valued_at_each_step() -> None:
    of = model()
    v = verdict(found(of), "few")
    assert v.trace is not None
    told = {(x.depth, x.text): dict(x.values) for x in parts(Universe(of, of.systems["x.Post"]), v)}
    end = len(v.trace.entries)
    whole = told[0, "all n in {0, 1}: n == 0 or room(n - 1) or box in Empty"]
    assert whole == {0: "true", end: "false"}
    assert (1, "for n = 0") in told
    assert told[2, "room(n - 1)"] == {0: "true", end: "false"}
    assert told[3, "size(box.got) <= n"] == {0: "true", end: "false"}
    assert told[4, "size(box.got)"][end] == "1"


def test_the_guard_that_did_not_hold_is_taken_apart_in_the_middle_of_the_step() -> None:
    of = model(MAIL.replace("fifo[2]", "fifo[1]"))
    (v,) = [v for v in found(of).violations if v.name == "unhandled"]
    told = parts(Universe(of, of.systems["x.Post"]), v)
    assert v.trace is not None
    assert [(x.text, x.values) for x in told] == [
        ("the guard of `more`: n > 0", ((len(v.trace.entries), "false"),)),
    ]


def test_what_speaks_of_runs_has_no_value_but_its_parts_have() -> None:
    of = model()
    v = verdict(found(of), "done")
    assert v.outcome == "violated"
    told = {x.text: x.values for x in parts(Universe(of, of.systems["x.Post"]), v)}
    assert told["a in Waiting ~> a in Idle"] == ()
    assert told["a in Waiting"][0] == (0, "false")


def test_a_formula_of_a_thousand_parts_is_cut() -> None:
    many = " and ".join(f"(n < {k} or n >= {k})" for k in range(1, 60))
    text = (
        "machine M { n: 0..99 initial state A event go from environment A -> A on go do n = n + 1 } "
        f"system S {{ m: M invariant x: {many.replace('n ', 'm.n ')} and m.n < 9 }}"
    )
    of = model(text)
    v = verdict(found(of, "x.S"), "x")
    told = of_verdict(Universe(of, of.systems["x.S"]), v, "run")
    assert len(told["formula"]) == MAX_PARTS
    assert max(len(x["text"]) for x in told["formula"]) <= 200


# Coverage ------------------------------------------------------------------------------------------------------------

TWO = """
machine M {
    initial state A
    state B
    state C
    event go, back, never from environment
    g: A -> B on go
    b: B -> A on back
    n: A -> C on never
}
system S { m: M  environment { m.go  m.back } }
scenario W "there" { m: M  m.go  expect m in B }
"""


def test_steps_are_counted_where_they_are_followed() -> None:
    of = model(TWO)
    x = found(of, "x.S", means=COUNTED)
    assert x.tally == Tally(Counter({("x.M", 0): 1, ("x.M", 1): 1}), Counter({("x.M", "A"): 1, ("x.M", "B"): 1}))
    space = census(of, of.systems["x.S"])
    assert space.drawable
    assert space.edges == {(0, 1): ["m.go"], (1, 0): ["m.back"]}
    reach = explored(of.machines["x.M"], [x])
    assert reach.transitions == {0: 1, 1: 1, 2: 0}
    assert reach.states == {"A": 1, "B": 1, "C": 0}
    assert (reach.text(1), reach.text(0)) == ("1", "0")
    assert covered(of.machines["x.M"], [play(of, of.scenarios["x.W"])]).transitions == {0: 1, 1: 0, 2: 0}


def test_what_was_not_counted_to_the_end_says_so() -> None:
    of = model(TWO)
    for space in (census(of, of.systems["x.S"], steps=1), census(of, of.systems["x.S"], states=1)):
        assert not space.complete
        assert not space.drawable
    reach = explored(of.machines["x.M"], [found(of, "x.S")])
    assert reach.transitions == {0: 1, 1: 1, 2: 0}, "that it is followed is known from the exploration"
    assert (reach.text(1), reach.text(0)) == ("1+", "0")
    stopped = explored(of.machines["x.M"], [found(of, "x.S", Limits(1), COUNTED)])
    assert (stopped.certain, stopped.text(0)) == (False, "0+")


def test_an_overlay_marks_states_and_rows() -> None:
    of = model(TWO)
    machine = of.machines["x.M"]
    reach = explored(machine, [found(of, "x.S", means=COUNTED)])
    marks = overlay(reach)
    assert (marks.states["A"].tone, marks.states["C"].tone) == ("seen", "unseen")
    counts = on_diagram(machine, graph_of(machine, prefix="p-"), reach, "p-")
    assert counts["p-state-B"] == 1
    assert counts["p-state-C"] == 0
    assert counts["edge-p-state-A-p-state-C"] == 0
    assert counts["p-transition-0"] == 1


def test_an_overlay_is_drawn_by_itself(tmp_path: Path) -> None:
    (tmp_path / "x.fsm").write_text(TWO)
    drawn = {}
    for which in ("explored", "scenarios"):
        command = [sys.executable, "-m", "fsmdsl", "draw", str(tmp_path / "x.fsm"), "--format", "dot", "--out", "-"]
        done = subprocess.run([*command, "--overlay", which], capture_output=True, text=True, check=True, timeout=120)
        drawn[which] = done.stdout
    assert drawn["explored"].count("not reached") == 1
    assert "plain transition-1 seen" in drawn["explored"]
    assert "plain transition-1 unseen" in drawn["scenarios"]


# All states ----------------------------------------------------------------------------------------------------------


def test_all_states_are_drawn_with_what_they_are() -> None:
    of = model(TWO)
    counted = census(of, of.systems["x.S"])
    (plain,) = rendered_together([(layout(Universe(of, of.systems["x.S"]), counted), "plain")])
    assert isinstance(plain, str)
    view = space_view(Universe(of, of.systems["x.S"]), counted, plain, "name")
    assert re.findall(r"<text [^>]*>(\w+)</text>", view.svg) == ["A", "B"]
    assert len(re.findall("<rect", view.svg)) == 2
    assert view.data["fields"] == [{"owner": "m", "name": "", "values": ["A", "B"]}]
    assert view.data["states"] == [[0], [1]]
    assert view.data["steps"] == [[0, 1, ["m.go"]], [1, 0, ["m.back"]]]


def test_more_than_thirty_states_are_dots() -> None:
    of = model(
        "machine M { n: 0..30 initial state A event go from environment A on go when n < 30 do n = n + 1 } "
        "system S { m: M }"
    )
    universe, counted = Universe(of, of.systems["x.S"]), census(of, of.systems["x.S"])
    (plain,) = rendered_together([(layout(universe, counted), "plain")])
    assert isinstance(plain, str)
    view = space_view(universe, counted, plain, "name")
    assert (view.svg.count("<circle"), view.svg.count("<text")) == (31, 0)


def test_many_states_are_counted_and_not_drawn() -> None:
    of = model(
        "machine M { n: 0..300 initial state A event go from environment A -> A on go when n < 300 do n = n + 1 } "
        "system S { m: M }"
    )
    assert not census(of, of.systems["x.S"]).drawable
    whole = census(of, of.systems["x.S"], states=301)
    assert whole.drawable
    assert len(whole.worlds) == 301 > SMALL
    counts = explored(of.machines["x.M"], [found(of, "x.S", means=COUNTED)])
    assert (counts.exact, counts.transitions, counts.states) == (True, {0: 300}, {"A": 301})


def test_a_picture_that_fails_does_not_take_the_others_with_it() -> None:
    good, bad, also = rendered_together([("digraph { a }", "svg"), ("no graph", "svg"), ("digraph { b }", "plain")])
    assert isinstance(good, str)
    assert "<svg" in good
    assert isinstance(bad, Diagnostic)
    assert isinstance(also, str)
    assert also.startswith("graph 1 ")


# All together --------------------------------------------------------------------------------------------------------


def report_of(of: m.Model, limits: Limits | None = None) -> Report:
    done = [(x, census(of, x.system)) for x in (explore(of, s, limits, means=COUNTED) for s in of.systems.values())]
    played = [play(of, x) for x in of.scenarios.values()]
    missing = NO_GRAPHVIZ.at(NOWHERE, "there is no Graphviz")
    report, undrawn = assemble("T", of, [], done, played, lambda asked: [missing for _ in asked])
    assert undrawn == [missing], "said once"
    return report


def test_what_needs_attention_is_listed_by_urgency() -> None:
    report = report_of(model(MAIL + TWO.replace("machine M", "machine N").replace("m: M", "m: N")))
    urgencies = [x.urgency for x in report.attention]
    assert urgencies == sorted(urgencies, key=ORDER.index)
    assert {"violated", "failing", "never"} <= set(urgencies)
    (never,) = [x for x in report.attention if x.urgency == "never" and "`x.N`" in x.what]
    assert (never.what, never.detail) == ("`x.N`: 1 of 3 rows never followed", "n (x.fsm:39:5)")
    assert "scenarios failing" in summary(report)


def test_the_summary_names_the_scenarios_that_fail_and_leads_to_them() -> None:
    """Those of a system name it. The list of what needs attention does so, too."""
    machine = "machine M { initial resting state A  state B  event e from environment  A -> B on e }"
    text = f"""{machine} system S {{ m: M }}
    scenario a "<b>of</b> a system" of S {{ m.e  expect m in A }}
    scenario b {{ m: M  m.e  expect m in A }}
    scenario good of S {{ m.e  expect m in B }}
    """
    report = report_of(model(text))
    said = [(x.what, x.href) for x in report.attention if x.urgency == "failing"]
    assert said == [("scenario `x.a` of `S`", "x-scenario-a"), ("scenario `x.b`", "x-scenario-b")]
    html = page(report)
    (line,) = re.findall(r'<p class="failing">(.*?)</p>', html)
    a, b = '<a href="#x-scenario-a">x.a</a> of S', '<a href="#x-scenario-b">x.b</a>'
    assert line == f"Failing: {a}, {b}"
    assert all(html.count(f'id="x-scenario-{name}"') == 1 for name in "ab")
    more = "".join(f"scenario c{n} {{ m: M  m.e  expect m in A }} " for n in range(3))
    (line,) = re.findall(r'<p class="failing">(.*?)</p>', page(report_of(model(text + more))))
    assert line == f'Failing: {a}, {b}, <a href="#x-scenario-c0">x.c0</a> and 2 more'
    assert '<p class="failing">' not in page(report_of(model(text.replace("expect m in A", "expect m in B"))))


def test_what_was_explored_of_a_system_says_that_some_steps_fail() -> None:
    text = "machine M {{ n: 0..1  initial state A  event e from environment  A on e do n = {} }} system S {{ m: M }}"
    for value, more in ((1, ""), (2, ", but some steps fail")):
        report = report_of(model(text.format(value)))
        (system,) = report.modules[0].systems
        assert system.basis == f"every reachable state{more}"
        evidence = {v.basis.partition(":")[0] for v in system.verdicts if v.kind == "deadlock"}
        assert evidence == {f"exhaustive{more}"}


def test_rows_of_the_library_that_no_run_follows_are_counted_and_need_no_attention() -> None:
    report = report_of(model_of(SPECS / "kubernetes" / "job.fsm"))
    systems = [system for module in report.modules for system in module.systems]
    shipped_machines = {x.name for module in report.modules for x in module.machines if x.is_shipped}
    assert any(x.library_never_followed for x in systems)
    assert shipped_machines
    assert not shipped_machines & {name for system in systems for name, _ in system.never_followed}
    assert not any(f"kubernetes.{name}`" in x.what for x in report.attention for name in shipped_machines)


REPAIRED = """
machine Group {
    initial state Free
    state Held
    event take, give, drop from environment
    e1: Free -> Held on take
    e2: Held -> Free on give
    ignore give in Free
    ignore take, drop in Held
    amends fence "a lost answer" {
        stale: bool
        e3: Free -> Free on drop do stale = true
        e4: Held -> Held when stale do stale = false
    }
    amends fence "an answer that is late" replaces
        e2: Held -> Free on give when not stale
    amends order "both are possible" priority e1 > e3
}
"""


def test_amendments_are_counted_and_not_what_they_change() -> None:
    machine = model(REPAIRED).machines["x.Group"]
    assert machine.amendments == ("a lost answer", "an answer that is late", "both are possible")
    report = report_of(model(REPAIRED))
    assert report.totals["amendments"] == 3
    (view,) = [x for module in report.modules for x in module.machines]
    assert view.amendment_count == 3
    assert view.amendments == [
        ("stale", "a lost answer"),
        ("e3: Free → Free", "a lost answer"),
        ("e4: Held → Held", "a lost answer"),
        ("e2: Held → Free", "an answer that is late"),
        ("–", "both are possible"),
    ]


def test_a_limit_leaves_things_open_and_says_nothing_of_never() -> None:
    report = report_of(model(TWO), Limits(1))
    assert [x.urgency for x in report.attention] == ["bounded"] * len(report.attention)
    assert report.attention[0].detail == "bounded: stopped at 1 states"
    assert "not decided" in summary(report)


def test_rows_of_one_line_stand_together() -> None:
    of = model(TWO.replace("b: B -> A on back", "b: B, C -> A on back"))
    (machine,) = report_of(of).modules[0].machines
    (row,) = [r for r in machine.rows if r.label == "b"]
    assert (row.sources, row.target, row.never) == (["B", "C"], "A", ["C"])
    cells = dict(machine.matrix)
    assert [c.kind for c in cells["C"]] == ["unhandled", "handled", "unhandled"]
    assert cells["C"][1].rows == [(row.id, "b")]


def test_a_message_that_waits_is_no_fault() -> None:
    text = """module x
channel inbox: waiting bag[2] to Server
machine Server {
    initial state Idle
    state Busy
    event ask from inbox
    event done from environment
    Idle -> Busy on ask
    Busy -> Idle on done
}
machine Client { initial state A  event go from environment  A on go when size(inbox) < 2 do send inbox.ask }
system S { server: Server  client: Client }
"""
    report = report_of(model(text))
    server, client = report.modules[0].machines
    assert (server.waits, client.waits) == (True, False)
    assert [c.kind for c in dict(server.matrix)["Busy"]] == ["waiting", "handled"]
    assert page(report).count("waits in its channel") == 2  # in the key, and in the cell
