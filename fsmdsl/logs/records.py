"""From the lines of a log to what they say: those that a mapping is about, in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fsmdsl.logs.clock import in_order, seconds
from fsmdsl.logs.lines import Fields, Line, Match, UnreadableLineError, field_of, fields, search
from fsmdsl.logs.meaning import Claim, Reading
from fsmdsl.logs.rules import LINE, LogError
from fsmdsl.source import Source, Span


@dataclass(frozen=True, slots=True)
class Record:
    """A line that says something."""

    line: int
    text: str
    claim: Claim


@dataclass(slots=True)
class Tally:
    """Lines so far: all, those that say something, those that match nothing, those that cannot be read."""

    lines: int = 0
    matched: int = 0
    skipped: int = 0
    unreadable: int = 0
    first_unreadable: str | None = None
    """`12: it is not JSON: …`."""


@dataclass(slots=True)
class Records:
    """The records of a log, one after the other; `tally` counts along. Raises `LogError` if the mapping is strict."""

    reading: Reading
    name: str
    log: Iterable[Line]
    match: Match = search
    tally: Tally = field(default_factory=Tally)

    def __iter__(self) -> Iterator[Record]:
        mapping = self.reading.mapping
        if mapping.time is None or not mapping.window:
            return (x for _, x in self._timed(None))
        return in_order(self._timed(mapping.time), mapping.window)

    def _timed(self, time: str | None) -> Iterator[tuple[float | None, Record]]:
        for line in self.log:
            self.tally.lines += 1
            try:
                found = fields(self.reading.mapping, line, self.match)
                claim = None if found is None else self.reading.claim(found)
            except UnreadableLineError as error:
                self._unreadable(line, str(error))
                continue
            if claim is None or found is None:
                self._skip(line)
                continue
            self.tally.matched += 1
            yield None if time is None else _time(found, time), Record(line.number, line.text, claim)

    def _unreadable(self, line: Line, why: str) -> None:
        self._refuse(line, why)
        self.tally.unreadable += 1
        self.tally.first_unreadable = self.tally.first_unreadable or f"{line.number}: {why}"

    def _skip(self, line: Line) -> None:
        self._refuse(line, "no `[[line]]` of the mapping matches it")
        self.tally.skipped += 1

    def _refuse(self, line: Line, why: str) -> None:
        if self.reading.mapping.strict:
            source = Source(self.name, "\n" * (line.number - 1) + line.text)
            at = Span(source, line.number - 1, len(source.text))
            raise LogError([LINE.at(at, f"the mapping is strict, and does not describe this line: {why}")])


def _time(line: Fields, path: str) -> float | None:
    try:
        return seconds(field_of(line, path))
    except KeyError:
        return None
