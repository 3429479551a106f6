"""Which name of the code is which of the spec: the same words, else the same moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fsmdsl.interop.drift.moves import Move, Moves
from fsmdsl.interop.imports.name_words import words_of
from fsmdsl.interop.imports.names import event_names
from fsmdsl.report.compare.rename_detection import Signature, pairs


def matched(code: Moves, spec: Moves, renames: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The names of the spec by those of the code, of states and of triggers. `renames`: those from the user."""
    names = {x: [*code.names.get(x, ()), *_called(code.written_states, x)] for x in code.states}
    states = _by_words(code.states, spec.states, names, spec.names, renames, code.written_states)
    written = {x: [*event_names(x), *_called(code.written_events, x)] for x in code.triggers}
    triggers = _by_words(code.triggers, spec.triggers, written, {}, renames, code.written_events)
    while True:
        more = _by_moves(code, spec, states, triggers)
        if not any(more):
            return states, triggers
        states |= more[0]
        triggers |= more[1]


def _called(written: Mapping[str, str], name: str) -> list[str]:
    return [written[name]] if name in written else []


def key(name: str) -> str:
    """A name as its words, however they are put together: `runApplication`, `run_application`, `RUN APPLICATION`."""
    return " ".join(words_of(name))


def same_event(code: str, spec: str) -> bool:
    """Have both the same words? A word of the language is no name of an event, so that `import` writes another one."""
    return key(spec) in map(key, (code, *event_names(code)))


def _by_words(
    code: Iterable[str],
    spec: Iterable[str],
    code_names: Mapping[str, Sequence[str]],
    spec_names: Mapping[str, Sequence[str]],
    renames: Mapping[str, str],
    written: Mapping[str, str],
) -> dict[str, str]:
    left = dict.fromkeys(spec)
    matches: dict[str, str] = {}
    for name in (x for x in code if x not in renames and written.get(x) in left):
        matches[name] = written[name]
        del left[written[name]]
    for exact in (True, False):  # exact names first: a name that differs in case only must not take their place
        for name in (x for x in code if x not in matches):
            aliases = [renames[name]] if name in renames else [name, *code_names.get(name, ())]
            keys = aliases if exact else [key(x) for x in aliases]
            same = [x for x in left if any((y if exact else key(y)) in keys for y in (x, *spec_names.get(x, ())))]
            if len(same) == 1 or (same and exact):
                matches[name] = same[0]
                del left[same[0]]
    return matches


def _by_moves(
    code: Moves, spec: Moves, states: Mapping[str, str], triggers: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """States and triggers of other names whose moves are alike, and those of no others as much."""
    back_states = {x: x for x in states.values()}
    back_triggers = {x: x for x in triggers.values()}
    code_states = [(x, _of_state(x, code.moves, states, triggers)) for x in code.states if x not in states]
    spec_states = [
        (x, _of_state(x, spec.moves, back_states, back_triggers)) for x in spec.states if x not in back_states
    ]
    code_triggers = [(x, _of_trigger(x, code.moves, states)) for x in code.triggers if x not in triggers]
    spec_triggers = [(x, _of_trigger(x, spec.moves, back_states)) for x in spec.triggers if x not in back_triggers]
    return dict(pairs(code_states, spec_states)), dict(pairs(code_triggers, spec_triggers))


def _of_state(name: str, moves: Iterable[Move], states: Mapping[str, str], triggers: Mapping[str, str]) -> Signature:
    """The moves from and to a state, as far as the other ends have names in both."""

    def end_label(other: str | None) -> str:
        return "itself" if other == name else "" if other is None else states.get(other, "?")

    out = {("from", triggers.get(x.trigger, "?"), end_label(x.target)) for x in moves if x.source == name}
    into = {("to", triggers.get(x.trigger, "?"), end_label(x.source)) for x in moves if x.target == name}
    return frozenset(out | into)


def _of_trigger(name: str, moves: Iterable[Move], states: Mapping[str, str]) -> Signature:
    return frozenset(
        ("from", states.get(x.source, "?"), "" if x.target is None else states.get(x.target, "?"))
        for x in moves
        if x.trigger == name
    )
