"""What the playground's Python answers, without a browser around it."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from door import DOOR
from stepping import compiled

from fsmdsl.editor.live.pictures import diagram
from fsmdsl.editor.live.playground import Playground, explore

pytestmark = pytest.mark.full(reason="npm")


class Asked:
    """A playground with a project in it."""

    def __init__(self, folder: Path) -> None:
        self.playground = Playground(str(folder))
        self.folder = folder

    def ask(self, name: str, **question: object) -> tuple[int, Any]:
        status, content = json.loads(self.playground.answer(name, json.dumps(question)))
        return status, content

    def right(self, name: str, **question: object) -> Any:
        status, content = self.ask(name, **question)
        assert status == 200, content
        return content


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    found = Asked(tmp_path / "specs")
    found.right("open", files={"door.fsm": DOOR, "sub/other.fsm": "module other\n"})
    return found


def test_a_project_takes_the_place_of_another(asked: Asked) -> None:
    assert asked.right("project") == {"files": {"door.fsm": DOOR, "sub/other.fsm": "module other\n"}}
    asked.right("open", files={"new.fsm": "module new\n"})
    assert asked.right("project") == {"files": {"new.fsm": "module new\n"}}
    assert [Path(x["name"]).name for x in asked.right("files")["files"]] == ["new.fsm"]


@pytest.mark.parametrize(
    "files",
    [
        {}, [], None, "door.fsm", {"door.fsm": 1}, {"door.fsm": None}, {"../door.fsm": ""}, {"/nowhere/door.fsm": ""},
        {"a/../../door.fsm": ""}, {"door.py": ""}, {".fsm": ""}, {"a\n.fsm": ""}, {"door.fsm": "\ud800"}, {"é.fsm": ""},
        {"a//b.fsm": ""}, {f"{'a' * 300}.fsm": ""}, {f"f{n}.fsm": "" for n in range(101)}, {"-rf.fsm": ""},
    ],
    ids=lambda x: str(x)[:30],
)  # fmt: skip
def test_a_link_cannot_bring_anything_but_a_project(asked: Asked, files: object) -> None:
    status, told = asked.ask("open", files=files)
    assert (status, isinstance(told["error"], str)) == (400, True)
    assert asked.right("project")["files"]["door.fsm"] == DOOR
    assert sorted(x.name for x in asked.folder.parent.iterdir()) == ["specs"]


def test_a_diagram_is_the_same_by_either_way(asked: Asked) -> None:
    """Here Graphviz is asked in two steps, in `fsm serve` in one."""
    from fsmdsl.draw.svg import rendered

    sketch = asked.right("diagram", machine="door.Door")
    assert sketch["machine"] == "door.Door"
    made = rendered(sketch["dot"], "svg")
    if not isinstance(made, bytes):
        pytest.skip("SKIPPED: Graphviz is not installed")
    drawn = asked.right("drawn", key=sketch["key"], svg=made.decode())
    assert drawn == diagram(compiled(DOOR).machines["door.Door"])
    assert asked.right("diagram", machine="door.Door", known=sketch["key"])["same"] is True
    alone = asked.right("drawn", key=sketch["key"], svg=made.decode(), whole=True)["svg"]
    assert "<style>" in alone
    assert "<style>" not in drawn["svg"]


def test_where_graphviz_fails_there_is_text(asked: Asked) -> None:
    sketch = asked.right("diagram", machine="door.Door")
    told = asked.right("drawn", key=sketch["key"], message="Graphviz failed: no reason given")
    assert (told["message"], told["key"]) == ("Graphviz failed: no reason given", None)
    assert told["mermaid"].startswith("stateDiagram")


def test_an_exploration_answers_as_that_of_the_server_does(asked: Asked) -> None:
    job = asked.right("job", system="door.One", seconds=30)
    told: list[tuple[str, Any]] = []
    explore(json.dumps(job), lambda event, content: told.append((event, json.loads(content))))
    *_, (event, found) = told
    assert (event, found["verdict"], found["states"]) == ("result", "violated", 19)
    assert "pip install" not in json.dumps(found)
    verdict = next(v for v in found["verdicts"] if v["kind"] == "invariant")
    assert len(verdict["trace"]["steps"]) == 5


def test_the_archive_holds_the_project(asked: Asked) -> None:
    archive = zipfile.ZipFile(io.BytesIO(base64.b64decode(asked.right("zip")["zip"])))
    names = ["README.md", "specs/door.fsm", "specs/sub/other.fsm"]
    assert archive.namelist() == [f"fsm-project/{x}" for x in names]
    assert archive.read("fsm-project/specs/door.fsm").decode() == DOOR


def test_what_goes_wrong_is_told_in_a_sentence(asked: Asked) -> None:
    assert asked.ask("diagram", machine="door.Gate")[0] == 400
    assert asked.ask("drawn", key="x", svg="<svg/>")[0] == 400
