"""The modules that are shipped with the toolkit: found by name from everywhere, checked, and explored part by part."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_tutorial import followed
from tiers import today

from fsmdsl.check import check
from fsmdsl.editor.editing import OpenDocuments, completions
from fsmdsl.editor.editing.rename import RefusedError, rename
from fsmdsl.editor.live.documents import Documents
from fsmdsl.editor.live.loading import model_of, texts_of
from fsmdsl.model.workspace import LIBRARY, load
from fsmdsl.search import Exploration, explore, play
from fsmdsl.syntax.format import format_source
from fsmdsl.text.diagnostics import Severity

ROOT = Path(__file__).absolute().parent.parent
MODULES = sorted(LIBRARY.rglob("*.fsm"))
PARTS = ROOT / "tests" / "library" / "kubernetes_parts.fsm"
USER = "module user\nimport kubernetes { Object }\nsystem S { pod: Object }\n"

# Found by name -------------------------------------------------------------------------------------------------------


def test_a_library_is_found_where_no_file_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("user.fsm").write_text(USER)
    loaded = load(["user.fsm"])
    assert loaded.diagnostics == ()
    assert [p.source.name for p in loaded.parsed] == ["user.fsm", str(LIBRARY / "kubernetes.fsm")]
    assert loaded.root_modules == {"user"}


def test_a_file_of_the_same_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("user.fsm").write_text(USER)
    Path("kubernetes.fsm").write_text("module kubernetes\nmachine Object { initial state Own }\n")
    model = load(["user.fsm"]).model
    assert model is not None
    assert [s.name for s in model.machines["kubernetes.Object"].states] == ["Own"]


def test_the_live_page_reads_it(tmp_path: Path) -> None:
    (tmp_path / "user.fsm").write_text(USER)
    model = model_of(texts_of(Documents([tmp_path]), {}), False)
    assert model is not None
    assert "kubernetes.Object" in model.machines


def test_the_editor_knows_it(tmp_path: Path) -> None:
    user, other = tmp_path / "user.fsm", tmp_path / "other.fsm"
    user.write_text(USER)
    other.write_text(USER.replace("module user", "module other"))
    desk = OpenDocuments([tmp_path])
    analysis = desk.analysis(str(user))
    at = USER.index("pod: Object") + len("pod: ")
    (use,) = analysis.uses_at(str(user), at)
    (declared,) = [u for u in analysis.uses_of([use.meaning]) if u.declares]
    assert declared.span.source.name == str(LIBRARY / "kubernetes.fsm")
    assert str(other) not in desk.documents(str(user)), "two that import a library have nothing to do with each other"


def test_the_editor_offers_it() -> None:
    text = "module user\nimport "
    assert "kubernetes" in {c.label for c in completions(text, len(text))}


def test_what_it_declares_keeps_its_name(tmp_path: Path) -> None:
    user = tmp_path / "user.fsm"
    user.write_text(USER)
    analysis = OpenDocuments([tmp_path]).analysis(str(user))
    with pytest.raises(RefusedError, match="declared in the library"):
        rename(analysis, str(user), USER.index("pod: Object") + len("pod: "), "Thing")
    assert rename(analysis, str(user), USER.index("pod: Object"), "thing")


def test_the_editor_prefers_a_file_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "own").mkdir()
    user, own = tmp_path / "specs" / "user.fsm", tmp_path / "own" / "kubernetes.fsm"
    user.write_text(USER)
    own.write_text("module kubernetes\nmachine Object { initial state Own }\n")
    assert set(OpenDocuments([tmp_path]).documents(str(user))) == {str(user), str(own)}


# What is in it -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*MODULES, PARTS], ids=lambda p: p.stem)
def test_a_library_is_clean(path: Path) -> None:
    loaded = load([path])
    assert loaded.model is not None
    assert format_source(loaded.parsed[0]) == path.read_text("utf-8")
    assert [d for d in check(loaded.model) if d.severity > Severity.NOTE] == []


def test_the_parts_of_kubernetes_do_what_its_documents_say() -> None:
    model = load([PARTS]).model
    assert model is not None
    assert {x.name: x.failure for x in (play(model, s) for s in model.scenarios.values()) if not x.passed} == {}
    states = {}
    for system in model.systems.values():
        found = explore(model, system)
        assert found.complete
        assert [v.name for v in found.violations] == []
        states[system.name] = found.states
    assert states == {
        "Cached": 24_825,
        "Conditions": 453,
        "UnderWay": 3_088,
        "Unconditional": 172,
        "Generated": 17_290,
        "Repeated": 22,
        "Owned": 54,
        "Nodes": 60,
        "Election": 15,
    }


FAULTS = {
    "a copy shows no conditions": (
        "conditions = if direct then of.conditions else through.conditions",
        "conditions = conditions",
        {"shows", "own_writes"},
    ),
    "a condition makes no version": (
        "{ remove condition from conditions }\n        current_in = {}",
        "{ remove condition from conditions }",
        {"shows", "own_writes", "OneVersion"},
    ),
    "conditions outlive the object": (
        "        conditions = {}\n        members = {}\n        owner_uid = 0\n        current_in = {}",
        "        members = {}\n        owner_uid = 0\n        current_in = {}",
        {"shows", "clean"},
    ),
    "a request carries no version": (
        "conditional = version != none\n",
        "conditional = false\n",
        {"raised", "Overtaken"},
    ),
    "a request keeps an old version": (
        "{ status = value; current_in = {}; carried_by = {} }",
        "{ status = value; current_in = {} }",
        {"raised", "Overtaken"},
    ),
    "the uid is not compared": (
        " and (verb != delete_uid or number == of.uid)",
        "",
        {"first", "enough_lives", "Precondition"},
    ),
    "a name is in use, and is created": ("then names != none or of in Absent", "then true", {"AlreadyExists"}),
    "a late request is lost": (
        "late:     Late -> Landed     on arrive",
        "late:     Late -> Lost       on arrive",
        {"unknown", "twice", "TimedOut", "OfAFormerProcess", "TwiceMade"},
    ),
    "a request ends with its client": (
        "restart:  Sent -> Late       on crash",
        "restart:  Sent -> Lost       on crash",
        {"clean", "OfAFormerProcess"},
    ),
    "what was written is not awaited": (
        "on wrote    do if not current { awaits = true }",
        "on wrote",
        {"own_writes", "OwnWrites", "TwiceMade"},
    ),
    "a write that changes nothing is awaited": (
        "on wrote    do if not current { awaits = true }",
        "on wrote    do awaits = true",
        {"caught_up", "OwnWrites"},
    ),
    "a name is given out again while it is shown": (
        "c.of != o or not (c.exists or c.awaits)",
        "c.of != o or not c.awaits",
        {"new", "GeneratedName"},
    ),
}
"""Text of the library, what replaces it, and the properties and scenarios that fail then."""


@pytest.mark.parametrize("fault", today(list(FAULTS)))
def test_a_fault_of_the_library_is_noticed(fault: str, tmp_path: Path) -> None:
    before, after, failures = FAULTS[fault]
    text = (LIBRARY / "kubernetes.fsm").read_text("utf-8")
    assert before in text
    (tmp_path / "kubernetes.fsm").write_text(text.replace(before, after), "utf-8")
    (tmp_path / PARTS.name).write_text(PARTS.read_text("utf-8"), "utf-8")
    model = load([tmp_path / PARTS.name]).model
    assert model is not None
    violations = {v.name.removeprefix("Object: ") for x in model.systems.values() for v in explore(model, x).violations}
    scenarios = {s.name for s in model.scenarios.values() if not play(model, s).passed}
    assert violations | scenarios == failures


BINDER = """module binder
import kubernetes { Object, Copy, Faults }
machine Binder {
    param pod: Object
    param seen: Copy
    uid: 0..7
    spec: 0..7
    initial state Idle
            state Binding
    event schedule, bind from environment
    Idle -> Binding on schedule when seen.exists do { uid = seen.uid; spec = seen.spec }
    Binding -> Idle on bind do if pod.uid == uid { pod.set_status(none, 1) }
}
system OnePod {
    pod: Object in Live { spec = 1, %s }
    seen: Copy { of = pod }
    binder: Binder { pod = pod, seen = seen }
    faults: Faults
    environment {
        pod.delete
        pod.create(2, false) %s
        seen.deliver when not seen.current
        binder.schedule
        binder.bind
        faults.cease
    }
    %s
    invariant fits: pod.status == 1 => pod.spec == binder.spec
}
"""
"""It binds the pod whose uid it has seen, and no later one of the same name."""


def bound_by_uid(folder: Path, *parts: str) -> Exploration:
    (folder / "binder.fsm").write_text(BINDER % parts)
    model = load([folder / "binder.fsm"]).model
    assert model is not None
    return explore(model, model.systems["binder.OnePod"])


@pytest.mark.parametrize("lives", [1, 2, 3, 7])
@pytest.mark.parametrize(
    ("guard", "bound", "violated", "beyond"),
    [
        ("", "", ["Object: enough_lives"], False),
        ("", "explore while not pod.used_up", [], True),
        ("when not pod.used_up", "", [], False),
    ],
    ids=["alone", "bounded", "guarded"],
)
def test_no_uid_comes_twice(
    lives: int, guard: str, bound: str, violated: list[str], *, beyond: bool, tmp_path: Path
) -> None:
    exploration = bound_by_uid(tmp_path, f"lives = {lives}", guard, bound)
    assert exploration.complete
    assert [v.name for v in exploration.violations] == violated
    assert bool(exploration.beyond) is beyond


def test_without_lives_all_lives_have_one_uid(tmp_path: Path) -> None:
    exploration = bound_by_uid(tmp_path, "lives = 0", "", "invariant one: pod.uid == 0")
    assert [v.name for v in exploration.violations] == ["fits"]


ANSWERED = """module answered
import kubernetes { Object, Copy }
machine Writer {
    param pod: Object
    param seen: Copy
    initial resting state Idle
            state Created
            state AlreadyExists
            state Deleted
            state NotFound
            state Conflict
    event create, delete, write, again from environment
    Idle -> Created on create when pod not in Present do pod.create(0, false)
    Idle -> AlreadyExists on create when pod in Present do pod.create(1, false)
    Idle -> Deleted on delete when pod not in Absent do pod.delete
    Idle -> NotFound on delete when pod in Absent do pod.delete
    Idle on write when pod in Present and pod.admits(seen) do pod.set_status(seen, 1)
    Idle -> Conflict on write when pod in Present and not pod.admits(seen) do pod.set_status(seen, 2)
    Created, AlreadyExists, Deleted, NotFound, Conflict -> Idle on again
}
system TwoWriters {
    pod: Object { lives = 0 }
    seen: Copy[2] { of = pod }
    writers: Writer[2] { pod = pod, seen = seen[index] }
    environment {
        some c in seen: c.deliver
        some w in writers: w.create
        some w in writers: w.delete
        some w in writers: w.write
        some w in writers: w.again
    }
    invariant refused: pod.spec == 0 and pod.status != 2
    reachable exists: some w in writers: w in AlreadyExists
    reachable gone: some w in writers: w in NotFound
    reachable conflict: some w in writers: w in Conflict
}
"""
"""Requests that the API server refuses would leave a 1 in `spec`, or a 2 in `status`."""


def test_a_row_reads_the_answer_of_its_request(tmp_path: Path) -> None:
    (tmp_path / "answered.fsm").write_text(ANSWERED)
    model = load([tmp_path / "answered.fsm"]).model
    assert model is not None
    exploration = explore(model, model.systems["answered.TwoWriters"])
    assert exploration.complete
    assert [v.name for v in exploration.violations] == []


SCALED = """module scaled
import kubernetes { Object, Copy, NameGenerator, WorkQueue }
machine Controller {
    param names: NameGenerator
    param seen: set<Copy>
    param key: WorkQueue
    let shown = count c in seen: c.exists
    let ready = all c in seen: c.ready
    initial state Waiting
            state Reconciling
    event work from environment
    get: Waiting -> Reconciling on work when key in Queued %s do key.get
    %s
    create: Reconciling -> Waiting on work when shown < 1
        do { names.create(0, false); for c in seen { c.wrote }; key.done }
    idle: Reconciling -> Waiting on work when shown >= 1 do key.done
    priority * > create
}
system OnePod {
    pods: Object[2] { lives = 0 }
    seen: Copy[2] in Synced { of = pods[index], wakes = key }
    names: NameGenerator { objects = pods, copies = seen }
    key: WorkQueue in Queued
    control: Controller { names = names, seen = seen, key = key }
    environment {
        control.work when not names.used_up
        some c in seen: c.deliver when not c.current
        some p in pods: p.delete
        key.add
    }
    invariant one: (count p in pods: p in Live) <= 1
    property served: (all p in pods: p in Absent) ~> some p in pods: p in Live under fair work, fair deliver
}
"""
"""A controller that records what it has written, and whose key is added again by a timer."""


@pytest.mark.parametrize(
    ("guard", "row", "violated"),
    [
        ("", "", ["one"]),
        ("and ready", "", []),
        ("", "skip: Reconciling -> Waiting on work when not ready do key.retry", []),
    ],
    ids=["stale", "reads_own_writes", "skips"],
)
def test_a_controller_waits_for_its_own_writes(guard: str, row: str, violated: list[str], tmp_path: Path) -> None:
    """In controller-runtime a read blocks; in KEP-5647 the reconciliation is skipped."""
    (tmp_path / "scaled.fsm").write_text(SCALED % (guard, row))
    model = load([tmp_path / "scaled.fsm"]).model
    assert model is not None
    exploration = explore(model, model.systems["scaled.OnePod"])
    assert exploration.complete
    assert [v.name for v in exploration.violations] == violated


def test_every_part_is_used_in_a_system() -> None:
    model = load([PARTS]).model
    assert model is not None
    machines = {i.machine for s in model.systems.values() for i in s.instances}
    assert machines | {"kubernetes.Faults"} == set(model.machines)


# The page ------------------------------------------------------------------------------------------------------------


def test_writing_a_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(list(followed(ROOT / "docs" / "kubernetes.md"))) == 7
    assert len(Path("task.fsm").read_text("utf-8").splitlines()) <= 60
