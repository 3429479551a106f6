"""Code quality as GitLab reads it: findings in the merge request, those that are new told from those that were there.

https://docs.gitlab.com/ci/testing/code_quality/ names the fields. Violations are grouped, because people
read them there. The fingerprint of a finding is that of SARIF. A group of failing steps keeps its own while the number
of states changes, so that a merge request which repairs some of them does not add a finding.
"""

from __future__ import annotations

import json

from fsmdsl.report.data import Data
from fsmdsl.report.formats.places import content_of, numbered, path_of
from fsmdsl.report.formats.results import Results, by_group
from fsmdsl.text.diagnostics import Diagnostic, Severity
from fsmdsl.text.terminal import printable_json

SEVERITY = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.NOTE: "info"}

NO_FILE = "."
"""The path of what is in no file: GitLab reads none without."""


def gitlab(results: Results) -> str:
    """A list with an object for each finding, of violations for each group."""
    findings = by_group(results.findings)
    names = numbered(
        f"{f.diagnostic.rule.code}\0{f.subject}" if f.subject else content_of(f.diagnostic) for f in findings
    )
    issues = [_quality(f.diagnostic, name) for f, name in zip(findings, names, strict=True)]
    return printable_json(json.dumps(issues, indent=2, ensure_ascii=False)) + "\n"


def _quality(d: Diagnostic, name: str) -> Data:
    source = d.span.source
    line = source.position(d.span.start)[0] if source.text else 1
    return {
        "description": " ".join([d.message, *d.remarks]),
        "check_name": f"{d.rule.code} {d.rule.name}",
        "fingerprint": name,
        "severity": SEVERITY[d.severity],
        "location": {"path": path_of(source) or NO_FILE, "lines": {"begin": line}},
    }
