"""The schemas of the JSON documents are those of the types, and the types are those of what is printed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from in_process import fsm
from test_cli import DOOR, data

from fsmdsl.report import shapes
from fsmdsl.report.formats.schema import DOCUMENTS, files, schemas

ROOT = Path(__file__).parent.parent


def test_the_files_are_up_to_date() -> None:
    """`python -m fsmdsl.report.formats.schema docs/schema` writes them."""
    kept = {path.name: path.read_text("utf-8") for path in (ROOT / "docs" / "schema").iterdir()}
    assert kept == files()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_references_lead_somewhere(name: str) -> None:
    schema = schemas()[name]
    for part in json.dumps(schema).split('"$ref": "#/$defs/')[1:]:
        assert part.partition('"')[0] in schema["$defs"]
    assert set(schema["required"]) == set(schema["properties"]) >= {"kind", "version"}


def fields(shape: type) -> set[str]:
    return set(shape.__annotations__) | {
        name for base in shape.__mro__ for name in getattr(base, "__annotations__", {})
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A door that fails in every way."""
    made = tmp_path_factory.mktemp("specs")
    wrong = DOOR.replace("Shut -> Open on pull", "Shut on pull").replace("expect door in Shut", "expect door in Open")
    (made / "door.fsm").write_text(wrong.replace("reachable shut:", "invariant open: door in Open  reachable shut:"))
    return made


def test_verify_prints_what_its_shape_says(folder: Path) -> None:
    found = data("verify", "door.fsm", cwd=folder)
    assert set(found) == fields(shapes.Verify) | {"kind", "version"}
    (system,) = found["systems"]
    assert set(system) == fields(shapes.Exploration)
    assert {frozenset(v) for v in system["verdicts"]} == {frozenset(fields(shapes.Verdict))}
    check_trace(next(v["trace"] for v in system["verdicts"] if v["outcome"] == "violated"))
    assert set(found["diagnostics"][0]) == fields(shapes.Diagnostic)


def check_trace(trace: dict[str, Any]) -> None:
    """Runs are made below the types."""
    assert set(trace) == fields(shapes.Trace)
    assert set(trace["start"]) == fields(shapes.World)
    assert set(trace["start"]["instances"]["door"]) == fields(shapes.Instance)
    assert trace["steps"]
    for step in trace["steps"]:
        assert set(step) == fields(shapes.Step)
        assert set(step["cascade"]) == fields(shapes.Cause)
        assert {frozenset(x) for x in step["changes"].values()} <= {frozenset(fields(shapes.Values))}
        assert step["fault"] is None or set(step["fault"]) == fields(shapes.Fault)


def test_test_prints_what_its_shape_says(folder: Path) -> None:
    found = data("test", "door.fsm", cwd=folder)
    assert set(found) == fields(shapes.Test) | {"kind", "version"}
    (scenario,) = found["scenarios"]
    assert set(scenario) == fields(shapes.Scenario)
    check_trace(scenario["trace"])


def test_check_and_diff_print_what_their_shapes_say(folder: Path) -> None:
    found = data("check", "door.fsm", cwd=folder)
    assert set(found) == fields(shapes.Diagnostics) | {"kind", "version"}
    (folder / "new.fsm").write_text(DOOR)
    done = fsm("diff", "door.fsm", "new.fsm", "--format", "json", cwd=folder)
    assert done.returncode == 1
    different = json.loads(done.stdout)
    assert set(different) == fields(shapes.Diff) | {"kind", "version"}
    assert {frozenset(x) for x in different["parts"]} == {frozenset(fields(shapes.Part))}
    assert {frozenset(c) for x in different["parts"] for c in x["changes"]} == {frozenset(fields(shapes.Change))}
    (behaviour,) = different["behaviours"]
    assert set(behaviour) == fields(shapes.Behaviour)
    assert set(behaviour["runs"][0]) == fields(shapes.Run)
    assert set(different["answers"][0]) == fields(shapes.Answer)


# Validated by a library ----------------------------------------------------------------------------------------------

RUNS = """module runs
machine Door {
    n: 0..2
    initial state Open
    state Shut
    event push, pull from environment
    Open -> Shut on push
    Shut -> Open on pull do n = n + 1
}
system One {
    door: Door
    property shut: door in Open ~> door in Shut
    property never: always door.n < 2
    reachable five: door.n == 2 and door in Shut
}
system Other {
    doors: Door[2] symmetric
    environment { some d in doors: d.push  crash }
}
scenario right "which goes well" { door: Door  door.push  expect door in Shut }
"""


def strict(schema: object) -> object:
    """The same schema, without leave to print more than it says."""
    if isinstance(schema, list):
        return [strict(x) for x in schema]
    if not isinstance(schema, Mapping):
        return schema
    closed = {"additionalProperties": False} if "properties" in schema else {}
    return {**closed, **{k: strict(v) for k, v in schema.items()}}


@pytest.mark.parametrize(
    "line",
    [
        "check door.fsm",
        "check runs.fsm",
        "check broken.fsm",
        "check HOLES",
        "verify door.fsm",
        "verify runs.fsm",
        "verify runs.fsm --max-states 2",
        "verify runs.fsm --as-documented",
        "verify broken.fsm",
        "test door.fsm",
        "test runs.fsm",
        "test broken.fsm",
        "diff door.fsm new.fsm",
        "diff door.fsm same.fsm",
        "diff new.fsm runs.fsm",
    ],
)
def test_a_validator_accepts_what_is_printed(line: str, folder: Path) -> None:
    (folder / "new.fsm").write_text(DOOR)
    (folder / "same.fsm").write_text((folder / "door.fsm").read_text())
    (folder / "runs.fsm").write_text(RUNS)
    (folder / "broken.fsm").write_text("machine M { initial state A  A -> Nowhere on gone  ]")
    arguments = line.replace("HOLES", str(ROOT / "specs" / "hived" / "holes")).split()
    printed = json.loads(fsm(*arguments, "--format", "json", cwd=folder).stdout)
    known = {kind: name for name, (_, kinds) in DOCUMENTS.items() for kind in kinds}
    schema = json.loads((ROOT / "docs" / "schema" / f"{known[printed['kind']]}.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(strict(schema)).validate(printed)


def test_a_field_that_no_schema_has_is_refused() -> None:
    printed = {"kind": "check", "version": 1, "summary": {}, "diagnostics": [], "more": 1}
    found = jsonschema.Draft202012Validator(strict(schemas()["check"])).iter_errors(printed)
    assert any("Additional properties are not allowed ('more' was unexpected)" in x.message for x in found)
