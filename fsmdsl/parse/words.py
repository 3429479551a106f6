"""Words of the language that are names: a word is a keyword only where that reading goes on.

NOTE(words): a reserved word is a keyword everywhere. Any other word is a keyword where a keyword may stand and the
tokens after it fit, else a name where a name may stand. If both readings fit the keyword has it, but for the few pairs
of `PREFERS_NAME`. So a state may be called `error` and a field `next`: the place alone counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl.parse.automaton import Frame, probe
from fsmdsl.parse.table import Table
from fsmdsl.tree import Token

RESERVED = frozenset({
    "module", "import", "enum", "opaque", "machine", "system", "scenario", "let", "param", "state", "event", "action",
    "invariant", "ignore", "amends", "durable", "on", "after", "when", "do", "for", "if", "then", "else", "in", "has",
    "and", "or", "not", "all", "some", "true", "false", "none", "self",
})  # fmt: skip
"""Words that are never names: they hold a declaration or an expression together."""

PREFERS_NAME = frozenset(
    [(word, sign) for word in ("next", "always", "eventually") for sign in ("-", "[", "{")]
    + [(word, "(") for word in ("add", "remove", "send")]
)
"""Words with the sign after them that are names where both readings fit: `next - 1`, and an action `add(x)`."""

OPENING = frozenset({
    "machine", "system", "scenario", "enum", "record", "locks", "import", "let", "opaque", "channel", "source",
    "environment",
})  # fmt: skip
"""Words that open a declaration of the module. At the very start of a line they may begin a part of a file."""

REACH = 3
"""How many tokens after a word are looked at."""


HOOKS = frozenset({"ENTRY", "EXIT"})

HOOK = 4
"""How many tokens after `on entry` are looked at: `(A) do`."""


def read(table: Table, top: Frame, tokens: Sequence[Token], i: int) -> str:
    """The kind of the word at `i` in its place: itself, or `NAME`. See NOTE(words)."""
    word = tokens[i].kind
    as_word, as_name = probe(table, top, word), probe(table, top, "NAME")
    if as_word is None or as_name is None:
        return word if as_name is None else "NAME"
    for reach in range(REACH, 0, -1):
        word_fits = goes_on(table, as_word, tokens, i + 1, reach)
        name_fits = goes_on(table, as_name, tokens, i + 1, reach)
        if word_fits and name_fits:
            following = tokens[i + 1].kind if i + 1 < len(tokens) else ""
            return "NAME" if (word, following) in PREFERS_NAME else word
        if word_fits or name_fits:
            return word if word_fits else "NAME"
    return word


def event_of(table: Table, top: Frame, tokens: Sequence[Token], i: int) -> list[Token] | None:
    """`on` and the name of an event, if the `on entry` or `on exit` at `i` is that and begins no hook."""
    token = tokens[i]
    hook = probe(table, top, token.kind)
    if hook is not None and goes_on(table, hook, tokens, i + 1, HOOK):
        return None
    name = token.end - len(token.kind)
    return [Token("on", "on", token.start, token.start + 2), Token("NAME", token.kind.lower(), name, token.end)]


def goes_on(table: Table, top: Frame, tokens: Sequence[Token], i: int, reach: int) -> bool:
    """Whether the next tokens can stand there, in any reading of theirs."""
    if reach == 0 or i == len(tokens):
        return True
    kind = tokens[i].kind
    readings = (kind, "NAME") if is_soft(table, kind) else (kind,)
    after = (probe(table, top, reading) for reading in readings)
    return any(goes_on(table, frame, tokens, i + 1, reach - 1) for frame in after if frame is not None)


def opens(table: Table, top: Frame, kind: str) -> bool:
    """Whether a kind of token begins a declaration of the module on a stack."""
    after = probe(table, top, kind)
    return after is not None and after.below is not None and "_member" in table.items[after.below.state]


def is_soft(table: Table, kind: str) -> bool:
    """Whether a kind of token is a word that may be a name."""
    return kind in table.words and kind not in RESERVED
