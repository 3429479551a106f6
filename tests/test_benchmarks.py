"""The benchmark of the model checker: the same numbers as its peers count."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

COUNTS = {
    "2_3_2": (37, 115, 4),
    "3_4_2": (812, 4_572, 11),
    "3_5_2": (3_348, 20_612, 11),
    "3_6_3": (5_768, 48_812, 11),
    "4_5_2": (23_756, 196_932, 9),
    "4_6_3": (32_976, 406_552, 9),
}
"""By groups, cells and cells a group needs: states, transitions and depth, on which SPIN, TLC, rumur, a search by hand
in C++ and one in plain Python agree."""

SYMMETRIC = {
    "2_3_2": (14, 46),
    "3_4_2": (109, 670),
    "3_5_2": (119, 938),
    "3_6_3": (120, 1_368),
    "4_5_2": (611, 6_014),
    "4_6_3": (560, 8_198),
}
"""States and transitions where worlds count once that differ in which cell is which; rumur, TLC and Python agree."""


def verified(size: str, *options: str) -> dict[str, object]:
    """What `fsm verify --format json` says of the reference model."""
    settings = [f"--set={name}={n}" for name, n in zip(("groups", "cells", "size"), size.split("_"), strict=True)]
    command = [sys.executable, "-m", "fsmdsl", "verify", "benchmarks/hived_lite.fsm", *settings, *options]
    done = subprocess.run([*command, "--format", "json"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (system,) = json.loads(done.stdout)["systems"]
    return dict(system)


@pytest.mark.parametrize("size", COUNTS)
def test_the_reference_model_has_the_known_number_of_states(size: str) -> None:
    x = verified(size, "--no-symmetry")
    assert (x["states"], x["transitions"], x["depth"]) == COUNTS[size]
    assert x["name"] == "HivedLite"
    assert x["verdict"] == "holds"


@pytest.mark.parametrize("size", SYMMETRIC)
def test_with_symmetry_as_well(size: str) -> None:
    x = verified(size)
    assert (x["states"], x["transitions"]) == SYMMETRIC[size]
