"""A web page of a cluster as it is now, of a service or of a simulation: cells by state, gangs in their diagrams.

`film` makes still pictures of a cluster and says how two differ, `reel` keeps the last one for everybody who looks,
`pages` serves them, `paced` lets a simulation run as fast as one can follow, and `live` serves it meanwhile.
"""

from runtime.view.film import Film, Frame
from runtime.view.reel import Reel

__all__ = ["Film", "Frame", "Reel"]
