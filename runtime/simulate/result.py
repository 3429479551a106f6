"""The files of a run: `run.json` with all figures, `gangs.csv` with a line for each gang.

Nothing in them depends on the machine or the time of day: the same run writes the same bytes.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from math import isinf
from pathlib import Path
from typing import Any

from runtime.errors import UserError
from runtime.simulate.engine import Simulation
from runtime.simulate.figures import Figures, rounded, series, summary
from runtime.simulate.job import Job
from runtime.simulate.reading import read_json
from runtime.simulate.workload import Request

FORMAT, VERSION = "gang-simulation", 1
GANG_COLUMNS = (
    "gang",
    "tenant",
    "priority",
    "devices",
    "pods",
    "submitted",
    "started",
    "ended",
    "delay",
    "waited",
    "runs",
    "preempted",
    "lost",
    "demoted",
    "used",
    "wasted",
    "outcome",
    "reason",
)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was written down."""

    name: str
    """What to call it beside others: the name of its folder."""
    settings: Figures
    workload: Figures
    summary: Figures
    series: Figures


def run_of(simulation: Simulation, name: str, settings: Mapping[str, Any]) -> Run:
    """A simulation that has run."""
    rules = {k: v if not (isinstance(v, float) and isinf(v)) else None for k, v in asdict(simulation.rules).items()}
    requests = [job.request for job in simulation.jobs]
    workload = {
        "gangs": len(requests),
        "device_seconds": rounded(sum(r.devices * r.duration for r in requests)),
        "last_submitted": rounded(max((r.submitted for r in requests), default=0.0)),
        "digest": _digest(requests),
    }
    return Run(name, {**settings, "rules": rules}, workload, summary(simulation), series(simulation))


def _digest(requests: Iterable[Request]) -> str:
    """The same for the same workload, wherever it comes from."""
    digest = sha256()
    for request in requests:
        times = (float(request.submitted), float(request.duration))
        digest.update(repr((*times, replace(request, submitted=0.0, duration=0.0))).encode())
    return digest.hexdigest()[:16]


def write_run(folder: Path, run: Run, jobs: Iterable[Job]) -> None:
    """Both files, in a folder that is made if there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = {"format": FORMAT, "version": VERSION, **{k: v for k, v in asdict(run).items() if k != "name"}}
        (folder / "run.json").write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
        with (folder / "gangs.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(GANG_COLUMNS)
            writer.writerows(map(_row, jobs))
    except OSError as error:
        raise UserError(f"{error.filename or folder} cannot be written: {error.strerror}") from error


def _row(job: Job) -> list[object]:
    request = job.request
    started = job.first_started
    return [
        request.gang,
        request.tenant,
        request.priority,
        request.devices,
        len(request.sizes),
        rounded(request.submitted),
        "" if started is None else rounded(started),
        "" if job.ended is None else rounded(job.ended),
        "" if started is None else rounded(started - request.submitted),
        rounded(job.waited),
        job.runs,
        job.preempted,
        job.lost,
        "yes" if job.demoted else "",
        rounded(job.used),
        rounded(job.wasted),
        job.stage.value,
        job.reason,
    ]


def read_run(path: Path) -> Run:
    """From the folder of a run, or its `run.json`."""
    file = path / "run.json" if path.is_dir() else path
    document = read_json(file)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UserError(f"{file} is not a run of a simulation: it has no format {FORMAT!r}")
    if document.get("version") != VERSION:
        raise UserError(
            f"{file} is of version {document.get('version')!r}, but this reads version {VERSION}: run it again"
        )
    try:
        return Run(_name(file), *(document[part] for part in ("settings", "workload", "summary", "series")))
    except KeyError as error:
        raise UserError(f"{file} is not whole: it has no {error.args[0]}") from error


def _name(file: Path) -> str:
    return file.resolve().parent.name if file.name == "run.json" else file.stem
