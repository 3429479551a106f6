"""Random specs, whole and broken."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st
from random_specs import spec as random_module
from random_texts import spec as sentence

SPECS = sorted((Path(__file__).parents[2] / "specs").rglob("*.fsm"))

LINE_ENDS = ("\n", "\r\n", "\r")
SEPARATORS = ("\u2028", "\u2029", "\v", "\f", "\x85", "\x1c", "\x1d", "\x1e")
"""What `str.splitlines` takes for the end of a line, and the protocol of editors does not."""

SIGNS = (
    *LINE_ENDS, *SEPARATORS, *'{}()[]:;,.|<>=+-&*?"#@$\\/\'', "->", "=>", "..", "//", "///", "/*", "*/", "\0", "\t",
    "\ud800", "\udc00", "\u202e", "\ufeff", "\u00a0", "ä", "ẞ", "e\u0301", "\U0001f512", "\U00010000", "0", "5m", "7s",
    "9" * 30, "state", "initial", "machine", "when", "do", "next", "count", "in", "not", "amends", "self", "none",
    "let", "import", "module", "enum", "system", "scenario", "locks", "invariant", "all x in s: ", "if a then b else c",
    "\n// a remark\n", "\n/// a doc\r", "// a\rstate B\n", '"a\rb"',
)  # fmt: skip


@cache
def lines() -> list[list[str]]:
    """The lines of our specs, with their ends."""
    return [path.read_text("utf-8").split("\n") for path in SPECS]


def base(number: int) -> str:
    """A text to begin with; the same for the same number."""
    chance = Random(number)
    match chance.randrange(8):
        case 0 | 1:
            return sentence(chance, chance.randrange(1, 4), 0.2)
        case 2 | 3:
            return random_module(number % 100_000)
        case 4:
            return ""
        case _:
            spec = chance.choice(lines())
            start = chance.choice((0, chance.randrange(len(spec))))
            return "\n".join(spec[start : start + chance.randrange(5, 60)])


def ended(text: str, number: int) -> str:
    """The text with other ends of lines."""
    match number % 6:
        case 0:
            return text.replace("\n", "\r\n")
        case 1:
            return text.replace("\n", "\r")
        case 2:
            chance = Random(number)
            return "".join(chance.choice(LINE_ENDS) if x == "\n" else x for x in text)
        case _:
            return text


_PLACE = st.integers(0, 2**20)
MUTATIONS = st.lists(
    st.tuples(st.integers(0, 4), _PLACE, _PLACE, st.integers(0, 300), st.sampled_from(SIGNS)), max_size=8
)


def mutated(text: str, mutations: list[tuple[int, int, int, int, str]]) -> str:
    """The text with some things left out, put in, doubled or moved."""
    for kind, one, other, length, sign in mutations:
        start, elsewhere = one % (len(text) + 1), other % (len(text) + 1)
        end = start + length % 40
        match kind:
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:start] + sign + text[start:]
            case 2:
                text = text[:start] + f" {sign} " + text[end:]
            case 3:
                text = text[:end] + text[start : start + length] + text[end:]
            case _:
                text = text[:elsewhere] + text[start:end] + text[elsewhere:]
    return text


@st.composite
def texts(draw: Any, mutations: bool = True) -> str:
    """Texts of all kinds."""
    number = draw(st.integers(0, 2**40))
    text = ended(base(number), draw(st.integers(0, 2**10)))
    return mutated(text, draw(MUTATIONS)) if mutations else text


ANY = st.one_of(
    texts(), texts(), texts(), st.lists(st.sampled_from(SIGNS), max_size=40).map("".join), st.text(max_size=200)
)
