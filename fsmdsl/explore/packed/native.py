"""Machine code for a system: compiled in a hurry, at once; or well, from a cache or meanwhile by other processes.

The cache lies in `$FSMDSL_CACHE`, else in `$XDG_CACHE_HOME/fsmdsl` or `~/.cache/fsmdsl`; an object's name is the hash
of all that it was made from, the processor included. What was compiled in a hurry is there until it is compiled well.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from fsmdsl.explore.packed.lower import Lowered
from fsmdsl.explore.program import llvm
from fsmdsl.explore.program.llvm import Listing
from fsmdsl.explore.program.nodes import Type
from fsmdsl.explore.program.source import functions_in

Function = Callable[..., int]

OF_SYSTEM = ("expand_block", "note_block", "hold_block")
"""Kernels that know a system's functions."""

OF_ALL = (
    "insert_block", "claim_block", "drop_repeated", "share_block", "keep_block", "fill_table", "find_block",
    "hash_block", "link_block",
)  # fmt: skip
"""Kernels that all systems of so many words share."""

OF_RANKS = (
    "address_block", "admit_block", "sort_keys", "share_keys", "number_keys", "arrange_block", "choose_block",
    "take_keys", "place_block",
)  # fmt: skip
"""Kernels of a search over several ranks."""

MISSING = "compiled search needs the extra `fast`: pip install 'fsmdsl[fast]'"


def missing() -> str | None:
    """Why there is no compiled search here, if there is none."""
    return None if find_spec("llvmlite") is not None else MISSING


@dataclass(frozen=True, slots=True)
class Job:
    """What is compiled into one object."""

    listings: tuple[Listing, ...]
    constants: Mapping[str, int]
    wanted: tuple[str, ...]

    def target(self, within: Path) -> Path:
        """Where the object lies in a cache."""
        made_from = [[x.text for x in self.listings], dict(self.constants), self.wanted, *_machine()]
        return within / f"{sha256(json.dumps(made_from).encode()).hexdigest()}.obj"

    def program(self) -> str:
        """All of it in LLVM's language. Raises KeyError where a function is missing."""
        return llvm.module(self.listings, self.constants, self.wanted)

    def signatures(self) -> dict[str, tuple[Type, ...]]:
        """The types of the parameters of each function wanted."""
        known = {x.function.name: x.function for x in self.listings}
        return {name: tuple(p.type for p in known[name].parameters) for name in self.wanted}


def jobs(lowered: Lowered, ranks: bool = False) -> tuple[Job, ...]:
    """One for the system, and one that all systems of so many words share; one more for a search over ranks."""
    board = lowered.board
    words = {"WORDS": lowered.layout.words, "STRIDE": lowered.stride}
    places = {
        "CURRENT": board.current, "FIRED": board.fired, "LED": board.led, "DEAD": board.dead, "FAULTS": board.faults,
        "NEXT": lowered.size,
    }  # fmt: skip
    kernels = _listings("kernels.py")
    made = [Job((*lowered.listings, *kernels), {**words, **places}, OF_SYSTEM), Job(kernels, words, OF_ALL)]
    if ranks:
        made.append(Job((*kernels, *_listings("ranked.py")), words, OF_RANKS))
    return tuple(made)


@cache
def _listings(name: str) -> tuple[Listing, ...]:
    """The functions of a file of kernels."""
    return tuple(llvm.listing(f) for f in functions_in(Path(__file__).parent / name))


def folder() -> Path:
    """The cache's folder."""
    if given := os.environ.get("FSMDSL_CACHE"):
        return Path(given)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fsmdsl"
    except RuntimeError:  # nobody's home
        return Path(tempfile.gettempdir()) / f"fsmdsl-{os.getpid()}"


def _usable(cache: Path) -> bool:
    """Can objects be put into a folder? It is made if need be."""
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            return True
    except OSError:
        return False


def sound(path: Path) -> bool:
    """Is there an object, as it was written?"""
    try:
        data = path.read_bytes()
    except OSError:
        return False
    return sha256(data[:-32]).digest() == data[-32:]


@cache
def _machine() -> tuple[str, ...]:
    """What compiled code depends on beside its text."""
    import llvmlite

    here = Path(__file__).parent
    made_by = (path.read_text(encoding="utf-8") for path in (Path(llvm.__file__), here / "compile.py"))
    return (llvmlite.__version__, *_processor(), *made_by)


def _processor() -> tuple[str, ...]:
    """What the processor can do, as far as the system tells without asking a compiler."""
    kinds = ("model name", "flags", "Features", "CPU part")
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read().split("\n\n", 1)[0]
            return tuple(line for line in first.splitlines() if line.startswith(kinds))
    except OSError:
        return platform.machine(), platform.processor()


# Compiling -----------------------------------------------------------------------------------------------------------


class Compilation:
    """Objects under way. They are made by other processes, one each, while this one goes on; in a folder of their own
    where the cache cannot be used."""

    def __init__(self, lowered: Lowered, ranks: bool = False) -> None:
        self.failed: str | None = None
        self._running: list[_Compiler] = []
        self._own: tempfile.TemporaryDirectory[str] | None = None
        try:
            self._jobs = jobs(lowered, ranks)
            if not _usable(folder()):
                self._own = tempfile.TemporaryDirectory()
            self._folder = folder() if self._own is None else Path(self._own.name)
            for job in self._jobs:
                if not sound(job.target(self._folder)):
                    self._running.append(_Compiler(job, self._folder))
        except (ImportError, OSError, TypeError) as error:
            self.failed = f"{type(error).__name__}: {error}"

    def done(self, wait: bool = False) -> bool:
        """Are all objects there, or has one failed?"""
        for compiler in self._running:
            if wait:
                compiler.process.wait()
            if compiler.process.poll() is None:
                return False
            self.failed = self.failed or compiler.failed()
        return True

    def functions(self) -> dict[str, Function]:
        """The functions, by name. The objects must be there."""
        found: dict[str, Function] = {}
        for job in self._jobs:
            found |= _load(job.target(self._folder), job.signatures())
        return found

    def stop(self) -> None:
        """Nobody waits for it any more."""
        for compiler in self._running:
            compiler.stop()
        if self._own is not None:
            self._own.cleanup()


def cached(lowered: Lowered) -> Literal["well", "hastily"] | None:
    """How the system was compiled before, if it was."""
    try:
        targets = [] if missing() else [job.target(folder()) for job in jobs(lowered)]
    except (ImportError, OSError):
        return None
    if not targets:
        return None
    if all(map(sound, targets)):
        return "well"
    return "hastily" if sound(_in_a_hurry(targets[0])) else None


def hastily(lowered: Lowered, *, kept: bool) -> dict[str, Function]:
    """The functions, compiled in a hurry, here and now: in some hundredths of a second, less where a similar system was
    compiled before. `kept`: in the cache, too. Raises `ImportError`, `OSError`, `RuntimeError`, `TypeError`."""
    system, everyone = jobs(lowered)
    return {**_of_everyone(*everyone.constants.values(), kept=kept), **_hastily(system, kept=kept)}


@cache
def _of_everyone(words: int, stride: int, *, kept: bool) -> dict[str, Function]:
    return _hastily(Job(_listings("kernels.py"), {"WORDS": words, "STRIDE": stride}, OF_ALL), kept=kept)


def _hastily(job: Job, *, kept: bool) -> dict[str, Function]:
    from fsmdsl.explore.packed import compile as compiler

    well = job.target(folder())
    for path in (well, _in_a_hurry(well)):
        if sound(path):
            return _load(path, job.signatures())
    code = compiler.compiled(job.program(), hurry=True)
    if kept and _usable(folder()):
        with suppress(OSError):  # it is there, and only the next time takes longer
            compiler.keep(code, str(_in_a_hurry(well)))
    return _loaded(code, job.signatures())


def _in_a_hurry(target: Path) -> Path:
    """Where the object lies that was compiled in a hurry."""
    return target.with_suffix(".hasty.obj")


def at_hand() -> bool:
    """Is the compiler loaded?"""
    return "llvmlite.binding" in sys.modules


class _Compiler:
    """A process that makes one object."""

    def __init__(self, job: Job, cache: Path) -> None:
        self.target = job.target(cache)
        text = json.dumps({"text": job.program(), "target": str(self.target)})
        self._asked, self._told = (self.target.with_suffix(f".{os.getpid()}.{x}") for x in ("job", "told"))
        self._asked.write_text(text, "utf-8")
        with open(self._asked, "rb") as asked, open(self._told, "wb") as told:
            self.process = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).parent / "compile.py")],
                stdin=asked,
                stdout=subprocess.DEVNULL,
                stderr=told,
            )

    def failed(self) -> str | None:
        """Why there is no object, if there is none."""
        if self.process.returncode == 0 and sound(self.target):
            _in_a_hurry(self.target).unlink(missing_ok=True)
            self._tidy()
            return None
        told = self._told.read_text("utf-8", "replace").strip().splitlines()
        return told[-1] if told else f"the compiler ended with exit code {self.process.returncode}"

    def stop(self) -> None:
        """Nobody waits for it any more."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._tidy()

    def _tidy(self) -> None:
        for path in (self._asked, self._told):
            path.unlink(missing_ok=True)


# Loading -------------------------------------------------------------------------------------------------------------

Signatures: TypeAlias = Mapping[str, Sequence[Type]]


def _load(path: Path, wanted: Signatures) -> dict[str, Function]:
    return _loaded(path.read_bytes(), wanted)


def _loaded(code: bytes, wanted: Signatures) -> dict[str, Function]:
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _target_machine(binding))
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    found: dict[str, Function] = {}
    for name, types in wanted.items():
        given = (ctypes.c_int64 if x == "number" else ctypes.c_void_p for x in types)
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *given)
        function = prototype(engine.get_function_address(name))
        function.engine = engine  # type: ignore[attr-defined]
        found[name] = function
    return found


def _target_machine(binding: Any) -> Any:
    return binding.Target.from_default_triple().create_target_machine()
