"""What is sent to the allocator: whatever it is, it has an answer, that is never 500, and nobody writes its log."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import logging
import re
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from clusters import config, gang, nodes
from hypothesis import strategies as st
from serving import node
from serving import written as pod_written

from fuzz.asking import ask, read
from fuzz.bodies import constant, objects, value, written
from fuzz.target import Target
from runtime.annotations import BIND_INFO, ENABLE, SPEC
from runtime.config import read_configuration
from runtime.journal import Journal
from runtime.service import logs
from runtime.service.objects import NodeObject
from runtime.service.service import Service
from runtime.service.source import Change, MemorySource
from runtime.service.web import Web

CONFIGURATION = config(nodes("a", "b"), A={"NODE": 2})
HEADERS = (("host", "127.0.0.1:80"),)
LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (DEBUG|INFO|WARNING|ERROR|CRITICAL) .*|    .*|)\Z")


def _check(asked: list[dict[str, str]]) -> None:
    folder, told = Path(mkdtemp(prefix="fuzz-service-")), io.StringIO()
    handler = logs.handler(told)
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.INFO)
    try:
        asyncio.run(_serve(folder, asked))
    finally:
        logging.getLogger().removeHandler(handler)
        gc.unfreeze()  # a service freezes once what it will keep
        shutil.rmtree(folder)
    text = told.getvalue()
    assert "Traceback" not in text, text
    lines = text.split("\n")
    assert all(LINE.match(x) for x in lines), text
    assert text.splitlines() == lines[:-1], text
    assert not any("forged" in x and x.startswith(("INFO", "2")) and " INFO forged" in x[:40] for x in lines), text


async def _serve(folder: Path, asked: list[dict[str, str]]) -> None:
    (folder / "config.yaml").write_text(json.dumps(CONFIGURATION))
    source = MemorySource()
    source.tell(Change(NodeObject(name, healthy=True), deleted=False) for name in "ab")
    service = Service(read_configuration(folder / "config.yaml"), lambda: Journal(folder / "journal"), source)
    app = Web(service, 1 << 20).app()
    service.start()
    try:
        for _ in range(3000):
            if service.ready()[0]:
                break
            await asyncio.sleep(0.002)
        for x in asked:
            await _ask(app, x)
        status, answer = await ask(app, "/v1/inspect/clusterstatus", "", HEADERS, "GET")
        assert status == 200, answer
        status, answer = await ask(app, "/metrics", "", HEADERS, "GET")
        assert status == 200, answer
        assert service.failure is None, repr(service.failure)
    finally:
        await asyncio.to_thread(service.stop)


async def _ask(app: Any, x: dict[str, str]) -> None:
    status, answer = await ask(app, x["path"], x["body"], HEADERS, x.get("method", "POST"))
    assert status < 500, (x["path"], status, answer[:2000])
    told = read(answer) if not x["path"].endswith("z") and x["path"] != "/metrics" else None
    assert b"platform error" not in answer, answer[:2000]
    if status == 200 and x["path"].endswith(("filter", "bind")):
        assert isinstance(told["Error"], str)


FORGED = "\n2026-01-01 00:00:00,000 INFO forged"

_SPECS = (
    '{"virtualCluster": "A", "leafCellNumber": 4}',
    '{"virtualCluster": "A", "leafCellNumber": 2, "priority": -1}',
    json.dumps({
        "virtualCluster": "A", "leafCellNumber": 1,
        "affinityGroup": {"name": "g" + FORGED, "members": [{"podNumber": 2, "leafCellNumber": 1}]},
    }),
    json.dumps({"virtualCluster": "A" + FORGED, "leafCellNumber": 1}),
    "", "{", "[]", "a: &a [*a, *a]", "[" * 2000, "? {}\n: 1", "!!python/object:os.system x", "- \x85\u2028",
    "a: &a [1,1,1,1]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]",
    '{"virtualCluster": "\\ud800"}', "virtualCluster: A\nleafCellNumber: 1e400",
    "virtualCluster: A\nleafCellNumber: .nan", '{"virtualCluster": "A", "leafCellNumber": 2147483648}',
)  # fmt: skip

_uid = constant("u0", "u1", "u2", "runs-0", "u" + FORGED, "\ud800", "", "u\u2028forged", "u\rforged")
_infos = st.sampled_from((*_SPECS, "node: a\nleafCellIsolation: [0]"))
_annotations = st.builds(
    lambda spec, info: json.dumps({SPEC: spec, **({} if info is None else {BIND_INFO: info})}),
    st.sampled_from(_SPECS),
    st.one_of(st.none(), st.none(), _infos),
)
_metadata = objects(
    {"uid": _uid, "name": _uid, "namespace": constant("default", "n" + FORGED, ""), "annotations": _annotations}
)


def _container(count: Any) -> dict[str, Any]:
    return {"resources": {"limits": {ENABLE: count}}}


_spec = objects({
    "nodeName": constant("a", "b", "", "c" + FORGED),
    "containers": constant([_container(1)], [], [_container("9" * 5000)]),
})  # fmt: skip
_status = objects({"phase": constant("Running", "Failed")})
_pod = st.one_of(
    st.sampled_from([json.dumps(pod_written(x)) for x in gang("runs", "A", 4)]),
    objects({"kind": constant("Pod"), "metadata": _metadata, "spec": _spec, "status": _status}),
)
_node = st.one_of(
    constant(node("a"), node("b", ready=False), node("c" + FORGED), node("a", unschedulable=True)),
    objects({"kind": constant("Node"), "metadata": objects({"name": _uid}), "status": value, "spec": value}),
)
_kind = constant("ADDED", "ADDED", "MODIFIED", "DELETED")
_event = st.one_of(
    st.builds(lambda kind, x: written({"type": kind, "object": x}), _kind, _pod),
    st.builds(lambda kind, x: written({"type": kind, "object": x}), _kind, _node),
    objects({"type": constant("ADDED"), "object": value}),
)
_names = constant(["a", "b"], ["a"], [], ["c"], ["a" + FORGED, "\ud800"])
_victims = st.one_of(_names, constant({"a": {}, "b": {}}))
_key = {
    "PodUID": _uid, "PodName": _uid, "PodNamespace": constant("default", "x" + FORGED),
    "Node": constant("a", "b", "c" + FORGED),
}  # fmt: skip
_INSPECT = "/v1/inspect/"
_LOOKS = (
    "/", "/metrics", "/healthz", "/readyz", *(f"{_INSPECT}{x}" for x in (
        "affinitygroups/", "affinitygroups/g" + FORGED, "affinitygroups/\U0001f512", "clusterstatus",
        "clusterstatus/virtualclusters/A", "clusterstatus/virtualclusters/x\ny", "lives/", "lives/g",
    )),
)  # fmt: skip


def _post(path: str, bodies: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, str]]:
    return bodies.map(lambda body: {"path": path, "body": body})


_filter = _post("/v1/extender/filter", objects({"Pod": _pod, "NodeNames": _names}))
_request = st.one_of(
    _post("/v1/simulation/events", st.lists(_event, max_size=3).map("\n".join)),
    _filter,
    _filter,
    _post("/v1/extender/preempt", objects({"Pod": _pod, "NodeNameToMetaVictims": _victims})),
    _post("/v1/extender/bind", objects(_key)),
    st.sampled_from(_LOOKS).map(lambda x: {"path": x, "body": "", "method": "GET"}),
)

service = Target("service", st.lists(_request, min_size=1, max_size=8), _check)
