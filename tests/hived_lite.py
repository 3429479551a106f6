"""HiveD's machines with the choices that a known count of states was made with: priority is the index, a deleted group
may come again, and a crash is possible only where it changes something."""

from __future__ import annotations


def hived_lite(groups: int, cells: int, size: int) -> str:
    """The text for so many groups and cells, each group wanting so many."""
    return (
        TEXT.replace("GROUPS", str(groups))
        .replace("CELLS", str(cells))
        .replace("SIZE", str(size))
    )  # fmt: skip


TEXT = """
module lite

machine Cell {
    durable user: Group?
    reserver:     Group?
    initial state Free
    state Used
    state Reserving
    state Reserved
    event take(by: Group), reserve(by: Group), free, cancel, pod_deleted from Group
    e0: Free      -> Used      on take(by)    do user = by
    e1: Used      -> Free      on free        do user = none
    e2: Used      -> Reserving on reserve(by) do { user.preempted; reserver = by }
    e3: Reserving -> Reserving on reserve(by) do { reserver.overwritten(self); reserver = by }
    e4: Reserving -> Used      on cancel      do reserver = none
    e5: Free      -> Reserved  on reserve(by) do reserver = by
    e6: Reserved  -> Reserved  on reserve(by) do { reserver.overwritten(self); reserver = by }
    e7: Reserved  -> Free      on cancel      do reserver = none
    e8: Reserved  -> Used      on take(by)
        do { if by != reserver { reserver.overwritten(self) } user = by; reserver = none }
    e9: Reserving -> Reserved  on pod_deleted do user = none
    ec: Reserving -> Used, Reserved -> Free on crash
}

machine Group {
    param priority: 0..9
    durable cells: set<Cell>
    initial persistent state Pending
    volatile state Preempting
    persistent state Allocated
    volatile state BeingPreempted
    persistent state Deleted
    event schedule(choice: set<Cell>), proceed, pods_deleted, resubmit from environment
    event overwritten(taken: Cell), preempted from Cell
    e0: Pending -> Allocated on schedule(choice) when all c in choice: c in {Free, Reserved}
        do { cells = choice; for c in choice { c.take(self) } }
    e1: Pending -> Preempting on schedule(choice) when some c in choice: c in {Used, Reserving}
        do { cells = choice; for c in choice { c.reserve(self) } }
    e2: Preempting -> Allocated on proceed when all c in cells: c in Reserved do for c in cells { c.take(self) }
    e3: Allocated -> Deleted on pods_deleted do { for c in cells { c.free } cells = {} }
    e4: BeingPreempted -> Deleted on pods_deleted
        do { for c in cells { if c in Used { c.free } else { c.pod_deleted } } cells = {} }
    e5: Preempting -> Pending on overwritten(taken) do { for c in cells - {taken} { c.cancel } cells = {} }
    e6: Allocated -> BeingPreempted on preempted
    e7: Preempting -> Deleted on pods_deleted do { for c in cells { c.cancel } cells = {} }
    e9: Deleted -> Pending on resubmit
    ec: Preempting -> Pending on crash do cells = {}
    ec: BeingPreempted -> Allocated on crash
    ignore preempted in BeingPreempted
}

system Small {
    groups: Group[GROUPS] { priority = index }
    cells:  Cell[CELLS]

    let outranks(g: Group, c: Cell) =
        (c.user == none or c.user in BeingPreempted or c.user.priority < g.priority)
        and (c.reserver == none or c.reserver.priority < g.priority)

    environment {
        some g in groups, p in subsets(cells, SIZE): g.schedule(p) when all c in p: outranks(g, c)
        some g in groups: g.proceed
        some g in groups: g.pods_deleted
        some g in groups: g.resubmit
        crash when some g in groups: g in {Preempting, BeingPreempted}
    }

    invariant used:      all c in cells: c in Used => c.user in {Allocated, BeingPreempted} and c.reserver == none
    invariant reserving: all c in cells: c in Reserving => c.user in BeingPreempted and c.reserver in Preempting
    invariant reserved:  all c in cells: c in Reserved => c.user == none and c.reserver in Preempting
    invariant free:      all c in cells: c in Free => c.user == none and c.reserver == none
    invariant gang:      all g in groups: g in Allocated => (count c in cells: c.user == g) == SIZE
    reachable handover:  some g in groups: g in Preempting and some c in g.cells: c in Reserved
    property progress:   all g in groups: g in Preempting ~> g not in Preempting under fair pods_deleted
}
"""
