"""Generate the documentation of rules and faults: a page for each, and an index.

`python -m fsmdsl.check.rule_pages docs/rules` writes the pages.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from fsmdsl.check.all_rules import all_rules
from fsmdsl.check.faults import FAULTS, FaultPage
from fsmdsl.text.diagnostics import Rule
from fsmdsl.text.files import write as disk

_CHAPTERS = {
    "0": "Reading",
    "1": "Names and types",
    "2": "Static checks",
    "3": "Exploration",
    "4": "Scenarios",
    "5": "Files and tools",
}
"""By the first digit of the code."""


def pages(rules: Iterable[Rule] | None = None) -> dict[str, str]:
    """The name and text of every page."""
    page_rules = list(all_rules().values() if rules is None else rules)
    of_faults = {f"{fault.kind}.md": _fault_page(fault) for fault in FAULTS}
    return {"index.md": _index(page_rules)} | {f"{rule.code}.md": _page(rule) for rule in page_rules} | of_faults


def _page(rule: Rule) -> str:
    return f"# {rule.code} {rule.name}\n\n**{rule.severity}**: {rule.summary}\n\n{rule.explanation.strip()}\n"


def _fault_page(fault: FaultPage) -> str:
    return f"# {fault.kind}\n\n**fault**: {fault.summary}\n\n{fault.explanation.strip()}\n"


def _index(rules: list[Rule]) -> str:
    parts = [
        "# Rules\n",
        "Every diagnostic names its rule. `fsm explain FSM201` prints the page of a rule, and `fsm explain reentrance` "
        "prints the page of a fault kind. A command exits with code 1 if there are errors or warnings, except that "
        "warnings from `fsm verify` do not affect the exit code. `fsm check --notes` shows notes.\n",
    ]
    for digit, title in _CHAPTERS.items():
        chapter = [rule for rule in rules if rule.code[3] == digit]
        if chapter:
            parts += [f"## {title}\n", "| code | name | severity | |", "| --- | --- | --- | --- |"]
            parts += [f"| [{r.code}]({r.code}.md) | {r.name} | {r.severity} | {r.summary} |" for r in chapter]
            parts.append("")
    parts += [
        "## Faults\n",
        "A step that fails is reported as [FSM303](FSM303.md), together with the fault kind. A state in which no step "
        "is possible is reported as [FSM302](FSM302.md).\n",
        "| kind | |",
        "| --- | --- |",
        *(f"| [{x.kind}]({x.kind}.md) | {x.summary} |" for x in FAULTS),
        "",
    ]
    return "\n".join(parts)


def write(folder: Path) -> None:
    """Write all pages, and delete those of rules that no longer exist."""
    texts = pages()
    for path in folder.glob("FSM[0-9][0-9][0-9].md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        disk.write(folder / name, text)


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/rules"))
