"""How far the journal went, written beside it whenever it was synchronised.

A file that ends too early looks whole: SQLite itself drops damaged transactions at the end of its log without a word.
The witness is not synchronised, as it is only to know of what the file has lost: after a loss of power it may know
less than the journal, never more.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


class Witness:
    """The number of the last record that is known to be on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def read(self) -> int:
        """Nothing where there is no sense in it."""
        with contextlib.suppress(ValueError):
            return int(os.pread(self._file, 40, 0))
        return 0

    def write(self, number: int) -> None:
        """Notes that the journal is on the disk up to here."""
        os.pwrite(self._file, b"%20d\n" % number, 0)

    def close(self) -> None:
        """Lets go of the file."""
        os.close(self._file)
