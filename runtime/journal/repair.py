"""A damaged journal is written anew, with all that can be believed; the damaged one is kept beside it."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.journal.chain import Replay, write_changes
from runtime.journal.store import Store

SUFFIXES = ("-wal", "-shm", "-journal", "")
"""Of the files that belong to a database of SQLite, the database last."""


def write_anew(store: Store, replay: Replay) -> Path:
    """Closes the damaged journal and puts a sound one in its place; answers where the damaged one is now.

    A crash on the way leaves the damaged one, or a sound one whose last move `finish` makes.
    """
    path, fresh = store.path, _fresh(store.path)
    store.close()
    _remove(fresh)
    sound = Store(fresh)
    run = sound.connection.execute
    run("BEGIN IMMEDIATE")
    sound.snapshot(replay.number, replay.tip, write_changes("snapshot", replay.images))
    run("COMMIT")
    run("PRAGMA journal_mode = DELETE")
    sound.close()
    aside = _aside(path)
    os.replace(path, aside)
    finish(path, aside)
    return aside


def finish(path: Path, aside: Path | None = None) -> None:
    """Makes the last moves of a repair, if a crash has come in between."""
    fresh = _fresh(path)
    if path.exists() or not fresh.exists():
        return
    aside = aside or _aside(path)
    for suffix in SUFFIXES[:-1]:
        log = path.with_name(path.name + suffix)
        if log.exists():
            os.replace(log, aside.with_name(aside.name + suffix))
    os.replace(fresh, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def set_aside(path: Path) -> Path | None:
    """Moves a journal that is not open and is out of date out of the way: beside it, as `NAME.stale-1`.

    Answers where it is now; none where there is no journal.
    """
    finish(path)
    if not path.exists():
        return None
    aside = _aside(path, "stale")
    for suffix in (*SUFFIXES, "-last"):
        file = path.with_name(path.name + suffix)
        if file.exists():
            os.replace(file, aside.with_name(aside.name + suffix))
    return aside


def _remove(path: Path) -> None:
    for suffix in SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _fresh(path: Path) -> Path:
    return path.with_name(path.name + ".new")


def _aside(path: Path, why: str = "damaged") -> Path:
    number = 1
    while path.with_name(f"{path.name}.{why}-{number}").exists():
        number += 1
    return path.with_name(f"{path.name}.{why}-{number}")
