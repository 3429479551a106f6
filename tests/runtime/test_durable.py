"""An allocator with a journal, against the same one without a restart: what is rebuilt is what there was."""

from __future__ import annotations

from pathlib import Path

import pytest
from clusters import config, gang, nodes, preempt, run
from histories import History
from invariants import check, picture
from tiers import today

from generated.hived import AffinityGroupState
from runtime import Bind, Phase, Preempt, UserError
from runtime.cycle import Cycle
from runtime.durable import DurableAllocator
from runtime.journal import JournalError
from runtime.rebuild import read

TWO = config(nodes("a", "b"), A={"NODE": 2})


def opened(configuration: dict[str, object], path: Path) -> DurableAllocator:
    return DurableAllocator.open(configuration, path, now=lambda: 1000.0)


def fresh(configuration: dict[str, object], path: Path) -> DurableAllocator:
    """With all nodes healthy."""
    allocator = opened(configuration, path)
    for name in sorted({cell.node for cell in allocator.leaf_cells()}):
        allocator.node_healthy(name)
    return allocator


def everything(allocator: DurableAllocator) -> object:
    """All that there is, pods that only wait included."""
    gangs = allocator.gangs
    known = {name: (x.spec, sorted(x.waiting), {p.uid: p.spec for p in x.pods}, x.state) for name, x in gangs.items()}
    return picture(allocator), known, sorted(allocator.homes)


class DurableHistory(History):
    """A random history, in which the allocator is rebuilt after every few steps, and compared."""

    @property
    def durable(self) -> DurableAllocator:
        assert isinstance(self.allocator, DurableAllocator)
        return self.allocator

    def step(self) -> None:
        super().step()
        if self.random.random() < 0.3:
            before = everything(self.durable)
            written = read(self.durable.journal.images).nodes
            assert written == {name: name not in self.bad for name in self.names}
            self.durable._undo()
            check(self.allocator)
            assert everything(self.durable) == before

    def restart(self) -> None:
        """The process ends, and another one goes on."""
        before = everything(self.durable)
        after = self.reopen(self.durable)
        assert everything(after) == before
        assert after.opened.takeover is None
        self.seen["restarts"] += 1


@pytest.mark.parametrize("seed", today(range(60)))
def test_what_is_rebuilt_is_what_there_was(seed: int, tmp_path: Path) -> None:
    history = DurableHistory(seed, tmp_path)
    for _ in range(40):
        history.step()
    history.end()


def test_calls_of_a_cycle_last_together(tmp_path: Path) -> None:
    allocator = fresh(TWO, tmp_path / "j")
    with allocator.cycle():
        run(allocator, gang("g", "A", 2, 2))
        copy(tmp_path / "j", tmp_path / "before")
    copy(tmp_path / "j", tmp_path / "after")
    assert not list(opened(TWO, tmp_path / "before").pods())
    assert len(list(opened(TWO, tmp_path / "after").pods())) == 2


def copy(path: Path, to: Path) -> None:
    """As if the process had been killed now."""
    for suffix in ("", "-wal", "-last"):
        to.with_name(to.name + suffix).write_bytes(path.with_name(path.name + suffix).read_bytes())


def test_a_reservation_and_a_demotion_outlive_the_process(tmp_path: Path) -> None:
    allocator = fresh(TWO, tmp_path / "j")
    run(allocator, gang("weak", "A", 4, 4, priority=1))
    preempt(allocator, gang("strong", "A", 4, priority=9))
    allocator.close()
    again = opened(TWO, tmp_path / "j")
    assert {name: x.state.display for name, x in again.gangs.items()} == {
        "weak": "Being preempted",
        "strong": "Preempting",
    }
    again.close()
    lazy = fresh(config(nodes("a", "b"), A={"NODE": 1}), tmp_path / "k")
    run(lazy, gang("lazy", "A", 4, priority=1, lazy_preemption=True))
    run(lazy, gang("strong", "A", 4, priority=9))
    lazy.close()
    status = opened(config(nodes("a", "b"), A={"NODE": 1}), tmp_path / "k").group("lazy")
    assert status is not None
    assert status.demotion is not None
    assert (status.demotion.preemptor, status.demotion.time) == ("strong", 1000.0)


def test_a_changed_configuration_is_taken_over_and_nobody_is_killed(tmp_path: Path) -> None:
    allocator = fresh(TWO, tmp_path / "j")
    run(allocator, gang("weak", "A", 4, priority=1))
    run(allocator, gang("strong", "A", 4, priority=2))
    allocator.submit(gang("waits", "A", 4)[0])
    before = [(cell.node, cell.index, cell.owner) for cell in allocator.leaf_cells()]
    allocator.close()
    smaller = config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1})
    for _ in range(2):
        again = opened(smaller, tmp_path / "j")
        check(again)
        assert [(cell.node, cell.index, cell.owner) for cell in again.leaf_cells()] == before
        assert again.group("waits") is not None
        weak = again.group("weak")
        assert weak is not None
        assert weak.demotion is not None
        takeover = again.opened.takeover
        again.close()
        if takeover is None:
            break
        assert takeover.demoted == {"weak": "virtual cluster A has no NODE left"}
    assert takeover is None, "the second time, nothing has changed"


def test_a_configuration_that_says_the_same_in_other_lines_is_the_same(tmp_path: Path) -> None:
    text = "physicalCluster: {cellTypes: {N: {childCellType: G, childCellNumber: 2, isNodeLevel: true}}, "
    text += "physicalCells: [{cellType: N, cellAddress: a}]}\n"
    text += "virtualClusters: {A: {virtualCells: [{cellType: N, cellNumber: 1}]}}\n"
    (tmp_path / "one.yaml").write_text(text)
    (tmp_path / "two.yaml").write_text("# moved\n\n" + text + "webServerAddress: ':1'\n")
    allocator = DurableAllocator.open(tmp_path / "one.yaml", tmp_path / "j")
    allocator.node_healthy("a")
    preempting = gang("g", "A", 2)
    run(allocator, preempting)
    preempt(allocator, gang("h", "A", 2, priority=9))
    allocator.close()
    again = DurableAllocator.open(tmp_path / "two.yaml", tmp_path / "j")
    assert again.opened.takeover is None
    status = again.group("h")
    assert status is not None
    assert status.state is AffinityGroupState.PREEMPTING


def test_a_fault_of_the_allocator_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allocator = fresh(TWO, tmp_path / "j")
    run(allocator, gang("g", "A", 4))
    pod = gang("h", "A", 4)[0]
    answer = allocator.schedule(pod)
    assert isinstance(answer, Bind)
    before = everything(allocator)
    take = Cycle.take

    def fail(self: Cycle, *arguments: object) -> None:
        take(self, *arguments)  # type: ignore[arg-type]
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(Cycle, "take", fail)
        with pytest.raises(ZeroDivisionError):
            allocator.allocate(pod, answer.info)
    assert everything(allocator) == before
    check(allocator)
    allocator.allocate(pod, answer.info)
    allocator.close()
    assert opened(TWO, tmp_path / "j").group("h") is not None


def test_what_a_user_may_not_do_changes_nothing(tmp_path: Path) -> None:
    allocator = fresh(TWO, tmp_path / "j")
    before, number = everything(allocator), allocator.journal.number
    with pytest.raises(UserError, match="no virtual cluster"):
        allocator.schedule(gang("g", "nobody", 4)[0])
    assert everything(allocator) == before
    assert allocator.journal.number == number


def test_when_the_journal_cannot_be_written_nothing_is_answered(tmp_path: Path) -> None:
    allocator = fresh(TWO, tmp_path / "j")
    run = allocator.journal._store.connection.execute
    (pages,) = run("PRAGMA page_count").fetchone()
    run(f"PRAGMA max_page_count = {pages}")
    pods = [gang(f"{number}" * 100, "A", 4)[0] for number in range(100)]
    with pytest.raises(JournalError):
        list(map(allocator.submit, pods))
    with pytest.raises(JournalError):
        allocator.schedule(gang("g", "A", 4)[0], phase=Phase.PREEMPTING)


def test_a_new_journal_recovers_from_what_bound_pods_carry(tmp_path: Path) -> None:
    allocator = fresh(TWO, tmp_path / "j")
    pods = gang("g", "A", 4, 2)
    bound = [(pod, answer.info) for pod, answer in zip(pods, run(allocator, pods), strict=True)]
    again = opened(TWO, tmp_path / "new")
    result = again.recover([*bound, (gang("waits", "A", 1)[0], None)], {"a": True, "b": True, "gone": True})
    assert not result.demoted
    before = everything(again)
    with pytest.raises(UserError, match="knows no pods"):
        again.recover(bound, {})
    again.close()
    assert everything(opened(TWO, tmp_path / "new")) == before


def test_asking_again_writes_nothing(tmp_path: Path) -> None:
    allocator = fresh(TWO, tmp_path / "j")
    run(allocator, gang("g", "A", 4, 4))
    pod = gang("h", "A", 4)[0]
    assert isinstance(allocator.schedule(pod), object)
    number = allocator.journal.number
    assert not isinstance(allocator.schedule(pod), Bind | Preempt)
    assert allocator.journal.number == number


def test_names_may_have_any_characters(tmp_path: Path) -> None:
    allocator = fresh(TWO, tmp_path / "j")
    run(allocator, gang("\n\t\0\ud800/ü", "A", 4))
    before = everything(allocator)
    allocator.close()
    assert everything(opened(TWO, tmp_path / "j")) == before
