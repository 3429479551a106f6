"""`fsm diff`: what has changed between two versions of specs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from fsmdsl.cli import BOUNDED, usage
from fsmdsl.cli.common import documented_option, lacking_diagrams, links_option, paint
from fsmdsl.cli.completions import versions as offered
from fsmdsl.cli.limits import MINUTES, Form, limit_options, within
from fsmdsl.cli.messages import say, say_document, say_text, unstyled
from fsmdsl.cli.output_files import earlier, force_option, write, write_folder
from fsmdsl.cli.versions import Revisions, models_of, versions
from fsmdsl.cli.without_option import without_option
from fsmdsl.draw.svg import is_drawing
from fsmdsl.report.compare import Bounds, Difference, compare_runs, compare_texts
from fsmdsl.report.compare.as_markdown import as_markdown
from fsmdsl.report.compare.page import page
from fsmdsl.report.compare.pictures import as_svg, merged
from fsmdsl.report.compare.render_text import lines, tally
from fsmdsl.report.compare.to_json import as_data
from fsmdsl.report.data import document
from fsmdsl.text.budget import Budget
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.terminal import printable_json, printable_line

DIFFERENT = 1
PAGE = "index.html"


@usage.command("diff")
@usage.argument("old", shell_complete=offered)
@usage.argument("new", required=False, shell_complete=offered)
@usage.argument("path", required=False, shell_complete=offered)
@usage.option(
    "--verbose", "-v", is_flag=True, help="Also show the runs behind changed verdicts, and unchanged behaviour."
)
@usage.option("--quick", is_flag=True, help="Compare only the source, without running anything.")
@usage.option("--no-verdicts", is_flag=True, help="Compare source and behaviour, without verifying the two versions.")
@usage.option(
    "--max-states",
    type=usage.integer(1),
    default=Bounds().pairs,
    show_default=True,
    help="Stop each comparison after this many states.",
)
@limit_options(
    summary=f"Stop each comparison and exploration after this many seconds (default: {Bounds().seconds:g}); the "
    f"limit also applies to reading both versions and to drawing (default: {MINUTES:g} each)"
)
@documented_option
@without_option
@usage.option(
    "--out",
    "-o",
    type=usage.path(path_type=Path),
    help="Write a page with diagrams, and their SVG files, to this folder.",
)
@force_option
@links_option
@usage.option(
    "--format",
    "form",
    type=usage.choice(["text", "json", "markdown"]),
    default="text",
    help="Output format (default: text).",
)
@usage.option(
    "--output", type=usage.path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the result to FILE."
)
def command(
    old: str,
    new: str | None,
    path: str | None,
    verbose: bool,
    quick: bool,
    no_verdicts: bool,
    max_states: int,
    budget: Budget,
    as_documented: bool,
    without: tuple[str, ...],
    out: Path | None,
    force: bool,
    form: str,
    output: Path | None,
) -> None:
    """Show the changes between two versions of specs: in the machines, the behaviour and the verdicts.

    OLD and NEW are files, folders or Git objects (HEAD~1:specs/door.fsm). If one of them is only a revision, its path
    is that of the other (fsm diff HEAD~1 specs) or PATH (fsm diff v1 v2 specs). NEW defaults to the current files. A
    single file or folder (fsm diff specs) is compared with the last commit.

    Exit codes: 0 no difference, 1 a difference, 2 usage error, or a version has errors, 3 no difference found, but a
    limit was reached before everything was compared.
    """
    before, after = versions(old, new, path)
    revisions = Revisions()
    paths = (old, *(x for x in (new, path) if x is not None))
    bounds = Bounds(max_states, budget.seconds or Bounds().seconds, budget.memory)
    budget.seconds = budget.seconds or MINUTES
    printed: Form = "text" if form == "text" else "document"
    with within(budget, paths, printed):
        texts = compare_texts(*models_of((before, after), revisions, as_documented, without))
    difference = compare_runs(texts, bounds, run=not quick, verify=not (quick or no_verdicts))
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
        with within(budget.renewed(), paths, "document", before="all diagrams were drawn, so no page was written"):
            files = _page(difference, names, revisions.substitute)
        write_folder(out, "diff", files, ours=earlier(is_drawing), force=force)
        count = len(files) - 1
        say(f"{out / PAGE}: {count} diagram{'s' * (count != 1)}", err=True)
    sys.exit(DIFFERENT if difference.is_different else BOUNDED if difference.undecided else 0)


def _page(difference: Difference, names: tuple[str, str], with_revisions: Callable[[str], str]) -> dict[str, str]:
    """The diagrams and the page, by file name. Where Graphviz is missing, the page has none."""
    svgs: dict[str, str] = {}
    for part in difference.parts:
        both = merged(part)
        if both is None or not (both.states or both.rows):
            continue
        drawn = as_svg(both, f"{part.name.replace('.', '-')}-")
        if isinstance(drawn, Diagnostic):
            say(lacking_diagrams(drawn), err=True)
            break
        svgs[part.name] = drawn
    files = {f"{name}.svg": with_revisions(svg) for name, svg in svgs.items()}
    return {**files, PAGE: with_revisions(page(difference, *names, svgs))}
