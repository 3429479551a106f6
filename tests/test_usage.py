"""Commands that are called without options run without a parser, and do what the parser would make them do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fsmdsl.cli import COMMANDS, declared
from fsmdsl.cli.parser import click_command
from fsmdsl.cli.usage import Parameter, plain_values

SPEC = "machine Lamp { initial state Off  final state On  event press from environment  Off -> On on press }\n"


def parsed(name: str, words: list[str]) -> dict[str, Any]:
    """The values that click gives a command."""
    return click_command(name).make_context(name, list(words)).params


@pytest.mark.parametrize("name", COMMANDS)
def test_a_plain_call_has_the_values_that_a_parser_gives(name: str) -> None:
    for words in ([], ["a.fsm"], ["a.fsm", "specs"]):
        values = plain_values(declared(name), words)
        if values is not None:
            assert values == parsed(name, words)
            assert list(map(type, values.values())) == list(map(type, (parsed(name, words)[x] for x in values)))


@pytest.mark.parametrize("name", ["check", "verify", "test", "fmt"])
def test_commands_over_specs_can_be_called_plainly(name: str) -> None:
    assert plain_values(declared(name), []) is not None
    assert plain_values(declared(name), ["a.fsm", "b.fsm"]) is not None


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["-"], ["a.fsm", "--all"], ["--", "a.fsm"]])
def test_an_option_takes_a_parser(words: list[str]) -> None:
    assert plain_values(declared("verify"), words) is None


def test_a_parameter_is_named_as_click_names_it() -> None:
    for name in COMMANDS:
        for parameter in declared(name).parameters:
            assert parameter.name in {x.name for x in click_command(name).params}
    assert Parameter("option", ("--max-seconds",), {}).name == "max_seconds"
    assert Parameter("option", ("--out", "-o"), {}).name == "out"
    assert Parameter("option", ("--all", "every"), {}).name == "every"


LIBRARIES = ("click", "argparse", "inspect", "dataclasses", "json", "lark", "jinja2", "difflib", "numpy", "llvmlite")
"""What a small command must not wait for."""


@pytest.mark.parametrize(("command", "without"), [("check", LIBRARIES), ("verify", ("click", "argparse", "llvmlite"))])
def test_a_plain_call_imports_no_library(command: str, without: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "lamp.fsm"
    path.write_text(SPEC + "system House { lamp: Lamp }\n")
    code = (
        "import sys; from fsmdsl.cli.run import main; from atexit import register;"
        f"register(lambda: print([x for x in {without} if x in sys.modules], file=sys.stderr)); main()"
    )
    done = subprocess.run([sys.executable, "-c", code, command, str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "[]\n"), done.stdout
