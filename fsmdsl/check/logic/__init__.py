"""Deciding guards: can these hold together, and with what values?

A guard is brought into a normal form (`normal`), its data become variables with finite domains (`problem`), and the
domains are halved until the answer is clear (`solve`). Whatever is not finite (sets of instances, other instances'
data) becomes a variable of its own that may have any value. So "never" is always right, and "possible" is exact as
long as nothing of that kind took part.
"""

from __future__ import annotations

from fsmdsl.check.logic.normal import Normal, TooLargeError
from fsmdsl.check.logic.problem import Problem
from fsmdsl.check.logic.solve import BUDGET, GAVE_UP, Solution, solve

__all__ = ["BUDGET", "GAVE_UP", "Normal", "Problem", "Solution", "TooLargeError", "solve"]
