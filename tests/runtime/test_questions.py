"""The questions of an operator in the manual's table, each answered as JSON, by a command, and in the page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import chromium
import pytest
from click.testing import CliRunner
from clusters import config, gang, nodes
from serving import Cluster, node, serving

from runtime.command import main
from runtime.errors import UserError

pytestmark = pytest.mark.full(reason="half a minute: a server")

SIX = config(nodes("a", "b", "c", "d", "e", "f"), research={"NODE": 3}, product={"NODE": 2})
HOSTILE = '<img src=x onerror="document.title=1">'
MANUAL = (Path(__file__).parents[2] / "docs" / "allocator.md").read_text()


@pytest.fixture(scope="module")
def situation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two virtual clusters on six nodes of four devices: something of everything that can be asked about.

    research is promised three nodes. `long` has two of them, from which it has displaced `early`, and `part` a half of
    the third, of which `guest` borrows the other half. It has a demand for two more (`waits`, `later`), and two gangs
    that fail for good (`huge`, `typo`). product is promised two: `cheap` uses one opportunistically until `strong`
    wants it. `e` is bad.
    """
    with serving(tmp_path_factory.mktemp("questions"), SIX, "abcdef") as cluster:
        early, long = gang("early", "research", 4, 4, 4, priority=1), gang("long", "research", 4, 4, priority=7)
        cluster.run(early)
        cluster.add(*long)
        assert not cluster.filter(long[0])["NodeNames"]
        cluster.preempt(long[0])
        cluster.delete(*early)
        for pod in long:
            (name,) = cluster.filter(pod)["NodeNames"]
            assert not cluster.bind(pod, name)
        cluster.run(gang("part", "research", 2, priority=9))
        cluster.run(gang("cheap", "product", 4, priority=-1))
        cluster.run(gang(HOSTILE, "product", 4, priority=5))
        free = {"a", "b", "c", "d", "e", "f"} - {name for x in cluster.gangs() for name in x["physicalPlacement"]}
        assert len(free) == 1
        cluster.bad(*free)
        cluster.run(gang("guest", "product", 2, priority=-1))
        waits, later = gang("waits", "research", 4, 4, priority=5), gang("later", "research", 4, 4, priority=5)
        cluster.add(*waits)
        assert cluster.waits(waits[0])
        cluster.add(*later)
        assert cluster.waits(later[0])
        huge = gang("huge", "research", 4, 4, 4, 4)
        cluster.add(*huge)
        cluster.filter(huge[0])
        cluster.add(*gang("typo", "research", 1, leaf_type="GPX"))
        strong = gang("strong", "product", 4, priority=3)
        cluster.add(*strong)
        answer = cluster.filter(strong[0])
        assert not answer["NodeNames"], answer
        cluster.preempt(strong[0])
        yield cluster


def test_set_up(situation: Cluster) -> None:
    assert {x["name"]: x["state"] for x in situation.gangs()} == {
        "long": "Allocated",
        "part": "Allocated",
        "guest": "Allocated",
        "cheap": "BeingPreempted",
        HOSTILE: "Allocated",
        "waits": "Pending",
        "later": "Pending",
        "huge": "Pending",
        "typo": "Pending",
        "strong": "Preempting",
    }
    assert {x["name"] for x in situation.gangs() if x["failure"]} == {"huge", "typo"}


def run(cluster: Cluster, *arguments: str) -> str:
    result = CliRunner().invoke(main, [*arguments, "--server", str(cluster.client.base_url)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def place_of(cluster: Cluster, name: str) -> str:
    """The node of a gang."""
    return str(cluster.group(name)["physicalPlacement"] and next(iter(cluster.group(name)["physicalPlacement"])))


def bad(cluster: Cluster) -> str:
    """The bad node."""
    return next(x for x in cluster.nodes if not cluster.client.get(f"/v2/inspect/nodes/{x}").json()["healthy"])


Name = Callable[[Cluster], str]

EXAMPLES: dict[str, tuple[str | Name, list[str]]] = {
    "Why is this gang waiting?": ("waits", ["research has no room for 2 x 4 leaf cells"]),
    "Which gangs are in the way, on which nodes?": ("waits", ["long", "priority 7, 8 devices"]),
    "How long has it been waiting?": ("waits", ["ince"]),
    "What is its position in the queue?": ("later", ["2 of 2"]),
    "What would make room for it?": ("waits", ["long"]),
    "Which gangs must leave first?": ("strong", ["cheap"]),
    "What happened to it?": ("cheap", ["was asked to leave", "for strong"]),
    "Does it fail for good, and why?": (
        "typo",
        ["ails for good", "there are no leaf cells of type GPX"],
    ),
    "What occupies this node or device?": (lambda cluster: place_of(cluster, "long"), ["long", "Used"]),
    "Why is this node bad?": (bad, ["bad: it is not Ready"]),
    "How full is this virtual cluster?": ("research", ["12", "10", "waits", "later"]),
    "How many devices of its cells are lent?": ("research", ["ent", "2"]),
    "Which of its gangs has waited longest?": ("research", ["longest", "waits"]),
    "Which of its gangs fail for good?": (
        "research",
        ["huge", "can never have 4 x 4 leaf cells", "typo", "no leaf cells of type GPX"],
    ),
    "What is the largest gang that fits into it now?": ("product", ["4", "0"]),
    "How fragmented are its free devices?": ("research", ["100 %"]),
    "What is the largest opportunistic gang that fits now?": ("", ["argest gang", "0"]),
    "Which gangs would be displaced first?": ("", ["cheap", "leaves for strong"]),
    "How many gangs were preempted in the last hour?": ("", ["research: 1 guaranteed gang killed (3 pods)"]),
    "What changed in the last hour?": ("", ["long was placed on", "is bad: it is not Ready"]),
}
"""By question: what it is about, and words of its answer."""

ROWS = re.findall(r"^\| ([A-Z][^|]*\?) \| `([^|]*)` \| `([^`|]*)`(?:: ([^|]*))? \| (.*) \|$", MANUAL, re.MULTILINE)


class Question(NamedTuple):
    """A row of the table, about a certain gang, node or virtual cluster."""

    command: list[str]
    path: str
    keys: list[str]
    address: str
    """Of the page; empty where the list of what happened answers."""
    words: list[str]


def asked(cluster: Cluster, question: str) -> Question:
    (row,) = [row for row in ROWS if row[0] == question]
    subject, words = EXAMPLES[question]
    name = subject if isinstance(subject, str) else subject(cluster)
    _, command, path, keys, page = (re.sub(r"\b(GANG|NAME)\b", name, x) for x in row)
    address = page.strip("`") if page.startswith("`") else ""
    assert address or page == "What happened"
    return Question(command.split(), path, re.findall("`([^`]*)`", keys), address, words)


def test_the_table_is_complete() -> None:
    assert [row[0] for row in ROWS] == list(EXAMPLES)


@pytest.mark.parametrize("question", EXAMPLES)
def test_a_command_answers(situation: Cluster, question: str) -> None:
    before = situation.everything()
    command = asked(situation, question).command
    text = run(situation, *command)
    for words in EXAMPLES[question][1]:
        assert words in text, text
    assert "waiting since" in text or question != "How long has it been waiting?"
    assert "would make room: long ending" in text or question != "What would make room for it?"
    assert json.loads(run(situation, *command, "--json"))
    assert situation.everything() == before, "asking changes nothing"


@pytest.mark.parametrize("question", EXAMPLES)
def test_a_path_answers(situation: Cluster, question: str) -> None:
    """With what the command prints as JSON."""
    row = asked(situation, question)
    answer = situation.client.get(f"/v2/inspect/{row.path}")
    assert answer.status_code == 200, answer.text
    assert answer.json() == json.loads(run(situation, *row.command, "--json"))
    found = answer.json()
    assert row.keys
    assert all(key in found or key in found["items"][0] for key in row.keys)


def test_figures(situation: Cluster) -> None:
    def ask(path: str) -> Any:
        return situation.client.get(f"/v2/inspect/{path}").json()

    research = ask("virtualclusters/research")
    figures = ("promised", "used", "free", "lent", "opportunistic", "waitingDevices", "waitsLongest")
    assert [research[x] for x in figures] == [12, 10, 2, 2, 0, 16, "waits"]
    assert [x["gang"] for x in research["waiting"]] == ["waits", "later"]
    assert all(x["since"] for x in research["waiting"])
    product = ask("virtualclusters/product")
    assert [product[x] for x in figures] == [8, 4, 4, 0, 6, 4, "strong"]
    assert [(x["podDevices"], x["pods"], x["free"], x["fragmentation"]) for x in ask("fits/research")["items"]] == [
        (1, 0, 2, 1.0), (2, 0, 2, 1.0), (4, 0, 2, 1.0),
    ]  # fmt: skip
    tenants = [None] * 3 + ["product"] * 3 + ["research"] * 3
    assert sorted(x["virtualCluster"] or "" for x in ask("fits/")["items"]) == [x or "" for x in tenants]
    assert ask("preemptions?seconds=0") == {"items": []}
    typo = ask("why/typo")
    assert (typo["failure"], typo["place"], typo["waiting"]) == (typo["reason"], 0, 0)
    assert (ask("why/huge")["failure"], ask("why/huge")["place"]) == (ask("why/huge")["reason"], 0)
    assert ask("why/waits")["failure"] is None
    assert {x["gang"]: x["problem"] for x in ask("problems")["items"]} == {"typo": typo["reason"]}
    text = situation.client.get("/metrics").text
    assert 'allocator_failing_gangs{virtual_cluster="research"} 2.0' in text
    assert 'allocator_waiting_gangs{virtual_cluster="research"} 2.0' in text
    assert 'allocator_pods_problem{phase="Waiting"} 1.0' in text


def test_events_are_found_by_gang_node_and_virtual_cluster(situation: Cluster) -> None:
    assert "long" not in run(situation, "events", "--gang", "cheap")
    assert run(situation, "events", "--node", bad(situation)).count("\n") == 1
    assert "cheap was placed on" in run(situation, "events", "--virtual-cluster", "product")
    assert "strong has reserved cells on" in run(situation, "events", "--since", "90")
    assert run(situation, "events", "--gang", "nobody") == "nothing happened\n"
    assert situation.client.get("/v2/inspect/events?seconds=x").status_code == 400
    with pytest.raises(UserError, match="a time must be written as"):
        run(situation, "events", "--since", "yesterday")


def test_what_there_is_not(situation: Cluster) -> None:
    for path, words in {
        "nodes/zz": "there is no node zz",
        "virtualclusters/zz": "there is no virtual cluster zz",
    }.items():
        answer = situation.client.get(f"/v2/inspect/{path}")
        assert (answer.status_code, words in answer.json()) == (400, True)


def test_why_a_node_is_bad(tmp_path: Path) -> None:
    with serving(tmp_path, config(nodes("a", "b", "c", "d"), A={"NODE": 1}), "abc") as cluster:

        def reason(name: str) -> str:
            return str(cluster.client.get(f"/v2/inspect/nodes/{name}").json()["reason"])

        assert reason("a") == ""
        assert reason("d") == "it is not in the cluster: Kubernetes has no node of this name"
        condition = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "no network"}
        broken = {**node("a", unschedulable=True), "status": {"conditions": [condition]}}
        cluster.tell(("MODIFIED", broken), ("MODIFIED", node("b", unschedulable=True)), ("DELETED", node("c")))
        assert reason("a") == "it is not Ready (KubeletNotReady: no network); it is cordoned (spec.unschedulable)"
        assert reason("b") == "it is cordoned (spec.unschedulable)"
        assert reason("c").startswith("it is not in the cluster")
        assert run(cluster, "node", "b").splitlines()[0] == "b: bad: it is cordoned (spec.unschedulable)"
        assert "c is bad: it is gone" in run(cluster, "events")


def test_usage_is_sampled(situation: Cluster) -> None:
    first = situation.client.get("/v2/inspect/usage").json()["items"][0]
    assert first["devices"] == 24
    assert situation.client.get("/v2/inspect/usage?seconds=0").json()["items"] == []


def test_room_that_two_gangs_have_to_make(tmp_path: Path) -> None:
    """Of three, the two that suffice are named; and nodes, where bad ones are the cause."""
    with serving(tmp_path, config(nodes("a", "b", "c"), A={"NODE": 3}), "abc") as cluster:
        cluster.run(gang("one", "A", 4, priority=5))
        cluster.run(gang("two", "A", 4, priority=6))
        cluster.run(gang("three", "A", 2, priority=7))
        big = gang("big", "A", 4, 4, priority=5)
        cluster.add(*big)
        found = json.loads(run(cluster, "why", "big", "--json"))["wouldMakeRoom"]
        assert found["nodesHealthy"] == []
        assert len(found["gangsEnd"]) == 2
        cluster.delete(*gang("one", "A", 4, priority=5))
        cluster.delete(*gang("two", "A", 4, priority=6))
        free = next(x for x in "abc" if x not in cluster.group("three")["physicalPlacement"])
        cluster.bad(free)
        found = json.loads(run(cluster, "why", "big", "--json"))["wouldMakeRoom"]
        assert found["nodesHealthy"] == [free]


def test_a_gang_that_need_not_end_is_not_named(tmp_path: Path) -> None:
    """The weakest one shares its node with a strong one: that it ends is of no use."""
    with serving(tmp_path, config(nodes("a", "b"), A={"NODE": 2}), "ab") as cluster:
        cluster.run(gang("weak", "A", 2, priority=5))
        cluster.run(gang("strong", "A", 2, priority=9))
        cluster.run(gang("middle", "A", 4, priority=7))
        assert place_of(cluster, "weak") == place_of(cluster, "strong")
        cluster.add(*gang("big", "A", 4, priority=5))
        found = json.loads(run(cluster, "why", "big", "--json"))
        assert [x["gang"] for x in found["inTheWay"]] == ["middle", "strong", "weak"]
        assert found["wouldMakeRoom"]["gangsEnd"] == ["middle"]


# In the page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium.browser() as found:
        yield found


@pytest.fixture
def page(browser: Any, situation: Cluster) -> Iterator[Any]:
    found = browser.new_page(viewport={"width": 1440, "height": 1000})
    found.set_default_timeout(chromium.PATIENCE)
    problems: list[str] = []
    found.on("pageerror", lambda x: problems.append(str(x)))
    found.on("console", lambda x: problems.append(x.text) if x.type == "error" else None)
    yield found
    found.close()
    assert problems == []


def opened(page: Any, cluster: Cluster, address: str) -> None:
    page.goto(f"{cluster.client.base_url}/view/#{address}")
    page.wait_for_selector("body[data-ready]")


@chromium.needed
@pytest.mark.parametrize("question", EXAMPLES)
def test_the_page_answers(situation: Cluster, page: Any, question: str) -> None:
    row = asked(situation, question)
    opened(page, situation, row.address)
    panel = page.locator("#chosen" if row.address else "#log")
    for words in row.words:
        chromium.expect(panel).to_contain_text(words)
    if question == "What happened to it?":
        chromium.expect(panel.locator("#diagram .now")).to_have_id("state-BeingPreempted")
    if question == "What would make room for it?":
        chromium.expect(panel.get_by_text("this gang ending: long")).to_be_visible()


@chromium.needed
def test_every_view_has_an_address(situation: Cluster, page: Any) -> None:
    opened(page, situation, "")
    page.get_by_role("button", name="waits", exact=True).click()
    chromium.expect(page.locator("#chosen-title")).to_have_text("waits")
    assert page.url.endswith("#gang=waits")
    page.locator("#answers").get_by_role("link", name="long").first.click()
    chromium.expect(page.locator("#chosen-title")).to_have_text("long")
    name = page.locator("#answers dd a").first.inner_text()
    page.locator("#answers dd a").first.click()
    chromium.expect(page.locator("#chosen-title")).to_have_text(f"Node {name}")
    page.locator("#quotas").get_by_role("link", name="product").click()
    chromium.expect(page.locator("#answers")).to_contain_text("8 devices: 4 in use")
    page.fill("#find", "opportunistic")
    page.get_by_label("virtual cluster", exact=True).check()
    address = page.url
    page.go_back()
    chromium.expect(page.locator("#chosen-title")).to_have_text(f"Node {name}")
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    chromium.expect(page.locator("#chosen-title")).to_have_text("Virtual cluster product")
    assert page.input_value("#find") == "opportunistic"
    assert page.get_by_label("virtual cluster", exact=True).is_checked()
    chromium.expect(page.locator("#rows tr")).to_have_count(2)
    page.get_by_role("button", name="Close").click()
    chromium.expect(page.locator("#chosen")).to_be_hidden()


@chromium.needed
def test_answers_about_another_choice_are_not_shown_under_a_new_title(situation: Cluster, page: Any) -> None:
    opened(page, situation, "gang=waits")
    chromium.expect(page.locator("#answers dd a").first).to_be_visible()
    held: list[Any] = []
    page.route("**/inspect/why/long", lambda route: held.append(route))
    page.get_by_role("button", name="long", exact=True).click()
    chromium.expect(page.locator("#chosen-title")).to_have_text("long")
    chromium.expect(page.locator("#answers")).to_be_empty()
    held[0].continue_()
    chromium.expect(page.locator("#answers dd a").first).to_be_visible()


@chromium.needed
def test_names_stay_text(situation: Cluster, page: Any) -> None:
    opened(page, situation, "tenant=product")
    chromium.expect(page.locator("#answers")).to_contain_text(HOSTILE)
    page.locator("#answers").get_by_role("link", name=HOSTILE).click()
    chromium.expect(page.locator("#chosen-title")).to_have_text(HOSTILE)
    assert page.title() == "Cluster"


@chromium.needed
def test_the_log_says_what_happened(situation: Cluster, page: Any) -> None:
    opened(page, situation, "")
    log = page.locator("#remarks")
    chromium.expect(log).to_contain_text("cheap was asked to leave")
    chromium.expect(log).to_contain_text("strong has reserved cells on")
    page.select_option("#window", "900")
    chromium.expect(log.locator("li:visible").first).to_be_visible()


@chromium.needed
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_can_be_read_by_everybody(situation: Cluster, page: Any, scheme: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    for address in ("gang=waits", f"node={bad(situation)}", "tenant=research", "gang=typo", "opportunistic="):
        opened(page, situation, address)
        chromium.expect(page.locator("#answers > *").first).to_be_visible()
        found = Axe().run(page).response["violations"]
        assert [(x["impact"], x["id"]) for x in found if x["impact"] in ("serious", "critical")] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"


@chromium.needed
def test_a_gang_that_comes_is_seen_at_once(tmp_path: Path, browser: Any) -> None:
    with serving(tmp_path, config(nodes("a"), A={"NODE": 1}), "a") as cluster:
        page = browser.new_page()
        page.set_default_timeout(chromium.PATIENCE)
        opened(page, cluster, "gang=fresh")
        chromium.expect(page.locator("#answers")).to_contain_text("there is no gang fresh")
        pods = gang("fresh", "A", 2)
        cluster.run(pods)
        chromium.expect(page.locator("#answers")).to_contain_text("fresh was placed on")
        cluster.delete(*pods)
        chromium.expect(page.locator("#facts")).to_have_text("It is gone.")
        page.close()


class _Nested(BaseHTTPRequestHandler):
    """A server whose JSON is nested too deeply."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"[" * 200_000)

    def log_message(self, format: str, *arguments: object) -> None:
        """No log."""


def test_an_answer_that_is_nested_too_deeply_is_refused() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Nested) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        result = CliRunner().invoke(main, ["events", "--server", address])
        assert isinstance(result.exception, UserError)
        assert "does not answer: maximum recursion depth" in str(result.exception)
        server.shutdown()
