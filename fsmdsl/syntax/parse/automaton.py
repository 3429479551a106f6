"""The pushdown automaton that the table describes, one move at a time.

Its stack is a chain of immutable frames, so that recovery may try things out and keep any earlier stack at no cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from fsmdsl.dataclasses import dataclass
from fsmdsl.syntax.parse.table import Rule, Table
from fsmdsl.syntax.tree import Node, Token

HIGHEST = 1000
"""Maximum height of the stack. A higher one means that something is nested too deeply."""


class Spread:
    """The parts of something repeated, which belong to the node around it; nested as they were read."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Value]) -> None:
        self.parts = parts


Value = Token | Node | Spread | None


@dataclass(slots=True)
class Frame:
    """What has been read up to a token or the end of a part: the state then, the part, its place, and all before it.

    Never changed once made (not frozen, because that makes frames four times as slow to make).
    """

    below: Frame | None
    state: int
    value: Value
    start: int
    end: int
    height: int


BOTTOM = Frame(None, 0, None, 0, 0, 0)


def advance(table: Table, top: Frame, token: Token) -> Frame | None:
    """The stack with one more token, what is complete before it made into nodes; None if it is unexpected there."""
    kind, moves, rules = token.kind, table.moves, table.rules
    state = top.state
    while True:
        action = moves[state].get(kind)
        if action is None:
            return None
        if action >= 0:
            if state != top.state:
                top = Frame(top.below, state, top.value, top.start, top.end, top.height)
            return Frame(top, action, token, token.start, token.end, top.height + 1)
        rule = rules[~action]
        if not rule.transparent:
            top = _reduced(table, top, rule, token.start)
            state = top.state
        elif top.below is not None:  # always, and then another state is all there is to it
            state = moves[top.below.state][rule.origin]


def _reduced(table: Table, top: Frame, rule: Rule, here: int) -> Frame:
    """The stack with the parts of a rule, which are on its top, replaced by what they make."""
    parts: list[Frame] = []
    below = top
    for _ in rule.symbols:
        parts.append(below)
        below = below.below  # type: ignore[assignment]  # there are as many frames as symbols
    parts.reverse()
    start, end = (parts[0].start, top.end) if parts else (here, here)
    values = [parts[i].value for i in rule.places]
    value: Value
    if rule.how == "spread":
        value = Spread(values)
    elif rule.how == "unwrap" and len(values) == 1:
        value = values[0]
    else:
        value = Node(rule.name, _flat(values) if rule.mixed else cast(list[Node | Token], values), start, end)
    return Frame(below, table.moves[below.state][rule.origin], value, start, end, below.height + 1)


def _flat(parts: list[Value]) -> list[Node | Token]:
    nodes: list[Node | Token] = []
    stack = parts[::-1]
    while stack:
        part = stack.pop()
        if isinstance(part, Spread):
            stack.extend(reversed(part.parts))
        elif part is not None:
            nodes.append(part)
    return nodes


def probe(table: Table, top: Frame, kind: str) -> Frame | None:
    """As `advance` with a token of a kind, but nothing is made: to find out whether it can stand there."""
    moves = table.moves
    while True:
        action = moves[top.state].get(kind)
        if action is None:
            return None
        if action >= 0:
            return Frame(top, action, None, 0, 0, 0)
        rule = table.rules[~action]
        for _ in rule.symbols:
            top = top.below  # type: ignore[assignment]  # there are as many frames as symbols
        top = Frame(top, moves[top.state][rule.origin], None, 0, 0, 0)


def chain(top: Frame) -> Iterator[Frame]:
    """A stack and those below it, from the innermost."""
    frame: Frame | None = top
    while frame is not None:
        yield frame
        frame = frame.below
