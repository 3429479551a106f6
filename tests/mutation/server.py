"""Runs chosen tests against one mutant after the other, without importing everything again for each.

    python tests/mutation/server.py record MAP FILE…    # run all tests of the files; which test runs which line
    python tests/mutation/server.py serve FILE…         # one request per line of stdin, one answer per line of stdout
    python tests/mutation/server.py once FILE…          # one request, then the end

All three run in the copy of the working tree, with the same files, so that they collect the same tests. `serve`
collects once and forks for each request. In the child the functions that the mutant changes get the code of the mutated
file, which is on the disk as well for the processes that tests start. Code that ran during the import or the collection
cannot be exchanged like that; such a mutant is for `once`, which imports the mutated file as any program does.

A request is `{"tests": [[test, seconds], …], "path": …, "original": …}`; the answer is `{"result": "survived" |
"killed" | "timeout" | "unchanged", "by": test, "seconds": of the processor, "run": how many tests}`. `unchanged` says
that no live function differs.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, BinaryIO, Literal

import pytest

WAIT = 300
"""Seconds by the clock, on top of five times what the tests may take of the processor, before the end of a request."""
MEMORY = 4 << 30
"""Bytes of memory that a child may use. Not of addresses: compiled searches reserve more than they use."""
LOOK = 0.5
"""Seconds between two looks at how much that is."""

Answer = dict[str, object]


def codes(code: CodeType) -> Iterator[CodeType]:
    """The functions of a module and the methods of its classes, not those inside of functions."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and "<locals>" not in constant.co_qualname:
            yield constant
            yield from codes(constant)


def exchanged(path: Path, original: str) -> int:
    """Give live functions the code that they have in the file at `path` now. How many have another one.

    Functions of the same qualified name (a property and its setter) are told apart by their order. A default or a table
    of the module is no code of a function. Raises `ValueError` where a function has other variables of an outer one.
    """
    live: dict[str, list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == str(path):
            live[thing.__code__.co_qualname].append(thing)
    texts = (original, path.read_text("utf-8"))
    old, new = (compile(text, str(path), "exec", dont_inherit=True) for text in texts)
    by_name: dict[str, list[CodeType]] = defaultdict(list)
    for code in codes(new):
        by_name[code.co_qualname].append(code)
    before: dict[str, list[CodeType]] = defaultdict(list)
    for code in codes(old):
        before[code.co_qualname].append(code)
    done = 0
    for name, functions in live.items():
        for function in functions:
            place = before[name].index(function.__code__) if function.__code__ in before[name] else -1
            if place >= 0 and len(by_name[name]) == len(before[name]) and by_name[name][place] != before[name][place]:
                function.__code__ = by_name[name][place]
                done += 1
    return done


class Plugin:
    """Notes the first failure."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test has been set up, run or torn down."""
        if report.failed and not self.failed:
            self.failed = report.nodeid


class Server(Plugin):
    """Answers requests, each in a child."""

    def __init__(self, requests: Iterator[str], answers: int, once: bool) -> None:
        super().__init__()
        self.requests, self.answers, self.once = requests, answers, once

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of running what was collected."""
        if session.testsfailed:
            return True
        self.say({"tests": [item.nodeid for item in session.items]})
        items = {item.nodeid: item for item in session.items}
        for line in self.requests:
            self.say(self.answered(items, json.loads(line)))
            if self.once:
                break
        return True

    def say(self, answer: Answer) -> None:
        """Write a line to whoever asked."""
        os.write(self.answers, json.dumps(answer).encode() + b"\n")

    def answered(self, items: Mapping[str, pytest.Item], request: dict[str, object]) -> Answer:
        """The child's answer, or what its end says. It leads a process group of its own, which ends with it."""
        tests = [(items[name], seconds) for name, seconds in request["tests"] if name in items]  # type: ignore[attr-defined]
        inward, outward = os.pipe()
        child = os.fork()
        if child == 0:
            os.setsid()
            os.close(inward)
            os.write(outward, json.dumps(self.tried(tests, request)).encode())
            os._exit(0)
        os.close(outward)
        with os.fdopen(inward, "rb") as answer:
            ended = _awaited(answer, child, WAIT + 5 * sum(x[1] for x in tests))
            text = answer.read1() if ended == "exit" else b""
        _end(child)
        _, status, used = os.wait4(child, 0)
        spent = round(used.ru_utime + used.ru_stime, 2)
        if text:
            return {**json.loads(text), "seconds": spent}
        late = ended == "late" or status == signal.SIGPROF
        by = "memory" if ended == "memory" else f"exit {status}"
        return {"result": "timeout" if late else "killed", "by": by, "seconds": spent, "run": 0}

    def tried(self, tests: list[tuple[pytest.Item, float]], request: dict[str, object]) -> Answer:
        """Run tests in this order until one fails. One that takes too long ends the process."""
        if not self.once and request["path"]:
            try:
                count = exchanged(Path(str(request["path"])), str(request["original"]))
            except ValueError:  # other variables of an enclosing function
                count = 0
            if not count:
                return {"result": "unchanged", "by": "", "run": 0}
        for n, (item, seconds) in enumerate(tests):
            signal.setitimer(signal.ITIMER_PROF, seconds)
            following = tests[n + 1][0] if n + 1 < len(tests) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return {"result": "killed", "by": self.failed, "run": n + 1}
        return {"result": "survived", "by": "", "run": len(tests)}


def _awaited(answer: BinaryIO, child: int, seconds: float) -> Literal["exit", "late", "memory"]:
    """Why a child is not waited for any more: it has answered or ended, it takes too long, or too much memory."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([answer], [], [], LOOK)[0]:
            return "exit"
        with contextlib.suppress(OSError):
            pages = int(Path(f"/proc/{child}/statm").read_text("ascii").split()[1])
            if pages * resource.getpagesize() > MEMORY:
                return "memory"
    return "late"


def _end(child: int) -> None:
    """The child and whatever it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


class Recorder(Plugin):
    """Runs everything once and notes which test runs which lines, and how long it takes."""

    def __init__(self, coverage: object) -> None:
        super().__init__()
        self.coverage = coverage
        self.seconds: dict[str, float] = {}
        self.broken: list[str] = []
        self.caches: list[Any] = []

    def pytest_collection_finish(self) -> None:
        """Everything is imported now. The tables of the parser are the same whatever changes."""
        known = ("fsmdsl.", "runtime.", "test")
        self.caches = [
            x
            for x in gc.get_objects()
            if type(x).__name__ == "_lru_cache_wrapper"
            and str(x.__module__).startswith(known)
            and not str(x.__module__).startswith("fsmdsl.syntax.parse")
        ]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        for cache in self.caches:
            cache.cache_clear()
        begun = sum(os.times()[:4])
        self.coverage.switch_context(item.nodeid)  # type: ignore[attr-defined]
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")  # type: ignore[attr-defined]
            self.seconds[item.nodeid] = round(sum(os.times()[:4]) - begun, 3)
            if self.failed:
                self.broken.append(self.failed)
                self.failed = ""


def record(to: Path, areas: list[str], files: list[str]) -> int:
    """Write `{"seconds": {test: …}, "broken": [test, …], "lines": {path: {line: [test, …]}}}`.

    The test `""` is import and collection.
    """
    from coverage import Coverage

    coverage = Coverage(data_file=None, include=[f"{Path.cwd()}/{area}/*" for area in areas], config_file=False)
    coverage.start()
    recorder = Recorder(coverage)
    ended = pytest.main([*OPTIONS, *files], plugins=[recorder])
    coverage.stop()
    data = coverage.get_data()
    lines = {
        Path(path).relative_to(Path.cwd()).as_posix(): {
            str(line): sorted(tests) for line, tests in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }
    to.write_text(json.dumps({"seconds": recorder.seconds, "broken": recorder.broken, "lines": lines}), "utf-8")
    return int(ended)


SLOW = (
    "tests/test_checks.py::test_what_is_too_hard_is_given_up",
    "tests/test_checks.py::test_twice_as_many_transitions_are_about_twice_as_much_work",
)
"""Minutes where lines are recorded."""
OPTIONS = ["-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=no", *(f"--deselect={x}" for x in SLOW)]


def main() -> int:
    """See above."""
    match sys.argv[1:]:
        case ["record", to, areas, *files]:
            return record(Path(to), areas.split(","), files)
        case ["serve" | "once" as how, *files]:
            answers = os.dup(1)
            nothing = os.open(os.devnull, os.O_RDWR)
            requests = iter(os.fdopen(os.dup(0), "r"))
            os.dup2(nothing, 0), os.dup2(nothing, 1)
            return int(pytest.main([*OPTIONS, *files], plugins=[Server(requests, answers, how == "once")]))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
