"""The actions of the life cycle of a leaf cell: the ledger follows the machines."""

from __future__ import annotations

from generated.hived import AffinityGroup, Cell
from runtime.cells import CellLedger, DeviceMachine
from runtime.gangs import GangMachine


class Bindings:
    """The actions of `Cell`. Allocating and reserving are the same to the ledger: the cell is taken at a priority."""

    __slots__ = ("ledger",)

    def __init__(self, ledger: CellLedger) -> None:
        self.ledger = ledger

    def allocate(self, cell: Cell, to: AffinityGroup) -> None:
        """A gang uses the cell; or has it back, when a preemption is called off."""
        assert isinstance(cell, DeviceMachine)
        assert isinstance(to, GangMachine)
        self.ledger.put(cell.device, to.gang.virtual[cell.device], to.gang.priority)

    def reserve_for(self, cell: Cell, by: AffinityGroup) -> None:
        """A gang waits for the cell, or holds it back."""
        self.allocate(cell, by)

    def release(self, cell: Cell) -> None:
        """It is unused; often only until the next action."""
        assert isinstance(cell, DeviceMachine)
        self.ledger.remove(cell.device)
