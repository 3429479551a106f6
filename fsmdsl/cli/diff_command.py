"""`fsm diff`: what has changed between two versions of specs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from fsmdsl.cli import BOUNDED, usage
from fsmdsl.cli.common import documented_option, links_option, paint
from fsmdsl.cli.completions import versions as offered
from fsmdsl.cli.limits import MINUTES, command_budget, within
from fsmdsl.cli.messages import say, say_document, say_text, unstyled
from fsmdsl.cli.output_files import earlier, force_option, write, write_folder
from fsmdsl.cli.versions import Revisions, models_of, versions
from fsmdsl.cli.without_option import without_option
from fsmdsl.draw.svg import is_drawing
from fsmdsl.report.compare import Bounds, Difference, compare
from fsmdsl.report.compare.as_markdown import as_markdown
from fsmdsl.report.compare.page import page
from fsmdsl.report.compare.pictures import as_svg, merged
from fsmdsl.report.compare.render_text import lines, tally
from fsmdsl.report.compare.to_json import as_data
from fsmdsl.report.data import document
from fsmdsl.report.frames import frame
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.terminal import printable_json, printable_line

DIFFERENT = 1


@usage.command("diff")
@usage.argument("old", shell_complete=offered)
@usage.argument("new", required=False, shell_complete=offered)
@usage.argument("path", required=False, shell_complete=offered)
@usage.option("--verbose", "-v", is_flag=True, help="Also the runs behind other answers, and what behaves the same.")
@usage.option("--quick", is_flag=True, help="Compare the texts alone: run nothing.")
@usage.option("--no-verdicts", is_flag=True, help="Compare texts and behaviour, and verify neither version.")
@usage.option(
    "--max-states", type=usage.integer(1), default=Bounds().pairs, show_default=True, help="For each comparison."
)
@usage.option(
    "--max-seconds",
    type=usage.number(0, min_open=True),
    help=f"For each comparison, and for each exploration (default: {Bounds().seconds:g}), and to read both versions "
    f"(default: {MINUTES:g}).",
)
@documented_option
@without_option
@usage.option("--out", "-o", type=usage.path(path_type=Path), help="A folder for a page with diagrams, and their SVG.")
@force_option
@links_option
@usage.option("--format", "form", type=usage.choice(["text", "json", "markdown"]), default="text", help="How to print.")
@usage.option("--output", type=usage.path(path_type=Path, dir_okay=False), metavar="FILE", help="Write it to a file.")
def command(
    old: str,
    new: str | None,
    path: str | None,
    verbose: bool,
    quick: bool,
    no_verdicts: bool,
    max_states: int,
    max_seconds: float | None,
    as_documented: bool,
    without: tuple[str, ...],
    out: Path | None,
    force: bool,
    form: str,
    output: Path | None,
) -> None:
    """Tell what has changed between two versions of specs: as machines, as behaviour, as verdicts.

    OLD and NEW are files or folders, or what git has of them: HEAD~1:specs/door.fsm, or a revision alone, which takes
    the path of the other (fsm diff HEAD~1 specs) or PATH (fsm diff v1 v2 specs). Without NEW, the files as they are;
    a file or folder alone (fsm diff specs) is compared with the last commit.

    Exit codes: 0 the same, 1 different, 2 misuse, or a version that has errors, 3 no difference found, but a limit came
    before everything was compared.
    """
    before, after = versions(old, new, path)
    revisions = Revisions()
    with within(command_budget(max_seconds or MINUTES, None), (old, *(x for x in (new, path) if x is not None))):
        models = models_of((before, after), revisions, as_documented, without)
    bounds = Bounds(max_states, max_seconds or Bounds().seconds)
    difference = compare(*models, bounds, run=not quick, verify=not (quick or no_verdicts))
    names = before.label, after.label
    match form:
        case "json":
            text = printable_json(
                json.dumps(document("diff", as_data(difference, *names)), indent=2, ensure_ascii=False)
            )
        case "markdown":
            text = as_markdown(difference, *names).rstrip("\n")
        case _:
            text = "\n".join(map(printable_line, lines(difference, *names, paint, every=verbose)))
    if output is None:
        say_document(f"{revisions.substitute(text)}\n") if form == "markdown" else say_text(revisions.substitute(text))
    else:
        write(output, unstyled(revisions.substitute(text)) + "\n")
        say(tally(difference))
    if out is not None:
        _write(difference, names, out, revisions.substitute, force)
    sys.exit(DIFFERENT if difference.is_different else BOUNDED if difference.undecided else 0)


def _write(
    difference: Difference, names: tuple[str, str], folder: Path, with_revisions: Callable[[str], str], force: bool
) -> None:
    """The diagrams and the page. Where Graphviz is missing, the page has none."""
    svgs: dict[str, str] = {}
    for part in difference.parts:
        both = merged(part)
        if both is None or not (both.states or both.rows):
            continue
        drawn = as_svg(both, f"{part.name.replace('.', '-')}-")
        if isinstance(drawn, Diagnostic):
            say_text(frame(drawn, paint), err=True)
            break
        svgs[part.name] = drawn
    files = {f"{name}.svg": with_revisions(svg) for name, svg in svgs.items()}
    files["index.html"] = with_revisions(page(difference, *names, svgs))
    write_folder(folder, "diff", files, ours=earlier(is_drawing), force=force)
    say(f"{folder / 'index.html'}: {len(svgs)} diagram{'s' * (len(svgs) != 1)}", err=True)
