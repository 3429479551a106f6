"""Random histories of the allocator beside HiveD itself: both are asked the same, and both do what the leader decides.

`python tests/runtime/beside_hived.py --histories 10000` runs as many and counts, in how many asks the two differ, and
how; `--seed 7 --histories 1` runs one again. A difference is classified here, in code. What follows it in the
same history is not compared any more where the states of the two differ from there on.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from random import Random
from typing import Any

from clusters import gang, healthy
from differences import Difference
from hived import HiveD, PanicError, RefusedError, bind_info, to_hived, victims
from invariants import check
from shapes import changed, complete, shape
from sides import Sides, nodes_of

from runtime import Allocator, Answer, Bind, BindInfo, Phase, Pod, Preempt, UserError, Wait
from runtime.pods import OPPORTUNISTIC


class EndedError(Exception):
    """The states of the two differ: nothing after it can be compared."""


class Histories:
    """One after the other, with one process of HiveD."""

    def __init__(self, hived: HiveD) -> None:
        self.hived = hived
        self.asks = 0
        self.found: Counter[Difference] = Counter()
        self.seen: Counter[str] = Counter()
        self.first: dict[Difference, int] = {}
        """The seed of the first history that has a difference."""

    def run(self, seed: int, steps: int) -> None:
        try:
            history = History(self, seed)
            for _ in range(steps):
                history.step()
        except EndedError:
            pass
        except PanicError:
            self.note(Difference.PANIC, seed)
        except BaseException as error:
            error.add_note(f"history {seed}, of {steps} steps")
            raise

    def note(self, difference: Difference, seed: int) -> None:
        self.found[difference] += 1
        self.first.setdefault(difference, seed)


class History(Sides):
    """One cluster on both sides."""

    def __init__(self, histories: Histories, seed: int) -> None:
        self.all, self.hived, self.seed = histories, histories.hived, seed
        self.random = Random(seed)
        self.ours_lead = bool(seed % 2)
        self.configuration = complete(shape(self.random))
        self.allocator = healthy(self.configuration)
        self.bad: set[str] = set()
        self.gangs: dict[str, list[Pod]] = {}
        self.bound: dict[Pod, BindInfo] = {}
        self.made = 0
        self.hived.ask("seed", seed=seed)
        self.hived.begin(self.configuration, self.names)

    @property
    def names(self) -> list[str]:
        return sorted(self.allocator.cluster.nodes)

    def step(self) -> None:
        """Something happens on both sides; what must hold of ours is checked."""
        acts = (self.come, self.retry, self.go, self.kill, self.flip, self.restart, self.reconfigure)
        self.random.choices(acts, (32, 24, 16, 6, 8, 2, 1))[0]()
        check(self.allocator)
        places = [(info.node, index) for info in self.bound.values() for index in info.leaf_cells]
        assert len(set(places)) == len(places), "no device is held twice"
        self.compare()

    def end(self, difference: Difference) -> EndedError:
        self.all.note(difference, self.seed)
        return EndedError()

    def compare(self) -> None:
        """Gangs, their states, and who was demoted.

        Where each side has demoted another gang, HiveD's counts: it may not even be lazy.
        """
        groups = {x["metadata"]["name"]: x["status"] for x in self.hived.groups()}
        mine = {x.name: x for x in self.allocator.groups() if x.state.value != "Pending"}
        for name in sorted(
            groups.keys() | mine.keys(), key=lambda x: ("lazyPreemptionStatus" not in groups.get(x, {}), x)
        ):
            theirs, gang = groups.get(name), mine.get(name)
            if gang is None:
                runs = any(pod in self.bound for pod in self.gangs.get(name, ()))
                raise self.end(Difference.OURS_FORGETS if runs else Difference.LEAKS)
            if theirs is None:
                raise self.end(Difference.TAKES_BACK)
            demoted = "lazyPreemptionStatus" in theirs
            if demoted != (gang.demotion is not None):
                raise self.end(Difference.DEMOTES if demoted else self.demotion(self.allocator.gangs[name]))
            if theirs["state"] != gang.state.value:
                raise self.end(Difference.STAYS_PREEMPTED)

    # What happens

    def come(self) -> None:
        """A gang of any kind, of one type of leaf cell that its virtual cluster has."""
        choose = self.random.choice
        tenants = self.allocator.cluster.tenants
        tenant = tenants[choose(sorted(tenants))]
        priority = choose((-1, -1, 1, 1, 5, 9))
        kinds = sorted({view.chain.leaf_type for view in tenant.views.values() if view.tops})
        if priority == OPPORTUNISTIC:
            kinds = sorted({forest.chain.leaf_type for forest in self.allocator.cluster.forests.values()})
        pinned = choose(sorted(tenant.pinned)) if tenant.pinned and priority >= 0 and choose((0, 0, 1)) else ""
        if not (kinds or pinned):
            return
        self.made += 1
        sizes = [choose((1, 1, 2, 2, 3, 4)) for _ in range(choose((1, 1, 1, 2, 3, 4)))]
        name = f"g{self.made}"
        self.gangs[name] = gang(
            name,
            tenant.name,
            *sizes,
            priority=priority,
            pinned_cell=pinned,
            leaf_type="" if pinned else choose(kinds),
            lazy_preemption=choose((False, False, True)),
            ignore_suggested=choose((True, True, False)),
        )
        self.place(self.gangs[name])

    def retry(self) -> None:
        """A gang whose pods have no places, or not all, asks again."""
        waiting = [pods for pods in self.gangs.values() if any(pod not in self.bound for pod in pods)]
        if waiting:
            self.place([pod for pod in self.random.choice(waiting) if pod not in self.bound])

    def place(self, pods: list[Pod]) -> None:
        """The pods of a gang ask, one after the other, as long as they are placed."""
        offered = [name for name in self.names if self.random.random() < 0.8]
        for pod in pods:
            if not self.ask(pod, offered) or self.random.random() < 0.1:
                return

    def ask(self, pod: Pod, offered: list[str]) -> bool:
        """Whether the pod was placed."""
        self.all.asks += 1
        kind, ours = self._ours(pod, offered)
        theirs = self._theirs(pod, offered)
        if kind != theirs.get("kind"):
            self._differ(pod, offered, kind, ours, theirs)
        self.all.seen[f"{kind}"] += kind == theirs["kind"]
        lead = kind if self.ours_lead else theirs["kind"]
        if lead == "bind":
            self._bind(pod, ours, theirs)
            return True
        if lead == "preempt":
            self._kill(pod, offered, ours, theirs)
        return False

    def _ours(self, pod: Pod, offered: list[str]) -> tuple[str, Answer | None]:
        try:
            answer = self.allocator.schedule(pod, offered, Phase.FILTERING)
        except UserError:
            return "refuse", None
        return {Bind: "bind", Preempt: "preempt", Wait: "wait"}[type(answer)], answer

    def _theirs(self, pod: Pod, offered: list[str]) -> dict[str, Any]:
        try:
            answer = self.hived.schedule(pod, "Filtering", offered)
        except RefusedError:
            return {"kind": "refuse"}
        return {**answer, "kind": next(x for x in ("bind", "preempt", "wait") if x in answer)}

    def _differ(self, pod: Pod, offered: list[str], kind: str, ours: Answer | None, theirs: dict[str, Any]) -> None:
        """Classifies an ask that was answered in different ways; the leader's answer counts."""
        home = self.allocator.homes.get(pod.uid)
        if home is not None and home.state.value == "BeingPreempted":
            raise self.end(Difference.BEING_PREEMPTED)
        worse = kind != "bind" and theirs["kind"] != "wait"
        if worse and self.frees():
            raise self.end(Difference.FREES)
        if worse and theirs["kind"] == "bind" and self.bad & nodes_of(bind_info(theirs["bind"])):
            raise self.end(Difference.ON_BAD)
        match kind, theirs["kind"]:
            case "refuse", _:
                raise self.end(Difference.REFUSES)
            case _, "refuse":
                raise self.end(Difference.HIVED_REFUSES)
            case "bind", "wait":
                found = Difference.NO_PLACE
            case "bind", "preempt":
                found = Difference.DISPLACES
            case "preempt", "wait":
                found = Difference.NO_VICTIMS
            case "preempt", _:
                assert isinstance(ours, Preempt)
                gangs = {self.allocator.homes[victim.uid] for victim in ours.pods()}
                weak = all(x.priority == OPPORTUNISTIC for x in gangs)
                found = Difference.OURS_DISPLACES if weak else Difference.OURS_KILLS
                if weak and self.demoted_for(pod):
                    found = Difference.LENDS
                elif weak:
                    found = self.better(pod, offered, theirs) or found
            case _, "bind" if self._breaks(pod, theirs):
                raise self.end(Difference.BREAKS)
            case _:
                found = Difference.OURS_WAITS
        self.all.note(found, self.seed)

    def _breaks(self, pod: Pod, theirs: dict[str, Any]) -> bool:
        """Whether HiveD fails when its own decision is carried out."""
        try:
            self.hived.add(pod, to_hived(bind_info(theirs["bind"])))
        except PanicError:
            return True
        self.hived.delete(pod)
        return False

    def _bind(self, pod: Pod, ours: Answer | None, theirs: dict[str, Any]) -> None:
        """Both take the place that the leader has decided."""
        if self.ours_lead:
            assert isinstance(ours, Bind)
            info = ours.info
        else:
            info = bind_info(theirs["bind"])
        try:
            self.allocator.allocate(pod, info)
        except UserError:
            raise self.end(Difference.CANNOT_FOLLOW) from None
        self.hived.add(pod, to_hived(info))
        self.bound[pod] = info

    def _kill(self, pod: Pod, offered: list[str], ours: Answer | None, theirs: dict[str, Any]) -> None:
        """The victims that the leader names are gone."""
        mine = {pod.uid for pod in ours.pods()} if isinstance(ours, Preempt) else set()
        named = victims(theirs)
        if mine and named:
            self.all.seen["other victims"] += mine != named
            if self.devices(mine) > self.devices(named):
                raise self.end(self._more(pod, offered, mine, named))
        for uid in sorted(mine if self.ours_lead else named):
            self.forget(self._bound_pod(uid))

    def _more(self, pod: Pod, offered: list[str], mine: set[str], named: set[str]) -> Difference:
        """Why HiveD's victims weigh less than ours: they may not be all. HiveD goes on without them."""
        gone: set[str] = set()
        theirs: dict[str, Any] = {}
        while named:
            for uid in sorted(named):
                self.hived.delete(self._bound_pod(uid))
            gone |= named
            theirs = self._theirs(pod, offered)
            named = victims(theirs) - gone
        if theirs["kind"] != "bind" or self.devices(gone) >= self.devices(mine):
            return Difference.IN_TURNS
        if self.strongest(mine) < self.strongest(gone):
            return Difference.WEAKER
        return self.better(pod, offered, theirs, (mine, gone)) or Difference.MORE_VICTIMS

    def _bound_pod(self, uid: str) -> Pod:
        return next(pod for pod in self.bound if pod.uid == uid)

    def go(self) -> None:
        if self.gangs:
            for pod in list(self.gangs[self.random.choice(sorted(self.gangs))]):
                self.forget(pod)

    def kill(self) -> None:
        if self.gangs:
            self.forget(self.random.choice(self.gangs[self.random.choice(sorted(self.gangs))]))

    def forget(self, pod: Pod) -> None:
        """A pod is gone."""
        self.allocator.delete(pod)
        self.hived.delete(pod)
        self.bound.pop(pod, None)
        pods = self.gangs[pod.spec.gang.name]
        pods.remove(pod)
        if not pods:
            del self.gangs[pod.spec.gang.name]

    def flip(self) -> None:
        """A node turns bad, or good."""
        name = self.random.choice(self.names)
        good = name in self.bad
        if not good and len(self.bad) >= len(self.names) - 1:
            return
        self.bad ^= {name}
        self.hived.ask("node", name=name, healthy=good)
        report = self.allocator.node_healthy if good else self.allocator.node_bad
        report(name)

    def restart(self) -> None:
        """Both know only what bound pods carry."""
        self.all.seen["restarts"] += 1
        known = list(self.bound.items())
        before = {gang.name: gang.demotion for gang in self.allocator.groups()}
        self.allocator = Allocator.from_config(self.configuration)
        self.bad &= set(self.names)
        found = self.allocator.recover(known, {name: name not in self.bad for name in self.names})
        assert not (found.refused and known and not before), "whoever was placed is taken back"
        self.hived.begin(self.configuration, self.names)
        for name in self.bad:
            self.hived.ask("node", name=name, healthy=False)
        for pod, info in known:
            self.hived.add(pod, to_hived(info))

    def reconfigure(self) -> None:
        """The same with another configuration."""
        self.all.seen["reconfigured"] += 1
        self.configuration = complete(changed(self.random, self.configuration))
        self.restart()


def report(histories: Histories) -> str:
    """Counts and rates."""
    lines = [f"{histories.asks} asks; answered alike: {dict(histories.seen)}"]
    for difference in Difference:
        count = histories.found[difference]
        if count:
            rate = f"{count / histories.asks:.4%} of the asks, first in history {histories.first[difference]}"
            lines.append(f"{count:6}  {difference.value} ({rate})")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first one; HiveD leads in even ones")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--every", type=int, default=1_000, help="histories after which the counts so far are printed")
    arguments = parser.parse_args()
    hived = HiveD()
    histories, begun = Histories(hived), time.monotonic()
    for number in range(1, arguments.histories + 1):
        histories.run(arguments.seed + number - 1, arguments.steps)
        if number % arguments.every == 0 or number == arguments.histories:
            print(f"{number} histories of {arguments.steps} steps in {time.monotonic() - begun:.0f} s")
            print(report(histories), flush=True)
    hived.close()


if __name__ == "__main__":
    main()
