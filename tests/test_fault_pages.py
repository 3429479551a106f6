"""Pages of faults: one for each kind, with an example that fails in this way, and repairs that work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import indent
from typing import get_args

import pytest
from click.testing import CliRunner
from literate import findings

from fsmdsl.check.faults import FAULTS, FaultPage, fault_pages
from fsmdsl.check.rule_pages import pages, write
from fsmdsl.cli.parser import cli
from fsmdsl.core.statements.faults import FaultKind as CoreFaultKind
from fsmdsl.model.resolve import resolve
from fsmdsl.model.resolve.scenarios.steps import FAULTS as KINDS_OF_SCENARIOS
from fsmdsl.search import Limits, explore
from fsmdsl.step.world import FaultKind
from fsmdsl.syntax.parse import parse
from fsmdsl.syntax.topics import TOPIC_OF
from fsmdsl.syntax.words import MEANINGS
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.source import Source

REPAIRS = {
    "unhandled": (
        ("    Off -> On on toggle", "    On -> Off on toggle\n    Off -> On on toggle"),
        ("    Off -> On on toggle", "    ignore toggle in On\n    Off -> On on toggle"),
        ("Up on press do", "Up on press when lamp in Off do"),
    ),
    "overlap": (
        ("n < 3", "n < 2"),
        ("    ignore push", "    priority hard > gentle\n    ignore push"),
    ),
    "reentrance": (
        ("do client.reply", "do send replies.reply to client"),
        ("do client.reply", "do granted = true"),
    ),
    "busy": (("do node.stop", "when node in Up do node.stop"), ("do node.stop", "do send orders.stop")),
    "none": (
        ("on preempt do", "on preempt when pod != none do"),
        ("do pod.evict", "do if pod != none { pod.evict }"),
    ),
    "range": (("do n = n + 1", "when n < 2 do n = n + 1"), ("n + 1", "min(n + 1, 2)")),
    "overflow": (
        ("on ping do", "on ping when size(wire) < 1 do"),
        ("do send wire.poll", "do if size(wire) < 1 { send wire.poll }"),
    ),
    "endless": (
        ("Open -> Shut when hot", "Open -> Shut when not hot"),
        ("Open -> Shut when hot", "Open -> Shut on cool\n    ignore cool in Shut"),
    ),
    "lost": (
        ("    ignore begin", "    Working -> Idle on crash\n    ignore begin"),
        ("volatile state", "persistent state"),
    ),
}
"""Changes of the examples, as their pages advise."""

DECLARED = {
    ("reentrance", 0): (
        ("event reply from Server", "event reply from replies"),
        "channel replies: fifo[2] to each Client",
    ),
    ("reentrance", 1): (("machine Server {", "machine Server {\n    granted: bool"), ""),
    ("busy", 1): (("event stop from Operator", "event stop from orders"), "channel orders: waiting fifo[1] to Node"),
    ("endless", 1): (("event heat from", "event heat, cool from"), ""),
}
"""What else a repair needs: a change, and another declaration."""


def example(page: FaultPage) -> str:
    (text,) = re.findall(r"^```fsm\n(.*?)^```", page.explanation, re.MULTILINE | re.DOTALL)
    return str(text)


def faults_of(text: str) -> set[str]:
    """The kinds of faults that a system of a text has, which has no errors."""
    source = Source("example.fsm", text)
    model = resolve([parse(source).module]).model
    assert model is not None, [d.message for d in findings([source]) if d.severity is Severity.ERROR]
    (system,) = model.systems.values()
    verdicts = explore(model, system, Limits(states=2000)).violations
    return {v.name for v in verdicts}


def test_every_kind_of_fault_has_a_page() -> None:
    kinds = set(get_args(FaultKind))
    assert kinds == set(fault_pages()) == set(KINDS_OF_SCENARIOS) == set(get_args(CoreFaultKind))
    assert len(FAULTS) == len(kinds)


@pytest.mark.parametrize("page", FAULTS, ids=lambda page: page.kind)
def test_the_example_fails_in_this_way_alone(page: FaultPage) -> None:
    assert faults_of(example(page)) == {page.kind}
    assert len(example(page).splitlines()) <= 21


@pytest.mark.parametrize(
    ("kind", "n"), [(kind, n) for kind, repairs in REPAIRS.items() for n in range(len(repairs))], ids=str
)
def test_what_the_page_advises_repairs_it(kind: str, n: int) -> None:
    text = example(fault_pages()[kind])
    old, new = REPAIRS[kind][n]
    assert old in text
    text = text.replace(old, new, 1)
    (before, after), declaration = DECLARED.get((kind, n), (("", ""), ""))
    assert before in text
    text = text.replace(before, after, 1) if before else text
    further = {"overflow"} if declaration else set()  # a channel is full at some time, unless its sender looks
    assert faults_of(f"{text}\n{declaration}\n") & set(fault_pages()) <= further


@pytest.mark.parametrize("page", FAULTS, ids=lambda page: page.kind)
def test_fsm_explain_prints_the_page(page: FaultPage) -> None:
    result = CliRunner().invoke(cli, ["explain", page.kind])
    assert result.exit_code == 0
    assert page.explanation.strip() in result.output
    assert page.summary in result.output


def test_a_verdict_names_the_remedy_and_the_page(tmp_path: Path) -> None:
    (tmp_path / "x.fsm").write_text(example(fault_pages()["reentrance"]), "utf-8")
    output = CliRunner().invoke(cli, ["verify", str(tmp_path)]).output
    assert "    help: read a field of the other instance after the send, or let it answer" in output
    assert "; see `fsm explain reentrance`\n" in output


def test_fsm_explain_lists_the_kinds_of_faults() -> None:
    listing = CliRunner().invoke(cli, ["explain"]).output
    assert all(re.search(rf"^fault +{page.kind} ", listing, re.MULTILINE) for page in FAULTS)


def test_pages_of_faults_are_written_with_those_of_rules(tmp_path: Path) -> None:
    write(tmp_path)
    assert all(f"{page.kind}.md" in pages() and (tmp_path / f"{page.kind}.md").exists() for page in FAULTS)
    assert all(f"[{page.kind}]({page.kind}.md)" in pages()["index.md"] for page in FAULTS)


@pytest.mark.parametrize(("name", "code"), [("deadlock", "FSM302"), ("circular-wait", "FSM309"), ("overlap", "FSM206")])
def test_rules_are_explained_by_the_names_that_verdicts_print(name: str, code: str) -> None:
    assert CliRunner().invoke(cli, ["explain", name]).output.startswith(f"{code} {name} ")


@pytest.mark.parametrize(
    ("word", "meanings"),
    [
        ("fair", {"keyword": MEANINGS["fair"]}),
        ("~>", {"keyword": MEANINGS["~>"]}),
        ("Fairness", {"term": "the assumption that a step is eventually taken"}),
        ("stutter", {"term": "to take a step that changes nothing"}),
        ("environment", {"keyword": MEANINGS["environment"], "term": "everything outside the machines"}),
        ("within the bound", {"term": "a condition on the states of a system"}),
    ],
)
def test_words_are_explained(word: str, meanings: dict[str, str]) -> None:
    result = CliRunner().invoke(cli, ["explain", word])
    assert result.exit_code == 0
    topic = TOPIC_OF[word.lower().removeprefix("within the ")]
    for kind, meaning in meanings.items():
        assert f" ({kind}): {meaning}" in result.output
    assert result.output.count(f"See `docs/{topic.section}`.") == len(meanings)
    shown = f"In a {topic.context}:\n\n{indent(topic.example, '    ')}\n\n"
    assert result.output.count(shown) == (topic.example != ""), "once, also of a keyword that is a term"
    data = json.loads(CliRunner().invoke(cli, ["explain", word, "--format", "json"]).output)
    assert (data["rules"], data["faults"]) == ([], [])
    assert [(x["kind"], x["page"]) for x in data["words"]] == [(x, f"docs/{topic.section}") for x in meanings]
    examples = [(x["context"], x["example"]) for x in data["words"] if "example" in x]
    assert examples == ([(topic.context, topic.example)] if topic.example else [])


def test_a_term_that_no_section_explains_refers_to_the_glossary() -> None:
    assert CliRunner().invoke(cli, ["explain", "gang"]).output.endswith("\n\nSee `docs/glossary.md`.\n")


def test_a_name_of_a_rule_and_a_term_explains_both() -> None:
    output = CliRunner().invoke(cli, ["explain", "deadlock"]).output
    assert output.startswith("FSM302 deadlock ")
    assert "deadlock (term): a state in which no step is possible" in output


def test_a_word_that_is_nothing_is_refused() -> None:
    result = CliRunner().invoke(cli, ["explain", "qqqqqqqq"])
    assert result.exit_code == 2
    assert (
        "there is no rule, fault, keyword or term `qqqqqqqq`; `fsm explain` lists the rules and faults" in result.output
    )


def test_a_misspelt_fault_is_corrected() -> None:
    result = CliRunner().invoke(cli, ["explain", "reentrence"])
    assert result.exit_code == 2
    assert "did you mean `reentrance`?" in result.output
