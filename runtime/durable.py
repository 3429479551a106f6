"""An allocator that outlives its process and its computer: its answers are in a journal."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time

from generated.hived import AffinityGroupState, Followed
from runtime.allocator import Allocator, Tenant
from runtime.answers import Answer, GangStatus, LeafCell, Phase
from runtime.cells import Cluster
from runtime.config import Configuration, read_configuration
from runtime.errors import UserError
from runtime.gangs import Gang, GangMachine
from runtime.holding import Claim
from runtime.images import (
    CONFIGURATION,
    KINDS,
    all_of,
    digest,
    gang_key,
    node_key,
    pod_key,
    write,
    write_gang,
    write_pod,
)
from runtime.journal import Damage, Journal, JournalError
from runtime.pods import BindInfo, Pod
from runtime.rebuild import Written, read, rebuild
from runtime.recovery import Recovered

PENDING = AffinityGroupState.PENDING


@contextmanager
def collector_paused() -> Iterator[None]:
    """Nothing becomes garbage while a large cluster is built: looking for it takes as long as all the rest."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@dataclass(frozen=True, slots=True)
class Opened:
    """What was found in the journal."""

    pods: int
    damage: Damage | None
    """What was lost of it."""
    takeover: Recovered | None
    """What could not be taken over as it was into a changed configuration; none where it has not changed."""


class DurableAllocator:
    """An `Allocator` with a journal: every call returns when what it has changed is on the disk.

    Several calls in a `with allocator.cycle():` are committed together at its end; until then, no one may learn of
    their answers. With `cycle(sync=False)` they survive a crash of the process, but perhaps no loss of power before
    `journal.sync()` has returned.

    A call that fails by a fault of the allocator leaves everything as it was before: the allocator is built anew from
    the journal. `JournalError` is final: the process has to end, and to open the journal again.
    """

    def __init__(self, configuration: Configuration, journal: Journal, now: Callable[[], float] = time) -> None:
        self.configuration = configuration
        self.journal = journal
        self._digest = digest(configuration)
        self._now = now
        self._moved: set[Gang] = set()
        """Gangs that the step under way has changed."""
        self._grouping = False
        self._touched: dict[str, None] = {}
        self.attached_changes: Callable[[], Mapping[str, str | None]] = dict
        """Changes that another component keeps in this journal: taken before each commit, and committed with it."""
        with collector_paused():
            written = read(journal.images)
            takeover = self._begin(written)
        self.opened = Opened(len(written.pods), journal.damage, takeover)
        self._commit()

    @classmethod
    def open(
        cls, source: str | Path | Mapping[str, object], journal: str | Path, now: Callable[[], float] = time
    ) -> DurableAllocator:
        """From HiveD's configuration and the file of a journal, which is made if there is none.

        Raises `ConfigurationError` and `JournalError`.
        """
        return cls(read_configuration(source), Journal(journal), now)

    def close(self) -> None:
        """Lets go of the journal."""
        self.journal.close()

    # Building

    def _begin(self, written: Written) -> Recovered | None:
        """What was written, in the configuration of now. A changed one is taken over in one step of the journal."""
        allocator = Allocator(self.configuration, self._now)
        if written.configuration == self._digest:
            rebuild(allocator.core, written)
            self._attach(allocator)
            return None
        nodes = {name: healthy for name, healthy in written.nodes.items() if name in allocator.cluster.nodes}
        result = allocator.recover(written.bound(), nodes)
        self._attach(allocator)
        self._note("configuration", self._everything())
        return result if written.configuration else None

    def _attach(self, allocator: Allocator) -> None:
        self._allocator = allocator
        allocator.cluster.system.listen(self._listen)

    def _listen(self, followed: tuple[Followed, ...]) -> None:
        self._moved.update(row.machine.gang for row in followed if isinstance(row.machine, GangMachine))

    # Journal

    @contextmanager
    def cycle(self, *, sync: bool = True) -> Iterator[None]:
        """Calls that are committed together, at the end of the outermost cycle. No answer may be given out before.

        Without `sync`, the outermost cycle does not wait for the disk: nothing that others rely on may follow from its
        calls, such as a pod that is bound or deleted, before `journal.sync()` has returned.
        """
        if self._grouping:
            yield
            return
        self._grouping = True
        try:
            yield
        finally:
            self._grouping = False
        self._commit(sync=sync)

    @contextmanager
    def _step(self, kind: str, difference: Callable[[], Mapping[str, str | None]]) -> Iterator[None]:
        """A call, and what is different after it."""
        self._moved.clear()
        refused: UserError | None = None
        try:
            try:
                yield
            except UserError as error:
                refused = error
            self._note(kind, difference())
        except JournalError:
            raise
        except Exception:
            self._undo()
            raise
        if refused is not None:
            raise refused

    def _undo(self) -> None:
        """As it was before the step."""
        self._attach(self.copy(self.journal.images))

    def _difference(self, pod: Pod) -> dict[str, str | None]:
        """What may be different now; gangs are long to write, so only those that have moved, or are new."""
        images: dict[str, str | None] = {}
        names = {gang.name for gang in self._moved}
        home = self.homes.get(pod.uid)
        affected = (pod.spec.gang.name,) if home is None else (pod.spec.gang.name, home.name)
        self._touched.update(dict.fromkeys((*sorted(names), *affected)))
        if home is not None and (home.state is PENDING or gang_key(home.name) not in self.journal.images):
            image = images[gang_key(home.name)] = write_gang(home)
            if self.journal.images.get(gang_key(home.name)) != image:
                images.update((pod_key(other.uid), write_pod(home, other)) for other in home.pods)
            names.discard(home.name)
        for name in sorted(names | {pod.spec.gang.name}):
            gang = self.gangs.get(name)
            if gang_key(name) in images:
                continue
            if gang is None:
                images[gang_key(name)] = None
            elif name in names:
                images[gang_key(name)] = write_gang(gang)
        images[pod_key(pod.uid)] = write_pod(home, pod) if home is not None else None
        return images

    def _note(self, kind: str, images: Mapping[str, str | None]) -> None:
        """Journals what is different."""
        current = self.journal.images
        changes = {key: image for key, image in images.items() if current.get(key) != image}
        if changes:
            self.journal.write(kind, changes)
        if not self._grouping:
            self._commit()

    def _commit(self, *, sync: bool = True) -> None:
        changes = self.attached_changes()
        if changes:
            self.journal.write("lives", changes)
        self.journal.commit()
        if sync:
            self.journal.sync()

    def _node(self, name: str) -> dict[str, str | None]:
        """The health of a node; nothing where none of this name is configured."""
        cells = self.cluster.nodes.get(name)
        return {node_key(name): write(cells[0].healthy)} if cells else {}

    def _everything(self) -> dict[str, str | None]:
        """All that there is; and that there is nothing else."""
        ours = (key for key in self.journal.images if key.partition("/")[0] in KINDS)
        images: dict[str, str | None] = dict.fromkeys(ours)
        images[CONFIGURATION] = write(self._digest)
        for name in self.cluster.nodes:
            images.update(self._node(name))
        images.update(all_of(self.gangs.values()))
        return images

    # Nodes

    def node_healthy(self, name: str) -> None:
        """A node can be used. A name that is not configured means nothing."""
        self._set_health(name, healthy=True)

    def node_bad(self, name: str) -> None:
        """A node cannot be used any more, or is gone. What runs there keeps its leaf cells."""
        self._set_health(name, healthy=False)

    def _set_health(self, name: str, *, healthy: bool) -> None:
        with self._step("node", lambda: self._node(name)):
            report = self._allocator.node_healthy if healthy else self._allocator.node_bad
            report(name)

    # Pods

    def submit(self, pod: Pod) -> None:
        """A pod is there."""
        with self._step("submit", lambda: self._difference(pod)):
            self._allocator.submit(pod)

    def schedule(
        self, pod: Pod, suggested_nodes: Iterable[str] | None = None, phase: Phase = Phase.FILTERING
    ) -> Answer:
        """Where a pod can go. Raises `UserError`."""
        with self._step("schedule", lambda: self._difference(pod)):
            return self._allocator.schedule(pod, suggested_nodes, phase)

    def allocate(self, pod: Pod, bind_info: BindInfo) -> None:
        """A pod gets its place. Raises `UserError`."""
        with self._step("allocate", lambda: self._difference(pod)):
            self._allocator.allocate(pod, bind_info)

    def hold(self, claim: Claim) -> tuple[Pod, BindInfo]:
        """The devices of a bound pod that cannot be understood count as taken. Raises `UserError`."""
        holdings: list[tuple[Pod, BindInfo]] = []
        before = self._allocator.homes.get(claim.uid)

        def difference() -> dict[str, str | None]:
            images: dict[str, str | None] = {}
            if before is not None:
                self._touched[before.name] = None
                images = {gang_key(before.name): None, pod_key(claim.uid): None}
                if self.gangs.get(before.name) is before:
                    images[gang_key(before.name)] = write_gang(before)
            return {**images, **(self._difference(holdings[0][0]) if holdings else {})}

        with self._step("hold", difference):
            holdings.append(self._allocator.hold(claim))
        return holdings[0]

    def delete(self, pod: Pod) -> None:
        """A pod is gone."""
        with self._step("delete", lambda: self._difference(pod)):
            self._allocator.delete(pod)

    def recover(self, pods: Iterable[tuple[Pod, BindInfo | None]], nodes: Mapping[str, bool]) -> Recovered:
        """From what bound pods carry, where the journal knows no pods. Raises `UserError` where it does."""
        with self._step("recover", self._everything):
            return self._allocator.recover(pods, nodes)

    # What there is

    @property
    def changes(self) -> int:
        """Counts what may make an earlier decision wrong: who waits need not ask again before it has risen."""
        return self._allocator.core.changes

    def touched(self) -> list[str]:
        """Names of gangs that may be different from, or gone since, the last call of this method."""
        touched, self._touched = list(self._touched), {}
        return touched

    def copy(self, images: Mapping[str, str]) -> Allocator:
        """An allocator with these contents of the journal, to try out what would be. May be called from any thread.

        Takes as long as a start does.
        """
        allocator = Allocator(self.configuration, self._now)
        rebuild(allocator.core, read(images))
        return allocator

    @property
    def cluster(self) -> Cluster:
        """All cells, to look at."""
        return self._allocator.cluster

    @property
    def gangs(self) -> Mapping[str, Gang]:
        """All gangs of which pods are known, by name, to look at."""
        return self._allocator.gangs

    @property
    def homes(self) -> Mapping[str, Gang]:
        """By uid: the gang of each pod that is known."""
        return self._allocator.homes

    def pods(self) -> Iterator[Pod]:
        """All pods that are known."""
        return (pod for gang in self.gangs.values() for pod in gang.pods)

    def bound(self) -> Iterator[tuple[Pod, BindInfo | None]]:
        """All pods, with what is to be written on those that have a place."""
        for gang in self.gangs.values():
            for pod in gang.pods:
                slot = gang.assigned.get(pod.uid)
                yield pod, gang.places.bind_info(slot) if slot is not None else None

    def group(self, name: str) -> GangStatus | None:
        """A gang, by the name of its affinity group; none where no pod of it is known."""
        return self._allocator.group(name)

    def groups(self) -> Iterator[GangStatus]:
        """All gangs of which pods are known."""
        return self._allocator.groups()

    def leaf_cells(self) -> Iterator[LeafCell]:
        """All leaf cells."""
        return self._allocator.leaf_cells()

    def virtual_clusters(self) -> Iterator[Tenant]:
        """All virtual clusters."""
        return self._allocator.virtual_clusters()
