"""Every code block of the documents is checked in the way of its language; commands are run, or looked up.

`RUN` has the tests that run the blocks of a document. A command that none of them runs is in `NOT_RUN`, with the
reason; it is still looked up: the command, its options, files, extras and targets of make have to be there.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
import yaml
from markdown_blocks import Block, blocks, commands, indented

from fsmdsl.check import check
from fsmdsl.cli.parser import cli
from fsmdsl.model.resolve import resolve
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.source import Source
from runtime.command import main as allocator

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md")),
    *(ROOT / name for name in ("runtime/README.md", "deploy/README.md")),
    *sorted(ROOT.glob("editors/*/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
"""The changelog quotes what former versions printed."""

RUN = {
    "README.md": "tests/test_readme.py::test_every_command_prints_what_is_shown",
    "docs/tutorial.md": "tests/test_tutorial.py::test_the_tutorial",
    "docs/how-a-document-becomes-a-spec.md": "tests/test_tutorial.py::test_how_a_document_becomes_a_spec",
    "docs/twin-in-another-language.md": "tests/test_twin_process.py::test_the_page_in_go",
    "docs/testing.md": "tests/test_tutorial.py::test_specs_among_tests",
    "docs/kubernetes.md": "tests/test_library.py::test_writing_a_controller",
    "docs/explain.md": "tests/test_explain.py::test_the_page_prints_what_the_commands_print",
    "docs/import.md": "tests/test_import_cli.py::test_the_tutorial",
    "docs/export.md": "tests/test_export.py::test_the_page_prints_what_the_commands_print",
    "docs/findings.md": "tests/test_holes.py::test_the_findings_print_what_the_commands_print",
    "docs/findings/hived.md": "tests/test_holes.py::test_the_findings_print_what_the_commands_print",
    "docs/findings/confine.md": "tests/test_holes.py::test_the_findings_print_what_the_commands_print",
    "docs/findings/grove.md": "tests/test_holes.py::test_the_findings_print_what_the_commands_print",
    "docs/findings/yunikorn.md": "tests/test_holes.py::test_the_findings_print_what_the_commands_print",
    "docs/findings/kubernetes.md": "tests/test_holes.py::test_the_findings_print_what_the_commands_print",
    "docs/generated-code.md": "tests/test_documents.py::test_the_code_of_generated_code_runs",
    "docs/coming-from.md": "tests/test_documents.py::test_python_of_other_tools_runs",
    "docs/lives.md": "tests/runtime/test_manual.py::test_the_code_of_the_lives_runs",
    "docs/notebook.md": "tests/test_graphs.py::test_the_examples_of_the_documents",
    "docs/simulator.md": "tests/runtime/test_simulate_manual.py::test_the_code_runs",
    "runtime/README.md": "tests/runtime/test_manual.py::test_the_code_of_the_overview_runs",
}
"""Documents whose blocks a test runs."""

NOT_RUN = {
    "CONTRIBUTING.md": "campaigns of hours",
    "RELEASING.md": "publishing; `make rehearsal` does what can be undone",
    "deploy/README.md": "needs a cluster",
    "docs/allocator.md": "servers, clusters and campaigns; tests/runtime starts them with the same options",
    "docs/architecture.md": "a line of the source",
    "docs/ci.md": "the same commands as in the workflow, which tests/test_ci_page.py runs",
    "docs/conformance.md": "takes an hour",
    "docs/diff.md": "needs a history; tests/test_diff_command.py makes one",
    "docs/editor.md": "an installation; tests/test_readme.py has one",
    "docs/live.md": "a server and a terminal; tests/test_live.py and tests/test_simulation.py have them",
    "docs/migrating-from-hived.md": "needs a configuration of HiveD",
    "docs/playground.md": "a server; tests/test_playground.py has one",
    "docs/second-opinion.md": "needs SPIN and TLC; tests/test_second_opinion.py runs the same commands where they are",
    "docs/report.md": "tests/test_report.py writes the same report",
    "docs/scale.md": "needs several computers; tests/test_mpi.py starts processes",
    "docs/simulator.md": "traces that have to be downloaded; the options are compared",
    "docs/notebook.md": "changes the reader's shell; tests/test_completion.py runs the scripts",
    "docs/rules": "an example of what cannot be read or done; tests/cases has each",
    "docs/specs/admission.md": "needs a running allocator; tests/runtime/test_explain_admission.py has one",
    "docs/specs/hived.md": "quotes a summary",
    "editors": "an installation into the reader's editor",
}
"""Why the commands of a document are not run."""

OUTSIDE = frozenset(
    ". cat curl docker done echo eval export for git gpg jq kubectl ln mkdir mkfifo npm printf sh sha256sum".split()  # noqa: SIM905
)
"""Programs of others: their arguments are not looked up."""

LANGUAGES_OF_OTHERS = frozenset({"fizz", "go", "js", "lisp", "lua", "p", "promela", "quint", "tla"})
"""No tool of the project reads them. Models are compared by hand; SPIN's is run where SPIN is installed."""

WRAPPERS = (
    "module m\n{}",
    "module m\nmachine M {{\ninitial state S\n{}\n}}",
    "module m\nmachine M {{\ninitial state S\n}}\nsystem T {{\nm: M\n{}\n}}",
)
"""Where a fragment may be from."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def excuse(name: str) -> str | None:
    """Why the commands of a document are not run."""
    return next((why for start, why in NOT_RUN.items() if name == start or name.startswith(f"{start}/")), None)


# Languages -----------------------------------------------------------------------------------------------------------


def check_fsm(block: Block) -> None:
    """A spec passes `fsm check`, unless a test writes, imports or quotes it as a file."""
    if block.words:
        return
    parsed = parse(Source("block.fsm", block.text))
    resolved = resolve([parsed.module])
    assert (*parsed.diagnostics, *resolved.diagnostics) == ()
    assert resolved.model is not None
    assert [d.message for d in check(resolved.model) if d.severity > Severity.NOTE] == []


def check_fragment(block: Block) -> None:
    """It can be read somewhere in a spec."""
    texts = (wrapper.format(block.text) for wrapper in WRAPPERS)
    assert any(parse(Source("fragment.fsm", text)).diagnostics == () for text in texts)


def check_json(block: Block) -> None:
    """One value; in a log, one on each line."""
    many = bool(block.words) and block.words[0].endswith((".log", ".jsonl"))
    for text in block.text.splitlines() if many else [block.text]:
        json.loads(text)


def check_csv(block: Block) -> None:
    assert len({len(row) for row in csv.reader(io.StringIO(block.text))}) == 1


def check_python(block: Block) -> None:
    """It can be compiled, unless it is a part of a file that a test writes."""
    if "change" not in block.words:
        compile(block.text, "block", "exec")


def check_yaml(block: Block) -> None:
    assert [*yaml.safe_load_all(block.text)] != []


def check_console(block: Block) -> None:
    for command, _ in commands(block):
        look_up(command)


def check_sh(block: Block) -> None:
    for line in block.text.replace("\\\n", " ").splitlines():
        look_up(line)


def check_text(block: Block) -> None:
    assert block.text.strip()


CHECKS: dict[str, Callable[[Block], None]] = {
    "console": check_console,
    "csv": check_csv,
    "ebnf": check_text,  # made from the grammar: tests/test_language_pages.py
    "fsm": check_fsm,
    "fsm-fragment": check_fragment,
    "json": check_json,
    "mermaid": check_text,  # imported: tests/test_import_cli.py
    "python": check_python,
    "sh": check_sh,
    "text": check_text,
    "toml": lambda block: [tomllib.loads(block.text), None][1],
    "yaml": check_yaml,
    **dict.fromkeys(LANGUAGES_OF_OTHERS, check_text),
}


# Commands ------------------------------------------------------------------------------------------------------------


def look_up(line: str) -> None:
    """What a line of a shell names is there: commands, options, choices, extras, targets, scripts."""
    words = shlex.split(line.replace("$(", " ").replace("`", " "), comments=True)
    for command in parts(words):
        program, *arguments = command
        match program.rpartition("/")[2]:
            case "fsm":
                look_up_options(cli, arguments)
            case "python" | "python3":
                look_up_python(arguments)
            case "pip":
                look_up_packages(arguments)
            case "make":
                targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
                named = arguments[2:] if arguments[:1] == ["-C"] else arguments
                assert {x for x in named if "=" not in x} <= {*targets}, line
            case "mpiexec":
                look_up_options(cli, arguments[arguments.index("fsm") + 1 :])
            case "pytest" | "twine" | "cyclonedx-py":
                pass
            case other:
                assert other in OUTSIDE, f"`{other}`: look it up here, or name it in OUTSIDE: {line}"


def parts(words: list[str]) -> Iterator[list[str]]:
    """The commands of a line, without assignments before them and redirections behind."""
    command: list[str] = []
    for word in [*words, ";"]:
        if word in ("|", "||", "&&", ";", "<", ">", ">>"):
            if command:
                yield command
            command = []
            if word in ("<", ">", ">>", "||"):
                return
        elif command or not re.fullmatch(r"[A-Z_]+=.*", word):
            command.append(word)


def look_up_options(command: click.Command, arguments: list[str]) -> None:
    """Every option is one of the command's, and every choice one of the option's."""
    context = click.Context(command)
    while isinstance(command, click.Group):
        named = next((n for n, x in enumerate(arguments) if not x.startswith("-")), None)
        if named is None or (below := command.get_command(context, arguments[named])) is None:
            assert command.invoke_without_command or named is None, f"there is no command {arguments[named or 0]}"
            break
        arguments = [*arguments[:named], *arguments[named + 1 :]]
        command, context = below, click.Context(below, parent=context)
    given, _, _ = command.make_parser(context).parse_args(list(arguments))
    for parameter in command.params:
        value = given.get(parameter.name)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(parameter.type, click.Choice) and isinstance(one, str):
                parameter.type.convert(one, parameter, context)


def look_up_python(arguments: list[str]) -> None:
    match arguments:
        case ["-m", "runtime", *rest]:
            look_up_options(allocator, rest)
        case ["-m", "fsmdsl", *rest]:
            look_up_options(cli, rest)
        case ["-m", "pip", *rest]:
            look_up_packages(rest)
        case ["-m", module, *_]:
            assert module in ("venv", "pytest", "hatchling", "build", "twine") or find_spec(module) is not None
        case [path, *_]:
            assert path == "one_day.py" or (ROOT / path).is_file(), path


def look_up_packages(arguments: list[str]) -> None:
    """Extras are declared, and files of requirements are there."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for word in arguments:
        if extras := re.fullmatch(r"(?:fsmdsl|\.)\[([\w,]+)\].*", word):
            assert {*extras[1].split(",")} <= declared.keys(), word
    for _, path in re.findall(r"(-r) (\S+)", " ".join(arguments)):
        assert (ROOT / path).is_file(), path


# Tests ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [x for x in DOCUMENTS if x.exists()], ids=name_of)
def test_every_block_is_checked(path: Path) -> None:
    assert len(re.findall(r"^ *```", path.read_text("utf-8"), re.MULTILINE)) % 2 == 0, "a block is not closed"
    for block in (*blocks(path), *indented(path)):
        if name_of(path).startswith("docs/rules/") and block.language == "fsm":
            continue  # breaks the rule on purpose: tests/test_rules.py
        assert block.language in CHECKS, f"{path.name}:{block.line}: a block in `{block.language}`: how is it checked?"
        try:
            CHECKS[block.language](block)
        except Exception as error:
            raise AssertionError(f"{name_of(path)}:{block.line}: {error}") from error


def with_commands() -> set[str]:
    """Documents that show commands or Python."""
    languages = {"console", "sh", "python"}
    shown = ((path, block) for path in DOCUMENTS if path.exists() for block in (*blocks(path), *indented(path)))
    return {name_of(path) for path, block in shown if block.language in languages}


def test_commands_are_run_or_it_is_said_why_not() -> None:
    assert [x for x in sorted(with_commands()) if x not in RUN and excuse(x) is None] == []


def test_nothing_is_excused_that_is_not_there() -> None:
    shown = with_commands()
    assert [x for x in RUN if x not in shown] == []
    assert [x for x in NOT_RUN if not any(y == x or y.startswith(f"{x}/") for y in shown)] == []


@pytest.mark.parametrize("test", sorted({*RUN.values()}))
def test_the_test_that_runs_a_document_is_there(test: str) -> None:
    path, _, name = test.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize(
    "line",
    [
        "fsm chekc specs", "fsm verify --no-such-option", "fsm draw --format gif", "pip install 'fsmdsl[nothing]'",
        "make nothing", "python nothing.py", "python -m runtime srve", "python -m runtime serve --nothing", "nothing",
        "cat x | fsm chekc", "pip install -r requirements/nothing.txt",
    ],
)  # fmt: skip
def test_a_command_that_is_wrong_is_noticed(line: str) -> None:
    with pytest.raises((AssertionError, click.UsageError)):
        look_up(line)
