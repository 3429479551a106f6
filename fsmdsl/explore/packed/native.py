"""Machine code for a system: compiled in a hurry, at once; or well, from a cache or meanwhile by other processes.

An object's name in the cache is the hash of all that it was made from, the processor included. What was compiled in a
hurry is there until it is compiled well.
"""

from __future__ import annotations

import ctypes
import json
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from fsmdsl.explore.packed import cache as objects
from fsmdsl.explore.packed.lower import Lowered

Function = Callable[..., int]

OF_SYSTEM = {"expand_block": "qiiquqiqq", "note_block": "qiiqq", "hold_block": "qiiqqi"}
"""Types of the arguments: i a number, q an array of 64-bit numbers, u one of 32-bit numbers without sign."""

OF_ALL = {
    "insert_block": "quqiquuiii",
    "claim_block": "qquqiiiquiiiqq",
    "drop_repeated": "quqiqi",
    "share_block": "qiiiiuq",
    "keep_block": "quiiqquuii",
    "fill_table": "qiuiiii",
    "find_block": "qqiquiiiqi",
    "hash_block": "qiq",
    "link_block": "quiqqi",
}

OF_RANKS = {
    "address_block": "qquiuiqiiqqq",
    "admit_block": "qiqiiuiiqq",
    "sort_keys": "qqiqqq",
    "share_keys": "qiiiq",
    "number_keys": "qiiq",
    "arrange_block": "qqiqiiquuuqiq",
    "choose_block": "quuiiiiiqi",
    "take_keys": "qiq",
    "place_block": "qqiquui",
}

MISSING = "compiled search needs the extra `fast`: pip install 'fsmdsl[fast]'"


def missing() -> str | None:
    """Why there is no compiled search here, if there is none."""
    return None if find_spec("llvmlite") is not None else MISSING


@dataclass(frozen=True, slots=True)
class Job:
    """What is compiled into one object."""

    texts: tuple[str, ...]
    numbers: Mapping[str, int]
    wanted: Mapping[str, str]

    def name(self, *, hasty: bool = False) -> str:
        """What the object is called in the cache."""
        made_from = [list(self.texts), dict(self.numbers), dict(self.wanted), *_machine()]
        return f"{sha256(json.dumps(made_from).encode()).hexdigest()}{'.hasty' * hasty}.obj"


def jobs(lowered: Lowered, ranks: bool = False) -> tuple[Job, ...]:
    """One for the system, and one that all systems of so many words share; one more for a search over ranks."""
    board = lowered.board
    words = {"WORDS": lowered.layout.words, "STRIDE": lowered.stride}
    places = {
        "CURRENT": board.current, "FIRED": board.fired, "LED": board.led, "DEAD": board.dead, "FAULTS": board.faults,
        "NEXT": lowered.size,
    }  # fmt: skip
    system, everyone = _kernels()
    made = [Job((lowered.text, system), {**words, **places}, OF_SYSTEM), Job((everyone,), words, OF_ALL)]
    if ranks:
        made.append(Job((everyone, _parts("ranked.py")[-1]), words, OF_RANKS))
    return tuple(made)


@cache
def _kernels() -> tuple[str, str]:
    """The text of `kernels`, without types: the part that knows a system's functions, and the part that does not."""
    _, both, system, everyone = _parts("kernels.py")
    return both + system, both + everyone


def _parts(name: str) -> list[str]:
    """The parts of a text of functions, without types."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    plain = re.sub(r": (?:Array|int)\b|\s*-> int", "", text)
    return re.split(r"^# of .*-+$", plain, flags=re.MULTILINE)


@cache
def _machine() -> tuple[str, ...]:
    """What compiled code depends on beside its text."""
    import llvmlite

    here = Path(__file__).parent
    made_by = ((here / name).read_text(encoding="utf-8") for name in ("translate.py", "function.py", "compile.py"))
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
    """Objects under way. They are made by other processes, one each, while this one goes on."""

    def __init__(self, lowered: Lowered, ranks: bool = False) -> None:
        self.failed: str | None = None
        self._running: list[_Compiler] = []
        self._code: dict[str, bytes] = {}
        """What is done, by name."""
        try:
            self._jobs = jobs(lowered, ranks)
            for job in self._jobs:
                code = objects.read(job.name())
                if code is None:
                    self._running.append(_Compiler(job))
                else:
                    self._code[job.name()] = code
        except (ImportError, OSError, TypeError) as error:
            self.failed = f"{type(error).__name__}: {error}"

    def done(self, wait: bool = False) -> bool:
        """Are all objects there, or has one failed?"""
        for compiler in list(self._running):
            if wait:
                compiler.process.wait()
            if compiler.process.poll() is None:
                return False
            self._running.remove(compiler)
            code, problem = compiler.result()
            if code is None:
                self.failed = self.failed or problem
            else:
                self._code[compiler.job.name()] = code
        return True

    def functions(self) -> dict[str, Function]:
        """The functions, by name. The objects must be there."""
        found: dict[str, Function] = {}
        for job in self._jobs:
            found |= _loaded(self._code[job.name()], job.wanted)
        return found

    def stop(self) -> None:
        """Nobody waits for it any more."""
        for compiler in self._running:
            compiler.stop()
        self._running.clear()


def cached(lowered: Lowered) -> Literal["well", "hastily"] | None:
    """How the system was compiled before, if it was."""
    try:
        made = () if missing() else jobs(lowered)
    except (ImportError, OSError):
        return None
    if not made:
        return None
    if all(objects.read(job.name()) is not None for job in made):
        return "well"
    return "hastily" if objects.read(made[0].name(hasty=True)) is not None else None


def hastily(lowered: Lowered, *, kept: bool) -> dict[str, Function]:
    """The functions, compiled in a hurry, here and now: in some hundredths of a second, less where a similar system was
    compiled before. `kept`: in the cache, too. Raises `ImportError`, `OSError`, `RuntimeError`, `TypeError`."""
    system, everyone = jobs(lowered)
    return {**_of_everyone(*everyone.numbers.values(), kept=kept), **_hastily(system, kept=kept)}


@cache
def _of_everyone(words: int, stride: int, *, kept: bool) -> dict[str, Function]:
    return _hastily(Job((_kernels()[1],), {"WORDS": words, "STRIDE": stride}, OF_ALL), kept=kept)


def _hastily(job: Job, *, kept: bool) -> dict[str, Function]:
    from fsmdsl.explore.packed import compile as compiler
    from fsmdsl.explore.packed.translate import translated

    for name in (job.name(), job.name(hasty=True)):
        known = objects.read(name)
        if known is not None:
            return _loaded(known, job.wanted)
    code = compiler.compiled(translated(job.texts, job.numbers, job.wanted), hurry=True)
    if kept:
        objects.store(job.name(hasty=True), code)
    return _loaded(code, job.wanted)


def at_hand() -> bool:
    """Is the compiler loaded?"""
    return "llvmlite.binding" in sys.modules


class _Compiler:
    """A process that makes one object, in a temporary folder of its own."""

    def __init__(self, job: Job) -> None:
        from fsmdsl.explore.packed.translate import translated

        self.job = job
        self._folder = tempfile.TemporaryDirectory(prefix="fsm-")
        text, self._made, self._errors = (Path(self._folder.name, x) for x in ("text", "object", "errors"))
        text.write_text(translated(job.texts, job.numbers, job.wanted), "utf-8")
        with open(text, "rb") as given, open(self._made, "wb") as made, open(self._errors, "wb") as errors:
            command = [sys.executable, "-P", str(Path(__file__).parent / "compile.py")]
            self.process = subprocess.Popen(command, stdin=given, stdout=made, stderr=errors)

    def result(self) -> tuple[bytes | None, str]:
        """The object, which goes to the cache; or why there is none. Once, when the process has ended."""
        code = self._made.read_bytes() if self.process.returncode == 0 else b""
        told = self._errors.read_text("utf-8", "replace").strip().splitlines()
        self._folder.cleanup()
        if not code:
            return None, told[-1] if told else f"the compiler ended with exit code {self.process.returncode}"
        objects.store(self.job.name(), code)
        objects.remove(self.job.name(hasty=True))
        return code, ""

    def stop(self) -> None:
        """Nobody waits for it any more."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._folder.cleanup()


# Loading -------------------------------------------------------------------------------------------------------------

_CTYPES: Mapping[str, Any] = {"i": ctypes.c_int64, "q": ctypes.c_void_p, "u": ctypes.c_void_p}


def _loaded(code: bytes, wanted: Mapping[str, str]) -> dict[str, Function]:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(llvm))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    found: dict[str, Function] = {}
    for name, kinds in wanted.items():
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *(_CTYPES[x] for x in kinds))
        function = prototype(engine.get_function_address(name))
        function.engine = engine  # type: ignore[attr-defined]
        found[name] = function
    return found


def _target_machine(llvm: Any) -> Any:
    return llvm.Target.from_default_triple().create_target_machine()
