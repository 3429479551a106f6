"""What a certificate says is not trusted: forged ones are refused, and no file makes `recheck` fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from forger import Forgery, campaign, confirmed, forgeries, handwritten, random_victims
from stepping import compiled

from fsmdsl import recheck
from fsmdsl.cli.parser import cli
from fsmdsl.interop import certificate as certificates
from fsmdsl.interop.certificate import RefusedError, digest, states, strict_json
from fsmdsl.interop.certificate.states import decoded, encoded
from fsmdsl.step import FaultError, Universe, World, holds

# Forgers -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def victims() -> None:
    """They are made, and kept, before a test weakens what they are made with."""
    handwritten()


def test_no_forgery_is_confirmed() -> None:
    assert campaign(1200, 0, handwritten()).failures == []


def test_no_forgery_of_a_random_system_is_confirmed() -> None:
    victims = [x for seed in range(3) for x in islice(random_victims(seed), 6)]
    assert any(x.broken for x in victims)
    assert campaign(120, 0, victims).failures == []


def as_python_compares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two states are the same if Python takes them for equal, as `1`, `1.0` and `True`."""

    def by_world(universe: Universe, lines: tuple[str, ...]) -> dict[World, World]:
        return {x: x for x in (states.decoded(universe, line) for line in lines)}

    monkeypatch.setattr(recheck, "states", by_world)
    monkeypatch.setattr(recheck, "encoded", lambda world: world)
    monkeypatch.setattr(recheck, "digest", lambda worlds: digest(map(encoded, worlds)))


def any_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value is read as whatever JSON says that it is."""
    monkeypatch.setattr(states, "parsed", json.loads)
    monkeypatch.setattr(states, "_truth", lambda plain: plain)
    monkeypatch.setattr(states, "_number", lambda plain, values, what: plain)


def successes(tries: int) -> list[Forgery]:
    """The forgeries that are taken for true."""
    random, made = Random(0), []
    makers = [forgeries(x, random) for x in handwritten()]
    for n in range(tries):
        forgery = next(makers[n % len(makers)])
        try:
            if forgery.false and confirmed(forgery):
                made.append(forgery)
        except Exception:
            continue
    return made


def test_the_forger_succeeds_where_nothing_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the tests above would show nothing."""
    as_python_compares(monkeypatch)
    any_value(monkeypatch)
    assert {x.victim.name for x in successes(2400)} >= {"large", "number", "numbers", "optional number"}


@pytest.mark.parametrize("weakness", [as_python_compares, any_value])
def test_one_defence_is_enough(weakness: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are read by their types, and states are compared by their text; each of them refuses what is forged."""
    weakness(monkeypatch)
    assert [x for x in successes(800) if x.victim.broken] == []


# States --------------------------------------------------------------------------------------------------------------

EVERYTHING = """
enum Color { red | blue }
record Entry { term: 0..3  value: bool }
channel c: bag[2] to each M
machine M {
    b: bool  n: -1..3  o: 0..3?  s: set<0..3>  l: list<bool>[2]  t: map<bool, 0..3>  e: Entry  r: M?  d: duration
    k: Color  at: state of M
    initial state A
    state B { initial state C  state D }
    event go from environment
    event put(x: bool) from c
    action ask -> yes
    action tell
    A -> B on go do ask
    B -> A on ask.yes
    A on put(x) do b = x
}
system S { ms: M[2] }
"""


def line(field: int | None = None, text: str = "", part: int | None = None) -> str:
    """A state, with another text in place of a field or a part of it."""
    fields = ["false", "0", "null", "[]", "[]", "[0,0]", "[0,false]", "null", "0", '"red"', '"A"']
    if field is not None:
        fields[field] = text
    second = '[false,0,null,[],[],[0,0],[0,false],null,0,"red","A"]'
    parts = ['["A","C"]', f"[[{','.join(fields)}],{second}]", "[]", '[[["put",[true]]],[]]', '[[1,"ask"]]', "false"]
    if part is not None:
        parts[part] = text
    return f"[{','.join(parts)}]"


@pytest.fixture(scope="module")
def universe() -> Universe:
    model = compiled(EVERYTHING)
    return Universe(model, model.systems["test.S"])


GOOD = [
    (None, ""), (0, "true"), (1, "-1"), (1, "3"), (2, "3"), (3, "[0,2]"), (4, "[true,true]"), (5, "[1,2]"),
    (6, "[3,true]"), (7, "1"), (8, "5000"), (9, '"blue"'), (10, '"D"'),
]  # fmt: skip


@pytest.mark.parametrize(("field", "text"), GOOD)
def test_a_state_is_read_as_it_was_written(field: int | None, text: str, universe: Universe) -> None:
    written = line(field, text)
    assert encoded(decoded(universe, written)) == written


BAD_FIELDS = [
    (0, "1"), (0, "0"), (0, '"true"'), (0, "null"), (0, "[]"), (1, "true"), (1, "4"), (1, "-2"), (1, "1.0"), (1, "1e0"),
    (1, "-0"), (1, "00"), (1, '"1"'), (1, "null"), (1, "NaN"), (1, "Infinity"), (1, "9" * 5000), (1, "[1]"),
    (2, "false"), (2, "0.0"), (2, "[]"), (3, "[0,0]"), (3, "[1,0]"), (3, "[false]"), (3, "{}"), (3, '{"set":[0]}'),
    (3, "[4]"), (3, "0"), (4, "[1]"), (4, "[true,true,true]"), (4, '"tf"'), (5, "[0]"), (5, "[0,0,0]"),
    (5, "[[false,0],[true,0]]"), (5, '{"false":0}'), (5, "[false,0]"), (6, "[0]"), (6, "[0,0]"), (6, "[true,true]"),
    (6, '{"term":0}'), (7, "true"), (7, "2"), (7, "-1"), (7, "0.0"), (7, '"ms0"'), (8, "false"), (8, "-1"),
    (8, "0.5"), (9, '"green"'), (9, '"Red"'), (9, '"r\\u0065d"'), (9, "0"), (10, '"B"'), (10, '"E"'), (10, "0"),
    (0, "false,false"), (0, " false"), (0, ""), (0, "[" * 100_000),
]  # fmt: skip


@pytest.mark.parametrize(("field", "text"), BAD_FIELDS, ids=lambda x: str(x)[:20])
def test_a_field_has_a_value_of_its_type_in_one_spelling(field: int, text: str, universe: Universe) -> None:
    with pytest.raises(RefusedError) as error:
        decoded(universe, line(field, text))
    assert re.fullmatch("[ -~]{10,500}", str(error.value))


BAD_PARTS = [
    (0, '["A"]'), (0, '["A","B"]'), (0, '["A",0]'), (0, '["A","C","C"]'), (0, '{"A":"C"}'), (1, "[]"), (1, "[[],[]]"),
    (2, "[false]"), (2, "[2]"), (2, "[-1]"), (2, "[0,0]"), (2, "[1,0]"), (2, "[0.0]"), (2, "0"),
    (3, "[]"), (3, "[[]]"), (3, "[[],[],[]]"), (3, '[[["go",[]]],[]]'), (3, '[[["put",[1]]],[]]'),
    (3, '[[["put",[]]],[]]'), (3, '[[["put"]],[]]'),
    (3, '[[["put",[true]],["put",[false]]],[]]'), (3, '[[["put",[true]],["put",[true]],["put",[true]]],[]]'),
    (3, '[[["none",[true]]],[]]'), (3, '[[[["put"],[true]]],[]]'), (4, '[[0,"tell"]]'), (4, '[[false,"ask"]]'),
    (4, '[[2,"ask"]]'), (4, '[[0,["ask"]]]'), (4, "[[0]]"), (5, "0"), (5, "true"), (5, "null"), (5, "false,0"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "text"), BAD_PARTS)
def test_a_part_of_a_state_is_exact(part: int, text: str, universe: Universe) -> None:
    assert decoded(universe, line())
    with pytest.raises(RefusedError):
        decoded(universe, line(None, text, part))


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "0", '"x"', "[[],[],[],[],[],false]", line() + " ", "\ufeff"])
def test_a_line_is_one_state(text: str, universe: Universe) -> None:
    with pytest.raises(RefusedError):
        decoded(universe, text)


def test_the_message_names_line_part_and_type(universe: Universe) -> None:
    with pytest.raises(RefusedError) as error:
        recheck.states(universe, [line(), line(0, "1")])
    assert str(error.value) == "test.S: `worlds`, line 2: field `b` of `m0`: expected true or false, not 1"


def test_a_condition_is_a_truth_value_for_the_definition() -> None:
    """A number in the place of one is a mistake of ours, and neither true nor false."""
    model = compiled(
        "machine M { b: bool  initial state A  invariant b  invariant not b  invariant b and b }\nsystem S { m: M }"
    )
    universe = Universe(model, model.systems["test.S"])
    for number in (0, 1, 1.0):
        world: Any = universe.start._replace(fields=((number,),))
        for x in universe.machines[0].invariants:
            with pytest.raises((AssertionError, FaultError)):
                holds(universe, world, x.condition, instance=0)


# Files ---------------------------------------------------------------------------------------------------------------

GANGS = """module c
machine Gang {
    initial state Queued
    state Running
    event run, stop from environment
    Queued -> Running on run
    amends "nobody says how a run ends" Running -> Queued on stop
}
system Cluster {
    gangs: Gang[3]
    invariant two: (count g in gangs: g in Running) <= 2
}
system Small { gang: Gang  invariant one: gang in Queued or gang in Running }
"""


@pytest.fixture
def gangs(tmp_path: Path) -> Path:
    spec = tmp_path / "c.fsm"
    spec.write_text(GANGS, "utf-8")
    return spec


def certificate(spec: Path, *arguments: str) -> Path:
    """The certificate that `verify` writes."""
    path = spec.with_name("certificate.json")
    output = CliRunner().invoke(cli, ["verify", str(spec), "--certificate", str(path), *arguments]).output
    assert "certifies" in output
    return path


@pytest.mark.parametrize("states_too", [[], ["--with-states"]])
def test_settings_are_repeated(states_too: list[str], gangs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(certificate(gangs, "--set", "gangs=2", *states_too))
    assert recheck.main([path, str(gangs)]) == 1
    assert capsys.readouterr().out == (
        "refused: the certificate was made with `--set gangs=2`, but this command has none: it shows nothing of other "
        "sizes and parameters; repeat `--set gangs=2` after the specs\n"
    )
    assert recheck.main([path, str(gangs), "--set", "gangs=3"]) == 1
    assert "made with `--set gangs=2`, but this command has `--set gangs=3`" in capsys.readouterr().out
    assert recheck.main([path, str(gangs), "--set", "gangs = 02"]) == 0
    assert capsys.readouterr().out == (
        "confirmed: c.Cluster with --set gangs = 02: 1 invariant holds in 4 states\n"
        "confirmed: c.Small with --set gangs = 02: 1 invariant holds in 2 states\n"
    )


def test_a_certificate_of_the_text_shows_nothing_of_a_setting(gangs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(certificate(gangs, "--system", "Small"))
    assert recheck.main([path, str(gangs), "--set", "gangs=2"]) == 1
    assert "made with no options, but this command has `--set gangs=2`" in capsys.readouterr().out
    assert recheck.main([path, str(gangs), "--as-documented"]) == 1
    assert "remove `--as-documented`" in capsys.readouterr().out


def test_the_documented_text_is_another(gangs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(certificate(gangs, "--as-documented", "--set", "gangs=1"))
    assert recheck.main([path, str(gangs), "--set", "gangs=1"]) == 1
    assert "repeat `--set gangs=1 --as-documented` after the specs" in capsys.readouterr().out
    assert recheck.main([path, str(gangs), "--set", "gangs=1", "--as-documented"]) == 0
    assert "c.Small with --set gangs=1 --as-documented: 1 invariant holds" in capsys.readouterr().out


def test_what_is_not_certified_is_listed(gangs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(certificate(gangs))
    assert recheck.main([path, str(gangs)]) == 0
    assert capsys.readouterr().out == ("confirmed: c.Small: 1 invariant holds in 2 states\nnot certified: c.Cluster\n")


def test_modules_of_the_library_are_part_of_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tmp_path / "mine.fsm"
    spec.write_text("module mine\nimport kubernetes\n" + GANGS.removeprefix("module c\n"), "utf-8")
    text = certificates.parse(certificate(spec, "--system", "Small").read_bytes())
    assert {*text.modules} == {"mine", "kubernetes"}
    assert recheck.recheck(text, [spec]).confirmed
    (tmp_path / "kubernetes.fsm").write_text("module kubernetes\n", "utf-8")
    with pytest.raises(RefusedError, match="different version of module `kubernetes`"):
        recheck.recheck(text, [spec])


def test_a_system_that_cannot_begin_is_not_certified(tmp_path: Path) -> None:
    spec = tmp_path / "c.fsm"
    spec.write_text(GANGS.replace("gang: Gang ", "gang: Gang  start when gang in Running  "), "utf-8")
    path = tmp_path / "certificate.json"
    output = CliRunner().invoke(cli, ["verify", str(spec), "--certificate", str(path), "--system", "Small"]).output
    assert "no certificate for c.Small: not explored: there is no initial state" in output


def test_a_system_without_first_states_is_refused(gangs: Path) -> None:
    text = certificate(gangs, "--system", "Small").read_bytes()
    gangs.write_text(GANGS.replace("gang: Gang ", "gang: Gang  start when gang in Running  "), "utf-8")
    about = certificates.parse(text)
    now = recheck.texts(recheck.load([gangs]).model)  # type: ignore[arg-type]
    with pytest.raises(RefusedError, match=r"c\.Small: the system has no initial state"):
        recheck.recheck(replace(about, modules=now), [gangs])


def test_records_are_certified(tmp_path: Path) -> None:
    spec = tmp_path / "r.fsm"
    text = """module r
record Entry { term: 0..3  value: bool }
machine M {
    e: Entry
    initial state A
    event go from environment
    A on go when e.term < 3 do e.term = e.term + 1
    ignore go in A
    invariant e.term <= 3
}
system S { m: M }
"""
    spec.write_text(text, "utf-8")
    path = certificate(spec, "--with-states")
    assert [x.states for x in recheck.recheck(certificates.parse(path.read_bytes()), [spec]).confirmed] == [4]


HOSTILE: dict[str, tuple[bytes, int]] = {
    "nothing": (b"", 1),
    "not JSON": (b"{", 1),
    "not UTF-8": (b"\xff{}", 1),
    "a mark before it": (b"\xef\xbb\xbf{}", 1),
    "no object": (b"[]", 1),
    "null": (b"null", 1),
    "NaN": (b"NaN", 1),
    "a fraction": (b"1.5", 1),
    "a large number": (b"1" * 100_000, 1),
    "deep lists": (b"[" * 200_000, 1),
    "deep objects": (b'{"a":' * 200_000, 1),
    "deep in a part": (b'{"format": "fsmdsl certificate 2", "modules": ' + b"[" * 5000 + b"]" * 5000 + b"}", 1),
    "half a character": (b'{"format": "\\ud800"}', 1),
    "an escape": (b'{"format": "\\u001b]0;x\\u0007\\u202e"}', 1),
    "a nul": (b"\x00", 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_a_line(name: str, gangs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, code = HOSTILE[name]
    path = gangs.with_name("hostile.json")
    path.write_bytes(content)
    assert recheck.main([str(path), str(gangs)]) == code
    output = capsys.readouterr()
    assert re.fullmatch("refused: [ -~]{5,500}\n", output.out)
    assert output.err == ""


CHANGES: dict[str, tuple[str, str]] = {
    '"states": 2': ('"states": 2.0', "a number"),
    '"states": 2,': ('"states": true,', "`systems`, item 1, `states`: expected a whole number above 0, not true"),
    '"as_documented": false': ('"as_documented": 0', "`as_documented`: expected true or false, not 0"),
    '"as_documented": fals': ('"more": 1, "as_documented": fals', "unknown key"),
    '"settings": []': ('"settings": "gangs=2"', '`settings`: expected a list, not "gangs=2"'),
    '"settings": [': ('"settings": ["x"', "`settings`: expected settings, each once, as `name=value`"),
    '"settings": ': ('"settings": [], "settings": ', 'duplicate key: "settings"'),
    '"c": "': ('"c": "z', "64 hexadecimal digits"),
    '"modules": {': ('"modules": {"d": [], ', "`modules`, the digest of a module: expected 64 hexadecimal digits"),
    '"digest": "': ('"digest": "F', "`digest`: expected 64 hexadecimal digits"),
    '"invariants": [': ('"invariants": [1, ', "`invariants`, an item: expected a string, not 1"),
    '"worlds": [': ('"worlds": [null, ', "`worlds`, an item: expected a string, not null"),
    '"systems": [': ('"systems": [[], ', "`systems`, item 1: expected an object, not []"),
    '"system": "c.Small"': ('"system": "c.Small\\u202e"', "there is no system `c.Small\\u202e`"),
}


@pytest.mark.parametrize("part", CHANGES)
def test_each_part_has_its_type(part: str, gangs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = certificate(gangs, "--system", "Small", "--with-states")
    text = path.read_text("utf-8")
    assert text.count(part) == 1
    other, message = CHANGES[part]
    path.write_text(text.replace(part, other), "utf-8")
    assert recheck.main([str(path), str(gangs)]) == 1
    output = capsys.readouterr().out
    assert message in output
    assert re.fullmatch("refused: [ -~]+\n", output)


def test_no_system_is_certified_twice(gangs: Path) -> None:
    content = json.loads(certificate(gangs, "--system", "Small").read_bytes())
    content["systems"] *= 2
    with pytest.raises(RefusedError, match="a system is certified twice"):
        certificates.parse(json.dumps(content).encode())


def test_no_state_is_there_twice(gangs: Path) -> None:
    content = json.loads(certificate(gangs, "--system", "Small", "--with-states").read_bytes())
    (system,) = content["systems"]
    system["worlds"].append(system["worlds"][0])
    system.update(states=3, digest=digest(system["worlds"]))
    with pytest.raises(RefusedError, match="a state is listed twice"):
        recheck.recheck(certificates.parse(json.dumps(content).encode()), [gangs])


def test_files_that_are_none(gangs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Misuse, and none of them is opened, which could wait for ever."""
    pipe = gangs.with_name("pipe")
    os.mkfifo(pipe)
    for path in (gangs.parent, pipe, Path("/dev/zero"), gangs.with_name("none"), gangs.with_name("a\nb"), Path("a\0b")):
        assert recheck.main([str(path), str(gangs)]) == 2
        assert re.fullmatch("cannot read `[ -~]+`: [ -~]+\n", capsys.readouterr().err)
    monkeypatch.setattr(recheck, "MAX_BYTES", 100)
    assert recheck.main([str(certificate(gangs)), str(gangs)]) == 2
    assert "larger than 100 bytes" in capsys.readouterr().err


def test_a_certificate_is_no_larger_than_is_read(gangs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "MAX_BYTES", 100)
    path = gangs.with_name("certificate.json")
    ran = CliRunner().invoke(cli, ["verify", str(gangs), "--certificate", str(path), "--with-states"])
    assert ran.exit_code == 2
    assert "remove `--with-states`" in ran.output
    assert not path.exists()


@pytest.mark.parametrize(
    "spec",
    ["(" * 5000, "module c\nmachine M { initial state A  invariant " + "not " * 5000 + "true }", "\x00", "module d"],
)
def test_hostile_specs_are_refused(spec: str, gangs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = certificate(gangs)
    gangs.write_text(spec, "utf-8")
    assert recheck.main([str(path), str(gangs)]) == 1
    assert re.fullmatch("refused: [ -~]+\n", capsys.readouterr().out)


def test_numbers_of_a_certificate_have_a_limit() -> None:
    assert strict_json.parsed("1" * strict_json.MAX_DIGITS)
    with pytest.raises(RefusedError, match="a number has 1001 digits"):
        strict_json.parsed("1" * (strict_json.MAX_DIGITS + 1))


def interrupted(*_: object) -> Iterator[None]:
    """Ctrl-C."""
    raise KeyboardInterrupt


def test_ctrl_c(gangs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = certificate(gangs)
    monkeypatch.setattr(recheck, "_next", interrupted)
    assert recheck.main([str(path), str(gangs)]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_mistake_of_our_own_is_no_confirmation(
    gangs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = certificate(gangs)
    monkeypatch.setattr(recheck, "_next", lambda *_: 1 // 0)
    assert recheck.main([str(path), str(gangs)]) == 70
    assert capsys.readouterr().err.startswith("internal error: ZeroDivisionError")


def test_a_reader_that_has_gone(gangs: Path) -> None:
    path = certificate(gangs)
    command = f"'{sys.executable}' -m fsmdsl.recheck '{path}' '{gangs}' | true; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert ran.stdout in ("0\n", "141\n")
    assert ran.stderr == ""
