"""A journal: a map of texts of which every change, once it is committed, survives whatever happens to the process."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import NoReturn

from runtime.journal.chain import Record, apply, checksum, write_changes
from runtime.journal.repair import finish, set_aside, write_anew
from runtime.journal.steps import steps
from runtime.journal.store import JournalError, Store
from runtime.journal.witness import Witness

__all__ = ["Damage", "Journal", "JournalError", "set_aside", "steps"]

MIN_SNAPSHOT_BYTES = 1_000_000
"""Minimum number of bytes of records before a snapshot; it also needs twice the size of the last snapshot."""


@dataclass(frozen=True, slots=True)
class Damage:
    """What a journal has lost, and was cut to."""

    problems: tuple[str, ...]
    last: int
    """The number of the last record that is left."""
    aside: Path | None
    """Where the damaged file is; none where nothing but the end of its log was gone."""

    def __str__(self) -> str:
        copy_note = f"; the damaged file is {self.aside}" if self.aside is not None else ""
        return f"the journal was cut after record {self.last}: {'; '.join(self.problems)}{copy_note}"


class Journal:
    """Belongs to one thread at a time, but for `sync` and `synced`.

    `write` adds a record to the transaction under way. `commit` makes it survive the process: whatever was written
    before a commit that has returned is there after a crash, and of what was written after it, nothing. `sync` makes
    it survive the computer. After a loss of power all is there that was committed before a `sync` that has returned;
    of what was committed later, the first commits may be there, each as a whole, and none without those before it.

    `watch` is called with the name of each stage of writing before it begins; tests end the process there.
    """

    def __init__(
        self,
        path: str | Path,
        watch: Callable[[str], object] = lambda stage: None,
        least: int = MIN_SNAPSHOT_BYTES,
        *,
        synchronised: bool = True,
    ) -> None:
        """Without `synchronised`, `sync` does not wait for the disk; tests that pull no plug need not."""
        self.path = Path(path)
        self._least = least
        self._synchronised = synchronised
        self._syncing = Lock()
        self._committed, self._synced = 0, -1
        """Numbers of records. What a process before this one committed was not synchronised, perhaps."""
        finish(self.path)
        self._watch = watch
        self._store = Store(self.path, synchronised=synchronised)
        self._failed = ""
        self._open = self._closed = False
        try:
            self._witness = Witness(self.path.with_name(self.path.name + "-last"))
            self._read()
        except BaseException:
            self._store.close()
            raise

    def _read(self) -> None:
        problems: list[str] = []
        replay = self._store.replay(problems)
        self._store.check(problems)
        aside = None
        if problems:
            aside = write_anew(self._store, replay)
            self._store = Store(self.path, synchronised=self._synchronised)
        seen = self._witness.read()
        if seen > replay.number:
            problems.append(f"{seen - replay.number} records at the end are gone, the last one was {seen}")
        self.damage = Damage(tuple(problems), replay.number, aside) if problems else None
        self.images: Mapping[str, str] = replay.images
        """The map, as of the last `write`."""
        self._images, self._number, self._tip = replay.images, replay.number, replay.tip
        self._since, self._size = replay.size, 0
        self._committed = self._number
        self.sync()

    @property
    def number(self) -> int:
        """Of the last record."""
        return self._number

    def write(self, kind: str, changes: Mapping[str, str | None]) -> None:
        """Adds a record: all of it will last, or nothing. Values have no line breaks; none removes a key."""
        self._usable()
        content = write_changes(kind, changes)
        number = self._number + 1
        record = Record(number, content, checksum(self._tip, number, content))
        try:
            if not self._open:
                self._watch("begin")
                self._store.connection.execute("BEGIN IMMEDIATE")
                self._open = True
            self._watch("append")
            self._store.append(record)
        except sqlite3.Error as error:
            self._fail(error)
        apply(content, self._images)
        self._number, self._tip = number, record.checksum
        self._since += len(content)

    def commit(self) -> None:
        """Makes everything survive the process that was written."""
        self._usable()
        if not self._open:
            return
        try:
            if self._since > max(self._least, 2 * self._size):
                self._snapshot()
            self._watch("commit")
            self._store.connection.execute("COMMIT")
            self._watch("committed")
        except sqlite3.Error as error:
            self._fail(error)
        self._open = False
        self._committed = self._number

    @property
    def synced(self) -> bool:
        """Whether everything that was committed is on the disk."""
        return self._synced >= self._committed

    def sync(self) -> None:
        """Comes back when everything is on the disk that was committed before. Raises `JournalError`.

        Calls that come while another one is under way share the next write to the disk.
        """
        target = self._committed
        with self._syncing:
            if self._synced >= target:
                return
            self._usable()
            number = self._committed
            self._watch("sync")
            try:
                self._store.sync()
            except OSError as error:
                self._fail(error)
            self._witness.write(number)
            self._synced = number

    def snapshot(self) -> None:
        """Writes down the whole map now, so that recovery need not go back further. It comes by itself, too."""
        self._usable()
        try:
            if not self._open:
                self._store.connection.execute("BEGIN IMMEDIATE")
                self._open = True
            self._snapshot()
        except sqlite3.Error as error:
            self._fail(error)
        self.commit()

    def _snapshot(self) -> None:
        self._watch("snapshot")
        self._since = 0
        content = write_changes("snapshot", self._images)
        self._size = len(content)
        self._store.snapshot(self._number, self._tip, content)

    def _fail(self, error: Exception) -> NoReturn:
        """Memory is ahead of the disk: its contents must not be acted on."""
        self._failed = f"journal {self.path} cannot be written: {error}"
        raise JournalError(self._failed) from error

    def _usable(self) -> None:
        if self._failed:
            raise JournalError(self._failed)

    def close(self) -> None:
        """What is not committed is lost, and all else is on the disk."""
        if self._closed:
            return
        self._closed = True
        if not self._failed:
            with suppress(JournalError):
                self.sync()
        with self._syncing:
            self._failed = self._failed or f"journal {self.path} is closed"
            self._store.close()
            self._witness.close()
