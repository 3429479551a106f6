"""The allocator in random histories that HiveD has answered: both are asked the same, and do what the leader decided.

`python tests/runtime/beside_hived.py` runs all recorded histories, and counts in how many asks the two differ, and how;
`--only ID` runs one, `--show TEXT` prints the asks of some classes. A difference is classified in `sides.py`. Where the
states of the two differ because of it, what follows in the same history is not compared any more.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from differences import OURS, Difference, spread
from hived import HISTORIES, Record, bind_info, records
from invariants import check
from sides import HAS_VIRTUAL, PREEMPTOR, STATE, USER, Answer, Sides, key_of

from runtime import Allocator, Bind, BindInfo, Phase, Pod, Preempt, UserError
from runtime.annotations import read_spec
from runtime.answers import Demotion
from runtime.pods import OPPORTUNISTIC
from runtime.preemption.victims import owner


class EndedError(Exception):
    """The states of the two differ: nothing after it can be compared."""


class Histories:
    """The results of all that have run."""

    def __init__(self) -> None:
        self.histories = self.asks = self.alike = 0
        self.differences: Counter[Difference] = Counter()
        self.seen: Counter[str] = Counter()
        self.examples: dict[Difference, list[str]] = {}

    def run(self, recorded: Iterable[Record]) -> None:
        for record in recorded:
            self.histories += 1
            history = History(self, record)
            try:
                history.run()
                self.seen["whole histories"] += 1
            except EndedError:
                pass
            except BaseException as error:
                error.add_note(f"history {record['id']}, event {history.number}")
                raise


class History(Sides):
    """One cluster on both sides."""

    def __init__(self, results: Histories, record: Record) -> None:
        self.all, self.record = results, record
        self.hived_leads = record["lead"] == "hived"
        self.pods: dict[str, Pod] = {}
        self.bound, self.groups, self.cells, self.bad = {}, {}, {}, set()
        self.weights = {}
        self.number = 0
        self.configuration: Any = None
        self.intact = True
        """The configuration has never changed."""

    def run(self) -> None:
        acts = {"start": self._start, "ask": self._ask, "delete": self._delete, "node": self._node}
        for number, event in enumerate(self.record["events"]):
            self.number, self.event = number, event
            if event.get("panic") or event.get("double"):
                self._fails()
            acts[event["op"]]()
            check(self.allocator)
            self._compare()

    def _note(self, difference: Difference, text: str = "") -> None:
        self.all.differences[difference] += 1
        where = f"{self.record['id']} event {self.number}"
        self.all.examples.setdefault(difference, []).append(f"{where}: {text}"[:600])

    def _end(self, difference: Difference, text: str = "") -> EndedError:
        self._note(difference, text)
        return EndedError()

    def _fails(self) -> None:
        """HiveD has failed, or given a device twice: its state is worth nothing from here on."""
        if self.event.get("double"):
            assert self.doubled(bind_info(self.event["hived"]["info"])), "it has given a device twice"
        raise self._end(Difference.FAILS, str(self.event.get("panic", "")))

    # Events

    def _start(self) -> None:
        """Both know only what bound pods carry."""
        before = getattr(self, "allocator", None)
        demoted = before is not None and any(gang.demotion for gang in before.groups())
        self.intact = self.intact and (before is None or self.event["config"] == self.configuration)
        self.configuration = self.event["config"]
        self.allocator = Allocator.from_config(self.configuration, now=lambda: 1000.0)
        self.bad = set(self.event["bad"])
        self.all.seen["restarts"] += before is not None
        self.pods = {uid: pod for uid, pod in self.pods.items() if uid in self.event["bound"]}
        nodes = {name: name not in self.bad for name in self.allocator.cluster.nodes}
        recovered = self.allocator.recover([(self.pods[uid], self.bound[uid]) for uid in self.event["bound"]], nodes)
        changed = recovered.demoted or recovered.missing
        if recovered.refused or (self.intact and not demoted and changed):
            raise self._end(Difference.OURS_RECOVERY, str(recovered))

    def _node(self) -> None:
        good, name = self.event["healthy"], self.event["name"]
        (self.bad.discard if good else self.bad.add)(name)
        (self.allocator.node_healthy if good else self.allocator.node_bad)(name)

    def _delete(self) -> None:
        for uid in self.event["pods"]:
            self.bound.pop(uid, None)
            if (pod := self.pods.pop(uid, None)) is not None:
                self.allocator.delete(pod)

    def _ask(self) -> None:
        pod = self._pod(self.event["pod"])
        self.pods[pod.uid] = pod
        names = sorted(self.allocator.cluster.nodes)
        offered = names if self.event["offered"] == "all" else self.event["offered"]
        home = self.allocator.gangs.get(pod.spec.gang.name)
        was = home.state.value if home is not None else "Pending"
        self.weigh()
        ours = self._schedule(pod, offered)
        kind, theirs = _kind(ours), self.event["hived"]
        self.all.asks += 1
        if kind == theirs["kind"]:
            self.all.alike += 1
            self.all.seen[kind] += 1
            self._alike(pod, offered, ours, was)
        else:
            difference = self.answered(pod, offered, ours, was)
            self._note(difference, f"{kind}, HiveD {theirs['kind']}: {pod.uid}, {ours}")
            if self.event["phase"] == "Preempting" or difference is Difference.BEING_PREEMPTED or difference in OURS:
                raise EndedError
        lead: Any = self.event.get("lead", theirs)
        if lead["kind"] == "bind":
            self._take(pod, bind_info(lead["info"]))
        elif lead["kind"] == "refuse":
            self.pods.pop(pod.uid)
            self.allocator.delete(pod)

    def _pod(self, uid: str) -> Pod:
        name, _, number = uid.rpartition("-")
        gang = self.record["gangs"][name]
        text = json.dumps({**gang["spec"], "leafCellNumber": gang["sizes"][int(number)]})
        return Pod(uid, uid, read_spec(text, "d", uid), "d")

    def _schedule(self, pod: Pod, offered: list[str]) -> Answer | UserError:
        try:
            return self.allocator.schedule(pod, offered, Phase(self.event["phase"]))
        except UserError as error:
            return error

    def _alike(self, pod: Pod, offered: list[str], ours: Answer | UserError, was: str) -> None:
        """Answers of the same kind: whether ours is as good."""
        if isinstance(ours, Bind) and was == "Pending":
            if not self.sound(pod, offered, set()):
                raise self._end(Difference.OURS_UNSOUND, pod.uid)
            self._measure(pod, ours.info, bind_info(self.event["hived"]["info"]))
        elif isinstance(ours, Preempt):
            order, difference = self.victims(pod, offered, ours)
            if difference is not None:
                self._note(difference, f"{pod.uid}: {sorted(victim.uid for victim in ours.pods())}")
            self.all.seen[f"victims: {('less', 'as many', 'more')[order + 1]} devices"] += 1
            self._reserve(pod, order)

    def _reserve(self, pod: Pod, order: int) -> None:
        """In the preempting phase, both have reserved cells."""
        if self.event["phase"] != "Preempting":
            return
        self._update()
        ours, theirs = self.reserved(pod.spec.gang.name)
        if ours != theirs and order <= 0:
            raise self._end(Difference.MORE_DISPLACED if order < 0 else Difference.RESERVES, pod.uid)

    def _measure(self, pod: Pod, ours: BindInfo, theirs: BindInfo) -> None:
        """Where both place a gang: who has it closer."""
        if ours.chain != theirs.chain:
            self.all.seen["places: another chain"] += 1
            return
        mine, others = self.devices(ours), self.devices(theirs)
        if {x for own in mine for x in own} == {x for own in others for x in own}:
            self.all.seen["places: the same devices"] += 1
            return
        a, b = spread(mine), spread(others)
        self.all.seen[f"places: {'as close' if a == b else 'closer' if a < b else 'less close'}"] += 1
        if a > b and pod.spec.priority > OPPORTUNISTIC:
            self._note(Difference.OURS_FARTHER, f"{pod.uid}: {a}, HiveD {b}")

    def _take(self, pod: Pod, info: BindInfo) -> None:
        """Both take the place that the leader has decided. Who loses its guarantee for HiveD's place, loses it here."""
        if self.hived_leads:
            self._follow(self.event.get("groups", {}))
        gang = self.allocator.gangs[pod.spec.gang.name]
        for slot in (slot for same in gang.places.slots.values() for slot in same):
            if slot.place.node == info.node and set(slot.place.leaf_cells) == set(info.leaf_cells):
                info = gang.places.bind_info(slot)
        try:
            self.allocator.allocate(pod, info)
        except UserError as error:
            places = {(place.node, x) for same in info.gang for place in same for x in place.leaf_cells}
            same = places == {(device.host.name, device.index) for device in gang.virtual}
            raise self._end(Difference.DEALT if same else Difference.OURS_CANNOT_FOLLOW, str(error)) from error
        self.bound[pod.uid] = info

    def _follow(self, groups: Record) -> None:
        for name, group in sorted(groups.items()):
            gang = self.allocator.gangs.get(name)
            placed = gang is not None and gang.demotion is None and gang.state.value == "Allocated"
            if gang is not None and placed and group and group[PREEMPTOR]:
                gang.demote(Demotion(group[PREEMPTOR], 1000.0))
                self.allocator.core._changes += 1

    # States

    def _update(self) -> None:
        """HiveD's, after this event."""
        for mine, key in ((self.groups, "groups"), (self.cells, "cells")):
            for name, value in self.event.get(key, {}).items():
                if value is None:
                    mine.pop(name, None)
                else:
                    mine[name] = value

    def _compare(self) -> None:
        """Gangs, their states, who was demoted; and who uses which device."""
        self._update()
        mine = {gang.name: gang for gang in self.allocator.groups() if gang.state.value != "Pending"}
        names = self.groups.keys() | mine.keys()
        for name in sorted(names, key=lambda x: (self.groups.get(x, [0, None])[PREEMPTOR] is None, x)):
            self._compare_gang(name)
        devices = (device for forest in self.allocator.cluster.forests.values() for device in forest.devices())
        used = {key_of(device): gang.name for device in devices if (gang := owner(device)) is not None}
        theirs = {key: cell[USER] for key, cell in self.cells.items() if cell[USER]}
        self.all.seen["states compared"] += 1
        if used != theirs:
            raise self._end(Difference.OURS_CELLS, str(used.items() ^ theirs.items())[:300])

    def _compare_gang(self, name: str) -> None:
        theirs, gang = self.groups.get(name), self.allocator.gangs.get(name)
        runs = any(uid.rpartition("-")[0] == name for uid in self.bound)
        if gang is None or gang.state.value == "Pending":
            raise self._end(Difference.OURS_FORGETS if runs else Difference.LEAKS, name)
        if theirs is None:
            raise self._end(Difference.FORGETS if runs else Difference.OURS_KEEPS, name)
        demoted = theirs[PREEMPTOR] is not None or (gang.spec.priority > OPPORTUNISTIC and not theirs[HAS_VIRTUAL])
        if demoted and gang.demotion is None:
            difference = self.demoted_by_hived(name, gang)
            self._note(difference, f"{name} {theirs}")
            if difference is not Difference.DEMOTES or not self.hived_leads:
                raise EndedError
            self._follow({name: theirs})
        elif not demoted and gang.demotion is not None:
            raise self._end(self.demotion(gang), name)
        if theirs[STATE] != gang.state.value:
            stays = theirs[STATE] == "BeingPreempted" and gang.state.value == "Allocated" and not self.wanted(name)
            raise self._end(Difference.STAYS_PREEMPTED if stays else Difference.OURS_STATE, f"{name} {theirs}")


def _kind(answer: Answer | UserError) -> str:
    match answer:
        case UserError():
            return "refuse"
        case Bind():
            return "bind"
        case Preempt():
            return "preempt"
        case _:
            return "wait"


def table(results: Histories) -> str:
    """The differences by class, as the documents quote them."""
    differ = results.asks - results.alike
    lines = [
        f"{results.histories:,} histories with {results.asks:,} requests: {results.alike:,} answers are identical "
        f"({results.alike / results.asks:.2%}), {differ:,} differ.",
        "",
        "| difference | times |",
        "| --- | --- |",
    ]
    lines += [f"| {x.value} | {results.differences[x]} |" for x in Difference if results.differences[x]]
    return "\n".join(lines)


def report(results: Histories) -> str:
    """The same, with all that was counted."""
    counts = "\n".join(f"{count:8} {what}" for what, count in sorted(results.seen.items()))
    first = "\n".join(f"{x.value}\n    {results.examples[x][0]}" for x in OURS if x in results.examples)
    return f"{table(results)}\n\n{counts}\n{first}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="the id of a history")
    parser.add_argument("--show", help="a part of the name of a class")
    arguments = parser.parse_args()
    results, begun = Histories(), time.monotonic()
    results.run(x for x in records(HISTORIES) if arguments.only in (None, x["id"]))
    print(f"{time.monotonic() - begun:.0f} s")
    print(report(results))
    for difference, examples in results.examples.items():
        if arguments.show and arguments.show in difference.value:
            print(difference.value, *examples, sep="\n    ")


if __name__ == "__main__":
    main()
