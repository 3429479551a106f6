"""`--without NAME`: amendments left out one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from fsmdsl.cli.parser import cli
from fsmdsl.model.workspace import load
from fsmdsl.syntax import amendments
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

TEXT = """module desk
machine Desk {
    tries: 0..2
    initial state Free
    state Taken
    event take, leave, ring from environment

    t1: Free  -> Taken on take
    t2: Taken -> Free  on leave

    amends "who has it may ask for it again" {
        Taken on take
        ignore leave in Free
    }
    amends "the bell is counted" {
        event lost from environment
        t3: Taken on ring when tries < 2 do tries = tries + 1
        t4: Taken -> Free on lost
    }
    amends "nobody hears it" ignore ring in Free
    amends "leaving stops the bell"
    replaces
        t2: Taken -> Free on leave do tries = 0
    amends "two ways" {
        invariant few: tries <= 2
        ignore ring in Taken
    }
}

machine Bell {
    initial state Still
    event hit from environment
    Still on hit
    amends "it may break" {
        state Broken
        b1: Still -> Broken on hit when false
    }
}

locks Order {
    amends "a later page adds it" operation open { write(Door) }
    Door > Room
}

system One { desks: Desk[1]  environment { some d in desks: d.take } }
system Losing { desks: Desk[1]  environment { some d in desks: d.lost } }
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "desk.fsm"
    path.write_text(TEXT)
    return path


def rows(path: Path, *without: str) -> list[str]:
    """The rows and ignores of the desk that are left, and `few`."""
    model = load([path], without=without).model
    assert model is not None
    desk = model.machines["desk.Desk"]
    ignored = [f"ignore {i.event} in {i.state}" for i in desk.ignores]
    changed = [f"{t.name}{' tries = 0' if t.name == 't2' and t.effects else ''}" for t in desk.transitions]
    return [*changed, *ignored, *(x.name for x in desk.invariants)]


ALL = [
    "t1",
    "take",
    "t3",
    "t4",
    "t2 tries = 0",
    "ignore leave in Free",
    "ignore ring in Free",
    "ignore ring in Taken",
    "few",
]
LEFT: dict[str, list[str]] = {
    "Desk.take": ["take", "ignore leave in Free"],
    "Desk.leave": ["take", "ignore leave in Free"],
    "desk.Desk.t3": ["t3", "t4"],
    "Desk.lost": ["t3", "t4"],
    "Desk.few": ["ignore ring in Taken", "few"],
    "desk.fsm:20": ["ignore ring in Free"],
    "Bell.Broken": [],
    "Order.open": [],
}


@pytest.mark.parametrize("name", LEFT)
def test_an_amendment_goes_by_what_it_has(name: str, spec: Path) -> None:
    assert rows(spec) == ALL
    assert rows(spec, name) == [x for x in ALL if x not in LEFT[name]]


def test_a_row_that_was_replaced_stands_again(spec: Path) -> None:
    assert rows(spec, "Desk.t2") == ["t1", "t2", *(x for x in ALL[1:] if x != "t2 tries = 0")]


def test_several_are_left_out(spec: Path) -> None:
    assert rows(spec, "Desk.t3", "Desk.take") == ["t1", "t2 tries = 0", *ALL[6:]]


def test_other_machines_and_locks(spec: Path) -> None:
    whole, broken, open_ = (load([spec], without=x).model for x in ((), ["Bell.b1"], ["Order.open"]))
    assert whole is not None
    assert broken is not None
    assert open_ is not None
    assert [[s.name for s in x.machines["desk.Bell"].leaves] for x in (whole, broken)] == [
        ["Still", "Broken"],
        ["Still"],
    ]
    assert [[o.name for o in x.modules[0].locks[0].operations] for x in (whole, open_)] == [["open"], []]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "Desk.ring",
            "2 amendments have `Desk.ring`; choose one by its place: `--without {0}:20` or `--without {0}:24`",
        ),
        ("Desk.t33", "no amendment has `Desk.t33`; did you mean `Desk.t3`?"),
        ("Desk.t1", "no amendment has `Desk.t1`; did you mean `Desk.t4`?"),
        (
            "desk.fsm:22",
            "no amendment begins at `desk.fsm:22`; those of `desk.fsm` begin in lines 11, 15, 20, 21, 24, 34, 41",
        ),
        (
            "xyz",
            "no amendment has `xyz`; specify an amendment by name, by element, such as `Machine.row`, or by "
            "`file:line`",
        ),
    ],
)
def test_a_name_of_none_or_of_several(name: str, told: str, spec: Path) -> None:
    found = CliRunner().invoke(cli, ["verify", str(spec), "--without", name])
    assert found.exit_code == 2
    assert told.format(spec) in found.stderr.replace("\n", " ")


def test_where_there_are_none() -> None:
    module = parse(Source("x.fsm", "module x machine M { initial state A }")).module
    assert amendments.without([module], ["M.a"]).unanswered == {"M.a": "no amendment has `M.a`: there are none"}


def test_systems_that_need_it_are_left_out_with_it(spec: Path) -> None:
    found = CliRunner().invoke(cli, ["verify", str(spec), "--without", "Desk.lost"])
    assert "desk.One" in found.stdout
    assert (
        "left out  desk.Losing: it refers to something that only an amendment declares: `Desk` has no event"
        in found.stdout
    )


def test_what_it_is_for(spec: Path) -> None:
    """With the amendment, a desk that is taken may be taken again; without it, nothing goes on."""
    whole = CliRunner().invoke(cli, ["verify", str(spec), "--system", "One"])
    assert "holds     desk.One" in whole.stdout
    found = CliRunner().invoke(cli, ["verify", str(spec), "--system", "One", "--without", "Desk.take"])
    assert found.exit_code == 1
    assert "no step is possible here: d0 in Taken" in found.stdout


def test_others_that_need_it_say_what_is_missing(spec: Path) -> None:
    more = TEXT.replace(
        'amends "nobody hears it"', 'amends "it is lost" t5: Free on lost\n    amends "nobody hears it"'
    )
    spec.write_text(more)
    found = CliRunner().invoke(cli, ["verify", str(spec), "--without", "Desk.t4"])
    assert found.exit_code == 1
    assert "`--without Desk.t4` causes this: as it is written, the text is fine" in found.stderr


def test_no_certificate_without_one(spec: Path) -> None:
    given = ["verify", str(spec), "--without", "Desk.take", "--certificate", str(spec.with_suffix(".json"))]
    found = CliRunner().invoke(cli, given)
    assert (found.exit_code, "cannot be combined with `--without`" in found.stderr) == (2, True)


def test_diff_leaves_it_out_of_each_version_that_has_it(spec: Path) -> None:
    old = spec.with_name("old.fsm")
    old.write_text(TEXT.replace('amends "nobody hears it" ignore ring in Free', ""))
    quick = ["diff", str(old), str(spec), "--quick"]
    found = CliRunner().invoke(cli, quick)
    assert (found.exit_code, "ignore `ring in Free`" in found.stdout) == (1, True)
    assert CliRunner().invoke(cli, [*quick, "--without", "desk.fsm:20"]).exit_code == 0
    assert CliRunner().invoke(cli, [*quick, "--without", "Desk.take"]).exit_code == 1
    missing = CliRunner().invoke(cli, [*quick, "--without", "Desk.t9"])
    assert (missing.exit_code, "no amendment has `Desk.t9`" in missing.stderr) == (2, True)


@pytest.mark.parametrize(
    "second", ["x2: Free -> Taken on take when early > 0", "t1: Free -> Taken on take when early > 0"]
)
def test_what_it_uses_is_not_reported_as_unused(tmp_path: Path, second: str) -> None:
    """Nor what an alternative uses that does not apply."""
    path = tmp_path / "desk.fsm"
    path.write_text(f"""module desk
machine Desk {{
    param limit: 0..3 = 1
    param early: 0..3 = 1
    param spare: 0..3 = 1
    initial resting state Free
    state Taken
    event take from environment
    t1: Free -> Taken on take
    Taken -> Free on take
    amends bounded "there is a limit" replaces t1: Free -> Taken on take when limit > 0
    amends timely "there is a time" replaces {second}
}}
""".replace("replaces x2", "x2"))  # fmt: skip
    for without in ([], ["--without", "bounded"], ["--without", "bounded", "--without", "timely"], ["--as-documented"]):
        output = CliRunner().invoke(cli, ["check", str(path), *without]).output
        assert "the parameter `spare` is never used" in output
        assert output.count("FSM223") == 1
