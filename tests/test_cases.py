"""Every block of `tests/cases/*.md` reports what its comments say, and nothing else. See `literate`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from literate import CASES, Case, cases, differences, reported

from fsmdsl.check.all_rules import all_rules

ALL = [case for path in sorted(CASES.glob("*.md")) for case in cases(path)]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    assert differences(case) == []


@pytest.mark.parametrize("path", sorted(CASES.glob("*.md")), ids=lambda path: path.stem)
def test_all_that_is_reported(path: Path) -> None:
    """Each word and place. `UPDATE=1 pytest tests/test_cases.py` writes it down again; read what is different."""
    written = CASES / "reported" / f"{path.stem}.txt"
    if os.environ.get("UPDATE"):
        written.write_text(reported(path), "utf-8")
    assert reported(path) == written.read_text("utf-8")


def test_the_runner_notices_what_is_too_much() -> None:
    case = Case("loud", "machine Door {\n    initial state Open\n    state Shut\n}\n", False, frozenset())
    assert differences(case) == [
        'not expected: case.fsm:2 warning[FSM203] "`Open` has no way out, and it is neither final nor resting"',
        'not expected: case.fsm:3 warning[FSM201] "`Shut` can never be entered"',
    ]


def test_the_runner_notices_what_is_missing() -> None:
    text = "machine Door {\n    initial state Open   // warning[FSM201]\n}\n// ^ note[FSM215]\n"
    found = differences(Case("quiet", text, False, frozenset({"FSM215"})))
    assert found == ['missing: case.fsm:2 warning[FSM201] ""', 'missing: case.fsm:3 note[FSM215] ""']


def test_every_rule_of_the_checks_has_a_case_that_triggers_it_and_one_that_does_not() -> None:
    codes = {code for code in all_rules() if code.startswith("FSM2")}
    triggering = {code for case in ALL for code in codes if f"[{code}]" in case.text}
    quiet = {code for case in ALL for code in codes if code in case.name and f"[{code}]" not in case.text}
    assert codes - triggering == set()
    assert codes - quiet == set()
