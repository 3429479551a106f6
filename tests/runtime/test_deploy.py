"""What is in `deploy` fits what there is: options, paths, metrics, verbs."""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import yaml
from authorities import Pair, needed, trusting
from clusters import healthy

from generated.hived import AffinityGroupState
from runtime.command import main, serve
from runtime.durable import DurableAllocator
from runtime.journal import Journal
from runtime.service.access import Permissions, Role, read_client
from runtime.service.lifecycle_reporter import Options
from runtime.service.locks import Locks
from runtime.service.metrics import Metrics
from runtime.service.scheduler import PodScheduler
from runtime.service.service import Service
from runtime.service.source import MemorySource
from runtime.service.tls import Files, load
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


def exposed(tmp_path: Path) -> str:
    """What Prometheus reads."""
    allocator = DurableAllocator(healthy(CONFIGURATION).configuration, Journal(tmp_path / "journal"))
    metrics, locks = Metrics(), Locks()
    scheduler = PodScheduler(allocator, locks, lambda _: None, lambda _: None, lifecycle=Options(on=True))
    scheduler.recover([], lists_all=False)
    metrics.observe(scheduler, MemorySource(), locks)
    text = metrics.text().decode()
    allocator.close()
    return text


def families(tmp_path: Path) -> set[str]:
    """Names of all series."""
    told = re.findall(r"^# TYPE (\w+) (\w+)", exposed(tmp_path), re.MULTILINE)
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


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile, line by line: names and what is behind them."""
    lines = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    named = (x.partition(" ") for x in lines if x.strip() and not x.startswith("#"))
    return [(name, rest.strip()) for name, _, rest in named]


def values(name: str) -> list[str]:
    return [rest for found, rest in instructions() if found == name]


def test_the_image_has_what_it_needs() -> None:
    known = {"ARG", "FROM", "LABEL", "COPY", "RUN", "WORKDIR", "ENV", "USER", "EXPOSE", "VOLUME", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in instructions()} <= known
    assert values("ARG") == ["BASE"], "no default: a build names its base, by digest"
    assert values("FROM") == ["${BASE} AS build", "${BASE}"]
    assert values("USER") == ["65532:65532"]
    assert all("--require-hashes" in x for x in values("RUN") if "pip install" in x)
    options = {option for parameter in serve.params for option in parameter.opts}
    subcommand, *given = json.loads(*values("CMD"))
    assert subcommand in main.commands
    assert {x.partition("=")[0] for x in given} <= options
    for source, _, _ in (x.partition(" ") for x in values("COPY") if not x.startswith("--from=")):
        assert (ROOT / source).exists(), source


def test_a_build_gets_what_is_copied_and_nothing_else() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert ignored[1] == "*"
    copied = {x.partition(" ")[0] for x in values("COPY") if not x.startswith("--from=")}
    assert {x[1:] for x in ignored if x.startswith("!")} == copied


@pytest.mark.full(reason="a copy of the image")
def test_what_is_in_the_image_starts(tmp_path: Path) -> None:
    """Its folders, put together as the Dockerfile says, with the packages of its lock and no others."""
    for source, _, target in (
        x.partition(" ") for x in values("COPY") if not x.startswith(("--from=", "requirements"))
    ):
        place = tmp_path / target.lstrip("/")
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / source, place)
    lock = (ROOT / "requirements" / "allocator.txt").read_text()
    for name in re.findall(r"^([\w.-]+)==(?!.* == 'emscripten')", lock, re.MULTILINE):
        found = distribution(name)
        for file in found.files or ():
            if ".." not in file.parts:
                place = tmp_path / "site" / file
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(str(found.locate_file(file)))
    (entry,) = values("ENTRYPOINT")
    program, *arguments = json.loads(entry)
    assert program == "python"
    variables = dict(x.split("=", 1) for x in values("ENV")[0].split())
    paths = [str(tmp_path / variables["PYTHONPATH"].lstrip("/")), str(tmp_path / "site")]
    environment = {"PYTHONPATH": os.pathsep.join(paths), "PATH": "/usr/bin:/bin"}

    def run(*command: str) -> None:
        started = [sys.executable, "-S", *command]
        done = subprocess.run(started, cwd=tmp_path / "app", env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    (tmp_path / "cluster.yaml").write_text(OBJECTS["ConfigMap", "allocator"]["data"]["cluster.yaml"])
    run(*arguments, "check-config", str(tmp_path / "cluster.yaml"))
    run(*arguments, json.loads(*values("CMD"))[0], "--help")
    run("-c", "import runtime.service.serve, runtime.service.api, runtime.view.live")


def test_the_role_of_the_manual_is_the_one_that_is_applied() -> None:
    (block,) = re.findall(r"```yaml\n# role\n(.*?)```", MANUAL, re.DOTALL)
    for thing in yaml.safe_load_all(block):
        assert OBJECTS[thing["kind"], thing["metadata"]["name"]] == thing


def test_the_kube_scheduler_asks_paths_that_there_are(tmp_path: Path) -> None:
    profile = yaml.safe_load(OBJECTS["ConfigMap", "gang-scheduler"]["data"]["configuration.yaml"])
    (extender,) = profile["extenders"]
    service = OBJECTS["Service", "allocator"]
    host, _, rest = extender["urlPrefix"].removeprefix("https://").partition("/")
    assert (
        host
        == f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc:{service['spec']['ports'][0]['port']}"
    )
    assert {f"/{rest}/{extender[f'{what}Verb']}" for what in ("filter", "preempt", "bind")} <= paths(tmp_path)
    assert extender["nodeCacheCapable"]
    assert profile["percentageOfNodesToScore"] == 100


def mounted(kind: str, name: str) -> dict[str, str]:
    """Folders of the container, and the Secrets in them."""
    template = OBJECTS[kind, name]["spec"]["template"]["spec"]
    secrets = {x["name"]: x["secret"]["secretName"] for x in template["volumes"] if "secret" in x}
    (container,) = template["containers"]
    return {x["mountPath"]: secrets[x["name"]] for x in container["volumeMounts"] if x["name"] in secrets}


def allowed() -> list[str]:
    (container,) = OBJECTS["StatefulSet", "allocator"]["spec"]["template"]["spec"]["containers"]
    return [x.removeprefix("--allow=") for x in container["args"] if x.startswith("--allow=")]


def test_certificates_are_where_they_are_looked_for() -> None:
    """Each Secret has the same three files."""
    (container,) = OBJECTS["StatefulSet", "allocator"]["spec"]["template"]["spec"]["containers"]
    options = dict(x.split("=", 1) for x in container["args"] if "=" in x)
    ((folder, secret),) = mounted("StatefulSet", "allocator").items()
    files = {"--tls-certificate": "tls.crt", "--tls-key": "tls.key", "--client-ca": "ca.crt"}
    assert {options[option] for option in files} == {f"{folder}/{file}" for file in files.values()}
    assert all(options[option] == f"{folder}/{file}" for option, file in files.items())
    assert secret == "allocator-tls"
    (extender,) = yaml.safe_load(OBJECTS["ConfigMap", "gang-scheduler"]["data"]["configuration.yaml"])["extenders"]
    ((folder, secret),) = mounted("Deployment", "gang-scheduler").items()
    assert extender["enableHTTPS"]
    keys = {"certFile": "tls.crt", "keyFile": "tls.key", "caFile": "ca.crt"}
    assert extender["tlsConfig"] == {key: f"{folder}/{file}" for key, file in keys.items()}
    assert secret == "gang-scheduler-tls"
    assert all(container[f"{x}Probe"]["httpGet"]["scheme"] == "HTTPS" for x in ("readiness", "liveness"))
    assert Permissions(allowed())


def test_cert_manager_makes_the_secrets_that_are_mounted() -> None:
    things = list(yaml.safe_load_all((DEPLOY / "certificates" / "cert-manager.yaml").read_text()))
    issuers = {x["metadata"]["name"] for x in things if x["kind"] == "Issuer"}
    specs = {x["spec"]["secretName"]: x["spec"] for x in things if x["kind"] == "Certificate"}
    assert {spec["issuerRef"]["name"] for spec in specs.values()} == issuers
    assert {"allocator-tls", "gang-scheduler-tls"} <= specs.keys()
    service = OBJECTS["Service", "allocator"]["metadata"]
    assert f"{service['name']}.{service['namespace']}.svc" in specs["allocator-tls"]["dnsNames"]
    assert "server auth" in specs["allocator-tls"]["usages"]
    clients = {spec["commonName"] for spec in specs.values() if "client auth" in spec.get("usages", ())}
    assert {x.partition("=")[2] for x in allowed() if "=group:" not in x} == clients


@needed
def test_openssl_makes_certificates_that_fit(tmp_path: Path) -> None:
    script = ["sh", str(DEPLOY / "certificates" / "openssl.sh"), str(tmp_path)]
    subprocess.run(script, check=True, capture_output=True, timeout=60)
    subprocess.run([*script, "client", "me", "allocator-readers"], check=True, capture_output=True, timeout=60)
    authority = tmp_path / "ca.crt"
    before = authority.read_bytes()
    subprocess.run(script, check=True, capture_output=True, timeout=60)
    assert authority.read_bytes() == before, "what it has signed stays valid"
    assert (tmp_path / "allocator.key").stat().st_mode & 0o077 == 0
    server = load(Files(tmp_path / "allocator.crt", tmp_path / "allocator.key", authority))
    permissions = Permissions(allowed())
    roles = {"gang-scheduler": Role.SCHEDULE, "prometheus": Role.READ, "me": Role.READ}
    for name, role in roles.items():
        client = trusting(authority, Pair(tmp_path / f"{name}.crt", tmp_path / f"{name}.key"))
        shown = read_client(shake_hands(server, client, "allocator.kube-system.svc"))
        assert [x for x in (Role.READ, Role.SCHEDULE) if permissions.permit(shown, x)] == [role]


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> dict[str, Any]:
    """The certificate that a client has shown."""
    one, other = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = server.wrap_bio(one, other, server_side=True), client.wrap_bio(other, one, server_hostname=host)
    for _ in range(3):
        for side in sides:
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
    shown = sides[0].getpeercert()
    assert shown
    return dict(shown)


@pytest.mark.parametrize("file", ["alerts.yaml", "dashboard.json"])
def test_metrics_that_are_asked_for_are_there(tmp_path: Path, file: str) -> None:
    text = (DEPLOY / "monitoring" / file).read_text()
    assert set(re.findall(r"\ballocator_\w+", text)) <= families(tmp_path)


def test_labels_that_alerts_ask_for_are_there(tmp_path: Path) -> None:
    """Those with few values; others are names, or statuses of requests."""
    text = exposed(tmp_path)
    conditions = re.findall(
        r'\b(victim|fate|health|state|phase|what)="([^"]*)"', (DEPLOY / "monitoring" / "alerts.yaml").read_text()
    )
    assert conditions
    states = {state.value for state in AffinityGroupState}
    for label, value in conditions:
        assert f'{label}="{value}"' in text or value in states, (label, value)


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
