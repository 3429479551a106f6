"""A line for each finding, of violations for each group, as compilers print them and editors read them."""

from __future__ import annotations

from fsmdsl.report.formats.results import Results, by_group
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import NOWHERE
from fsmdsl.text.terminal import printable


def concise(results: Results) -> str:
    """`door.fsm:7:13: error[FSM101]: there is no state …`, then the summary."""
    lines = [_line(f.diagnostic) for f in by_group(results.findings)]
    return "\n".join([*lines, printable(results.summary)]) + "\n"


def _line(d: Diagnostic) -> str:
    where = "" if d.span.source is NOWHERE.source else f"{d.span}: "
    return printable(" ".join(f"{where}{d.severity}[{d.rule.code}]: {d.message}".split()))
