"""Which transition of one version has become which of the other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from fsmdsl import model as m
from fsmdsl.report.compare.changes import Change, Kind, Match
from fsmdsl.report.compare.source_text import Names, effects, guard, row, same, trigger

Key = Callable[[m.Transition], Any]


def matched(old: m.Machine, new: m.Machine, states: Names, names: Names) -> tuple[Match, ...]:
    """Every transition of both, in the order of the new text; those that are gone come last.

    Alike in everything first; then by what the author calls it (label, source, target); then, one against one, by label
    and one end, by trigger and both ends, by trigger, one end and guard. `states` are the new names of this machine's
    states, `names` those of all.
    """
    removed, added = list(old.transitions), list(new.transitions)
    pairs: list[tuple[m.Transition, m.Transition]] = []
    for n, (before, after) in enumerate(zip(_keys(states, names), _keys({}, {}), strict=True)):
        certain = list(_pairs(removed, added, before, after, certain=n > 1))
        pairs += certain
        taken = {id(t) for pair in certain for t in pair}
        removed = [t for t in removed if id(t) not in taken]
        added = [t for t in added if id(t) not in taken]
    matches = [_match(a, b, states, names) for a, b in pairs]
    every = [pair for pair in pairs if pair[0].wild and pair[1].wild]
    matches += [Match(b if _widened(b, (new for _, new in every)) else None, b) for b in added]
    matches.sort(key=lambda x: -1 if x.new is None else x.new.index)
    return (*matches, *(Match(a, None) for a in removed if not _widened(a, (old for old, _ in every))))


def _widened(t: m.Transition, others: Iterable[m.Transition]) -> bool:
    """Is it there only because a state has come or gone that a row of `*` leaves, and has the row stayed?"""
    return t.wild and any(_content(x) == _content(t) for x in others)


def _content(t: m.Transition) -> Any:
    return t.label, t.target, trigger(t), guard(t), effects(t.effects)


def _keys(states: Names, names: Names) -> tuple[Key, ...]:
    """What transitions are matched by, the most telling first; a key without a value matches nothing."""

    def state(name: str | None) -> str | None:
        return None if name is None else states.get(name, name)

    def words(text: str) -> str:
        return re.sub(r"\w+", lambda match: names.get(match[0], match[0]), text)

    def ends(t: m.Transition) -> tuple[str | None, ...]:
        return state(t.source), state(t.target)

    return (
        lambda t: (t.label, *ends(t), t.wild, trigger(t), words(guard(t)), words(effects(t.effects))),
        lambda t: (t.label, *ends(t), trigger(t), words(guard(t))),
        lambda t: (t.label, *ends(t)) if t.label else None,
        lambda t: (t.label, state(t.source)) if t.label else None,
        lambda t: (t.label, state(t.target)) if t.label else None,
        lambda t: (_event(t), *ends(t)) if _event(t) else None,
        lambda t: (t.label, _event(t), state(t.source), words(guard(t))),
    )


def _event(t: m.Transition) -> str:
    return "after" if isinstance(t.trigger, m.OnTimer) else t.shown_trigger


def _pairs(
    removed: Sequence[m.Transition], added: Sequence[m.Transition], before: Key, after: Key, *, certain: bool
) -> Iterator[tuple[m.Transition, m.Transition]]:
    """Those with the same key: one against one where that has to be `certain`, else in the order of the text."""
    olds, news = _by(removed, before), _by(added, after)
    for key, group in olds.items():
        if not certain or len(group) == len(news.get(key, ())) == 1:
            yield from zip(group, news.get(key, ()), strict=False)


def _by(transitions: Iterable[m.Transition], key: Key) -> dict[Any, list[m.Transition]]:
    out: dict[Any, list[m.Transition]] = defaultdict(list)
    for t in transitions:
        if key(t):
            out[key(t)].append(t)
    return out


def _match(old: m.Transition, new: m.Transition, states: Names, names: Names) -> Match:
    source_differs = states.get(old.source, old.source) != new.source
    target_differs = (None if old.target is None else states.get(old.target, old.target)) != new.target
    details = [f"leaves `{new.source}`, not `{old.source}`"] if source_differs else []
    details += [f"leads to {_place(new)}, not to {_place(old)}"] if target_differs else []
    return Match(old, new, (*details, *_details(old, new, names)), source_differs or target_differs)


def _details(old: m.Transition, new: m.Transition, names: Names) -> Iterator[str]:
    if old.label != new.label:
        yield f"is called {_quoted(new.label)}, not {_quoted(old.label)}"
    if trigger(old) != trigger(new):
        yield f"comes {_come(new)}, not {_come(old)}"
    if not same(guard(old), guard(new), names):
        yield _other("guard", guard(old), guard(new))
    if not same(effects(old.effects), effects(new.effects), names):
        yield _other("effects", effects(old.effects), effects(new.effects))
    if old.wild != new.wild:
        yield "is a row of `*` now" if new.wild else "is no longer a row of `*`"
    if (old.amended is None) != (new.amended is None):
        yield "is no longer an amendment" if new.amended is None else "is an amendment now"


def _come(t: m.Transition) -> str:
    return f"`{trigger(t)}`" if trigger(t) else "by itself"


def _place(t: m.Transition) -> str:
    return "nowhere (it stays)" if t.target is None else f"`{t.target}`"


def _quoted(text: str | None) -> str:
    return f"`{text}`" if text else "nothing"


def _other(what: str, old: str, new: str) -> str:
    if not old:
        return f"has {what} now: `{new}`" if what == "effects" else f"has a {what} now: `{new}`"
    if not new:
        return f"has lost its {what}: `{old}`"
    return f"{what}: `{old}` → `{new}`"


# Changes -------------------------------------------------------------------------------------------------------------


def changes(matches: Iterable[Match]) -> Iterator[Change]:
    """What has become of the transitions; those of one line that have changed alike are reported together."""
    together: dict[Any, list[Match]] = defaultdict(list)
    for x in matches:
        if x.old is None or x.new is None or x.details:
            together[_alike(x)].append(x)
    for group in together.values():
        yield _change(group)


def _alike(x: Match) -> Any:
    contents = [t and (_content(t), t.wild, t.amended is None) for t in (x.old, x.new)]
    return (*contents, x.moved and id(x))


def _change(matches: Sequence[Match]) -> Change:
    first = matches[0]
    if first.new is None:
        assert first.old is not None
        name = row(first.old, _sources(x.old for x in matches))
        return Change("removed", "transition", name, was=_whole(first.old), before=first.old.span)
    name = row(first.new, _sources(x.new for x in matches))
    if first.old is None:
        return Change("added", "transition", name, now=_whole(first.new), after=first.new.span)
    kind: Kind = "moved" if first.moved else "changed"
    was, now = _whole(first.old), _whole(first.new)
    return Change(kind, "transition", name, was, now, first.details, first.old.span, first.new.span)


def _sources(transitions: Iterable[m.Transition | None]) -> str:
    present = [t for t in transitions if t is not None]
    return "*" if all(t.wild for t in present) else ", ".join(t.source for t in present)


def _whole(t: m.Transition) -> str:
    condition = f" when {guard(t)}" if t.guard is not None else ""
    return f"{row(t)}{condition}" + (f" do {{ {effects(t.effects)} }}" if t.effects else "")
