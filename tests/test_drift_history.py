"""What changed in the tables of yunikorn-k8shim between releases, as drifts: row by row those of a second reading.

`FSM_K8SHIM_HISTORY` names a clone of apache/yunikorn-k8shim. The second reading shares nothing with the import: it
finds names in the text by patterns, and compares sets of rows.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from functools import cache
from itertools import pairwise

import pytest
from go_names import listed_names
from test_import import loaded

from fsmdsl import model as m
from fsmdsl.interop.drift import Drift, drift
from fsmdsl.interop.imports import Imported, spec_text
from fsmdsl.interop.imports.name_words import file_name
from fsmdsl.text.source import Source

HISTORY = os.environ.get("FSM_K8SHIM_HISTORY", "")
KINDS = ("application", "task", "node", "scheduler")
FOLDERS = ("pkg/cache", "pkg/shim")

RELEASES = (
    "v0.8.0", "v0.9.0", "v0.10.0", "v0.11.0", "v0.12.2", "v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0", "v1.4.0", "v1.5.0",
    "v1.5.2", "v1.6.0", "v1.6.3", "v1.7.0", "v1.8.0", "v1.9.0",
)  # fmt: skip

EXPECTED: dict[tuple[str, str], dict[str, int]] = {
    ("v0.10.0", "application"): {"added": 12},
    ("v0.11.0", "application"): {"added": 10, "removed": 2, "changed": 4},
    ("v0.11.0", "task"): {"added": 1},
    ("v1.1.0", "task"): {"renamed": 1},
    ("v1.3.0", "application"): {"added": 1},
    ("v1.5.0", "application"): {"added": 21, "removed": 25, "changed": 5},
    ("v1.5.2", "task"): {"added": 3},
    ("v1.6.0", "application"): {"added": 16, "removed": 19, "changed": 5},
}
"""The differences by the later release and the table; all other tables stay as they are."""

GONE = {"v1.4.0": {"scheduler"}, "v1.5.0": {"node"}}
"""The tables that are not there any more."""

Rows = set[tuple[str, str, str]]

pytestmark = pytest.mark.skipif(
    not HISTORY, reason="SKIPPED: set FSM_K8SHIM_HISTORY to a clone of apache/yunikorn-k8shim"
)


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", HISTORY, *arguments], capture_output=True, text=True, check=True).stdout


@cache
def files(release: str) -> dict[str, str]:
    """The Go files of a release below `pkg`, without tests."""
    listed = git("ls-tree", "-r", "--name-only", release, "pkg/cache", "pkg/shim", "pkg/common/events").split()
    return {x: git("show", f"{release}:{x}") for x in listed if x.endswith(".go") and not x.endswith("_test.go")}


# The import ----------------------------------------------------------------------------------------------------------


@cache
def tables(release: str) -> dict[str, tuple[Imported, m.Model, m.Machine]]:
    """What is imported of each kind: the table, the model of its spec, and the machine in it."""
    pytest.importorskip("tree_sitter_go", reason="SKIPPED: Go sources need `tree-sitter-go`")
    from fsmdsl.interop.imports.go_looplab import read

    module = "example.com/shim"
    packages: dict[str, list[Source]] = {}
    for name, text in files(release).items():
        plain = re.sub(r'"[^"\n]*yunikorn-k8shim/', f'"{module}/', text)
        packages.setdefault(f"{module}/{name.rpartition('/')[0]}", []).append(Source(name, plain))
    found: dict[str, tuple[Imported, m.Model, m.Machine]] = {}
    for folder in FOLDERS:
        if any("NewFSM(" in x.text for x in packages.get(f"{module}/{folder}", [])):
            for table in read(packages, f"{module}/{folder}").tables:
                kind = next(x for x in KINDS if file_name(table.place.source.name).startswith(x))
                alone = Imported((table,))
                model, _ = loaded(spec_text(alone, f"{kind}.go")[0])
                assert model is not None
                found[kind] = alone, model, next(iter(model.machines.values()))
    return found


def moves(found: list[Drift], side: str) -> Rows:
    """The rows that drifts say one side has and the other lacks."""
    shown = [getattr(x, side).text for x in found if x.what == "row"]
    return {_row(x) for x in shown if x}


def _row(text: str) -> tuple[str, str, str]:
    written = re.fullmatch(r"(\w+)(?: -> (\w+))? on (\w+)", text)
    assert written is not None, text
    return written[1], written[3], written[2] or written[1]


# The second reading --------------------------------------------------------------------------------------------------

_EVENT = re.compile(
    r"Name:\s*(?P<name>[^,]+),\s*Src:\s*(?P<src>\[\]string\{[^}]*\}|[\w.]+),\s*Dst:\s*(?P<dst>[^,}]+)", re.DOTALL
)


@cache
def second_reading(release: str) -> dict[str, Rows]:
    whole = "\n".join(files(release).values())
    events = dict(re.findall(r'(\w+)\s+\w*EventType\s*=\s*"(\w+)"', whole)) | listed_names(whole)
    found: dict[str, Rows] = {}
    for name, text in files(release).items():
        if "NewFSM(" in text:
            kind = next(x for x in KINDS if file_name(name).startswith(x))
            found[kind] = set(_rows(text, events, *_states(whole, kind)))
    return found


def _states(whole: str, kind: str) -> tuple[dict[str, str], list[str]]:
    """The names of the states by fields, and the list of any."""
    literal = re.search(
        rf"&(?:{kind.capitalize()}|{kind[0].upper()})States\{{(.*?)(?=\w+States\{{|\n\}}\n)", whole, re.DOTALL
    )
    if literal is None:
        return {}, []
    every = re.search(r"Any:\s*\[\]string\{([^}]*)\}", literal[1], re.DOTALL)
    named = dict(re.findall(r'(\w+):\s+"(\w+)",', literal[1]))
    return named, [] if every is None else re.findall(r'"(\w+)"', every[1])


def _rows(text: str, events: dict[str, str], fields: dict[str, str], every: list[str]) -> Rows:
    found: Rows = set()
    for row in _EVENT.finditer(text):
        constant = [x for x in re.findall(r"\w+", row["name"]) if x not in ("String", "string")][-1]
        sources = re.findall(r"\.(\w+)\s*(?:,|\})", row["src"] + "}")
        starts = every if row["src"].endswith(".Any") else [fields[x] for x in sources]
        target = fields[row["dst"].strip().rpartition(".")[2]]
        found |= {(start, events[constant], target) for start in starts}
    return found


# Side by side --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", RELEASES)
def test_each_table_is_that_of_the_second_reading(release: str) -> None:
    ours, theirs = tables(release), second_reading(release)
    assert set(ours) == set(theirs)
    for kind, (imported, _, _) in ours.items():
        (table,) = imported.tables
        assert {(r.source, r.event, r.source if r.target is None else r.target) for r in table.rows} == theirs[kind]


@pytest.mark.parametrize(("older", "newer"), list(pairwise(RELEASES)))
def test_each_drift_is_that_of_the_second_reading(older: str, newer: str) -> None:
    before, after = tables(older), tables(newer)
    assert set(before) - set(after) == GONE.get(newer, set())
    assert set(after) <= set(before)
    for kind, (imported, _, _) in after.items():
        _, model, machine = before[kind]
        found = drift(model, imported, {machine.name: imported.tables[0].name}, {}).changes
        assert Counter(x.kind for x in found) == EXPECTED.get((newer, kind), {}), [x.message for x in found]
        states, events = (
            {x.spec.text: x.code.text for x in found if x.kind == "renamed" and x.what == what}
            for what in ("state", "event")
        )
        listed = second_reading(older)[kind]
        was = {(states.get(a, a), events.get(e, e), states.get(b, b)) for a, e, b in listed}
        now = second_reading(newer)[kind]
        assert moves(found, "spec") == was - now
        assert moves(found, "code") == now - was
        known = [{x for a, _, b in rows for x in (a, b)} for rows in (was, now)]
        added, removed = ({x.name for x in found if x.what == "state" and x.kind == y} for y in ("added", "removed"))
        assert (added, removed) == (known[1] - known[0], known[0] - known[1])
