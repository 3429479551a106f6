"""No verdict, and nothing in a report or a difference, depends on how a message is worded.

All functions that make words are replaced by others that make opaque ones; what is left of everything that is found
must be the same: the verdicts, which faults count as one, which parts of a formula are shown, what a difference is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from random_systems import text_of
from stepping import compiled, only_system
from tiers import today

from fsmdsl import model as m
from fsmdsl.report.compare import Difference, compare
from fsmdsl.report.compare import rows as compared_rows
from fsmdsl.report.formats.gather import from_verify
from fsmdsl.report.formula import parts
from fsmdsl.runs import explain, rejection
from fsmdsl.runs.replay import simplest
from fsmdsl.runs.search_result import FaultKey
from fsmdsl.runs.simplest_run import Effort
from fsmdsl.runs.verdicts import judge_runs, vacuity
from fsmdsl.runs.verdicts.verdict import Limits
from fsmdsl.search import Exploration, diagnostics, explore
from fsmdsl.search.definition_search import Search
from fsmdsl.step import Universe, describe

WORDED: list[tuple[Any, str]] = [
    *((describe, name) for name in ("describe", "done", "fault_message", "words", "value_text", "shown_arguments")),
    (explain, "line"),
    (rejection, "fault_lines"),
    (vacuity, "_never"),
    (judge_runs, "_of_no_run"),
    (sys.modules["fsmdsl.runs.recovery.slots"], "name"),
    (sys.modules["fsmdsl.runs.recovery.slots"], "written"),
    (compared_rows, "_other"),
    (compared_rows, "_come"),
    (compared_rows, "_place"),
]
"""The functions that make words, where they are defined."""


def reword(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on all words are others, wherever they are used."""
    for home, name in WORDED:
        old = getattr(home, name)
        new = _other(old)
        for module in [x for n, x in sys.modules.items() if n.split(".")[0] == "fsmdsl"]:
            for known, value in list(vars(module).items()):
                if value is old:
                    monkeypatch.setattr(module, known, new)


def _other(old: Callable[..., Any]) -> Callable[..., Any]:
    def new(*args: Any, **given: Any) -> Any:
        found = old(*args, **given)
        return tuple(map(_scrambled, found)) if isinstance(found, tuple) else _scrambled(found)

    return new


def _scrambled(text: str) -> str:
    return f"q{sha256(text.encode()).hexdigest()[:10]}"


def _explored(model: m.Model) -> Iterator[Exploration]:
    for system in model.systems.values():
        yield simplest(explore(model, system, Limits(states=3000)), model, Effort(2000, 600.0))


def structure(model: m.Model) -> list[Any]:
    """What is found in the systems of a model, without a word of what is said of it."""
    out: list[Any] = []
    for x in _explored(model):
        universe = Universe(model, x.system)
        found = diagnostics(x)
        results = from_verify([x], model, found, {})
        out.append((x.states, x.transitions, x.levels, x.coverage))
        for v in x.verdicts:
            steps = None if v.trace is None else ([e.step for e in v.trace.entries], v.trace.loop, v.trace.fault)
            out.append((v.kind, v.name, v.machine, v.outcome, v.span, steps, len(v.explanation), len(v.reasons)))
            out.append((sorted(v.deciding, key=repr), [(u.span, u.outer) for u in v.untested]))
            out.append([(p.depth, [n for n, _ in p.values]) for p in parts(universe, v)])
        out += [(d.rule.code, d.span, len(d.notes), d.run is None) for d in found]
        out += [(s.name, c.name, c.outcome, len(c.findings)) for s in results.suites for c in s.cases]
    return out


def told(found: Difference) -> list[Any]:
    """A difference without its words."""
    out: list[Any] = [(p.owner, p.name, p.kind, p.states, len(p.rows)) for p in found.parts]
    out += [(c.kind, c.what, len(c.details), c.before, c.after) for p in found.parts for c in p.changes]
    out += [(b.name, b.outcome, b.comparable, b.alone) for b in found.behaviours]
    out += [(r.allowed_by, [e.step for e in r.trace.entries]) for b in found.behaviours for r in b.runs]
    return [*out, *((t.scope, t.old, t.new, len(t.explanation)) for t in found.turns)]


SHOP = """
channel post: lossy bag[2] to Clerk
machine Clerk {
    boss: Clerk?
    durable n: 0..2
    k: 0..2
    initial state Idle
    state Busy
    volatile state Away
    event work(x: 0..2), help, stop, leave from environment
    event note from post, environment
    event ask from Clerk
    action print -> ok | jam
    w: Idle -> Busy on work(x) when x > n do n = n + 1
    v: Idle -> Busy on work(x) when x > k do { n = n + 1; k = x }
    h: Idle on help do boss.ask
    Idle on ask when n == 0
    p: Busy -> Idle on stop do { send post.note; print }
    Idle on print.ok
    Busy on note
    late: Busy -> Away after 5s
    Away on ask do k = 2
    l: Idle on leave do boss = self
    crash: Busy -> Idle on crash
    invariant small: n < 2 or (some c in {self}: c in Away and k > n)
    invariant never: Away and n == 2 and k == 0 => boss == none
    ignore note in Away
}
system Shop {
    clerk: Clerk
    let tired(c: Clerk) = c.n > 1 and c in Busy
    environment {
        some x in {1, 2}: clerk.work(x)
        clerk.help
        clerk.stop
        clerk.leave when clerk.boss == none
        crash
    }
    invariant fresh: all c in {clerk}: not tired(c)
    reachable away: clerk in Away
    property back: all c in {clerk}: c in Busy ~> c in Idle under fair stop
    property odd: clerk.k == 2 and clerk.n == 0 ~> clerk.boss.n == 1
    property safe: recovers on n, k
}
"""

CHANGED = (
    SHOP.replace("when x > n do n = n + 1", "when x > 1 do n = n + 1")
    .replace("p: Busy -> Idle on stop", "p: Busy -> Away on stop")
    .replace("invariant small: n < 2", "invariant small: n < 1")
    .replace("    Busy on note\n", "")
)


@pytest.mark.parametrize("seed", [None, *today(range(12))])
def test_rewording_every_message_changes_words_only(seed: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    model = compiled(SHOP if seed is None else text_of(seed))
    before = structure(model)
    reword(monkeypatch)
    assert structure(model) == before


def test_rewording_every_message_changes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = compiled(SHOP), compiled(CHANGED)
    before = told(compare(old, new))
    assert len(before) > 10
    reword(monkeypatch)
    assert told(compare(old, new)) == before


def test_everything_is_reworded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of verdicts do change; that is, the tests above replace what they mean to."""
    model = compiled(SHOP)
    (x,) = _explored(model)
    before = [v.explanation for v in x.violations]
    reword(monkeypatch)
    (y,) = _explored(model)
    assert not {line for v in before for line in v} & {line for v in y.violations for line in v.explanation}


LAMPS = """
machine Lamp {
    param broken: bool
    initial state Off
    state On
    event press from environment
    Off -> On on press when not broken
    Off, On on press when broken
    On on press when not broken
}
system S {
    lamps: Lamp[11] { broken = index == 10 }
    environment { some x in {lamps[1], lamps[10]}: x.press }
    property lit: all c in lamps: c.broken or c == lamps[1] => eventually c in On under fair press
}
"""


def test_an_instance_is_not_taken_for_one_whose_name_begins_alike() -> None:
    """`l10` is what fails, and `l1` is not looked at more closely for that."""
    model = compiled(LAMPS)
    system = only_system(model)
    (v,) = explore(model, system).violations
    assert v.deciding == (("c", 10),)
    listed = parts(Universe(model, system), v)
    taken = [p.text for n, p in enumerate(listed[:-1]) if listed[n + 1].depth > p.depth and "c = " in p.text]
    assert [t.split(":")[0] for t in taken] == ["for c = l10"]


def test_faults_are_one_by_what_happens_where() -> None:
    """Of two instances, of two events in one state, of one event in two states."""
    model = compiled(
        """
        machine Sender {
            param to: Receiver
            initial state On
            event go from environment
            On on go do to.hear
        }
        machine Receiver {
            initial state A
            state B
            event turn from environment
            event hear from Sender
            A -> B on turn
            B -> A on turn
        }
        system S { r: Receiver[2]  s: Sender { to = r[0] }  t: Sender { to = r[1] } }
        """
    )
    search = Search(Universe(model, only_system(model)), Limits())
    search.run()
    assert all(isinstance(key, FaultKey) for key in search.faults)
    assert sorted((key.kind, key.cause.state) for key in search.faults) == [("unhandled", "A"), ("unhandled", "B")]


def test_no_module_reads_its_own_words() -> None:
    """No text of a fault is taken apart or searched; see `step.world.Cause`."""
    for room in ("runs", "search"):
        for path in (Path(__file__).parent.parent / "fsmdsl" / room).rglob("*.py"):
            assert ".message.split(" not in path.read_text(), path
