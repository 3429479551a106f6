"""Codes of what a step can come to.

0: it ended well. 1: the event was ignored, nothing happened. 2: it was cut, for a crash in the middle. 3: more answers
are awaited than the layout has room for. From `FIRST` on: a fault, one code for each place of the text where one can
arise. Below 0: the event could not be delivered; whoever sent it makes a fault of his own of it.
"""

from __future__ import annotations

IGNORED, CUT, FULL, FIRST = 1, 2, 3, 4

REENTRANCE, BUSY, NESTED, UNHANDLED = 1, 2, 3, 4
"""Why an event could not be delivered, negated; for `UNHANDLED` the number of the leaf is added."""

FAULT = -(1 << 62)
"""A function that is worth a value returns this less the code of the fault where there is no value. No value is as low.
"""

UNKNOWN = -(1 << 61)
"""In a variable: the value has not been computed yet. No value is as low."""
