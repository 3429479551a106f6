"""From virtual to physical cells.

A preassigned cell that is not bound gets a free physical cell. Inside of bound cells, children are matched with
children, such that all that is wanted lies on nodes that can be used, and displaces only gangs that may be displaced.
"""

from __future__ import annotations

from collections.abc import Collection

from runtime.cells import Forest, VirtualCell
from runtime.cells.bits import each
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.fitting import Fitting, Victims
from runtime.placement.free import FreeCells
from runtime.placement.misfit import Misfit, misfit
from runtime.placement.requirements import Devices, Requirements

NO_WAY = Misfit(0)
"""Returned where only some gangs may be displaced: the caller has another attempt and ignores the nodes."""


def map_cells(
    forest: Forest,
    required: Requirements,
    candidates: CandidateNodes,
    victims: Victims = None,
    freed: Collection[VirtualCell] = (),
) -> Devices | Misfit:
    """A device for each virtual leaf cell that is wanted, on usable nodes.

    Preassigned cells that were `freed` by the gangs that the gang displaces come before others of their level: if there
    are not enough physical cells for all, it is the others that the gang must not want. What not to want is said only
    where all gangs may be displaced.
    """
    fitting = Fitting(forest, required, candidates, victims)
    if victims is not None and required.tops and not fitting.usable:
        return NO_WAY
    mapping = dict(required.ready)
    for parent, children in required.under.items():
        devices = _place_under(fitting, parent, children)
        if isinstance(devices, Misfit):
            return devices
        mapping.update(devices)
    tops = _place_tops(fitting, mapping, freed)
    if isinstance(tops, Misfit):
        return tops
    mapping.update(tops)
    return mapping


def _place_under(fitting: Fitting, parent: VirtualCell, children: list[VirtualCell]) -> Devices | Misfit:
    """For unbound cells under a bound one."""
    assert parent.physical is not None, "the parent is bound"
    free = [x for x in parent.physical.children if x.virtual is None]
    pairs = fitting.pair(children, free)
    mapping: Devices = {}
    paired: set[VirtualCell] = set()
    for child, pair in zip(children, pairs, strict=True):
        if pair is not None:
            paired.add(child)
            mapping.update(pair[1])
    if len(paired) == len(children):
        return mapping
    if fitting.victims is not None:
        return NO_WAY
    alone = next(x for x in children if x not in paired)
    used = {pair[0] for pair in pairs if pair is not None}
    alike = [x for x in parent.children if x.physical is None and x not in paired]
    return misfit(alone, fitting.required, alike, [x for x in free if x not in used], fitting.usable)


def _place_tops(fitting: Fitting, mapping: Devices, freed: Collection[VirtualCell]) -> Devices | Misfit:
    """For unbound preassigned cells: larger ones first, and of a level those of which most is wanted."""
    if not fitting.required.tops:
        return {}
    tops = sorted(fitting.required.tops, key=lambda x: (x.level, x in freed, fitting.leaves(x)), reverse=True)
    placed, lists = FreeCells(fitting, tops, list(mapping.values())).place()
    if len(placed) == len(tops):
        return {leaf: device for devices in placed for leaf, device in devices.items()}
    if fitting.victims is not None:
        return NO_WAY
    alone, paired = tops[len(placed)], set(tops[: len(placed)])
    alike = [x for x in alone.view.free_tops(alone.level) if x not in paired]
    regions = (
        fitting.forest.levels[level][position]
        for level in range(alone.level, lists.may_split(alone.level) + 1)
        for position in each(lists.free[level])
    )
    return misfit(alone, fitting.required, alike, regions, fitting.usable)
