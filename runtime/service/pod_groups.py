"""Which gang a gated pod belongs to, where its annotation names none: by labels, or by a PodGroup of Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.annotations import MAX_NUMBER, PREFIX
from runtime.errors import UserError

GATE = PREFIX + "gang"
"""The scheduling gate of pods that are admitted here."""
COUNT = PREFIX + "pod-group-total-count"
"""Annotation: the number of pods of a group, where nothing else says it."""
KUEUE_GROUP = "kueue.x-k8s.io/pod-group-name"
KUEUE_COUNT = "kueue.x-k8s.io/pod-group-total-count"
KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
JOBSET_ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
"""JobSet writes its name and the attempt on each pod, but not how many pods it has in all."""

DEVICE_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "habana.ai/gaudi", "google.com/tpu")
"""Resources of containers that are counted as leaf cells where the annotation does not say how many a pod needs."""


@dataclass(frozen=True, slots=True)
class PodGroup:
    """What a pod says of its group, unparsed."""

    name: str
    """Of the gang: of the namespace, a word and the name of the group, so that no single pod is called the same."""
    count: str
    """The number of its pods, as written; empty where nothing on the pod says it."""
    counted_by: str
    """The annotation that says it, or is to say it; empty where a PodGroup does."""
    native: str = ""
    """Namespace and name of the PodGroup, if it is one."""


@dataclass(frozen=True, slots=True)
class PodGroupObject:
    """A PodGroup of `scheduling.k8s.io`."""

    namespace: str
    name: str
    min_count: int
    """0 where it is no gang."""

    @property
    def key(self) -> str:
        """What people call it."""
        return f"{self.namespace}/{self.name}"


def find_group(
    namespace: str, labels: Mapping[str, object], annotations: Mapping[str, object], native: str
) -> PodGroup | None:
    """The group of a pod; `native` is the name of the PodGroup in its specification. Raises `UserError`."""
    if native:
        return PodGroup(f"{namespace}/pod-groups/{native}", "", "", f"{namespace}/{native}")
    if name := _text(labels, KUEUE_GROUP):
        by = KUEUE_COUNT if KUEUE_COUNT in annotations else COUNT if COUNT in annotations else KUEUE_COUNT
        return PodGroup(f"{namespace}/pod-group/{name}", _text(annotations, by), by)
    if name := _text(labels, JOBSET_NAME):
        attempt = _text(labels, JOBSET_ATTEMPT) or "0"
        by = COUNT if COUNT in annotations else KUEUE_COUNT if KUEUE_COUNT in annotations else COUNT
        return PodGroup(f"{namespace}/jobset/{name}/{attempt}", _text(annotations, by), by)
    return None


def count_pods(group: PodGroup, groups: Mapping[str, PodGroupObject]) -> int:
    """How many pods a group has. Raises `UserError` where nothing says so."""
    if group.native:
        named_group = groups.get(group.native)
        if named_group is None:
            raise UserError(
                f"PodGroup {group.native} is not known: it does not exist, or the API server does not serve PodGroups, "
                "or does not let the allocator watch them (its log says so)"
            )
        if named_group.min_count < 1:
            raise UserError(f"PodGroup {group.native} has no spec.schedulingPolicy.gang.minCount")
        return named_group.min_count
    if not group.count:
        raise UserError(f"gang {group.name}: annotation {group.counted_by} must say how many pods it has")
    number = int(group.count) if group.count.isascii() and group.count.isdecimal() and len(group.count) < 11 else 0
    if not 1 <= number <= MAX_NUMBER:
        raise UserError(
            f"gang {group.name}: annotation {group.counted_by} must be a number from 1 to {MAX_NUMBER}, not "
            f"{group.count[:40]!r}"
        )
    return number


def read_pod_group(document: object) -> PodGroupObject:
    """Raises `UserError` where it is no PodGroup."""
    metadata, spec = _table(document, "metadata"), _table(document, "spec")
    gang = _table(_table(spec, "schedulingPolicy"), "gang")
    count = gang.get("minCount")
    name = _text(metadata, "name")
    if not name:
        raise UserError("a PodGroup has no metadata.name")
    number = count if isinstance(count, int) and not isinstance(count, bool) and count <= MAX_NUMBER else 0
    return PodGroupObject(_text(metadata, "namespace") or "default", name, max(number, 0))


def _table(document: object, key: str) -> Mapping[str, object]:
    value = document.get(key) if isinstance(document, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _text(table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise UserError(f"{key} must be a string")
    return value or ""
