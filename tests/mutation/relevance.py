"""Which tests execute what a mutant changes, and in which order they run.

A recording says which test executes which line, and how long it takes. Caches are emptied before each test, so that
what a test needs is noted for it and not for the first test that happened to need it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutation.areas import ROOT, TESTS
from mutation.tree import TREE, command, environment

FIRST = 40
"""So many tests run in the order of what they promise. The others run file by file."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What the tests of an area execute."""

    seconds: Mapping[str, float]
    """Test → seconds of the processor, under `coverage`."""
    lines: Mapping[str, Mapping[int, Set[str]]]
    """File → line → tests; `""` stands for import and collection."""


@dataclass(frozen=True, slots=True)
class Relevant:
    """The tests for one mutant."""

    tests: tuple[str, ...]
    """Those that execute it; none where it is no part of a function."""
    imported: bool
    """Does it run when modules are imported or tests collected? What has run cannot be exchanged afterwards."""
    all: tuple[str, ...]
    """Where it does, any test may notice."""


def recorded(tests: Sequence[str], paths: Iterable[str]) -> Recording:
    """What files of tests execute, recorded anew where one of them, or of the mutated files, is another than then."""
    name = hashlib.sha256(" ".join(tests).encode()).hexdigest()[:12]
    file = ROOT / "build" / "mutants-map" / f"{name}.json"
    states = {x: _state(x) for x in (*(test.split("::")[0] for test in tests), *paths)}
    known: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {"states": {}}
    if any(known["states"].get(x) != state for x, state in states.items()):
        known = _recorded(file, tests)
    lines = {p: {int(n): frozenset(x) for n, x in by_line.items()} for p, by_line in known["lines"].items()}
    return Recording(known["seconds"], lines)


def _recorded(file: Path, tests: Sequence[str]) -> dict[str, Any]:
    file.parent.mkdir(parents=True, exist_ok=True)
    started = command("record", str(file), ",".join(TESTS), *tests)
    subprocess.run(started, cwd=TREE, env=environment(), stdout=subprocess.DEVNULL, check=False)
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    if found["broken"]:
        file.unlink()
        raise SystemExit(f"fails as it is: {' '.join(found['broken'])}")
    listed = [p.relative_to(ROOT).as_posix() for area in TESTS for p in (ROOT / area).rglob("*.py")]
    found["states"] = {x: _state(x) for x in (*(test.split("::")[0] for test in tests), *listed)}
    file.write_text(json.dumps(found), "utf-8")
    return found


def _state(path: str) -> str:
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]


def relevant(recording: Recording, path: str, text: str, line: int, kills: Counter[str]) -> Relevant:
    """The tests that execute the statement at a line."""
    tree = ast.parse(text)
    lines = recording.lines.get(path, {})
    body = _body(tree, line)
    found = set() if body is None else {test for n in _statement(tree, line) for test in lines.get(n, ())}
    imported = body is None or any("" in lines.get(n, ()) for n in body)
    every = _ordered(recording, recording.seconds, kills) if imported else ()
    return Relevant(_ordered(recording, found, kills), imported, every)


def _body(tree: ast.Module, line: int) -> range | None:
    """The lines of the outermost function around a line, without its head."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            first = node.body[0].lineno
            return range(first, (node.end_lineno or 0) + 1) if line >= first else None
    return None


def _statement(tree: ast.Module, line: int) -> range:
    """The lines of the innermost statement or `case` around a line; of one with a block, those before the block."""
    best = range(line, line + 1)
    for node in ast.walk(tree):  # outer ones come first
        match node:
            case ast.stmt(lineno=first, end_lineno=int(last)) if first <= line <= last:
                pass
            case ast.match_case(pattern=ast.pattern(lineno=first)):
                last = node.body[0].lineno
                if not first <= line <= last:
                    continue
            case _:
                continue
        inner = getattr(node, "body", None) or getattr(node, "cases", None)
        if isinstance(inner, list):
            start = inner[0].pattern.lineno if isinstance(inner[0], ast.match_case) else inner[0].lineno
            last = max(first, start - 1)
        best = range(first, last + 1) if first <= line <= last else best
    return best


def _ordered(recording: Recording, tests: Iterable[str], kills: Counter[str]) -> tuple[str, ...]:
    """Those first that noticed most mutants for their time; then file by file, so that fixtures are made once."""
    files = Counter[str]()
    for test, count in kills.items():
        files[test.split("::")[0]] += count

    def promise(test: str) -> float:
        noticed = kills[test] + files[test.split("::")[0]] / 50 + 0.02
        return -noticed / (recording.seconds[test] + 0.005)

    known = sorted((x for x in tests if x in recording.seconds), key=lambda x: (promise(x), x))
    first, others = known[:FIRST], known[FIRST:]
    needed = Counter[str]()
    for test in others:
        needed[test.split("::")[0]] += recording.seconds[test]  # type: ignore[assignment]
    return (*first, *sorted(others, key=lambda x: (needed[x.split("::")[0]], x.split("::")[0], promise(x))))


def limits(recording: Recording, tests: Iterable[str]) -> list[tuple[str, float]]:
    """Each test with the seconds of the processor that it may take with a mutant."""
    return [(test, 5 * recording.seconds[test] + 2) for test in tests]
