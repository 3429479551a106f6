"""The scripts of the cluster's page name states of the generated classes."""

from __future__ import annotations

import re
from pathlib import Path

from generated.hived import AffinityGroupState, CellState
from runtime.view.pages import STATIC

COMPARISON = re.compile(r'\bstate [!=]== "(\w+)"')


def names(*files: Path) -> set[str]:
    """The states that scripts compare with."""
    return {name for file in files for name in COMPARISON.findall(file.read_text("utf-8"))}


def test_the_map_tells_all_states_of_a_cell_apart() -> None:
    """`kindOf` has a line for each state but the one that is left."""
    assert names(STATIC / "cells.js") == {x.value for x in CellState} - {CellState.USED.value}


def test_no_script_names_another_state() -> None:
    scripts = [x for x in STATIC.glob("*.js") if x.name != "cells.js"]
    states = {x.value for x in (*CellState, *AffinityGroupState)}
    assert names(*scripts)
    assert names(*scripts) <= states
