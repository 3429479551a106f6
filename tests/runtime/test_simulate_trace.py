"""Traces: written, read back, and everything that is wrong in them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulating import TWO
from tiers import share

from runtime import Member, UserError
from runtime.config import read_configuration
from runtime.simulate.outages import Outage, make_outages, read_outages
from runtime.simulate.trace import COLUMNS, read_trace, write_trace
from runtime.simulate.workload import Request, WorkloadError, check

names = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)
members = st.lists(st.builds(Member, st.integers(1, 99), st.integers(1, 64)), min_size=1, max_size=3)
times = st.floats(0, 1e8, allow_nan=False).map(lambda x: round(x, 3))
requests = st.builds(
    Request,
    gang=names,
    tenant=names,
    submitted=times,
    duration=times.map(lambda x: x + 0.001),
    members=members.map(tuple),
    priority=st.integers(-1, 1000),
    leaf_type=st.one_of(st.just(""), names),
    pinned_cell=st.one_of(st.just(""), names),
    lazy_preemption=st.booleans(),
    failed=st.booleans(),
)


@given(st.lists(requests, min_size=1, max_size=8, unique_by=lambda r: r.gang))
@settings(max_examples=share(60), deadline=None)
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, made: list[Request]) -> None:
    path = tmp_path_factory.mktemp("trace") / "trace.csv"
    write_trace(path, made)
    read = read_trace(path)
    assert {r.gang: r.members for r in read} == {r.gang: r.members for r in made}
    for mine, theirs in zip(sorted(made, key=lambda r: r.gang), sorted(read, key=lambda r: r.gang), strict=True):
        assert theirs.submitted == pytest.approx(mine.submitted)
        assert (theirs.tenant, theirs.priority, theirs.failed) == (mine.tenant, mine.priority, mine.failed)
    assert [r.submitted for r in read] == sorted(r.submitted for r in read)


def test_a_gang_of_several_sizes_has_several_rows(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("gang,tenant,submitted,duration,pods,leaf_cells\nlate,A,9,5,1,1\nmix,A,0,60,2,4\nmix,A,0,60,1,1\n")
    first, last = read_trace(path)
    assert first.members == (Member(2, 4), Member(1, 1))
    assert first.sizes == (4, 4, 1)
    assert first.devices == 9
    assert last.gang == "late"
    assert last.priority == 0


def wrong(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(WorkloadError) as raised:
        read_trace(path)
    return [problem.replace(f"{path}", "trace.csv") for problem in raised.value.problems]


def test_everything_wrong_is_told_at_once_with_line_and_column(tmp_path: Path) -> None:
    head = "gang,tenant,submitted,duration,pods,leaf_cells,priority,failed\n"
    problems = wrong(
        tmp_path,
        head
        + "a,A,soon,60,1,1,0,no\n"
        + "b,A,0,0,1,1,0,no\n"
        + "c,,0,60,0,1.5,2000,maybe\n"
        + "d,A,0,60,1\n"
        + "e,A,0,60,1,1,0,no\n"
        + "f,A,0,60,1,1,0,no\n"
        + "f,B,0,70,1,2,0,no\n"
        + "e,A,0,60,1,1,0,no\n"
        + "g,A,-1,nan,1,1,0,no\n",
    )
    assert problems == [
        "trace.csv, line 2, column submitted: 'soon' is not a number of seconds",
        "trace.csv, line 3, column duration: '0' is not a positive number of seconds",
        "trace.csv, line 4, column tenant: is empty",
        "trace.csv, line 4, column pods: '0' is not a whole number from 1 to 100000",
        "trace.csv, line 4, column leaf_cells: '1.5' is not a whole number from 1 to 10000",
        "trace.csv, line 4, column priority: '2000' is not a whole number from -1 to 1000",
        "trace.csv, line 4, column failed: 'maybe' is neither yes nor no",
        "trace.csv, line 5: has 5 fields, but there are 8 columns",
        "trace.csv, line 8, column tenant: differs from the row above, which is of the same gang 'f'",
        "trace.csv, line 8, column duration: differs from the row above, which is of the same gang 'f'",
        "trace.csv, line 9, column gang: 'e' is already on line 6; its rows belong together",
        "trace.csv, line 10, column submitted: '-1' is not a number of seconds",
        "trace.csv, line 10, column duration: 'nan' is not a positive number of seconds",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", f"trace.csv, line 1: needs columns {', '.join(COLUMNS[:6])}; there is no {', '.join(COLUMNS[:6])}"),
        ("gang,tenant,submitted,duration,pods,leaf_cells\n", "trace.csv has no gangs"),
        (
            "gang,tenant,submitted,duration,pods,leaf_cells,prioritty\n",
            "trace.csv, line 1, column 7: there is no column 'prioritty'; did you mean 'priority'?",
        ),
        (
            "gang,tenant,submitted,duration,pods,leaf_cells,pods\n",
            "trace.csv, line 1, column 7: pods is listed twice",
        ),
    ],
)
def test_a_header_that_is_wrong(tmp_path: Path, text: str, problem: str) -> None:
    assert wrong(tmp_path, text) == [problem]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_trace(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"gang\xff\n")
    with pytest.raises(UserError, match="not UTF-8 text"):
        read_trace(tmp_path / "bytes.csv")


def test_a_workload_for_another_cluster_is_refused_with_each_cause_once() -> None:
    made = [
        Request("a", "AA", 0, 1, (Member(1, 1),)),
        Request("b", "AA", 0, 1, (Member(1, 1),)),
        Request("c", "A", 0, 1, (Member(1, 1),), leaf_type="GPPU"),
        Request("d", "A", 0, 1, (Member(1, 1),), pinned_cell="pin"),
    ]
    with pytest.raises(WorkloadError) as raised:
        check(made, read_configuration(TWO))
    assert raised.value.problems == (
        "2 gangs of virtual cluster 'AA', which is not configured; did you mean 'A'?",
        "1 gang of leaf cell type 'GPPU', which is not configured; did you mean 'GPU'?",
        "1 gang of pinned cell of A 'pin', which is not configured",
    )


def test_outages_are_read(tmp_path: Path) -> None:
    path = tmp_path / "outages.csv"
    path.write_text("node,down,up\nb,50,\na,10,20.5\n")
    assert read_outages(path, ["a", "b"]) == [Outage("a", 10, 20.5), Outage("b", 50, None)]
    path.write_text("node,down,up\nc,0,1\na,x,2\na,5,5\na,5\n")
    with pytest.raises(WorkloadError) as raised:
        read_outages(path, ["a", "b"])
    assert [problem.removeprefix(f"{path}, ") for problem in raised.value.problems] == [
        "line 2, column node: there is no node 'c'; there are a, b",
        "line 3, column down: 'x' is not a number of seconds",
        "line 4, column up: '5' is not a number of seconds after 5",
        "line 5: has 2 fields, but there are 3 columns",
    ]


def test_outages_that_are_made_up_come_as_often_as_wanted() -> None:
    nodes = [f"n{i}" for i in range(100)]
    made = make_outages("every=10d repair=6h", nodes, 100 * 86400, seed=3)
    assert 850 < len(made) < 1150
    mean = sum((o.up or 0) - o.down for o in made) / len(made)
    assert 5 * 3600 < mean < 7 * 3600
    assert made == make_outages("every=10d repair=6h", nodes, 100 * 86400, seed=3)
    for node in nodes:
        own = [o for o in made if o.node == node]
        assert all((a.up or 0) < b.down for a, b in pairwise(own))
    with pytest.raises(WorkloadError, match="no setting 'evry'; did you mean 'every'"):
        make_outages("evry=1d", nodes, 1, 1)
