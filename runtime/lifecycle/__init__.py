"""Life cycles: the machines of the documents, from the submission of a gang to its end.

The caller (the service, the simulator, a test) reports the state of pods and nodes with the time; this package reads
no clock:

    follower = ApplicationFollower(allocator, now=0.0)
    follower.node("node-1", healthy=True, cordoned=False, now=0.0)
    follower.pods_reported([PodReport(pod, info, Stage.RUNNING)], now=1.0)
    follower.pod_ended(pod.uid, Ending.FINISHED, now=3600.0)
    follower.tick(now=3630.0)             # timers ring that are due

`docs/lives.md` says which machine is bound to what.
"""

from runtime.lifecycle.follower import ApplicationFollower
from runtime.lifecycle.reports import Ending, PodReport, Stage

__all__ = ["ApplicationFollower", "Ending", "PodReport", "Stage"]
