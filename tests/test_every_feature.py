"""Every part of the grammar is used by the random specs, offered by the editor, shown in the reference, and kept by the
formatter.

What there is comes from the parser's table, which is made of the grammar: a feature is a rule and something that one of
its alternatives is made of, a word, a sign or another rule. So an optional part is a feature of its own, and so is each
of several words that a rule chooses from. `fsm diff` knows no grammar: it reads the model, and mypy holds its walks
complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from markdown_blocks import blocks
from random_refinement import example
from random_scenarios import scenario_of, wandering
from random_specs import spec
from random_systems import text_of
from random_texts import containing
from stepping import compiled, only_system
from test_blocks import WRAPPERS

from fsmdsl.editor.editing import completions
from fsmdsl.step import Universe
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.syntax.parse.reading import read
from fsmdsl.syntax.parse.table import load
from fsmdsl.syntax.tree import Token
from fsmdsl.text.source import Source

pytestmark = pytest.mark.full(reason="half a minute: every part of the grammar")

ROOT = Path(__file__).parent.parent
RULES = load().rules

Feature = tuple[str, str]
"""The name of a rule, and something that it is made of."""

SEEDS = range(100)
"""Of each kind of random spec, with and without the newer words."""

NOT_RANDOM = {
    "import_": "random specs are files of their own; a scenario is a module that imports the system's",
    "import_names": "the same",
    "absent": "`fails … with none` needs a walk into that fault; tests/test_scenario.py has it",
}
"""Rules that no random spec uses."""

NOT_FORMATTED = {("block", ";"), ("hold_body", ";"), ("arguments", "("), ("arguments", ")")}
"""What the formatter leaves out, because it means nothing: a separator at the end of a line, empty parentheses."""


def owner(rule: str) -> str:
    """The rule in which something repeated is: `via` of `__via_star_3`."""
    return rule.removeprefix("__").rsplit("_", 2)[0] if rule.startswith("__") else rule


def features_of(rules: Iterable[int]) -> set[Feature]:
    return {(owner(RULES[n].name), x) for n in rules for x in RULES[n].symbols if not x.startswith("<__")}


FEATURES = features_of(range(len(RULES)))


def used(text: str) -> set[int] | None:
    """The rules that a text is read by; none where it cannot be read."""
    reading = read(Source("x.fsm", text))
    return None if reading.diagnostics else reduced(reading.tokens)


def reduced(tokens: Iterable[Token]) -> set[int]:
    """The rules by which tokens are read, as the table says."""
    moves, states, found = load().moves, [0], set()
    for token in tokens:
        while (action := moves[states[-1]][token.kind]) < 0:
            rule = RULES[~action]
            found.add(~action)
            del states[len(states) - len(rule.symbols) :]
            states.append(moves[states[-1]][rule.origin])
        states.append(action)
    return found


def test_the_table_has_all_of_the_grammar() -> None:
    """A rule is there, and a word, or the rest of this file would prove nothing."""
    assert len(FEATURES) > 400
    assert {owner(r.name) for r in RULES} >= {"offer", "crash_of", "binder", "via"}
    assert {x for _, x in FEATURES} >= load().words
    text = "machine M { initial state A  A -> A on crash }"
    assert features_of(used(text) or ()) >= {("state_flag", "initial"), ("edge", "->"), ("on", "on")}
    assert ("when", "when") not in features_of(used(text) or ())


# Random specs --------------------------------------------------------------------------------------------------------


def random_texts() -> Iterator[str]:
    for seed in SEEDS:
        for newer in (False, True):
            for text in (text_of(seed, newer), spec(seed, newer)):
                yield from (text, *scenarios(text))
        yield example(seed).text


def scenarios(text: str) -> Iterator[str]:
    """Walks through a random system, of its own instances and of instances of their own."""
    model = compiled(text)
    universe = Universe(model, only_system(model))
    if universe.fault is None:
        yield from (scenario_of(wandering(universe, n), "walk", own=n == 1).text for n in range(6))


def test_random_specs_use_it() -> None:
    """Whoever adds to the grammar adds to `random_expressions`, `_effects`, `_specs` or `_systems`."""
    found: set[int] = set()
    for text in random_texts():
        rules = used(text)
        assert rules is not None, text
        found |= rules
    missing = FEATURES - features_of(found)
    assert {x for x in missing if x[0] not in NOT_RANDOM} == set()


# The reference -------------------------------------------------------------------------------------------------------


PLACES = (
    "machine M {{ x: {} }}",
    "machine M {{ invariant {} }}",
    "machine M {{ S on go do {{ {} }} }}",
    "machine M {{ {} event go }}",
    "system S {{ x: M {} }}",
)
"""Where something may be from that a table shows, besides those of whole lines."""


def shown() -> Iterator[str]:
    """The code of the reference: blocks, and what tables have in backquotes."""
    page = ROOT / "docs" / "language.md"
    for block in blocks(page):
        if block.language.startswith("fsm"):
            yield from (block.text, *(x.format(block.text) for x in WRAPPERS))
    rows = re.findall(r"^\|.*", page.read_text("utf-8"), re.MULTILINE)
    for code in re.findall(r"`([^`]+)`", "\n".join(rows)):
        yield from (x.format(code.replace("\\|", "|")) for x in (*WRAPPERS, *PLACES))


def test_the_reference_shows_it() -> None:
    """What a sentence has in backquotes does not count: it does not show where that is written."""
    found = {rule for text in shown() for rule in used(text) or ()}
    assert sorted(FEATURES - features_of(found)) == []


# Editors -------------------------------------------------------------------------------------------------------------


@cache
def sentences() -> dict[int, str]:
    """For each rule a short text that is read by it."""
    found: dict[int, str] = {}
    for number in range(len(RULES)):
        text = next((x for x in containing(number) if number in (used(x) or ())), None)
        if text is not None:
            found[number] = text
    return found


def test_there_is_a_sentence_for_every_rule() -> None:
    assert [RULES[n] for n in range(len(RULES)) if n not in sentences()] == []


def test_completion_offers_every_word_where_a_rule_has_it() -> None:
    """Where the word of a sentence begins, and nothing follows yet."""
    left = {(r.name, x) for r in RULES for x in r.symbols if x in load().words or x in ("ENTRY", "EXIT")}
    for number, text in sentences().items():
        wanted = {x for x in RULES[number].symbols if (RULES[number].name, x) in left}
        tokens = read(Source("x.fsm", text)).tokens if wanted else []
        for before, token in zip([None, *tokens], tokens, strict=False):
            if token.kind in wanted:
                word = {"ENTRY": "on entry", "EXIT": "on exit"}.get(token.kind, token.kind)
                begun = text[: token.start]
                if before is not None and before.kind == "NAME" and before.text in load().words:
                    begun = f"{text[: before.start]}n "  # in `error on go`, what follows the word would be offered
                assert word in [c.label for c in completions(begun, len(begun))], (begun, word)
                left.discard((RULES[number].name, token.kind))
    assert left == set()


# The formatter -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(4))
def test_the_formatter_keeps_it(part: int) -> None:
    for number, text in sentences().items():
        if number % 4 != part:
            continue
        after = format_source(parse(Source("x.fsm", text)))
        rules = used(after)
        assert rules is not None, (text, after)
        assert features_of(used(text) or ()) - features_of(rules) <= NOT_FORMATTED, (text, after)
        assert words_of(after) == words_of(text)


def words_of(text: str) -> list[str]:
    """What a text has but for signs: names, words, numbers, texts."""
    return re.findall(r'"(?:[^"\\]|\\.)*"|\w+', text)
