"""What stands in the allocator's manual is so: its examples are used, its tables compared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from clusters import healthy, run
from invariants import check

from runtime.command import serve
from runtime.config.model import Settings
from runtime.config.read import KEYS
from runtime.durable import DurableAllocator
from runtime.journal import Journal
from runtime.service.lifecycle_reporter import Options
from runtime.service.locks import Locks
from runtime.service.metrics import Metrics
from runtime.service.objects import NodeObject, read_pod
from runtime.service.scheduler import PodScheduler
from runtime.service.service import Service
from runtime.service.source import MemorySource, read_change
from runtime.service.web import Web

MANUAL = (Path(__file__).parents[2] / "docs" / "allocator.md").read_text()
BLOCKS = dict(re.findall(r"```yaml\n# ([a-z-]+)\n(.*?)```", MANUAL, re.DOTALL))


def test_the_code_of_the_overview_runs() -> None:
    (code,) = re.findall(
        r"```python\n(.*?)```", (Path(__file__).parents[2] / "runtime/README.md").read_text(), re.DOTALL
    )
    assert code.count("assert") == 2
    exec(compile(code, "runtime/README.md", "exec"), {})


def test_the_code_of_the_lives_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[2] / "docs/lives.md").read_text(), re.DOTALL)
    assert code.count("assert") == 5
    exec(compile(code, "docs/lives.md", "exec"), {})


def test_the_pod_goes_to_the_cluster() -> None:
    allocator = healthy(yaml.safe_load(BLOCKS["configuration"]))
    document = yaml.safe_load(BLOCKS["pod"])
    pods = []
    for number in range(2):
        document["metadata"] |= {"uid": f"u{number}", "name": f"training-{number}"}
        seen = read_pod(document)
        assert seen.ours
        pods.append(seen.read())
    assert {place.node for place in run(allocator, pods)} <= {"node-1", "node-3", "node-4"}, "not on the pinned one"
    check(allocator)


def test_the_events_of_the_first_run_change_two_nodes() -> None:
    (text,) = re.findall(r"```json events.jsonl\n(.*?)```", MANUAL, re.DOTALL)
    nodes = [x.thing for x in map(read_change, text.splitlines()) if x is not None]
    assert [(x.name, x.healthy, x.cordoned) for x in nodes if isinstance(x, NodeObject)] == [
        ("node-1", False, False), ("node-2", False, True),
    ]  # fmt: skip


def test_paths_of_the_manual_are_there(tmp_path: Path) -> None:
    configuration = healthy(yaml.safe_load(BLOCKS["configuration"])).configuration
    service = Service(configuration, lambda: Journal(tmp_path / "journal"), MemorySource())
    paths = {getattr(route, "path", "") for route in Web(service, 1).app().routes}
    named = {
        re.sub("NAME$", "{name:path}", x) for x in re.findall(r"^\| `(/[a-z0-9/]*(?:NAME)?)`", MANUAL, re.MULTILINE)
    }
    assert named - {"/"} <= paths


def test_options_and_settings_are_those_there_are() -> None:
    command = " ".join(re.findall(r"^    (python -m runtime serve .*)$", MANUAL, re.MULTILINE))
    known: dict[str, Any] = {option: p.default for p in serve.params for option in p.opts}
    assert set(re.findall(r"--[a-z][a-z-]+", command)) <= known.keys()
    told = set(re.findall(r"`(--[a-z-]+)", MANUAL)) | {"--config", "--journal"}
    assert known.keys() - {"--help"} <= told
    defaults = dict(re.findall(r"^\| `(--[a-z-]+)[^|]*`[^|]*\| (\d+) \|", MANUAL, re.MULTILINE))
    assert defaults == {
        name: f"{known[name]:g}" for name in ("--lease", "--connections", "--grace", "--termination-delay")
    }
    settings = {k: v.strip() for k, v in re.findall(r"^\| `([a-zA-Z]+)` \|([^|]*)\|", MANUAL, re.MULTILINE)}
    assert set(KEYS) - {"physicalCluster", "virtualClusters"} <= settings.keys()
    assert settings["forcePodBindThreshold"] == str(Settings().force_bind_threshold)
    assert settings["webServerAddress"] == f"`{Settings().web_server}`"


def test_metrics_are_those_there_are(tmp_path: Path) -> None:
    configuration = healthy(yaml.safe_load(BLOCKS["configuration"])).configuration
    allocator = DurableAllocator(configuration, Journal(tmp_path / "journal"))
    metrics, locks = Metrics(), Locks()
    scheduler = PodScheduler(allocator, locks, lambda _: None, lambda _: None, lifecycle=Options(on=True))
    scheduler.recover([], lists_all=False)
    metrics.observe(scheduler, MemorySource(), locks)
    families = set(re.findall(r"^# TYPE (\w+)", metrics.text().decode(), re.MULTILINE))
    allocator.close()
    assert set(re.findall(r"`(allocator_\w+)", MANUAL)) == families
