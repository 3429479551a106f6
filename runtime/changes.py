"""What the steps of a journal have changed, one thing after the other: a log that `fsm explain` can read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runtime.images import GangImage, read_gang
from runtime.journal import JournalError, steps

DELETED = "Deleted"


def changes(path: Path) -> Iterator[dict[str, Any]]:
    """Each gang, pod and node that a step has changed, with the number and the kind of the step.

    Begins with the first record that the journal still has. Raises `JournalError`.
    """
    if not path.exists():
        raise JournalError(f"there is no journal {path}")
    for number, step, images in steps(path):
        for key, image in images:
            kind, _, name = key.partition("/")
            change = _change(kind, name, image)
            if change is not None:
                yield {"record": number, "step": step, "kind": kind, **change}


def _change(kind: str, name: str, image: str) -> dict[str, Any] | None:
    match kind:
        case "gang":
            return {"gang": name, **(_gang(read_gang(image)) if image else {"state": DELETED, "cells": []})}
        case "pod":
            gang, *_, slot_index = json.loads(image) if image else (None, -1)
            return {"pod": name, "gang": gang, "placed": slot_index >= 0}
        case "node":
            return {"node": name, "healthy": bool(image) and json.loads(image)}
        case _:  # the configuration, and what others keep in the journal
            return None


def _gang(image: GangImage) -> dict[str, Any]:
    places = [slot.place for same in image.slots.values() for slot in same]
    return {
        "state": image.state.value,
        "cells": [f"{x.node}/{index}" for x in places for index in x.leaf_cells],
        "priority": image.spec.priority,
        "virtualCluster": image.spec.virtual_cluster,
        "demoted": image.demotion is not None,
    }
