"""The declarations of machines, systems and modules, but for states and transitions: each with its text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.report.compare.changes import Change
from fsmdsl.report.compare.source_text import Names, effects, same
from fsmdsl.text.source import Span, plain

LONG = 240
"""Letters of a text that is not shown any more when it changes."""


@dataclass(frozen=True, slots=True)
class Part:
    """A declaration; its name may be empty, as of an invariant without one."""

    what: str
    name: str
    text: str
    span: Span


def of_machine(x: m.Machine) -> Iterator[Part]:
    """Parameters, fields, derived values, events, actions, hooks, ignores, priorities, invariants."""
    yield from (Part("parameter", p.name, plain(p.span.text), p.span) for p in x.params)
    yield from (Part("field", f.name, plain(f.span.text), f.span) for f in x.fields)
    yield from (Part("let", y.name, plain(y.span.text), y.span) for y in x.lets)
    yield from (Part("event", e.name, _event(e), e.span) for e in x.events)
    yield from (Part("action", a.name, _action(a), a.span) for a in x.actions)
    yield from (Part("hook", f"{h.kind} of {h.state}", effects(h.effects), h.span) for h in x.hooks)
    yield from (Part("ignore", f"{i.event} in {i.state}", "", i.span) for i in x.ignores)
    yield from (Part("priority", "", " > ".join(chain), x.span) for chain in x.priority)
    yield from map(_invariant, x.invariants)


def _event(e: m.Event) -> str:
    senders = ", ".join(sorted(s.rpartition(".")[2] for s in e.senders))
    return plain(e.span.text) + (f" from {senders}" if senders else "")


def _action(a: m.Action) -> str:
    outcomes = f" -> {' | '.join(a.outcomes)}" if a.outcomes else ""
    return f"{'async ' if a.asynchronous else ''}{plain(a.span.text)}{'' if '->' in a.span.text else outcomes}"


def _invariant(x: m.Invariant) -> Part:
    """One without a name is known by its text alone."""
    return Part("invariant", x.name if x.is_named else "", plain(x.condition.span.text), x.span)


def of_system(x: m.System) -> Iterator[Part]:
    """Instances, the environment, recovery, derived values, and what is asked."""
    yield from (Part("instances", g.name, plain(g.span.text), g.span) for g in x.groups)
    yield from (Part("start", "", plain(y.span.text), y.span) for y in x.start_when)
    yield from (Part("rest", "", plain(y.span.text), y.span) for y in x.rests)
    yield from (Part("bound", "", plain(y.span.text), y.span) for y in x.bounds)
    if x.offers is None:
        yield Part("environment", "", "sends every event that names it", x.span)
    for o in x.offers or ():
        yield Part("environment", f"{o.machine.rpartition('.')[2]}.{o.event}", plain(o.span.text), o.span)
    yield from (Part("environment", f"crash {c.kind}", plain(c.span.text), c.span) for c in x.crashes)
    for crash in x.process_crashes:
        machines = ", ".join(y.rpartition(".")[2] for y in crash.machines)
        yield Part("environment", f"crash of {machines}", plain(crash.span.text), crash.span)
    if x.recover is not None:
        yield Part("recover", "", effects(x.recover), x.span)
    yield from (Part("let", y.name, plain(y.span.text), y.span) for y in x.lets)
    yield from map(_invariant, x.invariants)
    yield from (Part("reachable", y.name, plain(y.condition.span.text), y.span) for y in x.reachables)
    yield from (Part("property", y.name, plain(y.span.text), y.span) for y in x.properties)
    if x.refines is not None:
        yield Part("refines", x.refines.path, "", x.refines.span)
        yield from (Part("map", "", plain(span.text), span) for span in x.refines.rows)


def of_module(x: m.Module) -> Iterator[Part]:
    """Types, derived values, channels, locks, scenarios."""
    yield from (Part("enum", y.name, plain(y.span.text), y.span) for y in x.enums)
    yield from (Part("record", y.name, plain(y.span.text), y.span) for y in x.records)
    yield from (Part("opaque", y.name, "", y.span) for y in x.opaques)
    yield from (Part("let", y.name, plain(y.span.text), y.span) for y in x.lets)
    yield from (Part("channel", y.name, plain(y.span.text), y.span) for y in x.channels)
    yield from (Part("locks", y.name, plain(y.span.text), y.span) for y in x.locks)
    yield from (Part("scenario", y.name, plain(y.span.text), y.span) for y in x.scenarios)


def changes(old: Iterable[Part], new: Iterable[Part], names: Names) -> Iterator[Change]:
    """What has been added, removed and changed: matched by kind and name, of several first those that say the same."""
    olds, news = _by_name(old), _by_name(new)
    for key in [*olds, *(key for key in news if key not in olds)]:
        yield from _between(olds.get(key, []), news.get(key, []), names)


def _by_name(parts: Iterable[Part]) -> dict[tuple[str, str], list[Part]]:
    out: dict[tuple[str, str], list[Part]] = defaultdict(list)
    for x in parts:
        out[x.what, x.name].append(x)
    return out


def _between(olds: list[Part], news: list[Part], names: Names) -> Iterator[Change]:
    left, come = list(olds), list(news)
    for x in olds:
        twin = next((y for y in come if same(x.text, y.text, names)), None)
        if twin is not None:
            left.remove(x)
            come.remove(twin)
    for x, y in zip(left, come, strict=False):
        yield Change("changed", x.what, y.name, x.text, y.text, (_changed(x, y),), x.span, y.span)
    yield from (Change("removed", x.what, x.name, was=x.text, before=x.span) for x in left[len(come) :])
    yield from (Change("added", y.what, y.name, now=y.text, after=y.span) for y in come[len(left) :])


def _changed(x: Part, y: Part) -> str:
    return "its text" if len(x.text) + len(y.text) > LONG else f"`{x.text}` → `{y.text}`"
