"""A system for SPIN. Promela chooses among steps; what a step does is C inside it, as Promela has no functions.

The state vector is a world and nothing else, so that states are counted alike. A state's choices are numbered; one that
fails is an error at that state and leads nowhere.
"""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.export.c_scope import SUBSETS, CScope
from fsmdsl.export.c_system import c_text
from fsmdsl.export.questions import questions

CHOICES = 128
"""So many choices of one state are written, unless more are asked for."""

LONGEST = 40_000
"""SPIN reads no longer pieces of C than 64 KiB."""

HEAD = """\
/* {system}, from {place}
   spin -a FILE && cc -O2 -w -DSAFETY -DNOREDUCE -DBFS -DVECTORSZ={vector} -o pan pan.c && ./pan
   Without -c0 the search ends with the first error. Each error is reported once. */

c_decl {{
\\#include <setjmp.h>
\\#include <stdint.h>
\\#include <stdio.h>
\\#include <stdlib.h>
\\#include <string.h>
typedef int64_t V;
\\#define NOTHING INT64_MIN
\\#define PACKED __attribute__((packed))
enum {{ CHOICES = {choices}, ITEMS = 64, SUBSETS = {subsets} }};
{world}
}}

c_state "World w" "Global" "first_world()"

c_code {{
extern void (*uerror)(char *);
}}
"""


def promela(model: m.Model, system: m.System, choices: int = CHOICES) -> str:
    """The text of a model. Raises `RefusedError`, `TooManyValuesError`, `TooLargeNumberError`."""
    scope = CScope.of(model, system)
    text = c_text(scope, questions(scope.universe))
    size = 4096
    head = HEAD.format(
        system=f"system {system.qualified}", place=system.span, vector=size, choices=choices, subsets=SUBSETS,
        world=text.declarations,
    )  # fmt: skip
    code = "\n".join(f"c_code {{\n{part}\n}}\n" for part in _pieces(text.parts))
    loop = "\n".join(f"    :: d_step {{ c_expr {{ (possible({k})) }} -> c_code {{ take({k}); }} }}" for k in range(choices))
    return f"{head}\n{code}\nactive proctype steps()\n{{\nend:\n    do\n{loop}\n    od\n}}\n"


def _pieces(parts: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for part in parts:
        if found and len(found[-1]) + len(part) < LONGEST:
            found[-1] += f"\n\n{part}"
        else:
            found.append(part)
    return found
