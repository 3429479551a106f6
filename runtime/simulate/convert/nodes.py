"""A cluster made from a list of nodes, as HiveD's configuration.

Alibaba's `openb_node_list_gpu_node.csv` has a row for each node: its name, its model, and how many devices it has.
Nodes of one model and one size are a chain, and each node is a top cell: the list says nothing of racks, nor of what is
close inside of a node. The virtual clusters are promised whole nodes of each chain, in proportion to their shares.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from math import floor, isfinite, nan
from pathlib import Path
from typing import Any

from runtime.errors import UserError
from runtime.simulate.duration import pairs
from runtime.simulate.reading import reading
from runtime.simulate.workload import WorkloadError

COLUMNS = ("sn", "gpu", "model")
"""The name of a node, its devices, and their type: the columns that are read."""


def read(path: Path, shares: Mapping[str, float]) -> dict[str, Any]:
    """The configuration, with a virtual cluster for each share. Raises `UserError` with all that is wrong."""
    types: dict[str, Any] = {}
    cells: list[dict[str, Any]] = []
    for name, model, devices in _rows(path):
        kind = f"{model}-{devices}"
        types[kind] = {"childCellType": model, "childCellNumber": devices, "isNodeLevel": True}
        cells.append({"cellType": kind, "cellAddress": name})
    promised: dict[str, list[dict[str, Any]]] = {tenant: [] for tenant in shares}
    for kind, nodes in Counter(cell["cellType"] for cell in cells).items():
        for tenant, number in distributed(nodes, shares).items():
            if number:
                promised[tenant].append({"cellType": kind, "cellNumber": number})
    return {
        "physicalCluster": {"cellTypes": types, "physicalCells": cells},
        "virtualClusters": {tenant: {"virtualCells": virtual_cells} for tenant, virtual_cells in promised.items()},
    }


def read_shares(text: str) -> dict[str, float]:
    """Of `LS=76 BE=0`: a virtual cluster with 0 is promised nothing. Raises `UserError`."""
    names = {part.partition("=")[0]: "" for part in text.replace(",", " ").split()}
    weights: dict[str, float] = {}
    for name, value in pairs(text, names, "shares").items() if names else ():
        try:
            weights[name] = float(value)
        except ValueError:
            weights[name] = nan
        if not (name and isfinite(weights[name]) and weights[name] >= 0):
            raise UserError(f"shares: {name}={value} must be a name and a number that is not negative")
    if not sum(weights.values()):
        raise UserError("shares: at least one virtual cluster needs more than 0, as in research=2 vision=1")
    return weights


def distributed(number: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Whole numbers in proportion to shares, which add up to `number`: the largest remainders are rounded up."""
    whole = sum(shares.values())
    exact = {name: number * share / whole for name, share in shares.items()}
    counts = {name: floor(value) for name, value in exact.items()}
    rest = number - sum(counts.values())
    for name in sorted(shares, key=lambda name: counts[name] - exact[name])[:rest]:
        counts[name] += 1
    return counts


def _rows(path: Path) -> Iterator[tuple[str, str, int]]:
    """Name, model and devices of each node that has any."""
    problems: list[str] = []
    rows: dict[str, tuple[str, str, int]] = {}
    with reading(path), path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
        if missing:
            raise UserError(f"{path}, line 1: needs columns {', '.join(COLUMNS)}; there is no {', '.join(missing)}")
        for row in reader:
            name, number, model = ((row[column] or "").strip() for column in COLUMNS)
            where = f"{path}, line {reader.line_num}"
            if not (name and number.isdecimal() and (model or not int(number))):
                problems.append(f"{where}: needs a name, a number of devices, and a model where there are any")
            elif name in rows:
                problems.append(f"{where}: there are two nodes {name!r}")
            elif int(number):
                rows[name] = (name, model, int(number))
    if not rows and not problems:
        problems.append(f"{path} has no nodes with devices")
    if problems:
        raise WorkloadError(problems)
    yield from rows.values()
