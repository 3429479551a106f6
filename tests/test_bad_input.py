"""Whatever is read, only findings come of it: broken specs, other files, deep nesting, long lines, odd names."""

from __future__ import annotations

import keyword
from functools import cache
from pathlib import Path
from random import Random

import pytest
from tiers import today

from fsmdsl.check import check
from fsmdsl.model.resolve import resolve
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import Parsed, parse
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.source import Source

ROOT = Path(__file__).parent.parent
SPECS = sorted((ROOT / "specs").rglob("*.fsm"))

SIGNS = (
    *'{}()[]:;,.|<>=+-&*?"#@$\\/', "->", "=>", "..", "//", "///", "\n", "\0", "\ud800", "\u202e", "ä", "\U0001f512",
    "0", "5m", "9" * 30, "state", "machine", "when", "do", "next", "count", "in", "not", "amends", "self", "none",
)  # fmt: skip


def taken_through(text: str) -> Parsed:
    """Parse, and go on to the model, the checks and the formatter as far as it goes. All places are real ones."""
    source = Source("bad.fsm", text)
    parsed = parse(source)
    resolved = resolve([parsed.module])
    found = [*parsed.diagnostics, *resolved.diagnostics]
    if not any(d.severity is Severity.ERROR for d in parsed.diagnostics):
        again = parse(Source("again.fsm", format_source(parsed)))
        assert again.module == parsed.module
        if resolved.model is not None:
            found.extend(check(resolved.model))
    for d in found:
        assert 0 <= d.span.start <= d.span.end <= len(d.span.source.text)
        assert str(d.span)
        assert d.message
    return parsed


# Specs gone wrong ----------------------------------------------------------------------------------------------------


@cache
def lines() -> list[list[str]]:
    return [path.read_text("utf-8").splitlines(keepends=True) for path in SPECS]


def piece(chance: Random) -> str:
    """Some lines of a spec, so that declarations are cut off at both ends."""
    spec = chance.choice(lines())
    start = chance.choice((0, chance.randrange(len(spec))))
    return "".join(spec[start : start + chance.randrange(5, 60)])


def mutated(chance: Random, text: str) -> str:
    """The text with a few changes: something left out, put in, doubled or moved."""
    for _ in range(chance.randrange(4)):
        start = chance.randrange(len(text) + 1)
        end = start + chance.choice((1, 1, 2, 5, 20, 200))
        elsewhere = chance.randrange(len(text) + 1)
        match chance.randrange(5):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:start] + chance.choice(SIGNS) + text[start:]
            case 2:
                text = text[:start] + f" {chance.choice(SIGNS)} " + text[end:]
            case 3:
                text = text[:end] + text[start:]
            case _:
                text = text[:elsewhere] + text[start:end] + text[elsewhere:]
    return text


@pytest.mark.parametrize("batch", today(range(20)))
def test_mutated_and_truncated_specs(batch: int) -> None:
    chance = Random(batch)
    for _ in range(50):
        taken_through(mutated(chance, piece(chance)))


@pytest.mark.parametrize("path", today(SPECS), ids=lambda path: path.stem)
def test_whole_specs_that_end_too_early(path: Path) -> None:
    text, chance = path.read_text("utf-8"), Random(path.stem)
    for _ in range(3):
        taken_through(text[: chance.randrange(len(text))])


# Other files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16-le", "utf-8"])
def test_binary_files(encoding: str) -> None:
    data = bytes(Random(encoding).randrange(256) for _ in range(40_000))
    assert taken_through(data.decode(encoding, "surrogatepass" if encoding == "utf-16-le" else "replace")).diagnostics


OTHERS = {
    "python": "import os\n\nclass Door:\n    def push(self):\n        return {'state': 'open'}\n" * 20,
    "json": '{"machine": {"states": ["open", "shut"], "on": {"push": null}}}\n' * 20,
    "dot": 'digraph { open -> shut [label="push"]; shut -> open }\n' * 20,
    "markdown": "# States\n\n* `open`: the door is open\n* `shut`: it isn't\n\n| a | b |\n|---|---|\n" * 20,
    "html": "<!doctype html><p class='x'>&amp; &lt;</p>\n" * 20,
    "surrogates": "\ud800\udfff" * 500,
    "zeros": "\0" * 5000,
    "spaces": " \t\r\n\f" * 5000,
    "returns": "machine M {\r    initial state A\r}\r",
    "quotes": '"' * 5001,
    "escapes": '"' + "\\" * 5001,
    "comments": "/*\n" * 5000,
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_files(name: str) -> None:
    taken_through(OTHERS[name])


# Size ----------------------------------------------------------------------------------------------------------------

DEEP = {
    "parentheses": ("machine M { invariant ", "(", "a", ")", " }"),
    "not": ("machine M { invariant ", "not ", "a", "", " }"),
    "next": ("machine M { invariant ", "next ", "a", "", " }"),
    "implications": ("machine M { invariant ", "a => ", "a", "", " }"),
    "sums": ("machine M { invariant 0 == ", "1 + ", "1", "", " }"),
    "conditionals": ("machine M { invariant ", "if a then ", "a", " else a", " }"),
    "quantifiers": ("machine M { invariant ", "all x in s: ", "a", "", " }"),
    "members": ("machine M { invariant a", ".b", "", "", " }"),
    "calls": ("machine M { invariant a", "(b)", "", "", " }"),
    "arguments": ("machine M { invariant ", "f(", "a", ")", " }"),
    "sets": ("machine M { invariant a == ", "{", "a", "}", " }"),
    "types": ("machine M { a: ", "set<", "bool", ">", " }"),
    "blocks": ("machine M { A -> A on x do { ", "if a { ", "b", " }", " } }"),
    "loops": ("machine M { A -> A on x do { ", "for c in s { ", "b", " }", " } }"),
    "elses": ("machine M { A -> A on x do { ", "if a { b } else ", "{ b }", "", " } }"),
    "states": ("machine M { ", "state A { ", "", " }", " }"),
    "amendments": ("machine M { ", 'amends "why" ', "state A", "", " }"),
    "amended blocks": ("machine M { ", 'amends "why" { ', "state A", " }", " }"),
    "holds": ("locks { operation o { ", "A { ", "A", " }", " } }"),
    "braces": ("", "{ ", "", " }", ""),
}


@pytest.mark.parametrize("name", today(list(DEEP)))
def test_what_is_nested_too_deeply_is_said_to_be(name: str) -> None:
    begin, opening, inner, closing, end = DEEP[name]
    for depth in (150, 30_000):
        found = taken_through(begin + opening * depth + inner + closing * depth + end).diagnostics
        codes = {d.rule.code for d in found}
        assert "FSM003" in codes or (name == "parentheses" and depth == 150) or name == "braces"


@pytest.mark.parametrize("name", today(list(DEEP)))
def test_what_is_open_at_the_end_of_the_file(name: str) -> None:
    begin, opening, *_ = DEEP[name]
    for depth in (3, 30_000):
        assert taken_through(begin + opening * depth).diagnostics


def test_what_is_nested_as_deeply_as_one_can_read_is_read() -> None:
    for name in ("not", "implications", "arguments", "blocks", "states", "types", "sums"):
        begin, opening, inner, closing, end = DEEP[name]
        found = parse(Source("x", begin + opening * 25 + inner + closing * 25 + end)).diagnostics
        assert [str(d) for d in found] == []


LONG = {
    "states": "machine M { initial state A " + "state B " * 125_000 + "}",
    "name": "machine M { initial state " + "A" * 1_000_000 + " }",
    "comment": "machine M { initial state A } // " + "a" * 1_000_000,
    "text": 'machine M { initial state A "' + "a" * 1_000_000 + '" }',
    "digits": "machine M { n: 0.." + "1" * 1_000_000 + " }",
    "unknown": "machine M { initial state A } " + "§" * 1_000_000,
    "disjunction": "machine M { initial state A invariant " + "A or " * 100_000 + "A }",
}


@pytest.mark.full(reason="size")
@pytest.mark.parametrize("name", LONG)
def test_lines_of_a_million_characters(name: str) -> None:
    parse(Source("long.fsm", LONG[name]))


# Names ---------------------------------------------------------------------------------------------------------------

DOOR = """module doors
machine {0} {{
    {0}: 0..3
    param p: 0..3 = 1
    initial state {0}
    state other "{1}"
    event {0}({0}: 0..3) from environment
    action {0}
    {0}: {0} -> other on {0}({0}) when {0} > 0 do {{ {0} = 2 }}
    back: other -> {0} on {0}
}}
system s {{
    {0}: {0}
}}
"""


@pytest.mark.parametrize(
    "name", [*keyword.kwlist, *keyword.softkwlist, "self", "print", "__import__", "eval", "__class__"]
)
def test_names_that_mean_something_in_python(name: str) -> None:
    taken_through(DOOR.format(name, name))


@pytest.mark.parametrize(
    "name", ["a'b", 'a"b', "a`b", "a\\", "a b", "a\nb", "${x}", "{x}", "a;b", "a//b", "", "1a", "é"]
)
def test_names_that_are_none(name: str) -> None:
    assert taken_through(DOOR.format(name, "")).diagnostics


@pytest.mark.parametrize("title", ["'''", '\\"\\"\\"', "</text>", "$(rm -rf)", "{0}", "%s", "\\\\n", "é→🔒"])
def test_titles_may_be_anything(title: str) -> None:
    assert not taken_through(DOOR.replace("{1}", "TITLE").format("door").replace("TITLE", title)).diagnostics
