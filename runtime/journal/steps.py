"""The records of a journal that no process has open, as steps: for who wants to know what has happened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from runtime.journal.chain import is_whole, read_changes
from runtime.journal.store import JournalError, Store


def steps(path: Path) -> Iterator[tuple[int, str, list[tuple[str, str]]]]:
    """Number and kind of each step, and the new values of what it has changed, empty where it is gone.

    Begins with the first record that is there: those before an old snapshot are not. Raises `JournalError` where the
    journal is in use, or damaged.
    """
    problems: list[str] = []
    with closing(Store(path, synchronised=False)) as store:
        before: bytes | None = None
        for record in store.records(-1, problems):
            if before is not None and not is_whole(before, record.number, record.content, record.checksum):
                raise JournalError(f"journal {path}: record {record.number} is damaged")
            before = record.checksum
            kind = record.content.partition(b"\n")[0].decode()
            yield record.number, kind, list(read_changes(record.content))
    if problems:
        raise JournalError(f"journal {path}: {problems[0]}")
