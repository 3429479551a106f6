"""All rules, wherever they are declared."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from fsmdsl.text.diagnostics import Rule

HOMES = (
    "fsmdsl.syntax.parse",
    "fsmdsl.model.resolve",
    "fsmdsl.check",
    "fsmdsl.search",
    "fsmdsl.draw.svg",
    "fsmdsl.model.workspace",
    "fsmdsl.interop.imports",
    "fsmdsl.interop.drift",
    "fsmdsl.interop.logs",
)
"""The modules that declare rules, each in a tuple `RULES`. They are imported when rules are asked for, not before."""


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule, by code, in the order of the codes."""
    rules: list[Rule] = [rule for home in HOMES for rule in import_module(home).RULES]
    return {rule.code: rule for rule in sorted(rules, key=lambda r: r.code)}
