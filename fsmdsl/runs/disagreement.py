"""The report of a search that says something else than the definition of the language."""

from __future__ import annotations

from fsmdsl.runs.trace import world_lines
from fsmdsl.step import Universe, World


class DisagreementError(Exception):
    """A search disagrees with the definition of the language. That is a bug in fsmdsl: the message is for a report."""


def disagreement(universe: Universe, world: World, what: str, search: object, definition: object) -> DisagreementError:
    """The error for something that a search and the definition say differently about a world."""
    lines = [
        f"the search of `{universe.system.qualified}` disagrees with the definition of the language, "
        "so none of its verdicts can be trusted",
        f"  about {what}",
        f"  the search says:      {search}",
        f"  the definition says:  {definition}",
        "  in this state:",
        *(f"    {line}" for line in world_lines(universe, world)),
    ]
    return DisagreementError("\n".join(lines))
