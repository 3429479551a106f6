"""Rules: each has a code and name of its own, a page that is up to date, and an example that really breaks it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from literate import findings
from sources import modules, nodes

from fsmdsl.check.all_rules import all_rules
from fsmdsl.check.rule_pages import pages, write
from fsmdsl.model.resolve import resolve
from fsmdsl.report.formats.gather import from_verify
from fsmdsl.search import Limits, diagnostics, explore, play
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Rule, Severity
from fsmdsl.text.source import Source

ROOT = Path(__file__).parent.parent
RULES = list(all_rules().values())
EXAMPLE = re.compile(r"^```fsm\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples(rule: Rule) -> list[str]:
    return EXAMPLE.findall(rule.explanation)


def found_codes(text: str) -> set[str]:
    """What reading and checking finds, and, if there is nothing else to say, exploring and playing."""
    source = Source("example.fsm", text)
    found = findings([source])
    model = resolve([parse(source).module]).model
    if model is not None and not any(d.severity is Severity.ERROR for d in found):
        explorations = [explore(model, x, Limits(states=2000)) for x in model.systems.values()]
        found += diagnostics(*explorations)
        found += [x.diagnostic for x in from_verify(explorations, model, found, {}).never_followed]
        for scenario in model.scenarios.values():
            failure = play(model, scenario).failure
            found += [failure] if failure is not None else []
    return {d.rule.code for d in found}


def test_codes_and_names_are_unique() -> None:
    assert len({r.code for r in RULES}) == len({r.name for r in RULES}) == len(RULES)
    assert [r.code for r in RULES] == sorted(r.code for r in RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_a_rule_is_named_and_explained(rule: Rule) -> None:
    assert re.fullmatch(r"FSM\d{3}", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert rule.summary
    assert not rule.summary.endswith(".")
    assert "\n" not in rule.summary
    assert examples(rule) or "```console" in rule.explanation


@pytest.mark.parametrize("rule", [r for r in RULES if examples(r)], ids=lambda r: r.code)
def test_the_example_of_a_rule_breaks_it(rule: Rule) -> None:
    assert rule.code in found_codes(examples(rule)[0])


@pytest.mark.parametrize("rule", [r for r in RULES if len(examples(r)) > 1], ids=lambda r: r.code)
def test_what_to_write_instead_breaks_nothing(rule: Rule) -> None:
    for text in examples(rule)[1:]:
        assert [d for d in findings([Source("example.fsm", text)]) if d.severity > Severity.NOTE] == []


def test_every_rule_that_is_declared_is_known() -> None:
    declared = {
        node.value
        for path in modules("fsmdsl")
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"FSM\d{3}", node.value)
    }
    assert declared == set(all_rules())


def test_the_pages_are_up_to_date() -> None:
    """If not: `make generate`."""
    folder = ROOT / "docs" / "rules"
    assert {path.name: path.read_text("utf-8") for path in folder.glob("*.md")} == pages()


def test_pages_of_rules_that_are_no_more_are_taken_away(tmp_path: Path) -> None:
    (tmp_path / "FSM999.md").write_text("old", "utf-8")
    write(tmp_path)
    assert not (tmp_path / "FSM999.md").exists()
    assert (tmp_path / "FSM201.md").read_text("utf-8").startswith("# FSM201 unreachable-state\n")


def test_links_of_the_index_lead_somewhere() -> None:
    written = pages()
    assert set(re.findall(r"\]\(([^)]+)\)", written["index.md"])) <= set(written)
