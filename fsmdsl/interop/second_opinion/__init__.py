"""What another model checker says of a system, beside what our own search has found."""

from fsmdsl.interop.second_opinion.compare import Row, SecondOpinion, compare
from fsmdsl.interop.second_opinion.opinion import Budgeted, Key, MissingError, Opinion

__all__ = ["Budgeted", "Key", "MissingError", "Opinion", "Row", "SecondOpinion", "compare"]
