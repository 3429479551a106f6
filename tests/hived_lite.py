"""The reference model of the benchmark at any size, as text."""

from __future__ import annotations

import re
from pathlib import Path

PATH = Path(__file__).parent.parent / "benchmarks" / "hived_lite.fsm"

PROGRESS = "property progress: all g in groups: g in Preempting ~> g not in Preempting under fair pods_deleted"


def hived_lite(groups: int, cells: int, size: int, *, symmetric: bool = False, progress: bool = False) -> str:
    """The text for so many groups and cells, each group wanting so many. With `symmetric` cells are interchangeable;
    with `progress` it is also asked whether a group preempts for ever."""
    text = PATH.read_text("utf-8")
    for old, new in (
        (r"(?<=Group\[)\d+", str(groups)),
        (r"(?<=Cell\[)\d+", str(cells)),
        (r"(?<=size = )\d+", str(size)),
        (r" symmetric$", " symmetric" if symmetric else ""),
        (r"^(?=    reachable handover)", f"    {PROGRESS}\n" if progress else ""),
    ):
        text, count = re.subn(old, new, text, flags=re.MULTILINE)
        assert count == 1, f"`{old}` is not in the text once"
    return text
