"""Writes the model for SPIN, rumur and TLC at one size, to try them by hand.

Usage: python gen.py GROUPS CELLS SIZE FOLDER
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from murphi import murphi
from promela import promela
from tla import configuration


def main(groups: int, cells: int, size: int, folder: Path) -> None:
    """Write them all."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = groups, cells, size
    files = {
        "hived.pml": promela(*numbers, loops=False),
        "hived_loops.pml": promela(*numbers, loops=True),
        "hived.m": murphi(*numbers, "loop"),
        "hived_unrolled.m": murphi(*numbers, "unrolled"),
        "hived_symmetric.m": murphi(*numbers, "symmetric"),
        "HiveD.cfg": configuration(*numbers, symmetric=False),
        "HiveDSymmetric.cfg": configuration(*numbers, symmetric=True),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    shutil.copy(Path(__file__).parent / "HiveD.tla", folder)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), Path(sys.argv[4]))
