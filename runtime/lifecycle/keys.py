"""Under which keys lives are journaled.

| key | value |
| --- | --- |
| `life/NAME` | an application that is alive: what was submitted, all its machines, its pods |
| `past/NAME@NUMBER` | one that is completed or has failed, until it expires |
| `host/NAME` | a node: how it registered, whether it may be used |
| `queue/NAME` | the state of a queue; without a name, that of the whole cluster |
| `lives/made` | how many applications have come |
"""

from __future__ import annotations

KINDS = ("life", "past", "host", "queue", "lives")
MADE = "lives/made"


def life_key(name: str) -> str:
    """Of an application that is alive."""
    return f"life/{name}"


def past_key(name: str) -> str:
    """Of one that is not."""
    return f"past/{name}"


def host_key(name: str) -> str:
    """Of a node."""
    return f"host/{name}"


def queue_key(name: str) -> str:
    """Of a queue."""
    return f"queue/{name}"
