"""The parser's table: plain data, made from the grammar by `tabulate` and shipped beside this module.

It is kept as Python keeps byte code (`marshal`), ready for use: as JSON it would take five milliseconds to read, a
third of what the interpreter takes to start.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

from fsmdsl.dataclasses import NamedTuple, dataclass


class Rule(NamedTuple):
    """One way to write something. `places` are those of its symbols that go into the tree.

    A `spread` rule has no node of its own: its parts go to the node around it. An `unwrap` rule has none if one part is
    kept. Symbols are kinds of tokens, or `<name>` for what other rules make.
    """

    name: str
    origin: str
    symbols: tuple[str, ...]
    places: tuple[int, ...]
    how: Literal["node", "spread", "unwrap"]
    transparent: bool
    """Whether it makes nothing but the one part that it has."""
    mixed: bool
    """Whether some of its parts are those of a `spread` rule."""


@dataclass(frozen=True, slots=True)
class Table:
    """What the parser does, for each of its states.

    `moves` has, for a kind of token, the next state, or the complement of the number of the rule that is complete
    before the token; for what a rule has made, the next state. `begun` has the rules that a state is inside of, and how
    far; `items` the rules that are repeated and can begin again in a state.
    """

    words: frozenset[str]
    pattern: re.Pattern[str]
    rules: tuple[Rule, ...]
    moves: tuple[dict[str, int], ...]
    begun: tuple[tuple[tuple[int, int], ...], ...]
    items: tuple[frozenset[str], ...]


def is_made(symbol: str) -> bool:
    """Whether a symbol is what rules make, and no token."""
    return symbol.startswith("<") and symbol.endswith(">")


def symbols_of(rules: Iterable[str]) -> Iterator[str]:
    """The symbols for what rules make."""
    return (f"<{rule}>" for rule in rules)


@cache
def load() -> Table:
    """The table of this version of the language."""
    data = Path(__file__).with_name("table.bin").read_bytes()
    words, pattern, rules, moves, begun, items = marshal.loads(data)
    return Table(words, re.compile(pattern), tuple([Rule(*rule) for rule in rules]), moves, begun, items)


@cache
def firsts() -> Mapping[str, frozenset[str]]:
    """For what each rule makes, the kinds of tokens that it can begin with."""
    return _at_the_edge(0)


@cache
def lasts() -> Mapping[str, frozenset[str]]:
    """For what each rule makes, the kinds of tokens that it can end with."""
    return _at_the_edge(-1)


def _at_the_edge(place: Literal[0, -1]) -> Mapping[str, frozenset[str]]:
    """Only the rule of a file can be empty, so one symbol of each rule decides."""
    rules = [r for r in load().rules if r.symbols]
    edges: dict[str, frozenset[str]] = {r.origin: frozenset() for r in rules}
    grown = True
    while grown:
        grown = False
        for rule in rules:
            more = edges.get(rule.symbols[place], frozenset({rule.symbols[place]}))
            if not more <= edges[rule.origin]:
                edges[rule.origin] |= more
                grown = True
    return edges


@cache
def followers() -> Mapping[str, frozenset[str]]:
    """For each kind of token, those that can come right after it, in any place."""
    after: dict[str, frozenset[str]] = {}
    for rule in load().rules:
        for left, right in pairwise(rule.symbols):
            for kind in lasts().get(left, (left,)):
                after[kind] = after.get(kind, frozenset()) | firsts().get(right, frozenset({right}))
    return after
