"""HiveD-lite in Promela, for SPIN. Groups are 1, 2, …; 0 is none; a group's number is its priority."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

HEAD = """\
#define PEN 0
#define PRE 1
#define ALL 2
#define BPR 3
#define DEL 4
#define FREE 0
#define USED 1
#define RSVG 2
#define RSVD 3
byte ag[{length}]; byte kind[{cells}]; byte user[{cells}]; byte res[{cells}];
#define ELIG(c,g) (kind[c] == FREE || ((user[c] == 0 || ag[user[c]] == BPR || user[c] < g) && \
(res[c] == 0 || res[c] < g)))
"""

INLINES = """\
byte i; byte r;
inline drop(c) {{ res[c] = 0; if :: kind[c] == RSVG -> kind[c] = USED :: else -> kind[c] = FREE fi }}
inline cancel(g) {{
  i = 0; do :: i < {cells} -> if :: res[i] == g -> drop(i) :: else fi; i++ :: else -> break od; i = 0
}}
"""


def promela(groups: int, cells: int, size: int, *, loops: bool) -> str:
    """The model. Without `loops` those over cells are written out; with them they run over a scratch variable (0 again
    at the end of each step), which is much sooner compiled."""
    parts = [HEAD.format(length=groups + 1, cells=cells), invariant(groups, cells, size)]
    parts += [INLINES.format(cells=cells)] if loops else []
    parts.append("active proctype m() {\ndo\n:: d_step { !INV -> assert(false) }\n")
    for g in range(1, groups + 1):
        for chosen in combinations(range(cells), size):
            guard = " && ".join([f"ag[{g}] == PEN", *(f"ELIG({c},{g})" for c in chosen)])
            body = "".join(scheduled_in_loops(g, chosen) if loops else scheduled(g, chosen, cells))
            parts.append(f":: d_step {{ {guard} ->\n{body} }}\n")
        parts.extend(others(g, cells))
    return "".join([*parts, crash(groups, cells), "od }\n"])


def drop(c: int, condition: str) -> str:
    """Release the reservation of a cell where a condition holds."""
    return (
        f"if :: {condition} -> res[{c}] = 0; if :: kind[{c}] == RSVG -> kind[{c}] = USED "
        f":: else -> kind[{c}] = FREE fi :: else fi;\n"
    )


def former(c: int, cells: int) -> str:
    """The group with a reservation of a cell loses all its reservations; this one last, to save a scratch variable."""
    rest = "".join(drop(x, f"res[{x}] == res[{c}]") for x in range(cells) if x != c)
    return f"if :: res[{c}] != 0 -> ag[res[{c}]] = PEN;\n{rest}{drop(c, 'true')} :: else fi;\n"


def reserved(c: int, g: int) -> str:
    """A cell is reserved for a group."""
    return (
        f"res[{c}] = {g}; if :: kind[{c}] == USED -> kind[{c}] = RSVG; ag[user[{c}]] = BPR "
        f":: else -> kind[{c}] = RSVD fi;\n"
    )


def scheduled(g: int, chosen: Iterable[int], cells: int) -> Iterator[str]:
    """A group gets cells, or reserves them."""
    chosen = list(chosen)
    yield "if :: " + " || ".join(f"kind[{c}] == USED || kind[{c}] == RSVG" for c in chosen) + " ->\n"
    yield from (former(c, cells) for c in chosen)
    yield from (reserved(c, g) for c in chosen)
    yield f"ag[{g}] = PRE\n:: else ->\n"
    yield from (former(c, cells) for c in chosen)
    yield from (f"kind[{c}] = USED; user[{c}] = {g};\n" for c in chosen)
    yield f"ag[{g}] = ALL fi\n"


def scheduled_in_loops(g: int, chosen: Iterable[int]) -> Iterator[str]:
    """The same. Whether it preempts is decided last: once the former reservers are gone a cell is Free or Used."""
    chosen = list(chosen)
    for c in chosen:
        yield f"if :: res[{c}] != 0 -> r = res[{c}]; ag[r] = PEN; cancel(r); r = 0 :: else fi;\n"
    yield "if :: " + " || ".join(f"kind[{c}] == USED" for c in chosen) + " ->\n"
    yield from (reserved(c, g) for c in chosen)
    yield f"ag[{g}] = PRE\n:: else ->\n"
    yield from (f"kind[{c}] = USED; user[{c}] = {g};\n" for c in chosen)
    yield f"ag[{g}] = ALL fi\n"


def others(g: int, cells: int) -> Iterator[str]:
    """What else a group does: a victim is done, a preemptor gets its cells or gives up, work ends, work comes again."""
    yield f":: d_step {{ ag[{g}] == BPR -> ag[{g}] = DEL;\n"
    for c in range(cells):
        yield (
            f"if :: user[{c}] == {g} -> user[{c}] = 0; if :: kind[{c}] == RSVG -> kind[{c}] = RSVD "
            f":: else -> kind[{c}] = FREE fi :: else fi;\n"
        )
    ready = " && ".join(f"(res[{c}] != {g} || kind[{c}] == RSVD)" for c in range(cells))
    yield f"skip }}\n:: d_step {{ ag[{g}] == PRE && {ready} -> ag[{g}] = ALL;\n"
    for c in range(cells):
        yield f"if :: res[{c}] == {g} -> res[{c}] = 0; user[{c}] = {g}; kind[{c}] = USED :: else fi;\n"
    yield f"skip }}\n:: d_step {{ ag[{g}] == PRE -> ag[{g}] = DEL;\n"
    yield from (drop(c, f"res[{c}] == {g}") for c in range(cells))
    yield f"skip }}\n:: d_step {{ ag[{g}] == ALL -> ag[{g}] = DEL;\n"
    for c in range(cells):
        yield f"if :: user[{c}] == {g} -> user[{c}] = 0; kind[{c}] = FREE :: else fi;\n"
    yield f"skip }}\n:: d_step {{ ag[{g}] == DEL -> ag[{g}] = PEN }}\n"


def crash(groups: int, cells: int) -> str:
    """The scheduler forgets its reservations."""
    numbers = range(1, groups + 1)
    text = ":: d_step { (" + " || ".join(f"ag[{g}] == PRE || ag[{g}] == BPR" for g in numbers) + ") ->\n"
    for g in numbers:
        text += f"if :: ag[{g}] == PRE -> ag[{g}] = PEN :: ag[{g}] == BPR -> ag[{g}] = ALL :: else fi;\n"
    for c in range(cells):
        text += f"res[{c}] = 0; if :: user[{c}] != 0 -> kind[{c}] = USED :: else -> kind[{c}] = FREE fi;\n"
    return text + "skip }\n"


def invariant(groups: int, cells: int, size: int) -> str:
    """A macro for all invariants."""
    parts = [
        f"(kind[{c}] == FREE -> (user[{c}] == 0 && res[{c}] == 0) : (kind[{c}] == USED -> "
        f"(user[{c}] != 0 && res[{c}] == 0 && (ag[user[{c}]] == ALL || ag[user[{c}]] == BPR)) : "
        f"(kind[{c}] == RSVG -> (user[{c}] != 0 && res[{c}] != 0 && ag[user[{c}]] == BPR && ag[res[{c}]] == PRE) : "
        f"(user[{c}] == 0 && res[{c}] != 0 && ag[res[{c}]] == PRE))))"
        for c in range(cells)
    ]
    for g in range(1, groups + 1):
        used = " + ".join(f"(user[{c}] == {g})" for c in range(cells))
        parts.append(f"(ag[{g}] != ALL || ({used}) == {size})")
    return "#define INV (" + " && ".join(parts) + ")\n"
