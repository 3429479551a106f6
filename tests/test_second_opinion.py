"""Exports to other model checkers, and what those say beside us.

`UPDATE=1 pytest tests/test_second_opinion.py` rewrites the golden files. What runs SPIN needs it and a C compiler
(`apt install spin tcc`), and says that it was skipped where they are missing. Many more systems:
`python tests/campaign_second_opinion.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from campaign import model_of, systems
from campaign_second_opinion import BUDGET, campaign, explored, known
from in_process import fsm
from planting import planted
from random_systems import text_of
from test_cli import DOOR, ROOT
from test_state_values import PODS

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.interop.export import tla_statements
from fsmdsl.interop.export.promela import promela
from fsmdsl.interop.export.refusals import REASONS, RefusedError
from fsmdsl.interop.export.tla import tla
from fsmdsl.interop.export.tla_scope import Env, Names
from fsmdsl.interop.second_opinion import Budgeted, Key, MissingError, Opinion, SecondOpinion, compare
from fsmdsl.interop.second_opinion.spin import Spin
from fsmdsl.interop.second_opinion.tlc import Tlc, distinct_states
from fsmdsl.interop.second_opinion.tools import Tool
from fsmdsl.model.depth import DEEPEST_CASCADE

asks_another_checker = pytest.mark.full(reason="SPIN or TLC")

LEASED = {
    "states": "404",
    "invariant apart": "holds",
    "invariant Job: `node != none or self not in Running`": "holds",
    "reachable done": "holds",
    "fault reentrance at random.fsm:14:54": "violated",
    "no deadlock": "holds",
    "property ends": "violated",
    "property waits": "holds",
    "property stays": "violated",
    "property ended": "holds",
}

GOLDEN = ROOT / "tests" / "golden" / "export"

LEASE = """\
module lease

enum Kind { spot | firm }

machine Node {
    durable holders: set<Job>
    initial state Up
    state Down
    event take(job: Job) from Job
    event give(job: Job) from Job
    event fail from environment
    event heal from environment
    take: Up on take(job) when size(holders) < 1 do add job to holders
    busy: Up on take(job) when size(holders) == 1 do job.refused(self)
    give: * on give(job) do remove job from holders
    fail: Up -> Down on fail do for j in holders { j.lost }
    heal: Down -> Up on heal
    ignore take in Down
}

machine Job {
    durable node: Node?
    left: 0..2 = 2
    kind: Kind = spot
    initial state Waiting
    state Running
    final state Done
    event start(n: Node) from environment
    event refused(n: Node) from Node
    event lost from Node
    event finish from environment
    start: Waiting -> Running on start(n) when left > 0 do { node = n; left = left - 1; n.take(self) }
    lost: Running -> Waiting on lost do node = none
    finish: Running -> Done on finish when node != none do node.give(self)
    ignore refused, lost in *
    invariant node != none or self not in Running
}

system Two {
    nodes: Node[2]
    jobs: Job[2]
    environment {
        some j in jobs, n in nodes: j.start(n)
        some j in jobs: j.finish
        nodes[0].fail
        nodes[0].heal
        crash when all j in jobs: j in Waiting
    }
    invariant apart: all n in nodes: size(n.holders) <= 1
    reachable done: all j in jobs: j in Done
    property ends: all j in jobs: j in Running ~> j not in Running
    property waits: eventually jobs[0] in Waiting
    property stays: always eventually jobs[0] in Waiting
    property ended: jobs[0] in Running ~> jobs[0] not in Running under fair finish
}
"""


@pytest.fixture(scope="module")
def spin() -> Spin:
    try:
        return Spin.installed(quick=True)
    except MissingError as error:
        pytest.skip(f"SPIN SAYS NOTHING HERE: {error}")


@pytest.fixture(scope="module")
def tlc() -> Tlc:
    try:
        return Tlc.installed()
    except MissingError as error:
        pytest.skip(f"TLC SAYS NOTHING HERE: {error}")


def system_of(text: str) -> tuple[m.Model, m.System]:
    model = model_of(text)
    return model, next(iter(model.systems.values()))


def asked(tool: Tool, model: m.Model, system: m.System) -> SecondOpinion:
    x = explored(model, system, 2000)
    return compare(x, tool.opinion(model, system, x.states, BUDGET))


# The text ------------------------------------------------------------------------------------------------------------


def test_tlc_is_asked_for_the_states_that_it_found_in_the_end() -> None:
    progress = "Progress(3): 1,766 states generated, 766 distinct states found, 9 states left on queue."
    ended = "39152 states generated, 2,205 distinct states found, 0 states left on queue."
    assert distinct_states(f"{progress}\n{ended}") == 2205
    assert distinct_states("Error: it is broken") is None


@pytest.mark.parametrize("name", ["door.pml", "lease.pml", "door.tla", "lease.tla"])
def test_golden(name: str) -> None:
    """In Promela with few choices, as each is a line of its own."""
    stem, _, ending = name.partition(".")
    model, system = system_of({"door": DOOR, "lease": LEASE}[stem])
    text = promela(model, system, choices=8).text if ending == "pml" else tla(model, system).text
    path = GOLDEN / name
    if os.environ.get("UPDATE"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text("utf-8")


def test_a_variable_in_tla_is_called_as_none_around_it_even_if_hidden() -> None:
    env, names = Env(Names(), "w"), []
    for name in ("n", "m", "n", "n_2", "n"):
        text, env = env.bind(s.Variable(name, m.BOOL))
        names.append(text)
    assert len(set(names)) == 5
    assert env.variables == {"n": names[4], "m": names[1], "n_2": names[3]}


ALIKE = """module alike
machine WF {
    param x: 0..1 = 1
    action b -> c
    initial state A
    n: 0..1
    event b_c, go from environment
    A on go do { n = x  b }
    A on b_c
    A on b.c
}
machine v {
    param n: 0..1 = 0
    initial state A
    event go(n: 0..1) from environment
    A on go(n) when n > 0
}
system S { a: WF  b: v }
"""


@asks_another_checker
def test_names_in_tla_are_those_of_nothing_else(tlc: Tlc) -> None:
    """An event and an outcome, a parameter of a machine and a variable, and what TLA+ reads as fairness."""
    assert {r.agreement for r in asked(tlc, *system_of(ALIKE)).rows} == {"confirmed"}


def test_what_c_cannot_hold_is_refused_by_name() -> None:
    wide = DOOR.replace("initial state Open", "seen: set<0..99>\n    initial state Open")
    with pytest.raises(RefusedError) as error:
        promela(*system_of(wide))
    assert error.value.refusal.reason == "wide value"
    assert str(error.value).endswith(f"`set<0..99>` cannot be exported: {REASONS['wide value']}")


def test_too_many_instances_are_refused() -> None:
    with pytest.raises(RefusedError) as error:
        promela(*system_of(DOOR.replace("door: Door\n    reachable shut: door in Shut", "doors: Door[63]")))
    assert error.value.refusal.reason == "many instances"


# Beside our own verdicts ---------------------------------------------------------------------------------------------

DOORS = frozenset({Key("reachable", "shut")})


def rows(opinion: Opinion) -> dict[str, tuple[str, str, str]]:
    found = compare(explored(*system_of(DOOR)), opinion)
    return {r.what: (r.ours, r.theirs, r.agreement) for r in found.rows}


def test_the_same() -> None:
    assert rows(Opinion("SPIN", 2, DOORS)) == {
        "states": ("2", "2", "confirmed"),
        "reachable shut": ("holds", "holds", "confirmed"),
        "no step fails": ("holds", "holds", "confirmed"),
        "no deadlock": ("holds", "holds", "confirmed"),
    }


@pytest.mark.parametrize(
    ("opinion", "what", "found"),
    [
        (Opinion("SPIN", 3, DOORS), "states", ("2", "3", "different")),
        (Opinion("SPIN", 2), "reachable shut", ("holds", "violated", "different")),
        (Opinion("SPIN", 2, DOORS | {Key("deadlock")}), "no deadlock", ("holds", "violated", "different")),
        (
            Opinion("SPIN", 2, DOORS | {Key("fault", "range", "d.fsm:1:2")}),
            "fault range at d.fsm:1:2",
            ("holds", "violated", "different"),
        ),
    ],
)
def test_each_difference_is_told(opinion: Opinion, what: str, found: tuple[str, str, str]) -> None:
    assert rows(opinion)[what] == found


def test_what_has_not_ended_confirms_nothing() -> None:
    found = compare(explored(*system_of(DOOR)), Opinion("SPIN", unfinished="it was late"))
    assert {r.agreement for r in found.rows} == {"not confirmed"}
    assert found.agreement == "not confirmed"


def test_a_search_of_ours_that_was_cut_confirms_nothing() -> None:
    found = compare(explored(*system_of(DOOR), 1), Opinion("SPIN", 1, DOORS))
    assert found.agreement == "not confirmed"


# SPIN ----------------------------------------------------------------------------------------------------------------


@asks_another_checker
def test_spin_confirms_each_verdict(spin: Spin) -> None:
    found = asked(spin, *system_of(LEASE))
    assert [r for r in found.rows if r.agreement != "confirmed"] == []
    assert {r.what: r.ours for r in found.rows} == LEASED


FULL = LEASE.replace("left: 0..2 = 2", "left: 0..2 = 3")


@asks_another_checker
def test_spin_finds_a_first_value_that_does_not_fit(spin: Spin) -> None:
    found = {r.what: r.agreement for r in asked(spin, *system_of(FULL)).rows}
    assert found["fault range at random.fsm:23:18"] == "confirmed"


STATES = (
    PODS
    + """system S {
    p: Pod
    w: Watcher { pod = p, other = none }
    invariant never: w.seen != Ready or Held in w.met
    reachable later: w.last == Ready and p in Failed and state(p) in w.met
}
"""
)


@asks_another_checker
def test_spin_holds_states_as_values(spin: Spin) -> None:
    found = asked(spin, *system_of(STATES))
    assert {r.agreement for r in found.rows} == {"confirmed"}


BEGINS = """module begins
machine Node {
    durable n: 0..2 = any
    durable begun: state of Node = state(self)
    initial state Idle
    state Busy { initial state Up  state Down }
    event go from environment
    Idle -> Up   on go when n > 0 do n = n - 1
    Up   -> Down after 5min
    Down -> Idle on go
}
system S {
    a: Node in any
    b: Node in {Busy, Idle} { n = 1 }
    start when a.n > 0 or a in Down
    invariant late:  not (a in Idle and b in Idle and a.n == 0 and b.n == 0)
    invariant known: a.begun != Idle or a.n < 2 or b.n < 2
    reachable zero:  a.n == 0 and a.begun == Down and b in Down
    property ends:   eventually (a in Idle and b in Idle)
    property first:  a.n > 0
    property second: a.n > 0 or a in Down
    property rest:   a.begun == Up ~> a in Down
}
"""


@asks_another_checker
def test_spin_begins_in_each_of_several_states(spin: Spin) -> None:
    found = asked(spin, *system_of(BEGINS))
    assert [r for r in found.rows if r.agreement != "confirmed"] == []
    ours = {r.what: r.ours for r in found.rows}
    assert [ours[f"property {x}"] for x in ("ends", "first", "second", "rest")] == [
        "holds", "violated", "holds", "violated",
    ]  # fmt: skip
    assert (ours["invariant late"], ours["invariant known"], ours["reachable zero"]) == ("violated", "holds", "holds")


BUSY = """\
module busy

machine Door {
    action report(who: 0..3, what: 0..3, why: list<bool>[2])
    initial state Open
    state Shut
    event push from environment
    Open -> Shut on push do report(1, 2, [true, false])
    Shut -> Open on push do report(3, 0, [])
}

system One { door: Door }
"""


def sanitised(text: str, folder: Path) -> str:
    """What a compiler's sanitizers say of the C that SPIN makes of a system, while it runs."""
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("SKIPPED, THE EXPORTED C IS NOT SANITISED: there is no gcc")
    made = promela(*system_of(text))
    (folder / "model.pml").write_text(made.model, "utf-8")
    flags = ["-w", "-DNOREDUCE", "-DSAFETY", "-DBFS", "-DNOCLAIM", f"-DVECTORSZ={made.vector}"]
    compiled = [
        gcc,
        "-O0",
        "-fsanitize=address,bounds,shift",
        "-fno-sanitize-recover=all",
        *flags,
        "-o",
        "pan",
        "pan.c",
    ]
    for command in (["spin", "-a", "model.pml"], compiled):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    ran = subprocess.run(["./pan", "-c0"], cwd=folder, check=False, capture_output=True, text=True)
    assert "states, stored" in ran.stdout, ran.stderr
    return ran.stderr


@asks_another_checker
@pytest.mark.parametrize("text", [BUSY, LEASE, text_of(1891)], ids=["busy", "lease", "random"])
def test_exported_c_stays_in_its_arrays(spin: Spin, tmp_path: Path, text: str) -> None:
    assert "rror" not in sanitised(text, tmp_path)


POST = """\
module post

machine Box {
    initial state Idle
    event note(n: 0..1) from link
    event go from environment
    Idle on go do send link.note(1) to self
    Idle on note(n)
}

channel link: fifo[2] from each Box to each Box

system Post { boxes: Box[5]  environment { boxes[0].go } }
"""


@asks_another_checker
def test_spin_has_room_for_many_queues(spin: Spin) -> None:
    assert {r.agreement for r in asked(spin, *system_of(POST)).rows} == {"confirmed"}


MAPS = """\
module maps

machine Peer {
    initial state Idle
    votes: map<Peer, 0..2>
    next:  map<2..4, Peer?>
    flags: map<bool, bool>
    old:   map<bool, bool>
    event vote(p: Peer, n: 0..3), go(k: 1..4), flip(k: bool) from environment
    Idle on vote(p, n) do votes[p] = n
    Idle on go(k) when next[k] == none or votes[next[k]] > 0 do next[k] = self
    Idle on flip(k) do { old = flags  flags[k] = not flags[k] }
    invariant other: flags != old
}

system Maps {
    a: Peer
    b: Peer
    environment {
        some p in {a, b}, n in {0, 1, 3}: a.vote(p, n)
        some k in 1..3: a.go(k)
        b.go(4)
        some k in {false, true}: b.flip(k)
    }
    reachable both: a.votes[a] == 1 and a.votes[b] == 1 and a.next[2] == a and b.next[4] == b and a.next[4] == none
}
"""


@asks_another_checker
def test_spin_holds_maps(spin: Spin) -> None:
    found = asked(spin, *system_of(MAPS))
    assert {r.agreement for r in found.rows} == {"confirmed"}
    assert any("fault none" in r.what for r in found.rows)
    assert any("fault range" in r.what for r in found.rows)


@asks_another_checker
def test_spin_counts_more_than_62_leaf_states(spin: Spin) -> None:
    states = "".join(f"state S{n}  " for n in range(70))
    moves = "".join(f"S{n} -> S{n + 1} on go  " for n in range(69))
    machine = f"machine M {{ initial {states} event go from environment  {moves} invariant self not in {{S66, S69}} }}"
    found = asked(spin, *system_of(f"module many\n{machine}\nsystem S {{ m: M }}"))
    assert {r.agreement for r in found.rows} == {"confirmed"}
    assert found.rows[0].theirs == "70"


WIDE = """\
module wide

machine M {
    initial state A
    last: list<set<0..39>>[1]
    event keep(n: 0..39), drop from environment
    A on keep(n) when last == [] do add {n} to last
    A on drop when last != [] do last = []
    invariant small: last == [] or not (31 in last[0] or 39 in last[0])
}

system Wide { m: M }
"""


@asks_another_checker
def test_spin_holds_items_of_more_than_32_bits(spin: Spin) -> None:
    found = asked(spin, *system_of(WIDE))
    assert {r.agreement for r in found.rows} == {"confirmed"}
    assert found.rows[0].theirs == "41"


LONG = """\
module long

machine M {
    initial state A
    event go from environment
    event note from link
    A on go do send link.note
    A on note
}

channel link: fifo[130] to M

system Long { m: M }
"""


@asks_another_checker
def test_spin_counts_long_queues(spin: Spin) -> None:
    found = asked(spin, *system_of(LONG))
    assert {r.agreement for r in found.rows} == {"confirmed"}
    assert found.rows[0].theirs == "131"


@asks_another_checker
def test_time_ends_a_search(spin: Spin) -> None:
    model, system = system_of(LEASE)
    assert "in 0.01 s" in str(spin.opinion(model, system, 404, Budgeted(0.01)).unfinished)


@asks_another_checker
def test_more_choices_than_were_written(spin: Spin) -> None:
    """Once more, with room for them."""
    many = LEASE.replace("nodes: Node[2]", "nodes: Node[12]").replace("jobs: Job[2]", "jobs: Job[12]")
    model, system = system_of(many.replace("crash when all j in jobs: j in Waiting", ""))
    unfinished = spin.opinion(model, system, 50, Budgeted(2.0)).unfinished
    assert unfinished is not None
    assert "CHOICES" not in unfinished


@asks_another_checker
@pytest.mark.parametrize("kind", ["systems", "specs", "crowds", "mail"])
def test_random_systems(spin: Spin, kind: str) -> None:
    """A few; the campaign compares thousands."""
    total = campaign(kind, iter(range(20_000, 21_000)), spin, 10, None, 60)
    assert total.told == []
    assert total.rows["states confirmed"] >= 10


@asks_another_checker
def test_a_campaign_goes_on_where_it_was_interrupted(spin: Spin, tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = campaign("systems", iter(range(7, 9)), spin, 1, log, 30)
    log.write_text(log.read_text("utf-8") + '{"seed": 8, "sys', encoding="utf-8")
    assert 8 not in known(log)
    again = campaign("systems", iter(range(7, 9)), spin, 1, log, 30)
    assert (again.systems, again.rows) == (first.systems, first.rows)


PLANTED = [
    ("w.waited |= 1LL << v_self;", "", 2),
    ("return fault(OVERLAP_FAULT", "if (0) return fault(OVERLAP_FAULT", 4),
    ("if (is_cut()) return CUT;\n", "\n", 6),
]


@asks_another_checker
@pytest.mark.parametrize(("right", "wrong", "seed"), PLANTED)
def test_a_fault_of_the_exporter_is_found(
    spin: Spin, monkeypatch: pytest.MonkeyPatch, right: str, wrong: str, seed: int
) -> None:
    """The seed is one for which it makes a difference."""
    module = sys.modules["fsmdsl.interop.export.promela"]
    pieces = module._pieces

    def broken(parts: tuple[str, ...]) -> list[str]:
        assert any(right in x for x in parts)
        return list(pieces(tuple(x.replace(right, wrong) for x in parts)))

    assert campaign("systems", iter([seed]), spin, 1, None, 200).told == []
    monkeypatch.setattr(module, "_pieces", broken)
    assert campaign("systems", iter([seed]), spin, 1, None, 200).told != []


# TLC -----------------------------------------------------------------------------------------------------------------


@asks_another_checker
def test_tlc_confirms_what_it_is_asked(tlc: Tlc) -> None:
    found = asked(tlc, *system_of(LEASE))
    assert [r.what for r in found.rows if r.agreement != "confirmed"] == [
        "property ends", "property waits", "property stays", "property ended",
    ]  # fmt: skip
    assert {r.what: r.ours for r in found.rows} == LEASED


@asks_another_checker
def test_tlc_begins_in_each_of_several_states(tlc: Tlc) -> None:
    found = asked(tlc, *system_of(BEGINS))
    assert {r.what for r in found.rows if r.agreement != "confirmed"} == {
        f"property {x}" for x in ("ends", "first", "second", "rest")
    }
    assert {r.agreement for r in found.rows} == {"confirmed", "not confirmed"}


@asks_another_checker
def test_tlc_holds_states_as_values(tlc: Tlc) -> None:
    found = asked(tlc, *system_of(STATES))
    assert {r.agreement for r in found.rows} == {"confirmed"}


@asks_another_checker
def test_tlc_finds_a_first_value_that_does_not_fit(tlc: Tlc) -> None:
    found = {r.what: r.agreement for r in asked(tlc, *system_of(FULL)).rows}
    assert found["fault range at random.fsm:23:18"] == "confirmed"


RANGES = """module ranges
machine M {
    k: 0..3
    l: list<0..3>[2]
    initial state A
    event up, put, drop, look, count from environment
    let upto(n: 0..1) = (count x in 0..n: x <= k)
    A on up    when k < 3        do k = k + 1
    A on put   when size(l) < 2  do add k to l
    A on drop  when l != []      do l = rest(l)
    A on look  when all i in 4..l[0]: false
    A on count when upto(k) == k + 1 and (count i in k..size(l) - 1: l[i] > i) >= 0
    invariant sorted: all i in 0..size(l) - 2: l[i] <= l[i + 1]
    invariant end:    l == [] or all i in 1..l[0]: k >= i
    invariant value:  k == 0 or not (some i in 3..l[0]: i > 3)
}
system S { m: M  reachable full: some i in 1..size(m.l) - 1: m.l[i] == 3 }
"""
"""Ranges that are empty, and whose ends have no value."""

CHAIN = """module chain
machine Link {
    param behind: Link? = none
    initial state Idle
    event pull from environment, Link
    Idle on pull do if behind != none { behind.pull }
}
system S { LINKS environment { l0.pull } }
"""


def chain(length: int) -> str:
    links = (f"l{n}: Link {{ behind = l{n + 1} }} " for n in range(length - 1))
    return CHAIN.replace("LINKS", "".join([*links, f"l{length - 1}: Link "]))


@asks_another_checker
def test_spin_counts_through_ranges(spin: Spin) -> None:
    found = {r.what: (r.ours, r.agreement) for r in asked(spin, *system_of(RANGES)).rows}
    assert {x for x, (_, agreement) in found.items() if agreement != "confirmed"} == set()
    assert any("fault none" in x for x in found)


@asks_another_checker
def test_tlc_counts_through_ranges(tlc: Tlc) -> None:
    found = {r.what: (r.ours, r.agreement) for r in asked(tlc, *system_of(RANGES)).rows}
    assert {x for x, (_, agreement) in found.items() if agreement != "confirmed"} == set()
    assert any("fault none" in x for x in found)


@asks_another_checker
@pytest.mark.parametrize(("length", "fails"), [(DEEPEST_CASCADE + 1, False), (DEEPEST_CASCADE + 2, True)])
def test_tlc_counts_sends_inside_one_another(length: int, fails: bool, tlc: Tlc) -> None:
    rows = asked(tlc, *system_of(chain(length))).rows
    assert {r.agreement for r in rows} == {"confirmed"}
    assert any("fault endless" in r.what for r in rows) is fails


UNOFFERED = """module unoffered
machine M { initial state A  n: 0..2  event up(k: 0..9) from environment  A on up(k) when n < 2 do n = n + 1 }
system S { m: M  environment { m.up(6 / m.n)  m.up(0) when m.n < 1 } }
"""

PLANTED_IN_TLA = {
    "no crash comes behind a write": (tla_statements._next_world, 'return f"Cut({w})"', "return w", text_of(6)),
    "nothing is marked": (tla_statements._next_world, '"\\\\cup" if on else "\\\\"', '"\\\\"', LEASE),
    "a fault in an attempt is forgotten": (tla_statements._next_world, " \\\\cup {{{env.fault}}}", "", UNOFFERED),
}


@asks_another_checker
@pytest.mark.parametrize("name", PLANTED_IN_TLA)
def test_a_fault_of_the_export_to_tla_is_found(tlc: Tlc, name: str) -> None:
    function, right, wrong, text = PLANTED_IN_TLA[name]
    with planted(function, right, wrong):
        agreements = {asked(tlc, model, system).agreement for model, system in systems(text)}
    assert "different" in agreements


@asks_another_checker
def test_what_the_environment_does_not_offer_is_a_fault_in_tla(tlc: Tlc) -> None:
    assert {r.agreement for r in asked(tlc, *system_of(UNOFFERED)).rows} == {"confirmed"}


STRUCTURED = """module structured
enum Colour { red | green }
record Entry { term: 0..2  high: bool }
machine M {
    param other: Other? = none
    n: 0..4
    entry: Entry = Entry(0, false)
    entries: set<Entry> = {Entry(1, true), Entry(1, false), Entry(0, true)}
    lists: set<list<0..2>[2]> = {[1], [], [1, 0], [0, 2]}
    sets: set<set<Colour>> = {{green}, {}, {red, green}, {red}}
    maybe: set<Colour?> = {none, green, red}
    order: list<0..6>[4]
    initial state A
    event raise, look from environment
    event note(which: 0..3) from environment
    A on raise when n < 4 do { n = n + 1  entry = Entry(n, true) }
    A on look when other != none do other.count(n + 1)
    A on note(which) when order == [] do {
        if which == 0 { for e in entries { add (if e.high then e.term + 2 else e.term) to order } }
        if which == 1 { for l in lists { add (if l == [] then 6 else l[0] + size(l)) to order } }
        if which == 2 { for x in sets { add (if red in x then size(x) + 3 else size(x)) to order } }
        if which == 3 { for c in maybe { add (if c == none then 0 else if c == red then 1 else 2) to order } }
    }
    invariant begins:  order == [] or order == [2, 1, 3] or order == [6, 2, 2, 3] or order[0] == 0
    invariant as_sets: order == [] or order[0] != 0 or order == [0, 4, 5, 1] or order == [0, 1, 2]
}
machine Other {
    votes: map<Colour, 0..2>
    initial state A
    event count(each: map<Colour, 0..2>) from M
    A on count(each) do votes = each
}
system S {
    m: M { other = other }
    other: Other
    environment { some k in 0..3: m.note(k)  m.raise  m.look }
}
"""
"""Records and maps that may not be able to hold what they are made of, and loops over sets of everything."""


@asks_another_checker
def test_tlc_makes_records_and_maps_and_knows_the_order_of_all_values(tlc: Tlc) -> None:
    found = asked(tlc, *system_of(STRUCTURED))
    assert {r.agreement for r in found.rows} == {"confirmed"}
    assert sum("fault range" in r.what for r in found.rows) == 2


# The commands --------------------------------------------------------------------------------------------------------


@pytest.fixture
def door(tmp_path: Path) -> Path:
    (tmp_path / "door.fsm").write_text(DOOR)
    return tmp_path


@pytest.mark.parametrize(("target", "first"), [("promela", "/* system door.One"), ("tla", "---- MODULE One ----")])
def test_export_writes_a_file(door: Path, target: str, first: str) -> None:
    done = fsm("export", "door.fsm", "--to", target, "--output", "out", cwd=door)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (door / "out").read_text("utf-8").startswith(first)
    assert fsm("export", "door.fsm", "--to", target, cwd=door).stdout == (door / "out").read_text("utf-8")


def test_export_refuses_by_name(door: Path) -> None:
    (door / "door.fsm").write_text(DOOR.replace("initial state Open", "seen: set<0..99>\n    initial state Open"))
    done = fsm("export", "door.fsm", "--to", "promela", cwd=door)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"fsm: door.fsm:12:1: `set<0..99>` cannot be exported: {REASONS['wide value']}\n"


def test_export_is_of_one_system(door: Path) -> None:
    (door / "door.fsm").write_text(DOOR + "\nsystem Two { doors: Door[2] }\n")
    done = fsm("export", "door.fsm", "--to", "tla", cwd=door)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "fsm: an export requires exactly one system; choose it with `--system`: `One`, `Two`\n"
    assert fsm("export", "door.fsm", "--to", "tla", "--system", "Two", cwd=door).returncode == 0


def test_a_missing_checker_is_explained(door: Path) -> None:
    done = fsm("verify", "door.fsm", "--second-opinion", "spin", "--tool", "./no-spin", cwd=door)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`./no-spin` is not installed, or not on PATH; `apt install spin`" in done.stderr
    done = fsm("verify", "door.fsm", "--second-opinion", "tlc", "--tool", "no.jar", cwd=door)
    assert done.returncode == 2
    assert "no.jar" in done.stderr or "Java" in done.stderr


def test_a_path_is_for_a_checker(door: Path) -> None:
    done = fsm("verify", "door.fsm", "--tool", "spin", cwd=door)
    assert (done.returncode, done.stdout) == (2, "")


@asks_another_checker
def test_verify_tells_what_is_confirmed(spin: Spin, door: Path) -> None:
    done = fsm("verify", "door.fsm", "--second-opinion", "spin", cwd=door)
    assert done.returncode == 0
    assert "confirmed  door.One by SPIN: 4 confirmed\n" in done.stdout
    (found,) = json.loads(fsm("verify", "door.fsm", "--second-opinion", "spin", "--format", "json", cwd=door).stdout)[
        "second_opinions"
    ]
    assert (found["system"], found["tool"], found["agreement"]) == ("door.One", "SPIN", "confirmed")
    assert found["rows"][0] == {"what": "states", "ours": "2", "theirs": "2", "agreement": "confirmed"}


@asks_another_checker
def test_a_difference_is_an_error(spin: Spin, door: Path) -> None:
    """A SPIN that forgets the first way out of each state."""
    (door / "spin").write_text(
        f'#!/bin/sh\nsed -i "s/possible(0)/0/" model.pml\nexec {spin.spin} "$@"\n', encoding="utf-8"
    )
    (door / "spin").chmod(0o755)
    done = fsm("verify", "door.fsm", "--second-opinion", "spin", "--tool", "./spin", cwd=door)
    assert done.returncode == 1
    assert "different  states: 2; SPIN: 1\n" in done.stdout
