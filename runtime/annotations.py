"""What stands on a pod, in HiveD's words: what it asks for, and where it was placed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runtime.config.reader import NOTHING, Reader, join
from runtime.config.source import Value, read_object, read_text
from runtime.errors import ConfigurationError, Problem, UserError
from runtime.pods import HIGHEST, OPPORTUNISTIC, BindInfo, GangSpec, Member, PodPlacement, PodSpec

PREFIX = "hivedscheduler.microsoft.com/"
ENABLE = PREFIX + "pod-scheduling-enable"
"""The resource by which a container says that its pod is to be scheduled here."""
SPEC = PREFIX + "pod-scheduling-spec"
ISOLATION = PREFIX + "pod-leaf-cell-isolation"
BIND_INFO = PREFIX + "pod-bind-info"
OLD_ISOLATION = PREFIX + "pod-gpu-isolation"

IGNORE = "ignoreK8sSuggestedNodes"
"""The one key whose default is true. Without a value (`null`) it is false, as to HiveD."""

MAX_NUMBER = 2**31 - 1
"""HiveD's numbers have 32 bits."""

MAX_VALUES = 300_000
"""Maximum number of values in an annotation: more than Kubernetes lets through."""

OLD_NAMES = {
    "gpuType": "leafCellType",
    "gpuNumber": "leafCellNumber",
    "gpuIsolation": "leafCellIsolation",
    "physicalGpuIndices": "physicalLeafCellIndices",
}

_OLD = re.compile("|".join(OLD_NAMES))
_OLD_VALUE = re.compile(rf"({'|'.join(OLD_NAMES)})(?!['\"]?\s*:)")

SPEC_KEYS = (
    "virtualCluster",
    "priority",
    "pinnedCellId",
    "leafCellType",
    "leafCellNumber",
    "lazyPreemptionEnable",
    IGNORE,
    "gangReleaseEnable",
    "affinityGroup",
)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where the annotation does not say it, because something else on the pod does."""

    virtual_cluster: str = ""
    leaf_cells: int = 0
    group: str = ""
    """The name of its gang."""
    pods: int = 1
    """Of that gang: each is taken to need as many leaf cells as this one."""


NO_DEFAULTS = Defaults()


def read_spec(
    text: str, namespace: str, name: str, notes: list[Problem] | None = None, defaults: Defaults = NO_DEFAULTS
) -> PodSpec:
    """What a pod asks for; raises `UserError` with everything that is wrong.

    What means nothing is added to `notes`: HiveD passes over keys that it does not know, as those of its own past.
    """
    reader = Reader()
    fields = reader.table(_document(text, SPEC, reader.notes), "", SPEC_KEYS)
    size = _count(reader, fields, "leafCellNumber", "leafCellNumber")
    if "leafCellNumber" not in fields:
        size = defaults.leaf_cells
    if not size and "leafCellNumber" not in fields:
        reader.wrong("leafCellNumber", NOTHING, "is missing", "how many leaf cells the pod needs")
    tenant = reader.text(fields.get("virtualCluster", NOTHING), "virtualCluster") or defaults.virtual_cluster
    if not tenant:
        reader.wrong("virtualCluster", NOTHING, "is missing")
    alone = GangSpec(defaults.group or f"{namespace}/{name}", (Member(defaults.pods, size),))
    spec = PodSpec(
        tenant,
        reader.number(
            fields.get("priority", NOTHING), "priority", least=OPPORTUNISTIC, most=HIGHEST, default=0, truncate=True
        ),
        size,
        _gang(reader, fields.get("affinityGroup", NOTHING), alone),
        leaf_type=reader.text(fields.get("leafCellType", NOTHING), "leafCellType"),
        pinned_cell=reader.text(fields.get("pinnedCellId", NOTHING), "pinnedCellId"),
        lazy_preemption=_flag(reader, fields, "lazyPreemptionEnable", default=False),
        ignore_suggested=_flag(reader, fields, IGNORE, default=IGNORE not in fields),
    )
    _flag(reader, fields, "gangReleaseEnable", default=False)
    _finish(reader, SPEC)
    spec.check_form()
    if notes is not None:
        notes.extend(sorted(map(_with_subject, reader.notes), key=lambda note: note.path))
    return spec


def _flag(reader: Reader, fields: Mapping[str, Value], key: str, *, default: bool) -> bool:
    return reader.flag(fields.get(key, NOTHING), key, default=default)


def _count(reader: Reader, fields: Mapping[str, Value], key: str, path: str) -> int:
    """A number from 1; 0 where there is none."""
    value = fields.get(key, NOTHING)
    number = reader.number(value, path, least=1, default=0, truncate=True)
    if number > MAX_NUMBER:
        reader.wrong(path, value, f"must be at most {MAX_NUMBER}, not {number}")
    return number


def _gang(reader: Reader, value: Value, alone: GangSpec) -> GangSpec:
    if value.content is None:
        return alone
    fields = reader.table(value, "affinityGroup", ("name", "members"))
    name = reader.text(fields.get("name", NOTHING), "affinityGroup.name")
    if not name:
        reader.wrong("affinityGroup.name", value, "is missing")
    members = []
    for here, item in reader.items(fields.get("members", NOTHING), "affinityGroup.members"):
        inside = reader.table(item, here, ("podNumber", "leafCellNumber"))
        pods, size = (_count(reader, inside, key, join(here, key)) for key in ("podNumber", "leafCellNumber"))
        if {"podNumber", "leafCellNumber"} - inside.keys():
            reader.wrong(here, item, "must have podNumber and leafCellNumber")
        members.append(Member(pods, size))
    return GangSpec(name, tuple(members))


def read_bind_info(text: str) -> BindInfo:
    """Where a pod and its gang were placed."""
    reader = Reader()
    fields = reader.table(_json(text) or _document(text, BIND_INFO, reader.notes), "")
    gang = []
    for here, member in reader.items(fields.get("affinityGroupBindInfo", NOTHING), "affinityGroupBindInfo"):
        inside = reader.table(member, here)
        items = reader.items(inside.get("podPlacements", NOTHING), join(here, "podPlacements"))
        gang.append(tuple(_placement(reader, at, item) for at, item in items))
    info = BindInfo(
        reader.text(fields.get("node", NOTHING), "node"),
        _indices(reader, fields.get("leafCellIsolation", NOTHING), "leafCellIsolation"),
        reader.text(fields.get("cellChain", NOTHING), "cellChain"),
        tuple(gang),
    )
    _finish(reader, BIND_INFO)
    return info


def _placement(reader: Reader, path: str, value: Value) -> PodPlacement:
    fields = reader.table(value, path)
    types = reader.items(fields.get("preassignedCellTypes", NOTHING), join(path, "preassignedCellTypes"))
    key = "physicalLeafCellIndices"
    return PodPlacement(
        reader.text(fields.get("physicalNode", NOTHING), join(path, "physicalNode")),
        _indices(reader, fields.get(key, NOTHING), join(path, key)),
        tuple(reader.text(item, at) for at, item in types),
    )


def _indices(reader: Reader, value: Value, path: str) -> tuple[int, ...]:
    return tuple(reader.number(item, at, least=0, default=0) for at, item in reader.items(value, path))


def read_isolation(text: str) -> tuple[int, ...]:
    """The devices of a pod on its node, as its containers see them: `0,1,2`. What is no number is left out."""
    return tuple(int(word) for part in text.split(",") if (word := part.strip()).isdecimal() and len(word) < 10)


def write_spec(spec: PodSpec) -> str:
    """The annotation of a pod that asks for this, as JSON."""
    members = [{"podNumber": member.pods, "leafCellNumber": member.leaf_cells} for member in spec.gang.members]
    document: dict[str, Any] = {
        "virtualCluster": spec.virtual_cluster,
        "priority": spec.priority,
        "leafCellNumber": spec.leaf_cells,
        **({"leafCellType": spec.leaf_type} if spec.leaf_type else {}),
        **({"pinnedCellId": spec.pinned_cell} if spec.pinned_cell else {}),
        "lazyPreemptionEnable": spec.lazy_preemption,
        IGNORE: spec.ignore_suggested,
        "affinityGroup": {"name": spec.gang.name, "members": members},
    }
    return json.dumps(document)


def write_bind_info(info: BindInfo) -> dict[str, str]:
    """The annotations of a bound pod. The bind info is YAML of the kind that JSON is: it is read much faster."""
    members = [
        {
            "podPlacements": [
                {
                    "physicalNode": place.node,
                    "physicalLeafCellIndices": list(place.leaf_cells),
                    "preassignedCellTypes": list(place.preassigned_types),
                }
                for place in same
            ]
        }
        for same in info.gang
    ]
    document: dict[str, Any] = {
        "node": info.node,
        "leafCellIsolation": list(info.leaf_cells),
        "cellChain": info.chain,
        "affinityGroupBindInfo": members,
    }
    return {
        ISOLATION: ",".join(map(str, info.leaf_cells)),
        BIND_INFO: json.dumps(document),
    }


def _json(text: str) -> Value | None:
    """As this allocator writes it; none where it was written otherwise, or cannot be read."""
    if not text.startswith("{") or any(old in text for old in OLD_NAMES):
        return None
    try:
        return read_object(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _document(text: str, what: str, notes: list[Problem]) -> Value:
    """With the names of today in the place of old ones: as in HiveD, wherever they are."""
    if _OLD_VALUE.search(text) is not None:
        notes.append(Problem("", None, f"old names ({', '.join(OLD_NAMES)}) are replaced in values, too"))
    try:
        return read_text(_OLD.sub(lambda old: OLD_NAMES[old[0]], text), MAX_VALUES, notes=notes)
    except ConfigurationError as error:
        raise _wrong(what, error) from error


def _wrong(what: str, error: ConfigurationError) -> UserError:
    return UserError(f"annotation {what}: {ConfigurationError(map(_with_subject, error.problems))}")


def _with_subject(problem: Problem) -> Problem:
    """A problem of the whole text says so: it is no configuration."""
    return problem if problem.path else replace(problem, path="the annotation")


def _finish(reader: Reader, what: str) -> None:
    try:
        reader.finish()
    except ConfigurationError as error:
        raise _wrong(what, error) from error
