"""Files of users: written whole or not at all, read with care; folders of output are owned by a manifest."""

from __future__ import annotations

import ast
import errno
import json
import os
import re
import resource
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from in_process import fsm
from sources import tree

from fsmdsl.text.files import manifest
from fsmdsl.text.files import write as disk
from fsmdsl.text.files.private import distrust, read_private
from fsmdsl.text.files.read import MAX_BYTES, UnreadableError, read_text
from fsmdsl.text.files.seal import is_sealed, seal

pytestmark = pytest.mark.full(reason="processes that write, full disks, kills")

ROOT = Path(__file__).parent.parent
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs modes and links")


def litter(folder: Path) -> list[str]:
    return [x.name for x in folder.rglob(f"*{disk.LITTER}")]


# Writing -------------------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_only_by_something_else(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    assert disk.write(path, "one")
    assert not disk.write(path, "one")
    before = path.stat().st_ino
    assert disk.write(path, b"two")
    assert (path.read_text(), litter(tmp_path)) == ("two", [])
    assert path.stat().st_ino != before


@posix
def test_permissions_stay_and_new_files_have_those_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("one")
    path.chmod(0o640)
    disk.write(path, "two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    mask = os.umask(0o027)
    try:
        disk.write(tmp_path / "y", "new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "y").stat().st_mode) == 0o640


def failing(name: str, number: int) -> Callable[[pytest.MonkeyPatch], None]:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(disk.os, name, fail)

    return patch


@pytest.mark.parametrize(
    "patch", [failing("fsync", errno.EIO), failing("replace", errno.ENOSPC), failing("open", errno.EROFS)]
)
def test_a_write_that_fails_leaves_the_old_file(
    patch: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    with monkeypatch.context() as patched:
        patch(patched)
        with pytest.raises(OSError, match=r"\w"):
            disk.write(path, "new")
    assert (path.read_text(), litter(tmp_path)) == ("old", [])


def test_an_interruption_leaves_the_old_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def interrupted() -> Iterator[memoryview]:
        yield memoryview(b"ne")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        disk.write(path, interrupted())
    assert (path.read_text(), litter(tmp_path)) == ("old", [])


@posix
def test_links_and_special_files_are_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("old")
    link = tmp_path / "link"
    link.symlink_to(target)
    with pytest.raises(OSError, match="is a link to"):
        disk.write(link, "new")
    assert target.read_text() == "old"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is a named pipe"):
        disk.write(tmp_path / "pipe", "new")
    with pytest.raises(OSError, match="is a folder"):
        disk.write(tmp_path, "new")
    disk.write(link, "new", follow=True)
    assert (link.is_symlink(), target.read_text()) == (True, "new")


@posix
@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_read_only_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        disk.write(path, "new")


def test_nothing_that_exists_is_created_again(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        disk.create(tmp_path / "a" / "x", "one")
    (tmp_path / "a").mkdir()
    disk.create(tmp_path / "a" / "x", "one")
    with pytest.raises(FileExistsError):
        disk.create(tmp_path / "a" / "x", "two")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        disk.create(tmp_path / "dangling", "two")
    assert ((tmp_path / "a" / "x").read_text(), litter(tmp_path)) == ("one", [])


PLAIN_WRITERS = {
    "fsmdsl/cli/run.py": "standard output is given up by pointing it to the null device",
    "fsmdsl/recheck.py": "standard output is given up in the same way",
    "fsmdsl/syntax/parse/tabulate.py": "the parser's table, when the grammar of this repository is changed",
    "fsmdsl/cli/versions.py": "what git has of a revision, in a temporary folder",
    "fsmdsl/editor/live/playground.py": "a project in the memory of the browser, which has no disk",
    "fsmdsl/interop/second_opinion/spin.py": "what SPIN reads, in a temporary folder",
    "fsmdsl/interop/second_opinion/tlc.py": "what TLC reads, in a temporary folder",
    "fsmdsl/program/native.py": "a job of the compiler, in a temporary folder",
}
"""Modules that write files in another way than by `files.write`, and why they may."""


def test_nothing_writes_files_but_by_the_one_function() -> None:
    found = {str(x.relative_to(ROOT)) for x in (ROOT / "fsmdsl").rglob("*.py") if any(_writes(tree(x)))}
    assert found - PLAIN_WRITERS.keys() == {"fsmdsl/text/files/write.py"}
    assert PLAIN_WRITERS.keys() <= found, "one of them writes no longer: take it off the list"


OF_PATHS = {"write_text", "write_bytes", "NamedTemporaryFile", "mkstemp", "copyfile", "copy2", "copytree"}
OF_OS = {"replace", "rename", "renames", "link", "symlink", "truncate"}


def _writes(module: ast.AST) -> Iterator[int]:
    for n in ast.walk(module):
        if not isinstance(n, ast.Call):
            continue
        match n.func:
            case ast.Attribute(ast.Name("os"), "open"):
                if any(
                    isinstance(x, ast.Attribute) and x.attr in ("O_WRONLY", "O_RDWR", "O_CREAT") for x in ast.walk(n)
                ):
                    yield n.lineno
                if any(isinstance(x, ast.Name) and x.id == "_FLAGS" for x in n.args):
                    yield from _flags(module)
            case ast.Attribute(ast.Name("os"), name) if name in OF_OS:
                yield n.lineno
            case ast.Attribute(_, name) if name in OF_PATHS:
                yield n.lineno
            case ast.Name("open") | ast.Attribute(_, "open"):
                modes = [x.value for x in (*n.args, *(k.value for k in n.keywords)) if isinstance(x, ast.Constant)]
                if any(isinstance(x, str) and re.fullmatch(r"[rbt]*[wax+][wxabrt+]*", x) for x in modes):
                    yield n.lineno
            case _:
                pass


def _flags(tree: ast.AST) -> Iterator[int]:
    """Where the flags of a module say that it writes."""
    for n in ast.walk(tree):
        if isinstance(n, ast.Attribute) and n.attr in ("O_WRONLY", "O_RDWR", "O_CREAT"):
            yield n.lineno


# Folders of output ---------------------------------------------------------------------------------------------------


def put(folder: Path, files: dict[str, str], purpose: str = "test", **options: bool) -> manifest.Plan:
    done = manifest.plan(folder, purpose, files, **options)  # type: ignore[arg-type]
    manifest.carry_out(done)
    return done


def test_only_what_is_listed_is_removed(tmp_path: Path) -> None:
    put(tmp_path, {"a/one": "1", "two": "2", "three": "3"})
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "three").write_text("changed")
    done = put(tmp_path, {"two": "2"})
    assert (done.removed, done.edited, done.written) == (("a/one",), ("three",), {})
    assert {x.name for x in tmp_path.iterdir()} == {"two", "three", "mine", manifest.NAME}
    assert put(tmp_path, {}).removed == ("two",)
    (tmp_path / "three").unlink()
    put(tmp_path, {})
    assert [x.name for x in tmp_path.iterdir()] == ["mine"]


def test_purposes_share_a_folder(tmp_path: Path) -> None:
    put(tmp_path, {"a": "1"}, "draw")
    assert put(tmp_path, {"b": "2"}, "report").removed == ()
    assert put(tmp_path, {"c": "3"}, "draw").removed == ("a",)
    assert put(tmp_path, {}, "draw", prune=False).removed == ()


def test_files_of_others_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "same").write_text("new")
    with pytest.raises(manifest.RefusedError, match="mine` was not written by this command"):
        put(tmp_path, {"mine": "new", "same": "new", "other": "x"})
    assert {x.name for x in tmp_path.iterdir()} == {"mine", "same"}
    put(tmp_path, {"mine": "new", "same": "new"}, force=True)
    (tmp_path / "mine").write_text("edited")
    with pytest.raises(manifest.RefusedError, match="has changed since it was written"):
        put(tmp_path, {"mine": "newer"})


@posix
def test_links_in_a_folder_of_output_are_refused(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    out.mkdir()
    (elsewhere / "x").write_text("theirs")
    (out / "x").symlink_to(elsewhere / "x")
    (out / "inner").symlink_to(elsewhere)
    with pytest.raises(manifest.RefusedError, match="is a link to"):
        put(out, {"x": "new"})
    for force in (False, True):
        with pytest.raises(manifest.RefusedError, match="is behind the link"):
            put(out, {"inner/x": "new"}, force=force)
    put(out, {"x": "new"}, force=True)
    assert ((elsewhere / "x").read_text(), (out / "x").read_text()) == ("theirs", "new")
    assert not (out / "x").is_symlink()


def test_a_forged_manifest_removes_nothing_elsewhere(tmp_path: Path) -> None:
    out = tmp_path / "out"
    put(out, {"x": "1"})
    (tmp_path / "victim").write_text("1")
    content = json.loads((out / manifest.NAME).read_text())
    forged = ("../victim", str(tmp_path / "victim"), "a/../../victim", "a\nremoved b", "\x1b[2J", ".", "")
    for name in forged:
        content["files"][name] = content["files"]["x"]
    (out / "a\nremoved b").write_text("1")
    (out / manifest.NAME).write_text(json.dumps(content))
    done = put(out, {})
    assert (done.removed, done.edited) == (("x",), ())
    assert (tmp_path / "victim").exists()
    assert (out / "a\nremoved b").exists()


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"version": 1, "files": 3}', "<<<<<<< ours", '{"version": 2}', "[" * 100_000], ids=len
)
def test_a_manifest_that_cannot_be_read_owns_nothing(content: str, tmp_path: Path) -> None:
    put(tmp_path, {"x": "1"})
    (tmp_path / manifest.NAME).write_text(content)
    with pytest.raises(manifest.RefusedError):
        put(tmp_path, {"x": "2"})
    put(tmp_path, {"x": "1"})
    assert put(tmp_path, {"x": "2"}).written == {"x": b"2"}


def test_a_run_that_was_killed_owns_what_it_has_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Wherever it was."""
    before, after = ({f"{n}": f"{x} {n}" for n in range(3)} for x in ("old", "new"))
    for killed_at in range(1, 6):
        folder = tmp_path / str(killed_at)
        put(folder, {**before, "gone": "old"})
        writes = 0

        def write(path: Path, content: str | bytes, killed_at: int = killed_at) -> bool:
            nonlocal writes
            writes += 1
            if writes == killed_at:
                raise KeyboardInterrupt
            return disk.write(path, content)

        with monkeypatch.context() as patched:
            patched.setattr(manifest, "write", write)
            with pytest.raises(KeyboardInterrupt):
                put(folder, after)
        put(folder, after)
        assert {x.name for x in folder.iterdir()} == {*after, manifest.NAME}


# Reading -------------------------------------------------------------------------------------------------------------


@posix
def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        (tmp_path / "zero").symlink_to("/dev/zero")
        for name, kind in (("pipe", "a named pipe"), ("socket", "a socket"), ("zero", "a device"), (".", "a folder")):
            with pytest.raises(UnreadableError, match=f"it is {kind}"):
                read_text(tmp_path / name)


def test_large_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b" " * 11)
    assert read_text(tmp_path / "x", limit=11) == " " * 11
    with pytest.raises(UnreadableError, match="larger than 10 bytes"):
        read_text(tmp_path / "x", limit=10)
    with open(tmp_path / "x", "ab") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(UnreadableError, match="larger than 16,777,216 bytes"):
        read_text(tmp_path / "x")


@posix
def test_links_lead_nowhere_else(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "a").write_text("a")
    (outside / "b").write_text("b")
    (inside / "to_a").symlink_to("a")
    (inside / "to_b").symlink_to(outside / "b")
    (inside / "folder").symlink_to(outside)
    assert read_text(inside / "to_a", inside) == "a"
    for name in ("to_b", "folder/b"):
        with pytest.raises(UnreadableError, match="a link that leads out of") as error:
            read_text(inside / name, inside)
        assert "--follow-links" in str(error.value.help)
        assert read_text(inside / name) == "b"


# Believing -----------------------------------------------------------------------------------------------------------


@posix
def test_what_others_can_write_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_text("x")
    path.chmod(0o644)
    assert distrust(path) is None
    assert read_private(path, 1) == b"x"
    for mode in (0o664, 0o646):
        path.chmod(mode)
        assert "other users can write" in str(distrust(path))
        with pytest.raises(ValueError, match="other users can write"):
            read_private(path, 1)
    path.chmod(0o600)
    (tmp_path / "link").symlink_to(path)
    assert distrust(tmp_path / "link") == "it is a link"
    with pytest.raises(ValueError, match="larger than 0 bytes"):
        read_private(path, 0)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "belongs to another user" in str(distrust(path))


@posix
def test_seals_are_those_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tmp_path / "state" / "key"
    monkeypatch.setenv("FSMDSL_KEY", str(key))
    assert not is_sealed(b"x", "00" * 32)
    given = seal(b"x")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert is_sealed(b"x", given)
    assert not is_sealed(b"y", given)
    assert not is_sealed(b"x", None)
    for mode, why in ((0o644, "it is readable by other users"), (0o666, "other users can write")):
        key.chmod(mode)
        with pytest.raises(ValueError, match=why):
            is_sealed(b"x", given)
    key.unlink()
    assert not is_sealed(b"x", given)
    assert seal(b"x") != given


# Real processes ------------------------------------------------------------------------------------------------------

DOOR = """\
module door

machine Door {
    initial state Open
    state Shut
    event push, pull from environment
    Open -> Shut on push
    Shut -> Open on pull
}
"""
FORMATTED = (
    DOOR.replace("    state Shut", "            state Shut")
    .replace("Shut on", "Shut  on")
    .replace("Open on", "Open  on")
)


def small_files() -> None:
    """As under `ulimit -f`."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


def limited(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """With a limit on the size of files, which would cut byte code short, too, and so break the next process."""
    command = [sys.executable, "-m", "fsmdsl", *arguments]
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=120, preexec_fn=small_files, env=env
    )


@posix
def test_a_full_disk_leaves_the_spec_as_it_was(tmp_path: Path) -> None:
    text = DOOR.replace("machine", "// a comment\n" * 1000 + "machine  ")
    (tmp_path / "door.fsm").write_text(text)
    done = limited("fmt", "door.fsm", cwd=tmp_path)
    assert (done.returncode, "cannot write `door.fsm`: file too large" in done.stderr) == (2, True)
    assert (tmp_path / "door.fsm").read_text() == text
    assert litter(tmp_path) == []
    done = limited("report", "door.fsm", cwd=tmp_path)
    assert (done.returncode, "build/report/index.html`: file too large" in done.stderr) == (2, True)
    assert (litter(tmp_path), (tmp_path / "build" / "report" / "index.html").exists()) == ([], False)
    assert fsm("fmt", "door.fsm", cwd=tmp_path).returncode == 0


@posix
def test_generate_keeps_what_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "door.fsm").write_text(DOOR)
    out = tmp_path / "out"
    (out / "tests").mkdir(parents=True)
    mine = {
        out / "tests" / "test_replay.py": "# Generated by fsmdsl from the spec door: changes belong there.\n",
        out / "notes.py": '"""What is Generated by fsmdsl, and what is not."""\n',
    }
    for path, text in mine.items():
        path.write_text(text)
    assert fsm("generate", "door.fsm", "--out", "out", cwd=tmp_path).returncode == 0
    assert {path: path.read_text() for path in mine} == mine
    (tmp_path / "door.fsm").write_text(DOOR.replace("module door", "module gate"))
    done = fsm("generate", "door.fsm", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0
    assert "removed out/door/door.py" in done.stderr
    assert not (out / "door").exists()
    assert {path: path.read_text() for path in mine} == mine
    (out / "gate" / "door.py").write_text("mine\n")
    done = fsm("generate", "door.fsm", "--out", "out", cwd=tmp_path)
    assert (done.returncode, "out/gate/door.py` has changed" in done.stderr) == (2, True)
    assert (out / "gate" / "door.py").read_text() == "mine\n"
    assert fsm("generate", "door.fsm", "--out", "out", "--force", cwd=tmp_path).returncode == 0
    assert (out / "gate" / "door.py").read_text() != "mine\n"


@posix
def test_a_link_in_a_folder_of_specs_brings_nothing_in(tmp_path: Path) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    (specs / "door.fsm").write_text(DOOR)
    (tmp_path / "secret").write_text("password: hunter2\n")
    (specs / "a.fsm").symlink_to(tmp_path / "secret")
    os.mkfifo(specs / "pipe.fsm")
    (specs / "zero.fsm").symlink_to("/dev/zero")
    for arguments in (("check", "specs"), ("check", "specs", "--format", "sarif"), ("fmt", "--check", "specs")):
        done = fsm(*arguments, cwd=tmp_path)
        assert done.returncode == 1
        assert "hunter2" not in done.stdout + done.stderr
    told = fsm("check", "specs", cwd=tmp_path).stdout
    assert "it is behind a link that leads out of `specs`" in told
    assert "it is a named pipe, not a regular file" in told
    (specs / "pipe.fsm").unlink()
    (specs / "zero.fsm").unlink()
    assert "FSM001" in fsm("check", "specs", "--follow-links", cwd=tmp_path).stdout


@posix
def test_the_name_of_a_file_writes_no_line(tmp_path: Path) -> None:
    """A pull request may have such files, and a log of CI obeys lines that begin with `::`."""
    (tmp_path / "specs").mkdir()
    for name in ("a\n::error::forged.fsm", "b\x1b[2J.fsm"):
        (tmp_path / "specs" / name).write_text("module x   machine")
    for arguments in (
        ["check"],
        ["check", "--format", "concise"],
        ["check", "--format", "github"],
        ["fmt"],
        ["verify"],
    ):
        done = fsm(*arguments, "specs", cwd=tmp_path)
        told = (done.stdout + done.stderr).splitlines()
        assert done.returncode == 1
        assert sum("its name has a line end" in x for x in told) == 2
        assert [x for x in told if x.startswith("::error::") or "\x1b[2J" in x] == []


@posix
def test_fmt_of_a_link_formats_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "door.fsm").write_text(DOOR.replace("    state Shut", "        state Shut"))
    (tmp_path / "link.fsm").symlink_to("door.fsm")
    done = fsm("fmt", "link.fsm", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == "formatted link.fsm, which leads to door.fsm\n"
    assert ((tmp_path / "link.fsm").is_symlink(), (tmp_path / "door.fsm").read_text()) == (True, FORMATTED)


@posix
@pytest.mark.parametrize("seed", range(3))
def test_a_killed_command_leaves_whole_files(seed: int, tmp_path: Path) -> None:
    """A few of the kills of `python tests/campaign_kills.py`."""
    command = [sys.executable, str(ROOT / "tests" / "campaign_kills.py"), "--kills", "4", "--seed", str(seed)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
