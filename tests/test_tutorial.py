"""The documents that show commands and what they print are run, block by block, from top to bottom.

A block that names a file after its language is written to it: as it stands, `append`ed, `below` the line that begins
with a word, or, with `change`, so that each of its lines takes the place of the one that begins with the same word.
With `in`, it quotes the file. Of a `console` block, each line that begins with `$` is run, and the lines below it are
what it must print; `…` stands for any lines, and times differ.

`python tests/test_tutorial.py` puts what the commands print now into the documents, for reading before it is committed.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from markdown_blocks import Block, blocks, commands, compare, tidy, write

from fsmdsl.cli.parser import cli

ROOT = Path(__file__).absolute().parent.parent

# Running -------------------------------------------------------------------------------------------------------------


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts with an empty folder."""
    monkeypatch.chdir(tmp_path)
    ran = list(followed(ROOT / "docs" / "tutorial.md"))
    assert len(ran) >= 8


def test_how_a_document_becomes_a_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks at the specs of the project; what it quotes from them is there."""
    (tmp_path / "specs").symlink_to(ROOT / "specs")
    monkeypatch.chdir(tmp_path)
    ran = list(followed(ROOT / "docs" / "how-a-document-becomes-a-spec.md"))
    assert len(ran) >= 5


@pytest.mark.full(reason="processes of pytest")
def test_specs_among_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts with an empty folder, and has specs, a twin and hooks."""
    monkeypatch.chdir(tmp_path)
    ran = list(followed(ROOT / "docs" / "testing.md"))
    assert len(ran) >= 4


def followed(document: Path) -> Iterator[str]:
    """Do what a document says; the commands that were run."""
    for block in blocks(document):
        place = f"{document.name}:{block.line}"
        if block.language == "console":
            for command, printed in commands(block):
                compare(printed, run(command), f"{place}: {command}")
                yield command
        elif block.words[:1] == ("in",):
            assert_quoted(Path(block.words[1]), block.text, place)
        else:
            assert block.words, f"{place}: a block that is neither a file nor a command"
            write(Path(block.words[0]), block.words[1:], block.text, place)


def assert_quoted(path: Path, text: str, place: str) -> None:
    """Every line is one of the file's, in its order; layout aside."""
    told = (" ".join(x.split()) for x in path.read_text("utf-8").splitlines())
    for line in (" ".join(x.split()) for x in text.splitlines()):
        assert line in ("", "…") or line in told, f"{place}: `{path}` has no line `{line}` there"


def run(command: str) -> str:
    """What a command prints. It may find something, and must not be misused."""
    program, *arguments = shlex.split(command)
    typed = None
    if arguments[-2:-1] == ["<"]:
        typed = Path(arguments.pop()).read_text("utf-8")
        arguments.pop()
    if program == "fsm":
        done = CliRunner().invoke(cli, arguments, input=typed, prog_name="fsm")
        assert isinstance(done.exception, SystemExit | None), done.exception
        assert done.exit_code in (0, 1), done.output
        return done.output
    if program == "cat":
        return Path(arguments[0]).read_text("utf-8")
    assert program in ("python", "pytest"), f"{program}: only fsm, python, pytest and cat are known here"
    if program == "pytest":
        arguments = ["-m", "pytest", "-p", "no:cacheprovider", *arguments]
    # As on a person's own machine: pytest tells more where it sees that it runs in a CI.
    environment = {k: v for k, v in os.environ.items() if k not in ("CI", "BUILD_NUMBER")}
    environment |= {"PYTHONPATH": ".", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80"}
    ended = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False, timeout=60
    )
    assert ended.returncode == 0 or program == "pytest", ended.stderr
    return ended.stdout


# Renewing ------------------------------------------------------------------------------------------------------------


def renew(document: Path, folder: Path) -> None:
    """Put what the commands print into a document, where it says something else."""
    os.chdir(folder)
    text = document.read_text("utf-8")
    for block in blocks(document):
        if block.language != "console":
            write_or_skip(block)
            continue
        printed = "\n".join(f"$ {command}\n{renewed(command, told)}".rstrip() for command, told in commands(block))
        text = text.replace(f"```console\n{block.text}```", f"```console\n{printed}\n```", 1)
    document.write_text(text, "utf-8")


def write_or_skip(block: Block) -> None:
    if block.words[:1] != ("in",):
        write(Path(block.words[0]), block.words[1:], block.text, f"line {block.line}")


def renewed(command: str, printed: str) -> str:
    real = run(command)
    try:
        compare(printed, real, command)
    except AssertionError:
        return "\n".join(tidy(real))
    return printed.strip("\n")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as linked:
        (Path(linked) / "specs").symlink_to(ROOT / "specs")
        renew(ROOT / "docs" / "tutorial.md", Path(empty))
        renew(ROOT / "docs" / "explain.md", Path(empty))
        renew(ROOT / "docs" / "kubernetes.md", Path(empty))
        renew(ROOT / "docs" / "how-a-document-becomes-a-spec.md", Path(linked))
        os.chdir(ROOT)
