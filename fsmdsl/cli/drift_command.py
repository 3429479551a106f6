"""`fsm drift`: the table of code against that of a spec."""

from __future__ import annotations

import sys
from pathlib import Path

from fsmdsl.cli import BOUNDED, FINDINGS, usage
from fsmdsl.cli.common import links_option, model_or_exit, paint
from fsmdsl.cli.import_command import imported
from fsmdsl.cli.limits import MINUTES, limit_options, within
from fsmdsl.cli.messages import misuse
from fsmdsl.cli.printing import printing, printing_options
from fsmdsl.interop.drift import RULES, Comparison, Leads, drift, report, table_names, without_effect
from fsmdsl.interop.imports.formats import FORMATS
from fsmdsl.report.formats.check_results import from_check
from fsmdsl.report.frames import frames
from fsmdsl.text.budget import Budget
from fsmdsl.text.diagnostics import did_you_mean
from fsmdsl.text.source import Source, Span


@usage.command("drift")
@usage.argument("spec", type=usage.path())
@usage.argument("code", type=usage.path())
@usage.option(
    "--from", "source_format", type=usage.choice(FORMATS), help="Format of CODE (default: determined by its name)."
)
@usage.option(
    "--machine",
    "machines",
    multiple=True,
    metavar="SPEC[=CODE]",
    help="Compare only this machine, with the table of the same or the given name (may be repeated; default: all "
    "machines and tables whose names match).",
)
@usage.option(
    "--rename",
    "renames",
    multiple=True,
    metavar="CODE=SPEC",
    help="Match a name in the code with a different name in the spec (may be repeated).",
)
@usage.option(
    "--leads",
    type=usage.choice(["code", "spec"]),
    default="code",
    show_default=True,
    help="Side to treat as correct; findings point to the other side.",
)
@usage.option("--as-documented", is_flag=True, help="Ignore amendments, and use the document as written.")
@limit_options(MINUTES)
@links_option
@printing_options
def command(
    spec: str,
    code: str,
    source_format: str | None,
    machines: tuple[str, ...],
    renames: tuple[str, ...],
    leads: Leads,
    as_documented: bool,
    budget: Budget,
    form: str | None,
    outputs: tuple[Path, ...],
) -> None:
    """Compare the tables of CODE, as `fsm import` reads them, with the machines of SPEC.

    Reports states, initial states and rows that were added, removed, changed or renamed, with both locations.
    Conditions and actions are not compared, and timers only if the table in the code has timers. Text and JSON also
    list states and rows that have no effect in the code; these do not count as differences.

    Exit codes: 0 no difference, 1 a difference, or SPEC or CODE cannot be read, 2 usage error, 3 no difference in the
    parts that could be read, but some could not.
    """
    out = printing(form, outputs)
    pairs = {a: b or a for a, _, b in (x.partition("=") for x in machines)}
    names = dict(_renaming(x) for x in renames)
    with within(budget, (spec, code), out):
        model = model_or_exit((spec,), out, whole=True, as_documented=as_documented)
        tables = imported(code, source_format)
        machine_names = [x.name for x in model.machines.values()]
        for name in (x for x in pairs if x not in machine_names):
            advice = did_you_mean(name, machine_names) or "`fsm list` names them"
            misuse(f"there is no machine `{name}` in `{spec}`; {advice}")
        try:
            comparison = drift(model, tables, pairs, names)
        except KeyError as error:
            there = ", ".join(f"`{x}`" for x in table_names(tables))
            misuse(f"there is no table `{error.args[0]}` in `{code}`; there are {there}")
        findings = report(comparison, Span(Source(spec, ""), 0, 0), leads)
        everything = [*findings, *without_effect(comparison)]
    if everything:
        out.say_text(frames(everything, paint))
    for name in comparison.alone:
        out.say(f"not compared: `{name}`, which has no table in the code")
    tally = _tally(comparison)
    out.say(f"{tally}: {paint('the same', 'good')}" if comparison.same else tally)
    out.finish(lambda: from_check(everything, findings, RULES, tally, "drift"))
    sys.exit(FINDINGS if comparison.changes else 0 if comparison.same else BOUNDED)


def _renaming(text: str) -> tuple[str, str]:
    old, _, new = text.partition("=")
    if not (old and new):
        misuse(f"`--rename {text}` names one thing; write `--rename NAME_IN_CODE=NAME_IN_SPEC`")
    return old, new


def _tally(comparison: Comparison) -> str:
    kinds = ("added", "removed", "changed", "renamed")
    counts = [(sum(x.kind == kind for x in comparison.changes), kind) for kind in kinds]
    parts = [f"{n} {kind}" for n, kind in counts if n]
    if comparison.unread:
        parts.append(f"{len(comparison.unread)} not read")
    if comparison.uncertain:
        parts.append(f"{len(comparison.uncertain)} of the spec not in what was read")
    return ", ".join(parts) or "code and spec"
