"""Words that may be names and that an expression follows: any expression may follow them, however it begins.

The words come from the grammar. A word without a place in `PLACES` fails the test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from lark import Lark
from lark.grammar import Rule, Symbol

from fsmdsl import syntax as s
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.syntax.parse.soft_keywords import RESERVED
from fsmdsl.syntax.parse.tabulate import GRAMMAR
from fsmdsl.text.source import Source

pytestmark = pytest.mark.full(reason="half a minute: every operand behind every word")

MACHINE = "machine M {{ A -> B on e do {{ x = 1; {}; y = 2 }} }}"
PLACES = {
    "add": (MACHINE.format("add %s to l"), "machine M { A -> B on e do add %s to l\n B -> A on f }"),
    "remove": (MACHINE.format("remove %s from l"), "machine M { A -> B on e do remove %s from l\n B -> A on f }"),
    "always": ("system S { property a: always %s }", "system S { property a: b => always %s under fair c }"),
    "eventually": ("system S { property a: eventually %s }", "system S { property a: b ~> eventually %s and c }"),
    "next": ("system S { property a: next %s }", "system S { property a: all b in c: next %s }"),
    "until": ("system S { property a: b until %s }",),
    "property": ("system S { property %s }",),
    "reachable": ("system S { reachable %s }",),
    "while": ("system S { explore while %s }",),
    "expect": ("scenario S { a.b expect %s }", "scenario S { expect %s }"),
}
"""Declarations with `%s` where a word has its expression."""

OPERANDS = (
    "n", "(n)", "(n + 1)", "((n))", "(n) + (o)", "(f(n)) * 2", "(-n) - 1", "(not n)", "(all i in o: i)",
    "(if n then o else p)", "-n", "-(n)", "- 1 - n", "[n]", "[n, o] + p", "[]", "{n}", "{n, o} - p", "{}", "f(n)",
    "f()", "f(n)[0]", "n[0].o", "state(n)", "first(n)", "1", "true", "none", "self",
)  # fmt: skip


def symbols(lark: Lark) -> dict[str, str]:
    """The words of the grammar that may be names, by terminal."""
    words = {t.name: str(t.pattern.value) for t in lark.terminals if t.pattern.type == "str"}
    return {name: word for name, word in words.items() if word.isidentifier() and word not in RESERVED}


def firsts(rules: list[Rule]) -> dict[str, set[str]]:
    """The tokens with which what a rule makes can begin."""
    made: dict[str, set[str]] = {}
    before = -1
    while before != (before := sum(map(len, made.values()))):
        for rule in rules:
            begins = made.setdefault(rule.origin.name, set())
            for symbol in rule.expansion[:1]:  # no rule of the grammar that an expression begins with is empty
                begins |= {symbol.name} if symbol.is_term else made.get(symbol.name, set())
    return made


def words_before_expressions() -> set[str]:
    """Words that may be names, directly before something that can begin with a bracket."""
    lark = Lark(GRAMMAR.read_text("utf-8"), parser="lalr", lexer="basic", maybe_placeholders=False)
    begins, names = firsts(lark.rules), symbols(lark)

    def follows(left: Symbol, right: Symbol) -> bool:
        return left.name in names and not right.is_term and "LPAR" in begins[right.name]

    pairs = (pair for rule in lark.rules for pair in zip(rule.expansion, rule.expansion[1:], strict=False))
    return {names[left.name] for left, right in pairs if follows(left, right)}


def plain(part: Any) -> Any:
    """Syntax without places."""
    if isinstance(part, tuple):
        return tuple(map(plain, part))
    if is_dataclass(part) and not isinstance(part, type):
        return type(part), {f.name: plain(getattr(part, f.name)) for f in fields(part) if f.name not in ("span", "doc")}
    return part


def read(text: str) -> s.Module:
    parsed = parse(Source("x.fsm", text))
    assert [str(d) for d in parsed.diagnostics] == [], text
    return parsed.module


def expression(text: str) -> Any:
    """The syntax of an expression that stands behind a reserved word."""
    system = read(f"system S {{ start when {text} }}").members[0]
    assert isinstance(system, s.SystemDecl)
    return plain(system.members[0])[1]["condition"]


def operands() -> Iterator[str]:
    """Expressions: those above, and every word of the grammar that may be a name, alone and in brackets."""
    words = sorted(symbols(Lark(GRAMMAR.read_text("utf-8"), parser="lalr", lexer="basic")).values())
    yield from OPERANDS
    yield from words
    yield from (f"({word})" for word in words)
    yield from (f"({word}) + {word}" for word in words)


def replaced(part: Any, hole: Any, value: Any) -> Any:
    """Plain syntax with a value in each place of `hole`."""
    if part == hole:
        return value
    if isinstance(part, tuple):
        return tuple(replaced(x, hole, value) for x in part)
    if isinstance(part, dict):
        return {key: replaced(x, hole, value) for key, x in part.items()}
    return part


def test_each_such_word_has_a_place() -> None:
    assert words_before_expressions() == set(PLACES)


@pytest.mark.parametrize("word", PLACES)
def test_any_expression_may_follow(word: str) -> None:
    for place in PLACES[word]:
        expected = plain(read(place % "plain"))
        hole = expression("plain")
        for operand in operands():
            if (word, operand) == ("property", "recovers"):
                continue  # a claim of its own, and not the name
            assert plain(read(place % operand)) == replaced(expected, hole, expression(operand)), place % operand


@pytest.mark.parametrize("word", PLACES)
def test_the_formatter_keeps_it(word: str) -> None:
    for place in PLACES[word]:
        for operand in operands():
            parsed = parse(Source("x.fsm", place % operand))
            text = format_source(parsed)
            again = parse(Source("x.fsm", text))
            assert again.module == parsed.module, text
            assert format_source(again) == text
