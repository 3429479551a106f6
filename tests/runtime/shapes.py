"""Random clusters: trees of all kinds, promises that can be kept, pinned cells; and what an operator makes of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from runtime import Allocator, ConfigurationError

TENANTS = ("A", "B", "C")


def shape(random: Random) -> dict[str, Any]:
    """A cluster of some nodes, with virtual clusters that it can keep its promises to."""
    while True:
        types: dict[str, Any] = {
            "SWITCH": {"childCellType": "GPU", "childCellNumber": random.choice((1, 2, 2, 3))},
            "NODE": {"childCellType": "SWITCH", "childCellNumber": random.choice((1, 2, 2)), "isNodeLevel": True},
            "RACK": {"childCellType": "NODE", "childCellNumber": random.choice((2, 2, 3))},
            "ROW": {"childCellType": "RACK", "childCellNumber": 2},
            "OLD-NODE": {"childCellType": "OLD", "childCellNumber": 2, "isNodeLevel": True},
        }
        kinds = [
            random.choice(("NODE", "NODE", "RACK", "RACK", "ROW", "OLD-NODE")) for _ in range(random.randint(1, 5))
        ]
        found: dict[str, Any] = {"physicalCluster": {"cellTypes": types, "physicalCells": []}, "virtualClusters": {}}
        for kind in kinds:
            add(found, kind)
        promise(random, found)
        if valid(found):
            return found


def changed(random: Random, configuration: dict[str, Any]) -> dict[str, Any]:
    """What an operator makes of it: other promises, cells more or fewer, in another order, pinned or not."""
    while True:
        found = copy.deepcopy(configuration)
        cells = found["physicalCluster"]["physicalCells"]
        for _ in range(random.randint(1, 2)):
            match random.choice(("promise", "promise", "less", "more", "order", "tenant")):
                case "less" if len(cells) > 1:
                    cells.pop(random.randrange(len(cells)))
                case "more":
                    add(found, random.choice(cells)["cellType"])
                case "order":
                    random.shuffle(cells)
                case "tenant" if len(found["virtualClusters"]) > 1:
                    del found["virtualClusters"][random.choice(sorted(found["virtualClusters"]))]
                case _:
                    promise(random, found)
        if valid(found):
            return found


def valid(configuration: dict[str, Any]) -> bool:
    try:
        Allocator.from_config(configuration)
    except ConfigurationError:
        return False
    return True


def add(configuration: dict[str, Any], kind: str) -> None:
    """One more top cell, with names of its nodes that nobody has."""
    physical = configuration["physicalCluster"]
    used = {node["cellAddress"] for top in physical["physicalCells"] for node in _nodes(top)}
    names = (f"n{i}" for i in range(1000) if f"n{i}" not in used)
    physical["physicalCells"].append({"cellType": kind, **_tree(physical["cellTypes"], kind, names)})


def _tree(types: dict[str, Any], kind: str, names: Iterator[str]) -> dict[str, Any]:
    if types[kind].get("isNodeLevel"):
        return {"cellAddress": next(names)}
    child, count = types[kind]["childCellType"], types[kind]["childCellNumber"]
    return {"cellChildren": [_tree(types, child, names) for _ in range(count)]}


def _nodes(cell: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell] if "cellAddress" in cell else [node for x in cell["cellChildren"] for node in _nodes(x)]


def promise(random: Random, configuration: dict[str, Any]) -> None:
    """Virtual clusters anew; what they are promised is often too much, and the caller tries again."""
    physical = configuration["physicalCluster"]
    tops = physical["physicalCells"]
    for top in tops:
        _unpin(top)
    kinds = sorted({top["cellType"] for top in tops})
    pins: list[str] = []
    if random.random() < 0.4:
        cell = random.choice(tops)
        while "cellChildren" in cell and random.random() < 0.6:
            cell = random.choice(cell["cellChildren"])
        cell["pinnedCellId"] = "pin"
        pins.append("pin")
    clusters = configuration["virtualClusters"] = {}
    for name in TENANTS[: random.choice((1, 2, 2, 2, 3))]:
        quotas = []
        for kind in random.sample(kinds, random.randint(1, len(kinds))):
            path = _path(physical["cellTypes"], kind)
            depth = random.randint(1, len(path))
            quotas.append({"cellType": ".".join(path[:depth]), "cellNumber": random.randint(0, 2 * depth)})
        own = [pins.pop()] if pins and random.random() < 0.7 else []
        clusters[name] = {"virtualCells": quotas, "pinnedCells": [{"pinnedCellId": pin} for pin in own]}
    if pins:
        for top in tops:
            _unpin(top)


def _path(types: dict[str, Any], kind: str) -> list[str]:
    path = [kind]
    while path[-1] in types:
        path.append(types[path[-1]]["childCellType"])
    return path


def _unpin(cell: dict[str, Any]) -> None:
    cell.pop("pinnedCellId", None)
    for child in cell.get("cellChildren", ()):
        _unpin(child)
