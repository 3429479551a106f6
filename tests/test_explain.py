"""`fsm explain LOG`: runs found, lines that nothing explains, the nearest miss, and input of every kind."""

from __future__ import annotations

import gc
import io
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import monotonic
from unittest.mock import patch

import jsonschema
import pytest
from click.testing import CliRunner, Result
from test_tutorial import followed
from tiers import today

from fsmdsl.cli.parser import cli
from fsmdsl.interop.logs import nearest
from fsmdsl.interop.logs.binding import Reading, bind
from fsmdsl.interop.logs.explanation import Explanation, explain
from fsmdsl.interop.logs.lines import MAX_LINE, MAX_TEXT, Line, UnreadableLineError, _logfmt, lines
from fsmdsl.interop.logs.mapping import read
from fsmdsl.interop.logs.records import Record, Records
from fsmdsl.interop.logs.render_text import covered
from fsmdsl.interop.logs.successor_cache import SuccessorCache
from fsmdsl.interop.logs.worlds import Tracker
from fsmdsl.model.resolve import resolve
from fsmdsl.report.formats.schema import schemas
from fsmdsl.runs.simulation import subject
from fsmdsl.step import EventStep, Step, Universe, World, enabled, fire
from fsmdsl.syntax.parse import parse
from fsmdsl.text.budget import LimitError
from fsmdsl.text.source import Source

ROOT = Path(__file__).absolute().parent.parent
GANG = """\
module gang
machine Gang {
    param big: bool
    gpus: 0..2
    initial state Queued
            state Half
            state Running
    event grow, finish, poke from environment
    Queued  -> Half     on grow    do gpus = 1
    Half    -> Running  on grow    do gpus = 2
    Running -> Queued   on finish  do gpus = 0
    ignore poke in Queued
}
system Two {
    gangs: Gang[2] { big = index == 1 }
    let used = (count g in gangs: g not in Queued) + (count g in gangs: g in Running)
    environment {
        some g in gangs: g.grow when used < 2
        some g in gangs: g.finish
        some g in gangs: g.poke
    }
}
"""

EVENT = '[[line]]\nwhen = {{ msg = "{0}" }}\nof = "gangs"\ninstance = "{{id}}"\nevent = "{0}"\n'
STATE = '[[line]]\nwhen = { msg = "now" }\nof = "gangs"\ninstance = "{id}"\nstate = "Running"\n'
EVENTS = "".join(EVENT.format(x) for x in ("grow", "finish", "poke"))


def universe(text: str = GANG, system: str | None = None) -> Universe:
    found = resolve([parse(Source("spec.fsm", text)).module])
    assert found.model is not None, found.diagnostics
    return Universe(found.model, subject(found.model, system))


def log(*told: str) -> bytes:
    """`a grow` is a line that says so."""
    pairs = (x.split(maxsplit=2) for x in told)
    return b"".join(json.dumps({"id": a, "msg": b}).encode() + b"\n" for a, b in pairs)


def explained(
    text: bytes, mapping: str = EVENTS, spec: str = GANG, *, depth: int = 3, whole: bool = True
) -> Explanation:
    reading = bind(read(Source("mapping.toml", mapping)), universe(spec))
    return explain(reading, "run.log", lines(io.BytesIO(text)), depth=depth, whole=whole)


def steps(x: Explanation) -> list[str]:
    """Each step with the lines that told of it."""
    from fsmdsl.step.describe import describe

    roster = x.summary.roster
    return [f"{describe(roster, t.entry.step)} {','.join(map(str, t.lines)) or 'hidden'}" for t in x.summary.steps]


def changes(x: Explanation) -> list[str]:
    assert x.failure is not None
    return [f"{c.kind} {c.line}" for c in x.failure.changes]


# Explained -----------------------------------------------------------------------------------------------------------


def test_each_line_is_a_step() -> None:
    x = explained(log("a grow", "a grow", "a finish", "b grow"))
    assert x.outcome == "explained"
    assert steps(x) == ["g0.grow 1", "g0.grow 2", "g0.finish 3", "g1.grow 4"]
    assert x.summary.names == {"a": 0, "b": 1}
    assert [n for n, *_ in covered(x.summary)] == [2, 1, 1]


def test_lines_that_say_nothing_are_counted() -> None:
    x = explained(log("a grow", "a heartbeat", "b grow"))
    assert (x.outcome, x.tally.lines, x.tally.matched, x.tally.skipped) == ("explained", 3, 2, 1)


def test_an_event_that_is_ignored_on_purpose_is_a_step() -> None:
    assert steps(explained(log("a poke", "a grow"))) == ["g0.poke 1", "g0.grow 2"]
    assert explained(log("a grow", "a poke")).outcome == "not explained"


def test_a_name_of_the_log_may_be_any_instance_that_fits_what_comes_later() -> None:
    """`big` tells g0 from g1 at the second line only."""
    spec = GANG.replace("on grow    do gpus = 1", "on grow    do gpus = if big then 2 else 1")
    mapping = EVENTS + STATE.replace('"now"', '"has"').replace('state = "Running"', "fields = { gpus = 2 }")
    x = explained(log("a grow", "a has"), mapping, spec)
    assert (x.outcome, x.summary.names) == ("explained", {"a": 1})


def test_names_in_order_of_appearance() -> None:
    spec = GANG.replace("on grow    do gpus = 1", "on grow    do gpus = if big then 2 else 1")
    mapping = EVENTS + STATE.replace('"now"', '"has"').replace('state = "Running"', "fields = { gpus = 2 }")
    assert explained(log("a grow", "a has"), "in_order = true\n" + mapping, spec).outcome == "not explained"
    assert explained(log("b grow", "a grow"), "in_order = true\n" + mapping, spec).summary.names == {"b": 0, "a": 1}


def test_names_of_the_system_are_its_own() -> None:
    assert explained(log("g1 grow")).summary.names == {}
    assert steps(explained(log("g1 grow"))) == ["g1.grow 1"]


def test_a_name_that_ends_frees_its_instance() -> None:
    told = ("a grow", "a grow", "a finish", "b grow", "b grow", "b finish", "c grow")
    x = explained(log(*told))
    assert x.failure is not None
    assert (x.failure.record.line, x.failure.worlds) == (7, 1)
    assert "all 2 instances of `gangs` are bound to other names (`a` is g0, `b` is g1)" in x.failure.reasons[0]
    ends = EVENTS.replace('event = "finish"', 'event = "finish"\nends = true')
    assert explained(log(*told), ends).outcome == "explained"


def test_fixed_names() -> None:
    mapping = '[names]\na = "g1"\n' + EVENTS
    assert steps(explained(log("a grow", "b grow"), mapping)) == ["g1.grow 1", "g0.grow 2"]


def test_fixed_names_are_taken() -> None:
    x = explained(log("b grow", "c grow"), '[names]\na = "g1"\n' + EVENTS)
    assert x.outcome == "not explained"


def test_a_state_is_compared_after_the_step() -> None:
    x = explained(log("a grow", "a grow", "a now"), EVENTS + STATE)
    assert steps(x) == ["g0.grow 1", "g0.grow 2,3"]
    x = explained(log("a grow", "a now"), EVENTS + STATE)
    assert x.failure is not None
    assert x.failure.reasons == ("g0 is in Half, but the line says Running",)


def test_a_state_and_fields_of_a_line_with_an_event() -> None:
    both = EVENTS.replace('event = "grow"', 'event = "grow"\nstate = "Half"\nfields = { gpus = 1 }', 1)
    assert explained(log("a grow"), both).outcome == "explained"
    wrong = explained(log("a grow", "a grow"), both)
    assert wrong.failure is not None
    assert wrong.failure.reasons == ("after g0.grow, g0 is in Running, but the line says Half",)
    other = explained(log("a grow"), both.replace("gpus = 1", "gpus = 2"))
    assert other.failure is not None
    assert other.failure.reasons[0] == "after g0.grow, g0.gpus is 1, but the line says 2"


# Hidden steps --------------------------------------------------------------------------------------------------------


def test_hidden_steps_are_found_and_as_few_as_possible() -> None:
    only = EVENT.format("finish")
    assert steps(explained(log("a finish"), only)) == ["g0.grow hidden", "g0.grow hidden", "g0.finish 1"]
    assert explained(log("a finish"), only, depth=1).outcome == "not explained"
    x = explained(log("a finish", "b finish", "a finish"), only)
    assert (x.outcome, x.summary.hidden, x.summary.count) == ("explained", 6, 9)


def test_an_event_that_is_logged_does_not_happen_without_a_line_unless_lines_may_be_lost() -> None:
    assert explained(log("a finish")).outcome == "not explained"
    lost = EVENTS.replace('event = "grow"', 'event = "grow"\nlost = true')
    assert steps(explained(log("a grow", "a finish"), lost)) == ["g0.grow 1", "g0.grow hidden", "g0.finish 2"]


CALLS = """\
module calls
machine Desk {
    param next: Clerk
    initial state Open
    state Shut
    event shut from environment
    s1: Open -> Shut on shut do next.stop
}
machine Clerk {
    initial state Busy
    state Leaving
    state Gone
    event stop from Desk
    c1: Busy -> Leaving on stop
    c2: Leaving -> Gone
}
system Office {
    desk:  Desk { next = clerk }
    clerk: Clerk
}
"""
OFFICE = """\
[[line]]
when = { msg = "shut" }
instance = "desk"
event = "shut"
[[line]]
when = { msg = "stop" }
instance = "clerk"
event = "stop"
[[line]]
when = { msg = "row" }
instance = "clerk"
row = "c2"
[[line]]
when = { msg = "leaving" }
instance = "clerk"
state = "Leaving"
"""


def test_lines_about_what_a_step_causes() -> None:
    told = log("- shut", "- stop", "- leaving", "- row")
    assert steps(explained(told, OFFICE, CALLS)) == ["desk.shut 1,2,3,4"]
    assert explained(log("- shut", "- row", "- row"), OFFICE, CALLS).outcome == "not explained"


def test_a_step_without_a_line_of_its_own_is_known_by_what_it_causes() -> None:
    quiet = OFFICE.replace("[[line]]", "", 1).replace(
        'when = { msg = "shut" }\ninstance = "desk"\nevent = "shut"\n', ""
    )
    assert steps(explained(log("- row"), quiet, CALLS, depth=0)) == ["desk.shut 1"]
    assert explained(log("- row"), OFFICE, CALLS).outcome == "not explained"  # `shut` would have a line


# The nearest miss ----------------------------------------------------------------------------------------------------


def test_a_line_that_nothing_explains() -> None:
    x = explained(log("a grow", "b grow", "a grow", "a finish"))
    assert x.failure is not None
    assert (x.failure.record.line, str(x.failure.record.claim)) == (3, "a.grow")
    assert x.failure.reasons[0].startswith("g0.grow: the environment sends it only when `used < 2`")
    assert x.failure.enabled == ()
    assert x.tally.lines == 3


def test_the_states_that_handle_an_event_are_named() -> None:
    x = explained(log("a grow", "a finish"))
    assert x.failure is not None
    assert x.failure.reasons == ("g0 is in `Half`, where no transition handles `finish`; it is handled in Running",)
    assert set(x.failure.enabled) == {"g0.grow", "g1.grow"}


def test_a_line_is_missing() -> None:
    x = explained(log("a grow", "a finish", "b grow"))
    assert changes(x) == ["missing 2", "superfluous 2"]
    assert x.failure is not None
    assert str(x.failure.changes[0]) == "with a line for `a.grow` before line 2, the log is explained"


QUEUE = """\
module queue
machine Message {
    initial state Visible
            state Taken
    final   state Deleted
    event take, ack from Worker
    Visible -> Taken on take
    Taken -> Deleted on ack
}
machine Worker {
    msg: Message?
    initial resting state Idle
                    state Busy
    event poll(m: Message), finish from environment
    Idle -> Busy on poll(m)  do { msg = m; m.take }
    Busy -> Idle on finish   do msg.ack
}
system Jobs {
    messages: Message[2]
    workers: Worker[2]
    environment {
        some w in workers, m in messages: w.poll(m) when m in Visible
        some w in workers: w.finish
    }
}
"""
POLLS = """
[[line]]
when = { msg = "poll" }
of = "workers"
instance = "{id}"
event = "poll"
arguments = { m = "{message}" }

[[line]]
when = { msg = "finish" }
of = "workers"
instance = "{id}"
event = "finish"
"""


def polled(*entries: tuple[str, str, str], spec: str = QUEUE) -> Explanation:
    texts = (json.dumps({"id": who, "msg": what, "message": message}) for who, what, message in entries)
    return explained("\n".join(texts).encode(), POLLS, spec, depth=0)


def test_a_missing_line_is_told_with_the_names_of_the_log() -> None:
    """The first line may be about either message: in both cases it is the other one that is missing."""
    before = ("pod-b", "poll", "order-17"), ("pod-b", "finish", "order-17")
    x = polled(*before, ("pod-b", "finish", "order-18"))
    assert x.failure is not None
    (missing,) = (c for c in x.failure.changes if c.kind == "missing")
    assert missing.steps == ("pod-b.poll(another Message)",)
    for message, outcome in (("order-18", "explained"), ("order-17", "not explained")):
        inserted = (*before, ("pod-b", "poll", message), ("pod-b", "finish", message))
        assert polled(*inserted).outcome == outcome


@pytest.mark.parametrize("seed", today(range(80)))
def test_with_a_line_that_is_said_to_be_missing_the_log_is_explained(seed: int) -> None:
    """Runs of three workers and four messages of which one line is lost. A name that is new stands for another one."""
    chance = random.Random(seed)
    spec = QUEUE.replace("Message[2]", "Message[4]").replace("Worker[2]", "Worker[3]")
    of_spec = universe(spec)
    world, entries = of_spec.start, list[tuple[str, str, str]]()
    while possible := [x for x in enabled(of_spec, world) if isinstance(x, EventStep)]:
        step = chance.choice(possible)
        message = f"order-{step.arguments[0]}" if step.arguments else ""
        entries.append((f"pod-{step.instance}", step.event, message))
        world = fire(of_spec, world, step).world
    del entries[chance.randrange(len(entries))]
    x = polled(*entries, spec=spec)
    if x.failure is None:
        return
    for change in (c for c in x.failure.changes if c.kind == "missing"):
        for step_text in change.steps:
            new_names = step_text.replace("another Worker", "pod-new").replace("another Message", "order-new")
            parts = re.fullmatch(r"(.+)\.(poll|finish)(?:\((.*)\))?", new_names)
            assert parts is not None
            who, what, message = parts.groups("")
            repaired = [*entries[: change.line - 1], (who, what, message), *entries[change.line - 1 :]]
            failure = polled(*repaired, spec=spec).failure
            assert failure is None or failure.record.line > x.failure.record.line + 1, step_text


def test_why_an_event_is_not_possible_with_the_arguments_of_the_line() -> None:
    x = polled(("pod-a", "poll", "order-17"), ("pod-a", "finish", "order-17"), ("pod-a", "poll", "order-17"))
    assert x.failure is not None
    assert x.failure.enabled == ("w0.poll(m1)", "w1.poll(m1)")
    assert x.failure.reasons == (
        "w0.poll(m0): the environment sends it only when `m in Visible`: "
        "for w = w0, m = m0: `m in Visible` is false: m is in Deleted",
    )


def test_a_line_is_repeated() -> None:
    x = explained(log("a grow", "a grow", "a finish", "a finish", "a grow", "a grow"))
    assert changes(x)[0] == "duplicate 4"
    assert x.failure is not None
    assert x.failure.changes[0].other == 3


def test_two_lines_are_swapped() -> None:
    x = explained(log("a grow", "a finish", "a grow", "b grow", "b grow", "b finish"))
    assert x.failure is not None
    assert x.failure.record.line == 2
    assert changes(x)[0] == "swapped 2"


def test_a_line_is_too_many() -> None:
    x = explained(log("a grow", "a finish", "a grow", "a finish", "a grow"))
    assert "superfluous 2" in changes(x)


@pytest.mark.parametrize(("effort", "found"), [(0, 0), (nearest.MAX_EFFORT, 2)])
def test_the_nearest_miss_is_sought_for_so_long(effort: int, found: int, folder: Path) -> None:
    """The line and the reasons are known before: what is left out is said, and nothing is claimed of it."""
    (folder / "run.log").write_bytes(log("a grow", "a finish", "b grow"))
    with patch.object(nearest, "MAX_EFFORT", effort):
        done = run("run.log", "--mapping", "gang.toml")
        printed = json.loads(run("run.log", "--mapping", "gang.toml", "--format", "json").stdout)["failure"]
    assert "because: g0 is in `Half`, where no transition handles `finish`" in done.output
    assert ("not every change of the log was tried" in done.output) is (effort == 0)
    assert "no single change" not in done.output
    assert (len(printed["changes"]), printed["all_tried"]) == (found, effort > 0)


def test_a_limit_in_the_middle_of_the_search_for_the_nearest_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise LimitError("stopped after 5 seconds")

    monkeypatch.setattr(nearest, "_of_kind", late)
    x = explained(log("a grow", "a finish", "b grow"))
    assert x.failure is not None
    assert (x.outcome, x.failure.changes, x.failure.all_tried) == ("not explained", (), False)


def test_other_arguments() -> None:
    spec = GANG.replace("event grow,", "event grow(n: 1..2) from environment event").replace("on grow ", "on grow(n) ")
    spec = spec.replace("some g in gangs: g.grow when", "some g in gangs: g.grow(1) when")
    mapping = EVENTS.replace('event = "grow"', 'event = "grow"\narguments = { n = "{n}" }')
    line = b'{"id": "a", "msg": "grow", "n": 2}\n'
    x = explained(line, mapping, spec)
    assert x.failure is not None
    assert x.failure.reasons[0] == "g0.grow(1) is possible, but the line has other arguments"
    assert explained(line.replace(b"2", b'"1"'), mapping, spec).outcome == "explained"


# Against a search over all runs --------------------------------------------------------------------------------------


def oracle(u: Universe, told: Iterable[tuple[str, str]], depth: int, logged: set[str]) -> bool:
    """The same question for names of the system's own, by sets of worlds."""
    at: set[World] = {u.start}
    for name, event in told:
        reach, level = set(at), set(at)
        for _ in range(depth):
            level = {
                fire(u, w, s).world
                for w in level
                for s in enabled(u, w)
                if isinstance(s, EventStep) and s.event not in logged
            }
            reach |= level
        at = {
            fire(u, w, s).world
            for w in reach
            for s in enabled(u, w)
            if isinstance(s, EventStep) and (u.name(s.instance), s.event) == (name, event)
        }
    return bool(at)


@pytest.mark.parametrize("seed", today(range(40)))
def test_the_answer_is_that_of_a_search_over_all_runs(seed: int) -> None:
    dice = random.Random(seed)
    u, depth = universe(), dice.randrange(4)
    logged = set(dice.sample(["grow", "finish"], dice.randint(1, 2)))
    told = [(dice.choice(["g0", "g1"]), dice.choice(sorted(logged))) for _ in range(dice.randint(1, 6))]
    x = explained(log(*(f"{a} {b}" for a, b in told)), "".join(map(EVENT.format, sorted(logged))), depth=depth)
    assert (x.outcome == "explained") is oracle(u, told, depth, logged)


@pytest.mark.parametrize("seed", today(range(20)))
def test_a_walk_that_is_fully_logged_is_explained_and_one_with_lines_removed_too(seed: int) -> None:
    dice, u = random.Random(seed), universe()
    world, told = u.start, []
    for _ in range(40):
        options = [s for s in enabled(u, world) if isinstance(s, EventStep)]
        if not options:
            break
        step = dice.choice(options)
        told.append(f"{u.name(step.instance)} {step.event}")
        world = fire(u, world, step).world
    full = explained(log(*told), depth=0)
    assert [x.partition(" ")[0] for x in steps(full)] == [x.replace(" ", ".") for x in told]
    rest = [x for x in told if dice.random() < 0.7] or told
    lost = EVENTS.replace("event =", "lost = true\nevent =")
    found = explained(log(*rest), lost, depth=40)
    assert found.outcome == "explained"
    assert found.summary.hidden <= len(told) - len(rest)


# Memory --------------------------------------------------------------------------------------------------------------


@pytest.mark.full(reason="size")
@pytest.mark.parametrize("told", ["a", "a b"], ids=["one world", "two worlds to the end"])
@pytest.mark.parametrize("depth", [0, 2], ids=["nothing hidden", "hidden steps"])
def test_memory_does_not_grow_with_the_log(told: str, depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsmdsl.interop.logs.walk.COMPACT_EVERY", 64)
    turn = [f"{x} {y}" for x in told.split() for y in ("grow", "grow", "finish")]
    most: list[int] = []

    def watched() -> Iterable[Line]:
        for n, line in enumerate(lines(io.BytesIO(log(*(turn * 1000))))):
            if n % 500 == 499:
                gc.collect()
                most.append(len(gc.get_objects()))
            yield line

    one = 'of = "gangs"\ninstance = "{id}"'
    mapping = EVENTS.replace(one, 'instance = "g0"') if told == "a" else EVENTS  # whatever g1 does is hidden
    x = explain(bind(read(Source("mapping.toml", mapping)), universe()), "run.log", watched(), depth=depth)
    assert (x.outcome, x.summary.count, len(x.summary.steps)) == ("explained", 1000 * len(turn), 12)
    assert max(most[1:]) < most[0] + 400


# A line is computed once for each set of worlds ----------------------------------------------------------------------


PODS = """\
module pods
machine Node { initial state Up }
machine Pod {
    node: Node?
    rivals: set<Pod>
    turn: 0..1
    initial state Waiting
            state Bound
    event bind(at: Node, over: set<Pod>) from environment
    event leave, poke from environment
    Waiting -> Bound   on bind(at, over) do { node = at  rivals = over }
    Bound   -> Waiting on leave          do { node = none  rivals = {}  turn = 0 }
    Bound   -> Bound   on poke           do turn = 1
    ignore poke in Waiting
}
system Cluster {
    nodes: Node[2]
    pods: Pod[2]
    environment {
        some p in pods, n in nodes, over in subsets(pods, 1): p.bind(n, over) when all q in pods: q.node != n
        some p in pods: p.leave
        some p in pods: p.poke
    }
}
"""
POD = '[[line]]\nwhen = {{ msg = "{0}" }}\nof = "pods"\ninstance = "{{id}}"\n{1}\n'


def reference(reading: Reading, text: bytes, depth: int) -> tuple[str, list[tuple[Step, list[int]]], dict[str, int]]:
    """The outcome, the steps of the run with their lines, and the names, by the definition: nothing is remembered."""
    tracker = Tracker(SuccessorCache(reading), depth)
    possible, outcome = tracker.start(), "explained"
    for record in map(Record._make, Records(reading, "run.log", lines(io.BytesIO(text)))):
        after = tracker.advance(possible, record.claim, record.line)
        if not after:
            outcome = "not explained"
            break
        possible = after
    moments, moment = [], possible[0].past
    while moment is not None:
        moments.append(moment)
        moment = moment.before
    found: list[tuple[Step, list[int]]] = []
    names: dict[str, int] = {}
    for x in reversed(moments):
        names |= dict(x.names)
        if x.edge is not None:
            found.append((x.edge.step, []))
        if x.line is not None and found:
            found[-1][1].append(x.line)
    return outcome, found, names


def pods_log(dice: random.Random, count: int) -> bytes:
    """A walk of pods on nodes, some of whose lines are lost, late, or about something else."""
    u = universe(PODS)
    world, told, births = u.start, [], Counter[int]()
    for _ in range(count):
        step = dice.choice([s for s in enabled(u, world) if isinstance(s, EventStep)])
        world = fire(u, world, step).world
        births[step.instance] += step.event == "leave"
        name = [
            f"{u.name(n)}-{births[n]}" if u.machines[n].name == "Pod" else u.name(n) for n in range(len(u.machines))
        ]
        line: dict[str, object] = {"msg": step.event, "id": name[step.instance], "turn": world.fields[step.instance][2]}
        if step.event == "leave":
            line["id"] = f"{u.name(step.instance)}-{births[step.instance] - 1}"
        if step.arguments:
            at, over = step.arguments
            line |= {"at": name[at], "over": [name[n] for n in sorted(over)]}  # type: ignore[index, arg-type]
        told.append(line)
        if dice.random() < 0.3:
            told.append({"msg": "state", "id": line["id"], "state": world.states[step.instance]})
    lost = dice.choice([0, 0, 0.1])
    kept = [x for x in told if dice.random() >= lost]
    if lost and dice.random() < 0.3:
        n = dice.randrange(len(kept) - 1)
        kept[n : n + 2] = kept[n + 1], kept[n]
    return b"".join(json.dumps(x).encode() + b"\n" for x in kept)


@pytest.mark.parametrize("seed", today(range(16)))
def test_what_is_remembered_of_lines_changes_no_answer(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(seed)
    monkeypatch.setattr("fsmdsl.interop.logs.walk.COMPACT_EVERY", dice.choice([1, 3, 16, 4096]))
    monkeypatch.setattr("fsmdsl.interop.logs.belief.MAX_PATHS", dice.choice([1, 50, 4096]))
    ends, lost = dice.random() < 0.9, dice.choice(["", "lost = true\n"])
    given = 'arguments = { at = "{at}", over = "{over}" }'
    mapping = "in_order = true\n" * (dice.random() < 0.3)
    mapping += POD.format("bind", f'event = "bind"\n{given}\n' + lost) + POD.format("poke", 'event = "poke"\n' + lost)
    fields = '\nfields = { turn = "{turn}" }' * (dice.random() < 0.5)
    mapping += POD.format("leave", f'event = "leave"\n{"ends = true" * ends}{fields}\n' + lost)
    mapping += POD.replace("when = {{", 'when = {{ state = "Bound",').format("state", 'state = "Bound"')
    reading = bind(read(Source("mapping.toml", mapping)), universe(PODS))
    text = pods_log(dice, dice.choice([5, 40, 120]))
    depth = dice.randrange(3)
    x = explain(reading, "run.log", lines(io.BytesIO(text)), depth=depth, whole=True)
    outcome, found, names = reference(reading, text, depth)
    assert (x.outcome, x.summary.names) == (outcome, names)
    assert [(t.entry.step, list(t.lines)) for t in x.summary.steps] == found
    short = explain(reading, "run.log", lines(io.BytesIO(text)), depth=depth)
    assert (short.outcome, short.summary.rows, short.summary.count) == (outcome, x.summary.rows, len(found))
    assert (short.summary.names, short.summary.hidden) == (names, sum(not told for _, told in found))
    assert list(short.summary.steps) == list(x.summary.steps)[-len(short.summary.steps) :]


# Formats -------------------------------------------------------------------------------------------------------------


def test_logfmt() -> None:
    assert _logfmt(r'a=1 b="two \"words\"" c= d') == {"a": "1", "b": 'two "words"', "c": "", "d": True}
    with pytest.raises(UnreadableLineError, match="column 5"):
        _logfmt('a=1 ="x"')
    mapping = 'format = "logfmt"\n' + EVENTS
    assert explained(b"level=info msg=grow id=a\nmsg=grow id=a\n", mapping).outcome == "explained"


def test_text_by_a_pattern() -> None:
    mapping = "format = \"text\"\npattern = '(?P<id>\\S+) did (?P<msg>\\w+)'\n" + EVENTS
    x = explained(b"12:00 a did grow\n12:01 something else\n12:02 a did grow\n", mapping)
    assert (x.outcome, x.tally.skipped, x.summary.count) == ("explained", 1, 2)


def test_fields_inside_fields_and_several_values() -> None:
    mapping = (
        '[[line]]\nwhen = { "o.kind" = ["G", "H"], n = 1 }\nof = "Gang"\ninstance = "{o.meta.uid}/x"\nevent = "grow"\n'
    )
    line = {"o": {"kind": "H", "meta": {"uid": 7}}, "n": 1}
    x = explained(json.dumps(line).encode() + b'\n{"o": {"kind": "K"}}\n{"o": 3}\n', mapping)
    assert (x.outcome, x.summary.names, x.tally.skipped) == ("explained", {"7/x": 0}, 2)


def test_clocks_that_are_not_quite_in_order() -> None:
    pairs = [(10.0, "grow"), (12.0, "finish"), (11.5, "grow"), (14.0, "grow")]
    text = b"".join(json.dumps({"t": t, "id": "a", "msg": x}).encode() + b"\n" for t, x in pairs)
    assert explained(text).outcome == "not explained"
    x = explained(text, 'time = "t"\nwindow = "1s"\n' + EVENTS)
    assert (x.outcome, steps(x)) == ("explained", ["g0.grow 1", "g0.grow 3", "g0.finish 2", "g0.grow 4"])
    assert explained(text, 'time = "t"\nwindow = "100ms"\n' + EVENTS).outcome == "not explained"
    iso = text.replace(b"11.5", b'"1970-01-01T00:00:11.5Z"')
    assert explained(iso, 'time = "t"\nwindow = "1s"\n' + EVENTS).outcome == "explained"


# The tutorial --------------------------------------------------------------------------------------------------------


def test_the_page_prints_what_the_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(list(followed(ROOT / "docs" / "explain.md"))) == 4


# Bad input -----------------------------------------------------------------------------------------------------------

TOML = 'spec = "gang.fsm"\n' + EVENTS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gang.fsm").write_text(GANG)
    (tmp_path / "gang.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, text: bytes | None = None) -> Result:
    done = CliRunner().invoke(cli, ["explain", *arguments], input=text)
    assert isinstance(done.exception, SystemExit | None), done.exception
    return done


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        (b"", 1, "nothing to explain"),
        (b"\n\n  \n", 1, "nothing to explain"),
        (b"\x00\x01\xff\xfe\n\x7fELF\x02" * 50, 1, "it is not JSON"),
        (log("a grow") + b"{oops\n" + log("a grow"), 0, "run.log:2: it is not JSON"),
        (log("a grow") + b"[1, 2]\n" + log("a grow"), 0, "run.log:2: it is not a JSON object"),
        (log("a grow") + b"[" * 100_000 + b"\n", 0, "run.log:2: it is not JSON"),
        (log("a grow") + b'{"msg": "grow"}\n', 0, "run.log:2: it has no field `id`"),
        (b'{"id": {"deep": [1]}, "msg": "grow"}\n', 0, "1 of 1 lines"),
        (b'{"id": null, "msg": "grow"}\n', 1, "run.log:1: the name of its instance, `{id}`, is empty"),
        (b'{"id": "a", "msg": ["grow"]}\n', 1, "nothing to explain"),
        (log("a grow") + b'{"id": "' + b"x" * (MAX_LINE + 5) + b'"}\n' + log("a grow"), 0, "2: it is longer than"),
        (b'{"id": "a", "msg": "grow", "msg2": "\xff"}', 0, "explained"),
        (b'{"id": "\\ud800", "msg": "grow"}', 0, "explained"),
    ],
)  # fmt: skip
def test_a_bad_log_is_no_traceback(text: bytes, code: int, told: str, folder: Path) -> None:
    (folder / "run.log").write_bytes(text)
    done = run("run.log", "--mapping", "gang.toml")
    assert (done.exit_code, told in done.output) == (code, True), done.output
    assert run("-", "--mapping", "gang.toml", text=text).exit_code == code
    printed = json.loads(run("run.log", "--mapping", "gang.toml", "--format", "json", "--show").stdout)
    jsonschema.Draft202012Validator(schemas()["explain"]).validate(printed)


MAIL = """
channel {kind} to {each}Box
machine Box {{
    initial state Shut
    event mail from c  event open from environment
    got: Shut on mail
    Shut on open when size(c{of}) == 0 do send c.mail{to}
}}
system S {{ box: Box }}
"""


@pytest.mark.parametrize(
    ("each", "advice"),
    [
        ("", "write `deliver c.mail` without `instance`, because all receivers share the queue"),
        ("each ", "write `deliver c.mail`\n"),
    ],
)
def test_an_event_from_a_channel_is_its_delivery(each: str, advice: str, folder: Path) -> None:
    """The environment never sends it, and no other machine's step has it: no line could be about it."""
    of, to = (" of self", " to self") if each else ("", "")
    (folder / "gang.fsm").write_text("module gang" + MAIL.format(kind="c: fifo[1]", each=each, of=of, to=to))
    mapping = '[[line]]\nwhen = { msg = "mail" }\nof = "Box"\ninstance = "{id}"\nevent = "mail"\n'
    (folder / "mail.toml").write_text(mapping)
    (folder / "run.log").write_bytes(log("box mail"))
    done = run("run.log", "--mapping", "mail.toml", "--spec", "gang.fsm")
    assert done.exit_code == 1
    assert f"error[FSM541]: `mail` comes only from `c`: {advice}" in done.output


def test_a_pattern_that_takes_too_long_is_interrupted(folder: Path) -> None:
    pattern = "format = \"text\"\npattern = '(?P<id>(a+)+)$'\n"
    (folder / "slow.toml").write_text(pattern + TOML)
    (folder / "run.log").write_bytes(b"a" * 40 + b"b\n" + b"a" * (MAX_TEXT + 1) + b"\n")
    done = run("run.log", "--mapping", "slow.toml")
    assert "run.log:1: the pattern takes too long on it" in done.output
    assert "2 lines unreadable" in done.output


@pytest.mark.parametrize(
    ("mapping", "line", "told"),
    [
        ("spec = ", 1, "the mapping is not TOML"),
        (TOML + "[[line]]\n", 17, "says nothing of the spec"),
        ('sytem = "x"\n' + TOML, 1, "there is no key `sytem` here; did you mean `system`?"),
        ("hidden = -1\n" + TOML, 1, "`hidden` must be a number from 0 on"),
        ("strict = 1\n" + TOML, 1, "`strict` must be `true` or `false`"),
        ('format = "xml"\n' + TOML, 1, "`xml` is not a format of logs"),
        ('format = "text"\n' + TOML, 1, "needs a `pattern`"),
        ('pattern = "x"\n' + TOML, 1, '`pattern` needs `format = "text"`'),
        ("format = \"text\"\npattern = '(?P<id'\n" + TOML, 2, "not a regular expression"),
        ('window = "soon"\n' + TOML, 1, "`soon` is not a length of time"),
        ('window = "2s"\n' + TOML, 1, "`window` needs `time`"),
        ('spec = "gang.fsm"\n', 1, "no `[[line]]` table"),
        (TOML.replace('"grow"\n', '"grwo"\n'), 6, "there is no event `grwo` of these instances; did you mean `grow`?"),
        (TOML.replace('"gangs"', '"gang"', 1), 4, "there is no set or machine `gang` in the system"),
        (TOML + 'state = "Runing"\n', 17, "there is no state `Runing` of these instances; did you mean `Running`?"),
        (TOML + "arguments = { n = 1 }\n", 17, "there is no parameter `n` of these instances"),
        (TOML + 'fields = { gpu = "{n}" }\n', 17, "there is no field `gpu` of these instances; did you mean `gpus`?"),
        (TOML.replace('of = "gangs"\ninstance = "{id}"\n', "", 1), 4, "an event of an instance needs `instance`"),
        ('spec = "gang.fsm"\n[names]\na = "h0"\n' + EVENTS, 3, "there is no instance `h0` in the system"),
        (TOML.replace('instance = "{id}"', "instance = 3", 1), 5, "`instance` must be a string"),
        ("line = 3\n", 1, "`line` must be a `[[line]]` table"),
        ("line = [3]\n", 1, "`line` must be a table"),
        (TOML + "hidden = 2\n", 17, "there is no key `hidden` here; it belongs above the first `[[line]]`"),
        ('event = "grow"\n' + TOML, 1, "there is no key `event` here; it belongs below a `[[line]]`"),
        (TOML + 'timeout = "a"\n', 17, 'write `event = "timeout"`, and `instance` for the instance whose timer fires'),
        (TOML + 'deliver = "c"\n', 17, 'there is no key `deliver` here; write `event = "deliver CHANNEL"`'),
        (TOML + 'arguments = "n"\n', 17, 'help: write for example `arguments = { choice = "{cells}" }`'),
        (
            "[[line]]\nwhen = 'granted'\n",
            2,
            'help: write for example `when = { msg = "gpu granted" }`; of a log in plain',
        ),
    ],
)
def test_a_mistake_in_a_mapping_is_a_diagnostic(mapping: str, line: int, told: str, folder: Path) -> None:
    (folder / "bad.toml").write_text(mapping)
    (folder / "run.log").write_bytes(log("a grow"))
    done = run("run.log", "--mapping", "bad.toml", "--spec", "gang.fsm")
    assert done.exit_code == 1
    assert told in done.output
    assert f"bad.toml:{line}:" in done.output, done.output
    assert "FSM541" in done.output


def test_hidden_steps_name_the_option_that_shows_them(folder: Path) -> None:
    """Where nothing tells of `grow`, it is hidden before `finish`."""
    (folder / "sparse.toml").write_text(TOML.replace(EVENT.format("grow"), ""))
    (folder / "run.log").write_bytes(log("a finish"))
    command = ("run.log", "--mapping", "sparse.toml", "--hidden", "2")
    hint = "  to see the run with its hidden steps, add `--show`"
    assert run(*command).output.splitlines() == ["explained  gang.Two: 1 of 1 lines; 3 steps, 2 of them hidden", hint]
    assert "hidden  g0.grow" in run(*command, "--show").output
    for other in ("--show", "--keep-going"):
        assert hint not in run(*command, other).output
    (folder / "run.log").write_bytes(log("a grow", "a grow", "a finish"))
    assert hint not in run("run.log", "--mapping", "gang.toml").output, "nothing is hidden"


def test_a_strict_mapping_describes_every_line(folder: Path) -> None:
    (folder / "strict.toml").write_text("strict = true\n" + TOML)
    (folder / "run.log").write_bytes(log("a grow", "a sneeze"))
    done = run("run.log", "--mapping", "strict.toml")
    assert (done.exit_code, "run.log:2:1" in done.output, "FSM542" in done.output) == (1, True, True)
    printed = json.loads(run("run.log", "--mapping", "strict.toml", "--format", "json").stdout)
    assert [d["code"] for d in printed["diagnostics"]] == ["FSM542"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("run.log",),
        ("--show",),
        ("gone.log", "--mapping", "gang.toml"),
        (".", "--mapping", "gang.toml"),
        ("run.log", "--mapping", "gone.toml"),
        ("run.log", "--mapping", "."),
        ("run.log", "--mapping", "gang.toml", "--system", "Three"),
        ("run.log", "--mapping", "gang.toml", "--spec", "gone.fsm"),
        ("run.log", "--mapping", "gang.toml", "--hidden", "-1"),
    ],
)
def test_misuse(arguments: tuple[str, ...], folder: Path) -> None:
    (folder / "run.log").write_bytes(log("a grow"))
    assert run(*arguments).exit_code == 2


def test_the_other_reading_of_the_spec_is_the_nearest_miss(folder: Path) -> None:
    amended = GANG.replace(
        "ignore poke", 'amends "a gang gives one back" { back: Half -> Queued on finish }\nignore poke'
    )
    (folder / "gang.fsm").write_text(amended)
    (folder / "run.log").write_bytes(log("a grow", "a finish"))
    assert run("run.log", "--mapping", "gang.toml").exit_code == 0
    done = run("run.log", "--mapping", "gang.toml", "--as-documented")
    assert done.exit_code == 1
    assert "nearest: with its amendments, the spec explains this line" in done.output
    assert 'row `back` of Gang: amended "a gang gives one back"' in done.output


def test_an_amendment_that_rules_a_line_out_is_the_nearest_miss(folder: Path) -> None:
    """A known hole of HiveD's document: a weaker gang takes a reservation from a stronger one."""
    hole = ROOT / "specs" / "hived" / "holes" / "h08_whose_priority.fsm"
    (folder / "hived.toml").write_text(
        f'spec = "{hole}"\n[[line]]\nwhen = {{ msg = "scheduled" }}\nof = "groups"\ninstance = "{{gang}}"\n'
        'event = "schedule"\narguments = { choice = "{cell}" }\n'
        '[names]\nlow = "g0"\nmiddle = "g1"\nhigh = "g2"\n'
    )
    told = [{"msg": "scheduled", "gang": x, "cell": "gpu-0"} for x in ("low", "high", "middle")]
    (folder / "run.log").write_text("".join(json.dumps(x) + "\n" for x in told))
    assert run("run.log", "--mapping", "hived.toml", "--as-documented").exit_code == 0
    assert run("run.log", "--mapping", "hived.toml").exit_code == 0  # the others may have ended, and nobody logged it
    done = run("run.log", "--mapping", "hived.toml", "--hidden", "0")
    assert (done.exit_code, "run.log:3: " in done.output) == (1, True)
    assert "priority is 1, choice.reserver.priority is 2" in done.output
    assert "nearest: as documented, without its amendments, the spec explains this line\n    row `e1`" in done.output


def test_too_many_worlds_are_no_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsmdsl.interop.logs.worlds.MAX_WORLDS", 2)
    (folder / "one.toml").write_text('spec = "gang.fsm"\n' + EVENT.format("poke"))
    (folder / "run.log").write_bytes(log("a poke"))
    done = run("run.log", "--mapping", "one.toml")
    assert (done.exit_code, done.output.splitlines()[0].split()[0]) == (3, "undecided")


def test_a_limit_leaves_the_answer_open(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is reached at line 20, and looked at before every sixteenth."""
    late = 0.0

    def slow(file: io.BytesIO, **options: bool) -> Iterator[Line]:
        nonlocal late
        for line in lines(file, **options):
            late = 1000.0 if line[0] == 20 else late
            yield line

    (folder / "run.log").write_bytes(log("a poke") * 40)
    arguments = ["run.log", "--mapping", "gang.toml", "--max-seconds", "900"]
    monkeypatch.setattr("fsmdsl.text.budget.monotonic", lambda: monotonic() + late)
    monkeypatch.setattr("fsmdsl.interop.logs.lines.lines", slow)
    done = run(*arguments, "--format", "json")
    found = json.loads(done.output)
    assert (done.exit_code, found["outcome"], found["lines"]["read"]) == (3, "undecided", 32)
    assert (found["undecided"], found["steps"]) == ("line 32: stopped after 900 seconds", 32)
    before = CliRunner().invoke(cli, ["explain", *arguments], obj=monotonic() - 1000)
    assert (before.exit_code, before.output[:7]) == (3, "bounded")


def test_counts_are_drawn(folder: Path) -> None:
    (folder / "run.log").write_bytes(log("a grow", "a grow", "a finish", "a grow"))
    assert run("run.log", "--mapping", "gang.toml", "--counts", "counts.json").exit_code == 0
    drawn = CliRunner().invoke(cli, ["draw", "gang.fsm", "--counts", "counts.json", "--format", "mermaid", "-o", "-"])
    assert "Queued --> Half : grow<br/>2×" in drawn.stdout
    assert "Half --> Running : grow<br/>1×" in drawn.stdout
    (folder / "gang.fsm").write_text(GANG.replace("Half    -> Running  on grow", "Half -> Queued on grow"))
    other = CliRunner().invoke(cli, ["draw", "gang.fsm", "--counts", "counts.json", "--format", "mermaid", "-o", "-"])
    assert "Queued --> Queued : grow" in other.stdout or "grow<br/>2×" in other.stdout
    assert "grow<br/>1×" not in other.stdout  # another row since: nobody has counted it


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "it is not JSON"),
        ("[]", "it has no `counts`"),
        ('{"counts": {}}', "counts rows of none of these machines"),
        ('{"counts": {"gang.Gang": 3}}', "not a list of rows"),
        ('{"counts": {"gang.Gang": [3]}}', "has no `count`"),
        ('{"counts": {"gang.Gang": [{"count": true}]}}', "has no `count`"),
    ],
)
def test_a_file_that_has_no_counts(text: str, told: str, folder: Path) -> None:
    (folder / "counts.json").write_text(text)
    for command in (["draw", "gang.fsm", "--format", "dot", "-o", "-"], ["report", "gang.fsm", "-o", "page"]):
        done = CliRunner().invoke(cli, [*command, "--counts", "counts.json"])
        assert (done.exit_code, told in done.output) == (2, True), done.output
