"""Results as other programs read them: a file for each format, all made from the same `Results`.

A format is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fsmdsl.text.diagnostics import Rule
from fsmdsl.text.terminal import printable_json

if TYPE_CHECKING:
    from fsmdsl.report.formats.results import Results

FORMATS = ("concise", "json", "sarif", "junit", "github", "gitlab", "markdown")
"""All but `text`, which a command prints while it goes on."""

ENDINGS = {".json": "json", ".sarif": "sarif", ".xml": "junit", ".md": "markdown", ".txt": "text"}
"""The format of a file by the end of its name."""


def rendered(form: str, results: Results, rules: Sequence[Rule] = (), version: str = "") -> str:
    """The results in one of `FORMATS`. Of rules, and of the version of the toolkit, SARIF tells."""
    match form:
        case "concise":
            from fsmdsl.report.formats.concise import concise

            return concise(results)
        case "json":
            import json

            from fsmdsl.report.data import document

            content = document(results.kind, results.content)
            return printable_json(json.dumps(content, indent=2, ensure_ascii=False)) + "\n"
        case "sarif":
            from fsmdsl.report.formats.sarif import sarif

            return sarif(results, rules, version)
        case "junit":
            from fsmdsl.report.formats.junit import junit

            return junit(results)
        case "github":
            from fsmdsl.report.formats.github import github

            return github(results)
        case "gitlab":
            from fsmdsl.report.formats.gitlab import gitlab

            return gitlab(results)
        case "markdown":
            from fsmdsl.report.formats.markdown import markdown

            return markdown(results)
        case _:
            raise ValueError(form)
