"""After any edits, what an editor is told is what is found in the text from scratch."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_texts import spec
from tiers import share

from fsmdsl.check import check
from fsmdsl.editor.editing import Analysis, OpenDocuments
from fsmdsl.model.resolve import Use, resolve
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Diagnostic, Severity, ordered
from fsmdsl.text.source import Source

NAME = "spec.fsm"

ROOT = Path(__file__).parent.parent

HOLES = [p.read_text("utf-8") for p in sorted((ROOT / "specs").glob("*/holes/*.fsm"))]
SPECS = [text for text in HOLES if "\nimport kubernetes" not in text]
"""Texts that need no other."""

WORDS = (
    "", "", "", "}", "{", "\n", " ", "machine ", "\nmachine X {\n", "a", " -> ", "//", "\n/// a doc\n", "\nlet x = 3\n",
    ":", "(", "\nlocks {", "'", '"', "state", "\nend", "@", "\n\n", "\nimport a\n", "\nmodule q\n", " x x x",
    '\nsource "a"\n', "=>", "1x", "/*", "\u00a0", "é", "\U0001f600", "initial ", "on crash", "when true ", "7",
)  # fmt: skip

DECLARED = (
    "    fresh: bool", "    state Fresh", "    event fresh from environment", "    let fresh = true",
    "    action fresh", "    param fresh: 0..3 = 1", "    fresh: Free -> Free on crash", "    invariant true",
    "    fresh: Fresh?", "    state Free { initial state Inside }", "    event take(x: bool)",
    "    let fresh = size(cells) > 0",
)  # fmt: skip
"""Lines that change what others see of a machine."""

Told = tuple[str, str, int, int, tuple[tuple[int, int, str], ...], tuple[str, ...], str | None, object]


def told(d: Diagnostic) -> Told:
    labels = tuple((x.span.start, x.span.end, x.text) for x in d.labels)
    fix = None if d.fix is None else (d.fix.span.start, d.fix.span.end, d.fix.replacement)
    return d.rule.code, d.message, d.span.start, d.span.end, labels, d.notes, d.advice, fix


def from_scratch(text: str) -> list[Told]:
    """What `fsm check` finds in a text."""
    parsed = parse(Source(NAME, text))
    found = list(parsed.diagnostics)
    if not any(d.severity is Severity.ERROR for d in found):
        resolved = resolve([parsed.module])
        found += resolved.diagnostics
        found += [] if resolved.model is None else check(resolved.model)
    return [told(d) for d in ordered(found)]


def names(analysis: Analysis) -> list[tuple[int, int, str, str, str, int]]:
    def shown(u: Use) -> tuple[int, int, str, str, str, int]:
        return u.span.start, u.span.end, u.meaning.kind, u.meaning.owner, u.meaning.name, u.declares

    return sorted(shown(u) for u in analysis.uses_in(NAME))


def same(open_documents: OpenDocuments, text: str) -> None:
    """The open_documents, which has seen other texts before, and a new one agree about a text; and with `fsm check`."""
    open_documents.open(NAME, text)
    analysis = open_documents.analysis(NAME)
    assert [told(d) for d in analysis.diagnostics[NAME]] == from_scratch(text)
    fresh = OpenDocuments()
    fresh.open(NAME, text)
    anew = fresh.analysis(NAME)
    assert analysis.documents[NAME].module == anew.documents[NAME].module == parse(Source(NAME, text)).module
    assert analysis.model == anew.model
    assert names(analysis) == names(anew)


def edit(text: str, chance: random.Random) -> str:
    """One change, as a person or a cat would make it."""
    lines = text.split("\n")
    n = chance.randrange(len(lines))
    opened = [i for i, line in enumerate(lines) if line.startswith(("machine ", "system ")) and line.endswith("{")]
    match chance.randrange(8):
        case 6 | 7 if opened:
            lines.insert(chance.choice(opened) + 1, chance.choice(DECLARED))
        case 0:
            del lines[n]
        case 1:
            lines.insert(chance.randrange(len(lines)), lines[n])
        case 2:
            known = text.split()
            if known:
                return text.replace(chance.choice(known), chance.choice(known), 1)
        case _:
            start = chance.randrange(len(text) + 1)
            end = min(len(text), start + chance.choice((0, 0, 1, 1, 3, 20)))
            return text[:start] + chance.choice(WORDS) + text[end:]
    return "\n".join(lines)


@settings(max_examples=share(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.sampled_from([*SPECS, None]))
def test_edits_of_a_text(chance: random.Random, text: str | None) -> None:
    text = spec(chance, 4) if text is None else text
    open_documents = OpenDocuments()
    same(open_documents, text)
    for _ in range(4):
        before = text
        text = edit(text, chance)
        same(open_documents, text)
        if chance.random() < 0.3:
            text = before
            same(open_documents, text)


@pytest.mark.parametrize("text", SPECS[:3], ids=lambda t: t.split()[1] if t else "")
def test_typing_a_line(text: str) -> None:
    """Each keystroke of a new line, and of taking it away."""
    open_documents = OpenDocuments()
    place = text.index("\n", text.index("machine ")) + 1
    line = "    x: Open -> Shut on crash\n"
    for n in (*range(0, len(line), 4), len(line), 9, 0):
        same(open_documents, text[:place] + line[:n] + text[place:])
