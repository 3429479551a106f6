"""Systems in the languages of other model checkers, machines as other tools' statecharts, one module for each. Text
comes out; nothing is run or written.

What the language of a checker cannot say is refused by name (`refusals`), never approximated. What a statechart cannot
say is left out and told (`losses`).
"""

from collections.abc import Callable, Mapping

from fsmdsl import model as m
from fsmdsl.core.unsupported import Lost
from fsmdsl.interop.export import promela, tla
from fsmdsl.interop.export.scxml import scxml
from fsmdsl.interop.export.xstate import xstate


def _promela(model: m.Model, system: m.System) -> str:
    return promela.promela(model, system).text


def _tla(model: m.Model, system: m.System) -> str:
    return tla.tla(model, system).text


TARGETS: Mapping[str, Callable[[m.Model, m.System], str]] = {"promela": _promela, "tla": _tla}
"""Of systems, by the name that `fsm export --to` takes."""

MACHINE_TARGETS: Mapping[str, Callable[[m.Model, m.Machine], tuple[str, tuple[Lost, ...]]]] = {
    "scxml": scxml,
    "xstate": xstate,
}
"""Of machines: the text, and what it leaves out."""

__all__ = ["MACHINE_TARGETS", "TARGETS"]
