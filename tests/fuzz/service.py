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
    source.tell(Change(NodeObject(name, healthy=True), gone=False) for name in "ab")
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


_SPECS = (
    '{"virtualCluster": "A", "leafCellNumber": 4}', '{"virtualCluster": "A", "leafCellNumber": 2, "priority": -1}',
    '{"virtualCluster": "A", "leafCellNumber": 1, "affinityGroup": {"name": "g\\nforged", "members": [{"podNumber": 2, "leafCellNumber": 1}]}}',
    '{"virtualCluster": "A\\n2026-01-01 00:00:00,000 INFO forged", "leafCellNumber": 1}', "", "{", "[]", "a: &a [*a, *a]",
    "a: &a [1,1,1,1]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]", '{"virtualCluster": "\\ud800"}',
    "virtualCluster: A\nleafCellNumber: 1e400", "virtualCluster: A\nleafCellNumber: .nan", "[" * 2000,
    '{"virtualCluster": "A", "leafCellNumber": 2147483648}', "? {}\n: 1", "!!python/object:os.system x", "- \x85\u2028",
)  # fmt: skip

_uid = constant(
    "u0", "u1", "u2", "runs-0", "u\n2026-01-01 00:00:00,000 INFO forged", "\ud800", "", "u\u2028forged", "u\rforged"
)
_annotations = st.builds(
    lambda spec, info: json.dumps({SPEC: spec, **({} if info is None else {BIND_INFO: info})}),
    st.sampled_from(_SPECS), st.one_of(st.none(), st.none(), st.sampled_from((*_SPECS, "node: a\nleafCellIsolation: [0]"))),
)  # fmt: skip
_metadata = objects(
    {"uid": _uid, "name": _uid, "namespace": constant("default", "n\nforged", ""), "annotations": _annotations}
)
_spec = objects({
    "nodeName": constant("a", "b", "", "c\nforged"),
    "containers": constant([{"resources": {"limits": {ENABLE: 1}}}], [], [{"resources": {"limits": {ENABLE: "9" * 5000}}}]),
})  # fmt: skip
_pod = st.one_of(
    st.sampled_from([json.dumps(pod_written(x)) for x in gang("runs", "A", 4)]),
    objects({"kind": constant("Pod"), "metadata": _metadata, "spec": _spec, "status": objects({"phase": constant("Running", "Failed")})}),
)  # fmt: skip
_node = st.one_of(
    constant(node("a"), node("b", ready=False), node("c\nforged"), node("a", unschedulable=True)),
    objects({"kind": constant("Node"), "metadata": objects({"name": _uid}), "status": value, "spec": value}),
)
_event = st.one_of(
    st.builds(
        lambda kind, x: written({"type": kind, "object": x}), constant("ADDED", "ADDED", "MODIFIED", "DELETED"), _pod
    ),
    st.builds(lambda kind, x: written({"type": kind, "object": x}), constant("ADDED", "MODIFIED", "DELETED"), _node),
    objects({"type": constant("ADDED"), "object": value}),
)
_names = constant(["a", "b"], ["a"], [], ["c"], ["a\nforged", "\ud800"])
_request = st.one_of(
    st.builds(lambda x: {"path": "/v1/simulation/events", "body": "\n".join(x)}, st.lists(_event, max_size=3)),
    st.builds(lambda x: {"path": "/v1/extender/filter", "body": x}, objects({"Pod": _pod, "NodeNames": _names})),
    st.builds(lambda x: {"path": "/v1/extender/filter", "body": x}, objects({"Pod": _pod, "NodeNames": _names})),
    st.builds(lambda x: {"path": "/v1/extender/preempt", "body": x}, objects({"Pod": _pod, "NodeNameToMetaVictims": st.one_of(_names, constant({"a": {}, "b": {}}))})),
    st.builds(
        lambda x: {"path": "/v1/extender/bind", "body": x},
        objects({"PodUID": _uid, "PodName": _uid, "PodNamespace": constant("default", "x\ny"), "Node": constant("a", "b", "c\nforged")}),
    ),
    st.builds(
        lambda x: {"path": x, "body": "", "method": "GET"},
        st.sampled_from((
            "/", "/metrics", "/healthz", "/readyz", "/v1/inspect/affinitygroups/", "/v1/inspect/affinitygroups/g\nforged",
            "/v1/inspect/affinitygroups/\U0001f512", "/v1/inspect/clusterstatus", "/v1/inspect/clusterstatus/virtualclusters/A",
            "/v1/inspect/clusterstatus/virtualclusters/x\ny", "/v1/inspect/lives/", "/v1/inspect/lives/g",
        )),
    ),
)  # fmt: skip

service = Target("service", st.lists(_request, min_size=1, max_size=8), _check)
