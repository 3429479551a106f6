"""The pages made from the language are those that are committed, and the grammar on them is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsmdsl.syntax.language_pages import ebnf, pages
from fsmdsl.syntax.words import MEANINGS

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("name", ["grammar.md", "keywords.md", "glossary.md"])
def test_the_page_is_fresh(name: str) -> None:
    """`python -m fsmdsl.syntax.language_pages docs` writes it."""
    assert (DOCS / name).read_text("utf-8") == pages()[name]


def test_every_name_of_the_grammar_is_defined_once() -> None:
    rules = "\n".join(re.findall(r"```ebnf\n(.*?)```", pages()["grammar.md"], re.DOTALL))
    defined = re.findall(r"^(\w+) ::=", rules, re.MULTILINE)
    assert len(defined) == len(set(defined)) > 80
    used = re.sub(r'"[^"]*"|/.*/', " ", rules)
    assert {*re.findall(r"\w+", used)} == {*defined}


def test_every_keyword_of_the_grammar_is_in_the_index() -> None:
    assert {*re.findall(r'"([a-z]+)"', pages()["grammar.md"])} - {*MEANINGS} == set()


def test_what_the_parser_alone_needs_is_left_out() -> None:
    assert ebnf('?expr: implication "~>" expr -> leads_to') == 'expr ::= implication "~>" expr'
    assert ebnf('!durable: [x] "["') == 'durable ::= x? "["'
    assert ebnf("INT: /[0-9]+(?!\\w)/") == "INT ::= /[0-9]+/"
