"""Twins in other languages: a program in Python that speaks the protocol, what it can get wrong, and the page in Go."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from test_testing import LEASE, QUICK
from test_tutorial import followed

from fsmdsl.testing import DifferenceError, Instance, ProcessTwin
from fsmdsl.testing.process import ProgramError

PAGE = Path(__file__).parent.parent / "docs" / "twin-in-another-language.md"

PROGRAM = """
import json, sys

def refuse(unless):
    if not unless:
        raise LookupError("not now")

for line in sys.stdin:
    r = json.loads(line)
    refused, performed = {}, []
    try:
        match r["do"], r.get("name"):
            case "start", _:
                node, jobs = {"state": "Idle", "job": None}, {}
                for x in r["instances"]:
                    if x["machine"] == "Job":
                        jobs[x["name"]] = {"state": x["state"], "node": x["fields"]["node"]}
            case "crash", _:
                node["state"] = "Lent" if node["state"] == "Draining" else node["state"]
            case _, "lend":
                refuse(node["state"] == "Idle")
                node = {"state": "Lent", "job": r["arguments"]["to"]}
                performed = ["switch_on"]
            case _, "take_back":
                refuse(node["state"] == "Lent")
                node["state"] = "Draining"
                if jobs[node["job"]]["state"] == "Running":
                    jobs[node["job"]] = {"state": "Leaving", "node": "node"}
            case _, "finished":
                refuse(jobs[r["instance"]]["state"] == "Leaving")
                jobs[r["instance"]] = {"state": "Left", "node": None}
                node = {"state": "Idle", "job": None}
                performed = ["switch_off"]
    except LookupError as error:
        refused = {"refused": str(error)}
    listed = {"node": node, **jobs}
    reply = {
        "states": {name: x["state"] for name, x in listed.items()},
        "fields": {name: {k: v for k, v in x.items() if k != "state"} for name, x in listed.items()},
        "performed": [{"instance": "node", "name": x, "arguments": {}} for x in performed],
        **refused,
    }
    print(json.dumps(reply), flush=True)
"""


class InPython(ProcessTwin):
    """Another process, in a language that is there."""

    specs = LEASE
    system = "Shared"
    settings = settings(QUICK, max_examples=20)
    command = [sys.executable, "-c", PROGRAM]


class TestInPython(InPython):
    """As a person would write it."""


def variant(old: str, new: str, **more: object) -> type[InPython]:
    """With another program."""
    assert old in PROGRAM
    return type("Mine", (InPython,), {"command": [sys.executable, "-c", PROGRAM.replace(old, new)], **more})


@pytest.mark.parametrize(
    ("old", "new", "difference", "steps"),
    [
        (
            'node = {"state": "Idle", "job": None}\n                performed',
            'node["state"] = "Idle"\n                performed',
            "node.job is None in the model, 'j0' in yours",
            3,
        ),
        ('performed = ["switch_on"]', "pass", "the model asks for node.switch_on(), yours for nothing", 1),
        ('refuse(node["state"] == "Lent")', "", "node (Node) is in Idle in the model, in Draining", 1),
    ],
)
def test_planted_faults_are_found(old: str, new: str, difference: str, steps: int) -> None:
    made = variant(old, new)
    with pytest.raises(DifferenceError) as raised:
        made().test_follows_every_row()
    assert raised.value.difference.startswith(difference)
    assert len(raised.value.steps) == steps
    assert made._program is None


BROKEN = {
    "sys.exit(3)": "the program ended with code 3, without a reply to `event`",
    'print("hello", flush=True)': "the reply is not JSON: hello",
    "print('[1]', flush=True)": 'the reply has neither \\"states\\" nor \\"error\\": [1]',
    """print('{"states": 1}', flush=True)""": '\\"states\\" in the reply is not an object: {\\"states\\": 1}',
    """print('{"error": "no node"}', flush=True); continue""": "ProgramError('no node')",
}


@pytest.mark.parametrize("code", BROKEN)
def test_what_a_program_gets_wrong_is_reported_with_the_step(code: str) -> None:
    made = variant('node = {"state": "Lent", "job": r["arguments"]["to"]}', code)
    with pytest.raises(DifferenceError) as raised:
        made().test_follows_every_row()
    shown = raised.value.difference.replace('"', '\\"') if "\\" in BROKEN[code] else raised.value.difference
    assert BROKEN[code] in shown
    assert isinstance(raised.value.__cause__, ProgramError)


class Impatient(InPython):
    """Waits long for a program that begins, on a busy computer too, and hardly for its later replies."""

    shrink_steps = 0

    def start(self, instances: Sequence[Instance]) -> None:
        type(self).reply_seconds = 60
        super().start(instances)
        type(self).reply_seconds = 0.2


def test_a_reply_that_takes_too_long_is_an_error() -> None:
    late = PROGRAM.replace(
        "    refused, performed", '    if r["do"] != "start": import time; time.sleep(20)\n    refused, performed'
    )
    assert late != PROGRAM
    made = type("Mine", (Impatient,), {"command": [sys.executable, "-c", late]})
    with pytest.raises(DifferenceError, match=r"no reply to `(event|crash)` within 0\.2 s"):
        made().test_follows_every_row()


def test_a_program_that_writes_too_many_lines_is_reported() -> None:
    made = variant("print(json.dumps(reply), flush=True)", "print(json.dumps(reply) + chr(10) + chr(10), flush=True)")
    with pytest.raises(DifferenceError, match=r"wrote more than one line for a request|the reply is not JSON"):
        made().test_follows_every_row()


def test_a_state_that_is_missing_is_named() -> None:
    made = variant('"states": {name: x["state"] for name, x in listed.items()}', '"states": {}')
    with pytest.raises(ProgramError, match="the reply has no state for `node`"):
        made().test_follows_every_row()
    assert made._program is None


def test_a_program_has_to_be_named() -> None:
    with pytest.raises(ValueError, match=r"say which program runs: `command = \[\.\.\.\]`"):
        type("Mine", (InPython,), {"command": ()})().test_follows_every_row()


def test_the_page_in_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("go") is None:
        warnings.warn("no `go` on PATH: the twin in Go is not run", stacklevel=1)
        pytest.skip("no `go` on PATH: the twin in Go is not run")
    (tmp_path / "specs").mkdir()
    shutil.copy(LEASE, tmp_path / "specs")
    monkeypatch.chdir(tmp_path)
    assert list(followed(PAGE)) == ["pytest test_lease_in_go.py -q"]
