"""Diagrams and documents of others, where they are: imported, checked, and the rows those of a second reading.

`FSM_SCXML_SOURCES` names a folder with the W3C's SCXML tests (python-statemachine has them in `tests/scxml/w3c`), and
`FSM_MERMAID_SOURCES` a checkout of mermaid-js/mermaid. `FSM_MERMAID_MODULES`, a folder with `node_modules` that has
`mermaid` and `jsdom`, makes the digests of Mermaid's own reading again, by `tests/mermaid_rows.mjs`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_import import loaded

from fsmdsl.interop.imports import Imported, Table, spec_text
from fsmdsl.interop.imports.formats import read
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.source import Source

SCXML = os.environ.get("FSM_SCXML_SOURCES", "")
DOCUMENTS = sorted(Path(SCXML).rglob("*.scxml")) if SCXML else []
MERMAID = os.environ.get("FSM_MERMAID_SOURCES", "")
MODULES = os.environ.get("FSM_MERMAID_MODULES", "")
MANUAL = "packages/mermaid/src/docs/syntax/stateDiagram.md"
COMMIT = "df032c942c32f805a7f4cd1cf30a565e610bc4f1"
"""Of mermaid-js/mermaid, whose manual has these diagrams."""

DIAGRAMS: list[tuple[int, str]] = [
    (3, "99904198db9bc520"),
    (3, "99904198db9bc520"),
    (0, "4f53cda18c2baa0c"),
    (0, "4f53cda18c2baa0c"),
    (0, "4f53cda18c2baa0c"),
    (1, "48b22eb3a8dd9fd9"),
    (1, "84a0fb1a4179b400"),
    (0, "4f53cda18c2baa0c"),
    (0, "4f53cda18c2baa0c"),
    (1, "7594f86260f0d804"),
    (2, "74af8a72ff4e2c46"),
    (2, "cc847067dd78458b"),
    (5, "921f038cd59c52c0"),
    (1, "dd1b0241e61e5e68"),
    (6, "9e99e8a1a4276e02"),
    (4, "ce44bae5db3879c1"),
    (3, "99904198db9bc520"),
    (3, "99904198db9bc520"),
    (3, "99904198db9bc520"),
    (2, "010b9518117dc0d9"),
]
"""Of each diagram in the manual, how many arrows there are between states, and their digest, as Mermaid reads them."""


def checked(imported: Imported, name: str) -> None:
    """The spec that is written has no errors."""
    _, found = loaded(spec_text(imported, name)[0])
    assert [x.message for x in found if x.severity is Severity.ERROR] == []


# SCXML ---------------------------------------------------------------------------------------------------------------

Rows = Counter[tuple[str | None, str | None, str | None]]
STATES = ("state", "parallel", "final")


def tag(x: ET.Element) -> str:
    return x.tag.rpartition("}")[2]


def states_of(x: ET.Element) -> Iterator[tuple[ET.Element, ET.Element]]:
    """Each state with what it is in, without the documents inside of it."""
    for child in x:
        if tag(child) in STATES:
            yield child, x
            yield from states_of(child)


def second_reading(root: ET.Element) -> Rows:
    """A row for each event of each transition; histories are their composites, ends of composites are moves."""
    found: Rows = Counter()
    states = list(states_of(root))
    histories = {h.get("id"): s.get("id") for s, _ in states for h in s if tag(h) == "history"}
    finals: dict[str | None, list[str | None]] = defaultdict(list)
    for s, outer in states:
        if tag(s) == "final":
            finals[outer.get("id")].append(s.get("id"))
    for s, _ in states:
        for t in (x for x in s if tag(x) == "transition"):
            targets = [histories.get(x, x) for x in t.get("target", "").split()]
            for event in t.get("event", "").split() or [None]:
                plain = None if event is None else event.removesuffix("*").removesuffix(".") or "any"
                done = re.fullmatch(r"done\.state\.(.+)", plain or "")
                ends = finals[done[1]] if done and targets else []
                for source, name in [(x, None) for x in ends] or [(s.get("id"), plain)]:
                    found[source, name, targets[0] if targets else None] += 1
    return found


@pytest.mark.skipif(not SCXML, reason="SKIPPED: set FSM_SCXML_SOURCES to a folder with the W3C's SCXML tests")
def test_there_are_twenty_documents() -> None:
    assert len(DOCUMENTS) >= 20


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.stem)
def test_a_document_of_the_w3c_has_the_rows_of_a_second_reading(path: Path) -> None:
    text = path.read_text("utf-8")
    imported = read(Source(path.name, text))
    assert Counter((r.source, r.event, r.target) for t in imported.tables for r in t.rows) == second_reading(
        ET.fromstring(text)
    )
    checked(imported, path.name)


# Mermaid -------------------------------------------------------------------------------------------------------------

_BLOCK = re.compile(r"^```mermaid(?:-example)?\n(.*?)^```", re.MULTILINE | re.DOTALL)


def digest(arrows: Iterator[tuple[str, str, str]]) -> tuple[int, str]:
    listed = sorted(map(json.dumps, arrows))
    return len(listed), hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]


def of_mermaid() -> Iterator[tuple[int, str]]:
    """What Mermaid itself reads; the way through a choice is one arrow, without a text."""
    script = Path(__file__).parent / "mermaid_rows.mjs"
    command = ["node", str(script), MODULES, str(Path(MERMAID) / MANUAL)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    for found in map(json.loads, done.stdout.splitlines()):
        choices = set(found["choices"])
        plain = [tuple(x) for x in found["arrows"] if not choices & {x[0], x[1]}]
        into = [x for x in found["arrows"] if x[1] in choices]
        plain += [(a, b, "") for a, c, _ in into for d, b, _ in found["arrows"] if d == c]
        yield digest(iter(plain))


def of_table(table: Table) -> tuple[int, str]:
    title = {s.name: s.title for s in table.states}

    def label(event: str | None, target: str | None) -> str:
        return "" if event is None or event == f"to {title.get(target or '')}" else event

    return digest((r.source, str(r.target), label(r.event, r.target)) for r in table.rows)


@pytest.mark.skipif(not MERMAID, reason="SKIPPED: set FSM_MERMAID_SOURCES to a checkout of mermaid-js/mermaid")
def test_the_diagrams_of_mermaids_manual_have_the_arrows_that_mermaid_reads() -> None:
    page = (Path(MERMAID) / MANUAL).read_text("utf-8")
    texts = [x for x in _BLOCK.findall(page) if re.search(r"^\s*stateDiagram", x, re.MULTILINE)]
    tables = [read(Source("a.mmd", x)) for x in texts]
    assert [of_table(x.tables[0]) for x in tables] == DIAGRAMS
    for imported in tables:
        checked(imported, "a.mmd")


@pytest.mark.skipif(not (MERMAID and MODULES), reason="SKIPPED: set FSM_MERMAID_SOURCES and FSM_MERMAID_MODULES")
def test_the_digests_are_those_of_mermaid() -> None:
    assert list(of_mermaid()) == DIAGRAMS
