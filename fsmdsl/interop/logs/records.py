"""From the lines of a log to what they say: those that a mapping is about, in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NoReturn, TypeAlias

from fsmdsl.dataclasses import NamedTuple, dataclass, field
from fsmdsl.interop.logs.binding import Claim, Meaning, Reading
from fsmdsl.interop.logs.clock import in_order, seconds
from fsmdsl.interop.logs.extraction import Classifier, Values, claim
from fsmdsl.interop.logs.lines import MAX_LINE, Line, Match, UnreadableLineError, parser, search, value_at
from fsmdsl.interop.logs.rules import LINE, LogError
from fsmdsl.text.source import Source, Span


class Record(NamedTuple):
    """A line that says something."""

    line: int
    text: str
    meaning: Meaning
    values: Values

    @property
    def claim(self) -> Claim:
        """What it says."""
        return claim(self.meaning, self.values)


RawRecord: TypeAlias = tuple[int, str, Meaning, Values]
"""A record on its way: a tuple takes a fifth of the time to make. `Record._make` has it again with names."""


@dataclass(slots=True)
class Tally:
    """Lines so far: all, those that match nothing, those that cannot be read."""

    lines: int = 0
    skipped: int = 0
    unreadable: int = 0
    first_unreadable: str | None = None
    """`12: it is not JSON: …`."""

    @property
    def matched(self) -> int:
        """Those that say something."""
        return self.lines - self.skipped - self.unreadable


@dataclass(slots=True)
class Records:
    """The records of a log, one after the other; `tally` counts along. Raises `LogError` if the mapping is strict."""

    reading: Reading
    name: str
    log: Iterable[Line]
    match: Match = search
    tally: Tally = field(default_factory=Tally)
    _time: float | None = field(default=None, init=False, repr=False)
    """Of the last record."""

    def __iter__(self) -> Iterator[RawRecord]:
        mapping = self.reading.mapping
        if mapping.time is None or not mapping.window:
            return self._records()
        return in_order(((self._time, x) for x in self._records()), mapping.window)

    def _records(self) -> Iterator[RawRecord]:
        mapping, tally = self.reading.mapping, self.tally
        parse, classify = parser(mapping, self.match), Classifier(self.reading.meanings).classify
        time = mapping.time if mapping.window else None
        for number, text, too_long in self.log:
            tally.lines += 1
            try:
                fields = parse(text) if not too_long else _too_long()
                classification = None if fields is None else classify(fields)
            except UnreadableLineError as error:
                self._unreadable(number, text, str(error))
                continue
            if classification is None or fields is None:
                self._skip(number, text)
                continue
            if time is not None:
                self._time = seconds(value_at(fields, time))
            meaning, values = classification
            yield number, text, meaning, values

    def _unreadable(self, number: int, text: str, why: str) -> None:
        self._refuse(number, text, why)
        self.tally.unreadable += 1
        self.tally.first_unreadable = self.tally.first_unreadable or f"{number}: {why}"

    def _skip(self, number: int, text: str) -> None:
        self._refuse(number, text, "no `[[line]]` of the mapping matches it")
        self.tally.skipped += 1

    def _refuse(self, number: int, text: str, why: str) -> None:
        if self.reading.mapping.strict:
            source = Source(self.name, "\n" * (number - 1) + text)
            at = Span(source, number - 1, len(source.text))
            raise LogError([LINE.at(at, f"the mapping is strict, and does not describe this line: {why}")])


def _too_long() -> NoReturn:
    raise UnreadableLineError(f"it is longer than {MAX_LINE:,} bytes")
