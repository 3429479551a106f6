"""Words of the language that are names: a word is a keyword only where that reading goes on.

NOTE(words): a reserved word is a keyword everywhere. Any other word is a keyword where a keyword may stand and the
tokens after it fit, else a name where a name may stand. If both readings fit the keyword has it, but for the few pairs
of `PREFERS_NAME`. So a state may be called `error` and a field `next`: the place alone counts. Of `calls`, which both
readings let a bracket follow, the tokens after the closing bracket decide.

Both may fit the first tokens only: in `under fair deliver property b: always p in Done`, a channel `property` could be
meant, with an instance `b` behind it. So where both fit, more tokens are examined, and a name it is if that alone fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from fsmdsl.dataclasses import replace
from fsmdsl.syntax.parse.automaton import Frame, chain, probe
from fsmdsl.syntax.parse.table import Table, firsts, followers, load
from fsmdsl.syntax.tree import Token
from fsmdsl.syntax.words import PREFERS_NAME, RESERVED

REACH = 3
"""Maximum number of tokens after a word that are examined, if not both of its readings fit them."""

FAR = 12
"""Maximum number of tokens after a word that are examined if both readings fit the first ones."""

MANY = 8
"""Maximum number of ways to read them that are followed."""

HOOKS = frozenset({"ENTRY", "EXIT"})

HOOK = 4
"""Maximum number of tokens after `on entry` that are examined: `(A) do`."""


def read(table: Table, top: Frame, tokens: Sequence[Token], i: int) -> str:
    """The kind of the word at `i` in its place: itself, or `NAME`. See NOTE(words)."""
    word, following = tokens[i].kind, tokens[i + 1].kind if i + 1 < len(tokens) else ""
    as_word, as_name = probe(table, top, word), probe(table, top, "NAME")
    if as_word is None or as_name is None:
        return word if as_name is None else "NAME"
    behind, undecided = i + 1, word
    if following == "(" and word in calls():
        behind, undecided = _closing(tokens, i + 1) + 1, "NAME"
        as_word, as_name = (_across(table, x, tokens, i + 1, behind) for x in (as_word, as_name))
    for reach in range(REACH, 0, -1):
        word_fits = as_word is not None and goes_on(table, as_word, tokens, behind, reach)
        name_fits = as_name is not None and goes_on(table, as_name, tokens, behind, reach)
        if word_fits and name_fits:
            if (word, following) in PREFERS_NAME and not in_property(table, top):
                return "NAME"
            if reach == REACH and as_name and as_word and _outlives(table, as_name, as_word, tokens, behind):
                return "NAME"
            return undecided if behind == len(tokens) else word
        if word_fits or name_fits:
            return word if word_fits else "NAME"
    return undecided


def _outlives(table: Table, as_name: Frame, as_word: Frame, tokens: Sequence[Token], i: int) -> bool:
    """Whether tokens from `i` on fit a word as a name, and not as a keyword. What follows a declaration is not
    examined: if it were, parts of a file could not be read by themselves."""
    reach = next((n for n in range(FAR) if i + n == len(tokens) or tokens[i + n].kind in opening()), FAR)
    return _fits(table, as_name, tokens, i, reach) and not _fits(table, as_word, tokens, i, reach)


def _fits(table: Table, top: Frame, tokens: Sequence[Token], i: int, reach: int) -> bool:
    """As `goes_on`, for many tokens; true where there are too many ways to read them."""
    frames = [top]
    for token in tokens[i : i + reach]:
        after = (probe(table, frame, reading) for frame in frames for reading in readings(table, token))
        frames = [frame for frame in after if frame is not None]
        if len(frames) > MANY:
            return True
        if not frames:
            return False
    return True


def _closing(tokens: Sequence[Token], i: int) -> int:
    """The place of the bracket that closes the one at `i`, or of the last token."""
    depth = 0
    for n in range(i, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[n].kind, 0)
        if depth == 0:
            return n
    return len(tokens) - 1


def _across(table: Table, top: Frame, tokens: Sequence[Token], i: int, end: int) -> Frame | None:
    """The stack after the tokens from `i` to before `end`, or None if one of them is unexpected there."""
    frame: Frame | None = top
    for n in range(i, end):
        if frame is None:
            return None
        kind = tokens[n].kind
        frame = probe(table, frame, read(table, frame, tokens, n) if is_soft(table, kind) else kind)
    return frame


def in_property(table: Table, top: Frame) -> bool:
    """Whether a stack is inside the formula of a property: temporal words are keywords there, and names elsewhere."""
    return any(table.rules[rule].name == "property" for frame in chain(top) for rule, _ in table.begun[frame.state])


def event_of(table: Table, top: Frame, tokens: Sequence[Token], i: int) -> list[Token] | None:
    """`on` and the name of an event, if the `on entry` or `on exit` at `i` is that and begins no hook."""
    token = tokens[i]
    hook = probe(table, top, token.kind)
    if hook is not None and (goes_on(table, hook, tokens, i + 1, HOOK) or probe(table, top, "on") is None):
        return None
    name = token.end - len(token.kind)
    return [Token("on", "on", token.start, token.start + 2), Token("NAME", token.kind.lower(), name, token.end)]


def goes_on(table: Table, top: Frame, tokens: Sequence[Token], i: int, reach: int) -> bool:
    """Whether the next tokens can stand there, in any reading of theirs."""
    if reach == 0 or i == len(tokens):
        return True
    after = (probe(table, top, reading) for reading in readings(table, tokens[i]))
    return any(goes_on(table, frame, tokens, i + 1, reach - 1) for frame in after if frame is not None)


def opens(table: Table, top: Frame, kind: str) -> bool:
    """Whether a kind of token begins a declaration of the module on a stack."""
    after = probe(table, top, kind)
    return after is not None and after.below is not None and "_member" in table.items[after.below.state]


def readings(table: Table, token: Token) -> tuple[str, ...]:
    """The kinds that a token may be, whatever was decided on it."""
    kind = undecided(table, token).kind
    return (kind, "NAME") if is_soft(table, kind) else (kind,)


def undecided(table: Table, token: Token) -> Token:
    """A token as it was before a word that may be a name was taken for one."""
    return replace(token, kind=token.text) if token.kind == "NAME" and is_soft(table, token.text) else token


def is_soft(table: Table, kind: str) -> bool:
    """Whether a kind of token is a word that may be a name."""
    return kind in table.words and kind not in RESERVED


@cache
def calls() -> frozenset[str]:
    """Words that may be actions, `add(x)`, or begin an effect, `add (x + 1) to s`: the tokens after `)` decide."""
    return frozenset(x for x in firsts()["<_effect>"] if is_soft(load(), x) and "(" in followers()[x])


@cache
def opening() -> frozenset[str]:
    """Words that open a declaration of the module. At the very start of a line they may begin a part of a file."""
    return firsts()["<_member>"] | firsts()["<import_>"] | firsts()["<source>"]


@cache
def joining() -> tuple[frozenset[str], frozenset[str]]:
    """Words that may be names, but would be keywords if two items on lines of their own were read as one: as a name at
    the end of the first item (`add`), and as a name at the beginning of the second (`until`)."""
    table = load()
    items = _parts_of(table, (r.origin for r in table.rules if ";" in r.symbols))
    soft = frozenset(x for x in items if is_soft(table, x))
    ending, beginning = set[str](), set[str]()
    for row in table.moves:
        ends_behind_name = ";" in table.moves[row["<name>"]] if "<name>" in row else False
        for word in soft & row.keys():
            if row[word] < 0:
                continue
            if ends_behind_name and "NAME" in table.moves[row[word]]:
                ending.add(word)
            if row.get(";", 0) < 0:
                beginning.add(word)
    # Behind a call of an action, `remove(x)`, the word that an effect needs there, `remove (x) from s`.
    needed = (x for rule in table.rules if rule.symbols and rule.symbols[0] in calls() for x in rule.symbols[1:])
    return frozenset(ending), frozenset(beginning) | soft.intersection(needed)


def _parts_of(table: Table, symbols: Iterable[str]) -> frozenset[str]:
    """Everything that some symbols can be made of."""
    parts, waiting = set[str](), [*symbols]
    while waiting:
        symbol = waiting.pop()
        if symbol not in parts:
            parts.add(symbol)
            waiting += (x for rule in table.rules if rule.origin == symbol for x in rule.symbols)
    return frozenset(parts)
