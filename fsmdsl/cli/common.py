"""What the subcommands share: options, loading, printing, exit codes."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from fsmdsl import model as m
from fsmdsl.cli import FINDINGS, messages, usage
from fsmdsl.cli.invocation import invocation
from fsmdsl.cli.messages import misuse, say, say_text
from fsmdsl.cli.printing import Printing
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.model.resolve.declarations.modules import module_name
from fsmdsl.model.resolve.rules import TOO_LARGE
from fsmdsl.model.workspace import RULES as FILE_RULES
from fsmdsl.model.workspace import Files, Loaded, read_files, resolve_files
from fsmdsl.report.frames import frames, tally
from fsmdsl.text.diagnostics import Diagnostic, Severity, ordered
from fsmdsl.text.terminal import printable

F = TypeVar("F", bound=Callable[..., Any])

IMPORTS_ERRORS = "it imports a file with errors"

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
        help="Also follow links that point outside the named folder.",
    )(command)


def follows_links() -> bool:
    """Was `--follow-links` given?"""
    return invocation().follows_links


def _follow_links(_ctx: object, _parameter: object, value: bool) -> None:
    invocation().follows_links = value


def format_option(command: F) -> F:
    """`--format text|json`."""
    choice = usage.choice(["text", "json"])
    return usage.option("--format", "form", type=choice, default="text", help="Output format (default: text).")(command)


def documented_option(command: F) -> F:
    """`--as-documented`."""
    return usage.option("--as-documented", is_flag=True, help="Ignore amendments, and use the document as written.")(
        command
    )


def settings_option(command: F) -> F:
    """`--set`."""
    text = "Change the size of a set, or a parameter (may be repeated)."
    return usage.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help=text)(command)


def chosen(paths: Sequence[str]) -> list[str]:
    """The paths given, else `specs` where there is one, else the current folder."""
    if paths:
        return list(paths)
    return ["specs"] if Path("specs").is_dir() else ["."]


def arguments_again(paths: Sequence[str], *, as_documented: bool, without: Sequence[str]) -> str:
    """What another command takes to read the same specs in the same way."""
    options = [*(["--as-documented"] if as_documented else []), *(f"--without {x}" for x in without)]
    return " ".join([*chosen(paths), *options])


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


@dataclass(frozen=True, slots=True)
class Checked:
    """Specs, and everything that `fsm check` finds in them."""

    loaded: Loaded
    """The sound files: those that have no errors, and import none that has. There is no model if there are none, or if
    the errors are in no file."""
    diagnostics: tuple[Diagnostic, ...]
    """In all files."""
    errors: tuple[Diagnostic, ...]
    """Those of them that keep files from being used."""
    left_out: tuple[tuple[str, str], ...]
    """The files that are not used, each with the reason."""

    @property
    def left_out_line(self) -> str:
        """The same, in a line."""
        return ", ".join(f"`{printable(name)}` ({why})" for name, why in self.left_out)


def serious(diagnostics: Iterable[Diagnostic]) -> bool:
    """Does anything in it make the command exit with 1?"""
    return any(d.severity >= Severity.WARNING for d in diagnostics)


def checked(
    paths: Sequence[str],
    *,
    as_documented: bool = False,
    without: Sequence[str] = (),
    settings: dict[str, Any] | None = None,
    lenient: bool = False,
) -> Checked:
    """Read and check specs. Files with errors are left out, and those that import them; with `lenient` only those with
    errors that leave no model."""

    def resolved(files: Files) -> Loaded:
        return resolve_files(files, as_documented=as_documented, without=without, settings=settings)

    everything = sound = read_files(existing(paths), follow_links=follows_links())
    loaded = resolved(sound)
    if loaded.unanswered:
        misuse("; ".join(loaded.unanswered.values()))
    diagnostics, errors = list[Diagnostic](), list[Diagnostic]()
    while True:
        problems = _problems(loaded)
        diagnostics += [d for d in problems if d in loaded.diagnostics or not _is_premature(d, everything, sound)]
        # Without amendments, what the checks find is the document's doing, and the reason to look further; but not at
        # numbers that are too large to compute.
        passable = () if not (as_documented or without or lenient) else set(problems) - set(loaded.diagnostics)
        new_errors = [
            d for d in problems if d.severity is Severity.ERROR and (d not in passable or d.rule == TOO_LARGE)
        ]
        errors += new_errors
        if not new_errors:
            break
        if any(d.rule not in FILE_RULES and not _modules([d], sound) for d in new_errors):
            return Checked(replace(loaded, model=None), tuple(ordered(diagnostics)), tuple(ordered(errors)), ())
        sound = sound.without(_modules(new_errors, sound) | sound.unread)
        loaded = resolved(sound)
    if not sound.root_count:
        loaded = replace(loaded, model=None)
    return Checked(loaded, tuple(ordered(diagnostics)), tuple(ordered(errors)), _left_out(everything, sound, errors))


def _problems(loaded: Loaded) -> list[Diagnostic]:
    if loaded.model is None:
        return list(loaded.diagnostics)
    from fsmdsl.check import check

    return [*loaded.diagnostics, *check(loaded.model)]


def _modules(diagnostics: Iterable[Diagnostic], files: Files) -> set[str]:
    """The modules in which diagnostics are."""
    sources = {d.span.source.name for d in diagnostics}
    return {module_name(p.module) for p in files.parsed if p.source.name in sources}


def _is_premature(d: Diagnostic, everything: Files, sound: Files) -> bool:
    """Could a file that was left out use what a check says is not used?"""
    if d.severity is Severity.ERROR or len(sound.parsed) == len(everything.parsed):
        return False
    sound_modules = {module_name(p.module) for p in sound.parsed}
    others = [p for p in everything.parsed if module_name(p.module) not in sound_modules]
    return bool(_modules([d], sound) & everything.imported_by(others))


def _left_out(everything: Files, sound: Files, errors: Sequence[Diagnostic]) -> tuple[tuple[str, str], ...]:
    """The named files that are not used, each with the reason."""
    parts = []
    used = {p.source.name for p in sound.parsed}
    names = Counter(module_name(p.module) for p in everything.parsed)
    for p in everything.parsed[: everything.root_count]:
        name = p.source.name
        if name in used:
            continue
        own = [d for d in errors if d.span.source.name == name]
        why = "another file has the same module" if names[module_name(p.module)] > 1 else IMPORTS_ERRORS
        parts.append((name, tally(own) or why))
    return tuple(parts)


def model_or_exit(paths: Sequence[str], form: str | Printing = "text", **options: Any) -> m.Model:
    """The model of specs; see `loaded_or_exit`."""
    return ordered_model(loaded_or_exit(paths, form, **options))


def loaded_or_exit(
    paths: Sequence[str], form: str | Printing = "text", *, whole: bool = False, **options: Any
) -> Loaded:
    """The sound files of specs. Errors in others are printed, and the command will end with 1. It ends at once where
    nothing is sound, or, with `whole`, where not all is."""
    x = checked(paths, **options)
    if x.loaded.model is None or (whole and x.errors):
        _refuse_all(x, paths, form, **options)
    if x.errors:
        message = left_out_message(x)
        if isinstance(form, Printing):
            form.errors.extend(x.errors)
            form.left_out.update(x.left_out)
            form.say_text(frames(x.errors, paint), err=True)
            form.say(message, "", err=True)
        else:
            say_text(frames(x.errors, paint), err=True)
            say(message, err=True)
        invocation().has_left_out = True
    return x.loaded


def left_out_message(x: Checked) -> str:
    """How many errors there are, and which files are not used for them."""
    return f"{tally(x.errors)}; left out: {x.left_out_line or 'files that cannot be read'}"


def has_left_out() -> bool:
    """Does the command leave out files that have errors?"""
    return invocation().has_left_out


def absent(kind: str, name: str) -> str:
    """That nothing is called so; it may be in a file that was left out."""
    return f"no file without errors has a {kind} `{name}`" if has_left_out() else f"there is no {kind} `{name}`"


def _refuse_all(x: Checked, paths: Sequence[str], form: str | Printing, **options: Any) -> NoReturn:
    errors = _caused_by_options(list(x.errors), paths, **options)
    if form == "json":
        from fsmdsl.report.data import diagnostics

        say_json("diagnostics", diagnostics(errors))
    elif isinstance(form, str):
        say_text(frames(errors, paint), err=True)
        say(f"{tally(errors)}; fix that first", err=True)
    else:
        refuse(form, errors, "fix that first")
    sys.exit(FINDINGS)


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
    as_written = checked(paths, as_documented=as_documented).diagnostics
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


def lacking_diagrams(why: Diagnostic) -> str:
    """The warning that a page was written without diagrams, and why."""
    advice = f"; {why.advice}" if why.advice else ""
    return f"{paint('warning', 'warning')}: the page lacks diagrams: {why.message}{advice}"
