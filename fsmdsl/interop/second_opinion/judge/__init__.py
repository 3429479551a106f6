"""A second judge of properties of runs, which shares no code with the first (`runs.liveness`).

It reads the graph of states that the definition of a step gives, and neither the search nor its kernels: formulas are
progressed state by state, and fairness is checked on explicit pairs of states and formulas. It is slow.
"""

from fsmdsl.interop.second_opinion.judge.cases import Judge

__all__ = ["Judge"]
