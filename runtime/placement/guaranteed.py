"""Where a guaranteed gang goes inside of one view: first without displacing gangs of its virtual cluster.

As long as nodes are good, what a virtual cluster gets depends on itself alone. The gangs that borrow its cells only
decide which of equally good cells are taken, and which physical cells stand for them.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, islice

from runtime.cells import ALL, FREE, CellLedger, View, VirtualCell
from runtime.cells.bits import each
from runtime.gangs import Gang
from runtime.placement import inside
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.disruption_cost import DisruptionCost, disruption_cost, weight
from runtime.placement.fewest import MAX_ATTEMPTS, MAX_NODES, Budget, Fewest
from runtime.placement.misfit import Misfit
from runtime.placement.packing import holds, impossible
from runtime.placement.proposal import NoPlace, Placement, PodAssignment
from runtime.placement.requirements import Devices
from runtime.pods import OPPORTUNISTIC
from runtime.preemption.lazy import as_if_demoted, demotable_gangs
from runtime.preemption.victims import displaced

MAX_TRIES = 8
"""Maximum number of other virtual cells that are examined, if the chosen ones are unusable or lent."""

Leaves = Sequence[tuple[VirtualCell, ...]]
"""The virtual leaf cells of each pod."""


def place(
    ledger: CellLedger,
    view: View,
    sizes: Sequence[int],
    priority: int,
    candidates: CandidateNodes,
    *,
    refine: bool = True,
) -> Placement | NoPlace:
    """Places for a gang, or the reason why there are none now; sizes fall. Leaves everything as it is.

    Without `refine`, these are the first places found.
    """
    search = _Search(ledger, view, sizes, priority, candidates)
    for threshold in (ALL, priority):
        placement = search.first(threshold)
        if placement is not None:
            best = search.better(placement, threshold) if refine else placement
            return replace(best, peaceful=threshold == ALL)
    where = view.tops[0].pinned if view.tops and view.tops[0].pinned else view.chain.name
    if not search.unusable and (never := _never(view, sizes)):
        return NoPlace(f"{view.tenant.name} can never have {demand(sizes)} in {where}: {never}", permanent=True)
    room = f"has room for {demand(sizes)} in {where}, but not on usable nodes"
    return NoPlace(f"{view.tenant.name} {room if search.unusable else f'has no room for {demand(sizes)} in {where}'}")


class _Search:
    def __init__(
        self, ledger: CellLedger, view: View, sizes: Sequence[int], priority: int, candidates: CandidateNodes
    ) -> None:
        self.ledger = ledger
        self.view = view
        self.sizes = sizes
        self.priority = priority
        self.candidates = candidates
        self.allowed = candidates.spots(view)
        self.unusable = False
        """Whether there is room on nodes that cannot be used."""
        self.budget = Budget()

    def first(self, threshold: int, spared: Collection[Gang] = (), avoided: int = 0) -> Placement | None:
        """Places where gangs below a priority may be displaced; with `ALL`, none of the virtual cluster."""
        spots = self.allowed & ~avoided
        own = (leaf for gang in spared for leaf in gang.virtual.values())
        taken = frozenset(leaf for leaf in own if leaf is not None and leaf.view is self.view)
        for _ in range(MAX_TRIES):
            leaves = inside.place(self.view, self.sizes, threshold, spots, taken)
            if leaves is None:
                return None
            placement = self._mapped(leaves)
            if isinstance(placement, Placement):
                return placement
            self.unusable = True
            spots &= ~placement.nodes
        return None

    def better(self, first: Placement, threshold: int) -> Placement:
        """The same or other places that displace less."""
        if all(device.priority == FREE for device in first.devices()) and not first.demote:
            return first
        return self._elsewhere(first) if threshold == ALL else self._sparing(first)

    def _elsewhere(self, first: Placement) -> Placement:
        """On other nodes that are as good to the virtual cluster, so that fewer opportunistic gangs have to go."""
        chosen = [assignment.virtual for assignment in first.assignments]
        different: dict[object, Leaves] = {signature(chosen): chosen}
        for leaves in self._alike(first):
            if different.setdefault(signature(leaves), leaves) is leaves:
                placement = self._with_demoted(leaves, (), Fewest.peaceful)
                if isinstance(placement, Placement):
                    return placement
        best, least = first, placement_cost(first)
        for leaves in different.values():
            placement = self._with_demoted(leaves, (), partial(Fewest.best, budget=self.budget))
            if isinstance(placement, Placement) and (cost := placement_cost(placement)) < least:
                best, least = placement, cost
        return best

    def _alike(self, first: Placement) -> Iterator[Leaves]:
        """Other virtual leaf cells that are as good to the virtual cluster.

        Only an empty node is as good as another one: the gangs that borrow its cells must not make a virtual cluster
        less densely packed than it would be if it had them to itself, or it could not have later what it is promised.
        """
        chosen = [assignment.virtual for assignment in first.assignments]
        yield from self._aside(first, chosen, self._lent_nodes, self._same_shape)
        yield from self._aside(first, chosen, self._lent_leaves, self._as_good)
        yield from self._without_one(first, chosen)
        nodes = {leaf.node: None for own in chosen for leaf in own if leaf.node is not None}
        empty = [node for node in nodes if not self.view.rooms.used[node.spot]]
        for one, other in islice(combinations(empty, 2), MAX_TRIES):
            if one.level == other.level:
                instead = dict(zip((*one.leaves(), *other.leaves()), (*other.leaves(), *one.leaves()), strict=True))
                yield [tuple(instead.get(leaf, leaf) for leaf in own) for own in chosen]

    def _without_one(self, first: Placement, chosen: Leaves) -> Iterator[Leaves]:
        """Without one of the nodes that are lent: where the gang needs some of them, it may be others."""
        lent, _ = self._lent_nodes(first)
        for spot in islice(each(lent), MAX_TRIES):
            leaves = inside.place(self.view, self.sizes, ALL, self.allowed & ~(1 << spot))
            if leaves is not None and self._same_shape(chosen, leaves) and closeness(leaves) <= closeness(chosen):
                yield leaves

    def _aside(
        self,
        first: Placement,
        chosen: Leaves,
        lent: Callable[[Placement], tuple[int, set[VirtualCell]]],
        alike: Callable[[Leaves, Leaves], bool],
    ) -> Iterator[Leaves]:
        """Without what is lent of the cells found so far, as long as the virtual cluster gets as good ones."""
        nodes, taken = lent(first)
        for _ in range(MAX_TRIES if nodes or taken else 0):
            leaves = inside.place(self.view, self.sizes, ALL, self.allowed & ~nodes, taken)
            if leaves is None or not alike(chosen, leaves):
                return
            placement = self._with_demoted(leaves, (), Fewest.any)
            if isinstance(placement, Misfit):
                nodes |= placement.nodes
                continue
            yield leaves
            more = lent(placement)
            if not any(more):
                return
            nodes, taken = nodes | more[0], taken | more[1]

    def _lent_nodes(self, placement: Placement) -> tuple[int, set[VirtualCell]]:
        """The nodes on which opportunistic gangs would have to leave, without a gang of the virtual cluster."""
        return sum(1 << spot for spot in each(self._lent(placement)) if not self.view.rooms.used[spot]), set()

    def _lent_leaves(self, placement: Placement) -> tuple[int, set[VirtualCell]]:
        """The leaf cells on which opportunistic gangs would have to go, of nodes of which not all are lent."""
        pairs = [
            (x, leaf)
            for assignment in placement.assignments
            for x, leaf in zip(assignment.devices, assignment.virtual, strict=True)
        ]
        nodes = {leaf.node for device, leaf in pairs if device.priority != OPPORTUNISTIC or self._uses(leaf)}
        return 0, {leaf for device, leaf in pairs if device.priority == OPPORTUNISTIC and leaf.node in nodes}

    def _same_shape(self, one: Leaves, other: Leaves) -> bool:
        return self._shape(one) == self._shape(other)

    def _as_good(self, one: Leaves, other: Leaves) -> bool:
        """Whether a gang is as close in the other places, which leave rooms that hold all that the first ones leave."""
        left: list[Counter[int]] = [Counter(), Counter()]
        for leaves, counts in zip((one, other), left, strict=True):
            counts.update(leaf.node.spot for own in leaves for leaf in own if leaf.node is not None)
        room, both = self.view.rooms.room, left[0] | left[1]
        less, more = (Counter(room(spot, ALL) - counts[spot] for spot in both) for counts in left)
        return closeness(other) <= closeness(one) and holds(more - less, less - more)

    def _uses(self, leaf: VirtualCell) -> bool:
        """Whether a gang of the virtual cluster is on the node of a leaf cell."""
        return leaf.node is not None and bool(self.view.rooms.used[leaf.node.spot])

    def _lent(self, placement: Placement) -> int:
        """The nodes of the view on which opportunistic gangs would have to go."""
        spots = 0
        for assignment in placement.assignments:
            for device, leaf in zip(assignment.devices, assignment.virtual, strict=True):
                assert leaf.node is not None, "leaf cells are in nodes"
                if device.priority == OPPORTUNISTIC:
                    spots |= 1 << leaf.node.spot
        return spots

    def _sparing(self, first: Placement) -> Placement:
        """Without those gangs of the virtual cluster that need not go, large ones first.

        If no victim keeps a device, only demoting gangs instead can be better: one attempt. Else
        each victim leaves all its leaf cells, which may spare the others.

        One gang after the other is spared as long as that is better; then sets of gangs, those first with which it
        was cheapest so far, for half of the attempts.
        """
        victims = displaced(first.devices())
        if not first.demote and weight(victims) == sum(device.priority >= 0 for device in first.devices()):
            other = self.first(self.priority, _killed(first)) if self._lazy() else None
            return first if other is None or placement_cost(other) >= placement_cost(first) else other
        solutions = [(placement_cost(first), 0, tuple[Gang, ...](), first)]
        waiting = list(solutions)
        tried = {frozenset[Gang]()}

        def attempt(spared: tuple[Gang, ...]) -> None:
            if frozenset(spared) in tried or not self.budget.spend():
                return
            tried.add(frozenset(spared))
            other = self.first(self.priority, spared)
            if other is not None:
                solutions.append((placement_cost(other), len(tried), spared, other))
                heapq.heappush(waiting, solutions[-1])

        for gang in _killed(first):
            _, _, spared, best = min(solutions)
            if gang in _killed(best):
                attempt((*spared, gang))
        while waiting:
            _, _, spared, least = heapq.heappop(waiting)
            for gang in _killed(least):
                if self.budget.left > MAX_ATTEMPTS // 2:
                    attempt((*spared, gang))
        _, _, spared, best = min(solutions)
        return self._demoting(self._avoiding(best, spared))

    def _lazy(self) -> bool:
        """Whether a weaker gang would rather be demoted than killed, on the first nodes of each class."""
        return any(self._weaker(demotable_gangs(self.view.nodes[spot].leaves())) for spot in self._few())

    def _weaker(self, gangs: Iterable[Gang]) -> list[Gang]:
        return [gang for gang in gangs if gang.priority < self.priority]

    def _few(self) -> list[int]:
        """The first nodes of each class."""
        classes = self.view.rooms.classes(self.priority, ALL, self.allowed)
        return [spot for _, own in classes for spot in islice(each(own), MAX_NODES)]

    def _demoting(self, best: Placement) -> Placement:
        """A placement that demotes gangs instead of killing them, if some victim prefers demotion: one attempt.

        A demoted gang stays on its devices. So either all gangs of a node give way, or only its free cells are used.
        Only the first nodes of each class are examined.
        """
        if not any(gang.spec.lazy_preemption for gang in _killed(best)):
            return best
        spots, taken = 0, set[VirtualCell]()
        for spot in self._few():
            spots |= 1 << spot
            used = {leaf for leaf in self.view.nodes[spot].leaves() if leaf.priority != FREE}
            if used - {leaf for gang in self._weaker(demotable_gangs(used)) for leaf in gang.virtual.values()}:
                taken |= {leaf for leaf in used if leaf.priority < self.priority}
        leaves = inside.place(self.view, self.sizes, self.priority, spots, taken)
        placement = self._mapped(leaves) if leaves is not None else None
        return (
            placement if isinstance(placement, Placement) and placement_cost(placement) < placement_cost(best) else best
        )

    def _avoiding(self, best: Placement, spared: Collection[Gang]) -> Placement:
        """Without the nodes that are lent, or else without one of them after the other."""
        least = placement_cost(best)
        avoided, lent = 0, self._lent(best)
        while lent & ~avoided and self.budget.spend():
            avoided |= lent
            placement = self.first(self.priority, spared, avoided)
            if placement is None:
                break
            if placement_cost(placement) < least:
                return placement
            lent = self._lent(placement)
        for spot in each(self._lent(best)):
            if self.budget.spend():
                placement = self.first(self.priority, spared, 1 << spot)
                if placement is not None and (cost := placement_cost(placement)) < least:
                    best, least = placement, cost
        return best

    def _shape(self, chosen: Leaves) -> list[tuple[int, list[int]]]:
        """The rooms of the nodes that a gang gets, and the pods on each: what a placement is to a virtual cluster."""
        pods: dict[int, list[int]] = {}
        for leaves in chosen:
            node = leaves[0].node
            assert node is not None, "leaf cells are in nodes"
            pods.setdefault(node.spot, []).append(len(leaves))
        return sorted((self.view.rooms.room(spot, ALL), sizes) for spot, sizes in pods.items())

    # Devices

    def _mapped(self, chosen: Leaves) -> Placement | Misfit:
        """The physical cells for virtual ones, as they will be when those who would rather be demoted are.

        A demoted gang may still have to leave. Then other gangs that prefer demotion are demoted with it, if the
        cells that they free together can be provided elsewhere, so that no gang has to leave.
        """
        leaves = [leaf for own in chosen for leaf in own]
        demoted = demotable_gangs(leaves)
        placement = self._with_demoted(chosen, demoted, Fewest.first)
        if demoted and isinstance(placement, Placement) and placement_cost(placement).killed:
            nodes = {leaf.node: None for leaf in leaves if leaf.node is not None}
            around = demotable_gangs(x for node in nodes for x in node.leaves())
            more = self._weaker(around)
            if len(more) > len(demoted):
                other = self._with_demoted(chosen, more, Fewest.first)
                if isinstance(other, Placement) and placement_cost(other) < placement_cost(placement):
                    return other
        return placement

    def _with_demoted(
        self, chosen: Leaves, demoted: Sequence[Gang], search: Callable[[Fewest], Devices | Misfit]
    ) -> Placement | Misfit:
        leaves = [leaf for own in chosen for leaf in own]
        freed = {leaf.top for leaf in leaves if leaf.top.physical is not None} if demoted else ()
        forest = self.ledger.cluster.forests[self.view.chain.name]
        with as_if_demoted(self.ledger, demoted):
            devices = search(Fewest(forest, leaves, self.candidates, freed))
        if isinstance(devices, Misfit):
            return devices
        assignments = (PodAssignment(tuple(devices[leaf] for leaf in own), tuple(own)) for own in chosen)
        return Placement(self.view.chain.name, tuple(assignments), tuple(demoted))


def signature(chosen: Leaves) -> tuple[object, ...]:
    """What decides which physical cells can stand for virtual ones: the same for those alike."""
    parents: list[object] = []
    tops: dict[VirtualCell, int] = {}
    for leaves in chosen:
        for leaf in leaves:
            cell: VirtualCell | None = leaf.parent
            while cell is not None and cell.physical is None:
                cell = cell.parent
            top = leaf.top
            parents.append(cell if cell is not None else (top.level, tops.setdefault(top, len(tops))))
    return tuple(parents)


def closeness(chosen: Leaves) -> list[int]:
    """In how many cells the leaf cells of a gang are, and those of each of its pods, from the top level down."""
    counts: list[int] = []
    groups = [{leaf for own in chosen for leaf in own}, *(set(own) for own in chosen)]
    while any(groups):
        counts += [sum(map(len, groups[1:])), len(groups[0])]
        groups = [{cell.parent for cell in group if cell.parent is not None} for group in groups]
    return counts[::-1]


def placement_cost(placement: Placement) -> DisruptionCost:
    """What a placement costs others."""
    return disruption_cost(displaced(placement.devices()), placement.demote)


def _killed(placement: Placement) -> list[Gang]:
    """The guaranteed gangs that have to go, large ones first."""
    gangs = (gang for gang in displaced(placement.devices()) if gang.priority >= 0)
    return sorted(gangs, key=lambda gang: len(gang.virtual), reverse=True)


def _never(view: View, sizes: Sequence[int]) -> str:
    """Why a gang does not fit into an empty view, by numbers alone; empty where it does, or where that is not known."""
    rooms = [view.chain.leaves[node.level] for node in view.nodes]
    if not impossible(Counter(rooms), sizes):
        return ""
    return f"it is promised {sum(rooms)} leaf cells there, at most {max(rooms, default=0)} on a node"


def demand(sizes: Iterable[int]) -> str:
    """The pods of a gang, in words."""
    counts: dict[int, int] = {}
    for size in sizes:
        counts[size] = counts.get(size, 0) + 1
    return " and ".join(f"{count} x {size}" for size, count in counts.items()) + " leaf cells"
