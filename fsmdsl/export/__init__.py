"""Systems in the languages of other model checkers, one module for each. Text comes out; nothing is run or written.

What a language cannot say is refused by name (`refusals`), never approximated.
"""

from collections.abc import Callable, Mapping

from fsmdsl import model as m
from fsmdsl.export import promela, tla


def _promela(model: m.Model, system: m.System) -> str:
    return promela.promela(model, system).text


def _tla(model: m.Model, system: m.System) -> str:
    return tla.tla(model, system).text


TARGETS: Mapping[str, Callable[[m.Model, m.System], str]] = {"promela": _promela, "tla": _tla}
"""By the name that `fsm export --to` takes."""

__all__ = ["TARGETS"]
