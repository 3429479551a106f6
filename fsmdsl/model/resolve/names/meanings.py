"""What the names in a text stand for, noted as they are bound: for editors, which are asked about single words."""

from __future__ import annotations

from typing import Literal

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import NamedTuple
from fsmdsl.text.source import Span

Kind = Literal[
    "module", "machine", "enum", "member", "record", "part", "opaque", "let", "channel", "system", "scenario", "locks",
    "lock", "state", "event", "action", "outcome", "field", "param", "parameter", "label", "invariant", "reachable",
    "property", "group", "local", "amendment", "environment",
]  # fmt: skip


class Meaning(NamedTuple):
    """A thing that has a name. (A tuple, as there are many.) `owner` is what it is declared in: the qualified name of a
    machine, system, module, or of an event with parameters; empty for a module. A `local` is known by the place `at`
    which it is bound."""

    kind: Kind
    owner: str
    name: str
    at: Span | None = None

    @property
    def qualified(self) -> str:
        """Of what is declared in something. A module is not: its name is `name`."""
        return f"{self.owner}.{self.name}"


class Use(NamedTuple):
    """A word, or several with dots between them, and what it stands for. Where it could be several things, as after
    `fair`, there is a use for each."""

    span: Span
    meaning: Meaning
    declares: bool = False
    type: m.Type | None = None
    """Of a `local` where it is bound."""


def prefix(path: s.Path) -> Span | None:
    """The names of a path but for the last, which say the module."""
    return path.names[0].span.to(path.names[-2].span) if len(path.names) > 1 else None
