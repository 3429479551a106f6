"""The command line of `fsm verify`."""

from __future__ import annotations

from pathlib import Path

from fsmdsl.dataclasses import dataclass
from fsmdsl.search import Keeping
from fsmdsl.text.budget import Budget


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """The command line. Each field has the name of its parameter of the command."""

    paths: tuple[str, ...]
    as_documented: bool
    without: tuple[str, ...]
    each_amendment: bool
    names: tuple[str, ...]
    settings: tuple[str, ...]
    max_states: int | None
    budget: Budget
    jobs: int | None
    workers: int | None
    no_symmetry: bool
    stutter: bool
    every: bool
    runs: bool
    brief: bool
    hide: tuple[str, ...]
    as_shortest: bool
    by_hand: bool
    replay: Path | None
    charts: Path | None
    save: Path | None
    save_every: float
    resume: Path | None
    other: str | None
    tool: str | None
    certificate: Path | None
    with_states: bool
    force: bool
    form: str | None
    outputs: tuple[Path, ...]

    @property
    def keeping(self) -> Keeping | None:
        """Where the search is saved, and what it continues."""
        if self.save is None and self.resume is None:
            return None
        return Keeping(self.save, self.resume, self.save_every)
