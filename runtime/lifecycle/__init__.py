"""Life cycles: every machine of the documents bound to what it stands for, along the one life of a gang.

Its caller (the service, the simulator, a test) reports how pods and nodes are, and when; it never looks at a
clock:

    following = Following(allocator, now=0.0)
    following.node("node-1", healthy=True, cordoned=False, now=0.0)
    following.told([Told(pod, info, Stage.RUNNING)], now=1.0)
    following.gone(pod.uid, Ending.FINISHED, now=3600.0)
    following.tick(now=3630.0)             # timers ring that are due

`docs/lives.md` says which machine is bound to what.
"""

from runtime.lifecycle.following import Following
from runtime.lifecycle.news import Ending, Stage, Told

__all__ = ["Ending", "Following", "Stage", "Told"]
