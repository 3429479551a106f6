"""Random histories of gated gangs: pods come, go and change, patches are late or lost, and processes are killed.

`python tests/runtime/gated_histories.py --histories 1000` runs as many; `--seed 7 --histories 1` runs one again.
"""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from invariants import check, picture
from stand_in.patches import PatchError, json_patch
from test_admission import Cluster, asks

from generated.hived import AffinityGroupState
from runtime import Wait
from runtime.annotations import BIND_INFO, ISOLATION, SPEC, write_bind_info, write_spec
from runtime.service.admission import MAX_PAUSE, PATCH_TIMEOUT
from runtime.service.gates import admission_patch
from runtime.service.leases import LEASE
from runtime.service.objects import PodObject, read_pod
from runtime.service.pod_groups import GATE, KUEUE_COUNT, KUEUE_GROUP
from runtime.service.source import Change
from runtime.service.tracker import PodPhase, Tracked

SIZES = (1, 2, 4, 4)
PRIORITIES = (-1, 1, 1, 5, 9)
CALM_CYCLES = 30
"""Cycles in which everything that can be admitted is, once nothing happens any more."""


@dataclass
class Workload:
    """What a user wants: a number of pods that ask for the same gang."""

    name: str
    kind: str
    """How its pods name their gang: by `annotation`, or by the labels of Kueue, or as `native` PodGroup."""
    sizes: list[int]
    priority: int
    generation: int = 0
    pods: dict[int, str] = field(default_factory=dict)
    """By number: the names of the pods that there are."""

    @property
    def gang(self) -> str:
        """As the allocator calls it."""
        prefix = {"annotation": "", "kueue": "default/pod-group/", "native": "default/pod-groups/"}[self.kind]
        return prefix + self.name


@dataclass
class Patch:
    """A request to the API server that was sent."""

    arrives: float
    seen: PodObject
    node: str
    annotations: dict[str, str]
    process: int


class History(Cluster):
    """A cluster to which things happen."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = Random(seed)
        self.workloads: dict[str, Workload] = {}
        self.unhealthy: set[str] = set()
        self.absent: set[str] = set()
        self.patches: list[Patch] = []
        self.process = 0
        self.refusing = False
        self.visible_pods: dict[str, PodObject] = {}
        """By uid: the pods that the watch has told of."""
        self.seen: Counter[str] = Counter()
        super().__init__(folder)

    # The cluster

    def start(self) -> None:
        """The next process. It hears of the PodGroups later than of the pods."""
        self.process += 1
        self.visible_pods = {}
        super().start()
        self._tell_pod_groups()
        if self.refusing:
            self.refuse_evictions()

    def _list(self) -> list[Change]:
        changes = [x for x in super()._list() if not isinstance(x.thing, PodObject)]
        changes = [x for x in changes if getattr(x.thing, "name", "") not in self.absent | self.unhealthy]
        self.changes = []
        for name in self.unhealthy - self.absent:
            self.node(name, healthy=False)
        changes += self.changes
        self.changes = []
        for pod in self.pods.values():
            self.tell(pod)
        changes += self.changes
        self.changes = []
        return changes

    def _tell_pod_groups(self) -> None:
        for workload in self.workloads.values():
            if workload.kind == "native":
                self.pod_group(workload.name, len(workload.sizes))

    def tell(self, pod: dict[str, Any], *, deleted: bool = False) -> None:
        """As the watch of the allocator does it: pods of others are passed over, or are gone."""
        seen = read_pod(copy.deepcopy(pod))
        if not seen.ours or deleted:
            if self.visible_pods.pop(seen.uid, None) is not None:
                self.changes.append(Change(seen, deleted=True))
        elif self.visible_pods.get(seen.uid) != seen:
            self.visible_pods[seen.uid] = seen
            self.changes.append(Change(seen, deleted=False))

    def _delete(self, tracked: Tracked) -> None:
        pod = self.pods.get(tracked.seen.name)
        if pod is not None and pod["metadata"]["uid"] == tracked.seen.uid:
            super()._delete(tracked)

    def _admit(self, tracked: Tracked) -> None:
        """A patch is sent, and may take its time, or come to nothing."""
        assert tracked.info is not None
        assert tracked.pod is not None
        annotations = {**write_bind_info(tracked.info), SPEC: write_spec(tracked.pod.spec)}
        delay = self.random.choice((0, 0, 0, 1, 3, PATCH_TIMEOUT - 2))
        self.patches.append(Patch(self.time + delay, tracked.seen, tracked.info.node, annotations, self.process))

    def deliver(self, *, losing: bool) -> None:
        """The API server carries out the patches whose time has come."""
        due = [x for x in self.patches if x.arrives <= self.time]
        self.patches = [x for x in self.patches if x.arrives > self.time]
        for patch in due:
            if losing and self.random.random() < 0.2:
                self.seen["patches lost"] += 1
                self._answer(patch, "the API server did not answer")
                continue
            why = self._carry_out(patch, patch.seen)
            if losing and not why and self.random.random() < 0.2:
                self.seen["answers lost"] += 1
                why = "the answer was lost"
            if why:
                self._answer(patch, why)

    def _answer(self, patch: Patch, why: str) -> None:
        if patch.process == self.process:
            self.scheduler.admission.failed(patch.seen.uid, why)

    def _carry_out(self, patch: Patch, seen: PodObject) -> str:
        """As `KubernetesSource.admit` does it; why it comes to nothing."""
        pod = self.pods.get(seen.name)
        if pod is None or pod["metadata"]["uid"] != seen.uid or not seen.gated:
            return "it is gone"
        try:
            after = json_patch(copy.deepcopy(pod), admission_patch(seen, patch.node, patch.annotations))
        except PatchError:
            now = read_pod(pod)
            if now.gated and now != seen:
                return self._carry_out(patch, now)
            is_done = now.place == patch.node and now.isolation == patch.annotations[ISOLATION]
            return "" if is_done else "somebody else has removed its gate"
        self.pods[seen.name] = after
        self.tell(after)
        return ""

    # What happens

    def happen(self) -> None:
        """One thing."""
        events: dict[Callable[[], None], int] = {
            self.submit: 6,
            self.recreate: 6,
            self.lose_pod: 4,
            self.end_workload: 2,
            self.change_request: 2,
            self.change_node: 3,
            self.change_pod_group: 1,
            self.remove_gate: 1,
            self.bind: 4,
            self.leave: 6,
            self.change_budget: 1,
            partial(self.restart, lose=False): 2,
            partial(self.restart, lose=True): 1,
        }
        (event,) = self.random.choices(list(events), list(events.values()))
        event()
        self.seen[getattr(event, "__name__", "restart")] += 1

    def submit(self) -> None:
        """A workload, with all its pods or some of them."""
        if len(self.workloads) >= 8:
            return
        name = f"w{self.seen['workloads']}"
        self.seen["workloads"] += 1
        kind = self.random.choice(("annotation", "kueue", "native"))
        sizes = [self.random.choice(SIZES) for _ in range(self.random.choice((1, 2, 2, 3, 4, 6, 9)))]
        self.workloads[name] = workload = Workload(name, kind, sizes, self.random.choice(PRIORITIES))
        if kind == "native" and self.random.random() < 0.8:
            self.pod_group(name, len(sizes))
        numbers = list(range(len(sizes)))
        self.random.shuffle(numbers)
        for number in numbers[: len(sizes) if self.random.random() < 0.7 else self.random.randint(0, len(sizes))]:
            self.create_pod(workload, number)

    def create_pod(self, workload: Workload, number: int) -> None:
        """With the name that one had before it."""
        size = workload.sizes[number]
        workload.generation += 1
        labels: dict[str, str] = {}
        spec: dict[str, Any] = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": str(size)}}}]}
        match workload.kind:
            case "kueue":
                labels = {KUEUE_GROUP: workload.name}
            case "native":
                spec["schedulingGroup"] = {"podGroupName": workload.name}
            case _:
                pass
        name = f"{workload.name}-{number}"
        metadata = {"name": name, "namespace": "default", "uid": f"{name}-{workload.generation}", "labels": labels}
        pod = {
            "metadata": {**metadata, "annotations": self.request(workload, size)},
            "spec": {"schedulingGates": [{"name": GATE}], **spec},
            "status": {},
        }
        workload.pods[number] = name
        self.pods[name] = pod
        self.tell(pod)

    def request(self, workload: Workload, size: int) -> dict[str, str]:
        """The annotations of a pod."""
        if workload.kind == "annotation":
            sizes = Counter(workload.sizes)
            members = [{"podNumber": pods, "leafCellNumber": x} for x, pods in sorted(sizes.items())]
            return asks(size, workload.priority, {"name": workload.name, "members": members})
        number = {KUEUE_COUNT: str(len(workload.sizes))} if workload.kind == "kueue" else {}
        return {SPEC: json.dumps({"virtualCluster": "A", "priority": workload.priority}), **number}

    def recreate(self) -> None:
        """A controller creates a pod that is missing."""
        missing = [(x, n) for x in self.workloads.values() for n in range(len(x.sizes)) if n not in x.pods]
        if missing:
            self.create_pod(*self.random.choice(missing))

    def lose_pod(self) -> None:
        """Somebody deletes a pod, which is gone at once."""
        if self.pods:
            self.remove(self.random.choice(sorted(self.pods)))

    def remove(self, name: str) -> None:
        """A pod is gone."""
        self.tell(self.pods.pop(name), deleted=True)
        workload, _, number = name.partition("-")
        if workload in self.workloads:
            del self.workloads[workload].pods[int(number)]

    def end_workload(self) -> None:
        """A user deletes everything."""
        if self.workloads:
            workload = self.workloads.pop(self.random.choice(sorted(self.workloads)))
            for name in list(workload.pods.values()):
                self.remove(name)
            if workload.kind == "native":
                self.pod_group(workload.name, 1, deleted=True)

    def change_request(self) -> None:
        """The priority of all gated pods of a workload, or of some; or how many all say that they are."""
        if not self.workloads:
            return
        workload = self.random.choice(list(self.workloads.values()))
        workload.priority = self.random.choice(PRIORITIES)
        if self.random.random() < 0.3 and not self.is_decided(workload):
            number = len(workload.sizes)
            workload.sizes.append(self.random.choice(SIZES))
            self.tell_request(workload)
            if self.random.random() < 0.7:
                self.create_pod(workload, number)
        else:
            self.tell_request(workload, self.random.choice((0.5, 1)))

    def is_decided(self, workload: Workload) -> bool:
        """Whether its pods have places, or may get some by a patch of a forgotten process."""
        gang = self.allocator.gangs.get(workload.gang)
        names = set(workload.pods.values())
        sent = any(patch.seen.name in names for patch in self.patches)
        return sent or (gang is not None and bool(gang.assigned)) or any(map(self.is_admitted, names))

    def tell_request(self, workload: Workload, chance: float = 1) -> None:
        """Its gated pods ask for what it wants."""
        for number, name in workload.pods.items():
            if not self.is_admitted(name) and self.random.random() <= chance:
                self.pods[name]["metadata"]["annotations"] = self.request(workload, workload.sizes[number])
                self.tell(self.pods[name])
        if workload.kind == "native":
            self.pod_group(workload.name, len(workload.sizes))

    def is_admitted(self, name: str) -> bool:
        """Whether a pod has its place written on it."""
        return BIND_INFO in self.pods[name]["metadata"]["annotations"]

    def change_node(self) -> None:
        """It turns bad or is deleted; or all is well again."""
        name = self.random.choice(sorted(self.allocator.cluster.nodes))
        if name in self.unhealthy:
            self.restore_node(name)
            return
        self.unhealthy.add(name)
        if self.random.random() < 0.4:
            self.absent.add(name)
        self.node(name, healthy=False, deleted=name in self.absent)

    def restore_node(self, name: str) -> None:
        """It can be used."""
        self.unhealthy.discard(name)
        self.absent.discard(name)
        self.node(name)

    def change_pod_group(self) -> None:
        """A PodGroup is deleted, or comes back."""
        native = [x for x in self.workloads.values() if x.kind == "native"]
        if native:
            workload = self.random.choice(native)
            self.pod_group(workload.name, len(workload.sizes), deleted=self.random.random() < 0.5)

    def remove_gate(self) -> None:
        """Somebody else removes the gate of a pod, which runs elsewhere from then on, or is not heard of any more."""
        gated = [name for name in self.pods if not self.is_admitted(name)]
        if gated:
            pod = self.pods[self.random.choice(gated)]
            pod["spec"]["schedulingGates"] = []
            self.tell(pod)
            self.remove(pod["metadata"]["name"])

    def bind(self) -> None:
        """A kube-scheduler binds admitted pods."""
        for pod in self.pods.values():
            node = read_pod(pod).admitted_to
            if node and not pod["spec"].get("nodeName") and node not in self.unhealthy and self.random.random() < 0.5:
                pod["spec"]["nodeName"] = node
                pod["status"]["phase"] = "Running"
                self.tell(pod)

    def leave(self, chance: float = 0.6) -> None:
        """Pods that are being deleted are gone."""
        for name, pod in list(self.pods.items()):
            if pod["metadata"].get("deletionTimestamp") and self.random.random() <= chance:
                self.remove(name)

    def change_budget(self) -> None:
        """Evictions are refused, or no longer."""
        self.refusing = not self.refusing
        if self.refusing:
            self.refuse_evictions()
        else:
            self.scheduler._evict_gangs = None

    def restart(self, *, lose: bool) -> None:
        """Patches that were sent arrive nevertheless."""
        self.seen["journals lost"] += lose
        self.kill(lose=lose)

    # What must hold

    def verify(self) -> None:
        """After every cycle."""
        check(self.allocator)
        devices = list(self.devices())
        assert len(devices) == len(set(devices)), f"a device was given twice: {Counter(devices).most_common(1)}"
        for pod in self.pods.values():
            tracked = self.scheduler.tracker.pod(pod["metadata"]["uid"])
            if tracked is not None and not tracked.seen.gated:
                assert tracked.info is not None, (tracked.seen.key, tracked.problem)
                written = json.loads(pod["metadata"]["annotations"][BIND_INFO])
                assert (tracked.info.node, [*tracked.info.leaf_cells]) == (
                    written["node"],
                    written["leafCellIsolation"],
                )

    def devices(self) -> Iterator[tuple[str, int]]:
        """That admitted pods have."""
        for text in self.places().values():
            written = json.loads(text)
            yield from ((written["node"], number) for number in written["leafCellIsolation"])

    def run(self, steps: int) -> None:
        """Things happen; then nothing more does."""
        for _ in range(steps):
            self.happen()
            if self.random.random() < 0.6:
                self.cycle()
                self.deliver(losing=True)
                self.verify()
        self.calm()
        self.judge()
        places, before, changes = self.places(), picture(self.allocator), self.allocator.changes
        self.rest(5)
        assert self.allocator.changes == changes, "gangs that wait change nothing"
        self.kill()
        self.rest(CALM_CYCLES)
        assert self.places() == places
        assert picture(self.allocator) == before
        self.judge()
        self.kill(lose=True)
        self.rest(CALM_CYCLES)
        assert self.places() == places
        self.judge()

    def calm(self) -> None:
        """All is well again: nodes, budgets and PodGroups; controllers complete what runs, and requests agree."""
        for name in sorted(self.unhealthy):
            self.restore_node(name)
        if self.refusing:
            self.change_budget()
        before: set[str] | None = None
        now = self.uids()
        while before != now:
            for workload in self.workloads.values():
                if any(self.is_admitted(name) for name in workload.pods.values()):
                    for number in set(range(len(workload.sizes))) - workload.pods.keys():
                        self.create_pod(workload, number)
                gang = self.allocator.gangs.get(workload.gang)
                if gang is not None and gang.assigned:
                    workload.priority = gang.spec.priority
                self.tell_request(workload)
            self.rest(CALM_CYCLES)
            before, now = now, self.uids()
        self.time += 2 * LEASE
        self.rest(CALM_CYCLES)

    def rest(self, cycles: int) -> None:
        """Only what follows from before happens."""
        for _ in range(cycles):
            self.time += MAX_PAUSE / 10
            self.leave(1)
            self.cycle()
            self.deliver(losing=False)
            self.bind()
            self.verify()

    def judge(self) -> None:
        """When nothing happens any more: gangs are admitted as a whole or not at all, and those that are not have a
        reason."""
        counts = {"incomplete": 0, "waiting": 0, "placed": 0}
        for workload in self.workloads.values():
            admitted = [name for name in workload.pods.values() if self.is_admitted(name)]
            gated = [name for name in workload.pods.values() if not self.is_admitted(name)]
            assert not (admitted and gated), f"{workload} is half admitted: {[self.reason_of(x) for x in gated]}"
            assert all(self.reason_of(name) for name in gated), f"{workload} waits without a reason"
            gang = self.allocator.gangs.get(workload.gang)
            if gated and len(gated) < len(workload.sizes):
                counts["incomplete"] += len(gated)
                here = f"gang {workload.gang} waits for its pods: {len(gated)} of {len(workload.sizes)} are there"
                assert self.reason_of(gated[0]) == here
                assert gang is None or gang.state is AffinityGroupState.PENDING, "nobody uses what it has reserved"
            elif gated:
                self.seen["waiting"] += 1
                counts["waiting"] += len(gated)
                assert gang is not None
                pod = next(iter(gang.waiting.values()))
                answer = self.allocator.schedule(pod, None)
                assert isinstance(answer, Wait), f"{workload} waits, but there is room for it: {answer}"
                reason = self.reason_of(gated[0]).removesuffix(" (this can never change while the configuration stays)")
                assert answer.reason == reason
            else:
                self.seen["admitted"] += bool(admitted)
        assert self.scheduler.admission.counts() == counts
        uids = {pod.uid for gang in self.allocator.gangs.values() for pod in gang.pods}
        assert uids == self.uids(), uids ^ self.uids()
        phases = {x.phase for x in self.scheduler.tracker.pods()}
        assert phases <= {PodPhase.WAITING, PodPhase.BOUND}, phases

    def uids(self) -> set[str]:
        """Of all pods that there are."""
        return {pod["metadata"]["uid"] for pod in self.pods.values()}

    def reason_of(self, name: str) -> str:
        """Why a pod waits."""
        return self.scheduler.admission.reason(self.pods[name]["metadata"]["uid"])


def run(seed: int, steps: int) -> Counter[str]:
    """One history; what was in it."""
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder), seed)
        history.run(steps)
        history.allocator.close()
        return history.seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    seen: Counter[str] = Counter()
    for seed in range(arguments.seed, arguments.seed + arguments.histories):
        try:
            seen += run(seed, arguments.steps)
        except BaseException:
            print(f"seed {seed}")
            raise
    print(dict(sorted(seen.items())))


if __name__ == "__main__":
    main()
