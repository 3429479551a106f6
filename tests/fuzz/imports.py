"""`fsm import` and `fsm drift`: sources of every format, whole and damaged."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from random import Random

from hypothesis import strategies as st
from test_import import SAMPLES

from fsmdsl.check import check
from fsmdsl.interop.drift import drift
from fsmdsl.interop.imports import Imported, ImportFailedError, spec_text
from fsmdsl.interop.imports.formats import LOOPLAB, READERS, format_of, read
from fsmdsl.model.resolve import resolve
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Diagnostic, Severity
from fsmdsl.text.source import Source
from fuzz.target import Target
from fuzz.texts import MUTATIONS, mutated

_GOLDEN = Path(__file__).parents[1] / "golden" / "import"
_BLOCK = re.compile(r"^(`{3,4})\w+ (\S+)\n(.*?)^\1\n", re.MULTILINE | re.DOTALL)
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]+")


@cache
def _sources() -> list[tuple[str, str]]:
    """The sources of the golden files, of `dense_sources.md` and of the tests, each with its format."""
    pages = [*sorted(_GOLDEN.glob("*.md")), Path(__file__).with_name("dense_sources.md")]
    blocks = [x for path in pages for x in _BLOCK.findall(path.read_text("utf-8"))]
    named = [(form, text) for _, name, text in blocks if (form := format_of(name, text)) in (*READERS, LOOPLAB)]
    return [*named, *SAMPLES.items()]


@cache
def _tokens(form: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(x for f, text in _sources() if f == form for x in _TOKEN.findall(text)))


def _shuffled(form: str, text: str, number: int) -> str:
    """The text with some of its words and signs left out, doubled, swapped, or replaced by others of the format."""
    chance = Random(number)
    tokens = _TOKEN.findall(text)
    for _ in range(chance.randrange(6) if tokens else 0):
        at, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        match chance.randrange(5):
            case 0:
                tokens[at] = ""
            case 1:
                tokens[at] *= 2
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = "".join(tokens[other : other + chance.randrange(20)])
            case _:
                tokens[at] = chance.choice(_tokens(form))
    return "".join(tokens)


def _read(source: Source, form: str) -> tuple[Imported, Diagnostic | None]:
    try:
        if form == LOOPLAB:
            from fsmdsl.interop.imports.go_looplab import read as read_go

            return read_go({"example.com/p": [source]}, "example.com/p"), None
        return read(source, form), None
    except ImportFailedError as error:
        return Imported(()), error.diagnostic


def _import(given: list[str]) -> None:
    """A source is read or refused, with a place in it; what is read becomes a spec that is the same as the source."""
    form, text = given
    source = Source("fuzz", text)
    imported, error = _read(source, form)
    if error is not None:
        assert error.message
        assert 0 <= error.span.start <= len(error.span.source.text)
    notes = [(x.text, x.place) for x in imported.left_out] + [(x.text, x.place) for x in imported.missing]
    for message, place in notes:
        assert message
        assert 0 <= place.start <= len(text), place
    if not imported.tables:
        return
    parsed = parse(Source("fuzz.fsm", spec_text(imported, "fuzz")[0]))
    resolved = resolve([parsed.module])
    if resolved.model is not None and not any(d.severity is Severity.ERROR for d in resolved.diagnostics):
        check(resolved.model)
        comparison = drift(resolved.model, imported, {}, {})
        assert not comparison.changes, [x.message for x in comparison.changes]
        assert not comparison.uncertain, [x.message for x in comparison.uncertain]


_INPUTS = st.builds(
    lambda chosen, form, number, changes: [
        form or chosen[0],
        mutated(_shuffled(chosen[0], chosen[1], number), changes),
    ],
    st.sampled_from(_sources()),
    st.none() | st.none() | st.none() | st.none() | st.sampled_from(sorted(READERS)),
    st.integers(0, 2**32),
    st.just([]) | MUTATIONS,
)

imports = Target("imports", _INPUTS, _import)
