"""Random systems said in parts: what the environment does is shared, and one system extends another."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

SHARED, BASE = "Surroundings", "Foundation"
"""What the parts are called; no random spec has such names."""


def in_parts(lines: Sequence[str], groups: Mapping[str, tuple[str, int | None]]) -> list[str]:
    """The lines of a system in which `environment {` has lines of its own, said in parts. Nothing is drawn: which parts
    there are depends on the text."""
    kind = sum(map(len, lines)) % 4
    found = _environment_apart(lines, groups) if kind & 1 else list(lines)
    return _base_apart(found, groups) if kind & 2 else found


def _environment_apart(lines: Sequence[str], groups: Mapping[str, tuple[str, int | None]]) -> list[str]:
    """The sets of instances become parameters of the same name, so that the lines stay as they are."""
    if "    environment {" not in lines:
        return list(lines)
    begin = lines.index("    environment {")
    end = lines.index("    }", begin)
    body = lines[begin + 1 : end]
    words = set(re.findall(r"\w+", "\n".join(body)))
    lets = {x.split()[1] for x in lines if x.startswith("    let ")}
    if lets & words:
        return list(lines)
    used = [x for x in groups if x in words]
    types = {x: machine if count is None else f"set<{machine}>" for x, (machine, count) in groups.items()}
    listed = f"({', '.join(f'{x}: {types[x]}' for x in used)})" if used else ""
    given = f"({', '.join(used)})" if used else ""
    use = f"    environment {SHARED}{given}"
    apart = [f"environment {SHARED}{listed} {{", *(x.removeprefix("    ") for x in body), "}"]
    return [*lines[:begin], use, *lines[end + 1 :], "", *apart]


def _base_apart(lines: Sequence[str], groups: Mapping[str, tuple[str, int | None]]) -> list[str]:
    """The instances become those of another system; the last set is said again, in the place of that one."""
    head = next(n for n, x in enumerate(lines) if x.startswith("system "))
    behind = head + 1 + len(groups)
    instances, again = lines[head + 1 : behind], lines[behind - 1 : behind]
    recovers = [x for x in lines if x.startswith("    recover ")]
    base = [f"system {BASE} {{", *instances, *(["    recover { }"] if recovers else []), "}", ""]
    extending = lines[head].replace(" {", f" extends {BASE} {{")
    return [*lines[:head], *base, extending, *again, *lines[behind:]]
