"""A web page of a cluster as it is now, of a service or of a simulation: cells by state, gangs in their diagrams.

`recording` captures the state of a cluster as a frame and computes the difference of two frames, `feed` holds the
latest frame for all viewers, `pages` serves them, `paced` slows a simulation down to a pace that a viewer can follow,
and `live` serves it meanwhile.
"""

from runtime.view.feed import FrameFeed
from runtime.view.recording import Frame, Recorder

__all__ = ["Frame", "FrameFeed", "Recorder"]
