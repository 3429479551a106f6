"""A recorded workload, made so fast that a cluster is loaded; and a cluster made from a list of nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from runtime import Allocator, Member
from runtime.config import read_configuration
from runtime.errors import UserError
from runtime.simulate.command import simulate
from runtime.simulate.convert.nodes import distributed, read, read_shares
from runtime.simulate.engine import Clock, Simulation
from runtime.simulate.figures import summary
from runtime.simulate.quotas import capacity, promised
from runtime.simulate.scheduler import PodByPod
from runtime.simulate.time_scaling import STEADY, compress_arrivals, starting_at, work
from runtime.simulate.trace import read_trace
from runtime.simulate.workload import Request

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
a-0,64000,262144,2,P100
a-1,64000,262144,2,P100
b-0,96000,786432,8,G2
a-2,64000,262144,2,P100
c-0,96000,786432,0,
"""


def gang(name: str, submitted: float, duration: float, devices: int = 1) -> Request:
    return Request(name, "A", submitted, duration, (Member(1, devices),))


def test_a_cluster_from_a_list_of_nodes(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(NODES)
    configuration = read_configuration(read(path, {"A": 2, "B": 1, "C": 0}))
    assert {name: len(forest.tops) for name, forest in configuration.forests.items()} == {"P100-2": 3, "G2-8": 1}
    assert capacity(configuration) == 14
    assert [promised(configuration, tenant) for tenant in "ABC"] == [12, 2, 0]


def test_what_is_wrong_in_a_list_of_nodes_is_reported_by_line(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(NODES.replace("2,P100", "two,P100", 1).replace("b-0,", ",").replace("a-2", "a-1"))
    with pytest.raises(UserError) as raised:
        read(path, {"A": 1})
    assert str(raised.value).replace(f"{path}, ", "").splitlines() == [
        "line 2: needs a name, a number of devices, and a model where there are any",
        "line 4: needs a name, a number of devices, and a model where there are any",
        "line 5: there are two nodes 'a-1'",
    ]
    path.write_text("sn,gpu\na,1\n")
    with pytest.raises(UserError, match="there is no model"):
        read(path, {"A": 1})
    path.write_text(NODES.splitlines()[0])
    with pytest.raises(UserError, match="no nodes with devices"):
        read(path, {"A": 1})
    with pytest.raises(UserError, match="cannot be read"):
        read(tmp_path / "missing.csv", {"A": 1})


@pytest.mark.parametrize("text", ["", "A", "A=x", "A=-1", "A=0", "=1", "A=nan"])
def test_shares_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="shares"):
        read_shares(text)


@given(st.integers(0, 1000), st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(any))
def test_whole_numbers_in_proportion(number: int, parts: list[int]) -> None:
    shares = {str(n): float(part) for n, part in enumerate(parts)}
    found = distributed(number, shares)
    assert sum(found.values()) == number
    assert all(abs(found[name] - number * share / sum(parts)) < 1 + 1e-9 for name, share in shares.items())


def test_what_came_before_is_there_from_then_on() -> None:
    found = starting_at([gang("over", 0, 50), gang("runs", 10, 100), gang("comes", 75, 5)], 60)
    assert found == [gang("runs", 0, 50), gang("comes", 15, 5)]


def test_gangs_that_still_run_are_there_at_the_beginning() -> None:
    """Work for 300 device-seconds on 4 devices at 75 %: a period of 100 s. What runs for 250 s and comes in the middle
    of each period has come 50 s, 150 s and 250 s ago."""
    found = compress_arrivals([gang("short", 0, 25), gang("long", 10, 250), gang("last", 20, 25)], 4, 0.75)
    assert found == [
        gang("long@1", 0, 200),
        gang("long@2", 0, 100),
        gang("last@1", 0, 25),
        gang("short", 0, 25),
        gang("long", 50, 250),
        gang("last", 100, 25),
    ]


@given(
    st.lists(
        st.builds(gang, st.just("g"), st.floats(0, 1e6), st.floats(1, 1e6), st.integers(1, 8)), min_size=2, max_size=20
    ).filter(lambda requests: max(request.submitted for request in requests) > 0),
    st.floats(0.05, STEADY),
)
def test_the_load_is_the_one_that_was_asked_for(requests: list[Request], load: float) -> None:
    """What runs in the period, of those that were there and of those that come, is a share `load` of all devices; where
    the load is more than a cluster can do, what is there at the beginning is not."""
    found = compress_arrivals(requests, 100, load)
    span = found[-1].submitted
    used = sum(r.devices * min(r.duration, span - r.submitted) for r in found)
    assert used == pytest.approx(load * 100 * span, rel=1e-6)
    assert span == pytest.approx(work(requests) / 100 / load)
    heavy, steady = compress_arrivals(requests, 100, 1.5), compress_arrivals(requests, 100, STEADY)
    assert heavy[: -len(requests)] == steady[: -len(requests)]


def test_a_workload_without_time_cannot_be_pressed() -> None:
    with pytest.raises(UserError, match="arrive at once"):
        compress_arrivals([gang("a", 0, 5), gang("b", 0, 5)], 4, 1.0)
    with pytest.raises(UserError, match="arrive at once"):
        compress_arrivals([], 4, 1.0)


def test_a_cluster_is_loaded_from_the_beginning_on(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(NODES)
    configuration = read_configuration(read(path, {"A": 1}))
    requests = compress_arrivals([gang(f"g{n}", n * 7.0, 5000 if n == 9 else 90) for n in range(40)], 14, 0.8)
    clock = Clock()
    simulation = Simulation(configuration, PodByPod(Allocator(configuration, clock)), clock, requests)
    simulation.run()
    assert summary(simulation)["submitting"]["utilisation"] == pytest.approx(0.8, abs=0.01)


def test_the_commands(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "trace.csv").write_text(
        "gang,tenant,submitted,duration,pods,leaf_cells\na,A,0,100,1,1\nb,A,100,100,1,2\nc,A,200,700,1,1\n"
    )
    nodes, config, trace, out = (str(tmp_path / name) for name in ("nodes.csv", "c.yaml", "trace.csv", "pressed.csv"))
    command = ["convert", "nodes", nodes, "--shares", "A=2 B=1", "--out", config]
    assert CliRunner().invoke(simulate, command).output == f"wrote 4 nodes to {config}\n"
    assert list(yaml.safe_load(Path(config).read_text())["virtualClusters"]) == ["A", "B"]
    command = ["press", trace, "--config", config, "--load", "0.5", "--since", "50s", "--out", out]
    expected = f"wrote 10 gangs to {out}: 8 at the beginning, the others in 2 min 16 s\n"
    assert CliRunner().invoke(simulate, command).output == expected
    assert [r.gang for r in read_trace(Path(out)) if r.submitted][-1] == "c"
