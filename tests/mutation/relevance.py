"""Which tests execute what a mutant changes, and in which order they run.

A recording says which test executes which line, and how long it takes. Caches are emptied before each test, so that
what a test needs is noted for it and not for the first test that happened to need it.
"""

from __future__ import annotations

import ast
import fcntl
import gzip
import hashlib
import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mutation.areas import ROOT, Campaign
from mutation.tree import Tree, command

READERS = {
    "fsmdsl/search/lower/library": "fsmdsl/search/lower/helpers.py",
    "fsmdsl/classes/runtime": "fsmdsl/classes/machinery.py",
}
"""Modules whose text is compiled into programs, or copied into packages, which execute the copies: tests that execute
what reads the text are relevant, too."""

FIRST = 40
"""So many tests run in the order of what they promise. The others run file by file."""


Bits = Mapping[str, Mapping[str, int]]
"""File → test → the lines that it executes: bit 5 stands for line 5."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What tests execute."""

    seconds: Mapping[str, float]
    """Test → seconds of the processor, under `coverage`."""
    lines: Bits
    """Nothing where it is not known."""
    collected: Bits
    """Likewise, of a file of tests, or a test as pytest takes it: what runs when it is imported and collected."""
    blind: Set[str]
    """Tests that execute what has not been recorded. They are relevant for every mutant."""


@dataclass(frozen=True, slots=True)
class Relevant:
    """The tests for one mutant."""

    tests: tuple[str, ...]
    """Those that execute it; none where it is no part of a function."""
    imported: bool
    """Does it run when modules are imported or tests collected? What has run cannot be exchanged afterwards."""
    all: tuple[str, ...]
    """Where it does: those that may notice, which may be any test. First those that execute something of the file."""


USUAL = 1.0
"""Seconds that a test is taken to need where it is not known."""
MAPS = ROOT / "build" / "mutants-map"
TOGETHER = 8
"""How many files of tests one process records at most. What runs when they are imported belongs to each of them."""


def recorded(of: Campaign, tree: Tree, tests: Sequence[str], paths: Iterable[str], jobs: int) -> Recording:
    """What files of tests execute. Recorded anew are those that have changed, or all where a mutated file has.

    Campaigns have maps of their own, and those of copies are the same. One process at a time looks what is missing.
    """
    states = {x: _state(tree, x) for x in paths}
    maps = Maps(of, tree)
    maps.folder.mkdir(parents=True, exist_ok=True)
    with (maps.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [test for test in tests if not maps.valid(test, states)]
        count = max(1, min(TOGETHER, len(missing) // (4 * jobs)))
        parts = [missing[n : n + count] for n in range(0, len(missing), count)]
        with ThreadPoolExecutor(jobs) as pool:
            for part in pool.map(maps.record, parts):
                print(f"recorded: {' '.join(part)}", flush=True)
    return maps.recording(tests)


def unknown(tests: Iterable[str]) -> Recording:
    """In place of a recording: any test may notice anything."""
    return Recording(dict.fromkeys(tests, USUAL), {}, {}, set())


@dataclass(frozen=True, slots=True)
class Maps:
    """The recordings of a campaign, one for each file of tests."""

    of: Campaign
    tree: Tree

    @property
    def folder(self) -> Path:
        """Where they are."""
        return MAPS / self.of.tier

    def valid(self, test: str, states: Mapping[str, str]) -> bool:
        """Is there a map of a file of tests, of the code as it is?"""
        if not self._path(test).exists():
            return False
        recorded_states = self._read(test)["states"]
        present = {**states, test: _state(self.tree, test.split("::")[0])}
        return all(recorded_states.get(x) == state for x, state in present.items())

    def record(self, tests: Sequence[str]) -> Sequence[str]:
        """Run them in one process and keep what belongs to each; what runs during the import belongs to each."""
        with TemporaryDirectory(dir=self.folder) as folder:
            whole = Path(folder) / "whole.json"
            subprocess.run(
                command("record", str(whole), ",".join(self.of.folders), *tests),
                cwd=self.tree.path,
                env=self.tree.environment(self.of.tier),
                stdout=subprocess.DEVNULL,
                check=False,
            )
            executions: dict[str, Any] = json.loads(whole.read_text("utf-8"))
        states = {x: _state(self.tree, x) for x in self.of.files()}
        for test in tests:
            names = [test, *(x for x in executions["seconds"] if belongs(x, test))]
            place = {name: n for n, name in enumerate(names)} | {"": 0}
            lines = {
                path: {place[name]: bits for name, bits in by_test.items() if name in place}
                for path, by_test in executions["lines"].items()
            }
            own = {
                "names": names,
                "seconds": [executions["seconds"][x] for x in names[1:]],
                "blind": [x for x in names[1:] if x in executions["blind"] or x in executions["broken"]],
                "lines": {path: by_test for path, by_test in lines.items() if by_test},
                "states": {**states, test: _state(self.tree, test.split("::")[0])},
            }
            self._path(test).write_bytes(gzip.compress(json.dumps(own).encode(), mtime=0))
        return tests

    def recording(self, tests: Sequence[str]) -> Recording:
        """That of files of tests together."""
        seconds: dict[str, float] = {}
        lines: defaultdict[str, dict[str, int]] = defaultdict(dict)
        collected: defaultdict[str, dict[str, int]] = defaultdict(dict)
        blind: set[str] = set()
        for test in tests:
            record = self._read(test)
            names = record["names"]
            seconds |= dict(zip(names[1:], record["seconds"], strict=True))
            blind |= {*record["blind"]}
            for path, by_test in record["lines"].items():
                for n, bits in by_test.items():
                    (lines if int(n) else collected)[path][names[int(n)]] = int(bits, 16)
        return Recording(seconds, lines, collected, blind)

    def _path(self, test: str) -> Path:
        return self.folder / f"{re.sub('[^a-z0-9_]+', '-', test)}.json.gz"

    def _read(self, test: str) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(gzip.decompress(self._path(test).read_bytes()))
        return record


def belongs(name: str, test: str) -> bool:
    """Is a test one of a file, or a case of a function?"""
    return name == test or name.startswith((f"{test}::", f"{test}["))


def _state(tree: Tree, path: str) -> str:
    return hashlib.sha256((tree.path / path).read_bytes()).hexdigest()[:16]


def relevant(recording: Recording, path: str, text: str, line: int, promise: Promise) -> Relevant:
    """The tests that execute the statement at a line."""
    if not recording.lines:
        return Relevant(promise.ordered(recording, recording.seconds), False, ())
    tree = ast.parse(text)
    body = _body(tree, line)
    readers = {test for x, reader in READERS.items() if path.startswith(f"{x}/") for test in recording.lines[reader]}
    touching = {*recording.lines.get(path, ())} | readers
    if body is None:
        others = recording.seconds.keys() - touching
        return Relevant((), True, promise.ordered(recording, touching) + promise.ordered(recording, others))
    executing = _executing(recording.lines, path, _statement(tree, line)) | recording.blind | readers
    parts = _executing(recording.collected, path, body)
    every = executing | {x for x in recording.seconds if any(belongs(x, part) for part in parts)} if parts else ()
    return Relevant(promise.ordered(recording, executing), bool(parts), promise.ordered(recording, every))


def _executing(bits: Bits, path: str, lines: range) -> set[str]:
    wanted = sum(1 << n for n in lines)
    return {test for test, some in bits.get(path, {}).items() if some & wanted}


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


@dataclass(frozen=True, slots=True)
class Promise:
    """Which tests notice most mutants for their time."""

    kills: Counter[str]
    """Test → mutants that it has noticed."""
    likely: Set[str] = frozenset()
    """Files of tests that are about the area."""

    def ordered(self, recording: Recording, tests: Iterable[str]) -> tuple[str, ...]:
        """Those first that promise most; then file by file, so that fixtures are made once."""
        files = Counter[str]()
        for test, count in self.kills.items():
            files[test.split("::")[0]] += count

        def promise(test: str) -> float:
            file = test.split("::")[0]
            noticed = self.kills[test] + files[file] / 50 + 0.02 + 0.1 * (file in self.likely)
            return -noticed / (recording.seconds[test] + 0.005)

        ordered = sorted((x for x in tests if x in recording.seconds), key=lambda x: (promise(x), x))
        first, others = ordered[:FIRST], ordered[FIRST:]
        needed = Counter[str]()
        for test in others:
            needed[test.split("::")[0]] += recording.seconds[test]  # type: ignore[assignment]
        return (*first, *sorted(others, key=lambda x: (needed[x.split("::")[0]], x.split("::")[0], promise(x))))


def limits(recording: Recording, tests: Iterable[str]) -> list[tuple[str, float]]:
    """Each test with the seconds of the processor that it may take with a mutant. Whichever test of a file runs first
    sets up what they share, so all may take as long as the longest."""
    longest: defaultdict[str, float] = defaultdict(float)
    for name, seconds in recording.seconds.items():
        file = name.split("::")[0]
        longest[file] = max(longest[file], seconds)
    return [(test, 5 * longest[test.split("::")[0]] + 5) for test in tests]
