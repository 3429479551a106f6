"""Core statements, as an interpreter runs them, do what the definition of the language says."""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, get_args

import core_interpreter
import pytest
from campaign import model_of, systems, texts
from core_comparison import Pair, compare
from planting import planted
from tiers import FULL, today

from fsmdsl import model as m
from fsmdsl.core import presence, selection
from fsmdsl.core import statements as s
from fsmdsl.core.elaborate import Elaboration
from fsmdsl.core.show import show
from fsmdsl.core.translate import (
    Context,
    all_procedures,
    beginning,
    conditions,
    effects,
    expressions,
    fitting,
    holds,
    machines,
    offers,
    steps,
    translate,
)
from fsmdsl.model.workspace import load
from fsmdsl.syntax.operators import LARGEST

ROOT = Path(__file__).parent.parent
SPECS = sorted((ROOT / "specs").rglob("*.fsm"))
GOLDEN = Path(__file__).parent / "golden" / "core_statements.txt"

# Beside the definition -----------------------------------------------------------------------------------------------
# `python tests/campaign.py core --seeds 0:3000` is the same at length.


@pytest.mark.parametrize("path", today(SPECS), ids=lambda x: x.relative_to(ROOT / "specs").as_posix())
def test_steps_of_the_specs_are_as_defined(path: Path) -> None:
    model = load([path]).model
    assert model is not None
    for system in model.systems.values():
        assert compare(model, system, 60 if FULL else 4, Random(system.name)) == []


SEEDS = [12 * part + n for part in today(range(8)) for n in range(12)]
"""A dozen in a row each day: every eighth would be systems of one kind."""


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_of_random_systems_are_as_defined(seed: int) -> None:
    for text in texts("core", seed):
        for model, system in systems(text):
            assert compare(model, system, 25 if FULL else 10, Random(seed)) == [], f"{system.name} of\n{text}"


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_that_are_taken_where_they_are_offered_are_as_defined(seed: int) -> None:
    for text in texts("core", seed):
        for model, system in systems(text):
            assert compare(model, system, 25 if FULL else 5, Random(seed), fused=True) == []


DEEP = """module deep
machine Link {{
    initial state Idle
            state Done
    next: Link?
    event pass from Link, environment
    Idle -> Done on pass do if next != none {{ next.pass }}
}}
system Deep {{
    {links}
    environment {{ l0.pass }}
}}
"""


@pytest.mark.parametrize("length", [64, 65, 66])
def test_sends_are_nested_as_deeply_as_defined(length: int) -> None:
    links = [f"l{n}: Link {{ next = {f'l{n + 1}' if n + 1 < length else 'none'} }}" for n in range(length)]
    model = model_of(DEEP.format(links="\n    ".join(links)))
    (system,) = model.systems.values()
    count: Counter[str] = Counter()
    assert compare(model, system, 2, Random(0), count) == []
    assert count["fault Nested"] == (length > 65)


CIRCULAR = """module circular
machine M {
    initial state A
    event go from environment
    event prefer(n: 0..3) from environment
    n: 0..3
    first: A on go when n > 0 do n = 1
    second: A on go when n > 1 do n = 2
    third: A on go when n > 2 do n = 3
    A on prefer(k) do n = k
    priority first > second
    priority second > third
    priority third > first
}
system Circular { m: M }
"""


def test_contradictory_priority_is_as_defined() -> None:
    model = model_of(CIRCULAR)
    (system,) = model.systems.values()
    count: Counter[str] = Counter()
    assert compare(model, system, 10, Random(0), count) == []
    assert count["fault Overlap"] > 0


# Nodes ---------------------------------------------------------------------------------------------------------------


@cache
def programs() -> tuple[s.Program, ...]:
    """Of some specs, of the cases here, and of some random systems."""
    models = [load([path]).model for path in SPECS[::6]]
    models += [model_of(text) for text in (CASES, CIRCULAR, *(x for seed in range(8) for x in texts("core", seed)))]
    return tuple(translate(model, system) for model in models if model is not None for system in model.systems.values())


def classes(x: Any) -> Iterator[type]:
    """Of what a procedure is made of."""
    if isinstance(x, tuple):
        for y in x:
            yield from classes(y)
    elif type(x).__module__.startswith("fsmdsl.core.statements"):
        yield type(x)
        yield from classes(tuple(getattr(x, name) for name in x.__match_args__))


def test_every_kind_of_node_is_written_and_shown() -> None:
    found: set[type] = set()
    for program in programs():
        for procedure in program.procedures.values():
            found.update(classes(procedure))
            assert show(procedure).count("\n") >= 1
    kinds = (s.Expr, s.Statement, s.Cause, s.Happening, s.Step)
    assert {x.__name__ for kind in kinds for x in get_args(kind)} - {x.__name__ for x in found} == set()


def test_names_of_procedures_are_those_of_the_functions_that_write_them() -> None:
    modules = (beginning, expressions, machines, offers, steps)
    for kind in get_args(s.ProcedureKind):
        name = kind.replace(" ", "_")
        assert any(callable(getattr(x, name, None)) for x in modules), kind


def test_a_variable_has_one_name_and_a_procedure_that_is_called_exists() -> None:
    for program in programs():
        for procedure in program.procedures.values():
            named = [x.variable.name for x in nodes(procedure.body) if isinstance(x, s.Let)]
            assert len(named) == len(set(named)), procedure.name
            called = {x.procedure for x in nodes(procedure.body) if isinstance(x, s.Call)}
            assert called <= program.procedures.keys(), procedure.name


def nodes(block: s.Block) -> Iterator[s.Statement]:
    """Statements, and those inside them."""
    for x in block:
        yield x
        for name in ("then", "otherwise", "body"):
            yield from nodes(getattr(x, name, ()))


def test_machines_are_translated_without_a_system() -> None:
    """What an instance does is the same in a system that has all machines of the model."""
    model = model_of(EXAMPLE)
    (system,) = model.systems.values()
    alone, inside = translate(model).procedures, translate(model, system).procedures
    kinds = {"admit", "handle", "follow", "eventless", "let", "choose crash", "forget", "follow crash"}
    assert {x for x in inside if x.kind in kinds} == {x for x in alone if x.kind in kinds}
    assert [x for x in alone if x.kind in kinds and alone[x] != inside[x]] == []


def test_the_interpreter_knows_core_statements_alone() -> None:
    tree = ast.parse(Path(core_interpreter.__file__).read_text("utf-8"))
    imported = {x.module or "" for x in ast.walk(tree) if isinstance(x, ast.ImportFrom)}
    assert {x for x in imported if x.startswith("fsmdsl")} == {"fsmdsl.core", "fsmdsl.model"}


EXAMPLE = """module example

machine Pod {
  initial state Idle
  state Busy
  final state Gone
  event take from Gang
  event drop from Gang
  load: 0..3
  Idle -> Busy on take do load = load + 1
  Busy -> Idle on drop
  Busy -> Gone when load > 2
  ignore drop in Idle, Gone
}

machine Gang {
  initial state Queued
  state Running
  volatile state Failed
  event grow(by: 0..3) from environment
  event stop from environment
  action bind(count: 0..3) -> ok | err
  queue: list<0..3>[2]
  pods: set<Pod>
  leader: Pod?
  n: 0..3
  durable total: 0..9

  Queued -> Running on grow(by) when queue[by] == by and 6 / by > 1 or (some p in pods: leader.load > p.load) do {
    n = n + by
    for p in pods { p.take }
  }
  Queued -> Queued on grow(by) when size(queue) < 2 do add by to queue
  Running -> Failed when wait and n > 1 do { total = total + n  bind(n) }
  Failed -> Queued on bind.ok
  Failed -> Failed on bind.err
  Failed -> Queued on crash
  Running -> Queued on stop do { for p in pods { p.drop } }
  Running -> Queued after 5s
  priority stop > *
}

system Small {
  p0: Pod
  p1: Pod
  gang: Gang { pods = {p0, p1}, leader = p0 }
  environment {
    some k in {0, 1, 2}: gang.grow(k)
    gang.stop
    crash
  }
}
"""


def test_an_example_as_text() -> None:
    """A small system, and what is written for it: `UPDATE=1 pytest tests/test_core_statements.py` renews it."""
    model = model_of(EXAMPLE)
    (system,) = model.systems.values()
    text = EXAMPLE + "".join(f"\n{show(x)}" for x in translate(model, system).procedures.values())
    if os.environ.get("UPDATE"):
        GOLDEN.write_text(text, "utf-8")
    assert text == GOLDEN.read_text("utf-8")


# What else is asked of a system --------------------------------------------------------------------------------------

COUNTER = """module counter
machine Counter {
    initial state On
    n: 0..3
    event add(k: 0..3), set(s: set<0..3>) from environment
    On on add(k) do n = k
    On on set(s) when n in s
}
system Two {
    cs: Counter[2]
    environment {
        some k in {0, 5}: cs[0].add(k)
        cs[0].add(-1)
        crash of cs[0] when 1 / cs[0].n == 1
        crash when 1 / cs[1].n == 1
        cs[1].add(1) when 1 / cs[1].n == 1
    }
    invariant one: 1 / cs[0].n == 1
}
"""


def test_only_what_is_offered_comes_from_outside_of_a_closed_system() -> None:
    model = model_of(COUNTER)
    (system,) = model.systems.values()
    for closed, number, numbers in [(True, (-1, 5), (0, 3)), (False, (-LARGEST, LARGEST), (-LARGEST, LARGEST))]:
        procedures = all_procedures(Context(Elaboration(model, system), closed=closed)).procedures
        _, k = procedures[s.Name("event", "counter.Counter", "add")].parameters
        assert k.type == m.RangeType(*number)
        _, of = procedures[s.Name("event", "counter.Counter", "set")].parameters
        assert of.type == m.SetType(m.RangeType(*numbers))


def test_a_condition_without_a_value_does_not_hold() -> None:
    model = model_of(COUNTER)
    (system,) = model.systems.values()
    context = Context(Elaboration(model, system))
    (invariant,) = system.invariants
    name = holds(context, "one", invariant.condition).name
    x = m.Binary("==", m.Local("k", m.BOOL, system.span), m.Constant(True, m.BOOL, system.span), m.BOOL, system.span)
    other = holds(context, "k", x, model.machines["counter.Counter"], [("k", m.BOOL)]).name
    pair = Pair(model, system)
    pair.interpreter.program = all_procedures(context)
    world = pair.world(pair.universe.start)
    for n, value in [(0, False), (1, True), (2, False)]:
        world.fields[0]["n"] = n
        assert pair.interpreter.run(world, name)[1] is value
    assert [pair.interpreter.run(world, other, (0, k))[1] for k in (False, True)] == [False, True]


def test_crashes_that_have_no_value_are_known_as_crashes() -> None:
    model = model_of(COUNTER)
    (system,) = model.systems.values()
    procedures = translate(model, system).procedures
    lines = [show(procedures[s.Name("offer line", subject=f"{n}")]) for n in range(4)]
    assert ["unoffered crash" in x for x in (*lines, show(procedures[s.Name("offers")]))] == [False] * 3 + [True] * 2
    assert "unoffered\n" in lines[2]


# Bugs ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plant:
    """A bug: in the source of a function, `new` stands for `old`. Random systems of a seed notice it, or `CASES`."""

    function: Callable[..., object]
    old: str
    new: str
    seed: int | None = None


CASES = """module cases

channel post: lossy fifo[2] to Boss

machine Pod {
    initial state Idle
            state Used
    n: 0..2
    votes: map<0..1, bool>
    peer: Pod?
    event use(k: 0..3) from environment, Pod
    event step, echo, vote from environment
    event relay from Pod
    Idle -> Used on use(k) when k > 0 do { if peer != none { peer = none  peer.use(k) } }
    Used -> Idle on use(k) when n > 0 and 2 / n > k - 1
    * on step do n = n + 1
    * on vote do votes[n] = not votes[n]
    * on echo do peer.relay
    * on relay do peer.use(n + 3)
}

machine Boss {
    param limit: 0..3 = 2
    initial state Home
            state Away
            state Asking
            state Tired
            state Worn
    seen: 0..2
    durable total: 0..3
    listed: list<0..2>[2]
    action ask -> ok | err
    event go, rest from environment
    event read(k: 0..2) from environment, post
    event write(k: 0..2) from environment
    Home -> Away on go do total = 1
    Away -> Home on crash do seen = 2
    on entry(Tired) do seen = 1
    Away -> Asking on go do ask
    Asking -> Home on ask.ok
    Asking -> Tired
    Tired -> Worn when seen == 1
    Worn -> Home on rest
    Worn -> Home after 5min
    Home on read(k) when listed[k] >= 4 / k do add k to listed
    Away on read(k) do add k to listed
    Home on write(k) when k < limit do send post.read(k)
    ignore ask.err in Asking
}

system Cases {
    a: Pod { peer = b }
    b: Pod { peer = a }
    boss: Boss { limit = 3 }
    environment {
        some p in {a, b}, k in {0, 1, 3}: p.use(k)
        some p in {a, b}: p.step
        some p in {a, b}: p.echo
        some p in {a, b}: p.vote
        some k in 0..2: boss.read(k)
        some k in {first(boss.listed)}: boss.write(k)
        boss.go
        boss.rest
        crash between writes
    }
}
"""

PLANTS = {
    "the outermost source comes first": Plant(
        selection.Selection.sources, "self.hierarchy.around[leaf])", "reversed(self.hierarchy.around[leaf]))", 1
    ),
    "priority is turned round": Plant(machines.choose, "priority.before(other, t)", "priority.before(t, other)", 0),
    "of circular priority, nothing is enabled": Plant(machines.choose, "negated(guards[n]))", "TRUE)", 0),
    "the right operand is evaluated first": Plant(
        expressions._binary,
        "left, right = values(scope, (e.left, e.right))",
        "right, left = values(scope, (e.right, e.left))",
    ),
    "an operand is evaluated although it decides nothing": Plant(
        expressions.joined, "if not (needed and parts):", "if True:"
    ),
    "what is none is known to be present": Plant(presence.after, "_is_own(x) and not", "True or not"),
    "a range ends one too late": Plant(fitting.fits, "value_type.high > high else", "value_type.high > high + 1 else"),
    "a list has room for one item more": Plant(effects._change, '"<", t.bound', '"<=", t.bound'),
    "an instance is free although it is busy": Plant(machines.admit, 'Flag("busy"', 'Flag("waited"'),
    "arguments are checked before it is known whether the receiver is free": Plant(
        effects.deliver,
        'scope.builder.add(s.Call(s.Name("admit"',
        "arguments_fit(scope, event.name, event.parameters, arguments, receiver, location)\n    "
        'scope.builder.add(s.Call(s.Name("admit"',
    ),
    "entry hooks do not run": Plant(machines.follow, "perform(scope, move.entries)", "pass"),
    "timers of states that are left go on": Plant(machines.follow, "_stop_timers(scope, ", "repr("),
    "a round ends after one transition": Plant(steps.round, "negated(followed)", "negated(FALSE)"),
    "a change of state is no write": Plant(
        machines.follow, "s.Enter(scope.self, move.target), s.Cut()", "s.Enter(scope.self, move.target)"
    ),
    "a crash moves instances before fields are reset": Plant(
        steps.strike, '"forget", INSTANCE', '"follow crash", INSTANCE)), each(s.CallOn("forget", INSTANCE'
    ),
    "messages outlast a crash": Plant(steps.crash, "[s.DropAll()]", "[]"),
    "who is answered is not touched": Plant(
        steps.answer, 's.Mark("touched", scope.self, True)', 's.Mark("touched", scope.self, False)'
    ),
    "a guard without a value counts as false": Plant(offers._may_follow, "s.Set(result, TRUE)", "s.Set(result, FALSE)"),
    "a range without a value is empty, without a word": Plant(
        offers._collection, "(*otherwise, unoffered)", "(*otherwise,)"
    ),
    "a fifo delivers any message": Plant(offers.offer_messages, 'channel.order == "bag"', "True"),
    "a message that is lost stays": Plant(steps.lose_message, "s.Drop(box.queue, box.position), ", ""),
    "a timer fires in any state": Plant(
        steps.tick, "frozenset(group.leaves)", "frozenset(x.name for x in machine.leaves)"
    ),
    "fields begin before parameters": Plant(
        beginning.begin, "for p in context.model.machines[x.machine].params", "for p in ()"
    ),
}


def differences(seed: int | None) -> list[str]:
    """How core statements differ from the definition, in `CASES` or in the systems of a seed. A fault of
    Python counts, too."""
    try:
        return [
            x
            for text in ([CASES] if seed is None else texts("core", seed))
            for model, system in systems(text)
            for x in compare(model, system, 40 if seed is None else 5, Random(seed))
        ]
    except Exception as error:
        return [repr(error)]


def test_an_invariant_without_a_value_does_not_hold() -> None:
    model = model_of(
        """module m
        machine M { initial state A  n: 0..2  event up from environment  A on up when n < 2 do n = n + 1
                    invariant divided: 2 / n > 0 }
        system S { m: M  environment { m.up }  invariant first: 2 / m.n > 0 }"""
    )
    (system,) = model.systems.values()
    count: Counter[str] = Counter()
    assert compare(model, system, 9, Random(0), count) == []
    assert count["states"] == 3
    with planted(conditions.holds, "b.attempt(s.Return(FALSE))", "b.attempt(s.Return(s.Constant(True, m.BOOL)))"):
        assert len(compare(model, system, 9, Random(0))) == 2


def test_without_a_bug_nothing_differs() -> None:
    assert differences(None) == []


@pytest.mark.parametrize("name", today([*PLANTS]))
def test_a_bug_is_noticed(name: str) -> None:
    x = PLANTS[name]
    with planted(x.function, x.old, x.new):
        assert differences(x.seed) != []
