"""A search that disagrees with the definition of the language ends `fsm verify` with 70, and gives no verdict.

Each plant is a bug in core statements or in their lowering, which decide what a search does: it changes the source of
one function, as a slip of a maintainer would. A spec of this repository must notice it, through the command, with the
small sample of any run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from random import Random

import pytest
from campaign import packed, systems
from packed_search import own_objects
from planting import planted
from tiers import today

from fsmdsl.cli.run import main
from fsmdsl.core.translate import effects, fitting, machines, offers, steps
from fsmdsl.runs.disagreement import DisagreementError
from fsmdsl.runs.search_result import Finding
from fsmdsl.search import Limits, Means, cross_check, explore
from fsmdsl.search.lower import questions, statements
from fsmdsl.search.lower.machines import changes, notes, rounds
from fsmdsl.search.packed_search import PackedSearch

pytestmark = pytest.mark.usefixtures(own_objects.__name__)

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Plant:
    """A bug: in the source of a function, `new` stands for `old`. A spec that notices."""

    function: Callable[..., object]
    old: str
    new: str
    spec: str


CONFINE, HIVED = "specs/confine", "specs/hived/holes"

PLANTS = {
    "priority is ignored": Plant(machines.choose, "priority.before(other, t)", "False", CONFINE),
    "guards are true": Plant(machines.guard, "return holds", "return TRUE", CONFINE),
    "guards are noted as false": Plant(notes.guard_seen, "Int(seen + 1)", "Int(seen)", CONFINE),
    "a move ends in the first leaf": Plant(
        changes.enter, "machine.leaf_numbers[x.leaf]", "0", "benchmarks/models/raft.fsm"
    ),
    "entry hooks come before the new state": Plant(
        machines.follow,
        "if move.target is not None:\n        b.add(s.Enter",
        "perform(scope, move.entries)\n    move = replace(move, entries=())\n"
        "    if move.target is not None:\n        b.add(s.Enter",
        "specs/grove",
    ),
    "effects are in reverse order": Plant(
        effects.perform, "elaboration.effects(effects)", "elaboration.effects(effects[::-1])", HIVED
    ),
    "`else` does nothing": Plant(effects._branch, "tuple(otherwise)", "()", HIVED),
    "a range ends too early": Plant(
        fitting.fits, 'compared(value, "<=", high)', 'compared(value, "<", high)', "benchmarks/models/raft.fsm"
    ),
    "a round ends after one transition": Plant(
        steps.round, "s.If(negated(followed), (s.Leave(),))", "s.Leave()", CONFINE
    ),
    "a round ends before its first transition": Plant(rounds.follow_one, "F.differs(IGNORED)", "FALSE", CONFINE),
    "a crash keeps what does not last": Plant(machines.forget, "if not f.durable", "if f.durable", HIVED),
    "invariants are asked like `reachable`": Plant(
        questions.ask, "condition if question.expected else Not(condition)", "condition", CONFINE
    ),
    "no step fulfils what fairness asks": Plant(
        notes.followed, "_mark(scope, context.followed_bits(machine, t), x.arguments)", "pass", CONFINE
    ),
    "messages are not lost": Plant(
        offers.offer_messages, "if channel.lossy:", "if False:", "benchmarks/models/sliding_window.fsm"
    ),
    "any message of a queue is delivered": Plant(
        offers.offer_messages, 'channel.order == "bag"', "True", "benchmarks/models/chandy_lamport.fsm"
    ),
    "an answer stays pending": Plant(
        steps.answer, "s.Answered(scope.self, action.name), ", "", "specs/yunikorn/protocol.fsm"
    ),
    "subsets are taken of the wrong members": Plant(
        offers._narrowed,
        "condition(scope.bind(x, member), body)",
        "negated(condition(scope.bind(x, member), body))",
        "benchmarks/hived_lite.fsm",
    ),
}


@pytest.fixture
def same_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each search draws the same sample in every run of the tests."""
    monkeypatch.setattr(cross_check, "Random", lambda: Random(1))


@pytest.mark.usefixtures(same_sample.__name__)
@pytest.mark.parametrize("name", today([*PLANTS]))
def test_a_bug_in_the_lowering_ends_the_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = PLANTS[name]
    with planted(x.function, x.old, x.new), pytest.raises(SystemExit) as end:
        main(["verify", str(ROOT / x.spec)])
    printed = capsys.readouterr()
    assert end.value.code == 70
    (system,) = re.findall(r"the search of `(.*)` disagrees with the definition of the language", printed.err)
    assert f" {system}:" not in printed.out


FAULTY = """module x
machine Server {
    n: 0..2
    list: list<0..2>[2]
    initial state Idle
            state Taken
    event take, count, look from environment
    event serve from Client
    Idle -> Taken on take
    Taken -> Idle on take when n > 0
    Taken on serve do n = n + 1
    Idle on count do n = n + 1
    Idle on look when list[n] == 0
}
machine Client {
    param server: Server
    initial state Start
            state Done
    event ask from environment
    Start -> Done on ask do server.serve
}
system X { server: Server  client: Client { server = server } }
"""


GANG = """module gang
machine Gang {
    initial state Queued
            state Half
    state Running { initial state Warming  state Warm }
    grown: 0..3
    event grow, finish from environment
    Queued  -> Half    on grow do grown = grown + 1
    Half    -> Running on grow do grown = grown + 1
    Warming -> Warm    on finish when grown > 2
    Running -> Queued  on finish when grown > 1 do grown = 0
}
system TwoGpus {
    gangs: Gang[2]
    let used = (count g in gangs: g not in Queued) + (count g in gangs: g in Running)
    environment {
        some g in gangs: g.grow when used < 2
        some g in gangs: g.finish
    }
}
"""


@pytest.mark.parametrize(
    ("text", "function", "old", "new"),
    [
        (FAULTY, statements._reason, "return UNHANDLED + scope.value(state)", "return Int(-IGNORED)"),
        (FAULTY, fitting.fits, 'b.add(s.Require(all_of(bounds), place.fault("range", value, low, high)))', "pass"),
        (GANG, machines.choose, "if TRUE in guards:", "if guards:"),
        (GANG, questions.stuck, "in_leaves(state, machine, resting) if resting else FALSE", "TRUE"),
    ],
    ids=["an event that is not handled", "a value that does not fit", "a transition of an outer state", "a deadlock"],
)
def test_what_a_search_leaves_out_is_noticed(
    text: str, function: Callable[..., object], old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault that the program does not know is in no finding: only the sample can show it, here of all states."""
    monkeypatch.setattr(cross_check, "SHARE", inf)
    model, system = next(systems(text))
    explore(model, system, means=Means(compiled=False))
    with planted(function, old, new), pytest.raises(DisagreementError):
        explore(model, system, means=Means(compiled=False))


def test_the_message_names_the_step_and_both_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_check, "SHARE", inf)
    counter = """module x
machine Counter {
    n: 0..1
    initial state On
    event up, look from environment
    On on up when n == 0 do n = 1
    On on look
}
system X { counter: Counter }
"""
    model, system = next(systems(counter))
    nothing = ("elaboration.effects(effects)", "elaboration.effects(effects[:0])")
    with planted(effects.perform, *nothing), pytest.raises(DisagreementError) as error:
        explore(model, system, means=Means(compiled=False))
    assert str(error.value).splitlines()[1:4] == [
        "  about the state that counter.up leads to",
        "  the search says:      counter  On  n = 0",
        "  the definition says:  counter  On  n = 1",
    ]


def searched(text: str = FAULTY) -> PackedSearch:
    model, system = next(systems(text))
    return packed(model, system, Limits(), Means(compiled=False))


def test_findings_are_confirmed() -> None:
    search = searched()
    assert search.faults
    cross_check.confirm(search, [])
    search.deadlock = Finding(0)
    with pytest.raises(DisagreementError, match="about a deadlock"):
        cross_check.confirm(search, [])
    search.deadlock, search.waiting = None, Finding(0)
    with pytest.raises(DisagreementError, match="about instances that wait for each other"):
        cross_check.confirm(search, [])


def test_a_fault_that_the_definition_does_not_know_is_no_fault() -> None:
    search = searched(FAULTY.replace("n = n + 1", "n = 0").replace("list[n] == 0", "n == 0"))
    fine = next(n for n in range(search.states) if search.world(n).states == ("Taken", "Done"))
    with pytest.raises(DisagreementError, match="about a step that fails"):
        cross_check.confirm(search, [fine])


def test_settled_questions_are_confirmed() -> None:
    search = searched(FAULTY.replace("server = server }", "server = server } invariant low: server.n < 2"))
    (key,) = [key for key in search.settled if key.kind == "invariant"]
    search.settled[key] = Finding(0)
    with pytest.raises(DisagreementError, match="about invariant `low`"):
        cross_check.confirm(search, [])


def test_the_graph_is_checked() -> None:
    fair = "server = server } property counted: server.n == 0 ~> server.n > 0 under fair count"
    search = searched(FAULTY.replace("server = server }", fair))
    graph, sample = search.graph(), [cross_check.defined(search, n) for n in range(search.states)]
    cross_check.check_graph(search, graph, sample)
    for part in (graph.targets, graph.marks, *graph.atoms):
        before = part[0]
        part[0] = before + 1
        with pytest.raises(DisagreementError):
            cross_check.check_graph(search, graph, sample)
        part[0] = before


def test_a_sample_takes_a_small_share_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_check, "SHARE", 0)
    assert len(cross_check.cross_check(searched())) == 1
    monkeypatch.setattr(cross_check, "SHARE", inf)
    search = searched()
    assert sorted(x.number for x in cross_check.cross_check(search)) == list(range(search.states))
    monkeypatch.setattr(cross_check, "MAX_STATES", 3)
    assert len(cross_check.cross_check(search)) == 3
