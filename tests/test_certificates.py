"""Certificates of `fsm verify --certificate` are confirmed by the definition of the language; tampered ones are not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from campaign import by_definition, systems
from click.testing import CliRunner
from random_systems import text_of
from tiers import today

from fsmdsl.cli.certificates import certify
from fsmdsl.cli.parser import cli
from fsmdsl.interop.certificate import CertifiedSystem, RefusedError, digest, parse
from fsmdsl.recheck import Confirmed, Recheck, confirm, main
from fsmdsl.recheck import recheck as recheck_parsed
from fsmdsl.runs.verdicts.judge import judge
from fsmdsl.search import Limits
from fsmdsl.step import Universe
from fsmdsl.text.budget import Budget

ROOT = Path(__file__).parent.parent
LEASE = ROOT / "editors" / "playground" / "lease.fsm"
SPECS = ROOT / "specs"


def recheck(certificate: object, *arguments: Any, **options: Any) -> Recheck:
    """What the text of a certificate shows."""
    return recheck_parsed(parse(json.dumps(certificate).encode()), *arguments, **options)


def certified(*arguments: object) -> str:
    """What `verify` says."""
    return CliRunner().invoke(cli, ["verify", *map(str, arguments)], prog_name="fsm").output


@pytest.fixture
def lease(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A spec, and its certificate with the states."""
    spec, path = tmp_path / "lease.fsm", tmp_path / "certificate.json"
    shutil.copy(LEASE, spec)
    assert f"{path} certifies 1 of 1 systems" in certified(spec, "--certificate", path, "--with-states")
    return spec, json.loads(path.read_text("utf-8"))


def test_a_certificate_is_confirmed(lease: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    spec, certificate = lease
    assert recheck(certificate, [spec]) == Recheck((Confirmed("lease.Shared", 16, 3, 0),), ())
    assert main([str(spec.parent / "certificate.json"), str(spec)]) == 0
    assert capsys.readouterr().out == "confirmed: lease.Shared: 3 invariants hold in 16 states\n"


SYSTEMS = ["hived.PreemptionSmall", "hived.Settling", "yunikorn.shim.OneTask", "confine.OneSlice"]


@pytest.mark.full(reason="whole specs; random ones are confirmed in any case")
@pytest.mark.parametrize("form", [[], ["--with-states"]])
def test_certificates_of_the_specs_are_confirmed(form: list[str], tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    names = [x for name in SYSTEMS for x in ("--system", name)]
    assert "certifies 4 of 4 systems" in certified(SPECS, *names, "--certificate", path, *form)
    shown = recheck(json.loads(path.read_text("utf-8")), [SPECS])
    assert [x.system for x in shown.confirmed] == SYSTEMS
    assert "confine.Running" in shown.uncertified
    assert not {*SYSTEMS} & {*shown.uncertified}


@pytest.mark.parametrize("seed", today(range(6)))
def test_certificates_of_random_systems_are_confirmed(seed: int) -> None:
    """The packed search finds the states of the definition, and no others; an invariant that does not hold is found."""
    for model, system in systems(text_of(seed)):
        search = by_definition(model, system, Limits(400))
        if search.stopped is not None:
            continue
        broken = any(v.kind == "invariant" and v.outcome != "holds" for v in judge(search))
        for with_states in (False, True):
            about = certify(model, system, with_states, Budget())
            assert isinstance(about, CertifiedSystem)
            assert about.states == search.states
            if broken:
                with pytest.raises(RefusedError, match="does not hold in "):
                    confirm(Universe(model, system), about)
            else:
                assert confirm(Universe(model, system), about).states == search.states


# Tampered ------------------------------------------------------------------------------------------------------------


def without_a_state(x: dict[str, Any]) -> None:
    x["worlds"] = x["worlds"][:-1]


def without_the_first(x: dict[str, Any]) -> None:
    x["worlds"] = [y for y in x["worlds"] if not ("Idle" in y and y.count("Running") == 2)]


def without_a_state_and_well_counted(x: dict[str, Any]) -> None:
    x["worlds"] = x["worlds"][1:]
    x["states"], x["digest"] = len(x["worlds"]), digest(x["worlds"])


def with_another_digest(x: dict[str, Any]) -> None:
    x["digest"] = "0" * 64


def with_a_state_that_breaks_an_invariant(x: dict[str, Any]) -> None:
    x["worlds"].append('[["Idle","Left","Left"],[[1],[null],[null]],[],[],[],false]')
    x["states"], x["digest"] = len(x["worlds"]), digest(x["worlds"])


def without_an_invariant(x: dict[str, Any]) -> None:
    x["invariants"].remove("alone")


def with_a_state_of_no_system(x: dict[str, Any]) -> None:
    x["worlds"].append('[["Nowhere"],[],[],[],[],false]')


def of_another_system(x: dict[str, Any]) -> None:
    x["system"] = "lease.Other"


TAMPERED: dict[Callable[[dict[str, Any]], None], str] = {
    without_a_state: "a step leads to a state that is missing: ",
    without_the_first: "an initial state is missing",
    without_a_state_and_well_counted: "a step leads to a state that is missing: ",
    with_another_digest: "the states have another digest",
    with_a_state_that_breaks_an_invariant: "does not hold in ",
    without_an_invariant: "the certificate lists other invariants than the system has",
    with_a_state_of_no_system: "lease.Shared: `worlds`, line 17: the states of the instances: expected a list of 3",
    of_another_system: "there is no system `lease.Other`",
}


@pytest.mark.parametrize("change", TAMPERED, ids=lambda x: x.__name__)
def test_a_tampered_certificate_is_refused(
    change: Callable[[dict[str, Any]], None], lease: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    spec, certificate = lease
    change(certificate["systems"][0])
    path = spec.parent / "tampered.json"
    path.write_text(json.dumps(certificate), "utf-8")
    assert main([str(path), str(spec)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("refused: ")
    assert TAMPERED[change] in said


@pytest.mark.parametrize(("number", "message"), [(17, "there are 16 states, not 17"), (15, "more than 15 states")])
def test_a_digest_is_compared_with_states_that_are_found_anew(
    number: int, message: str, lease: tuple[Path, dict[str, Any]]
) -> None:
    spec, certificate = lease
    (system,) = certificate["systems"]
    del system["worlds"]
    recheck(certificate, [spec])
    with pytest.raises(RefusedError, match="the states have another digest"):
        recheck({**certificate, "systems": [{**system, "digest": "0" * 64}]}, [spec])
    with pytest.raises(RefusedError, match=message):
        recheck({**certificate, "systems": [{**system, "states": number}]}, [spec])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("j in Leaving => node.job == j", "j in Leaving => node in Draining or true"),
        ("invariant Lent => job != none", ""),
        ("leave:    Running -> Leaving", "leave:    Running -> Left"),
    ],
)
def test_the_certificate_of_another_text_is_refused(
    before: str, after: str, lease: tuple[Path, dict[str, Any]]
) -> None:
    spec, certificate = lease
    text = spec.read_text("utf-8")
    assert before in text
    spec.write_text(text.replace(before, after), "utf-8")
    with pytest.raises(RefusedError, match="the certificate was made from a different version of module `lease`"):
        recheck(certificate, [spec])


@pytest.mark.parametrize("missing", ["modules", "systems", "as_documented", "settings"])
def test_a_certificate_without_a_part_is_refused(
    missing: str, lease: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    spec, certificate = lease
    del certificate[missing]
    path = spec.parent / "tampered.json"
    path.write_text(json.dumps(certificate), "utf-8")
    assert main([str(path), str(spec)]) == 1
    assert capsys.readouterr().out == f"refused: the certificate: `{missing}` is missing\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "2"}, "not a certificate"),
        ({"format": "fsmdsl certificate 1"}, "in an earlier format.*make it again"),
        ({"modules": {}}, "different version"),
        ({"systems": []}, "covers no system"),
    ],
)
def test_what_is_no_certificate_of_these_specs_is_refused(
    change: dict[str, Any], message: str, lease: tuple[Path, dict[str, Any]]
) -> None:
    spec, certificate = lease
    with pytest.raises(RefusedError, match=message):
        recheck({**certificate, **change}, [spec])


# What is not certified -----------------------------------------------------------------------------------------------


def test_a_system_whose_invariant_is_broken_gets_no_certificate(tmp_path: Path) -> None:
    spec, path = tmp_path / "lease.fsm", tmp_path / "certificate.json"
    spec.write_text(LEASE.read_text("utf-8").replace("node.job == j", "node.job != j"), "utf-8")
    said = certified(spec, "--certificate", path)
    assert "no certificate for lease.Shared: `invariant alone` does not hold" in said
    assert json.loads(path.read_text("utf-8"))["systems"] == []


def test_a_system_with_a_limit_gets_no_certificate(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    assert "no certificate for lease.Shared: stopped at 5 states" in certified(
        LEASE, "--max-states", 5, "--certificate", path
    )


def test_misuse_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "`--with-states` requires `--certificate`" in certified(LEASE, "--with-states")
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 2
    assert main([str(tmp_path / "none.json"), str(LEASE)]) == 2
    assert "cannot read" in capsys.readouterr().err
    assert main([str(LEASE), str(tmp_path / "none.fsm")]) == 2
    assert "there is no file or folder" in capsys.readouterr().err
    assert main([str(LEASE), str(LEASE), "--set", "n"]) == 2
    assert capsys.readouterr().err == "--set: `n` is not of the form name=value\n"
