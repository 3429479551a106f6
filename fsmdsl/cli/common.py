"""What the subcommands share: options, loading, printing, exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fsmdsl import model as m
from fsmdsl.cli import messages, usage
from fsmdsl.cli.invocation import invocation
from fsmdsl.cli.messages import misuse, say, say_text
from fsmdsl.cli.printing import Printing
from fsmdsl.model.resolve.rules import TOO_LARGE
from fsmdsl.model.workspace import Loaded, load
from fsmdsl.report.frames import frames, tally
from fsmdsl.text.diagnostics import Diagnostic, Severity, ordered

F = TypeVar("F", bound=Callable[..., Any])

FINDINGS = 1

_RED, _GREEN, _YELLOW, _BLUE, _CYAN = (f"\x1b[{code}m" for code in (31, 32, 33, 34, 36))
_BOLD, _DIM = "\x1b[1m", "\x1b[2m"
_STYLES = {
    "error": _RED + _BOLD,
    "warning": _YELLOW + _BOLD,
    "note": _CYAN + _BOLD,
    "place": _BLUE + _BOLD,
    "good": _GREEN + _BOLD,
    "quiet": _DIM,
    "strong": _BOLD,
}
"""Control sequences of ECMA-48, 8.3.117."""


def paint(text: str, role: str) -> str:
    """The text in the color of its role; colors are taken off again where no terminal shows them."""
    return f"{_STYLES[role]}{text}\x1b[0m"


def paths_argument(command: F) -> F:
    """`PATHS…`, the current folder's specs when none is given; and `--follow-links`."""
    return links_option(usage.argument("paths", nargs=-1, type=usage.path())(command))


def links_option(command: F) -> F:
    """`--follow-links`."""
    return usage.option(
        "--follow-links",
        is_flag=True,
        expose_value=False,
        callback=_follow_links,
        help="Also read through links that lead out of the folder that was named.",
    )(command)


def follows_links() -> bool:
    """Was `--follow-links` given?"""
    return invocation().follows_links


def _follow_links(_ctx: object, _parameter: object, value: bool) -> None:
    invocation().follows_links = value


def format_option(command: F) -> F:
    """`--format text|json`."""
    choice = usage.choice(["text", "json"])
    return usage.option("--format", "form", type=choice, default="text", help="How to print (default: text).")(command)


def documented_option(command: F) -> F:
    """`--as-documented`."""
    return usage.option("--as-documented", is_flag=True, help="Leave amendments out: what the document alone says.")(
        command
    )


def chosen(paths: Sequence[str]) -> list[str]:
    """The paths given, else `specs` where there is one, else the current folder."""
    if paths:
        return list(paths)
    return ["specs"] if Path("specs").is_dir() else ["."]


def existing(paths: Sequence[str]) -> list[str]:
    """`chosen`, all of which exist; otherwise the command ends with 2."""
    names = chosen(paths)
    for path in names:
        try:
            if path != "-":
                os.stat(path)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            misuse(f"there is no file or folder `{path}`")
        except OSError:  # it is there, and reading it says what is wrong
            continue
    return names


def say_json(kind: str, content: Mapping[str, object]) -> None:
    """Print a JSON document: its kind and version, then the content."""
    import json

    from fsmdsl.report.data import document

    messages.say_json(json.dumps(document(kind, content), indent=2, ensure_ascii=False))


def serious(diagnostics: Iterable[Diagnostic]) -> bool:
    """Does anything in it make the command exit with 1?"""
    return any(d.severity >= Severity.WARNING for d in diagnostics)


def checked(
    paths: Sequence[str],
    *,
    as_documented: bool = False,
    without: Sequence[str] = (),
    settings: dict[str, Any] | None = None,
) -> tuple[Loaded, list[Diagnostic]]:
    """The specs, and everything that `fsm check` finds in them."""
    links = follows_links()
    loaded = load(existing(paths), as_documented=as_documented, without=without, settings=settings, follow_links=links)
    if loaded.unanswered:
        misuse("; ".join(loaded.unanswered.values()))
    diagnostics = list(loaded.diagnostics)
    if loaded.model is not None:
        from fsmdsl.check import check

        diagnostics = ordered([*diagnostics, *check(loaded.model)])
    return loaded, diagnostics


def model_or_exit(paths: Sequence[str], form: str | Printing = "text", **options: Any) -> m.Model:
    """The model of specs that have no errors; otherwise the errors are printed and the command ends with 1."""
    return ordered_model(loaded_or_exit(paths, form, **options))


def loaded_or_exit(paths: Sequence[str], form: str | Printing = "text", **options: Any) -> Loaded:
    """The same, with what was named on the command line."""
    loaded, problems = checked(paths, **options)
    # Without amendments, what the checks find is the document's doing, and the reason to look further; but not at
    # numbers that are too large to compute.
    documented = options.get("as_documented") or options.get("without")
    fatal = [d for d in problems if not documented or d in loaded.diagnostics or d.rule == TOO_LARGE]
    errors = [d for d in fatal if d.severity is Severity.ERROR]
    if loaded.model is None or errors:
        errors = _caused_by_options(errors, paths, **options)
        if form == "json":
            from fsmdsl.report.data import diagnostics

            say_json("diagnostics", diagnostics(errors))
        elif isinstance(form, str):
            say_text(frames(errors, paint), err=True)
            say(f"{tally(errors)}; fix that first", err=True)
        else:
            refuse(form, errors, "fix that first")
        sys.exit(FINDINGS)
    return loaded


def _caused_by_options(
    errors: list[Diagnostic],
    paths: Sequence[str],
    *,
    as_documented: bool = False,
    without: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> list[Diagnostic]:
    """The errors; those that the text has not as it is written say which options cause them."""
    if not settings and not without:
        return errors
    _, as_written = checked(paths, as_documented=as_documented)
    changed = [*(f"--set {x.span.quote}" for x in (settings or {}).values()), *(f"--without {x}" for x in without)]
    options = " ".join(changed)
    note = f"`{options}` causes this: as it is written, the text is fine"
    return [d if d in as_written else d.note(note) for d in errors]


def refuse(printing: Printing, errors: list[Diagnostic], why: str) -> None:
    """Say what keeps a command from its work, in the format asked for."""
    from fsmdsl.report.formats.check_results import from_check

    message = f"{tally(errors)}; {why}"
    printing.say_text(frames(errors, paint), err=True)
    printing.say(message, err=True)
    printing.finish(lambda: from_check(errors, errors, (), message, "diagnostics"))


def ordered_model(loaded: Loaded) -> m.Model:
    """The whole model, with the modules that the user named first; imported ones keep their place behind them."""
    assert loaded.model is not None
    roots = [x for x in loaded.model.modules if x.name in loaded.root_modules]
    others = [x for x in loaded.model.modules if x.name not in loaded.root_modules]
    return m.Model((*roots, *others))
