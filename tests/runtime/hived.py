"""What HiveD itself has answered: recorded, because it does not run here.

The records are looked for in `$HIVED_RECORDS`, then in `../shared/peers/hived/recorded` beside the repository: random
histories with its answers and its state, what it answers who inspects it, and what it makes of annotations.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from runtime import BindInfo
from runtime.annotations import read_bind_info

ROOT = Path(__file__).parents[2]
RECORDS = Path(os.environ.get("HIVED_RECORDS", ROOT.parent / "shared/peers/hived/recorded"))
HISTORIES, INSPECTIONS, ANNOTATIONS = "histories.jsonl.xz", "inspect.jsonl", "annotations.jsonl"

Record: TypeAlias = dict[str, Any]

MISSING = [name for name in (HISTORIES, INSPECTIONS, ANNOTATIONS) if not (RECORDS / name).exists()]

needs_records = pytest.mark.skipif(
    bool(MISSING), reason=f"HIVED IS NOT HERE: {RECORDS} has no {', '.join(MISSING)}, so nothing is compared with it"
)


def records(name: str) -> Iterator[Record]:
    """The lines of one of the files."""
    path = RECORDS / name
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def lowered(value: Any) -> Any:
    """With the names of fields as they are in annotations."""
    if isinstance(value, dict):
        return {key[0].lower() + key[1:]: lowered(item) for key, item in value.items()}
    return [lowered(item) for item in value] if isinstance(value, list) else value


def bind_info(info: Record) -> BindInfo:
    """From HiveD's to ours."""
    return read_bind_info(json.dumps(lowered(info)))
