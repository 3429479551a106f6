"""For tests of hand-written implementations of a spec: runs the implementation beside the model, step by step.

Random walks need Hypothesis: `pip install 'fsmdsl[testing]'`.
"""

from fsmdsl.testing.comparison import DifferenceError
from fsmdsl.testing.implementation import Action
from fsmdsl.testing.landscape import Pair, Row, Unhandled
from fsmdsl.testing.plain_values import Instance
from fsmdsl.testing.process import ProcessTwin
from fsmdsl.testing.tour import Coverage, Tour
from fsmdsl.testing.twin import Twin

__all__ = [
    "Action",
    "Coverage",
    "DifferenceError",
    "Instance",
    "Pair",
    "ProcessTwin",
    "Row",
    "Tour",
    "Twin",
    "Unhandled",
]
