"""The configuration of `HiveD.tla` for TLC."""

from __future__ import annotations


def configuration(groups: int, cells: int, size: int, *, symmetric: bool) -> str:
    """The constants. Cells are numbers, or with `symmetric` model values that stand for one another."""
    names = [f"c{c}" if symmetric else str(c) for c in range(1, cells + 1)]
    lines = ["CONSTANTS", f"A = {groups}", f"K = {size}", f"Cells = {{{', '.join(names)}}}"]
    lines += [f"{name} = {name}" for name in names] if symmetric else []
    lines += ["INIT Init", "NEXT Next", "INVARIANT Inv"]
    lines += ["SYMMETRY Sym"] if symmetric else []
    return "\n".join(lines) + "\n"
