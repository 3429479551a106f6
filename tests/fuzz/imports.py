"""`fsm import`: sources of every format, whole and damaged."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import strategies as st

from fsmdsl.interop.imports import Imported, ImportFailedError, spec_text
from fsmdsl.interop.imports.formats import READERS, format_of, read
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Source
from fuzz.target import Target
from fuzz.texts import MUTATIONS, mutated

_GOLDEN = Path(__file__).parents[1] / "golden" / "import"
_BLOCK = re.compile(r"^(`{3,4})\w+ (\S+)\n(.*?)^\1\n", re.MULTILINE | re.DOTALL)


def _sources() -> list[tuple[str, str]]:
    """The sources of the golden files, each with its format."""
    blocks = [x for path in sorted(_GOLDEN.glob("*.md")) for x in _BLOCK.findall(path.read_text("utf-8"))]
    return [(form, text) for _, name, text in blocks if (form := format_of(name, text)) in READERS]


def _read(source: Source, form: str) -> tuple[Imported, Diagnostic | None]:
    try:
        return read(source, form), None
    except ImportFailedError as error:
        return Imported(()), error.diagnostic


def _import(given: list[str]) -> None:
    """A source is read or refused, with a place in it; what is read becomes a spec that can be parsed."""
    form, text = given
    source = Source("fuzz", text)
    imported, error = _read(source, form)
    if error is not None:
        assert error.message
        assert 0 <= error.span.start <= len(error.span.source.text)
    for x in imported.left_out:
        assert x.text
        assert 0 <= x.place.start <= len(text), x
    if imported.tables:
        parse(Source("fuzz.fsm", spec_text(imported, "fuzz")[0]))


_INPUTS = st.builds(
    lambda chosen, form, changes: [form or chosen[0], mutated(chosen[1], changes)],
    st.sampled_from(_sources()),
    st.none() | st.none() | st.none() | st.sampled_from(sorted(READERS)),
    MUTATIONS,
)

imports = Target("imports", _INPUTS, _import)
