"""What an operator asks: why does a gang wait, and what does a configuration come to?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from clusters import config, gang, nodes
from serving import serving

from runtime.command import main
from runtime.simulate.observe import Event, Kind
from runtime.view.paced import words

TWO = config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1})


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_why_a_gang_waits(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        server = ("--server", str(cluster.client.base_url))
        cluster.run(gang("busy", "A", 4, priority=7))
        weak, peer, huge = gang("weak", "A", 2, priority=5), gang("peer", "A", 2, priority=7), gang("huge", "A", 4, 4)
        cluster.add(*weak, *peer, *huge)
        found = json.loads(run("why", "weak", *server, "--json"))
        assert (found["state"], found["place"], found["waiting"]) == ("Pending", 2, 3)
        assert found["reason"] == "A has no room for 1 x 2 leaf cells in NODE"
        (other,) = found["inTheWay"]
        assert (other["gang"], other["devices"], other["priority"]) == ("busy", 4, 7)
        assert found["since"]
        assert "place 1 of 3 in its virtual cluster" in run("why", "peer", *server)
        never = json.loads(run("why", "huge", *server, "--json"))
        assert "can never have 2 x 4 leaf cells" in never["reason"]
        assert (never["inTheWay"], never["wouldMakeRoom"]) == ([], {"gangsEnd": [], "nodesHealthy": []})
        assert "in the way" not in run("why", "huge", *server)
        strong = gang("strong", "A", 4, priority=9)
        cluster.add(*strong)
        before = cluster.everything()
        assert "has to leave first: busy, priority 7, 4 devices on" in run("why", "strong", *server)
        assert cluster.everything() == before, "asking changes nothing"
        cluster.preempt(strong[0])
        assert "waits for others to leave" in run("why", "strong", *server)
        assert "has to leave for a stronger gang" in run("why", "busy", *server)
        answer = cluster.client.get("/v2/inspect/why/nobody")
        assert (answer.status_code, "there is no gang nobody" in answer.json()) == (400, True)


def test_what_a_configuration_comes_to(tmp_path: Path) -> None:
    path = tmp_path / "hived.yaml"
    path.write_text(yaml.safe_dump({**config(nodes("a", "b", "c"), A={"NODE": 1, "NODE.SWITCH": 2}, B={}), "x": 1}))
    assert run("check-config", str(path)).splitlines() == [
        "chain NODE: 3 of NODE > SWITCH > GPU; 12 devices",
        "  a node is a NODE, with 4 devices",
        "  A is promised 1 x NODE (4 devices)",
        "  A is promised 2 x SWITCH (4 devices)",
        "  4 devices are promised to nobody",
        "warning: B is promised nothing: all its gangs have to be opportunistic",
        "listens on 127.0.0.1:9096; API server: as the kubeconfig says",
        "warning: line 38: x: is not a known key (known here: forcePodBindThreshold, kubeApiServerAddress, "
        "kubeConfigFilePath, physicalCluster, virtualClusters, waitingPodSchedulingBlockMilliSec, webServerAddress); "
        "ignored, as in HiveD",
    ]


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (Event(0, Kind.EVICTED, gang="g1311", detail="g1504"), "g1311 was asked to leave for g1504"),
        (Event(0, Kind.STARTED, gang="g1"), "g1 started"),
        (Event(0, Kind.LOST, gang="g1", node="n1"), "g1 was lost with n1, and waits again"),
        (Event(0, Kind.NODE_DOWN, node="n1"), "n1 is down"),
    ],
)
def test_the_log_says_what_happened(event: Event, sentence: str) -> None:
    assert words(event) == sentence
