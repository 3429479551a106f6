"""Which tests execute what a mutant changes, and in which order they run.

A recording says which test executes which line, and how long it takes. Caches are emptied before each test, so that
what a test needs is noted for it and not for the first test that happened to need it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutation.areas import ROOT, TESTS
from mutation.tree import TREE, command, environment

LIBRARY, READER = (f"fsmdsl/search/lower/{x}" for x in ("library", "helpers.py"))
"""A program executes nothing of a library: its text is compiled. Whatever reads it is relevant."""

FIRST = 40
"""So many tests run in the order of what they promise. The others run file by file."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What the tests of an area execute."""

    seconds: Mapping[str, float]
    """Test → seconds of the processor, under `coverage`."""
    lines: Mapping[str, Mapping[int, Set[str]]]
    """File → line → tests; `""` stands for import and collection. Nothing where it is not known."""


@dataclass(frozen=True, slots=True)
class Relevant:
    """The tests for one mutant."""

    tests: tuple[str, ...]
    """Those that execute it; none where it is no part of a function."""
    imported: bool
    """Does it run when modules are imported or tests collected? What has run cannot be exchanged afterwards."""
    all: tuple[str, ...]
    """Where it does, any test may notice."""


USUAL = 1.0
"""Seconds that a test is taken to need where it is not known."""
MAPS = ROOT / "build" / "mutants-map"


def recorded(tests: Sequence[str], paths: Iterable[str]) -> Recording:
    """What files of tests execute. Recorded anew are those that have changed, or all where a mutated file has."""
    states = {x: _state(x) for x in paths}
    missing = [test for test in tests if not _valid(test, states)]
    if missing:
        _record(missing)
    seconds: dict[str, float] = {}
    lines: defaultdict[str, defaultdict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for test in tests:
        found = json.loads(_map(test).read_text("utf-8"))
        seconds |= found["seconds"]
        for path, by_line in found["lines"].items():
            for line, names in by_line.items():
                lines[path][int(line)].update(names)
    return Recording(seconds, lines)


def unknown(tests: Iterable[str]) -> Recording:
    """In place of a recording: any test may notice anything."""
    return Recording(dict.fromkeys(tests, USUAL), {})


def _valid(test: str, states: Mapping[str, str]) -> bool:
    if not _map(test).exists():
        return False
    known = json.loads(_map(test).read_text("utf-8"))["states"]
    wanted = {**states, test: _state(test.split("::")[0])}
    return all(known.get(x) == state for x, state in wanted.items())


def _record(tests: Sequence[str]) -> None:
    """Run them all in one process and keep what belongs to each; what runs during the import belongs to each."""
    MAPS.mkdir(parents=True, exist_ok=True)
    whole = MAPS / "whole.json"
    subprocess.run(
        command("record", str(whole), ",".join(TESTS), *tests),
        cwd=TREE,
        env=environment("full"),
        stdout=subprocess.DEVNULL,
        check=False,
    )
    found: dict[str, Any] = json.loads(whole.read_text("utf-8"))
    if found["broken"]:
        raise SystemExit(f"fails as it is: {' '.join(found['broken'])}")
    paths = [p.relative_to(TREE).as_posix() for area in TESTS for p in (TREE / area).rglob("*.py")]
    states = {x: _state(x) for x in paths}
    for test in tests:
        own = {"seconds": {x: n for x, n in found["seconds"].items() if _belongs(x, test)}}
        lines = {
            path: {line: [x for x in names if not x or _belongs(x, test)] for line, names in by_line.items()}
            for path, by_line in found["lines"].items()
        }
        kept = {**own, "lines": lines, "states": {**states, test: _state(test.split("::")[0])}}
        _map(test).write_text(json.dumps(kept), "utf-8")


def _belongs(name: str, test: str) -> bool:
    """Is a test one of a file, or a case of a function?"""
    return name == test or name.startswith((f"{test}::", f"{test}["))


def _map(test: str) -> Path:
    return MAPS / f"{re.sub('[^a-z_]+', '-', test)}.json"


def _state(path: str) -> str:
    return hashlib.sha256((TREE / path).read_bytes()).hexdigest()[:16]


def relevant(recording: Recording, path: str, text: str, line: int, kills: Counter[str]) -> Relevant:
    """The tests that execute the statement at a line."""
    if not recording.lines:
        return Relevant(_ordered(recording, recording.seconds, kills), False, ())
    tree = ast.parse(text)
    lines = recording.lines.get(path, {})
    body = _body(tree, line)
    found = set() if body is None else {test for n in _statement(tree, line) for test in lines.get(n, ())}
    if path.startswith(LIBRARY):
        found |= {t for tests in recording.lines[READER].values() for t in tests}
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
