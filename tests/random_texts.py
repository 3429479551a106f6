"""Random specs: sentences of the grammar itself, in random layouts, with random comments."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

from fsmdsl.syntax.parse.table import Rule, is_made, load

NAMES = ("a", "b", "Cell", "c_1", "Open", "next", "count", "priority", "add", "from", "source", "error", "child")
TEXTS = {
    "NAME": NAMES,
    "INT": ("0", "7", "42"),
    "DURATION": ("5min", "100ms", "3d"),
    "STRING": ('"a text"', '"with \\" and \\\\"', '""', '"{"'),
    "ENTRY": ("on entry", "on \t entry"),
    "EXIT": ("on exit",),
    "ANY": ("*",),
}
REMARKS = (
    "// a remark",
    "//crowded",
    "/// a doc",
    "///",
    "//",
    "/// more: { } ;",
    "//// not a doc",
    "/// a ///b, see http://c",
)


@cache
def _rules() -> dict[str, list[Rule]]:
    rules: dict[str, list[Rule]] = {}
    for rule in load().rules:
        rules.setdefault(rule.origin, []).append(rule)
    return rules


@cache
def _heights() -> dict[str, int]:
    """How deep the smallest tree of a symbol is; a token's is 0."""
    heights: dict[str, int] = {}
    while len(heights) < len(_rules()):
        for made, rules in _rules().items():
            known = [_height(r, heights) for r in rules if all(s in heights for s in r.symbols if is_made(s))]
            if known and made not in heights:
                heights[made] = min(known)
    return heights


def _height(rule: Rule, heights: dict[str, int]) -> int:
    return 1 + max((heights[s] for s in rule.symbols if is_made(s)), default=0)


def sentence(chance: random.Random, symbol: str = "<start>", budget: int = 26) -> list[str]:
    """The tokens of something that the grammar allows; no deeper than the budget if that can be."""
    if not is_made(symbol):
        return [chance.choice(TEXTS.get(symbol, (symbol,)))]
    rules = _rules()[symbol]
    fitting = [r for r in rules if _height(r, _heights()) <= budget]
    rule = chance.choice(fitting or [min(rules, key=lambda r: _height(r, _heights()))])
    return [token for part in rule.symbols for token in sentence(chance, part, budget - 1)]


def containing(number: int) -> Iterator[str]:
    """Short texts with a rule in it, which some of them are read by: in others a name is read as a word."""
    rule = load().rules[number]
    for seed in range(TRIES):
        chance = random.Random(f"{number} {seed}")
        before, after = _around(rule.origin, seed)
        inside = [t for part in rule.symbols for t in sentence(chance, part, 0 if seed < 2 else seed)]
        yield " ".join((*before, *inside, *after))


TRIES = 20


@cache
def _around(symbol: str, turn: int) -> tuple[list[str], list[str]]:
    """What is before and behind a symbol in a short text. Another `turn` may be another place."""
    places: dict[str, tuple[list[str], list[str]]] = {"<start>": ([], [])}
    waiting, chance = ["<start>"], random.Random(turn)
    while waiting and symbol not in places:
        made = waiting.pop(-(turn % 2))  # the nearest, or one that is far
        for rule in chance.sample(_rules()[made], len(_rules()[made])):
            for n, part in enumerate(rule.symbols):
                if is_made(part) and part not in places:
                    sides = (rule.symbols[:n], rule.symbols[n + 1 :])
                    left, right = ([t for x in side for t in sentence(chance, x, 0)] for side in sides)
                    places[part] = (places[made][0] + left, right + places[made][1])
                    waiting.append(part)
    return places[symbol]


def spec(chance: random.Random, parts: int = 3, remarks: float = 0.05) -> str:
    """A random file: declarations of all kinds, white space and comments anywhere."""
    kinds = ["<machine>", "<system>", "<scenario>", "<_member>", "<locks>", "<enum>"]
    tokens = [t for _ in range(parts) for t in sentence(chance, chance.choice(kinds))]
    text = ""
    for token in tokens:
        if chance.random() < remarks:
            text += chance.choice((" ", "\n", "\n\n")) + chance.choice(REMARKS) + "\n"
        text += chance.choice((" ", " ", " ", "  ", "\n", "\n    ", "\n\n", "\t")) + token
    return text + chance.choice(("", "\n", " // the end", "\n\n// the end\n"))
