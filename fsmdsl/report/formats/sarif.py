"""SARIF 2.1.0, which code scanning reads: rules with their pages, results, and counterexamples as code flows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from fsmdsl.report.data import Data
from fsmdsl.report.formats.places import address, declaration, fingerprints
from fsmdsl.report.formats.results import Finding, Results
from fsmdsl.runs.trace import for_ever
from fsmdsl.search import Entry, Trace
from fsmdsl.step import Followed, World
from fsmdsl.step.describe import describe, fault_message
from fsmdsl.text.diagnostics import Diagnostic, Fix, Label, Rule
from fsmdsl.text.source import NOWHERE, Span
from fsmdsl.text.terminal import printable_json

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
"""What paths are relative to: the folder that the command was run in, which should be the repository's."""


def sarif(results: Results, rules: Sequence[Rule], version: str) -> str:
    """The whole log, one run. `rules` are all that the tool has."""
    places = {rule.code: n for n, rule in enumerate(rules)}
    findings = (*results.findings, *results.never_followed)
    names = fingerprints(f.diagnostic for f in findings)
    run = {
        "tool": {"driver": {"name": "fsm", "version": version, "rules": [_rule(rule) for rule in rules]}},
        "automationDetails": {"id": f"fsm/{results.kind}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [{"executionSuccessful": True}],
        "results": [_result(f, places, name) for f, name in zip(findings, names, strict=True)],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return printable_json(json.dumps(log, indent=2, ensure_ascii=False)) + "\n"


def _rule(rule: Rule) -> Data:
    page = rule.explanation.strip()
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": page.partition("\n\n")[0].replace("\n", " ")},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": str(rule.severity)},
    }


def _result(f: Finding, places: dict[str, int], name: str) -> Data:
    d = f.diagnostic
    lines = [d.message, *d.remarks, *([f"Help: {d.advice}"] if d.advice is not None else [])]
    result: Data = {
        "ruleId": d.rule.code,
        "ruleIndex": places.get(d.rule.code, -1),
        "level": str(d.severity),
        "message": {"text": "\n".join(lines)},
        "locations": [_placed(d)] if d.span.source is not NOWHERE.source else [],
        "partialFingerprints": {"fsm/v1": name},
    }
    if d.labels:
        result["relatedLocations"] = [_related(n, x) for n, x in enumerate(d.labels, 1)]
    if d.fix is not None:
        result["fixes"] = [_fix(d.fix)]
    properties = {name: text for name, text in (("cause", f.cause), ("group", f.group)) if text}
    if properties:
        result["properties"] = properties
    if f.trace is not None and f.trace.entries:
        result["codeFlows"] = [_flow(f.trace, f.scope, d.span)]
    return result


# Places --------------------------------------------------------------------------------------------------------------


def _placed(d: Diagnostic) -> Data:
    return {
        **_location(d.span),
        "logicalLocations": [{"fullyQualifiedName": declaration(d.span), "kind": "declaration"}],
    }


def _related(n: int, label: Label) -> Data:
    return {"id": n, **_location(label.span, label.text)}


def _location(span: Span, text: str = "") -> Data:
    place: Data = {"artifactLocation": _artifact(span)}
    if span.source.text:
        place["region"] = _region(span)
    return {"physicalLocation": place, **({"message": {"text": text}} if text else {})}


def _artifact(span: Span) -> Data:
    uri = address(span.source)
    return {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": ROOT}


def _region(span: Span) -> Data:
    (line, column), (end_line, end_column) = (span.source.position(x) for x in (span.start, span.end))
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _fix(fix: Fix) -> Data:
    replacement = {"deletedRegion": _region(fix.span), "insertedContent": {"text": fix.replacement}}
    changes = [{"artifactLocation": _artifact(fix.span), "replacements": [replacement]}]
    return {"description": {"text": fix.title}, "artifactChanges": changes}


# Runs ----------------------------------------------------------------------------------------------------------------


def _flow(trace: Trace, scope: str, about: Span) -> Data:
    """A step, then within it each transition that it led to, at its line. `about` stands in where there is none."""
    places = [_started(trace, about)]
    for n, (before, entry) in enumerate(trace.befores()):
        text = describe(trace.roster, entry.step, before)
        loop = f" ({for_ever(trace)})" if n == trace.loop else ""
        places.append(_step(trace, f"{n + 1}. {text}{loop}", entry, about))
        places.extend(_followed(trace, entry))
        if entry.fault is not None:
            message = f"fails: {fault_message(trace.roster, entry.fault)} ({entry.fault.kind})"
            places.append(
                {"location": _location(entry.fault.span, message), "nestingLevel": 1, "importance": "essential"}
            )
    numbered = [{**place, "executionOrder": n} for n, place in enumerate(places, 1)]
    return {"message": {"text": f"A run of {scope}"}, "threadFlows": [{"locations": numbered}]}


def _started(trace: Trace, about: Span) -> Data:
    return {"location": _location(about, "start"), "state": _state(trace, trace.start), "importance": "essential"}


def _step(trace: Trace, text: str, entry: Entry, about: Span) -> Data:
    spans = (trace.roster.machines[h.instance].transitions[h.transition].span for h in _follows(entry))
    location = _location(next(spans, about), text)
    return {"location": location, "state": _state(trace, entry.world), "importance": "essential"}


def _followed(trace: Trace, entry: Entry) -> Iterator[Data]:
    for h in _follows(entry):
        span = trace.roster.machines[h.instance].transitions[h.transition].span
        yield {"location": _location(span, describe(trace.roster, h)), "nestingLevel": 1, "importance": "important"}


def _follows(entry: Entry) -> Iterable[Followed]:
    return (h for h in entry.cascade if isinstance(h, Followed))


def _state(trace: Trace, world: World) -> Data:
    return {trace.roster.name(n): {"text": state} for n, state in enumerate(world.states)}
