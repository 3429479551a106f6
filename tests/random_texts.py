"""Random specs: sentences of the grammar itself, in random layouts, with random comments."""

from __future__ import annotations

import random
from functools import cache

from fsmdsl.parse.table import Rule, is_made, load

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
        rules.setdefault(rule.made, []).append(rule)
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
