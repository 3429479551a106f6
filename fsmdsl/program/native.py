"""Programs as machine code: compiled by another process, or in this one without optimization; cached; loaded.

A job is what is compiled into one object: a set of functions and the names of its entry points. Optimized
objects take long to compile and run fast. Unoptimized (`hasty`) objects are the opposite.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
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

MAX_IN_PROCESS = 1 << 21
"""Maximum length of a program that this process compiles, in characters: about 0.25 s without optimization."""

MISSING = "compiled search needs the extra `fast`: pip install 'fsmdsl[fast]'"


def missing() -> str | None:
    """Why there is no compiled search here, if there is none."""
    return None if find_spec("llvmlite") is not None else MISSING


@dataclass(frozen=True, eq=False)
class Job:
    """What is compiled into one object. Jobs are not compared by what is in them, which would take long."""

    listings: tuple[Listing, ...]
    entry_points: tuple[str, ...]

    def name(self, *, hasty: bool = False) -> str:
        """What the object is called in the cache."""
        return f"{self._digest}{'.hasty' * hasty}.obj"

    @cached_property
    def _digest(self) -> str:
        return _digest([[(x.text, x.width) for x in self.listings], self.entry_points, _machine()])

    def program(self) -> str:
        """All of it in LLVM's language. Raises KeyError where a function is missing."""
        return llvm.module(self.listings, self.entry_points)

    def signatures(self) -> Signatures:
        """The types of the parameters of each entry point."""
        functions = {x.function.name: x.function for x in self.listings}
        return {name: tuple(p.type for p in functions[name].parameters) for name in self.entry_points}


@cache
def listings(path: Path, **constants: int) -> tuple[Listing, ...]:
    """The functions of a file of kernels, with numbers put in for the names in capitals."""
    return tuple(llvm.listing(bound(f, constants)) for f in functions_in(path))


def _digest(inputs: object) -> str:
    import json
    from hashlib import sha256

    return sha256(json.dumps(inputs).encode()).hexdigest()


@cache
def _machine() -> str:
    """What compiled code depends on beside its text, as a digest."""
    import llvmlite

    here = Path(__file__).parent
    made_by = (
        (here / name).read_text(encoding="utf-8")
        for name in ("llvm.py", "llvm_function.py", "llvm_types.py", "compile.py")
    )
    return _digest([llvmlite.__version__, *_processor(), *made_by])


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


def compiled_here(job: Job, *, store: bool, hurry: bool = True) -> dict[str, Callable[..., int]]:
    """The entry points, from the cache or compiled now. `store` also puts the object into the cache. A long program is
    compiled by another process.
    Raises `ImportError`, `OSError`, `RuntimeError`, `KeyError`."""
    for name in (job.name(), *([job.name(hasty=True)] if hurry else [])):
        cached = objects.read(name)
        if cached is not None:
            return loaded(cached, job.signatures())
    text = job.program()
    code = compiled(text, hurry=hurry) if hurry and len(text) < MAX_IN_PROCESS else _elsewhere(text, hurry)
    if store:
        objects.store(job.name(hasty=hurry), code)
    return loaded(code, job.signatures())


def _elsewhere(text: str, hurry: bool) -> bytes:
    """The same by another process, which a limit ends: no signal is handled during a call into a compiler."""
    import subprocess

    process = subprocess.run(
        [*COMPILER, *([HURRY] if hurry else [])], input=text.encode(), capture_output=True, check=False
    )
    if process.returncode or not process.stdout:
        raise RuntimeError(process.stderr.decode(errors="replace").strip().rpartition("\n")[2])
    return process.stdout


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
        text, self._object, self._errors = (Path(self._folder.name, x) for x in ("text", "object", "errors"))
        text.write_text(job.program(), "utf-8")
        with open(text, "rb") as source, open(self._object, "wb") as object_file, open(self._errors, "wb") as errors:
            self.process = subprocess.Popen(COMPILER, stdin=source, stdout=object_file, stderr=errors)

    def result(self) -> tuple[bytes | None, str]:
        """The object, which goes to the cache; or why there is none. Once, when the process has ended."""
        code = self._object.read_bytes() if self.process.returncode == 0 else b""
        messages = self._errors.read_text("utf-8", "replace").strip().splitlines()
        self._folder.cleanup()
        if not code:
            return None, messages[-1] if messages else f"the compiler ended with exit code {self.process.returncode}"
        objects.store(self.job.name(), code)
        objects.remove(self.job.name(hasty=True))
        return code, ""

    def stop(self) -> None:
        """End the process: its object is no longer needed."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._folder.cleanup()


# Loading -------------------------------------------------------------------------------------------------------------

Signatures: TypeAlias = Mapping[str, Sequence[Type]]


def loaded(code: bytes, signatures: Signatures) -> dict[str, Callable[..., int]]:
    """The functions of an object, by name, with the types of their parameters. Raises `ImportError`."""
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _target_machine(binding))
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    functions: dict[str, Callable[..., int]] = {}
    for name, types in signatures.items():
        arguments = (ctypes.c_int64 if x == "number" else ctypes.c_void_p for x in types)
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)
        function = prototype(engine.get_function_address(name))
        function.engine = engine  # type: ignore[attr-defined]  # which owns the code, and must live as long
        functions[name] = function
    return functions


def _target_machine(binding: Any) -> Any:
    return binding.Target.from_default_triple().create_target_machine()
