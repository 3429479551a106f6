"""The report as one HTML file: nothing is fetched, every text is escaped, and without scripts all of it can be read."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from fsmdsl.report.anchors import anchor
from fsmdsl.report.assets import fingerprint, script, style
from fsmdsl.report.views import Report

__all__ = ["anchor", "is_page", "page", "prose", "script_data", "summary"]

STYLES = ("theme.css", "report.css", "stepper.css")
SCRIPTS = ("panzoom.js", "download.js", "sorting.js", "space.js", "stepper.js", "report.js")

AT_FIRST = 12
"""Maximum number of things that need attention shown before the reader asks for all."""

MAX_FAILING = 3
"""Maximum number of failing scenarios that the summary names."""


def page(report: Report) -> str:
    """The whole file."""
    code = script(*SCRIPTS)
    text = template("fsmdsl.report", "page.html.jinja").render(
        report=report,
        summary=summary(report),
        shown_at_first=AT_FIRST,
        max_failing=MAX_FAILING,
        style=style(*STYLES),
        script=code,
        script_hash=fingerprint(code),
    )
    assert isinstance(text, str)
    return text


def is_page(content: bytes) -> bool:
    """Is a file a page that `page` has made, of whatever version?"""
    head = b'<a class="skip" href="#overview">To the overview</a>\n<nav aria-label="Contents">'
    return content.lstrip().startswith(b"<!doctype html>") and head in content


def summary(report: Report) -> str:
    """How things stand, in a sentence."""
    totals = report.totals
    parts = [
        f"{totals['violations']} violated" if totals["violations"] else "",
        f"{totals['undecided']} not decided" if totals["undecided"] else "",
        f"{totals['failing']} of {totals['scenarios']} scenarios failing" if totals["failing"] else "",
    ]
    if any(parts):
        return f"{', '.join(x for x in parts if x)}."
    systems = totals["systems"]
    headline = {0: "No system was explored", 1: "The system passes"}.get(systems, f"All {systems} systems pass")
    return f"{headline}{', and every scenario passes' if totals['scenarios'] else ''}."


@cache
def template(package: str, name: str) -> Any:
    """A page's template, in the folder `templates` of a package. Whatever it is given is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = prose
    environment.filters["paragraphs"] = paragraphs
    environment.filters["script_data"] = script_data
    return environment.get_template(name)


def prose(text: str) -> Any:
    """A doc comment as HTML: escaped, and what stands between backticks as code."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    pieces = (Markup("<code>{}</code>").format(p) if i % 2 else escape(p) for i, p in enumerate(parts))
    return Markup("").join(pieces)


_LIST_ITEM = re.compile(r"\s*([-*•]|\d+[.)])\s|\s{4}")
"""How a line begins that is not the rest of the one before."""


def paragraphs(text: str) -> Any:
    """A doc comment of several lines: lines flow, an empty one ends a paragraph, an item of a list begins a line."""
    from markupsafe import Markup

    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        flowing = [line if _LIST_ITEM.match(line) else line.strip() for line in block.split("\n")]
        joined = "".join(f"\n{line}" if n and _LIST_ITEM.match(line) else f" {line}" for n, line in enumerate(flowing))
        blocks.append(Markup('<p class="doc">{}</p>').format(prose(joined.strip())))
    return Markup("\n").join(blocks)


def script_data(data: Any) -> Any:
    """Data as JSON that can stand in a `<script>`: nothing in it ends the element."""
    from markupsafe import Markup

    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))
