"""What another model checker says of a system, beside what our own search has found."""

from fsmdsl.opinion.compare import Row, SecondOpinion, compare
from fsmdsl.opinion.opinion import Budgeted, Key, MissingError, Opinion

__all__ = ["Budgeted", "Key", "MissingError", "Opinion", "Row", "SecondOpinion", "compare"]
