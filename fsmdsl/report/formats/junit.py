"""JUnit XML, which every CI shows as test results."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from fsmdsl.report.formats.results import Case, Finding, Results, Suite
from fsmdsl.report.frames import frame
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.terminal import printable_text

_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold, not even escaped."""


def junit(results: Results) -> str:
    """A suite for each system, module or folder; a case for each verdict, scenario or rule.

    What a limit left undecided is an `error`, never a success; what was left out is `skipped`.
    """
    root = Element("testsuites", name=f"fsm {results.kind}")
    for suite in results.suites:
        _suite(root, suite, results.kind)
    _count(root, [case for suite in results.suites for case in suite.cases])
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, suite: Suite, kind: str) -> None:
    element = SubElement(root, "testsuite", name=_clean(suite.name))
    if suite.seconds is not None:
        element.set("time", f"{suite.seconds:.3f}")
    _count(element, suite.cases)
    for case in suite.cases:
        _case(element, case, f"fsm.{kind}.{suite.name}")
    if suite.summary:
        SubElement(element, "system-out").text = _clean(suite.summary)


def _count(element: Element, cases: list[Case] | tuple[Case, ...]) -> None:
    outcomes = [case.outcome for case in cases]
    element.set("tests", str(len(outcomes)))
    for name, outcome in (("failures", "failed"), ("errors", "undecided"), ("skipped", "left out")):
        element.set(name, str(sum(x == outcome for x in outcomes)))


def _case(suite: Element, case: Case, classname: str) -> None:
    element = SubElement(
        suite,
        "testcase",
        classname=_clean(classname),
        name=_clean(f"{case.name}: {case.title}" if case.title else case.name),
    )
    worst = sorted(case.findings, key=lambda f: -f.diagnostic.severity)
    causes = list(dict.fromkeys(f.cause for f in worst if f.cause))
    properties = SubElement(element, "properties") if causes else element
    for cause in causes:
        SubElement(properties, "property", name="cause", value=_clean(cause))
    match case.outcome:
        case "failed":
            first = worst[0].of_group or worst[0].diagnostic
            attributes = {"message": _clean(first.message), "type": first.rule.code}
            SubElement(element, "failure", attributes).text = _clean("\n".join(map(_details, worst)))
        case "undecided":
            SubElement(element, "error", {"message": _clean(case.message), "type": "undecided"})
        case "left out":
            SubElement(element, "skipped", {"message": _clean(case.message)})
        case "passed":
            notes = [f for f in worst if f.diagnostic.severity is Severity.NOTE]
            if notes:
                SubElement(element, "system-out").text = _clean("\n".join(map(_details, notes)))


def _details(f: Finding) -> str:
    return "\n".join([frame(f.diagnostic), *f.story])


def _clean(text: str) -> str:
    return _IMPOSSIBLE.sub("\ufffd", printable_text(text))
