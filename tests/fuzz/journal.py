"""Damages of the allocator's journal: what is read was once written, a loss is told, and it can be written again."""

from __future__ import annotations

import logging
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import test_journal
from hypothesis import strategies as st

from fuzz.target import Target
from runtime.journal import Journal, JournalError

LEASTS = (2000, 10**9)
"""With snapshots, and without any."""


@cache
def _filled(least: int) -> tuple[dict[str, bytes], list[dict[str, str]]]:
    """The files of a journal, and what it held after each commit."""
    folder = Path(mkdtemp(prefix="fuzz-journal-"))
    try:
        states = test_journal.filled(folder / "j", least=least)
        return {x.name: x.read_bytes() for x in folder.iterdir()}, states
    finally:
        shutil.rmtree(folder)


every_state = cache(test_journal.every_state)


def _damaged(files: dict[str, bytes], damages: list[list[Any]]) -> dict[str, bytes]:
    files = dict(files)
    for kind, name, at, more in damages:
        named = sorted(files)[name % len(files)]
        content = bytearray(files[named])
        place, length = at % (len(content) + 1), len(content)
        match kind:
            case "flip" if place < length:
                content[place] ^= more % 255 + 1
            case "cut":
                del content[place:]
            case "zero":
                content[place : place + more] = bytes(len(content[place : place + more]))
            case "drop":
                del content[place : place + more]
            case "double":
                content[place:place] = content[place : place + more]
            case "swap":
                other = more * 4096 % (length + 1)
                page = place // 4096 * 4096
                content[page : page + 4096], content[other : other + 4096] = (
                    content[other : other + 4096],
                    content[page : page + 4096],
                )
            case "remove":
                del files[named]
                if not files:
                    return files
                continue
        files[named] = bytes(content)
    return files


def _check(damage: dict[str, Any]) -> None:
    logging.disable(logging.CRITICAL)
    files, states = _filled(LEASTS[damage["least"] % 2])
    folder = Path(mkdtemp(prefix="fuzz-journal-"))
    try:
        damaged = _damaged(files, damage["damages"])
        for name, content in damaged.items():
            (folder / name).write_bytes(content)
        # Nobody can tell what is gone where the database is, or the note of how far it came.
        noted = bool(damaged.get("j")) and damaged.get("j-last") == files["j-last"]
        _reads(folder / "j", states, noted)
    finally:
        logging.disable(logging.NOTSET)
        shutil.rmtree(folder)


def _reads(path: Path, states: list[dict[str, str]], noted: bool) -> None:
    try:
        journal = Journal(path)
    except JournalError:
        return
    journal._store.connection.execute("PRAGMA synchronous = OFF")
    assert journal.images in every_state(), "never misread"
    if journal.images != states[-1] and noted:
        assert journal.damage is not None, "a loss is told"
    state = dict(journal.images)
    journal.write("more", {"new": "1"})
    journal.commit()
    journal.close()
    again = Journal(path)
    assert again.damage is None
    assert again.images == {**state, "new": "1"}
    again.close()


_damage = st.tuples(
    st.sampled_from(("flip", "flip", "flip", "cut", "zero", "drop", "double", "swap", "remove")),
    st.integers(0, 3), st.one_of(st.integers(0, 2**18), st.integers(0, 200)), st.integers(0, 5000),
).map(list)  # fmt: skip
journal = Target(
    "journal",
    st.builds(lambda n, x: {"least": n, "damages": x}, st.integers(0, 1), st.lists(_damage, min_size=1, max_size=6)),
    _check,
)
