"""Compiles functions to machine code, in a process of its own: `python -m fsmdsl.explore.packed.compile`.

Reads a job as JSON from standard input: source texts, the numbers that stand in them, and the functions wanted with
their types. Writes one file: the object code of each. Numba is needed here alone; whoever runs the code needs llvmlite.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Any

INLINED = frozenset(
    {"copy", "ones", "lowest", "first_subset", "next_subset", "arrive", "settle", "pack", "hashed", "owner_of"}
)
"""Small functions that are called for every step."""


NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Nobody calls them from Python."""


def main() -> None:
    """Compile one job."""
    job = json.load(sys.stdin)
    namespace: dict[str, Any] = {"__name__": "system"}
    for text in job["texts"]:
        code: CodeType = compile(text, "system", "exec", dont_inherit=True)
        exec(code, namespace)
    namespace.update(job["numbers"])
    made = compiled(namespace, job["wanted"])
    target = job["target"]
    with open(f"{target}.{os.getpid()}", "wb") as file:
        file.write(b"".join(_record(*x) for x in made))
    os.replace(f"{target}.{os.getpid()}", target)


def compiled(namespace: dict[str, Any], wanted: Mapping[str, str]) -> list[tuple[str, str, bytes]]:
    """For each function wanted: its name, the symbol under which it is found, and the object code."""
    from numba import cfunc, njit, types

    bare: Any = njit

    pointer: Any = types.CPointer
    known = {"i": types.int64, "q": pointer(types.int64), "u": pointer(types.uint32)}
    for name, function in list(namespace.items()):
        if isinstance(function, FunctionType) and name not in wanted:
            inlined = name in INLINED
            namespace[name] = bare(error_model="numpy", forceinline=inlined, **NO_WRAPPERS)(function)
    made = []
    for name, signature in wanted.items():
        types_of = [known[x] for x in signature]
        made_one: Any = cfunc(types.int64(*types_of), error_model="numpy")(namespace[name])
        _, _, (code, _) = made_one._library.serialize_using_object_code()
        made.append((name, made_one._wrapper_name, code))
    return made


def _record(name: str, symbol: str, code: bytes) -> bytes:
    head = json.dumps({"name": name, "symbol": symbol, "size": len(code)}).encode()
    return len(head).to_bytes(8, "little") + head + code


if __name__ == "__main__":
    main()
