"""The real allocator, made to do what a step of the model says, and seen as the model sees it."""

from __future__ import annotations

from collections.abc import Iterable

from conformance_cases import Case, Picture, Row

from generated.hived import AffinityGroupState, Followed
from runtime import Allocator, Answer, Bind, BindInfo, Phase, Pod, Preempt, Wait
from runtime.answers import Demotion
from runtime.cells import DeviceMachine
from runtime.gangs import GangMachine
from runtime.images import DeviceImage, GangImage, PodImage, SlotImage
from runtime.pods import PodPlacement
from runtime.rebuild import Written, rebuild
from runtime.recovery import Recovered

HAS_CELLS = ("Allocated", "BeingPreempted")


class Rig:
    """An allocator for the gangs of a case. Each call makes it do one thing, and checks what it answers.

    Unless every pod is to be bound, of gangs with an odd number only the first is; the others are known, and wait.
    """

    def __init__(self, case: Case, *, every: bool = False) -> None:
        self.case = case
        self.every = every
        self.bound: dict[str, BindInfo] = {}
        """By uid of the pod."""
        self.present: set[Pod] = set()
        self.begin(Allocator(case.configuration, now=lambda: 1000.0))
        for node in case.nodes:
            self.allocator.node_healthy(node)
        for pods in case.pods:
            for pod in pods:
                self.present.add(pod)
                self.allocator.submit(pod)

    def begin(self, allocator: Allocator) -> None:
        """With an allocator that is as it should be."""
        self.allocator = allocator
        self.followed: list[list[Row]] = []
        """The transitions of each step since this was emptied."""
        allocator.cluster.system.listen(self._listen)

    def _listen(self, followed: tuple[Followed, ...]) -> None:
        self.followed.append([(_name(x), x.label, x.source.value, x.target.value) for x in followed])

    # What can be done

    def pods(self, gang: int) -> list[Pod]:
        """Those that are there."""
        return [pod for pod in self.case.pods[gang] if pod in self.present]

    def pod_on(self, cell: int) -> Pod:
        """Who runs there."""
        found = (uid for uid, info in self.bound.items() if info.node == self.case.nodes[cell])
        uid = next(found)
        return next(pod for pod in self.present if pod.uid == uid)

    def ask(self, gang: int, offered: Iterable[int], phase: Phase = Phase.PREEMPTING) -> Answer:
        """The first pod of a gang asks for places on these nodes, each with one leaf cell."""
        return self.allocator.schedule(self.pods(gang)[0], [self.case.nodes[x] for x in offered], phase)

    def schedule(self, gang: int, offered: Iterable[int], victims: Iterable[str] = ()) -> None:
        """A gang gets the leaf cells that it needs of those that are offered, or begins to preempt these gangs."""
        answer = self.ask(gang, offered)
        names = set(victims)
        if names:
            assert isinstance(answer, Preempt), answer
            killed = {pod for pods in answer.victims.values() for pod in pods}
            assert {pod.spec.gang.name for pod in killed} == names
            assert {pod.uid for pod in killed} == {x for x in self.bound if x.partition("-")[0] in names}
        else:
            self.bind(gang, answer)

    def proceed(self, gang: int) -> None:
        """A preempting gang asks again, and its victims are gone."""
        self.bind(gang, self.ask(gang, self.cells_of(gang), Phase.FILTERING))

    def bind(self, gang: int, answer: Answer) -> None:
        """Its pods are bound, as far as they ever are."""
        assert isinstance(answer, Bind), answer
        first, *others = self.pods(gang)
        self._allocate(first, answer)
        for pod in others if self.every or gang % 2 == 0 else ():
            again = self.allocator.schedule(pod, ())
            assert isinstance(again, Bind), again
            self._allocate(pod, again)

    def _allocate(self, pod: Pod, answer: Bind) -> None:
        self.allocator.allocate(pod, answer.info)
        self.bound[pod.uid] = answer.info

    def refuse(self, gang: int, offered: Iterable[int]) -> None:
        """A gang finds no place on these nodes, and nothing happens."""
        answer = self.ask(gang, offered)
        assert isinstance(answer, Wait), answer
        assert self.followed == []

    def call_off(self, gang: int) -> None:
        """A preempting gang asks again, while a node that it has reserved is bad, and no other one is offered."""
        node = self.case.nodes[next(iter(self.cells_of(gang)))]
        self.allocator.node_bad(node)
        answer = self.ask(gang, ())
        assert isinstance(answer, Wait), answer
        self.allocator.node_healthy(node)

    def end(self, gang: int) -> None:
        """All its pods are gone: those first that have no place."""
        for pod in reversed(self.pods(gang)):
            self.delete(pod)

    def delete(self, pod: Pod) -> None:
        """A pod is gone."""
        self.present.discard(pod)
        self.bound.pop(pod.uid, None)
        self.allocator.delete(pod)

    def restart(self) -> Recovered:
        """The scheduler crashes, and another one takes back the pods that are there."""
        pods = [(pod, self.bound.get(pod.uid)) for same in self.case.pods for pod in same if pod in self.present]
        allocator = Allocator(self.case.configuration, now=lambda: 1000.0)
        recovered = allocator.recover(pods, dict.fromkeys(self.case.nodes, True))
        assert not recovered.missing
        assert not recovered.refused
        self.begin(allocator)
        return recovered

    # What there is

    def cells_of(self, gang: int) -> list[int]:
        """The leaf cells that it uses, or has reserved."""
        cells = self.allocator.gangs[f"g{gang}"].machine.cells
        return sorted(x.device.position for x in cells if isinstance(x, DeviceMachine))

    def picture(self) -> Picture:
        """As the model has it. A gang that nobody knows any more is deleted."""
        gangs = []
        for number in range(len(self.case.gangs)):
            gang = self.allocator.group(f"g{number}")
            if gang is None:
                gangs.append(("Deleted", False))
                continue
            demoted = self.allocator.gangs[gang.name].machine.demoted
            assert demoted == (gang.demotion is not None)
            gangs.append((gang.state.value, demoted))
        cells = tuple((x.state.value, x.owner, x.reserver, x.priority) for x in self.allocator.leaf_cells())
        return tuple(gangs), cells

    # From anywhere

    def become(self, seen: Picture) -> None:
        """As an allocator that finds this in its journal."""
        allocator = Allocator(self.case.configuration, now=lambda: 1000.0)
        written = written_as(self.case, seen)
        rebuild(allocator.core, written)
        self.present = {x.pod for x in written.pods.values()}
        self.bound = {pod.uid: info for pod, info in written.bound() if info is not None}
        self.begin(allocator)


def _name(followed: Followed) -> str:
    machine = followed.machine
    if isinstance(machine, GangMachine):
        return machine.gang.name
    assert isinstance(machine, DeviceMachine)
    return f"c{machine.device.position}"


def written_as(case: Case, seen: Picture) -> Written:
    """What a journal would hold. Virtual cells are given out in order: any choice would do."""
    gangs, cells = seen
    virtual = _virtual_cells(case, seen)
    chosen: dict[int, list[int]] = {number: [] for number in range(len(gangs))}
    for cell, (_, user, reserver, _) in enumerate(cells):
        for name in {user, reserver} - {None}:
            assert name is not None
            chosen[int(name[1:])].append(cell)
    images: dict[str, GangImage] = {}
    pods: dict[str, PodImage] = {}
    for number, (state, demoted) in enumerate(gangs):
        if state == "Deleted":
            continue
        of = case.pods[number]
        demotion = Demotion("", 1000.0) if demoted else None
        kind = "NODE" if case.gangs[number].priority >= 0 else ""
        tops = virtual if kind and not demoted else dict.fromkeys(chosen[number], -1)
        slots = tuple(_slot(case, cell, tops[cell], kind) for cell in chosen[number])
        by_size = {1: slots} if slots else {}
        chain = "NODE" if slots else ""
        images[f"g{number}"] = GangImage(of[0].spec, AffinityGroupState(state), chain, by_size, demotion)
        for place, pod in enumerate(of):
            seated = state in HAS_CELLS and (place == 0 or number % 2 == 0)
            pods[pod.uid] = PodImage(pod, place if seated else -1)
    return Written("", dict.fromkeys(case.nodes, True), images, pods)


def _virtual_cells(case: Case, seen: Picture) -> dict[int, int]:
    """For each leaf cell that counts for a virtual cluster: the number of the virtual cell there."""
    numbers = dict.fromkeys(case.quotas, 0)
    virtual: dict[int, int] = {}
    for cell, (_, user, reserver, priority) in enumerate(seen[1]):
        holder = reserver if reserver is not None else user
        if holder is not None and priority >= 0:
            tenant = case.gangs[int(holder[1:])].tenant
            virtual[cell] = numbers[tenant]
            numbers[tenant] += 1
    return virtual


def _slot(case: Case, cell: int, top: int, kind: str) -> SlotImage:
    place = PodPlacement(case.nodes[cell], (0,), (kind,))
    return SlotImage(place, (DeviceImage("NODE", cell, top, 0 if top >= 0 else -1),))
