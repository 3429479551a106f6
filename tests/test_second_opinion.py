"""Exports to other model checkers, and what those say beside us.

`UPDATE=1 pytest tests/test_second_opinion.py` rewrites the golden files. What runs SPIN needs it and a C compiler
(`apt install spin tcc`), and says that it was skipped where they are missing. Many more systems:
`python tests/campaign_second_opinion.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from campaign import model_of
from campaign_second_opinion import BUDGET, campaign, explored, known
from test_cli import DOOR, ROOT

from fsmdsl import model as m
from fsmdsl.export import promela as promela_module
from fsmdsl.export.promela import promela
from fsmdsl.export.refusals import REASONS, RefusedError
from fsmdsl.opinion import MissingError, SecondOpinion, compare
from fsmdsl.opinion.spin import Spin

GOLDEN = ROOT / "tests" / "golden" / "export"

LEASE = """\
module lease

enum Kind { spot | firm }

machine Node {
    durable holders: set<Job>
    initial state Up
    state Down
    event take(job: Job) from Job
    event give(job: Job) from Job
    event fail from environment
    event heal from environment
    take: Up on take(job) when size(holders) < 1 do add job to holders
    busy: Up on take(job) when size(holders) == 1 do job.refused(self)
    give: * on give(job) do remove job from holders
    fail: Up -> Down on fail do for j in holders { j.lost }
    heal: Down -> Up on heal
    ignore take in Down
}

machine Job {
    durable node: Node?
    left: 0..2 = 2
    kind: Kind = spot
    initial state Waiting
    state Running
    final state Done
    event start(n: Node) from environment
    event refused(n: Node) from Node
    event lost from Node
    event finish from environment
    start: Waiting -> Running on start(n) when left > 0 do { node = n; left = left - 1; n.take(self) }
    lost: Running -> Waiting on lost do node = none
    finish: Running -> Done on finish when node != none do node.give(self)
    ignore refused, lost in *
    invariant node != none or self not in Running
}

system Two {
    nodes: Node[2]
    jobs: Job[2]
    environment {
        some j in jobs, n in nodes: j.start(n)
        some j in jobs: j.finish
        nodes[0].fail
        nodes[0].heal
        crash when all j in jobs: j in Waiting
    }
    invariant apart: all n in nodes: size(n.holders) <= 1
    reachable done: all j in jobs: j in Done
    property ends: all j in jobs: j in Running ~> j not in Running
    property waits: eventually jobs[0] in Waiting
}
"""


@pytest.fixture(scope="module")
def spin() -> Spin:
    try:
        return Spin.installed(quick=True)
    except MissingError as error:
        pytest.skip(f"SPIN says nothing here: {error}")


def system_of(text: str) -> tuple[m.Model, m.System]:
    model = model_of(text)
    return model, next(iter(model.systems.values()))


def asked(tool: Spin, model: m.Model, system: m.System) -> SecondOpinion:
    x = explored(model, system, 2000)
    return compare(x, tool.opinion(model, system, x.states, BUDGET))


# The text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["door", "lease"])
def test_golden(name: str) -> None:
    """With few choices, as each is a line of its own."""
    text = promela(*system_of({"door": DOOR, "lease": LEASE}[name]), choices=8).text
    path = GOLDEN / f"{name}.pml"
    if os.environ.get("UPDATE"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text("utf-8")


def test_what_c_cannot_hold_is_refused_by_name() -> None:
    wide = DOOR.replace("initial state Open", "seen: set<0..99>\n    initial state Open")
    with pytest.raises(RefusedError) as error:
        promela(*system_of(wide))
    assert error.value.refusal.reason == "wide value"
    assert str(error.value).endswith(f"`set<0..99>` cannot be exported: {REASONS['wide value']}")


def test_too_many_instances_are_refused() -> None:
    with pytest.raises(RefusedError) as error:
        promela(*system_of(DOOR.replace("door: Door\n    reachable shut: door in Shut", "doors: Door[63]")))
    assert error.value.refusal.reason == "many instances"


# SPIN ----------------------------------------------------------------------------------------------------------------


def test_spin_confirms_each_verdict(spin: Spin) -> None:
    found = asked(spin, *system_of(LEASE))
    assert found.agreement == "confirmed"
    assert {r.what: r.ours for r in found.rows} == {
        "states": "404",
    }


@pytest.mark.parametrize("kind", ["systems", "specs", "crowds"])
def test_random_systems(spin: Spin, kind: str) -> None:
    """A few; each differs from the others in every way that there is."""
    total = campaign(kind, iter(range(20_000, 21_000)), spin, 12, None, 60)
    assert total.told == []
    assert total.rows["states confirmed"] >= 12


def test_a_campaign_goes_on_where_it_was_interrupted(spin: Spin, tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = campaign("systems", iter(range(7, 9)), spin, 1, log, 30)
    log.write_text(log.read_text("utf-8") + '{"seed": 8, "sys', encoding="utf-8")
    assert list(known(log)) == [7]
    again = campaign("systems", iter(range(7, 9)), spin, 1, log, 30)
    assert (again.systems, again.rows) == (first.systems, first.rows)


PLANTED: list[tuple[str, str, int]] = []


@pytest.mark.parametrize(("right", "wrong", "seed"), PLANTED)
def test_a_fault_of_the_exporter_is_found(
    spin: Spin, monkeypatch: pytest.MonkeyPatch, right: str, wrong: str, seed: int
) -> None:
    """The seed is one for which it makes a difference."""
    pieces = promela_module._pieces

    def broken(parts: tuple[str, ...]) -> list[str]:
        return pieces(tuple(x.replace(right, wrong) for x in parts))

    assert campaign("systems", iter([seed]), spin, 1, None, 200).told == []
    monkeypatch.setattr(promela_module, "_pieces", broken)
    assert campaign("systems", iter([seed]), spin, 1, None, 200).told != []
