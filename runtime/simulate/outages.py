"""Nodes that fail and are repaired: read from a file, or made up."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from random import Random

from runtime.simulate.duration import settings
from runtime.simulate.reading import reading
from runtime.simulate.workload import WorkloadError, suggestion

COLUMNS = ("node", "down", "up")


@dataclass(frozen=True, slots=True)
class Outage:
    """A node that cannot be used for a while."""

    node: str
    down: float
    up: float | None
    """None: it is never repaired."""


def read_outages(path: Path, nodes: Iterable[str]) -> list[Outage]:
    """A CSV file with the columns `node,down,up`, in seconds; an empty `up` is never. Raises `WorkloadError`."""
    node_names, problems, outages = set(nodes), [], []
    with reading(path):
        rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    if not rows or tuple(cell.strip() for cell in rows[0]) != COLUMNS:
        raise WorkloadError([f"{path}, line 1: the columns must be {','.join(COLUMNS)}"])
    for line, row in enumerate(rows[1:], 2):
        if not row:
            continue
        where = f"{path}, line {line}"
        if len(row) != len(COLUMNS):
            problems.append(f"{where}: has {len(row)} fields, but there are {len(COLUMNS)} columns")
            continue
        node, down, up = (cell.strip() for cell in row)
        if node not in node_names:
            problems.append(f"{where}, column node: there is no node {node!r}{suggestion(node, node_names)}")
        begin, end = _seconds(down), _seconds(up) if up else None
        if begin is None:
            problems.append(f"{where}, column down: {down!r} is not a number of seconds")
        elif up and (end is None or end <= begin):
            problems.append(f"{where}, column up: {up!r} is not a number of seconds after {down}")
        else:
            outages.append(Outage(node, begin, end))
    if problems:
        raise WorkloadError(problems)
    return sorted(outages, key=lambda o: (o.down, o.node))


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and value >= 0 else None


def make_outages(text: str, nodes: Iterable[str], span: float, seed: int) -> list[Outage]:
    """From settings as in `every=90d repair=4h`: each node fails on average so often, until `span`, and is repaired
    after so long on average; both times are exponentially distributed."""
    values = settings(text, {"every": "90d", "repair": "4h"}, "outages")
    every, repair = values["every"], values["repair"]
    random = Random(f"outages {seed}")
    outages = []
    for node in sorted(nodes):
        time = random.expovariate(1 / every)
        while time < span:
            up = time + max(1.0, random.expovariate(1 / repair))
            outages.append(Outage(node, float(round(time)), float(round(up) + 1)))
            time = up + 2 + random.expovariate(1 / every)
    return sorted(outages, key=lambda o: (o.down, o.node))
