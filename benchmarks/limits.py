"""How soon a command ends after its limit, or after Ctrl-C, for `docs/how-the-checker-works.md`.

    python benchmarks/limits.py [--only NAME,…] [--interrupts 12] [--busy]

Each row is a spec that cannot be explored in time, or that takes long before its first state, with a command as a user
gives it. The time is that of the whole process, from its start to its end. `over` is what it took beyond the limit, or
after the signal. `--busy`: while one process for each processor does nothing but count.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from time import perf_counter, sleep

from made_up import spec as made_up

ROOT = Path(__file__).parent.parent
KILL_DELAY = 60.0
"""Seconds beyond a limit after which a command is killed."""

ONE = "machine M { n: 0..1  initial state A  event go from environment  A on go do n = 1 - n }"


def lets(count: int) -> str:
    """Derived values, each of which uses the one before twice."""
    lines = "\n".join(f"    let v{n} = v{n + 1} => v{n + 1}" for n in range(count))
    return (
        f"machine M {{ n: 0..1  initial state A  event go from environment\n{lines}\n"
        f"    let v{count} = n == 0\n    A on go do n = if v0 then 1 else 0\n}}\nsystem S {{ m: M }}"
    )


def functions(count: int) -> str:
    """Functions of a module, each of which calls the one before twice."""
    calls = "\n".join(f"let f{n}(b: bool) = f{n + 1}(b) => f{n + 1}(not b)" for n in range(count))
    return f"{calls}\nlet f{count}(b: bool) = b\n" + ONE.replace("on go", "on go when f0(n == 0)")


def ring(count: int) -> str:
    """A machine with a number of states."""
    rows = "\n".join(f"    state S{n}\n    S{n} -> S{(n + 1) % count} on go" for n in range(1, count))
    return f"machine M {{\nevent go from environment\ninitial state S0\nS0 -> S1 on go\n{rows}\n}}\nsystem S {{ m: M }}"


def channel(kind: str) -> str:
    """A channel that is never full."""
    return (
        f"channel c: {kind} to R\nmachine R {{ initial state A  event x from c  A on x }}\n"
        "machine W { initial state A  event go from environment  A on go do send c.x }\nsystem S { r: R  w: W }"
    )


def counters(count: int, extra: str = "") -> str:
    """More states than can be explored."""
    return (
        "machine M { n: 0..9  initial state A  event go, back from environment\n"
        "A on go when n < 9 do n = n + 1\nA on back when n > 0 do n = n - 1 }\n"
        f"system S {{ ms: M[{count}] {extra} }}"
    )


PROPERTIES = " ".join(f"property p{n}: always eventually ms[{n}].n == 0" for n in range(2))
MEMBERS = f"enum E {{ {' | '.join(f'e{n}' for n in range(10_000))} }}\n{ONE}"
COMMENT = "/* " * 270_000 + "\n" + ONE
FAR = ring(10_000).replace("m: M }", "m: M  invariant near: m not in S9999 }")
MACHINES = (
    "\n".join(ONE.replace("M", f"M{n}", 1) for n in range(1500))
    + f"\nsystem S {{ {'  '.join(f'm{n}: M{n}' for n in range(1500))} }}"
)


@dataclass(frozen=True, slots=True)
class Row:
    """A command, the spec that it is given, and the limits."""

    name: str
    spec: str | Path
    seconds: float | None
    memory: float | None = None
    """In GB."""
    command: tuple[str, ...] = ("verify",)


BINDERS = f"{ONE} system S {{ ms: M[300]  invariant all a in ms, b in ms, c in ms: a.n + b.n + c.n <= 3 }}"
HIVED = ROOT / "benchmarks" / "hived_lite.fsm"
SEARCHED = ("--set", "groups=6", "--set", "cells=7")
ROWS = [
    Row("22 derived values", lets(22), 1),
    Row("M[3000]", f"{ONE} system S {{ ms: M[3000] }}", 5),
    Row("three binders over M[300]", BINDERS, 5),
    Row("a machine of 10,000 states", ring(10_000), 5),
    Row("a run of 10,000 steps", FAR, 8),
    *(Row(f"30,000 transitions, {s} s", f"{made_up(30_000)}\nsystem S {{ r: Ring }}", s) for s in (5, 12)),
    Row("1,500 machines", MACHINES, 5),
    Row("fifo[10000000]", channel("fifo[10000000]"), 3, 0.5),
    Row("bag[999999999]", channel("bag[999999999]"), 5, 1),
    Row("functions, generate", functions(20), None, None, ("generate", "--out", "generated")),
    Row("10,000 members, check", MEMBERS, 1, None, ("check",)),
    Row("nested comments, check", COMMENT, 1, None, ("check",)),
    Row("100,000 transitions, check", made_up(100_000), 1, None, ("check",)),
    Row("100,000 transitions, verify", made_up(100_000), 1),
    Row("specs, check", ROOT / "specs", 0.1, None, ("check",)),
    *(Row(f"10^12 states, {s} s", counters(12), s) for s in (0.1, 0.3, 0.6, 1, 2, 5)),
    Row("10^12 states, memory", counters(12), None, 0.5),
    Row("10^12 states, one worker", counters(12), 2, None, ("verify", "--workers", "1")),
    *(Row(f"hived_lite, {s} s", HIVED, s, None, ("verify", *SEARCHED)) for s in (1, 3, 8)),
    *(Row(f"properties of runs, {s} s", counters(5, PROPERTIES), s) for s in (1, 2, 4, 8)),
    Row("properties of runs, memory", counters(6, PROPERTIES), None, 0.5),
    *(
        Row(f"10^12 states, {command[0]}", counters(12), 1, None, command)
        for command in (("report", "--out", "page"), ("test",), ("check",))
    ),
    Row("22 derived values, report", lets(22), 1, None, ("report", "--out", "page")),
    Row("M[3000], report", f"{ONE} system S {{ ms: M[3000] }}", 1, None, ("report", "--out", "page")),
    Row("100,000 transitions, report", made_up(100_000), 1, None, ("report", "--out", "page")),
]


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a process."""

    seconds: float
    """Until its end, from its start, or from the signal."""
    memory: int
    code: int
    output: str
    errors: str


def run(arguments: list[str], folder: Path, most: float, interrupt: float | None = None) -> Ended:
    """Run `fsm`, for `most` seconds; `interrupt`: press Ctrl-C after this many seconds."""
    with TemporaryFile() as output, TemporaryFile() as errors:
        begun = perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "fsmdsl", *arguments],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        if interrupt is not None:
            sleep(interrupt)
            begun = perf_counter()
            os.kill(process.pid, signal.SIGINT)  # `send_signal` would take its end from `wait4`
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if perf_counter() - begun > most:
                os.killpg(process.pid, signal.SIGKILL)
            sleep(0.005)
        took, process.returncode = perf_counter() - begun, os.waitstatus_to_exitcode(status)
        for file in (output, errors):
            file.seek(0)
        text, wrong = (file.read().decode(errors="replace") for file in (output, errors))
    return Ended(took, usage.ru_maxrss * 1024, process.returncode, text, wrong)


def first_line(ended: Ended) -> str:
    """The first line of what was said, and whether a traceback was among it."""
    if "Traceback" in ended.errors or "internal error" in ended.errors:
        return "TRACEBACK " + ended.errors.strip().splitlines()[-1][:60]
    lines = [x for x in (ended.output or ended.errors).splitlines() if x.strip()]
    return lines[0][:70].strip() if lines else "nothing"


def limit(row: Row, folder: Path) -> str:
    """One row, as text."""
    path = row.spec
    if isinstance(path, str):
        path = folder / "spec.fsm"
        path.write_text(row.spec if row.spec.startswith("module") else f"module limited\n{row.spec}\n")
    limits = [] if row.seconds is None else ["--max-seconds", str(row.seconds)]
    limits += [] if row.memory is None else ["--max-memory", str(row.memory)]
    x = run([row.command[0], str(path), *row.command[1:], *limits], folder, (row.seconds or 0) + KILL_DELAY)
    limits_text = " ".join(f"{n:g} {unit}" for n, unit in ((row.seconds, "s"), (row.memory, "GB")) if n is not None)
    over = "" if row.seconds is None else f"{x.seconds - row.seconds:+.2f}"
    figures = f"{x.seconds:6.2f} s {over:>6} {x.memory / 1e9:5.2f} GB  {x.code:3}"
    return f"{row.name:31} {limits_text:11} {figures}  {first_line(x)}"


def interruption(at: float, name: str, text: str, folder: Path) -> str:
    """Ctrl-C at a moment."""
    path = folder / "spec.fsm"
    path.write_text(f"module limited\n{text}\n")
    x = run(["verify", str(path)], folder, KILL_DELAY, at)
    return f"{name:31} at {at:6.3f} s {x.seconds:6.2f} s {'':6} {x.memory / 1e9:5.2f} GB  {x.code:3}  {first_line(x)}"


@contextmanager
def busy() -> Iterator[None]:
    """Processes that count, one for each processor."""
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


def main() -> None:
    """Run the rows that are asked for, and print them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--interrupts", type=int, default=12)
    parser.add_argument("--busy", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell runs in the background ignores it
    rows = [x for x in ROWS if any(y in x.name for y in options.only.split(","))]
    print(f"load {os.getloadavg()[0]:.2f} on {os.cpu_count()} processors")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        if options.busy:
            stack.enter_context(busy())
        for row in rows:
            print(limit(row, folder), flush=True)
        dice = random.Random(1)
        texts = {"10^12 states": counters(12), "22 derived values": lets(22), "properties": counters(5, PROPERTIES)}
        for n in range(options.interrupts):
            name = list(texts)[n % len(texts)]
            at = dice.uniform(0, 3 if n % 2 else 0.6)
            print(interruption(at, f"Ctrl-C, {name}", texts[name], folder), flush=True)


if __name__ == "__main__":
    main()
