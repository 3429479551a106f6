"""XState in TypeScript: read as XState itself reads it, and as its JSON is read.

`FSM_XSTATE_SOURCES` names a checkout of `statelyai/xstate`; `FSM_XSTATE_MODULES` a folder with `node_modules` that has
`xstate` and `esbuild`, so that the table of digests below is made again by `tests/xstate_rows.mjs`.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from test_import import _BLOCK, GOLDEN, SAMPLES, clean

from fsmdsl.interop.imports import Imported, ImportFailedError, Row, Table, spec_text
from fsmdsl.interop.imports.formats import read
from fsmdsl.text.source import Source

pytest.importorskip("tree_sitter_typescript", reason="SKIPPED: TypeScript sources need `tree-sitter-typescript`")

HERE = Path(__file__).parent
CHECKOUT = os.environ.get("FSM_XSTATE_SOURCES", "")
MODULES = os.environ.get("FSM_XSTATE_MODULES", "")
COMMIT = "b1811bf77bc2d1a74367328cec7907aa185b70df"
"""Of `statelyai/xstate`, whose examples these are: states, rows and a digest of both, as XState 5.33 has them."""

PUBLIC: dict[str, tuple[int, int, str]] = {
    "examples/7guis-flight-booker-react/src/machines/flightMachine.ts": (5, 8, "6b5f709edb6ce949"),
    "examples/friends-list-react/src/friendMachine.ts": (3, 7, "c09ff474d426dc8a"),
    "examples/mongodb-credit-check-api/machine.ts": (23, 22, "14243b5b1d8e3d8d"),
    "examples/persisted-donut-maker/donutMachine.ts": (16, 11, "8094dfcfd3ff9d80"),
    "examples/snake-react/src/snakeMachine.ts": (3, 6, "0615ac07fb7e62e2"),
    "examples/tiles/src/tilesMachine.ts": (5, 10, "24e534a6d0f02cc1"),
    "examples/timer/src/timerMachine.ts": (2, 8, "e3f79f9380c308d0"),
    "examples/trivia-game-example/src/triviaMachine.ts": (14, 18, "af123d931ec5a8aa"),
    "examples/workflow-book-lending/main.ts": (13, 13, "36fdd4e8f4d98b6e"),
    "examples/workflow-credit-check/main.ts": (6, 7, "1ccbfb3a09a06d23"),
    "examples/workflow-media-scanner/src/mediaScannerMachine.ts": (6, 9, "11d98ceb744d98c6"),
    "examples/workflow-monitor-job/main.ts": (7, 8, "420ff55145171849"),
    "examples/workflow-new-patient-onboarding/main.ts": (7, 8, "57ca737130c3a191"),
    "examples/workflow-provision-orders/main.ts": (8, 9, "a0364624336ce98c"),
}


def kind(row: Row) -> str:
    """The event of a row; of those that XState names itself, what they are."""
    if row.after is not None or (row.event or "").startswith("after "):
        return "after"
    if row.event is None:
        return "always"
    return next((x for x in ("done", "error", "snapshot") if row.event.endswith(f" {x}")), row.event)


def facts(table: Table) -> tuple[int, int, str]:
    return digest([s.name for s in table.states if s.name], [(r.source, kind(r), r.target) for r in table.rows])


def digest(states: Iterable[str], rows: Iterable[Iterable[str | None]]) -> tuple[int, int, str]:
    listed = sorted(states), sorted(json.dumps(list(x)) for x in rows)
    return len(listed[0]), len(listed[1]), hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]


def of_xstate(*files: Path) -> dict[str, tuple[int, int, str]]:
    """What XState itself makes of the machines in files, by their paths."""
    script = ["node", str(HERE / "xstate_rows.mjs"), MODULES, *map(str, files)]
    done = subprocess.run(script, capture_output=True, text=True, check=True, timeout=300)
    listed = map(json.loads, done.stdout.splitlines())
    return {x["file"]: digest(x["states"], x["rows"]) for x in listed}


@pytest.mark.skipif(not CHECKOUT, reason="SKIPPED: set FSM_XSTATE_SOURCES to a checkout of statelyai/xstate")
@pytest.mark.parametrize("path", PUBLIC)
def test_public_machines_are_those_of_xstate(path: str) -> None:
    imported = read(Source(path, (Path(CHECKOUT) / path).read_text("utf-8")))
    assert PUBLIC[path] in [facts(t) for t in imported.tables]
    for table in imported.tables:
        clean(spec_text(Imported((table,)), path)[0])


@pytest.mark.skipif(not (CHECKOUT and MODULES), reason="SKIPPED: set FSM_XSTATE_SOURCES and FSM_XSTATE_MODULES")
def test_the_digests_are_those_of_xstate() -> None:
    found = of_xstate(*(Path(CHECKOUT) / path for path in PUBLIC))
    assert {Path(k).relative_to(CHECKOUT).as_posix(): x for k, x in found.items()} == PUBLIC


def own() -> str:
    text = (GOLDEN / "kiln.md").read_text("utf-8")
    return next(content for _, _, name, content in _BLOCK.findall(text) if name == "kiln.ts")


@pytest.mark.skipif(not MODULES, reason="SKIPPED: set FSM_XSTATE_MODULES")
def test_our_own_machine_is_that_of_xstate(tmp_path: Path) -> None:
    (tmp_path / "kiln.ts").write_text(own())
    (table,) = read(Source("kiln.ts", own())).tables
    assert of_xstate(tmp_path / "kiln.ts") == {str(tmp_path / "kiln.ts"): facts(table)}


def test_our_own_machine_has_these_rows() -> None:
    """Counted by hand in the source."""
    (table,) = read(Source("kiln.ts", own())).tables
    assert {s.name for s in table.states if s.parent is None} == {"cold", "firing", "cooling", "failed"}
    found = [(r.source, r.event or r.after, r.target) for r in table.rows]
    assert found.count(("firing.soaking", "10min", "firing.over")) == 1
    assert found.count(("firing.soaking", "2min", None)) == 1
    assert found.count(("firing.lighting", "after patience", "firing.heating")) == 1
    assert found.count(("firing.lighting", "ignite done", "firing.heating")) == 1
    assert found.count(("firing", "STOP", "cold")) == 1
    assert found.count(("failed", "RESUME", "firing")) == 1
    assert found.count(("failed", "RETRY", "failed")) == 1
    start = next(r for r in table.rows if r.event == "START")
    assert [(c.text, c.holds) for c in start.conditions] == [("isLoaded", True), ("isOpen", False)]


@pytest.mark.parametrize("ending", ["ts", "tsx", "js"])
@pytest.mark.parametrize("call", ["createMachine(%s)", "setup({}).createMachine(%s as const, {})"])
def test_json_is_the_same_in_a_script(ending: str, call: str) -> None:
    if ending == "js" and " as " in call:
        call = call.replace(" as const", "")
    for text in [SAMPLES["xstate"], *fetchers()]:
        plain = read(Source("a.json", text)).tables
        assert read(Source(f"a.{ending}", f"export const a = {call % text};\n")).tables == plain


def fetchers() -> list[str]:
    blocks = _BLOCK.findall("".join(p.read_text("utf-8") for p in sorted(GOLDEN.glob("*.md"))))
    return [content for _, kind_, _, content in blocks if kind_ == "json"]


@pytest.mark.parametrize(
    "text",
    [
        "const a = [b, b, b, b, b, b, b, b]; const b = [c, c, c, c, c, c, c, c]; const c = [d, d, d, d, d, d, d, d];"
        "const d = [e, e, e, e, e, e, e, e]; const e = [f, f, f, f, f, f, f, f]; const f = [g, g, g, g, g, g, g, g];"
        "const g = [1, 1, 1, 1, 1, 1, 1, 1]; createMachine({states: {a: {on: {E: a}}}})",
        "createMachine({states: " + "[" * 3000 + "]" * 3000 + "})",
        "createMachine({states: " + "{a: {states: " * 300 + "{}" + "}}" * 300 + "})",
        "createMachine()",
        "createMachine(...config)",
        "createMachine({states: {a: {type: 'history'}}})",
    ],
    ids=lambda x: x[:24],
)
def test_floods_and_nothing_are_refused(text: str) -> None:
    with pytest.raises(ImportFailedError):
        read(Source("a.ts", text))


def test_constants_in_a_circle_are_read_once() -> None:
    (table,) = read(Source("a.ts", "const a = {states: b}; const b = {x: a}; createMachine(a)")).tables
    assert [s.name for s in table.states] == ["x"]


def test_a_target_that_only_running_tells_is_not_read() -> None:
    text = "createMachine({states: {a: {on: {E: {target: pick()}, F: 'a'}}, b: {}}})"
    (table,) = (found := read(Source("a.ts", text))).tables
    assert [r.event for r in table.rows] == ["F"]
    assert [x.text for x in found.missing] == ["a row of `a` to `pick()`: there is no such state"]


def test_without_the_extra_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsmdsl.interop.imports import xstate_source

    xstate_source._parser.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_typescript", None)
    with pytest.raises(ImportFailedError) as caught:
        read(Source("a.ts", "createMachine({})"))
    assert caught.value.diagnostic.advice == "pip install 'fsmdsl[typescript]'"
    xstate_source._parser.cache_clear()
