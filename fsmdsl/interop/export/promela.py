"""A system for SPIN. Promela chooses among steps; what a step does is C inside it, as Promela has no functions.

The state vector is a world and nothing else, so that states are counted alike. A state's choices are numbered; one that
fails is an error at that state and leads nowhere.
"""

from __future__ import annotations

from typing import Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.interop.export.c_scope import SUBSETS, CScope
from fsmdsl.interop.export.c_system import c_text
from fsmdsl.interop.export.c_world import vector_size
from fsmdsl.interop.export.escape import c_comment
from fsmdsl.interop.export.questions import Question, questions
from fsmdsl.interop.export.runs import Claim, Claims, claims
from fsmdsl.text.source import Span

CHOICES = 128
"""Default maximum number of steps from one state."""

BEGUN = "c_expr { (now.w.begun) }"
"""Has one of several first states been chosen?"""

MAX_BLOCK = 40_000
"""Maximum length of a block of C code in characters: SPIN reads at most 64 KiB."""

HEAD = """\
{about}
/* spin -a FILE && cc -O2 -w -DSAFETY -DNOREDUCE -DBFS -DNOCLAIM -DVECTORSZ={vector} -o pan pan.c && ./pan
   Without -c0 the search ends with the first error. Each error is reported once.
   Properties: cc -O2 -w -DNOREDUCE -DPROPERTIES -DVECTORSZ={vector} -o pan pan.c && ./pan -a -N claim_0 */

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


@dataclass(frozen=True, slots=True)
class Promela:
    """A model without its claims, and what it asks: by number the questions of states, and the claims of runs."""

    model: str
    questions: tuple[Question, ...]
    claims: Claims
    places: tuple[Span, ...]
    """By number: where a fault is."""
    vector: int
    """`-DVECTORSZ` when the C is compiled."""
    before: int
    """States of SPIN in which the system has not begun: one, where it may begin in several."""

    @property
    def text(self) -> str:
        """The model with all claims."""
        return self.model + "".join(map(formula, self.claims.claims))


def formula(x: Claim) -> str:
    """A claim as SPIN reads it, under a name."""
    return f"\n{c_comment(f'property {x.property}')}\nltl claim_{x.number} {{ {x.formula} }}\n"


def promela(model: m.Model, system: m.System, choices: int = CHOICES) -> Promela:
    """A model for SPIN. Raises `RefusedError`, `TooManyValuesError`, `TooLargeNumberError`."""
    scope = CScope.of(model, system)
    system_questions, starts = questions(scope.universe), len(scope.universe.starts)
    runs = claims(scope.universe, _atom, _promised)
    if starts > 1:
        runs.claims = [replace(x, formula=f"((!{BEGUN}) U ({BEGUN} && ({x.formula})))") for x in runs.claims]
    scope.promises = runs.promises
    text, vector = c_text(scope, system_questions, runs.conditions), vector_size(scope)
    about = c_comment(f"system {system.qualified}, from {system.span}")
    head = HEAD.format(
        about=about, vector=vector, choices=choices, subsets=SUBSETS,
        world=_postponed(text.declarations),
    )  # fmt: skip
    code = "\n".join(f"c_code {{\n{_postponed(part)}\n}}\n" for part in _pieces(text.parts))
    loop = "\n".join(
        f"    :: d_step {{ c_expr {{ (possible({k})) }} -> c_code {{ take({k}); }} }}" for k in range(choices)
    )
    begins = "" if starts == 1 else f"    if\n{_begins(starts)}\n    fi;\n"
    process = f"active proctype steps()\n{{\n{begins}end:\n    do\n{loop}\n    od\n}}\n"
    return Promela(f"{head}\n{code}\n{process}", system_questions, runs, tuple(scope.places), vector, int(starts > 1))


def _begins(starts: int) -> str:
    """A choice of the state to begin in."""
    return "\n".join(f"    :: d_step {{ c_code {{ begin_in({k}); }} }}" for k in range(starts))


def _atom(condition: int, instances: list[int]) -> str:
    return f"c_expr {{ (holds_{condition}({', '.join(map(str, instances))})) }}"


def _promised(what: Literal["can", "does"], number: int) -> str:
    return f"c_expr {{ ({what}({number})) }}"


def _postponed(text: str) -> str:
    """SPIN's own preprocessor is to leave what is meant for that of C."""
    return text.replace("\n#", "\n\\#")


def _pieces(parts: tuple[str, ...]) -> list[str]:
    pieces: list[str] = []
    for part in parts:
        if pieces and len(pieces[-1]) + len(part) < MAX_BLOCK:
            pieces[-1] += f"\n\n{part}"
        else:
            pieces.append(part)
    return pieces
