"""Versions of specs as people name them: files and folders, and what git has of them at a revision."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from fsmdsl import model as m
from fsmdsl.cli import MISUSE
from fsmdsl.cli.common import chosen, follows_links, ordered_model, paint
from fsmdsl.cli.messages import misuse, say, say_text
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.model.workspace import Loaded, load
from fsmdsl.report.frames import frames, tally
from fsmdsl.text.diagnostics import Severity

PREFIX = "git:"


@dataclass(frozen=True, slots=True)
class Version:
    """`revision` None: as it lies on the disk."""

    revision: str | None
    path: str

    @property
    def label(self) -> str:
        """`specs`, `HEAD~1:specs`."""
        return self.path if self.revision is None else f"{self.revision}:{self.path}"


def versions(old: str, new: str | None, path: str | None) -> tuple[Version, Version]:
    """What two arguments mean: each a path, `REV:PATH`, or `REV` alone, which takes the path of the other. A path alone
    is compared with the last commit."""
    before, after = _read(old), _read(new) if new is not None else (None, path)
    if new is None and before[0] is None:
        before, after = (_last_commit(old), old), (None, old)
    fallback = path or before[1] or after[1] or chosen(())[0]
    both = Version(before[0], before[1] or fallback), Version(after[0], after[1] or fallback)
    if both[0].revision is both[1].revision is None and _same_files(both[0].path, both[1].path):
        advice = f"`fsm diff HEAD {both[0].path}` compares it with the last commit"
        misuse(f"both versions are `{both[0].path}` as it is on the disk; {advice}")
    return both


def _last_commit(path: str) -> str:
    """The revision that a path alone is compared with; misuse where there is none."""
    if path == "-":
        misuse("name the version to compare standard input with: `fsm diff OLD -`")
    if not _git("rev-parse", "--verify", "--quiet", "HEAD", or_empty=True):
        why = "and there is no commit here to compare with"
        misuse(f"`{path}` is one version, {why}; name both: `fsm diff OLD {path}`")
    return "HEAD"


def _same_files(a: str, b: str) -> bool:
    return a == b or os.path.realpath(a) == os.path.realpath(b)


def _read(argument: str) -> tuple[str | None, str | None]:
    """A revision and a path, as far as they are said. What exists on the disk is a path, unless `git:` stands before
    it."""
    if not argument.startswith(PREFIX) and (argument == "-" or Path(argument).exists()):
        return None, argument
    revision, _, path = argument.removeprefix(PREFIX).partition(":")
    if not revision:
        misuse(f"`{argument}` names no revision: write `{PREFIX}HEAD~1:specs`")
    if not argument.startswith(PREFIX) and not path and _looks_like_path(argument):
        misuse(f"there is no file or folder `{argument}`")
    return revision, path or None


def _looks_like_path(argument: str) -> bool:
    return argument.endswith((".fsm", "/")) or argument.startswith((".", "/"))


@dataclass(frozen=True, slots=True)
class Revisions:
    """What places in a revision are called: while it is read, it lies in a folder of its own."""

    folders: dict[str, str] = field(default_factory=dict)

    def substitute(self, text: str) -> str:
        """The text, in which such places go by their revision."""
        for folder, revision in self.folders.items():
            text = text.replace(f"{folder}/", f"{revision}:")
        return text


def models_of(
    both: tuple[Version, Version], revisions: Revisions, as_documented: bool, without: Sequence[str]
) -> tuple[m.Model, m.Model]:
    """The models of two versions. Amendments that are to be left out must be in one of them, or in both."""
    old, new = (_loaded(x, revisions, as_documented, without) for x in both)
    missing = {name: why for name, why in new.unanswered.items() if name in old.unanswered}
    if missing:
        misuse(revisions.substitute("; ".join(missing.values())))
    return _model(old, both[0], revisions), _model(new, both[1], revisions)


def model_of(version: Version, revisions: Revisions, as_documented: bool = False) -> m.Model:
    """The model of a version; errors are printed, and the command ends with 2: there is nothing to compare."""
    return _model(_loaded(version, revisions, as_documented, ()), version, revisions)


def _loaded(version: Version, revisions: Revisions, as_documented: bool, without: Sequence[str]) -> Loaded:
    with _place(version) as (path, folder):
        if folder and version.revision is not None:
            revisions.folders[folder] = version.revision
        return load([path], as_documented=as_documented, without=without, follow_links=follows_links())


def _model(loaded: Loaded, version: Version, revisions: Revisions) -> m.Model:
    errors = [d for d in loaded.diagnostics if d.severity is Severity.ERROR]
    if loaded.model is not None and not errors:
        return ordered_model(loaded)
    say_text(revisions.substitute(frames(errors, paint)), err=True)
    say(f"{tally(errors)} in {version.label}; fix that first", err=True)
    raise SystemExit(MISUSE)


@contextmanager
def _place(version: Version) -> Iterator[tuple[str, str]]:
    """Where a version can be read, and the folder that stands for the revision; empty on the disk."""
    if version.revision is None:
        yield version.path, ""
        return
    with TemporaryDirectory(prefix="fsm-") as directory:
        folder = Path(directory).resolve()
        # No import is looked for above it.
        (folder / ".git").mkdir()
        yield str(folder / _unpacked(version.revision, version.path, folder)), str(folder)


def commit_of(path: str) -> str:
    """The commit of a path on the disk, short, with `+ changes` where it differs from it; empty outside of git."""
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    try:
        head = _git_output(folder, "rev-parse", "--short", "HEAD")
        changed = head and _git_output(folder, "status", "--porcelain", "--", str(Path(path).absolute()))
    except OSError:
        return ""
    return f"{head} + changes" if changed else head


def _git_output(folder: Path, *arguments: str) -> str:
    """What git says of a folder; nothing where it fails."""
    process = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    return "" if process.returncode else process.stdout.decode("utf-8", "replace").strip()


# Git -----------------------------------------------------------------------------------------------------------------


def _unpacked(revision: str, path: str, folder: Path) -> str:
    """Write all specs of a revision to a folder; the path within it."""
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").decode().strip()
    if not commit:
        misuse(f"git knows no revision `{revision}`, and there is no file or folder of that name")
    files = dict(_specs(commit))
    inside = next((x for x in _places(path) if _has(files, x)), None)
    if inside is None:
        misuse(f"`{path}` has no specs in `{revision}`")
    for name, content in zip(files, _contents(list(files.values())), strict=True):
        target = folder.joinpath(*PurePosixPath(name).parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return inside


def _specs(commit: str) -> Iterator[tuple[str, str]]:
    """Path and object of every `.fsm` file of a commit. Links are passed over."""
    for entry in _git("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
        about, _, name = entry.decode("utf-8", "surrogateescape").partition("\t")
        if name.endswith(".fsm") and about.startswith("100") and ".." not in PurePosixPath(name).parts:
            yield name, about.split()[2]


def _contents(objects: list[str]) -> Iterator[bytes]:
    rest = _git("cat-file", "--batch", stdin="".join(f"{x}\n" for x in objects).encode())
    for _ in objects:
        head, _, rest = rest.partition(b"\n")
        size = int(head.split()[2])
        yield rest[:size]
        rest = rest[size + 1 :]


def _places(path: str) -> Iterator[str]:
    """What a path may mean inside the repository: from the current folder, else from the root."""
    root = Path(_git("rev-parse", "--show-toplevel").decode().strip())
    here = Path(path).absolute().resolve()
    if here.is_relative_to(root.resolve()):
        yield here.relative_to(root.resolve()).as_posix()
    yield PurePosixPath(path).as_posix()


def _has(files: dict[str, str], path: str) -> bool:
    return path in files or any(path == "." or name.startswith(f"{path}/") for name in files)


def _git(*arguments: str, stdin: bytes | None = None, or_empty: bool = False) -> bytes:
    """The output of git. Where it fails the command ends with 2, or, with `or_empty`, there is none."""
    try:
        process = subprocess.run(["git", *arguments], input=stdin, capture_output=True, check=False)
    except OSError:
        misuse("comparing with a revision requires `git`, which is not installed")
    if process.returncode and or_empty:
        return b""
    if process.returncode and "rev-parse" not in arguments:
        misuse(*f"git: {process.stderr.decode('utf-8', 'replace').strip()}".split("\n"))
    if process.returncode and b"not a git repository" in process.stderr:
        misuse("comparing with a revision requires a git repository")
    return process.stdout
