"""The pages made from the language are those that are committed, and the grammar on them is complete."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from fsmdsl.syntax.glossary import GLOSSARY
from fsmdsl.syntax.language_pages import ebnf, pages
from fsmdsl.syntax.parse import parse
from fsmdsl.syntax.topics import TOPIC_OF, TOPICS, Context, Topic
from fsmdsl.syntax.words import MEANINGS
from fsmdsl.text.source import Source

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


# Where words are explained --------------------------------------------------------------------------------------------

AROUND: dict[Context, str] = {
    "module": "{}",
    "machine": "machine Example {{\n{}\n}}",
    "system": "system Example {{\n{}\n}}",
    "scenario": "scenario Example of Small {{\n{}\n}}",
}
"""What an example is a part of."""

EXAMPLES = [x for x in TOPICS if x.example]
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@cache
def sections(page: str) -> dict[str, str]:
    """The text below each heading of a page, by its anchor."""
    text = (DOCS / page).read_text("utf-8")
    fenced = [x.span() for x in re.finditer(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)]
    found = [x for x in HEADING.finditer(text) if not any(start <= x.start() < end for start, end in fenced)]
    ends = [*(x.start() for x in found[1:]), len(text)]
    anchors = (re.sub(r"[^\w -]", "", x[1]).lower().replace(" ", "-") for x in found)
    return {anchor: text[x.start() : end] for anchor, x, end in zip(anchors, found, ends, strict=True)}


def test_every_keyword_has_one_topic_and_topics_explain_nothing_else() -> None:
    names = [name for x in TOPICS for name in x.names]
    assert len(names) == len(TOPIC_OF)
    assert {*MEANINGS} - {*names} == set()
    assert {*names} - {*MEANINGS} - {name for x in GLOSSARY for name in x.names} == set()


@pytest.mark.parametrize("topic", TOPICS, ids=lambda x: x.names[0])
def test_the_section_of_a_topic_exists_and_mentions_its_words(topic: Topic) -> None:
    page, _, anchor = topic.section.partition("#")
    assert anchor in sections(page)
    words = (name for name in topic.names if name in MEANINGS)
    assert [word for word in words if not re.search(rf"(?<!\w){word}(?!\w)", sections(page)[anchor])] == []


@pytest.mark.parametrize("topic", EXAMPLES, ids=lambda x: x.names[0])
def test_an_example_is_short_parses_where_it_belongs_and_shows_its_keywords(topic: Topic) -> None:
    assert len(topic.example.splitlines()) <= 5
    parsed = parse(Source("example.fsm", AROUND[topic.context].format(topic.example)))
    assert parsed.diagnostics == ()
    words = (name for name in topic.names if name in MEANINGS)
    assert [word for word in words if not re.search(rf"(?<!\w){word}(?!\w)", topic.example)] == []


def test_what_the_parser_alone_needs_is_left_out() -> None:
    assert ebnf('?expr: implication "~>" expr -> leads_to') == 'expr ::= implication "~>" expr'
    assert ebnf('!durable: [x] "["') == 'durable ::= x? "["'
    assert ebnf("INT: /[0-9]+(?!\\w)/") == "INT ::= /[0-9]+/"
