"""Lives: every machine of the documents bound to what it stands for, along the one life of a gang.

Whoever drives it (a simulator, a service, a test) says what happens, and when; it never looks at a clock:

    lives = Lives(allocator)               # an `Allocator`, or a `DurableAllocator`
    lives.node_healthy("node-1", now=0.0)
    workers = CliqueSpec("worker", pods=8, leaf_cells=1)
    lives.submit(ApplicationSpec("training", queue="research", priority=5, cliques=(workers,)), now=0.0)
    placed = lives.cycle(now=0.0)          # places what waits: placed.bound, placed.preempted, placed.waiting
    for order in lives.orders():           # for the agents on the nodes; they answer, sooner or later:
        ...                                # lives.report(order.uid, order.act, ok=True, now=...)
    lives.finished("training", now=3600.0)
    lives.tick(lives.next_timer)           # when a timer is due

What a method answers, and the orders that it leads to, may be acted on when it has returned: with a `DurableAllocator`
they last. Several calls in a `with allocator.cycle():` are committed together. A request that cannot be meant raises
`UserError`, and has changed nothing. `docs/lives.md` says which machine is bound to what.
"""

from runtime.lifecycle.lives import Allocating, Lives, Round
from runtime.lifecycle.orders import Act, Order
from runtime.lifecycle.submission import ApplicationSpec, CliqueSpec, Settings

__all__ = ["Act", "Allocating", "ApplicationSpec", "CliqueSpec", "Lives", "Order", "Round", "Settings"]
