"""Real tables: those of YuniKorn's core and shim at any release, equal to a second reading of the same text.

`FSM_GO_SOURCES` names checkouts, parted like a `PATH`. The second reading knows nothing of Go: it takes the last words
of what is written behind `Name`, `Src` and `Dst`, or the text that a list has at that constant's place (the shim of 1.5
lists one text too many), and compares them with the words of the import's names.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest
from go_names import listed_names
from test_import import clean

from fsmdsl.interop.imports import Imported, spec_text
from fsmdsl.interop.imports.go_files import go_sources
from fsmdsl.interop.imports.name_words import words_of

CHECKOUTS = [Path(x) for x in os.environ.get("FSM_GO_SOURCES", "").split(os.pathsep) if x]
_EVENT = re.compile(
    r"Name:\s*(?P<name>[^,]+),\s*Src:\s*(?P<src>\[\]string\{[^}]*\}|[\w.]+),\s*Dst:\s*(?P<dst>[^,}]+)", re.DOTALL
)
_ANY = re.compile(r"Any:\s*\[\]string\{([^}]*)\}", re.DOTALL)


def packages() -> list[Path]:
    """The folders of all packages that make a table."""
    found = (p for c in CHECKOUTS for p in sorted(c.rglob("*.go")) if not p.name.endswith("_test.go"))
    return list(dict.fromkeys(p.parent for p in found if "NewFSM(" in p.read_text("utf-8", "replace")))


def last(text: str, fields: dict[str, str], events: dict[str, str] | None = None) -> str:
    """The words of the last name in an expression: `states.New`, `New.String()`, `string(events.RunTask)`."""
    named = [x for x in re.findall(r"\w+", text) if x not in ("String", "string")]
    return " ".join(words_of((fields if named[0] == "states" else events or {}).get(named[-1], named[-1])))


@pytest.mark.skipif(
    not CHECKOUTS, reason="SKIPPED: set FSM_GO_SOURCES to checkouts of yunikorn-core and yunikorn-k8shim"
)
@pytest.mark.parametrize("folder", packages(), ids=str)
def test_the_table_is_that_of_a_second_reading(folder: Path) -> None:
    pytest.importorskip("tree_sitter_go", reason="SKIPPED: Go sources need `tree-sitter-go`")
    from fsmdsl.interop.imports.go_looplab import read

    found, main = go_sources(folder, follow_links=False)
    imported = read(found, main)
    wanted: Counter[tuple[str, str, str]] = Counter()
    every = "\n".join(x.text for sources in found.values() for x in sources)
    fields = dict(re.findall(r'(\w+):\s+"(\w+)",', every))
    events = listed_names(every)
    anywhere = [last(x, fields) for listed in _ANY.findall(every) for x in listed.split(",") if x.strip()]
    for source in found[main]:
        for event in _EVENT.finditer(source.text):
            listed = [last(x, fields) for x in event["src"].removeprefix("[]string{").split(",") if re.search(r"\w", x)]
            for start in anywhere if event["src"].endswith(".Any") else listed:
                wanted[start, last(event["name"], fields, events), last(event["dst"], fields)] += 1
    assert wanted
    key = Counter(
        tuple(" ".join(words_of(x)) for x in (r.source, r.event or "", r.source if r.target is None else r.target))
        for table in imported.tables
        for r in table.rows
    )
    assert key == wanted
    for table in imported.tables:
        clean(spec_text(Imported((table,)), folder.name)[0])
