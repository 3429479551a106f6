"""Losses of power: of what was not synchronised, any end may be missing; no device is held twice, and gangs go on.

More histories: `python tests/runtime/test_power.py --histories 10000`.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from clusters import config, gang, nodes
from invariants import check
from serving import node, written
from tiers import enough, today

from runtime.annotations import ISOLATION
from runtime.config import read_configuration
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.journal import Journal
from runtime.service.messages import BindRequest, FilterRequest, PreemptRequest
from runtime.service.objects import PodObject, read_node, read_pod
from runtime.service.scheduler import PodScheduler
from runtime.service.service import Service
from runtime.service.source import Change, MemorySource

NAMES = ("a", "b", "c")
CONFIGURATION = read_configuration(config(nodes(*NAMES), A={"NODE": len(NAMES)}))

# The journal ---------------------------------------------------------------------------------------------------------


class Disk:
    """What a disk has of a journal: at the last synchronisation, and what the operating system has been given since."""

    def __init__(self, path: Path, random: Random) -> None:
        self.path, self.random = path, random
        self.log = path.with_name(path.name + "-wal")
        self.journal = Journal(path, least=10**9)
        # Pages are moved to the database often; the log begins anew each time.
        self.journal._store.connection.execute("PRAGMA wal_autocheckpoint = 12")
        self.moved = 0
        self.states = {self.journal.number: dict(self.journal.images)}
        self.write_out()

    def write_out(self) -> None:
        """All is on the disk, as after `sync`, or after SQLite has moved pages to the database."""
        self.durable = self.journal.number
        self.before = self.path.read_bytes(), self.log.read_bytes()

    def commit(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            key, text = f"key {self.random.randrange(40)}", "x" * self.random.randrange(900)
            self.journal.write("test", {key: text or None})
        self.journal.commit()
        self.states[self.journal.number] = dict(self.journal.images)
        if self.path.read_bytes() != self.before[0]:
            self.moved += 1
            self.write_out()

    def lose_power(self, folder: Path) -> Journal:
        """Each sector of the log is as it was, or as it was written since; its length is one of those in between."""
        database, old = self.before
        new = self.log.read_bytes()
        again = new[:32] != old[:32]
        length = len(new) if again else self.random.randint(min(len(old), len(new)), max(len(old), len(new)))
        mixed = bytearray()
        for start in range(0, length, 512):
            sector = self.random.choice((old, new, new, new))[start : start + 512]
            mixed += sector.ljust(min(512, length - start), b"\0")
        if again:
            mixed[:32] = new[:32]  # SQLite synchronises the head of a log that begins anew before it goes on
        folder.mkdir()
        (folder / "journal").write_bytes(database)
        (folder / "journal-wal").write_bytes(mixed)
        witness = self.path.with_name(self.path.name + "-last")
        (folder / "journal-last").write_bytes(witness.read_bytes())
        return Journal(folder / "journal")


@pytest.mark.parametrize("seed", today(range(12)))
def test_after_a_loss_of_power_there_is_what_was_synchronised_and_a_beginning_of_the_rest(
    seed: int, tmp_path: Path
) -> None:
    random = Random(seed)
    disk = Disk(tmp_path / "journal", random)
    left = Counter[str]()
    for number in range(60):
        disk.commit()
        if random.random() < 0.15:
            disk.journal.sync()
            assert disk.journal.synced
            disk.write_out()
        again = disk.lose_power(tmp_path / str(number))
        assert again.damage is None
        assert again.number >= disk.durable, "what was synchronised is there"
        assert dict(again.images) == disk.states[again.number], "commits are there as a whole, in their order"
        left["all" if again.number == disk.journal.number else "less"] += 1
        again.close()
    disk.journal.close()
    assert disk.moved
    assert left["all"]
    assert left["less"]


def test_those_who_wait_for_the_disk_share_one_write(tmp_path: Path) -> None:
    stages: list[str] = []
    journal = Journal(tmp_path / "journal", stages.append)
    stages.clear()
    for number in range(3):
        journal.write("test", {str(number): "x"})
        journal.commit()
        assert not journal.synced
    journal.sync()
    journal.sync()
    assert journal.synced
    assert stages.count("sync") == 1
    journal.close()
    journal.sync()


def test_the_end_of_the_process_before_may_not_be_on_the_disk_yet(tmp_path: Path) -> None:
    """It was killed after a commit: whoever goes on from there synchronises it first."""
    journal = Journal(tmp_path / "journal")
    journal.write("test", {"a": "1"})
    journal.commit()
    for file in list(tmp_path.iterdir()):
        file.with_name(file.name.replace("journal", "copy")).write_bytes(file.read_bytes())
    stages: list[str] = []
    again = Journal(tmp_path / "copy", stages.append)
    assert again.images == {"a": "1"}
    assert stages == ["sync"]
    again.close()
    journal.close()


# The service ---------------------------------------------------------------------------------------------------------


class InFlight(MemorySource):
    """A cluster in which a request to bind a pod takes its time."""

    lists_all = True

    def __init__(self) -> None:
        super().__init__()
        self.flight: list[tuple[PodObject, str, Mapping[str, str]]] = []

    def bind(self, pod: PodObject, node: str, annotations: Mapping[str, str]) -> None:
        self.flight.append((pod, node, annotations))


class World:
    """A cluster, one kube-scheduler, and the allocator, whose computer loses its power now and then."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random, self.path = Random(seed), folder / "journal"
        self.pods: dict[str, dict[str, Any]] = {}
        self.assumed: dict[str, str] = {}
        """By uid: the node of a pod that the kube-scheduler has an answer for, and has not bound yet."""
        self.flight: list[tuple[PodObject, str, Mapping[str, str]]] = []
        """Requests to bind that were under way when the power was lost: the API server carries them out later."""
        self.seen = Counter[str]()
        self.refusals: list[str] = []
        """What a kube-scheduler was answered for pods that it wanted to have bound."""
        self.start()

    def start(self) -> None:
        self.source = InFlight()
        self.source.tell(Change(read_node(node(name)), deleted=False) for name in NAMES)
        self.source.tell(Change(read_pod(pod), deleted=False) for pod in self.pods.values())
        self.service = Service(
            CONFIGURATION, lambda: Journal(self.path, least=10**9, synchronised=False), self.source, lease=1e9
        )
        self.service.start()
        self.service._beginning.join()
        assert self.service.failure is None

    def ask(self, call: Callable[[PodScheduler], Any]) -> Any:
        return asyncio.run(self.service.ask(call, durable=False))

    # What happens

    def step(self) -> None:
        queued = [uid for uid in self.pods if uid not in self.assumed and not self.bound(uid) and not self.flies(uid)]
        what = self.random.choices(
            ("come", "filter", "bind", "arrive", "go", "power"), (2, 6 * bool(queued), 4, 3, 1, 1)
        )[0]
        match what:
            case "come":
                name = f"gang-{len(self.seen)}-{self.random.randrange(10**6)}"
                size = self.random.choice((1, 2))
                self.create(name, [size] * self.random.choice((1, 2, 3)))
            case "filter":
                self.filter(self.random.choice(queued))
            case "bind" if self.assumed:
                self.bind(self.random.choice(list(self.assumed)))
            case "arrive":
                self.arrive()
            case "go" if self.pods:
                self.end(self.random.choice(list(self.pods)).rpartition("-")[0])
            case "power":
                self.lose_power()

    def create(self, name: str, sizes: list[int]) -> None:
        for pod in gang(name, "A", *sizes):
            self.pods[pod.uid] = written(pod)
            self.source.tell([Change(read_pod(self.pods[pod.uid]), deleted=False)])

    def filter(self, uid: str) -> None:
        answer = self.ask(lambda x: x.filter(FilterRequest(read_pod(self.pods[uid]), NAMES)))
        if answer["NodeNames"]:
            (self.assumed[uid],) = answer["NodeNames"]

    def bind(self, uid: str) -> None:
        """A kube-scheduler filters a pod again whose binding was refused."""
        request = BindRequest(uid, "default", self.pods[uid]["metadata"]["name"], self.assumed.pop(uid))
        try:
            tracked = self.ask(lambda x: x.to_bind(request))
        except UserError as error:
            self.refusals.append(str(error))
            return
        self.service.bind(tracked)

    def arrive(self) -> None:
        """The API server carries out a request to bind. Others may have found the pod bound, or gone."""
        flight = self.flight or self.source.flight
        if not flight:
            return
        seen, where, annotations = flight.pop(self.random.randrange(len(flight)))
        pod = self.pods.get(seen.uid)
        if pod is None or self.bound(seen.uid):
            return
        pod["spec"]["nodeName"] = where
        pod["metadata"]["annotations"] |= annotations
        self.assumed.pop(seen.uid, None)
        self.seen["bound"] += 1
        devices = [place for uid in self.pods for place in self.devices(uid)]
        assert len(set(devices)) == len(devices), "no device is held twice"
        self.source.tell([Change(read_pod(pod), deleted=False)])

    def end(self, name: str) -> None:
        for uid in [uid for uid in self.pods if uid.rpartition("-")[0] == name]:
            self.assumed.pop(uid, None)
            self.source.tell([Change(read_pod(self.pods.pop(uid)), deleted=True)])

    def lose_power(self) -> None:
        journal = self.service.allocator.journal
        with self.service.locks.partition.read():
            number, synced = journal.number, journal._synced
        self.flight += self.source.flight
        self.service.stop()
        last = self.random.randint(synced, number)
        with sqlite3.connect(self.path) as connection:
            connection.execute("DELETE FROM record WHERE number > ?", (last,))
        connection.close()
        self.path.with_name("journal-last").unlink()
        self.seen["losses"] += 1
        self.seen["lost records"] += number - last
        self.start()

    # What there is

    def bound(self, uid: str) -> bool:
        return bool(self.pods[uid]["spec"].get("nodeName"))

    def flies(self, uid: str) -> bool:
        return any(pod.uid == uid for pod, _, _ in (*self.flight, *self.source.flight))

    def devices(self, uid: str) -> Iterator[tuple[str, str]]:
        if self.bound(uid):
            pod = self.pods[uid]
            for device in pod["metadata"]["annotations"][ISOLATION].split(","):
                yield pod["spec"]["nodeName"], device

    def finish(self) -> None:
        """Nothing disturbs it any more: a gang of which a pod is bound is bound as a whole."""
        for _ in range(3):
            while self.flight or self.source.flight:
                self.arrive()
            for uid in list(self.pods):
                if uid not in self.assumed and not self.bound(uid):
                    self.filter(uid)
                if uid in self.assumed:
                    self.bind(uid)
        assert all("only while it is Binding" in x or "has its place on" in x for x in self.refusals)
        self.seen["refused"] = len(self.refusals)
        whole = {uid.rpartition("-")[0] for uid in self.pods if self.bound(uid)}
        assert all(self.bound(uid) for uid in self.pods if uid.rpartition("-")[0] in whole)
        self.ask(lambda x: check(x.allocator))
        self.service.stop()
        again = DurableAllocator(CONFIGURATION, Journal(self.path))
        check(again)
        again.close()


def run(folder: Path, seed: int, steps: int = 60) -> Counter[str]:
    """A whole history; what goes wrong names the seed."""
    world = World(folder, seed)
    try:
        for _ in range(steps):
            world.step()
        world.finish()
    except BaseException as error:
        error.add_note(f"history {seed}")
        world.service.stop()
        raise
    return world.seen


def test_no_device_is_held_twice_and_no_gang_is_torn_by_losses_of_power(tmp_path: Path) -> None:
    seen = Counter[str]()
    for seed in today(range(12)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        seen += run(folder, seed)
    assert min(seen[what] for what in ("bound", "refused", "losses", "lost records")) >= enough(6), seen


def test_what_others_rely_on_waits_for_the_disk_and_a_reservation_does_not(tmp_path: Path) -> None:
    stages: list[str] = []

    class Noting(MemorySource):
        def bind(self, pod: PodObject, node: str, annotations: Mapping[str, str]) -> None:
            stages.append("bound")
            super().bind(pod, node, annotations)

        def delete(self, pod: PodObject) -> None:
            stages.append("deleted")
            super().delete(pod)

    source = Noting()
    source.tell(Change(read_node(node(name)), deleted=False) for name in NAMES)
    service = Service(CONFIGURATION, lambda: Journal(tmp_path / "journal", stages.append), source)
    service.start()
    service._beginning.join()
    weak, strong = gang("weak", "A", 4, 4, 4, priority=1), gang("strong", "A", 4, 4, 4, priority=9)
    source.tell(Change(read_pod(written(pod)), deleted=False) for pod in (*weak, *strong))

    def ask(call: Callable[[PodScheduler], Any], *, durable: bool) -> Any:
        stages.clear()
        return asyncio.run(service.ask(call, durable=durable))

    def asked(pod: Any) -> FilterRequest:
        return FilterRequest(read_pod(written(pod)), NAMES)

    answer = ask(lambda x: x.filter(asked(weak[0])), durable=False)
    assert stages[-1] == "committed", "and not more"
    request = BindRequest(weak[0].uid, "default", weak[0].name, answer["NodeNames"][0])
    tracked = ask(lambda x: x.to_bind(request), durable=False)
    service.bind(tracked)
    assert stages[:2] == ["sync", "bound"]
    for pod in weak[1:]:
        ask(lambda x, pod=pod: x.filter(asked(pod)), durable=False)  # type: ignore[misc]
    ask(lambda x: x.preempt(PreemptRequest(read_pod(written(strong[0])), NAMES)), durable=True)
    assert stages[-1] == "sync", "victims are named after that"
    ask(lambda x: x.allocator.node_bad("c"), durable=False)
    assert "sync" not in stages
    service._delete_quietly(tracked.seen, "weak", "", ())
    assert stages[-2:] == ["sync", "deleted"]
    service.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=1000)
    arguments = parser.parse_args()
    seen = Counter[str]()
    for seed in range(arguments.histories):
        with tempfile.TemporaryDirectory() as folder:
            seen += run(Path(folder), seed)
    print(f"{arguments.histories} histories: {', '.join(f'{what}: {n}' for what, n in seen.items())}")


if __name__ == "__main__":
    main()
