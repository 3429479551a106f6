"""Specs collected by pytest, in a project of somebody else."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

LEASE = (Path(__file__).parent.parent / "editors" / "playground" / "lease.fsm").read_text("utf-8")
USUAL = ("-p", "no:cacheprovider")


class Project:
    """Somebody's folder with one spec in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.folder = pytester.path
        self.spec = self.folder / "specs" / "lease.fsm"
        (self.folder / "specs" / "holes").mkdir(parents=True)
        self.spec.write_text(LEASE)

    def pytest(self, *arguments: str) -> tuple[int, str]:
        """Exit code and output, in this process."""
        done = self.pytester.runpytest_inprocess(*USUAL, *arguments)
        return int(done.ret), done.stdout.str() + done.stderr.str()

    def process(self, *arguments: str) -> tuple[int, str]:
        """The same in a process of its own, as a person would start it."""
        done = self.pytester.runpytest_subprocess(*USUAL, *arguments)
        return int(done.ret), done.stdout.str()


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("COLUMNS", "120")
    return Project(pytester)


def test_every_claim_of_a_spec_is_a_test(project: Project) -> None:
    code, out = project.process("-v", "--junitxml", "junit.xml")
    assert code == 0, out
    cases = ElementTree.parse(project.folder / "junit.xml").iter("testcase")
    assert [x.get("name") for x in cases] == [
        "check",
        "handover",
        "invariant alone",
        "invariant Node: invariant 1",
        "invariant Node: invariant 2",
        "reachable used_by_both",
        "no step fails",
        "no deadlock",
    ]


def test_a_violation_fails_with_its_run_and_nothing_of_pytest(project: Project) -> None:
    code, out = project.pytest("--fsm-as-documented")
    assert code == 1
    assert "FAILED specs/lease.fsm::Shared::no step fails" in out
    assert "fails: `leave` reaches j0 in `Leaving`" in out
    assert "1 failed, 7 passed" in out
    assert "pytest_plugin.py" not in out


@pytest.mark.full(reason="many processes")
@pytest.mark.parametrize("how", [(), ("-n", "2")])
def test_the_summary_of_a_ci_names_what_is_violated_and_not_the_whole_run(
    project: Project, monkeypatch: pytest.MonkeyPatch, how: tuple[str, ...]
) -> None:
    """Where `CI` is set, pytest cuts nothing from its summary."""
    monkeypatch.setenv("CI", "true")
    code, out = project.process("--fsm-as-documented", *how)
    assert code == 1
    summary = out.partition("short test summary info")[2].splitlines()[1:]
    title = "violated: `leave` is unhandled in `Leaving` of `Job` (the simplest run: 1 crash, 4 steps)"
    assert summary[0] == f"FAILED specs/lease.fsm::Shared::no step fails - {title}"
    assert len(summary) == 2
    assert summary[1].strip("= ").startswith("1 failed, 7 passed")


def test_one_claim_can_be_chosen(project: Project) -> None:
    _code, out = project.pytest("specs/lease.fsm::Shared::invariant alone")
    assert "1 passed" in out
    assert "1 passed, 7 deselected" in project.pytest("-k", "used_by_both")[1]


def test_a_scenario_that_fails_says_where(project: Project) -> None:
    project.spec.write_text(LEASE.replace("expect node.job == j1", "expect node.job == j0"))
    _code, out = project.pytest()
    assert "FAILED specs/lease.fsm::handover" in out
    assert "expect node.job == j0" in out
    assert "1 failed, 7 passed" in out


def test_errors_and_warnings_fail_the_checks(project: Project) -> None:
    project.spec.write_text(LEASE.replace("Lent     -> Draining", "Lend     -> Draining"))
    code, out = project.pytest()
    assert code == 1
    assert "1 failed" in out
    assert "did you mean `Lent`?" in out
    assert "Traceback" not in out


def test_a_limit_is_no_success(project: Project) -> None:
    (project.folder / "pytest.ini").write_text("[pytest]\nfsm_max_states = 3\n")
    code, out = project.pytest()
    assert code == 1
    assert "unknown: invariant alone (bounded: stopped at 3 states)" in out


def test_a_limit_that_is_no_number_is_explained(project: Project) -> None:
    (project.folder / "pytest.ini").write_text("[pytest]\nfsm_max_states = many\n")
    _code, out = project.pytest()
    assert "fsm_max_states must be a number, not 'many'" in out


def test_studies_are_collected_where_they_are_named(project: Project) -> None:
    project.spec.rename(project.spec.parent / "holes" / "lease.fsm")
    assert project.pytest()[0] == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "8 passed" in project.pytest("specs/holes")[1]
    assert "8 passed" in project.pytest("specs/holes/lease.fsm")[1]


def test_a_link_brings_nothing_in_from_elsewhere(project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.fsm"
    secret.write_text("password: hunter2\n")
    project.spec.unlink()
    project.spec.symlink_to(secret)
    code, out = project.pytest("specs")
    assert (code, "hunter2" in out, "behind a link that leads out of" in out) == (1, False, True)
    assert "hunter2" in project.pytest("specs", "--fsm-follow-links")[1]


def test_bytes_that_are_no_text_fail_the_checks(project: Project) -> None:
    project.spec.write_bytes(b"\xff\xfe machine")
    _code, out = project.pytest()
    assert "1 failed" in out
    assert "FSM510" in out


def test_it_can_be_turned_off(project: Project) -> None:
    assert project.pytest("-p", "no:fsm")[0] == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.full(reason="many processes")
def test_several_processes_share_the_claims(project: Project) -> None:
    assert "8 passed" in project.process("-n", "2")[1]
