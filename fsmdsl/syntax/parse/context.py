"""What the grammar accepts at a place in a text, and what is open there: for completion."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl.dataclasses import dataclass
from fsmdsl.syntax.parse.automaton import BOTTOM, Frame, Spread, Value, chain, probe
from fsmdsl.syntax.parse.expected import can_begin
from fsmdsl.syntax.parse.reading import straight_on, uncollected
from fsmdsl.syntax.parse.recovery import Place, recover
from fsmdsl.syntax.parse.rules import LIMIT
from fsmdsl.syntax.parse.table import Table, is_made, load
from fsmdsl.syntax.parse.tokens import lex
from fsmdsl.syntax.tree import Node, Token
from fsmdsl.text.source import Source, line_around


@dataclass(frozen=True, slots=True)
class Accepted:
    """What may stand at a place: `words` and signs, and for a name, the rules that wait for it, each with what of it is
    awaited (`edge` and `<name>` behind an arrow). `open` is what was read and is not complete, the outermost first."""

    words: frozenset[str]
    awaiting: frozenset[tuple[str, str]]
    open: tuple[Node | Token, ...]


def accepted(source: Source) -> Accepted | None:
    """What may follow a text that begins with declarations of the module; None in comments and in texts in quotes.

    Mistakes before are got over as in `parse`.
    """
    table = load()
    with uncollected():
        lexed = lex(table, source)
        end = lexed.tokens.pop()
        if _is_quiet(
            source.text, lexed.comments[-1].end if lexed.comments else -1, lexed.end if lexed.diagnostics else -1
        ):
            return None
        top = _stack(table, source, lexed.tokens, end)
    kinds = {k for k in table.moves[top.state] if not is_made(k) and probe(table, top, k) is not None}
    waiting = frozenset(_awaiting(table, top)) if "NAME" in kinds else frozenset()
    return Accepted(frozenset(kinds - {"NAME", "END"}), waiting, tuple(_open(top)))


def _is_quiet(text: str, comment: int, unended: int) -> bool:
    """Whether a text ends inside a comment, or inside quotes that are not closed."""
    line = text[line_around(text, len(text))[0] :]
    return comment == len(text) or (unended == len(text) and line.count('"') % 2 == 1)


def _stack(table: Table, source: Source, tokens: list[Token], end: Token) -> Frame:
    top, i = BOTTOM, 0
    for _ in range(LIMIT):
        top, recent, i = straight_on(table, tokens, top, i)
        if i >= len(tokens):
            return top
        mistake = recover(Place(table, source, [*tokens, end], i, top, recent))
        if mistake.at >= len(tokens):
            return top
        top, i = mistake.top, mistake.at
    return top


def _awaiting(table: Table, top: Frame) -> Iterator[tuple[str, str]]:
    after = probe(table, top, "NAME")
    if after is None or after.below is None:
        return
    for number, place in table.begun[after.below.state]:
        rule = table.rules[number]
        if place < len(rule.symbols) and can_begin(rule.symbols[place], "NAME"):
            yield rule.name, rule.symbols[place]


def _open(top: Frame) -> Iterator[Node | Token]:
    for frame in reversed(list(chain(top))):
        yield from _parts(frame.value)


def _parts(value: Value) -> Iterator[Node | Token]:
    if isinstance(value, Spread):
        for part in value.parts:
            yield from _parts(part)
    elif value is not None:
        yield value
