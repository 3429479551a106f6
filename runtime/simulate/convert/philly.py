"""Microsoft's Philly trace (github.com/msr-fiddle/philly-traces): jobs of a cluster for deep learning, 2017.

`cluster_job_log` is a JSON array of jobs. A job has a virtual cluster, a time of submission, a status, and attempts,
each with a begin, an end and the devices that it had on each machine. Times have no zone; some are missing.

A job becomes a gang with a pod for each machine of its largest attempt. Its duration is that of all attempts together:
that they were tried again is part of the work. Jobs without an attempt that has both times are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from runtime.errors import UserError
from runtime.pods import Member
from runtime.simulate.convert import Conversion
from runtime.simulate.reading import read_json
from runtime.simulate.workload import Request, WorkloadError

MISSING = ("", "None", None)


class MalformedError(Exception):
    """A field is not as it should be."""


def read(path: Path) -> Conversion:
    """All jobs that ran. Raises `UserError`."""
    file = path / "cluster_job_log" if path.is_dir() else path
    jobs = read_json(file)
    if not isinstance(jobs, list):
        raise UserError(f"{file} must be a JSON array of jobs")
    conversion, problems = Conversion(), []
    for number, job in enumerate(jobs, 1):
        try:
            _add(conversion, job)
        except MalformedError as error:
            problems.append(f"{file}, job {number}: {error}")
    if problems:
        raise WorkloadError(problems)
    return conversion


def _add(conversion: Conversion, job: object) -> None:
    if not isinstance(job, dict):
        raise MalformedError("must be an object")
    submitted = _time(job, "submitted_time")
    attempts = job.get("attempts")
    if not isinstance(attempts, list) or not all(isinstance(attempt, dict) for attempt in attempts):
        raise MalformedError("attempts must be an array of objects")
    if submitted is None:
        conversion.skipped["no time of submission"] += 1
        return
    seconds, largest = 0.0, Counter[int]()
    for attempt in attempts:
        begin, end = _time(attempt, "start_time"), _time(attempt, "end_time")
        if begin is None or end is None or end <= begin:
            continue
        seconds += (end - begin).total_seconds()
        sizes = _devices(attempt)
        if _total(sizes) > _total(largest):
            largest = sizes
    if not seconds:
        conversion.skipped["no attempt with a begin and an end"] += 1
    elif not largest:
        conversion.skipped["no devices"] += 1
    else:
        members = tuple(Member(pods, size) for size, pods in sorted(largest.items(), reverse=True))
        moment = (submitted - datetime(1970, 1, 1)).total_seconds()
        failed = _text(job, "status") == "Failed"
        conversion.requests.append(
            Request(_text(job, "jobid"), _text(job, "vc"), moment, seconds, members, failed=failed)
        )


def _devices(attempt: Mapping[str, Any]) -> Counter[int]:
    """How many machines had how many devices of it."""
    detail = attempt.get("detail")
    if not isinstance(detail, list):
        raise MalformedError("detail must be an array")
    sizes: Counter[int] = Counter()
    for machine in detail:
        if not isinstance(machine, dict) or not isinstance(machine.get("gpus"), list):
            raise MalformedError("each machine of an attempt must have an array of gpus")
        sizes[len(machine["gpus"])] += bool(machine["gpus"])
    return +sizes


def _total(sizes: Counter[int]) -> int:
    return sum(size * pods for size, pods in sizes.items())


def _text(job: Mapping[str, Any], key: str) -> str:
    value = job.get(key)
    if not isinstance(value, str) or not value:
        raise MalformedError(f"{key} must be a string, not {value!r}")
    return value


def _time(where: Mapping[str, Any], key: str) -> datetime | None:
    value = where.get(key)
    if value in MISSING:
        return None
    try:
        return datetime.strptime(str(value), "%Y-%m-%d %H:%M:%S")
    except ValueError as error:
        raise MalformedError(f"{key} is not a time like 2017-10-07 01:11:39: {value!r}") from error
