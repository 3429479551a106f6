"""Literate cases: Markdown whose `fsm` blocks say in comments what must be reported, and where.

    Open -> Shutt on push    // error[FSM101] "no state `Shutt`"

A comment `// ^ error[…]` speaks of the line above it, and `help: "…"` behind it says what must be advised. A block
without such comments must have no errors and no warnings. Notes are expected like the others; where a file expects a
note of some rule anywhere, blocks without it must not have it. A block of several files has `// file: name.fsm` before
each. ```` ```fsm as-documented ```` leaves amendments out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fsmdsl.check import check
from fsmdsl.model.resolve import resolve
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Diagnostic, Severity, ordered
from fsmdsl.text.source import Source, Span

CASES = Path(__file__).parent / "cases"

_BLOCK = re.compile(r"^```fsm([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_EXPECTED = re.compile(r'(error|warning|note)\[(FSM\d{3})\](?:\s*"([^"]*)")?(?:\s*help: "([^"]*)")?')
_FILE = re.compile(r"^// file: (\S+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One block, the heading that it stands under, and the notes that its file is strict about."""

    name: str
    text: str
    as_documented: bool
    strict: frozenset[str]

    @property
    def sources(self) -> list[Source]:
        parts = _FILE.split(self.text)
        if len(parts) == 1:
            return [Source("case.fsm", self.text)]
        return [Source(name, text) for name, text in zip(parts[1::2], parts[2::2], strict=True)]


@dataclass(frozen=True, order=True)
class Expected:
    """What a comment says must be reported."""

    file: str
    line: int
    severity: str
    code: str
    text: str
    advice: str = ""

    def __str__(self) -> str:
        return f'{self.file}:{self.line} {self.severity}[{self.code}] "{self.text}"'


def cases(path: Path) -> Iterator[Case]:
    """The blocks of a file."""
    text = path.read_text("utf-8")
    strict = frozenset(code for severity, code, *_ in _EXPECTED.findall(text) if severity == "note")
    for found in _BLOCK.finditer(text):
        before = text[: found.start()]
        headings = re.findall(r"^#+ (.*)$", before, re.MULTILINE)
        line = before.count("\n") + 1
        name = f"{path.stem}:{line} {headings[-1] if headings else ''}".strip()
        yield Case(name, found.group(2), "as-documented" in found.group(1), strict)


def expected(sources: Iterable[Source]) -> list[Expected]:
    """What the comments of some files say."""
    out: list[Expected] = []
    for source in sources:
        for number, line in enumerate(source.text.split("\n"), 1):
            above = 1 if re.match(r"\s*//\s*\^", line) else 0
            for severity, code, text, advice in _EXPECTED.findall(line.partition("//")[2]):
                out.append(Expected(source.name, number - above, severity, code, text, advice))
    return sorted(out)


def findings(sources: Iterable[Source], *, as_documented: bool = False) -> list[Diagnostic]:
    """Everything that reading and checking some files finds."""
    parsed = [parse(s) for s in sources]
    found = [d for p in parsed for d in p.diagnostics]
    if not any(d.severity is Severity.ERROR for d in found):
        resolved = resolve([p.module for p in parsed], as_documented=as_documented)
        found.extend(resolved.diagnostics)
        if resolved.model is not None:
            found.extend(check(resolved.model))
    return ordered(found)


def shown(d: Diagnostic) -> Expected:
    """A finding in the form of what is expected."""
    source = d.span.source
    return Expected(
        source.name, source.position(d.span.start)[0], str(d.severity), d.rule.code, d.message, d.advice or ""
    )


def differences(case: Case) -> list[str]:
    """What a block should have reported and did not, and the other way round."""
    wanted = expected(case.sources)
    found = [shown(d) for d in findings(case.sources, as_documented=case.as_documented)]
    counted = [f for f in found if f.severity != "note" or f.code in case.strict]
    missing = [f"missing: {w}" for w in wanted if not any(_answers(f, w) for f in found)]
    extra = [f"not expected: {f}" for f in counted if not any(_answers(f, w) for w in wanted)]
    return missing + extra


def reported(path: Path) -> str:
    """Everything that the blocks of a file report, to the last word: with labels, notes, advice and fixes."""
    blocks = ((case, findings(case.sources, as_documented=case.as_documented)) for case in cases(path))
    texts = (f"# {case.name.partition(' ')[2]}\n{''.join(map(_lines_of, found))}" for case, found in blocks if found)
    return "\n".join(texts)


def _lines_of(d: Diagnostic) -> str:
    lines = [f"{_place(d.span)} {d.severity}[{d.rule.code}] {d.message}"]
    lines += [f"  label {_place(x.span)} {x.text}" for x in d.labels]
    lines += [f"  note {x}" for x in d.remarks]
    lines += [] if d.advice is None else [f"  help {d.advice}"]
    lines += [] if d.fix is None else [f"  fix {_place(d.fix.span)} {d.fix.replacement!r}: {d.fix.title}"]
    return "".join(f"{line}\n" for line in lines)


def _place(span: Span) -> str:
    (line, column), (last, end) = (span.source.position(x) for x in (span.start, span.end))
    return f"{span.source.name}:{line}:{column}-{f'{last}:' * (last > line)}{end}"


def _answers(found: Expected, wanted: Expected) -> bool:
    place = (found.file, found.line, found.severity, found.code) == (
        wanted.file,
        wanted.line,
        wanted.severity,
        wanted.code,
    )
    return place and wanted.text in found.text and wanted.advice in found.advice
