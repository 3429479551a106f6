"""Alibaba's GPU traces (github.com/alibaba/clusterdata).

`cluster-trace-gpu-v2020`: `pai_task_table.csv` has a row for each task of a job: the number of instances, and the
devices of each, in percent; `pai_job_table.csv` has the user and the time of submission of each job.
Neither file has a line of column names (these come in a file of their own); with one, they are read as well. A job
becomes a gang with a member for each task that uses devices.

`cluster-trace-gpu-v2023`: `openb_pod_list_*.csv` has a row for each pod, with its own line of column names. A pod
becomes a gang of one; there are no users, so the quality of service stands for the virtual cluster. Pods that could be
evicted at any time (`BE`) become opportunistic gangs.

Devices that were shared are taken whole. What uses no devices, and what has not ended, is left out.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil, isfinite
from pathlib import Path
from typing import TextIO

from runtime.pods import OPPORTUNISTIC, Member
from runtime.simulate.convert import Conversion
from runtime.simulate.duration import pairs
from runtime.simulate.reading import reading
from runtime.simulate.workload import Request, WorkloadError

TASKS = (
    "job_name",
    "task_name",
    "inst_num",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
    "plan_gpu",
    "gpu_type",
)
JOBS = ("job_name", "inst_id", "user", "status", "start_time", "end_time")
PODS = (
    "name",
    "cpu_milli",
    "memory_mib",
    "num_gpu",
    "gpu_milli",
    "gpu_spec",
    "qos",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
)
MISSING = ("", "nan", "None")


def read(path: Path, types: str = "") -> Conversion:
    """All that used devices and has ended. `types` maps leaf cell types, as in `V100=V100 V100M32=V100`; `*` takes
    them as they are; others ask for any. Raises `UserError`."""
    tasks = path / "pai_task_table.csv" if path.is_dir() else path
    leaf_types = _Types(types)
    problems: list[str] = []
    with _opened(tasks) as file:
        first = next(csv.reader(file), [])
    conversion = (
        _pods(_rows(tasks, PODS, problems), leaf_types) if tuple(first) == PODS else _jobs(tasks, leaf_types, problems)
    )
    if problems:
        raise WorkloadError(problems)
    return conversion


class _Types:
    def __init__(self, text: str) -> None:
        self.all = text.strip() == "*"
        parts = [] if self.all else text.replace(",", " ").split()
        self.new = pairs(text, {part.partition("=")[0]: "" for part in parts}, "types") if parts else {}

    def of(self, old: str) -> str:
        """What to ask for."""
        return "" if old in MISSING or "|" in old else old if self.all else self.new.get(old, "")


class _Row:
    def __init__(self, where: str, fields: Mapping[str, str], problems: list[str]) -> None:
        self.where = where
        self.fields = fields
        self.problems = problems

    def __getitem__(self, column: str) -> str:
        return self.fields[column].strip()

    def number(self, column: str) -> float | None:
        """None where it is missing, and where it is none, which is noted."""
        text = self[column]
        if text in MISSING:
            return None
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not isfinite(value):
            self.problems.append(f"{self.where}, column {column}: {text!r} is not a number")
            return None
        return value


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    with reading(path), path.open(newline="", encoding="utf-8-sig") as file:
        yield file


def _rows(path: Path, columns: Sequence[str], problems: list[str]) -> Iterator[_Row]:
    with _opened(path) as file:
        for line, cells in enumerate(csv.reader(file), 1):
            if not cells or (line == 1 and tuple(cells) == tuple(columns)):
                continue
            if len(cells) != len(columns):
                what = f"has {len(cells)} fields, but there are {len(columns)} columns: {', '.join(columns)}"
                problems.append(f"{path}, line {line}: {what}")
                continue
            yield _Row(f"{path}, line {line}", dict(zip(columns, cells, strict=True)), problems)


def _jobs(tasks: Path, leaf_types: _Types, problems: list[str]) -> Conversion:
    """The trace of 2020. Without the table of jobs, all are of one user."""
    conversion = Conversion()
    table = tasks.with_name(tasks.name.replace("task", "job"))
    users: dict[str, tuple[str, float | None]] = {}
    if table != tasks and table.exists():
        users = {row["job_name"]: (row["user"], row.number("start_time")) for row in _rows(table, JOBS, problems)}
    rows: dict[str, list[_Row]] = {}
    for row in _rows(tasks, TASKS, problems):
        rows.setdefault(row["job_name"], []).append(row)
    for name, own in rows.items():
        request = _job(name, own, users.get(name, ("user", None)), leaf_types, conversion)
        if request is not None:
            conversion.requests.append(request)
    return conversion


def _job(
    name: str, rows: Sequence[_Row], of: tuple[str, float | None], leaf_types: _Types, conversion: Conversion
) -> Request | None:
    members, begins, ends, types = [], [], [], set()
    for row in rows:
        percent, pods = row.number("plan_gpu"), row.number("inst_num")
        if not percent or not pods:
            continue
        members.append(Member(max(1, round(pods)), ceil(percent / 100)))
        types.add(row["gpu_type"])
        begins.append(row.number("start_time"))
        ends.append(row.number("end_time"))
    if not members:
        conversion.skipped["no devices"] += 1
        return None
    known_begins, known_ends = [b for b in begins if b is not None], [e for e in ends if e is not None]
    if not known_begins or len(known_ends) < len(ends) or max(known_ends) <= min(known_begins):
        conversion.skipped["no begin or no end"] += 1
        return None
    begin, end = min(known_begins), max(known_ends)
    user, submitted = of
    failed = any(row["status"] == "Failed" for row in rows)
    leaf_type = leaf_types.of(types.pop()) if len(types) == 1 else ""
    moment = begin if submitted is None else min(submitted, begin)
    return Request(name, user or "user", moment, end - begin, tuple(members), leaf_type=leaf_type, failed=failed)


def _pods(rows: Iterator[_Row], leaf_types: _Types) -> Conversion:
    """The trace of 2023."""
    conversion = Conversion()
    for row in rows:
        devices, begin, end = row.number("num_gpu"), row.number("scheduled_time"), row.number("deletion_time")
        submitted = row.number("creation_time")
        if not devices:
            conversion.skipped["no devices"] += 1
        elif begin is None or end is None or end <= begin or submitted is None:
            conversion.skipped["no begin or no end"] += 1
        else:
            quality = row["qos"]
            conversion.requests.append(
                Request(
                    row["name"],
                    quality or "user",
                    submitted,
                    end - begin,
                    (Member(1, int(devices)),),
                    OPPORTUNISTIC if quality == "BE" else 0,
                    leaf_types.of(row["gpu_spec"]),
                    failed=row["pod_phase"] == "Failed",
                )
            )
    return conversion
