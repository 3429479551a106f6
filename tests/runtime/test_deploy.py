"""What is in `deploy` fits what there is: options, paths, metrics, verbs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from clusters import healthy

from runtime.command import main, serve
from runtime.durable import DurableAllocator
from runtime.journal import Journal
from runtime.service.follower import Options
from runtime.service.locks import Locks
from runtime.service.metrics import Metrics
from runtime.service.scheduler import Scheduler
from runtime.service.service import Service
from runtime.service.source import MemorySource
from runtime.service.web import Web

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANUAL = (ROOT / "docs" / "allocator.md").read_text()
OBJECTS: dict[tuple[str, str], dict[str, Any]] = {
    (x["kind"], x["metadata"]["name"]): x
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for x in yaml.safe_load_all(path.read_text())
}
CONFIGURATION = yaml.safe_load(OBJECTS["ConfigMap", "allocator"]["data"]["cluster.yaml"])


def paths(tmp_path: Path) -> set[str]:
    service = Service(healthy(CONFIGURATION).configuration, lambda: Journal(tmp_path / "journal"), MemorySource())
    return {getattr(route, "path", "") for route in Web(service, 1).app().routes}


def families(tmp_path: Path) -> set[str]:
    """Names of all series."""
    allocator = DurableAllocator(healthy(CONFIGURATION).configuration, Journal(tmp_path / "journal"))
    metrics, locks = Metrics(), Locks()
    scheduler = Scheduler(allocator, locks, lambda _: None, lambda _: None, following=Options(on=True))
    scheduler.recover([], lists_all=False)
    metrics.observe(scheduler, MemorySource(), locks)
    told = re.findall(r"^# TYPE (\w+) (\w+)", metrics.text().decode(), re.MULTILINE)
    allocator.close()
    endings = {"histogram": ("_bucket", "_sum", "_count")}
    return {name + ending for name, kind in told for ending in endings.get(kind, ("",))}


def test_the_allocator_is_started_with_options_that_there_are(tmp_path: Path) -> None:
    template = OBJECTS["StatefulSet", "allocator"]["spec"]["template"]["spec"]
    (container,) = template["containers"]
    known = {option for parameter in serve.params for option in parameter.opts}
    assert {x.partition("=")[0] for x in container["args"]} <= known
    assert container["command"] == ["python", "-m", "runtime", "serve"]
    assert {container[f"{what}Probe"]["httpGet"]["path"] for what in ("readiness", "liveness")} <= paths(tmp_path)
    (election,) = [x.partition("=")[2] for x in container["args"] if x.startswith("--leader-election")]
    namespace, _, name = election.partition("/")
    lease = next(x for x in OBJECTS["Role", "allocator-leases"]["rules"] if "resourceNames" in x)
    assert (OBJECTS["Role", "allocator-leases"]["metadata"]["namespace"], lease["resourceNames"]) == (namespace, [name])
    assert template["securityContext"]["runAsNonRoot"]


def test_the_image_has_what_it_needs() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    for source in re.findall(r"^COPY ([a-z][\w./]*) ", text, re.MULTILINE):
        assert (ROOT / source).exists(), source
    assert re.search(r"^ARG BASE$", text, re.MULTILINE), "no default: a build names its base, by digest"
    assert "\nUSER 65532:65532\n" in text
    (command,) = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    known = {option for parameter in serve.params for option in parameter.opts}
    subcommand, *options = json.loads(command)
    assert subcommand in main.commands
    assert {x.partition("=")[0] for x in options} <= known
    locked = (ROOT / "requirements" / "allocator.txt").read_text()
    assert all(f"\n{x}==" in f"\n{locked}" for x in ("click", "pyyaml", "starlette", "uvicorn", "lightkube"))


def test_the_role_of_the_manual_is_the_one_that_is_applied() -> None:
    (block,) = re.findall(r"```yaml\n# role\n(.*?)```", MANUAL, re.DOTALL)
    for thing in yaml.safe_load_all(block):
        assert OBJECTS[thing["kind"], thing["metadata"]["name"]] == thing


def test_the_kube_scheduler_asks_paths_that_there_are(tmp_path: Path) -> None:
    profile = yaml.safe_load(OBJECTS["ConfigMap", "gang-scheduler"]["data"]["configuration.yaml"])
    (extender,) = profile["extenders"]
    service = OBJECTS["Service", "allocator"]
    host, _, rest = extender["urlPrefix"].removeprefix("http://").partition("/")
    assert (
        host
        == f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc:{service['spec']['ports'][0]['port']}"
    )
    assert {f"/{rest}/{extender[f'{what}Verb']}" for what in ("filter", "preempt", "bind")} <= paths(tmp_path)
    assert extender["nodeCacheCapable"]
    assert profile["percentageOfNodesToScore"] == 100


@pytest.mark.parametrize("file", ["alerts.yaml", "dashboard.json"])
def test_metrics_that_are_asked_for_are_there(tmp_path: Path, file: str) -> None:
    text = (DEPLOY / "monitoring" / file).read_text()
    assert set(re.findall(r"\bscheduler_\w+", text)) <= families(tmp_path)


def test_each_alert_says_what_to_do() -> None:
    (group,) = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]:
        assert {"summary", "action"} <= rule["annotations"].keys()
        assert rule["labels"]["severity"] in ("warning", "critical")
    commands = re.findall(r"python -m runtime ([a-z-]+)", json.dumps(group))
    assert commands
    assert set(commands) <= main.commands.keys()


def test_stronger_gangs_have_higher_classes() -> None:
    values = [OBJECTS["PriorityClass", f"gangs-{x}"]["value"] for x in ("opportunistic", "normal", "high")]
    assert values == sorted(set(values))
