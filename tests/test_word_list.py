"""The list of words and the grammar have the same words, and what is made from both is right."""

from __future__ import annotations

import pytest
from tiers import today

from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.syntax.parse.soft_keywords import calls, joining, opening
from fsmdsl.syntax.parse.table import load
from fsmdsl.syntax.words import HOOKS, MEANINGS, RESERVED, WORDS
from fsmdsl.text.source import Source

SOFT = sorted(load().words - RESERVED)
"""Words that may be names."""


def test_the_list_has_the_words_of_the_grammar() -> None:
    """A word that is new in `fsm.lark` needs a line in `fsmdsl/syntax/words.py`; one that is gone needs none."""
    grammar = load().words | {*HOOKS}
    assert sorted(grammar - {x.text for x in WORDS}) == []
    assert sorted({x.text for x in WORDS} - grammar) == []


def test_a_word_is_listed_once_and_in_one_sentence() -> None:
    assert len({x.text for x in WORDS}) == len(WORDS)
    assert [x for x, meaning in MEANINGS.items() if not meaning.endswith((".", "`."))] == []


def test_words_that_open_declarations_and_join_lines_come_from_the_grammar() -> None:
    assert opening() >= {
        "machine", "system", "scenario", "enum", "record", "locks", "import", "let", "opaque", "channel", "source",
        "environment",
    }  # fmt: skip
    ending, beginning = joining()
    assert ending >= {"add", "remove", "send", "next", "always", "eventually", "count", "child"}
    assert ending.isdisjoint({"deliver", "any", "read", "operation", "to", "until"})
    assert beginning >= {"until", "to", "from"}
    assert beginning.isdisjoint({"of", "add", "next", "symmetric"})
    assert calls() == {"add", "remove"}


ENDING = ("x = {}", "{}", "y.{}", "send {}", "add x to {}", "remove x from {}")
BEGINNING = ("{} = x", "{}", "{}.y", "{}(x)", "{}[x] = y")


@pytest.mark.parametrize("word", today([*SOFT]))
def test_the_formatter_keeps_effects_apart(word: str) -> None:
    """An effect that ends or begins with a name, which would be a word if the line break were all that is between."""
    for first, second in [(x.format(word), "z = x") for x in ENDING] + [("x = z", x.format(word)) for x in BEGINNING]:
        for one, other in (
            (first, second),
            (first, "y(x)"),
            ("send y", second),
            ("add(x)", second),
            ("remove(x)", second),
        ):
            effects = f"        {one};\n        {other}    // so on lines of their own\n"
            text = f"machine M {{\n    A -> A on go do {{\n{effects}    }}\n}}\n"
            before = parse(Source("x.fsm", text))
            if not before.diagnostics:
                after = parse(Source("x.fsm", format_source(before)))
                assert after.diagnostics == (), format_source(before)
                assert shape(after.module) == shape(before.module), format_source(before)


def shape(value: object) -> object:
    """A node of the syntax without its places in the text."""
    if isinstance(value, tuple):
        return [shape(x) for x in value]
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is None:
        return value
    return type(value).__name__, [shape(getattr(value, x)) for x in fields if x != "span"]
