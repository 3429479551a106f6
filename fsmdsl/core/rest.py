"""Where the instances of a system may stay when nothing can happen any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fsmdsl import model as m


def resting_leaves(machines: Iterable[m.Machine]) -> Mapping[str, frozenset[str]]:
    """By machine, of all that a system has: the leaves in which an instance may stay.

    These are the final and resting ones of a machine with final states. Of another machine they are all leaves, as long
    as some machine of the system has final states; else the resting ones."""
    kinds = {x.qualified: x for x in machines}
    ends = any(x.has_final for x in kinds.values())
    return {name: frozenset(s.name for s in x.leaves if _permits(x, s, ends)) for name, x in kinds.items()}


def _permits(machine: m.Machine, state: m.State, ends: bool) -> bool:
    return state.permits_rest or (ends and not machine.has_final)
