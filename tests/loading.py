"""The specs of the repository. Many tests ask for the same ones, so each choice of them is loaded once in a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fsmdsl import model as m
from fsmdsl.model.workspace import Loaded, load

ROOT = Path(__file__).parent.parent
SPECS = ROOT / "specs"


@cache
def specs(*paths: Path, as_documented: bool = False) -> Loaded:
    """Files and folders of the repository, which nobody may change."""
    return load(paths, as_documented=as_documented)


def model_of(*paths: Path, as_documented: bool = False) -> m.Model:
    """Their model; they have no errors."""
    loaded = specs(*paths, as_documented=as_documented)
    assert loaded.model is not None, [d.message for d in loaded.diagnostics]
    return loaded.model
