"""Why a system cannot be exported: the reasons, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from fsmdsl.dataclasses import dataclass
from fsmdsl.text.source import Span

Reason = Literal[
    "wide value", "many instances", "open duration", "no order", "many starts", "no start",
]  # fmt: skip

REASONS: Mapping[Reason, str] = {
    "wide value": "a value of this type does not fit into 62 bits",
    "many instances": "there are more than 62 instances",
    "open duration": "a set or list of durations has no number of values",
    "no start": "no initial state satisfies `start when`",
    "many starts": "it may begin in more than 1,024 states, and each is written down",
    "no order": "a loop over sets, lists or records has no order in the target",
}
"""What the target cannot say."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is refused, and where it is in the text."""

    reason: Reason
    what: str
    span: Span

    def __str__(self) -> str:
        return f"{self.span}: `{self.what}` cannot be exported: {REASONS[self.reason]}"


class RefusedError(Exception):
    """Ends an export; nothing is approximated."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal
