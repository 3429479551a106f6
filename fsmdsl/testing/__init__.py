"""For the tests of people who implement a spec by hand: their code beside the model, step by step.

Needs Hypothesis: `pip install 'fsmdsl[testing]'`.
"""

from fsmdsl.testing.implementation import Action
from fsmdsl.testing.plain_values import Instance
from fsmdsl.testing.twin import Twin

__all__ = ["Action", "Instance", "Twin"]
