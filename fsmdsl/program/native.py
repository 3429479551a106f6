"""Programs as machine code: compiled by another process, or here in a hurry; kept in a cache; loaded.

A job is what is compiled into one object: functions, and which of them are wanted. Objects that were compiled well take
long to make and run fast; in a hurry it is the other way round.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from fsmdsl.dataclasses import dataclass
from fsmdsl.program import cache as objects
from fsmdsl.program import llvm
from fsmdsl.program.compile import HURRY, compiled
from fsmdsl.program.llvm import Listing
from fsmdsl.program.nodes import Type
from fsmdsl.program.queries import bound
from fsmdsl.program.source import functions_in

COMPILER = (sys.executable, "-P", str(Path(__file__).parent / "compile.py"))
"""The command that compiles."""

LONG = 1 << 21
"""So many characters take a quarter of a second to compile in a hurry, and more on a busy computer."""

MISSING = "compiled search needs the extra `fast`: pip install 'fsmdsl[fast]'"


def missing() -> str | None:
    """Why there is no compiled search here, if there is none."""
    return None if find_spec("llvmlite") is not None else MISSING


@dataclass(frozen=True, slots=True)
class Job:
    """What is compiled into one object."""

    listings: tuple[Listing, ...]
    wanted: tuple[str, ...]

    def name(self, *, hasty: bool = False) -> str:
        """What the object is called in the cache."""
        import json
        from hashlib import sha256

        made_from = [[(x.text, x.width) for x in self.listings], self.wanted, *_machine()]
        return f"{sha256(json.dumps(made_from).encode()).hexdigest()}{'.hasty' * hasty}.obj"

    def program(self) -> str:
        """All of it in LLVM's language. Raises KeyError where a function is missing."""
        return llvm.module(self.listings, self.wanted)

    def signatures(self) -> Signatures:
        """The types of the parameters of each function wanted."""
        known = {x.function.name: x.function for x in self.listings}
        return {name: tuple(p.type for p in known[name].parameters) for name in self.wanted}


@cache
def listings(path: Path, **constants: int) -> tuple[Listing, ...]:
    """The functions of a file of kernels, with numbers put in for the names in capitals."""
    return tuple(llvm.listing(bound(f, constants)) for f in functions_in(path))


@cache
def _machine() -> tuple[str, ...]:
    """What compiled code depends on beside its text."""
    import llvmlite

    here = Path(__file__).parent
    made_by = (
        (here / name).read_text(encoding="utf-8")
        for name in ("llvm.py", "llvm_function.py", "llvm_types.py", "compile.py")
    )
    return (llvmlite.__version__, *_processor(), *made_by)


def _processor() -> tuple[str, ...]:
    """What the processor can do, as far as the system tells without asking a compiler."""
    kinds = ("model name", "flags", "Features", "CPU part")
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read().split("\n\n", 1)[0]
            return tuple(line for line in first.splitlines() if line.startswith(kinds))
    except OSError:
        import platform

        return platform.machine(), platform.processor()


# Compiling -----------------------------------------------------------------------------------------------------------


def compiled_here(job: Job, *, kept: bool, hurry: bool = True) -> dict[str, Callable[..., int]]:
    """The functions wanted, from the cache or compiled now; `kept`: in the cache, too. Here, unless that takes long.
    Raises `ImportError`, `OSError`, `RuntimeError`, `KeyError`."""
    for name in (job.name(), *([job.name(hasty=True)] if hurry else [])):
        known = objects.read(name)
        if known is not None:
            return loaded(known, job.signatures())
    text = job.program()
    code = compiled(text, hurry=hurry) if hurry and len(text) < LONG else _elsewhere(text, hurry)
    if kept:
        objects.store(job.name(hasty=hurry), code)
    return loaded(code, job.signatures())


def _elsewhere(text: str, hurry: bool) -> bytes:
    """The same by another process, which a limit ends: no signal is handled during a call into a compiler."""
    import subprocess

    done = subprocess.run(
        [*COMPILER, *([HURRY] if hurry else [])], input=text.encode(), capture_output=True, check=False
    )
    if done.returncode or not done.stdout:
        raise RuntimeError(done.stderr.decode(errors="replace").strip().rpartition("\n")[2])
    return done.stdout


def at_hand() -> bool:
    """Is the compiler loaded?"""
    return "llvmlite.binding" in sys.modules


class Compiler:
    """A process that makes one object, in a temporary folder of its own."""

    def __init__(self, job: Job) -> None:
        import subprocess
        import tempfile

        self.job = job
        self._folder = tempfile.TemporaryDirectory(prefix="fsm-")
        text, self._made, self._errors = (Path(self._folder.name, x) for x in ("text", "object", "errors"))
        text.write_text(job.program(), "utf-8")
        with open(text, "rb") as given, open(self._made, "wb") as made, open(self._errors, "wb") as errors:
            self.process = subprocess.Popen(COMPILER, stdin=given, stdout=made, stderr=errors)

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

Signatures: TypeAlias = Mapping[str, Sequence[Type]]


def loaded(code: bytes, wanted: Signatures) -> dict[str, Callable[..., int]]:
    """The functions of an object, by name, with the types of their parameters. Raises `ImportError`."""
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _target_machine(binding))
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    found: dict[str, Callable[..., int]] = {}
    for name, types in wanted.items():
        given = (ctypes.c_int64 if x == "number" else ctypes.c_void_p for x in types)
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *given)
        function = prototype(engine.get_function_address(name))
        function.engine = engine  # type: ignore[attr-defined]
        found[name] = function
    return found


def _target_machine(binding: Any) -> Any:
    return binding.Target.from_default_triple().create_target_machine()
