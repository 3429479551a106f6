"""Instances that wait for each other in an end state that is no deadlock: a note, which changes no verdict."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from campaign import by_definition, compare
from click.testing import CliRunner
from packed_search import PLAIN, own_objects
from stepping import compiled, only_system
from tiers import enough, today

from fsmdsl.cli.parser import cli
from fsmdsl.runs.circular_wait import circular_waits
from fsmdsl.search import Limits, Means, Verdict, diagnostics, explore
from fsmdsl.step import Universe

pytestmark = pytest.mark.usefixtures(own_objects.__name__)

TABLE = """module table
machine Fork {
    holder: Phil?
    initial state Here
    event take(p: Phil), put from Phil
    Here on take(p) when holder == none do holder = p
    Here on put do holder = none
}
machine Phil {
    param one: Fork
    param two: Fork
    initial state Thinks
    state Hungry
    state Eats
    event first, second, done from environment
    Thinks -> Hungry on first  when one.holder == none do one.take(self)
    Hungry -> Eats   on second when two.holder == none do two.take(self)
    Eats   -> Thinks on done   do { one.put; two.put }
}
machine Job {
    initial state Runs
    FINAL state Over
    event stop from environment
    Runs -> Over on stop
}
system Two {
    forks: Fork[2]
    phils: Phil[2] { one = forks[index], two = forks[1 - index] }
    job: Job
}
"""
MASKED = TABLE.replace("FINAL", "final")

SERVER = """module server
machine Server {
    served: 0..2
    initial state Idle
    state Busy
    event begin, end from environment
    Idle -> Busy on begin when some c in clients: c in Asks do for c in clients { if c in Asks { c.serve } }
    Busy -> Idle on end when served < 2 do served = served + 1
    param clients: set<Client>
}
machine Client {
    initial state Asks
    final state Served
    event serve from Server
    Asks -> Served on serve
    ignore serve in Served
}
system One { clients: Client[2]  server: Server { clients = clients } }
"""
"""A server that is idle in the end: nobody is left who asks."""

POOL = """module pool
machine Pool {
    param size: 1..4
    used: 0..4
    initial state Open
    event take, give from Taker
    Open on take do used = used + 1
    Open on give do used = used - 1
}
machine Taker {
    param pool: Pool
    initial state None
    state Half
    state Whole
    event grow, finish from environment
    None -> Half  on grow   when pool.used < pool.size do pool.take
    Half -> Whole on grow   when pool.used < pool.size do pool.take
    Whole -> None on finish do { pool.give; pool.give }
}
machine Job { initial state Runs  final state Over  event stop from environment  Runs -> Over on stop }
system S { pool: Pool { size = 2 }  takers: Taker[3] symmetric { pool = pool }  job: Job }
"""


def no_deadlock(text: str, means: Means = PLAIN, limits: Limits | None = None) -> Verdict:
    model = compiled(text)
    return next(v for v in explore(model, only_system(model), limits, means=means).verdicts if v.kind == "deadlock")


def test_philosophers_that_block_each_other_are_named() -> None:
    v = no_deadlock(MASKED)
    assert (v.outcome, v.basis) == ("holds", "exhaustive: 12 states")
    assert v.explanation == (
        "no deadlock only because other machines have final states: in an end state, instances wait for each other",
        "p0 waits in Hungry for `second`: `two.holder == none` is false: two.holder is p1",
        "p1 waits in Hungry for `second`: `two.holder == none` is false: two.holder is p0",
        "`property free: all x in Phil: always not stuck(x)` makes it a violation",
    )
    assert v.trace is not None
    assert [e.world.states[2:] for e in v.trace.entries] == [
        ("Hungry", "Thinks", "Runs"), ("Hungry", "Hungry", "Runs"), ("Hungry", "Hungry", "Over")
    ]  # fmt: skip


def test_what_it_names_makes_it_a_violation() -> None:
    model = compiled(MASKED.replace("job: Job\n", "job: Job\nproperty free: all x in Phil: always not stuck(x)\n"))
    found = {v.name: v.outcome for v in explore(model, only_system(model), means=Means(compiled=False)).verdicts}
    assert (found["free"], found["no deadlock"]) == ("violated", "holds")


SILENT = {
    "a deadlock is reported as one": TABLE.replace("FINAL ", ""),
    "forks taken in one order": MASKED.replace("forks[index]", "forks[0]").replace("forks[1 - index]", "forks[1]"),
    "a server without work": SERVER,
    "one who waits for itself alone": MASKED.replace("phils: Phil[2] { one = forks[index], two = forks[1 - index] }",
                                                     "phil: Phil { one = forks[0], two = forks[0] }"),
    "one who is at the end of its own count": """module count
        machine Count { n: 0..2  initial state S  event up from environment  S on up when n < 2 do n = n + 1 }
        machine Job { initial state Runs  final state Over  event stop from environment  Runs -> Over on stop }
        system S { c: Count[2]  job: Job }""",
    "one of two who only is not asked to begin": """module two
        machine A { param b: B  initial state S  state T  event go from environment  S -> T on go when b in T }
        machine B { param a: A  initial state U  state S  state T  event begin, go from environment
          U -> S on begin  S -> T on go when a in T }
        machine Job { initial state Runs  final state Over  event stop from environment  Runs -> Over on stop }
        system S { a: A { b = b }  b: B { a = a }  job: Job
          environment { a.go  b.go  job.stop  b.begin when a in T } }""",
    "guards that read what comes with an event": """module two
        machine A { param to: A  v: 0..1  initial state S  event go(n: 0..1) from environment
          S on go(n) when n > to.v + 1 do v = n }
        machine Job { initial state Runs  final state Over  event stop from environment  Runs -> Over on stop }
        system S { a: A { to = b }  b: A { to = a }  job: Job }""",
    "somebody else could help, but is sent nothing": MASKED.replace("put from Phil", "put from Phil, environment")
        .replace("job: Job\n", "job: Job\nenvironment { some p in phils: p.first  some p in phils: p.second "
                 "some p in phils: p.done  job.stop  some f in forks: f.put when job in Runs }\n"),
}  # fmt: skip


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_nothing_is_noted_where_nobody_waits_in_a_circle(text: str) -> None:
    v = no_deadlock(text)
    assert v.outcome == ("violated" if "machine Fork" in text and "final" not in text else "holds")
    assert v.outcome == "violated" or (v.explanation, v.trace) == ((), None)
    model = compiled(text)
    assert compare(model, only_system(model), 100, random=Random(1)) == ("the same", [])


def test_the_server_is_idle_in_an_end_state() -> None:
    """Else the case above would show nothing."""
    model = compiled(SERVER.replace("served < 2", "served < 1"))
    search = by_definition(model, only_system(model), Limits())
    assert search.deadlock is None
    assert {w.states for w in search.worlds} >= {("Served", "Served", "Busy")}
    assert circular_waits(Universe(model, only_system(model))).circles == ()


def test_a_chain_behind_a_circle_is_told_too() -> None:
    guest = """machine Guest {
        param host: Phil
        initial state Waits
        state Sits
        event sit from environment
        Waits -> Sits on sit when host in Eats
        Sits -> Waits on sit when host in Eats
    }
    system Two {"""
    text = MASKED.replace("system Two {", guest).replace("job: Job\n", "job: Job\nguest: Guest { host = phils[0] }\n")
    told = no_deadlock(text).explanation
    assert not any("guest" in line for line in told)
    assert sum("waits in" in line for line in told) == 2


def test_a_search_that_is_cut_short_notes_what_it_has_found() -> None:
    text = MASKED.replace("state Eats\n", "state Eats\nstate Full\n").replace(
        "Eats   -> Thinks on done ", "Eats -> Full on done  Full -> Thinks on done "
    )
    whole = no_deadlock(text)
    assert whole.basis == "exhaustive: 16 states"
    v = no_deadlock(text, limits=Limits(15))
    assert (v.outcome, v.explanation, v.trace) == ("unknown", whole.explanation, whole.trace)
    assert no_deadlock(text, limits=Limits(4)).trace is None


# Both searches -------------------------------------------------------------------------------------------------------


def tables(seed: int) -> str:
    """Some philosophers at some forks, in any order, perhaps with one who reaches for what others do."""
    random = Random(seed)
    forks, phils = random.randint(2, 3), random.randint(2, 3)
    lines = [
        f"p{n}: Phil {{ one = forks[{random.randrange(forks)}], two = forks[{random.randrange(forks)}] }}"
        for n in range(phils)
    ]
    text = MASKED.replace("forks: Fork[2]", f"forks: Fork[{forks}]")
    text = text.replace("phils: Phil[2] { one = forks[index], two = forks[1 - index] }", "\n".join(lines))
    if random.random() < 0.3:  # a guard that may have no value
        text = text.replace("when two.holder == none", "when two.holder == none or two.holder.one.holder != self")
    if random.random() < 0.3:
        text = text.replace("Thinks on done ", "Thinks on done when some x in {p0, p1}: x in Hungry ".replace(
            "{p0, p1}", "{one.holder, two.holder}") if random.random() < 0.5 else "Thinks after 5s ")  # fmt: skip
    return text


def test_both_searches_find_the_same_circles() -> None:
    waiting = 0
    for seed in today(range(40)):
        model = compiled(tables(seed))
        system = only_system(model)
        assert compare(model, system, 400, random=Random(seed), compiled=seed % 13 == 0) == ("the same", [])
        waiting += by_definition(model, system, Limits(400)).waiting_states > 0
    assert waiting >= enough(8)


def test_with_symmetry_there_are_fewer_states_and_the_same_note() -> None:
    one, all_ = (no_deadlock(POOL, Means(compiled=False, symmetry=s)) for s in (True, False))
    assert one.outcome == all_.outcome == "holds"
    assert "up to symmetry of takers" in one.basis
    assert ": in an end state," in one.explanation[0]
    assert ": in 3 end states," in all_.explanation[0]
    assert one.explanation[1:] == all_.explanation[1:]
    assert one.trace is not None
    assert all_.trace is not None
    assert one.trace.length == all_.trace.length == "3 steps"


# How it is shown -----------------------------------------------------------------------------------------------------


def verified(tmp_path: Path, *options: str) -> str:
    file = tmp_path / "table.fsm"
    file.write_text(MASKED)
    result = CliRunner().invoke(cli, ["verify", *options, str(file)])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_shows_it_and_ends_well(tmp_path: Path) -> None:
    lines = verified(tmp_path).splitlines()
    assert lines[1] == (
        "  note: no deadlock only because other machines have final states: in an end state, instances wait for each "
        "other (3 steps)"
    )
    assert "    1  p0.first        Thinks → Hungry" in lines
    assert lines[-1] == "    `property free: all x in Phil: always not stuck(x)` makes it a violation"
    brief = verified(tmp_path, "--brief").splitlines()
    assert brief[2:5] == ["    1  p0.first", "    2  p1.first", "    3  job.stop"]


def test_formats_have_it(tmp_path: Path) -> None:
    data = json.loads(verified(tmp_path, "--format", "json"))
    (found,) = data["diagnostics"]
    assert (found["code"], found["severity"], len(found["notes"])) == ("FSM309", "note", 4)
    (verdict,) = (v for v in data["systems"][0]["verdicts"] if v["kind"] == "deadlock")
    assert (verdict["outcome"], len(verdict["trace"]["steps"]), verdict["cause"]) == ("holds", 3, None)
    told = verified(tmp_path, "--format", "markdown")
    assert "✓ passed | table.Two" in told
    assert "i **FSM309** no deadlock only because" in told
    assert "3  job.stop" in told
    (run,) = json.loads(verified(tmp_path, "--format", "sarif"))["runs"]
    assert [(x["ruleId"], x["level"]) for x in run["results"]] == [("FSM309", "note")]


def test_the_report_has_it(tmp_path: Path) -> None:
    file, out = tmp_path / "table.fsm", tmp_path / "out"
    file.write_text(MASKED)
    result = CliRunner().invoke(cli, ["report", str(file), "--out", str(out)])
    assert result.exit_code == 0, result.output
    page = next(out.glob("*.html")).read_text()
    assert "instances wait for each other" in page
    assert "p0 waits in Hungry" in page


def test_a_diagnostic_names_the_run() -> None:
    model = compiled(MASKED)
    (d,) = diagnostics(explore(model, only_system(model), means=Means(compiled=False)))
    assert d.run == "run: p0.first, then p1.first, then job.stop"


def test_an_argument_may_have_the_name_of_a_variable_inside_the_guard() -> None:
    """The row waits for what its event brings, which nobody can end: it is no row of a circle."""
    text = TABLE.replace("second when two.holder == none", "second(p) when all p in {p.one}: p.holder == none")
    model = compiled(text.replace("first, second, done", "first, second(p: Phil), done").replace("FINAL", "final"))
    system = only_system(model)
    waits = circular_waits(Universe(model, system)).waits["table.Phil"]
    assert [str(t.source) for t, _ in waits.rows] == ["Thinks"]
    assert compare(model, system)[0] == "the same"
