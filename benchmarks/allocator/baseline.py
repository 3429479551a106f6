"""What to compare with: a first fit that knows nothing but nodes, and life cycles by a library."""

from __future__ import annotations

from collections.abc import Callable

from generated.hived import AffinityGroup, Cell, System


class FirstFit:
    """Nodes in a list, each with its free devices; each gang is put on the first nodes with room.

    No virtual clusters, no topology, no priorities, no life cycles: the least that a scheduler of gangs can do.
    """

    def __init__(self, nodes: int, devices: int) -> None:
        self.free = [list(range(devices)) for _ in range(nodes)]

    def place(self, sizes: list[int]) -> list[tuple[int, list[int]]]:
        """Node and devices of each pod; empty where the gang does not fit."""
        placements: list[tuple[int, list[int]]] = []
        for size in sizes:
            for node, free in enumerate(self.free):
                if len(free) >= size:
                    placements.append((node, [free.pop() for _ in range(size)]))
                    break
            else:
                self.give(placements)
                return []
        return placements

    def give(self, placements: list[tuple[int, list[int]]]) -> None:
        """Takes devices back."""
        for node, devices in placements:
            self.free[node] += devices


class Nothing:
    """Actions of cells that do nothing."""

    def allocate(self, cell: Cell, to: AffinityGroup) -> None:
        """A gang uses the cell."""

    def reserve_for(self, cell: Cell, by: AffinityGroup) -> None:
        """A gang waits for the cell."""

    def release(self, cell: Cell) -> None:
        """It is free."""


def generated_machines(size: int) -> Callable[[], None]:
    """A gang takes its cells, and ends."""
    system = System()
    cells = frozenset(Cell(system, Nothing()) for _ in range(size))

    def life() -> None:
        group = AffinityGroup(system, priority=5, size=size)
        group.schedule(cells)
        group.pods_deleted()
        system.remove(group)

    return life


class Model:
    """Something that has a state."""


def transitions_machines(size: int) -> Callable[[], None]:
    """The same events on the same number of machines, with `transitions`; their events are wired by hand."""
    from transitions import Machine

    states = ["Free", "Used", "Reserving", "Reserved"]
    cell_machine = Machine(model=None, states=states, initial="Free", auto_transitions=False)
    cell_machine.add_transition("take", "Free", "Used")
    cell_machine.add_transition("release", "Used", "Free")
    group_machine = Machine(
        model=None,
        states=["Pending", "Allocated", "Preempting", "BeingPreempted", "Deleted"],
        initial="Pending",
        auto_transitions=False,
    )
    group_machine.add_transition("schedule", "Pending", "Allocated")
    group_machine.add_transition("pods_deleted", "Allocated", "Deleted")
    cells = [Model() for _ in range(size)]
    for cell in cells:
        cell_machine.add_model(cell)

    def life() -> None:
        group = Model()
        group_machine.add_model(group)
        group.schedule()  # type: ignore[attr-defined]
        for cell in cells:
            cell.take()  # type: ignore[attr-defined]
        group.pods_deleted()  # type: ignore[attr-defined]
        for cell in cells:
            cell.release()  # type: ignore[attr-defined]
        group_machine.remove_model(group)

    return life
