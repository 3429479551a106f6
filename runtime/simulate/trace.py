"""Workloads as CSV files.

One row is a gang, or a member of a gang of mixed sizes: rows with the same gang, one after the other, agree on all
but `pods` and `leaf_cells`. The order of gangs does not matter. `COLUMNS` says what the columns mean.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path

from runtime.pods import HIGHEST, OPPORTUNISTIC, Member
from runtime.simulate.reading import reading
from runtime.simulate.workload import Request, WorkloadError, suggestion

NEEDED = ("gang", "tenant", "submitted", "duration", "pods", "leaf_cells")
OPTIONAL = ("priority", "leaf_cell_type", "pinned_cell", "lazy_preemption", "failed")
COLUMNS = (*NEEDED, *OPTIONAL)
YES, NO = frozenset({"1", "true", "yes"}), frozenset({"0", "false", "no", ""})


def read_trace(path: Path) -> list[Request]:
    """A trace, ordered by the time of submission. Raises `WorkloadError` with all that is wrong in it."""
    with reading(path), path.open(newline="", encoding="utf-8-sig") as file:
        return _Reader(path, csv.reader(file)).requests()


def write_trace(path: Path, requests: Iterable[Request]) -> None:
    """The same file for the same workload."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for request in requests:
            for member in request.members:
                writer.writerow(_row(request, member))


def _row(request: Request, member: Member) -> list[str]:
    numbers = (request.submitted, request.duration, member.pods, member.leaf_cells, request.priority)
    submitted, duration, pods, leaf_cells, priority = (f"{number:.15g}" for number in numbers)
    flags = ["yes" if flag else "" for flag in (request.lazy_preemption, request.failed)]
    fixed = [request.gang, request.tenant, submitted, duration, pods, leaf_cells, priority]
    return [*fixed, request.leaf_type, request.pinned_cell, *flags]


class _Row:
    """A row, each field of which is read with what is wrong in it noted down."""

    def __init__(self, where: str, fields: dict[str, str], problems: list[str]) -> None:
        self.where = where
        self.fields = fields
        self.problems = problems

    def wrong(self, column: str, message: str) -> None:
        """Something is wrong in a field."""
        self.problems.append(f"{self.where}, column {column}: {message}")

    def text(self, column: str) -> str:
        """As it stands; needed columns must not be empty."""
        text = self.fields.get(column, "").strip()
        if not text and column in NEEDED:
            self.wrong(column, "is empty")
        return text

    def seconds(self, column: str, *, positive: bool) -> float:
        """A number of seconds."""
        text = self.text(column)
        try:
            value = float(text) if text else 1.0
        except ValueError:
            value = float("nan")
        if not isfinite(value) or value < 0 or (positive and value == 0):
            self.wrong(column, f"{text!r} is not a {'positive ' if positive else ''}number of seconds")
            return 1.0
        return value

    def whole(self, column: str, least: int, most: int, default: int = 1) -> int:
        """A whole number within limits."""
        text = self.text(column)
        if not text:
            return default
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            self.wrong(column, f"{text!r} is not a whole number from {least} to {most}")
            return default
        return value

    def flag(self, column: str) -> bool:
        """Yes or no; empty is no."""
        text = self.text(column)
        if text.lower() not in YES | NO:
            self.wrong(column, f"{text!r} is neither yes nor no")
        return text.lower() in YES

    def request(self) -> Request:
        """The gang, with the one member of this row."""
        return Request(
            self.text("gang"),
            self.text("tenant"),
            self.seconds("submitted", positive=False),
            self.seconds("duration", positive=True),
            (Member(self.whole("pods", 1, 100_000), self.whole("leaf_cells", 1, 10_000)),),
            self.whole("priority", OPPORTUNISTIC, HIGHEST, 0),
            self.text("leaf_cell_type"),
            self.text("pinned_cell"),
            self.flag("lazy_preemption"),
            self.flag("failed"),
        )


class _Reader:
    def __init__(self, path: Path, rows: Iterator[list[str]]) -> None:
        self.path = path
        self.rows = rows
        self.problems: list[str] = []

    def requests(self) -> list[Request]:
        header = self._header()
        gangs: dict[str, Request] = {}
        begun: dict[str, int] = {}
        last = ""
        for line, cells in self._lines():
            where = f"{self.path}, line {line}"
            if len(cells) != len(header):
                self.problems.append(f"{where}: has {len(cells)} fields, but there are {len(header)} columns")
                continue
            row = _Row(where, dict(zip(header, cells, strict=True)), self.problems)
            request = row.request()
            earlier = gangs.get(request.gang)
            if earlier is None:
                gangs[request.gang], begun[request.gang] = request, line
            elif last != request.gang:
                row.wrong(
                    "gang", f"{request.gang!r} is already on line {begun[request.gang]}; its rows belong together"
                )
            else:
                gangs[request.gang] = self._joined(row, earlier, request)
            last = request.gang
        if not gangs and not self.problems:
            self.problems.append(f"{self.path} has no gangs")
        if self.problems:
            raise WorkloadError(self.problems)
        return sorted(gangs.values(), key=lambda r: r.submitted)

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        line = 1
        while True:
            try:
                cells = next(self.rows, None)
            except csv.Error as error:
                self.problems.append(f"{self.path}, line {line + 1}: {error}")
                return
            if cells is None:
                return
            line = getattr(self.rows, "line_num", line + 1)
            if cells:
                yield line, cells

    def _header(self) -> Sequence[str]:
        header = [cell.strip() for cell in next(self.rows, [])]
        missing = [column for column in NEEDED if column not in header]
        where = f"{self.path}, line 1"
        for number, column in enumerate(header, 1):
            if column not in COLUMNS:
                hint = suggestion(column, COLUMNS)
                self.problems.append(f"{where}, column {number}: there is no column {column!r}{hint}")
            elif header.index(column) != number - 1:
                self.problems.append(f"{where}, column {number}: {column} is listed twice")
        if missing:
            self.problems.append(f"{where}: needs columns {', '.join(NEEDED)}; there is no {', '.join(missing)}")
        if self.problems:
            raise WorkloadError(self.problems)
        return header

    def _joined(self, row: _Row, earlier: Request, request: Request) -> Request:
        """The gang with another member."""
        for column, name in zip((*NEEDED[:4], *OPTIONAL), _FIELDS, strict=True):
            if getattr(earlier, name) != getattr(request, name):
                row.wrong(column, f"differs from the row above, which is of the same gang {earlier.gang!r}")
        return replace(earlier, members=(*earlier.members, *request.members))


_FIELDS = (
    "gang",
    "tenant",
    "submitted",
    "duration",
    "priority",
    "leaf_type",
    "pinned_cell",
    "lazy_preemption",
    "failed",
)
