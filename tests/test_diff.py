"""Two versions of a spec: what is said of real edits, and that what is said is so."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import chromium
import pytest
from axe_playwright_python.sync_playwright import Axe
from random_systems import text_of
from test_cli import fsm
from test_formats import quickly

from fsmdsl import model as m
from fsmdsl.compare import Bounds, Difference, Run, compare
from fsmdsl.compare.as_markdown import as_markdown
from fsmdsl.compare.behaviour import alone
from fsmdsl.compare.page import page
from fsmdsl.compare.pictures import as_mermaid, as_svg, merged
from fsmdsl.compare.render_text import lines, sentence
from fsmdsl.describe import describe
from fsmdsl.explore.trace import world_data
from fsmdsl.parse import parse
from fsmdsl.resolve import resolve
from fsmdsl.source import Source
from fsmdsl.step import Universe, World, enabled, fire
from fsmdsl.workspace import load, shipped

ROOT = Path(__file__).parent.parent
HIVED = re.sub(r"property s14:.*", "", (ROOT / "specs" / "hived" / "hived.fsm").read_text("utf-8"))
"""Without the properties of recovery, which take their time."""
DROPPED = " when all c in cells - {cell}: c in Used"
SHORT = Bounds(3000, 5.0)


def model_of(text: str, name: str = "spec.fsm") -> m.Model:
    parsed = parse(Source(name, text))
    resolved = resolve([parsed.module])
    assert (*parsed.diagnostics, *resolved.diagnostics) == ()
    assert resolved.model is not None
    return resolved.model


def edited(old: str, new: str, text: str = HIVED) -> str:
    assert old in text
    return text.replace(old, new)


def difference(new: str, old: str = HIVED, *, deep: bool = True) -> Difference:
    return compare(model_of(old), model_of(new), SHORT, run=deep, verify=deep)


def said(found: Difference) -> list[str]:
    return [" | ".join(sentence(change)) for part in found.parts for change in part.changes]


# Nothing has changed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", sorted(p.name for p in (ROOT / "specs").iterdir()))
def test_a_spec_is_the_same_as_itself(folder: str) -> None:
    old, new = (load([ROOT / "specs" / folder]).model for _ in range(2))
    assert old is not None
    assert new is not None
    found = compare(old, new)
    assert not found.found
    assert {b.outcome for b in found.behaviours} == {"same"}


def test_words_and_layout_make_no_difference() -> None:
    new = re.sub(r"///.*", "/// said otherwise", HIVED).replace(
        "on take(by)     do {", "on take(by)\n\n   do {  // so\n"
    )
    new = new.replace('volatile           state BeingPreempted "Being preempted"', "volatile state BeingPreempted")
    found = difference(new)
    assert said(found) == []
    assert not found.found
    assert {b.basis for b in found.behaviours} == {"nothing that it is made of has changed"}


# Real edits ----------------------------------------------------------------------------------------------------------


def test_a_guard_that_is_dropped() -> None:
    found = difference(edited(DROPPED, ""))
    assert said(found) == [
        "changed transition `back: BeingPreempted -> Allocated on given_back(cell)` | "
        "has lost its guard: `all c in cells - {cell}: c in Used`"
    ]
    first = next(b for b in found.behaviours if b.name == "hived.PreemptionSmall")
    (run,) = first.runs
    assert run.trace.steps() == ["g0.schedule({c0, c1})", "g1.schedule({c0, c1})", "g1.pods_deleted"]
    assert run.allowed_by == "old"
    assert "`given_back` reaches g0 in `Allocated`" in run.why
    turned = {(t.scope, t.shown): (t.old, t.new) for t in found.turns}
    assert turned["hived.PreemptionSmall", "fault unhandled"] == ("holds", "violated")
    assert turned["hived", "scenario H5Half"] == ("passes", "fails")
    assert all(t.worse for t in found.turns)


def test_a_state_that_is_renamed_is_no_other_state() -> None:
    found = difference(re.sub(r"\bReserved\b", "Held", HIVED))
    assert said(found) == ["state `Reserved` is called `Held` now"]
    assert {b.outcome for b in found.behaviours} == {"same"}
    assert all(b.basis.startswith("exhaustively: ") for b in found.behaviours)
    assert found.turns == ()


def test_two_states_that_are_renamed_at_once() -> None:
    new = re.sub(r"\bReserving\b", "Waiting", re.sub(r"\bReserved\b", "Held", HIVED))
    renamed = {a: b for part in difference(new, deep=False).parts for a, b in part.states.items()}
    assert renamed == {"Reserved": "Held", "Reserving": "Waiting"}


def test_a_state_of_another_kind_is_no_renaming() -> None:
    old = "machine A { initial state X  state Y  event e from environment  X -> Y on e }"
    new = "machine A { initial state X  state Z  event e, f from environment  X on e  Z -> X on f }"
    assert [s.split(" |")[0] for s in said(difference(new, old))][:2] == ["removed state `Y`", "added state `Z`"]


def test_which_of_two_alike_was_renamed_is_not_guessed() -> None:
    old = "machine A { initial state X  state Y  state Z  event e from environment  X -> Y on e  X -> Z on e }"
    new = old.replace("state Y  state Z", "state P  state Q").replace("X -> Y", "X -> P").replace("X -> Z", "X -> Q")
    (part,) = difference(new, old).parts
    assert dict(part.states) == {}


@pytest.mark.parametrize("folder", sorted(p.name for p in (ROOT / "specs").iterdir()))
def test_a_machine_that_is_renamed_is_no_other_machine(folder: str, tmp_path: Path) -> None:
    """Each machine of the documents in turn: all that refers to it follows, and nothing is different but its name."""
    paths = sorted((ROOT / "specs" / folder).glob("*.fsm"))
    old = load(paths).model
    assert old is not None
    for machine in (x for x in old.machines.values() if not shipped(x.span.source.name)):
        for path in paths:
            (tmp_path / path.name).write_text(re.sub(rf"\b{machine.name}\b", "Other", path.read_text("utf-8")))
        new = load(sorted(tmp_path.glob("*.fsm"))).model
        assert new is not None, machine.name
        found = compare(old, new, SHORT)
        names = [change for part in found.parts for change in part.changes if change.what == "machine"]
        assert [(x.kind, x.was, x.now) for x in names] == [("renamed", machine.qualified, f"{machine.module}.Other")]
        others = [change for part in found.parts for change in part.changes if change.what not in ("machine", "state")]
        assert others == [], machine.name  # a state may have the same name
        assert {b.outcome for b in found.behaviours} <= {"same"}
        assert found.turns == ()


def test_a_machine_that_is_renamed_and_changed() -> None:
    found = difference(re.sub(r"\bCell\b", "Slot", edited(DROPPED, "")))
    assert said(found)[0] == "machine `hived.Cell` is called `hived.Slot` now"
    assert [x.partition(" | ")[0] for x in said(found)[1:]] == [
        "changed transition `back: BeingPreempted -> Allocated on given_back(cell)`"
    ]
    assert [b.name for b in found.behaviours if b.outcome == "different"]


def test_another_machine_in_the_place_of_one_is_another_machine() -> None:
    new = "machine B { n: 0..3  initial state P  state Q  event go from environment  P -> Q on go when n < 2 }"
    found = difference(new, "machine A { initial state X  state Y  event e from environment  X -> Y on e }")
    assert [(part.kind, part.name) for part in found.parts] == [("removed", "spec.A"), ("added", "spec.B")]


def test_a_transition_that_is_added() -> None:
    row = "    e1: Used      -> Free       on free         do { release; user = none }\n"
    found = difference(
        edited(row, f"{row}    lost: Used -> Free on pod_deleted do {{ release; user = none }}\n"), deep=False
    )
    assert said(found) == [
        "added transition `lost: Used -> Free on pod_deleted` | "
        "`lost: Used -> Free on pod_deleted do { release; user = none }`"
    ]


def test_a_long_row_that_is_added_is_shown_in_full() -> None:
    guard = " and ".join(["user != none"] * 20)
    row = "    e1: Used      -> Free       on free         do { release; user = none }\n"
    long = f"lost: Used -> Free on pod_deleted when {guard} do {{ release; user = none }}"
    for found in (
        difference(edited(row, f"{row}    {long}\n"), deep=False),
        difference(HIVED, edited(row, f"{row}    {long}\n"), deep=False),
    ):
        (told,) = said(found)
        assert told.endswith(f"| `{long}`")


def test_a_transition_that_leads_elsewhere() -> None:
    found = difference(
        edited("e7: Reserved  -> Free       on cancel ", "e7: Reserved  -> Used       on cancel "), deep=False
    )
    assert said(found) == ["moved transition `e7: Reserved -> Used on cancel` | leads to `Used`, not to `Free`"]
    (picture,) = (both for part in found.parts if (both := merged(part)) is not None)
    assert sorted(picture.rows.values()) == ["added", "removed"]


def test_another_priority() -> None:
    path = ROOT / "specs" / "confine" / "confine.fsm"
    text = path.read_text("utf-8")
    old, new = "priority U4 > U5", "priority U5 > U4"
    found = difference(edited(old, new, text), text, deep=False)
    assert said(found) == ["changed priority | `U4 > U5` → `U5 > U4`"]


def test_another_priority_is_another_behaviour() -> None:
    old = """
    machine A {
        initial state X  state Y  state Z
        event e from environment
        y: X -> Y on e  z: X -> Z on e  Y on e  Z on e
        priority y > z
    }
    system S { a: A }
    """
    (b,) = difference(edited("y > z", "z > y", old), old).behaviours
    assert [run.trace.steps() for run in b.runs] == [["a.e"], ["a.e"]]
    assert [run.why for run in b.runs] == ["a is in `Z` there, not `Y`", "a is in `Y` there, not `Z`"]


def test_lines_with_several_sources_are_told_once() -> None:
    old = "machine A { initial state X  state Y  state Z  event e from environment  X, Y -> Z on e }"
    found = difference(old.replace("on e }", "on e when false }"), old)
    assert said(found) == ["changed transition `X, Y -> Z on e` | has a guard now: `false`"]


def test_a_row_of_every_state() -> None:
    old = "machine A { initial state X  state Y  final state Z  event e, f from environment  X -> Y on e  * -> Z on f }"
    wider = old.replace("state Y ", "state Y  state W ").replace("X -> Y on e", "X -> Y on e  Y -> W on e")
    assert said(difference(wider, old, deep=False)) == ["added state `W`", "added transition `Y -> W on e`"]
    assert said(difference(old, wider, deep=False)) == ["removed state `W`", "removed transition `Y -> W on e`"]
    none = old.replace("* -> Z on f", "X -> Z on f")
    assert said(difference(old, none, deep=False)) == [
        "changed transition `* -> Z on f` | is a row of `*` now",
        "added transition `* -> Z on f`",
    ]
    guarded = old.replace("* -> Z on f", "* -> Z on f when false")
    assert said(difference(guarded, old, deep=False)) == ["changed transition `* -> Z on f` | has a guard now: `false`"]


def test_other_declarations() -> None:
    old = """
    enum Colour { red | green }
    machine A {
        n: 0..3
        c: Colour
        initial state X
        event e from environment
        action act
        X on e do act
        invariant low: n < 3
        invariant n >= 0
    }
    system S { a: A  reachable r: a in X }
    """
    new = (
        old.replace("red | green", "red | blue")
        .replace("n: 0..3", "n: 0..4 = 1")
        .replace("action act", "action act, rest")
        .replace("low: n < 3", "low: n < 4")
        .replace("invariant n >= 0", "invariant n >= 1")
        .replace("system S { a: A ", "system S { a: A[2] ")
        .replace("r: a in X", "r: a0 in X")
    )
    assert said(difference(new, old)) == [
        "changed field `n` | `n: 0..3` → `n: 0..4 = 1`",
        "changed invariant `low` | `n < 3` → `n < 4`",
        "changed invariant | `n >= 0` → `n >= 1`",
        "added action `rest`",
        "changed enum `Colour` | `enum Colour { red | green }` → `enum Colour { red | blue }`",
        "changed instances `a` | `a: A` → `a: A[2]`",
        "changed reachable `r` | `a in X` → `a0 in X`",
    ]
    (behaviour,) = difference(new, old).behaviours
    assert behaviour.outcome == "unknown"
    assert behaviour.basis == "not comparable: the instances were a, and are a0, a1"


def test_machines_that_stand_alone() -> None:
    old = "machine Door { initial state Shut  state Open  event push  Shut -> Open on push  Open -> Shut on push }"
    found = difference(old.replace("Open -> Shut on push", "Open on push"), old)
    (b,) = found.behaviours
    assert (b.name, b.alone, b.outcome) == ("spec.Door", True, "different")
    assert b.runs[0].trace.steps() == ["door.push", "door.push"]
    assert b.runs[0].why == "door is in `Open` there, not `Shut`"


def test_timers_go_by_what_they_do() -> None:
    old = "machine A { initial state X  state Y  state Z  X -> Y after 5s  X -> Z after 9s  Y -> X after 1s }"
    moved = old.replace("X -> Y after 5s  X -> Z after 9s", "late: X -> Z after 8s  soon: X -> Y after 6s")
    (b,) = difference(moved, old).behaviours
    assert (b.outcome, b.basis) == ("same", "exhaustively: 3 states")
    (b,) = difference(old.replace("X -> Z after 9s  ", ""), old).behaviours
    (run,) = b.runs
    assert (run.allowed_by, run.trace.steps(), run.why) == ("old", ["timeout a of X"], "no timer does this there")


def test_a_limit_is_no_sameness() -> None:
    new = edited("initial  state Free", "initial  state Vacant").replace("Free", "Vacant")
    found = compare(model_of(HIVED), model_of(new), Bounds(20, 5.0), verify=False)
    takeover = next(b for b in found.behaviours if b.name == "hived.Takeover")
    assert (takeover.outcome, takeover.basis) == ("unknown", "up to 20 states")


# What is claimed is so -----------------------------------------------------------------------------------------------


def observed(universe: Universe, world: World, fields: set[str]) -> Any:
    data = world_data(universe, world)
    for x in data["instances"].values():
        x["fields"] = {name: value for name, value in x["fields"].items() if name in fields}
        del x["params"]
    return data


def check_run(run: Run, old: Universe, new: Universe) -> None:
    """One version allows the run; in the other, nothing that goes by the names of its steps leads the same way."""
    mine, other = (old, new) if run.allowed_by == "old" else (new, old)
    names = [{f.name for x in u.machines for f in x.fields} for u in (old, new)]
    shared = names[0] & names[1]
    known = {other.start}
    if observed(mine, mine.start, shared) != observed(other, other.start, shared):
        assert run.trace.entries == ()
        return
    for said, (before, entry) in zip(run.trace.steps(), run.trace.befores(), strict=True):
        assert known, "they part before the last step"
        assert entry.step in enabled(mine, before)
        assert fire(mine, before, entry.step).world == entry.world
        assert entry.fault is None
        steps = ((w, s) for w in known for s in enabled(other, w) if describe(other, s, w) == said)
        results = (fire(other, w, s) for w, s in steps)
        seen = observed(mine, entry.world, shared)
        known = {r.world for r in results if r.fault is None and observed(other, r.world, shared) == seen}
    assert not known, "both allow it"


def mutants(model: m.Model, chance: random.Random) -> Iterator[m.Model]:
    """The model without a transition, without a guard, or with another target."""
    for module in model.modules:
        for machine in module.machines:
            if not machine.transitions:
                continue
            t = chance.choice(machine.transitions)
            leaf = chance.choice(machine.leaves).name
            for row in (None, replace(t, guard=None), replace(t, target=leaf)):
                rows = [row if x is t else x for x in machine.transitions]
                kept = tuple(replace(x, index=n) for n, x in enumerate(x for x in rows if x is not None))
                other = replace(machine, transitions=kept)
                machines = tuple(other if x is machine else x for x in module.machines)
                yield m.Model(tuple(replace(x, machines=machines) if x is module else x for x in model.modules))


@pytest.mark.parametrize("seed", range(8))
def test_runs_of_one_version_alone_are_so(seed: int) -> None:
    model = model_of(text_of(seed), f"system_{seed}.fsm")
    assert not compare(model, model).found
    for new in mutants(model, random.Random(seed)):
        found = compare(model, new, Bounds(200, 1.0), verify=False)
        for b in found.behaviours:
            sides = [alone(x, x.machines[b.name]) if b.alone else Universe(x, x.systems[b.name]) for x in (model, new)]
            for run in b.runs:
                assert sides[0] is not None
                assert sides[1] is not None
                check_run(run, sides[0], sides[1])


def test_runs_of_real_edits_are_so() -> None:
    old = model_of(HIVED)
    checked = 0
    for new in mutants(old, random.Random(5)):
        for b in compare(old, new, SHORT, verify=False).behaviours:
            for run in b.runs:
                check_run(run, Universe(old, old.systems[b.name]), Universe(new, new.systems[b.name]))
                checked += 1
    assert checked > 5


# As a person uses it -------------------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits, and an edit that is in neither."""
    monkeypatch.chdir(tmp_path)
    small = re.sub(r"system (?!PreemptionSmall|Settling)\w+ \{.*?\n\}\n", "", HIVED, flags=re.DOTALL)
    specs = tmp_path / "specs"
    specs.mkdir()
    git(tmp_path, "init", "-q", "-b", "main")
    (specs / "hived.fsm").write_text(small, "utf-8")
    (specs / "two words.fsm").write_text(
        "module other\nmachine A { initial state X  event e from environment  X on e }"
    )
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    (specs / "hived.fsm").write_text(edited(DROPPED, "", small), "utf-8")
    git(tmp_path, "commit", "-q", "-a", "-m", "second")
    (specs / "hived.fsm").write_text(small.replace("Free", "Idle"))
    return tmp_path


def test_revisions(repository: Path) -> None:
    done = fsm("diff", "HEAD~1", "HEAD", cwd=repository)
    assert (done.returncode, done.stderr) == (1, "")
    assert "has lost its guard" in done.stdout
    assert "only HEAD~1:specs allows these 3 steps:" in done.stdout
    assert done.stdout.endswith("1 change, 2 behave differently, 8 other answers\n")
    renamed = quickly("diff", "HEAD~1", "specs", "--quick", cwd=repository)
    assert renamed.stdout == ("machine hived.Cell\n  ~ state `Free` is called `Idle` now\n1 change\n")
    assert quickly("diff", "HEAD", "HEAD", "specs", cwd=repository).returncode == 0
    assert quickly("diff", "git:HEAD:specs/hived.fsm", "HEAD:specs/hived.fsm", cwd=repository).returncode == 0
    assert "hived.Cell" in fsm("diff", "HEAD~1", "--quick", cwd=repository / "specs").stdout


def test_places_in_revisions_go_by_their_names(repository: Path) -> None:
    done = quickly("diff", "HEAD~1", "HEAD", "--no-verdicts", "--format", "json", cwd=repository)
    assert "/fsm-" not in done.stdout
    found = json.loads(done.stdout)
    change = found["parts"][0]["changes"][0]
    assert (change["before"]["file"], change["after"]["file"]) == ("HEAD~1:specs/hived.fsm", "HEAD:specs/hived.fsm")
    assert (found["kind"], found["different"]) == ("diff", True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere", "specs"), "git knows no revision `nowhere`, and there is no file or folder of that name"),
        (("./nowhere.fsm", "specs"), "there is no file or folder `./nowhere.fsm`"),
        (("HEAD:lost", "specs"), "`lost` has no specs in `HEAD`"),
        (("--output=x", "git:"), "`git:` names no revision: write `git:HEAD~1:specs`"),
        (("git:--output=x", "specs"), "git knows no revision `--output=x`"),
    ],
)
def test_misuse(repository: Path, arguments: tuple[str, ...], told: str) -> None:
    done = quickly("diff", *arguments, cwd=repository)
    assert done.returncode == 2
    assert told in done.stderr


def test_outside_of_a_repository(tmp_path: Path) -> None:
    (tmp_path / "a.fsm").write_text("machine A { initial state X }")
    done = fsm("diff", "HEAD", "a.fsm", cwd=tmp_path)
    assert done.returncode == 2
    assert "outside of a git repository" in done.stderr


def test_a_version_with_errors_is_not_compared(repository: Path) -> None:
    (repository / "specs" / "hived.fsm").write_text("machine {")
    git(repository, "commit", "-q", "-a", "-m", "broken")
    done = quickly("diff", "HEAD", "HEAD~1", "specs", cwd=repository)
    assert done.returncode == 2
    assert "--> HEAD:specs/hived.fsm:1:" in done.stderr
    assert "in HEAD:specs; fix that first" in done.stderr


def test_the_page_and_the_diagrams(repository: Path) -> None:
    done = quickly("diff", "HEAD~1", "HEAD", "--no-verdicts", "--out", "out", cwd=repository)
    assert done.returncode == 1
    shown = (repository / "out" / "index.html").read_text("utf-8")
    assert "http://" not in shown.replace("http://www.w3.org", "")
    assert "https://" not in shown
    assert "The same steps lead elsewhere; in HEAD~1:specs:" in shown
    svg = ElementTree.parse(repository / "out" / "hived.AffinityGroup.svg").getroot()
    looks = [x.get("class", "") for x in svg.iter() if "diff-" in x.get("class", "")]
    assert any(look.startswith("edge") and look.endswith("diff-changed") for look in looks)
    assert "~ back" in "".join(svg.itertext())


def test_large_machines_are_drawn_where_they_have_changed() -> None:
    rows = "".join(f"  t{n}: S{n % 60} -> S{n * 7 % 60} on e" for n in range(300))
    states = "".join(f"  {'initial ' * (n == 0)}state S{n}" for n in range(60))
    old = f"machine A {{ {states} event e from environment {rows} }}"
    found = difference(old.replace("t123: S3 -> S21 on e", "t123: S3 -> S22 on e"), old, deep=False)
    (both,) = (x for part in found.parts if (x := merged(part)) is not None)
    assert not both.whole
    assert [s.name for s in both.machine.states] == ["S3", "S21", "S22"]
    assert {t.name for t in both.machine.transitions} == {"+ t123", "− t123"}
    assert isinstance(as_svg(both), str)


@chromium.needed
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(tmp_path: Path, scheme: Literal["light", "dark"]) -> None:
    found = difference(edited(DROPPED, ""))
    svgs = {part.name: as_svg(both) for part in found.parts if (both := merged(part)) is not None}
    path = tmp_path / "index.html"
    path.write_text(page(found, "old", "new", {name: svg for name, svg in svgs.items() if isinstance(svg, str)}))
    with chromium.browser() as browser:
        tab = browser.new_page(color_scheme=scheme)
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.as_uri())
        assert asked == [path.as_uri()]
        assert tab.get_by_role("heading", level=1).inner_text() == "old → new"
        arrow = tab.locator(".edge.diff-changed > path").first
        assert arrow.evaluate("x => getComputedStyle(x).stroke") == "rgb(168, 111, 0)"
        tab.get_by_text("The run").first.click()
        assert tab.locator("details[open] pre").first.is_visible()
        for width in (390, 720, 1440, 2560):
            tab.set_viewport_size({"width": width, "height": 850})
            assert Axe().run(tab).response["violations"] == [], width
            assert tab.evaluate("document.documentElement.scrollWidth") <= width


HOSTILE = """
/// <script>alert(1)</script> | `code` ]]> @everyone
machine Door "<b>|`x`" {
    initial state Shut "<img src=x onerror=alert(1)>"
    state Open "``` | @team #1"
    event push from environment
    Shut -> Open on push
}
"""


def test_hostile_names_are_text() -> None:
    found = difference(
        HOSTILE.replace("Shut -> Open on push", "Shut on push").replace("state Open", "state Ajar"), HOSTILE
    )
    (part,) = (x for x in found.parts if x.owner == "machine")
    both = merged(part)
    assert both is not None
    svg = as_svg(both)
    assert isinstance(svg, str)
    assert "<img" not in svg
    ElementTree.fromstring(svg)
    assert "<img" not in as_mermaid(both)
    told = as_markdown(found, "<a>|`", "@b")
    assert "@b" not in told.split("\n")[0]
    assert "<a>" not in re.sub(r"`[^`]*`", "", told)
    assert list(lines(found, "old", "new"))
    shown = page(found, "<script>old</script>", "new", {part.name: svg})
    assert "<script" not in shown
    assert "<img" not in shown


def test_markdown(repository: Path) -> None:
    done = quickly("diff", "HEAD~1", "HEAD", "--format", "markdown", "--output", "summary.md", cwd=repository)
    assert (done.returncode, done.stdout) == (1, "1 change, 2 behave differently, 8 other answers\n")
    told = (repository / "summary.md").read_text("utf-8")
    assert told.startswith("### fsm diff `HEAD~1:specs` → `HEAD:specs`: 1 change, 2 behave differently")
    assert told.count("<details>") == told.count("</details>") == 3
    assert "| ✗ holds → violated | hived.Settling | invariant AffinityGroup: s6 |" in told
    assert "```mermaid\nstateDiagram-v2" in told
    assert len(told) < 20_000


def test_as_documented_what_the_document_changes(tmp_path: Path) -> None:
    """Amendments of either version are left out."""
    text = (ROOT / "fsmdsl" / "cli" / "lease.fsm").read_text("utf-8")
    (tmp_path / "old.fsm").write_text(text, "utf-8")
    (tmp_path / "new.fsm").write_text(text.replace("ignore leave in Leaving", "ignore leave in Left"), "utf-8")
    done = fsm("diff", "old.fsm", "new.fsm", "--quick", cwd=tmp_path)
    assert (done.returncode, "ignore `leave in Left`" in done.stdout) == (1, True)
    done = fsm("diff", "old.fsm", "new.fsm", "--quick", "--as-documented", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
