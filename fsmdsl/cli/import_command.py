"""`fsm import`: state machines that exist elsewhere, as a spec."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from fsmdsl.cli import BOUNDED, FINDINGS, usage
from fsmdsl.cli.common import follows_links, links_option, paint
from fsmdsl.cli.limits import MINUTES, limit_options, within
from fsmdsl.cli.messages import misuse, say, say_document, say_text
from fsmdsl.cli.output_files import write
from fsmdsl.interop.imports.formats import FORMATS, LOOPLAB, format_of, read, unknown
from fsmdsl.interop.imports.table import Imported, ImportFailedError, LeftOut, Unread
from fsmdsl.interop.imports.write import spec_text
from fsmdsl.report.frames import frame
from fsmdsl.syntax.words import RESERVED
from fsmdsl.text.budget import Budget
from fsmdsl.text.files.read import UnreadableError, read_stdin, read_text, root_of
from fsmdsl.text.source import NOWHERE, Source


@usage.command("import")
@usage.argument("source", type=usage.path())
@usage.option("--from", "form", type=usage.choice(FORMATS), help="Input format (default: determined by the file name).")
@usage.option(
    "--out",
    "-o",
    type=usage.path(path_type=Path, dir_okay=False),
    help="Write to this file (default: standard output).",
)
@usage.option("--module", metavar="NAME", help="Name of the module (default: that of the file).")
@limit_options(MINUTES)
@links_option
def command(source: str, form: str | None, out: Path | None, module: str | None, budget: Budget) -> None:
    """Convert the machines in SOURCE (a file, the folder of a Go package, or `-`) to a spec.

    Standard error and the top of the spec list the parts that could not be read, those that have no effect in the
    source (dead states, rows that are never taken), and those that the language cannot express. The source is never
    executed.

    Exit codes: 0 written, 1 the source cannot be read as machines, 2 usage error, 3 written without the parts that
    could not be read.
    """
    if module is None and out is not None and out.suffix == ".fsm":
        module = out.stem if _is_name(out.stem) else None
    if module is not None and not _is_name(module):
        misuse(f"`{module}` cannot be the name of a module: write letters, digits, `_` and dots between parts")
    with within(budget, (source,), "document", before="the source was read and written as a spec"):
        tables = imported(source, form)
        text, left_out = spec_text(tables, source, module)
    for x in tables.missing:
        say(f"not read: {_place(x)}{x.text}", err=True)
    for y in left_out:
        if y.rule is None:
            say(f"left out: {_place(y)}{y.text}", err=True)
        else:
            say_text(frame(y.rule.at(y.place, y.text), paint), err=True)
    if out is None:
        say_document(text.rstrip("\n") + "\n")
    else:
        write(out, text)
        say(f"{out}: {_summary(text, tables, left_out)}")
    sys.exit(BOUNDED if tables.missing else 0)


def _place(x: Unread | LeftOut) -> str:
    return "" if x.place.source is NOWHERE.source else f"{x.place}: "


def imported(name: str, form: str | None) -> Imported:
    """What a file or a folder holds. The command ends with 1 where it cannot be read, with 2 where it is not there."""
    path = Path(name)
    if name != "-" and not path.exists():
        misuse(f"there is no file or folder `{name}`")
    by_name = LOOPLAB if path.is_dir() else format_of(name)
    try:
        if (form or by_name) is None:
            raise unknown(name)
        if (form or by_name) == LOOPLAB:
            return _looplab(path)
        if path.is_dir():
            misuse(f"`{name}` is a folder; name a file, or the folder of a Go package")
        text = read_stdin() if name == "-" else read_text(path, None if follows_links() else root_of(path))
        return read(Source("<stdin>" if name == "-" else name, text), form)
    except UnreadableError as error:
        say(f"fsm: `{name}`: {error}" + (f"; {error.help}" if error.help else ""), err=True)
    except ImportFailedError as error:
        say_text(frame(error.diagnostic, paint), err=True)
    sys.exit(FINDINGS)


def _looplab(path: Path) -> Imported:
    from fsmdsl.interop.imports.go_files import go_sources
    from fsmdsl.interop.imports.go_looplab import read as read_go

    return read_go(*go_sources(path, follow_links=follows_links()))


def _is_name(text: str) -> bool:
    parts = text.split(".")
    return all(re.fullmatch(r"[A-Za-z_]\w*", x, re.ASCII) and x not in RESERVED for x in parts) and len(parts) <= 32


def _summary(text: str, tables: Imported, left_out: tuple[LeftOut, ...]) -> str:
    machines = len(re.findall(r"^machine ", text, re.MULTILINE))
    unread = f", {len(tables.missing)} not read" if tables.missing else ""
    idle = sum(x.rule is not None for x in left_out)
    without_effect = f", {idle} without effect" if idle else ""
    left = f", {len(left_out) - idle} not carried over" if len(left_out) > idle else ""
    return f"{machines} machine{'s' * (machines != 1)}{unread}{without_effect}{left}"
