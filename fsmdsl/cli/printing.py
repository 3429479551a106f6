"""`--format` and `--output` of the commands that find something: `check`, `verify`, `test`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fsmdsl.cli import usage
from fsmdsl.cli.messages import misuse, say_document, say_text, unstyled
from fsmdsl.cli.output_files import write
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.report.formats import ENDINGS, FORMATS, rendered
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.terminal import printable_line, printable_text

if TYPE_CHECKING:
    from fsmdsl.report.formats.results import Results

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Printing:
    """What the terminal gets, and which files are written in which format."""

    form: str = "text"
    files: tuple[tuple[Path, str], ...] = ()
    texts: list[str] = field(default_factory=list)
    """The text so far, for files that get it too."""
    errors: list[Diagnostic] = field(default_factory=list)
    """Those of files that are left out: they are part of the results, whatever comes of the others."""
    left_out: dict[str, str] = field(default_factory=dict)
    """The files that are left out, each with the reason."""

    @property
    def speaks(self) -> bool:
        """Does a person read along?"""
        return self.form == "text"

    @property
    def formal(self) -> bool:
        """Is anything but text asked for?"""
        return any(form != "text" for form in (self.form, *(form for _, form in self.files)))

    def say(self, *lines: str, err: bool = False, wrap: bool = False) -> None:
        """Lines of text, where text is asked for; `wrap`: no wider than the terminal, where one shows them."""
        self._keep(map(printable_line, lines or ("",)), err=err, wrap=wrap)

    def say_text(self, text: str, *, err: bool = False) -> None:
        """The same for a text of several lines, see `messages.say_text`."""
        self._keep([printable_text(text)], err=err)

    def _keep(self, texts: Iterable[str], *, err: bool, wrap: bool = False) -> None:
        for text in texts:
            self.texts.append(text)
            if self.speaks:
                say_text(wrapped(text, _columns()) if wrap else text, err=err)

    def finish(self, results: Callable[[], Results]) -> None:
        """Print and write the results; `results` is called where anything but text is asked for."""
        content = results() if self.formal else None
        if content is not None and self.errors:
            from fsmdsl.report.formats.check_results import with_errors

            content = with_errors(content, self.errors, self.left_out)
        if content is not None and not self.speaks:
            say_document(_content(self.form, content))
        for path, form in self.files:
            text = unstyled("\n".join(self.texts)) + "\n"
            write(path, text if content is None or form == "text" else _content(form, content))


def wrapped(text: str, columns: int | None) -> str:
    """Lines wrapped at a number of columns, unless one word is longer. Continuation lines are indented."""
    return text if columns is None else "\n".join(x for line in text.split("\n") for x in _wrapped(line, columns))


def _wrapped(line: str, columns: int) -> Iterator[str]:
    indent = " " * min(len(line) - len(line.lstrip()) + 4, columns // 2)
    begun = ""
    for word in re.findall(r"\s*\S+", line):
        if begun and len(unstyled(begun + word)) > columns:
            yield begun
            begun = indent + word.lstrip()
        else:
            begun += word
    yield begun


def _columns() -> int | None:
    """Of the terminal, or as `COLUMNS` says; None where the output goes elsewhere."""
    at_terminal = sys.stdout is not None and sys.stdout.isatty()
    if not at_terminal and "COLUMNS" not in os.environ:
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def _content(form: str, results: Results) -> str:
    if form != "sarif":
        return rendered(form, results)
    from fsmdsl.check.all_rules import all_rules
    from fsmdsl.cli import version

    return rendered(form, results, list(all_rules().values()), version())


def printing_options(command: F) -> F:
    """`--format`, and `--output FILE`, which may be repeated."""
    choice = usage.choice(["text", *FORMATS])
    description = "Output format (default: text)."
    form = usage.option("--format", "form", type=choice, default=None, help=description)
    output = usage.option(
        "--output",
        "outputs",
        type=usage.path(path_type=Path, dir_okay=False),
        multiple=True,
        metavar="FILE",
        help="Write the results to FILE, in the given format or else that of its extension (.json, .sarif, .xml for "
        "junit, .md, .txt); the terminal still shows text (may be repeated).",
    )
    return form(output(command))


def printing(form: str | None, outputs: tuple[Path, ...]) -> Printing:
    """What `--format` and `--output` ask for."""
    if not outputs:
        return Printing(form or "text")
    unclear = [path for path in outputs if form is None and path.suffix not in ENDINGS]
    if unclear:
        endings = ", ".join(f"`{ending}`" for ending in ENDINGS)
        message = f"cannot tell the output format from `{unclear[0]}`"
        misuse(f"{message}; pass `--format`, or use one of the extensions {endings}")
    return Printing("text", tuple((path, form or ENDINGS[path.suffix]) for path in outputs))
