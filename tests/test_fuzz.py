"""Each fuzz target, briefly: its corpus, and a few inputs of the kind that `make fuzz` tries for an hour."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic

import pytest

sys.path.append(str(Path(__file__).parent / "runtime"))

from fuzz.target import Search, Target, limited
from fuzz.targets import TARGETS, target
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.full(reason="processes of each fuzz target")

NEEDED = {"editor": "pygls", "page": "starlette", "service": "starlette", "journal": "yaml"}


def loaded(name: str) -> Target:
    pytest.importorskip(NEEDED.get(name, "fsmdsl"), reason=f"SKIPPED: fuzzing `{name}` needs `{NEEDED.get(name)}`")
    return target(name)


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus(name: str) -> None:
    seeds = loaded(name).seeds()
    assert len(seeds) >= 2
    for seed, tried in seeds:
        try:
            with limited():
                loaded(name).check(tried)
        except Exception as error:
            error.add_note(f"the seed {name}/{seed}")
            raise


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_inputs(name: str) -> None:
    found = loaded(name)

    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(found.inputs)
    def attempt(tried: object) -> None:
        found.check(tried)

    attempt()


def test_what_fails_is_reduced_and_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def check(n: int) -> None:
        assert n < 1000

    search = Search(Target("none", st.integers(0, 10**6), check), tmp_path, monotonic() + 1)
    search.run()
    assert [x.read_text() for x in search.failures.values()] == ["1000"]
    assert search.inputs > 20
    assert "again: python -m tests.fuzz none --replay" in capsys.readouterr().out


def test_what_hangs_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(n: int) -> None:
        while n == 3:
            pass

    monkeypatch.setattr("fuzz.target.PROCESSOR_SECONDS", 0.2)
    search = Search(Target("none", st.sampled_from((3, 4)), check), tmp_path, monotonic() + 2)
    search.run()
    assert ["HangError" in x for x in search.failures] == [True]
