"""Runs chosen tests against one mutant after the other, without importing everything again for each.

    python tests/mutation/server.py record MAP FOLDERS FILE…   # run all tests of the files; which runs which line
    python tests/mutation/server.py serve FILE…                # a request per line of stdin, each with an answer
    python tests/mutation/server.py once FILE…                 # one request, then the end

All three run in a copy of the working tree. Before any test they import all modules, so that no test is the first one
to import something, and mutated functions are there to be exchanged. `serve`
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
import importlib
import inspect
import json
import os
import resource
import select
import signal
import sqlite3
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from mmap import mmap
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import pytest
from mutation.children import sitecustomize
from mutation.children.sitecustomize import Notes

if TYPE_CHECKING:
    from coverage import Coverage

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
        imported()
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
        running = mmap(-1, 4)  # shared with the child: the number of the test that it runs
        child = os.fork()
        if child == 0:
            os.setsid()
            os.close(inward)
            os.write(outward, json.dumps(self.tried(tests, request, running)).encode())
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
        number = int.from_bytes(running, "big")
        if late and tests:
            return {"result": "timeout", "by": tests[number][0].nodeid, "seconds": spent, "run": number + 1}
        by = "memory" if ended == "memory" else f"exit {status}"
        return {"result": "timeout" if late else "killed", "by": by, "seconds": spent, "run": 0}

    def tried(self, tests: list[tuple[pytest.Item, float]], request: dict[str, object], running: mmap) -> Answer:
        """Run tests in this order until one fails. One that takes too long ends the process."""
        if not self.once and request["path"]:
            try:
                count = exchanged(Path(str(request["path"])), str(request["original"]))
            except ValueError:  # other variables of an enclosing function
                count = 0
            if not count:
                return {"result": "unchanged", "by": "", "run": 0}
        for n, (item, seconds) in enumerate(tests):
            running[:] = n.to_bytes(4, "big")
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
    """Runs everything once and notes which test runs which lines, and how long it takes.

    A fixture that several tests use belongs to each of them, and so does a process that one of them has started and
    that still runs when the next one begins.
    """

    def __init__(self, coverage: Coverage, notes: Notes) -> None:
        super().__init__()
        self.coverage, self.notes = coverage, notes
        self.seconds: dict[str, float] = {}
        self.broken: list[str] = []
        self.users: defaultdict[str, set[str]] = defaultdict(set)
        """Context → the tests that what runs in it belongs to."""
        self.lasting: list[str] = []
        """Tests that begin while a process runs that an earlier one has started."""
        self.contexts = [""]
        self.caches: list[Any] = []
        self.modules = 0

    def pytest_collection_finish(self) -> None:
        """What no test has to import is imported now."""
        imported()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._empty()
        self.users[item.nodeid].add(item.nodeid)
        for fixture in shared_fixtures(item):
            self.users[fixture].add(item.nodeid)
        if processes_run():
            self.lasting.append(item.nodeid)
        begun = sum(os.times()[:4])
        self._enter(item.nodeid)
        try:
            return (yield)
        finally:
            self._leave()
            self.seconds[item.nodeid] = round(sum(os.times()[:4]) - begun, 3)
            if self.failed:
                self.broken.append(item.nodeid)
                self.failed = ""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        fixturedef.addfinalizer(self._leave)  # finalizers run in reverse order
        self._enter(named(fixturedef))
        try:
            return (yield)
        finally:
            self._leave()
            fixturedef.addfinalizer(lambda: self._enter(named(fixturedef)))

    def _enter(self, context: str) -> None:
        self.contexts.append(context)
        self._switch()

    def _leave(self) -> None:
        self.contexts.pop()
        self._switch()

    def _switch(self) -> None:
        self.coverage.switch_context(self.contexts[-1])
        self.notes.test = os.environ[sitecustomize.TEST] = self.contexts[-1]

    def _empty(self) -> None:
        """Empty all caches. The tables of the parser are the same whatever changes."""
        if self.modules != len(sys.modules):
            self.modules = len(sys.modules)
            self.caches = [x for x in gc.get_objects() if type(x).__name__ == "_lru_cache_wrapper" and _ours(x)]
        for cache in self.caches:
            cache.cache_clear()


def _ours(cache: Any) -> bool:
    function = inspect.unwrap(cache)
    path = function.__code__.co_filename if isinstance(function, FunctionType) else ""
    return path.startswith(f"{Path.cwd()}/") and not str(cache.__module__).startswith("fsmdsl.syntax.parse")


def named(fixture: pytest.FixtureDef[Any]) -> str:
    """The context of a fixture."""
    return f"fixture {fixture.baseid}::{fixture.argname}"


def shared_fixtures(item: pytest.Item) -> set[str]:
    """The fixtures of a test that others may use, too."""
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return {named(x) for several in definitions.values() for x in several if x.scope != "function"}


def processes_run() -> bool:
    """Has a process that was started from here not ended yet?"""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def imported() -> None:
    """Import all modules that can be imported."""
    for package in ("fsmdsl", "runtime"):
        for path in sorted(Path(package).rglob("*.py")):
            name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
            if not name.endswith("__main__") and all(x.isidentifier() for x in name.split(".")):
                with contextlib.suppress(ImportError, SystemExit):
                    importlib.import_module(name)


def record(to: Path, folders: list[str], files: list[str]) -> int:
    """Write `{"seconds": {test: …}, "broken": [test, …], "blind": [test, …], "lines": {path: {test: bits}}}`.

    The test `""` is import and collection. What a blind test executes is not known.
    """
    from coverage import Coverage

    below = [f"{Path.cwd()}/{x}/" for x in folders]
    os.environ[sitecustomize.FILE] = f"{to}.notes"
    os.environ[sitecustomize.FOLDERS] = os.pathsep.join(below)
    notes = sitecustomize.Notes()
    sys.addaudithook(notes.audit)
    os.register_at_fork(after_in_child=sitecustomize.begin)
    data = Path(f"{to}.coverage")
    coverage = Coverage(data_file=str(data), include=[f"{x}*" for x in below], config_file=False)
    coverage.start()
    recorder = Recorder(coverage, notes)
    ended = pytest.main([*OPTIONS, *files], plugins=[recorder])
    coverage.stop()
    coverage.save()
    noted, blind = read(Path(f"{to}.notes"))
    whole = {
        "seconds": recorder.seconds,
        "broken": recorder.broken,
        "blind": sorted({test for context in blind for test in recorder.users[context]}),
        "lasting": recorder.lasting,
        "lines": lines(recorder, [*measured(data), *noted], noted),
    }
    to.write_text(json.dumps(whole), "utf-8")
    return int(ended)


Executed = tuple[str, str, int]
"""A context, a file, and lines as a set of bits."""


def lines(recorder: Recorder, executed: list[Executed], noted: list[Executed]) -> dict[str, dict[str, str]]:
    """File → test → lines."""
    bits: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for context, path, some in executed:
        for test in recorder.users[context] if context else ("",):
            bits[path][test] |= some
    for test in recorder.lasting:
        for context, path, some in noted:
            if any(x.split("::")[0] == test.split("::")[0] for x in recorder.users[context]):
                bits[path][test] |= some
    return {
        Path(path).relative_to(Path.cwd()).as_posix(): {test: hex(some) for test, some in by_test.items()}
        for path, by_test in bits.items()
    }


def measured(data: Path) -> list[Executed]:
    """What `coverage` has measured: its sets of lines are bits, the least ones first."""
    query = """
        select context.context, file.path, line_bits.numbits from line_bits
        join context on context.id = line_bits.context_id join file on file.id = line_bits.file_id
    """
    with contextlib.closing(sqlite3.connect(data)) as connection:
        return [(context, path, int.from_bytes(bits, "little")) for context, path, bits in connection.execute(query)]


def read(notes: Path) -> tuple[list[Executed], set[str]]:
    """What processes have noted, and the contexts in which some could not."""
    executed: list[Executed] = []
    blind = {os.readlink(link) for link in notes.parent.glob(f"{notes.name}-*")}
    for row in notes.read_text("utf-8", "surrogateescape").splitlines() if notes.exists() else ():
        context, path, numbers = row.split("\t")
        if path:
            executed.append((context, path, sum(1 << int(x) for x in numbers.split())))
        else:
            blind.add(context)
    return executed, blind


SLOW = (
    "tests/test_checks.py::test_what_is_too_hard_is_given_up",
    "tests/test_checks.py::test_twice_as_many_transitions_are_about_twice_as_much_work",
)
"""Minutes where lines are recorded."""
# Only whether a test fails is of interest: with plain asserts, differences between long texts are not computed.
OPTIONS = ["-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=no", "--assert=plain"]
OPTIONS += [f"--deselect={x}" for x in SLOW]


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
