"""The page of a cluster: what is sent, and what a person sees in the browser."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import chromium
import httpx
import pytest
from clusters import config, gang, nodes
from serving import serving, until

from fsmdsl.model.workspace import load
from generated.hived import AffinityGroupState
from runtime import Allocator, Bind, GangSpec, Member, Pod, PodSpec
from runtime.errors import UserError
from runtime.view import Frame, FrameFeed, Recorder
from runtime.view import feed as feed_module
from runtime.view.live import Live
from runtime.view.pages import STATIC
from runtime.view.recording import GangView, Leaf, difference

pytestmark = pytest.mark.full(reason="a server and a browser")

ROOT = Path(__file__).parent.parent.parent

HOSTILE = '<img src=x onerror="document.title=1">'


def cluster(racks: int = 2, tenants: tuple[str, ...] = ("research", "prod")) -> Allocator:
    """Racks of four nodes of eight; each virtual cluster has as many racks as the others."""
    share = racks // len(tenants)
    allocator = Allocator.from_config(
        {
            "physicalCluster": {
                "cellTypes": {
                    "NODE": {"childCellType": "GPU", "childCellNumber": 8, "isNodeLevel": True},
                    "RACK": {"childCellType": "NODE", "childCellNumber": 4},
                },
                "physicalCells": [
                    {"cellType": "RACK", "cellChildren": [{"cellAddress": f"n{r}-{i}"} for i in range(4)]}
                    for r in range(racks)
                ],
            },
            "virtualClusters": {x: {"virtualCells": [{"cellType": "RACK", "cellNumber": share}]} for x in tenants},
        }
    )
    for rack in range(racks):
        for node in range(4):
            allocator.node_healthy(f"n{rack}-{node}")
    return allocator


def start(allocator: Allocator, name: str, leaf_cells: int = 8, tenant: str = "research", priority: int = 5) -> Pod:
    gang = GangSpec(name, (Member(pods=1, leaf_cells=leaf_cells),))
    pod = Pod(uid=name, name=name, spec=PodSpec(tenant, priority=priority, leaf_cells=leaf_cells, gang=gang))
    answer = allocator.schedule(pod)
    if isinstance(answer, Bind):
        allocator.allocate(pod, answer.info)
    return pod


# What is sent


def test_the_scene_has_every_leaf_cell_once() -> None:
    scene = Recorder(cluster(racks=4)).scene()
    (chain,) = scene["chains"]
    places = [n for rack in chain["racks"] for _, first, count in rack["nodes"] for n in range(first, first + count)]
    assert places == list(range(4 * 4 * 8))
    assert [len(rack["nodes"]) for rack in chain["racks"]] == [4, 4, 4, 4]
    assert scene["tenants"] == ["research", "prod"]


def test_a_frame_shows_who_has_what() -> None:
    allocator = cluster()
    film = Recorder(allocator)
    start(allocator, "a")
    start(allocator, "b", leaf_cells=2, priority=-1)
    allocator.node_bad("n1-3")
    frame = film.frame(7.0)
    assert sum(x.owner == "a" and x.state == "Used" and x.priority == 5 for x in frame.leaves) == 8
    assert sum(x.owner == "b" and x.priority == -1 for x in frame.leaves) == 2
    assert frame.healthy.count(False) == 1
    assert frame.gangs["a"] == GangView("a", "research", 5, "Allocated", 1, "")


def applied(shown: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """What the page does."""
    leaves = {**shown["leaves"], **{n: tuple(x) for n, *x in change["leaves"]}}
    nodes = {**shown["nodes"], **dict(change["nodes"])}
    gangs = {k: v for k, v in shown["gangs"].items() if k not in change["gone"]}
    return {"leaves": leaves, "nodes": nodes, "gangs": {**gangs, **{x[0]: tuple(x) for x in change["gangs"]}}}


def test_differences_add_up_to_what_there_is() -> None:
    allocator, choice = cluster(racks=2), random.Random(3)
    film, before, live = Recorder(allocator), None, [start(allocator, "first")]
    shown: dict[str, Any] = {"leaves": {}, "nodes": {}, "gangs": {}}
    for n in range(60):
        match choice.randrange(4):
            case 0 if live:
                allocator.delete(live.pop(choice.randrange(len(live))))
            case 1:
                (allocator.node_bad if n % 2 else allocator.node_healthy)(f"n0-{n % 4}")
            case _:
                tenant = choice.choice(["research", "prod"])
                live.append(start(allocator, f"g{n}", choice.choice([1, 2, 8]), tenant, choice.choice([-1, 3, 9])))
        frame = film.frame(float(n))
        shown = applied(shown, json.loads(json.dumps(difference(before, frame))))
        before = frame
        assert tuple(Leaf(*shown["leaves"][i]) for i in range(len(frame.leaves))) == frame.leaves
        assert tuple(shown["nodes"][i] for i in range(len(frame.healthy))) == frame.healthy
        assert {k: GangView(*v) for k, v in shown["gangs"].items()} == frame.gangs


def test_pictures_are_taken_no_more_often_than_said(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, now = [], 100.0
    monkeypatch.setattr(feed_module, "monotonic", lambda: now)

    def take() -> Frame:
        taken.append(1)
        return Frame(0.0, (), (), {})

    feed = FrameFeed(take, every=0.2)
    for _ in range(50):
        feed.last()
    assert len(taken) == 1
    now += 0.21
    feed.last()
    assert len(taken) == 2


def test_the_diagram_is_that_of_the_spec() -> None:
    loaded = load([ROOT / "specs" / "hived" / "hived.fsm"])
    assert loaded.model is not None
    machine = loaded.model.machines["hived.AffinityGroup"]
    picture = (STATIC / "AffinityGroup.svg").read_text("utf-8")
    states = {x.name for x in machine.states}
    assert states == {x.value for x in AffinityGroupState}
    assert set(re.findall(r'id="state-(\w+)"', picture)) == states
    assert {int(n) for n in re.findall(r'id="transition-(\d+)"', picture)} == {t.index for t in machine.transitions}
    told = {x.lstrip("+") for x in re.findall(r">([^<>]+)<", picture)}
    assert {t.name for t in machine.transitions} <= told


# A simulation


class Kind(Enum):
    STARTED = "started"


@dataclass(frozen=True)
class Event:
    time: float
    kind: Kind = Kind.STARTED
    gang: str = ""
    node: str = ""
    detail: str = ""


@pytest.fixture
def live() -> Iterator[Live]:
    found = Live(pace=1e6)
    yield found
    found.paced.control(paused=False)
    found.close()


def test_a_simulation_keeps_its_pace(live: Live) -> None:
    live.paced.control(pace=100.0)
    live.paced.begin(cluster(), 64)
    began = time.monotonic()
    live.paced.advance(30.0)
    assert 0.25 < time.monotonic() - began < 30.0, "0.3 where nothing else is done"
    last = live.paced.feed.last()
    assert last is not None
    assert 0.0 < last.time <= 30.0


def test_a_simulation_stands_still_until_it_is_told_to_go_on(live: Live) -> None:
    live.paced.begin(cluster(), 64)
    live.paced.control(paused=True)
    simulation = threading.Thread(target=live.paced.advance, args=(60.0,))
    simulation.start()
    simulation.join(0.3)
    assert simulation.is_alive()
    answer = httpx.post(f"{live.address}control", json={"paused": False, "pace": 1e6}, timeout=60)
    assert answer.json() == {"pace": 1e6, "paused": False, "ended": False}
    simulation.join(5)
    assert not simulation.is_alive()


@pytest.mark.parametrize(
    "body", ["", "[]", '{"pace": "fast"}', '{"pace": -1}', '{"pace": 1e99}', '{"pace": NaN}', "{", "[" * 4000]
)
def test_controls_that_make_no_sense_change_nothing(live: Live, body: str) -> None:
    answer = httpx.post(f"{live.address}control", content=body, timeout=60)
    assert answer.status_code == 400
    assert live.paced.pace == 1e6


def test_other_sites_are_kept_out(live: Live) -> None:
    assert httpx.get(live.address, headers={"Host": "evil.example"}, timeout=60).status_code == 400
    other = httpx.post(
        f"{live.address}control", json={"paused": True}, headers={"Origin": "http://evil.example"}, timeout=60
    )
    assert other.status_code == 403
    assert not live.paced.paused
    policy = httpx.get(live.address, timeout=60).headers["content-security-policy"]
    assert "default-src 'self'" in policy


def test_a_port_that_is_taken_is_told(live: Live) -> None:
    port = int(live.address.rsplit(":", 1)[1].rstrip("/"))
    with pytest.raises(UserError, match=f"port {port} of 127.0.0.1 cannot be used: address already in use"):
        Live(pace=1.0, port=port)


# A service


def test_a_service_shows_its_cluster_and_ends_although_somebody_looks(tmp_path: Path) -> None:
    two = config(nodes("a", "b"), A={"NODE": 2})
    with serving(tmp_path, two, "ab") as served:
        cluster_of = served.client.base_url
        scene = httpx.get(f"{cluster_of}/view/scene", timeout=60).json()
        assert scene["tenants"] == ["A"]
        assert not scene["simulation"]
        served.run(gang("g", "A", 4))
        with httpx.stream("GET", f"{cluster_of}/view/stream", timeout=60) as stream:
            line = next(x for x in stream.iter_lines() if x.startswith("data: "))
            shown = json.loads(line.removeprefix("data: "))
            assert [x[0] for x in shown["gangs"]] == ["g"]
            assert sum(x[1] == "Used" for x in shown["leaves"]) == 4
            assert served.stop() == 0, "it does not wait until the page is closed"


# In the browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium.browser() as found:
        yield found


class Looked:
    """A page that shows a small cluster, and the cluster."""

    def __init__(self, live: Live, page: Any, tenants: tuple[str, ...]) -> None:
        self.live, self.page = live, page
        self.allocator = cluster(len(tenants), tenants)
        self.problems: list[str] = []
        page.on("pageerror", lambda x: self.problems.append(str(x)))
        page.on("console", lambda x: self.problems.append(x.text) if x.type == "error" else None)
        live.paced.begin(self.allocator, len(tenants) * 32)
        self.now = 0.0
        page.goto(live.address)
        page.wait_for_selector("body[data-ready]")

    def pass_time(self) -> None:
        self.now += 3600.0
        self.live.paced.advance(self.now)
        self.live.paced._picture()
        shown = f"day 1, {self.now // 3600:02.0f}:00:00"
        chromium.expect(self.page.locator("#clock")).to_have_text(shown)


@pytest.fixture
def looked(live: Live, browser: Any) -> Iterator[Looked]:
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.set_default_timeout(chromium.PATIENCE)
    yield Looked(live, page, ("research", "prod", HOSTILE))
    page.close()


@chromium.needed
def test_gangs_and_their_cells_appear_and_go(looked: Looked) -> None:
    page, allocator = looked.page, looked.allocator
    pod = start(allocator, "training")
    looked.live.paced.event(Event(1.0, gang="training"))
    looked.pass_time()
    page.wait_for_selector("text=8 of 96 (8 %)")
    assert page.locator("#cells i.used").count() == 8 + 1, "and one in the key"
    assert page.locator("#rows tr").inner_text().split() == ["training", "research", "5", "8", "Allocated"]
    assert page.locator("#remarks li").first.inner_text().split("\n") == ["day 1, 00:00:01", "training started"]
    page.get_by_role("button", name="training", exact=True).click()
    chromium.expect(page.locator(".host i.lit")).to_have_count(8)
    assert page.locator("#diagram .now").get_attribute("id") == "state-Allocated"
    allocator.delete(pod)
    looked.pass_time()
    page.wait_for_selector("text=0 of 96 (0 %)")
    assert page.locator(".host i.lit").count() == 0
    assert page.locator("#facts").inner_text() == "It is gone."
    assert looked.problems == []


@chromium.needed
def test_a_bad_node_is_marked_and_told_to_those_who_do_not_see_it(looked: Looked) -> None:
    looked.allocator.node_bad("n1-2")
    looked.pass_time()
    bad = looked.page.locator(".host.bad")
    bad.wait_for()
    assert bad.get_attribute("aria-label") == "n1-2 (bad): 0 of 8 taken"


@chromium.needed
def test_colours_can_be_chosen_and_gangs_found(looked: Looked) -> None:
    page = looked.page
    for name, tenant in [("a", "research"), ("b", "prod"), ("c", HOSTILE)]:
        start(looked.allocator, name, tenant=tenant)
    looked.pass_time()
    page.get_by_label("virtual cluster", exact=True).check()
    assert page.locator("#key").inner_text().split("\n") == ["research", "prod", HOSTILE]
    assert len({x.get_attribute("style") for x in page.locator(".host i[style]").all()}) == 3
    page.fill("#find", "prod alloc")
    chromium.expect(page.locator("#rows button")).to_have_text(["b"])


@chromium.needed
def test_names_are_text(looked: Looked) -> None:
    start(looked.allocator, HOSTILE, tenant=HOSTILE)
    looked.live.paced.event(Event(1.0, gang=HOSTILE, detail="</li><script>document.title=1</script>"))
    looked.pass_time()
    looked.page.locator("#rows button").click()
    chromium.expect(looked.page.locator("#chosen-title")).to_have_text(HOSTILE)
    assert looked.page.title() == "Cluster"
    assert looked.problems == []


@chromium.needed
def test_a_simulation_is_paused_from_the_page_by_keyboard(looked: Looked) -> None:
    looked.page.focus("#pause")
    looked.page.keyboard.press("Enter")
    looked.page.wait_for_selector("text=Resume")
    assert looked.live.paced.paused
    looked.page.select_option("#pace", "86400")
    until(lambda: looked.live.paced.pace == 86400)


@chromium.needed
def test_all_but_the_chosen_gang_is_dim(looked: Looked) -> None:
    page = looked.page
    for name in ("one", "other"):
        start(looked.allocator, name)
    looked.pass_time()
    page.get_by_role("button", name="one", exact=True).click()
    chromium.expect(page.locator("#chosen-title")).to_have_text("one")
    look = "x => x.map((y) => [y.classList.contains('lit'), getComputedStyle(y).opacity])"
    squares = page.locator(".host i").evaluate_all(look)
    assert {tuple(x) for x in squares} == {(True, "1"), (False, "0.22")}
    page.get_by_role("button", name="Close").click()
    chromium.expect(page.locator("#chosen")).to_be_hidden()
    assert {x for _, x in page.locator(".host i").evaluate_all(look)} == {"1"}


@chromium.needed
def test_a_simulation_has_a_panel_for_each_virtual_cluster(looked: Looked) -> None:
    page = looked.page
    start(looked.allocator, "training")
    start(looked.allocator, "cheap", priority=-1)
    looked.pass_time()
    page.wait_for_selector("text=16 devices, 8 of them opportunistic, 2 gangs")
    assert page.locator("#quotas li").count() == 3
    page.locator("#quotas").get_by_role("link", name="research").click()
    chromium.expect(page.locator("#chosen-title")).to_have_text("Virtual cluster research")
    chromium.expect(page.locator("#answers")).to_contain_text("Running: 2")
    page.locator("#answers").get_by_role("link", name="training").click()
    chromium.expect(page.locator("#chosen-title")).to_have_text("training")
    assert looked.problems == []


@chromium.needed
def test_a_service_shows_the_machines_of_a_gang(tmp_path: Path, browser: Any) -> None:
    two = config(nodes("a", "b"), A={"NODE": 2})
    with serving(tmp_path, two, "ab") as served:
        served.run(gang("g", "A", 4))
        page = browser.new_page()
        page.set_default_timeout(chromium.PATIENCE)
        page.goto(f"{served.client.base_url}/view/#gang=g")
        page.wait_for_selector("text=Machines of its layers")
        pods = page.get_by_label("Pod, Task, Pod's state, Sliver, Node, Node's state")
        assert pods.locator("tbody tr").count() == 1
        assert pods.locator("tbody td").nth(4).inner_text() in ("a", "b")
        assert chromium.axe(page) == []
        page.close()


@chromium.needed
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_stands_in_the_way_of_a_screen_reader(looked: Looked, scheme: str) -> None:
    looked.page.emulate_media(color_scheme=scheme)
    start(looked.allocator, "training")
    looked.pass_time()
    looked.page.locator("#rows button").click()
    for width in (390, 720, 1440, 2560):
        looked.page.set_viewport_size({"width": width, "height": 850})
        assert chromium.axe(looked.page) == [], width
        assert looked.page.evaluate("document.documentElement.scrollWidth") <= width


@chromium.needed
def test_nodes_have_names(looked: Looked) -> None:
    page = looked.page
    start(looked.allocator, "training")
    looked.pass_time()
    assert page.locator(".host .name").all_inner_texts() == [
        f"n{rack}-{node}" for rack in range(3) for node in range(4)
    ]
    page.locator(".host").nth(5).hover()
    chromium.expect(page.locator("#hint")).to_contain_text("n1-1: 0 of 8 taken")
    page.locator("#usage-title").hover()
    chromium.expect(page.locator("#hint")).to_be_hidden()


@chromium.needed
def test_the_map_is_walked_by_keyboard(looked: Looked) -> None:
    """It is one stop for the Tab key; from there, arrows lead to each node."""
    page = looked.page
    page.set_viewport_size({"width": 1300, "height": 700})
    names = [f"n{rack}-{node}" for rack in range(3) for node in range(4)]
    assert page.locator(".host[tabindex='0']").count() == 1
    page.locator("#colours input").last.focus()
    page.keyboard.press("Tab")

    def now() -> str:
        hint = page.locator("#hint")
        chromium.expect(hint).to_be_visible()
        return str(hint.inner_text()).partition(":")[0]

    seen = [now()]
    for _ in names[1:]:
        page.keyboard.press("ArrowRight")
        seen.append(now())
    assert seen == names
    page.keyboard.press("ArrowRight")
    assert now() == names[-1]
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert now() == names[1]
    place = page.locator(".host").nth(1).bounding_box()
    page.keyboard.press("ArrowDown")
    below = page.locator(".host:focus").bounding_box()
    assert below["y"] > place["y"]
    page.keyboard.press("ArrowUp")
    assert now() == names[1]
    page.keyboard.press("Enter")
    chromium.expect(page.locator("#chosen-title")).to_have_text("Node n0-1")
    page.locator(".host").nth(1).focus()
    page.keyboard.press("Escape")
    chromium.expect(page.locator("#hint")).to_be_hidden()


@chromium.needed
@pytest.mark.parametrize("width", [400, 1240])
def test_a_thousand_nodes_have_names(browser: Any, width: int) -> None:
    """Without what they all begin with, where the squares are small; and none is wider than its node."""
    names = [f"gpu-node-{n:04}" for n in range(1000)]
    cells = [{"cellType": "NODE", "cellAddress": name} for name in names]
    types = {"NODE": {"childCellType": "GPU", "childCellNumber": 8, "isNodeLevel": True}}
    live = Live(pace=1e6)
    try:
        physical = {"cellTypes": types, "physicalCells": cells}
        quota = {"virtualCells": [{"cellType": "NODE", "cellNumber": 1000}]}
        live.paced.begin(
            Allocator.from_config({"physicalCluster": physical, "virtualClusters": {"A": quota}}), 1000 * 8
        )
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(chromium.PATIENCE)
        page.goto(live.address)
        page.wait_for_selector("body[data-ready]")
        labels = page.locator(".host .name").all_text_contents()
        assert labels == [f"…{n:03}" for n in range(1000)]
        wide = "all => all.filter((x) => x.scrollWidth > x.parentElement.clientWidth).length"
        assert page.locator(".host .name").evaluate_all(wide) == 0
        page.locator(".host").first.focus()
        page.keyboard.press("End")
        chromium.expect(page.locator("#hint")).to_contain_text("gpu-node-0999 (bad): 0 of 8 taken")
        box = page.locator("#hint").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= 900
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()
    finally:
        live.close()


@chromium.needed
def test_ten_thousand_cells_stay_usable(browser: Any) -> None:
    allocator = cluster(racks=320)
    for n in range(300):
        start(allocator, f"g{n}", tenant="research" if n % 2 else "prod")
    live = Live(pace=1e6)
    try:
        live.paced.begin(allocator, 320 * 32)
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        began = time.monotonic()
        page.goto(live.address)
        page.wait_for_selector("body[data-ready]")
        assert page.locator(".host").count() == 1280
        page.wait_for_selector("#rows tr")
        assert page.locator("#rows tr").count() == 200
        page.get_by_label("gang", exact=True).check()
        assert time.monotonic() - began < 40, "three where nothing else is done"
        page.close()
    finally:
        live.close()


def test_files_are_there_and_fetch_nothing_from_outside() -> None:
    for path in sorted(Path(STATIC).iterdir()):
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, path.name
        assert "https://" not in text, path.name
