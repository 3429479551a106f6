"""The file of a journal: a database of SQLite, written ahead (WAL), synchronised when `sync` is called.

A commit appends to the log, and does not wait for the disk (`synchronous = NORMAL`). After a loss of power SQLite reads
the log up to the first frame that is not whole, so that what is left is a beginning of what was committed. It
synchronises the log itself before it moves pages to the database.

Source: SQLite, "Write-Ahead Logging", "Performance Considerations"; "PRAGMA synchronous".
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path

from runtime.journal.chain import START, Record, Replay, apply, checksum, is_whole

APPLICATION = 0x46534D4A
VERSION = 1
SCHEMA = f"""
CREATE TABLE record (number INTEGER PRIMARY KEY, content BLOB NOT NULL, checksum BLOB NOT NULL) STRICT;
CREATE TABLE snapshot (number INTEGER PRIMARY KEY, tip BLOB NOT NULL, content BLOB NOT NULL, checksum BLOB NOT NULL)
    STRICT;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
"""


class JournalError(Exception):
    """The journal cannot be used."""


class Store:
    """Records and snapshots in one file, which belongs to one process as long as it is open."""

    def __init__(self, path: Path, *, synchronised: bool = True) -> None:
        """Without `synchronised`, nothing waits for the disk: enough for a process that is killed, and for tests."""
        self.path = path
        self._mode = "NORMAL" if synchronised else "OFF"
        try:
            self.connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1)
        except sqlite3.Error as error:
            raise JournalError(f"journal {path} cannot be opened: {error}") from error
        try:
            self._prepare()
            self._log = os.open(path.with_name(path.name + "-wal"), os.O_RDONLY | os.O_CLOEXEC) if synchronised else -1
        except OSError as error:
            self.connection.close()
            raise JournalError(f"the log of journal {path} cannot be opened: {error.strerror}") from error
        except BaseException:
            self.connection.close()
            raise

    def _prepare(self) -> None:
        run = self.connection.execute
        try:
            run("PRAGMA locking_mode = EXCLUSIVE")
            run("PRAGMA trusted_schema = OFF")
            run("PRAGMA cell_size_check = ON")
            (tables,) = run("SELECT count(*) FROM sqlite_master").fetchone()
            (owner,), (version,) = run("PRAGMA application_id").fetchone(), run("PRAGMA user_version").fetchone()
            if owner != (APPLICATION if tables else 0):
                raise JournalError(f"{self.path} is not a journal, or its header is damaged: {ADVICE}")
            if tables and version != VERSION:
                raise JournalError(f"journal {self.path} is of version {version}, not {VERSION}: {ADVICE}")
            run("PRAGMA journal_mode = WAL")
            run(f"PRAGMA synchronous = {self._mode}")
            if not tables:
                self.connection.executescript(f"BEGIN EXCLUSIVE;{SCHEMA}COMMIT;")
            else:
                run("BEGIN IMMEDIATE")
                run("COMMIT")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise JournalError(f"journal {self.path} is in use by another process") from error
            raise JournalError(f"journal {self.path} cannot be used: {error}") from error
        except sqlite3.DatabaseError as error:
            raise JournalError(f"journal {self.path} cannot be read ({error}): {ADVICE}") from error

    def close(self) -> None:
        """Lets go of the file."""
        if self._log >= 0:
            os.close(self._log)
            self._log = -1
        self.connection.close()

    # Reading

    def records(self, after: int, problems: list[str]) -> Iterator[Record]:
        """Records in order, as far as the file can be read."""
        try:
            query = "SELECT number, content, checksum FROM record WHERE number > ? ORDER BY number"
            for number, content, check in self.connection.execute(query, (after,)):
                yield Record(number, content, check)
        except (sqlite3.Error, OverflowError, TypeError) as error:
            problems.append(f"the records cannot be read to their end: {error}")

    def replay(self, problems: list[str]) -> Replay:
        """All that can be believed: the newest whole snapshot, and the records that follow it without a gap."""
        replay = self._newest(problems) or Replay(0, START, {})
        replay.follow(self.records(replay.number, problems))
        if replay.broken:
            problems.append(replay.broken)
        elif not replay.number and problems:
            problems.append("no whole snapshot, and no record that follows one")
        return replay

    def _newest(self, problems: list[str]) -> Replay | None:
        """The newest whole snapshot. There are two, so that the loss of one is not the loss of all."""
        rows: list[tuple[int, bytes, bytes, bytes]] = []
        try:
            query = "SELECT number, tip, content, checksum FROM snapshot ORDER BY number DESC"
            rows.extend(self.connection.execute(query))
        except (sqlite3.Error, OverflowError, TypeError) as error:
            problems.append(f"the snapshots cannot be read: {error}")
        for number, tip, content, check in rows:
            if is_whole(tip, number, content, check):
                images: dict[str, str] = {}
                apply(zlib.decompress(content), images)
                return Replay(number, tip, images)
            problems.append(f"the snapshot at record {number} is damaged")
        return None

    def check(self, problems: list[str]) -> None:
        """Has SQLite look for damage that reading did not meet, but writing may."""
        try:
            (verdict,) = self.connection.execute("PRAGMA integrity_check(1)").fetchone()
        except sqlite3.Error as error:
            verdict = str(error)
        if verdict != "ok":
            problems.append(f"the file is damaged: {verdict}")

    # Writing

    def sync(self) -> None:
        """Comes back when all that was committed is on the disk. From any thread. Raises `OSError`."""
        if self._log >= 0:
            os.fdatasync(self._log)

    def append(self, record: Record) -> None:
        """Adds a record to the transaction under way."""
        self.connection.execute("INSERT INTO record VALUES (?, ?, ?)", (record.number, record.content, record.checksum))

    def snapshot(self, number: int, tip: bytes, content: bytes) -> int:
        """Adds a snapshot, and drops what the one before it has made superfluous; answers its size in bytes."""
        run, packed = self.connection.execute, zlib.compress(content, 1)
        run("DELETE FROM snapshot WHERE number < (SELECT max(number) FROM snapshot)")
        run("DELETE FROM record WHERE number <= (SELECT max(number) FROM snapshot)")
        run("INSERT OR REPLACE INTO snapshot VALUES (?, ?, ?, ?)", (number, tip, packed, checksum(tip, number, packed)))
        return len(packed)


ADVICE = "move it aside and start a new one; bound pods are recovered from their annotations"
