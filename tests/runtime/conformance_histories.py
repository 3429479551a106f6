"""Random runs of the allocator, of any cluster, followed by the model: what the machines did, step by step.

Nothing is known beforehand of who comes, so the run is first written down, and then told to a system of the model that
has all gangs that there ever were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from conformance_cases import GangCase, Picture, Row, allowed, picture, rows, universe
from histories import History
from invariants import AnyAllocator

from fsmdsl.step import CrashStep, EventStep, Step, Universe, World, fire, initial
from generated.hived import AffinityGroupState, Followed
from runtime.cells import DeviceMachine
from runtime.gangs import GangMachine

FROM_OUTSIDE = ("schedule", "proceed", "pods_deleted", "call_off", "demote", "reinstate")


@dataclass(frozen=True, slots=True)
class Happened:
    """A step of the machines: an event from outside, and which transitions were followed."""

    life: int
    event: str
    choice: frozenset[int] = frozenset()
    """Cells, where the event chooses some."""
    rows: tuple[Row, ...] = ()
    """None where nobody listened."""


@dataclass(frozen=True, slots=True)
class Restarted:
    """The scheduler restarted; these lives were demoted when it took back what it found."""

    demoted: tuple[int, ...]


Entry: TypeAlias = "Happened | Restarted | Picture"
"""A picture comes after each thing that happened to the allocator."""


@dataclass(slots=True)
class Diary:
    """All that happened to an allocator."""

    cells: int
    entries: list[Entry] = field(default_factory=list)
    lives: list[GangMachine] = field(default_factory=list)
    """Each gang has as many as it has begun anew; a restart does not count."""
    gangs: list[GangCase] = field(default_factory=list)
    numbers: dict[GangMachine, int] = field(default_factory=dict)
    places: dict[DeviceMachine, int] = field(default_factory=dict)

    def begin(self, allocator: AnyAllocator) -> None:
        """With an allocator that has taken gangs over from another configuration, or has none."""
        self.attach(allocator)
        for gang in allocator.gangs.values():
            life = self.number(gang.machine)
            if gang.machine.demoted:
                self.entries.append(Happened(life, "demote"))
            if gang.state is not AffinityGroupState.PENDING:
                self.entries.append(Happened(life, "schedule", self._cells(gang.machine)))

    def attach(self, allocator: AnyAllocator) -> None:
        """Listens to the machines of an allocator."""
        devices = [d for forest in allocator.cluster.forests.values() for d in forest.devices()]
        self.places = {device.machine: number for number, device in enumerate(devices)}
        allocator.cluster.system.listen(self._listen)

    def number(self, machine: GangMachine) -> int:
        """Which life it is."""
        if machine not in self.numbers:
            self.numbers[machine] = len(self.lives)
            self.lives.append(machine)
            self.gangs.append(GangCase(machine.size, machine.priority))
        return self.numbers[machine]

    def _listen(self, followed: tuple[Followed, ...]) -> None:
        first = followed[0].machine
        assert isinstance(first, GangMachine), "whatever happens begins with a gang"
        assert followed[0].event in FROM_OUTSIDE
        life = self.number(first)
        choice = self._cells(first) if followed[0].event == "schedule" else frozenset()
        told = tuple((self._name(x), x.label, x.source.value, x.target.value) for x in followed)
        self.entries.append(Happened(life, followed[0].event, choice, told))

    def _cells(self, machine: GangMachine) -> frozenset[int]:
        return frozenset(self.places[x] for x in machine.cells if isinstance(x, DeviceMachine))

    def _name(self, followed: Followed) -> str:
        machine = followed.machine
        if isinstance(machine, GangMachine):
            return f"g{self.number(machine)}"
        return f"c{self.places[machine]}"  # type: ignore[index]

    def look(self, allocator: AnyAllocator) -> None:
        """Writes down what there is. Lives that are not there any more are over."""
        for gang in allocator.gangs.values():
            self.number(gang.machine)
        here = {gang.machine for gang in allocator.gangs.values()}
        gangs = tuple((x.state.value, x.demoted) if x in here else ("Deleted", False) for x in self.lives)
        cells = []
        for machine in self.places:
            user, waiting = machine.user, machine.reserver
            names = (f"g{self.numbers[x]}" if isinstance(x, GangMachine) else None for x in (user, waiting))
            cells.append((machine.state.value, *names, machine.device.priority))
        self.entries.append((gangs, tuple(cells)))  # type: ignore[arg-type]

    def restart(self, old: AnyAllocator, new: AnyAllocator, *, crashed: bool) -> None:
        """The gangs that the new allocator has found are those of the old one, and go on.

        One with a journal is as it was, which is no step of the model.
        """
        self.attach(new)
        demoted = []
        for name, gang in new.gangs.items():
            life = self.number(old.gangs[name].machine)
            self.numbers[gang.machine] = life
            self.lives[life] = gang.machine
            if gang.machine.demoted:
                demoted.append(life)
        if crashed:
            self.entries.append(Restarted(tuple(demoted)))


class FollowedHistory(History):
    """A random history with a diary for each configuration."""

    def __init__(self, seed: int, folder: Path | None = None) -> None:
        super().__init__(seed, folder)
        self.diaries: list[Diary] = []
        self._begin()

    def _begin(self) -> None:
        self.diaries.append(Diary(sum(1 for _ in self.devices)))
        self.diaries[-1].begin(self.allocator)
        self.diaries[-1].look(self.allocator)

    def step(self) -> None:
        """Something happens."""
        super().step()
        self.diaries[-1].look(self.allocator)

    def restart(self) -> None:
        """The scheduler crashes."""
        old = self.allocator
        super().restart()
        self.diaries[-1].restart(old, self.allocator, crashed=self.folder is None)

    def reconfigure(self) -> None:
        """It is started again with another configuration: other cells are another system of the model."""
        super().reconfigure()
        self._begin()


class Teller:
    """Tells a diary to the model."""

    def __init__(self, diary: Diary) -> None:
        self.diary = diary
        self.universe: Universe = universe(diary.gangs, diary.cells)
        self.first = len(diary.gangs)
        self.world: World = initial(self.universe)
        self.steps = 0
        self.labels: set[tuple[str, str]] = set()
        """Machines and labels of all transitions that were followed."""

    def tell(self) -> None:
        """Every step must be one that the model allows, and come to the same."""
        for entry in self.diary.entries:
            match entry:
                case Happened():
                    self._happened(entry)
                case Restarted(demoted):
                    self._fire(CrashStep())
                    for life in demoted:
                        self._fire(EventStep(life, "demote"))
                case _:
                    self._agree(entry)

    def _happened(self, entry: Happened) -> None:
        arguments: tuple[frozenset[int], ...] = ()
        if entry.event == "schedule":
            choice = frozenset(self.first + x for x in entry.choice)
            assert len(choice) == self.diary.gangs[entry.life].size
            assert allowed(self.universe, self.world, entry.life, choice), f"{entry} is not allowed"
            arguments = (choice,)
        followed = self._fire(EventStep(entry.life, entry.event, arguments))
        assert entry.rows in ((), tuple(followed))
        self.labels |= {("AffinityGroup" if who[0] == "g" else "Cell", label) for who, label, _, _ in followed}

    def _fire(self, step: Step) -> list[Row]:
        result = fire(self.universe, self.world, step)
        assert result.fault is None, f"{step}: {result.fault}"
        self.world = result.world
        self.steps += 1
        return rows(self.universe, result.cascade)

    def _agree(self, here: Picture) -> None:
        gangs, cells = here
        there, model_cells = picture(self.universe, self.world)
        lives = [x if x[0] != "Deleted" else ("Deleted", False) for x in there]
        yet_to_come = [("Pending", False)] * (len(lives) - len(gangs))
        assert [*gangs, *yet_to_come] == lives
        assert cells == model_cells


def followed(seed: int, steps: int, folder: Path | None = None) -> Iterator[Teller]:
    """The model's account of a random history, for each configuration that there was."""
    history = FollowedHistory(seed, folder)
    try:
        for _ in range(steps):
            history.step()
        history.end()
        history.diaries[-1].look(history.allocator)
        for diary in (x for x in history.diaries if x.gangs):
            teller = Teller(diary)
            teller.tell()
            yield teller
    except BaseException as error:
        error.add_note(f"FollowedHistory({seed})")
        raise
