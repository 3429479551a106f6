"""The journal by itself: what is committed lasts, and what is damaged is found, told and cut, never believed."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from random import Random

import pytest
from tiers import today

from runtime.journal import Journal, JournalError, set_aside
from runtime.journal.repair import finish


def filled(path: Path, commits: int = 60, least: int = 2000) -> list[dict[str, str]]:
    """The file of a journal as a killed process leaves it, and the map after each of its commits."""
    work = path.with_name("work")
    work.mkdir()
    journal = Journal(work / path.name, least=least, synchronised=False)
    random, states = Random(7), [dict(journal.images)]
    for number in range(commits):
        for _ in range(random.randint(1, 3)):
            key = f"key {random.randrange(40)}\n"
            journal.write("test", {key: "x" * random.randrange(300) + str(number) if random.random() < 0.8 else None})
        journal.commit()
        states.append(dict(journal.images))
    journal.sync()
    for file in work.iterdir():
        shutil.copy(file, path.parent / file.name)
    journal.close()
    shutil.rmtree(work)
    return states


def last(path: Path) -> Path:
    return path.with_name(path.name + "-last")


def wal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def test_what_is_committed_lasts_and_nothing_else(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.write("a", {"x": "1", "y": "2"})
    journal.write("b", {"x": None, "z": "ü€\u2028"})
    assert journal.images == {"y": "2", "z": "ü€\u2028"}
    journal.commit()
    journal.write("c", {"y": "3"})
    journal.close()
    again = Journal(tmp_path / "j")
    assert again.images == {"y": "2", "z": "ü€\u2028"}
    assert (again.number, again.damage) == (2, None)
    with pytest.raises(JournalError, match="closed"):
        journal.write("d", {})


def test_snapshots_keep_it_short(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", least=10_000, synchronised=False)
    for number in range(3000):
        journal.write("test", {str(number % 10): "x" * 100})
        journal.commit()
    (records,) = journal._store.connection.execute("SELECT count(*) FROM record").fetchone()
    assert records < 400
    assert (tmp_path / "j").stat().st_size < 300_000
    images = dict(journal.images)
    journal.close()
    assert Journal(tmp_path / "j").images == images


def test_a_journal_that_is_often_opened_stays_short_too(tmp_path: Path) -> None:
    for number in range(60):
        journal = Journal(tmp_path / "j", least=10_000)
        for i in range(10):
            journal.write("test", {str(number): "x" * 100 + str(i)})
        journal.commit()
        journal.close()
    journal = Journal(tmp_path / "j")
    (records,) = journal._store.connection.execute("SELECT count(*) FROM record").fetchone()
    assert records < 400
    assert len(journal.images) == 60


def test_a_snapshot_comes_when_more_than_twice_its_size_has_been_written(tmp_path: Path) -> None:
    stages: list[str] = []
    journal = Journal(tmp_path / "j", stages.append, least=0)
    journal.write("set", {"a": "x" * 4000})
    journal.commit()
    assert stages.count("snapshot") == 1
    for _ in range(3):
        assert stages.count("snapshot") == 1
        journal.write("set", {"a": "y" * 3000})
        journal.commit()
    assert stages.count("snapshot") == 2


# Damage --------------------------------------------------------------------------------------------------------------


def sql(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount, "the statement must hit something"
    connection.close()


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("UPDATE record SET content = CAST(upper(CAST(content AS TEXT)) AS BLOB) WHERE number = ?", "is damaged"),
        ("UPDATE record SET checksum = zeroblob(16) WHERE number = ?", "is damaged"),
        ("DELETE FROM record WHERE number = ?", "is missing, and record"),
        ("UPDATE record SET number = 10000 WHERE number = ?", "is missing, and record"),
    ],
)
def test_a_record_that_does_not_belong_there_ends_the_journal(tmp_path: Path, damage: str, why: str) -> None:
    path = tmp_path / "j"
    states = filled(path, least=10**9)
    numbers = [0]
    with sqlite3.connect(path) as connection:
        numbers += [n for (n,) in connection.execute("SELECT number FROM record")]
    connection.close()
    sql(path, damage.replace("?", "50"))
    journal = Journal(path)
    assert journal.damage is not None
    assert why in str(journal.damage)
    assert f"{numbers[-1] - 49} records at the end are gone" in str(journal.damage)
    assert journal.damage.last == journal.number == 49
    assert journal.damage.aside is not None
    assert journal.damage.aside.exists()
    assert str(journal.damage).endswith(f"; the damaged file is {journal.damage.aside}")
    assert any(journal.images == state for state in states) or journal.number == 49
    journal.write("more", {"new": "1"})
    journal.commit()
    journal.close()
    again = Journal(path)
    assert again.damage is None, "it has been told once, and is sound now"
    assert again.images["new"] == "1"
    assert again.number == 50


def test_when_the_newest_snapshot_is_damaged_the_one_before_it_serves(tmp_path: Path) -> None:
    path = tmp_path / "j"
    states = filled(path)
    sql(path, "UPDATE snapshot SET content = zeroblob(10) WHERE number = (SELECT max(number) FROM snapshot)")
    journal = Journal(path)
    assert "the snapshot at record" in str(journal.damage)
    assert journal.images == states[-1], "nothing is lost"


def test_without_any_whole_snapshot_nothing_is_believed_that_followed_one(tmp_path: Path) -> None:
    path = tmp_path / "j"
    filled(path)
    sql(path, "UPDATE snapshot SET tip = zeroblob(16)")
    journal = Journal(path)
    assert journal.damage is not None
    assert (journal.images, journal.number) == ({}, 0)


def test_a_log_that_ends_too_early_is_told(tmp_path: Path) -> None:
    path = tmp_path / "j"
    states = filled(path, commits=5)
    os.truncate(wal(path), wal(path).stat().st_size - 1)
    journal = Journal(path)
    assert journal.images == states[-2]
    assert "at the end" in str(journal.damage)
    assert journal.damage is not None
    assert journal.damage.aside is None
    assert "the damaged file" not in str(journal.damage)


@pytest.mark.parametrize("seed", today(range(150)))
def test_whatever_is_damaged_what_is_read_was_once_written(seed: int, tmp_path: Path) -> None:
    """Bytes flipped, files cut, in the database and in its log."""
    random, path = Random(seed), tmp_path / "j"
    states = filled(path, least=random.choice((2000, 10**9)))
    if random.random() < 0.4:
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
    files = [file for file in (path, wal(path)) if file.exists() and file.stat().st_size]
    file = random.choice(files)
    size = file.stat().st_size
    if random.random() < 0.3:
        os.truncate(file, random.randrange(size))
    else:
        content = bytearray(file.read_bytes())
        for _ in range(random.choice((1, 1, 4, 40))):
            content[random.randrange(size)] ^= random.randrange(1, 256)
        file.write_bytes(content)
    try:
        journal = Journal(path)
    except JournalError:
        return
    if journal.images != states[-1]:
        assert journal.damage is not None, "a loss is told"
        assert journal.damage.problems
    state = dict(journal.images)
    journal.write("more", {"new": "1"})
    journal.commit()
    journal.close()
    again = Journal(path)
    assert again.damage is None
    assert again.images == {**state, "new": "1"}
    assert state in every_state(), "never misread"


def every_state() -> list[dict[str, str]]:
    """After each record of `filled`."""
    random, states = Random(7), list[dict[str, str]]([{}])
    images: dict[str, str] = {}
    for number in range(60):
        for _ in range(random.randint(1, 3)):
            key = f"key {random.randrange(40)}\n"
            value = "x" * random.randrange(300) + str(number) if random.random() < 0.8 else None
            images = {k: v for k, v in {**images, key: value}.items() if v is not None}
            states.append(images)
    return states


def test_a_repair_that_was_interrupted_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "j"
    states = filled(path)
    shutil.copy(path, tmp_path / "j.new")
    shutil.copy(wal(path), tmp_path / "j.new-wal")
    Journal(tmp_path / "j.new").close()
    os.replace(path, tmp_path / "j.damaged-1")
    finish(path)
    journal = Journal(path)
    assert journal.images == states[-1], "and the log of the damaged one is not applied to it"
    assert (tmp_path / "j.damaged-2-wal").exists() or (tmp_path / "j.damaged-1-wal").exists()


# What cannot be used -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("synchronised", [True, False])
def test_what_is_written_waits_for_the_disk_if_it_should(
    synchronised: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda file: waited.append(os.fstat(file).st_ino))
    journal = Journal(tmp_path / "j", synchronised=synchronised)
    waited.clear()
    journal.write("test", {"key": "value"})
    journal.commit()
    journal.sync()
    log = (tmp_path / "j-wal").stat().st_ino
    journal.close()
    assert set(waited) == ({log} if synchronised else set())


def test_it_belongs_to_one_process(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    with pytest.raises(JournalError, match="in use by another process"):
        Journal(tmp_path / "j")
    journal.close()
    Journal(tmp_path / "j").close()


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"physicalCluster:\n" * 1000, "cannot be read"), (b"SQLite format 3\0" + b"\0" * 5000, "cannot be")],
)
def test_another_file_is_left_alone(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "j"
    path.write_bytes(content)
    with pytest.raises(JournalError, match=why):
        Journal(path)
    assert path.read_bytes() == content


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "j") as connection:
        connection.execute("CREATE TABLE pictures (name TEXT)")
    connection.close()
    with pytest.raises(JournalError, match="is not a journal"):
        Journal(tmp_path / "j")


def test_a_journal_of_another_version_is_left_alone(tmp_path: Path) -> None:
    Journal(tmp_path / "j").close()
    with sqlite3.connect(tmp_path / "j") as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(JournalError, match="of version 7"):
        Journal(tmp_path / "j")


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be opened"):
        Journal(tmp_path / "no" / "such" / "folder")


def test_when_the_disk_is_full_nothing_more_is_taken_and_what_was_committed_is_there(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.write("test", {"a": "1"})
    journal.commit()
    (pages,) = journal._store.connection.execute("PRAGMA page_count").fetchone()
    journal._store.connection.execute(f"PRAGMA max_page_count = {pages}")

    def fill() -> None:
        for number in range(100):
            journal.write("test", {str(number): "x" * 4000})
        journal.commit()

    with pytest.raises(JournalError, match="full"):
        fill()
    with pytest.raises(JournalError, match="full"):
        journal.write("test", {"b": "1"})
    with pytest.raises(JournalError, match="full"):
        journal.commit()
    journal.close()
    assert Journal(tmp_path / "j").images == {"a": "1"}


def test_a_journal_that_is_out_of_date_is_set_aside_whole(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    states = filled(path)
    before = {file.name for file in tmp_path.iterdir()}
    assert set_aside(path) == tmp_path / "journal.stale-1"
    assert {file.name.replace("journal.stale-1", "journal") for file in tmp_path.iterdir()} == before
    aside = Journal(tmp_path / "journal.stale-1")
    assert (aside.damage, aside.images) == (None, states[-1])
    aside.close()
    fresh = Journal(path)
    assert (fresh.damage, dict(fresh.images)) == (None, {})
    fresh.close()
    assert set_aside(path) == tmp_path / "journal.stale-2"
    assert set_aside(path) is None
