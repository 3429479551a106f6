"""Public traces, in small excerpts of the same form."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from runtime import Member, UserError
from runtime.simulate.convert import alibaba, nodes, philly, prepared
from runtime.simulate.outages import read_outages
from runtime.simulate.result import read_run


def job(name: str, *attempts: dict[str, object], submitted: object = "2017-10-07 01:11:39", **more: object) -> object:
    return {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": f"application_{name}",
        "attempts": list(attempts),
        "submitted_time": submitted,
        "user": "ce2f4c",
        **more,
    }


def attempt(begin: object, end: object, *machines: int) -> dict[str, object]:
    detail = [{"ip": f"m{i}", "gpus": [f"gpu{g}" for g in range(n)]} for i, n in enumerate(machines)]
    return {"start_time": begin, "end_time": end, "detail": detail}


SHORT = attempt("2017-10-07 01:00:00", "2017-10-07 01:00:30", 1)


def test_philly(tmp_path: Path) -> None:
    jobs = [
        job(
            "1",
            attempt("2017-10-07 01:12:09", "2017-10-07 01:13:09", 8),
            attempt("2017-10-07 01:14:09", "2017-10-07 02:14:09", 8, 8, 2),
            attempt("2017-10-07 03:00:00", None, 8),
        ),
        job(
            "2",
            SHORT,
            submitted="2017-10-07 00:59:39",
            status="Failed",
        ),
        job("3"),
        job("4", attempt("2017-10-07 01:00:00", "None", 1)),
        job("5", attempt("2017-10-07 01:00:00", "2017-10-07 01:00:30")),
        job("6", SHORT, submitted=None),
    ]
    (tmp_path / "cluster_job_log").write_text(json.dumps(jobs))
    found = philly.read(tmp_path)
    assert found.skipped == {"no attempt with a begin and an end": 2, "no devices": 1, "no time of submission": 1}
    first, second = prepared(found.requests, [], 8, None)
    assert (first.gang, first.submitted, first.duration, first.failed) == ("application_2", 0, 30, True)
    assert first.members == (Member(1, 1),)
    assert (second.gang, second.tenant, second.submitted, second.duration) == ("application_1", "ee9e8c", 720, 3660)
    assert second.members == (Member(2, 8), Member(1, 2))
    assert not second.failed


def test_what_is_wrong_in_philly_is_told_by_job(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(json.dumps([job("1", submitted="yesterday"), 7, job("3", SHORT, vc="")]))
    with pytest.raises(UserError) as raised:
        philly.read(path)
    lines = str(raised.value).replace(str(path), "log").splitlines()
    assert lines == [
        "log, job 1: submitted_time is not a time like 2017-10-07 01:11:39: 'yesterday'",
        "log, job 2: must be an object",
        "log, job 3: vc must be a string, not ''",
    ]
    path.write_text("{}")
    with pytest.raises(UserError, match="must be a JSON array"):
        philly.read(path)


TASKS = """\
job-a,ps,2.0,Terminated,1000.0,4600.0,600.0,29.3,,MISC
job-a,worker,4.0,Terminated,1010.0,4600.0,600.0,29.3,200.0,V100
job-b,tensorflow,1.0,Failed,900.0,960.0,600.0,29.3,50.0,MISC
job-c,tensorflow,1.0,Running,1200.0,,600.0,29.3,100.0,T4
job-d,tensorflow,1.0,Terminated,1300.0,1400.0,600.0,29.3,0.0,CPU
"""
JOBS = """\
job_name,inst_id,user,status,start_time,end_time
job-a,i1,u1,Terminated,990.0,4600.0
job-b,i2,u2,Failed,890.0,960.0
"""


def test_alibaba_2020(tmp_path: Path) -> None:
    (tmp_path / "pai_task_table.csv").write_text(TASKS)
    (tmp_path / "pai_job_table.csv").write_text(JOBS)
    found = alibaba.read(tmp_path, "V100=V100")
    assert found.skipped == {"no begin or no end": 1, "no devices": 1}
    b, a = prepared(found.requests, [], 8, None)
    assert (a.gang, a.tenant, a.submitted, a.duration, a.leaf_type) == ("job-a", "u1", 100, 3590, "V100")
    assert a.members == (Member(4, 2),)
    assert (b.tenant, b.submitted, b.duration, b.failed, b.leaf_type) == ("u2", 0, 60, True, "")
    assert b.members == (Member(1, 1),)
    alone = alibaba.read(tmp_path / "pai_task_table.csv", "*").requests
    assert {r.leaf_type for r in alone} == {"V100", "MISC"}


PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-1,12000,16384,1,460,,LS,Running,100,400,110
pod-2,88000,327680,16,1000,V100M16|V100M32,BE,Failed,50,90,50
pod-3,8000,30517,0,0,,BE,Running,60,90,60
pod-4,8000,30517,1,470,,BE,Pending,70,80,
pod-5,8000,30517,2,1000,G2,Guaranteed,Succeeded,75,80,75
"""


def test_alibaba_2023(tmp_path: Path) -> None:
    path = tmp_path / "openb_pod_list_default.csv"
    path.write_text(PODS)
    found = alibaba.read(path, "G2=A100")
    assert found.skipped == {"no devices": 1, "no begin or no end": 1}
    two, five, one = prepared(found.requests, ["x", "y"], 8, None)
    assert (two.gang, two.priority, two.members, two.failed) == ("pod-2", -1, (Member(2, 8),), True)
    assert (five.gang, five.leaf_type, five.priority) == ("pod-5", "A100", 0)
    assert (one.gang, one.submitted, one.duration) == ("pod-1", 50, 290)
    assert {two.tenant, one.tenant} == {"x", "y"}, "those with the most work are apart"
    assert [r.gang for r in prepared(found.requests, [], 8, 1)] == ["pod-2"]


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (alibaba.read, b"a,b\xff\n", "is not UTF-8 text: byte 3"),
        (alibaba.read, b"a\n" + b"x" * 200_000 + b"\n", "cannot be read: field larger than field limit"),
        (partial(nodes.read, shares={"a": 1}), b"sn,gpu,model\n\xff\n", "is not UTF-8 text: byte 13"),
        (philly.read, b"[" * 200_000, "is not JSON: maximum recursion depth"),
        (philly.read, b"\xff", "is not UTF-8 text: byte 0"),
        (read_run, b"[" * 200_000, "is not JSON: maximum recursion depth"),
        (partial(read_outages, nodes=["n"]), b"node,down,up\nn,\xff,1\n", "is not UTF-8 text: byte 15"),
    ],
)
def test_files_that_cannot_be_read_are_refused(
    tmp_path: Path, read: Callable[[Path], object], content: bytes, message: str
) -> None:
    path = tmp_path / "input"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read(path)


def test_what_is_wrong_in_alibaba_is_told_by_line(tmp_path: Path) -> None:
    path = tmp_path / "openb_pod_list.csv"
    path.write_text(PODS.replace("pod-1,12000,16384,1,", "pod-1,12000,16384,one,").replace(",75\n", "\n"))
    with pytest.raises(UserError) as raised:
        alibaba.read(path)
    first, second = str(raised.value).replace(f"{path}, ", "").splitlines()
    assert first == "line 2, column num_gpu: 'one' is not a number"
    assert second.startswith("line 6: has 10 fields, but there are 11 columns: name,")
    path.write_text(PODS.splitlines()[0] + "\n")
    with pytest.raises(UserError, match="no jobs that can be used"):
        prepared(alibaba.read(path).requests, [], 8, None)
