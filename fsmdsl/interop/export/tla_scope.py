"""What the operators of one system share in TLA+: names, places in the source, `let`s, loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fsmdsl.core.elaborate import Body
from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.interop.export.refusals import Reason, Refusal, RefusedError
from fsmdsl.interop.export.scope import Scope, identifier


@dataclass(frozen=True, slots=True)
class Env:
    """Where an expression is read: the world (a name), the instance, what variables are called, and what is called so
    here, hidden variables too: TLA+ has no two things of one name."""

    world: str = "w"
    self: str = "self"
    names: Mapping[str, str] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()

    def bind(self, name: str) -> tuple[str, Env]:
        """A variable, called as nothing around it is."""
        plain = text = f"v_{identifier(name)}"
        count = 1
        while text in self.taken:
            count += 1
            text = f"{plain}_{count}"
        return text, replace(self, names={**self.names, name: text}, taken=self.taken | {text})

    def at(self, world: str) -> Env:
        """The same in another world."""
        return replace(self, world=world)


@dataclass(slots=True)
class TlaScope(Scope):
    """One system on its way to TLA+."""

    FIRST_QUEUE: ClassVar[int] = 1
    EQUAL: ClassVar[str] = "{} = {}"
    BOTH: ClassVar[str] = " /\\ "
    CHOICE: ClassVar[str] = "(IF {} THEN {} ELSE {})"

    operators: list[str] = field(default_factory=list)
    recursive: list[str] = field(default_factory=list)
    lets: dict[tuple[str, str, int], tuple[str, Body, bool]] = field(default_factory=dict)

    def fresh(self, name: str) -> str:
        """A name that nothing else has."""
        self.used += 1
        return f"{name}{self.used}"

    def refused(self, reason: Reason, what: str) -> RefusedError:
        """The error that ends the export."""
        return RefusedError(Refusal(reason, what, self.universe.system.span))
