"""Text of others on the terminal: names from logs, paths, other people's code, and what specs have that are not well.

Whatever command prints it, no control or direction character of it arrives, and none of it begins a line.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_cli import DOOR

from fsmdsl.cli import messages
from fsmdsl.cli.run import _run
from fsmdsl.text.terminal import HIDDEN, printable, printable_json, printable_line, printable_text

FORGED = "explained  gang.TwoGpus: 2 of 2 lines"

NASTY = f"x\n{FORGED}\r\x1b[2J\x1b]0;t\x07\x9b31m\u202eevil\u2066\u200b\u200f\x7f\u2028{FORGED}\x85{FORGED}"
"""What a log or a file of others may say. Without the half of a character, which only a path may have."""

SGR = re.compile("\x1b\\[(?:[012]|3[0-7])m")


def safe(text: str) -> None:
    left = SGR.sub("", text)
    bad = [c for c in re.findall(HIDDEN, left) if c not in "\n\t"]
    assert not bad, (bad, text)
    assert not any(line.strip().startswith(FORGED) for line in text.splitlines()), text


Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "door.fsm").write_text(DOOR)
    monkeypatch.setattr(messages, "_at_terminal", lambda: True)  # others get specs and diagrams as they are

    def told(*arguments: str, code: int | None = None) -> str:
        """What a command prints, of which nothing is hidden."""
        try:
            ended: object = _run([*arguments, "--color", "always"], None)
        except SystemExit as end:
            ended = end.code
        found = capsys.readouterr()
        text = found.out + found.err
        assert ended != 70, text
        assert code is None or ended == code, text
        safe(text)
        return text

    return told


# The functions -------------------------------------------------------------------------------------------------------


@given(st.text() | st.text(st.sampled_from("\n\t\r\x1b[31m0;\u202e\u2028\ud800ab")))
def test_nothing_hidden_is_left(text: str) -> None:
    assert re.search(HIDDEN, printable(text)) is None
    assert re.search(HIDDEN, SGR.sub("", printable_line(text)).replace("\t", "")) is None
    assert printable_text(text).count("\n") == text.count("\n")
    written = printable_json(json.dumps({"a": text}, ensure_ascii=False, indent=1))
    assert json.loads(written) == {"a": text}
    assert re.search(HIDDEN, written.replace("\n", "")) is None


@pytest.mark.parametrize("text", ["é", "日本語", "عربى", "e\u0301", "👩‍👩‍👧", "✈️", "नि", "a\u200cb", "→", "\xa0"])
def test_letters_marks_and_emoji_stay(text: str) -> None:
    assert printable(text) == text


def test_colours_stay_in_lines_and_nowhere_else() -> None:
    assert printable_line("\x1b[31m\x1b[1mred\x1b[0m\x1b[8mhidden\x1b[38;5;1m") == (
        "\x1b[31m\x1b[1mred\x1b[0m\\x1b[8mhidden\\x1b[38;5;1m"
    )
    assert printable("\x1b[31m") == "\\x1b[31m"


def test_only_one_module_writes_to_the_terminal() -> None:
    """Whoever prints by other means prints what others have written."""
    others = {
        "__init__.py": "what ends the program",
        "parser.py": "the version",
        "ranks.py": "a process of several that ends all",
    }
    folder = Path(messages.__file__).parent
    writes = re.compile(r"click\.s?echo\b|\bprint\(|std(out|err)(__)?\.(buffer\.)?write")
    assert {x.name for x in folder.glob("*.py") if writes.search(x.read_text())} == {"messages.py", *others}


# Commands ------------------------------------------------------------------------------------------------------------


PATHS = [
    ["check"], ["verify"], ["test"], ["list"], ["fmt", "--check"], ["fmt", "--diff"], ["draw", "--out", "-"],
    ["report"], ["generate"], ["simulate"], ["export", "--to", "promela"], ["import"], ["diff"], ["drift"], ["explain"],
    ["init"],
    ["verify", "--certificate"], ["draw", "--counts"], ["verify", "--replay", "r"], ["simulate", "--trace"],
    ["check", "--output"], ["generate", "--out"], ["draw", "--out"],
]  # fmt: skip


@pytest.mark.parametrize("command", PATHS, ids=" ".join)
@pytest.mark.parametrize("there", ["missing", "folder", "file"])
def test_a_path(run: Run, command: list[str], there: str, tmp_path: Path) -> None:
    name = f"{NASTY}\udc80.fsm"[-60:]
    if there == "folder":
        (tmp_path / name).mkdir()
        (tmp_path / name / "door.fsm").write_text(DOOR)
    elif there == "file":
        (tmp_path / name).write_text(DOOR)
    more = ["door.fsm"] if command[0] in ("drift", "diff") or len(command) > 1 else []
    run(*command, name, *more)
    run(*command, *more, name, "--format", "json")


OPTIONS = [
    ["verify", "--system"], ["verify", "--set"], ["verify", "--hide"], ["draw", "--machine"], ["export", "--system"],
    ["check", "--without"], ["test", "--without"], ["check", "--format"], ["simulate", "--machine"],
    ["verify", "--property"], ["explain", "--mapping"], ["diff", "HEAD"], ["check", "--nothing"],
    ["generate", "--target"], ["import", "--module"], ["verify", "--second-opinion", "spin", "--tool"], [],
]  # fmt: skip


@pytest.mark.parametrize("command", OPTIONS, ids=" ".join)
def test_an_option(run: Run, command: list[str]) -> None:
    run(*command, NASTY, "door.fsm")
    run(*command, f"{NASTY}=1", "door.fsm")


TEXTS = {
    "comment": DOOR.replace("machine Door", f"// {NASTY.replace(chr(10), '')}\nmachine Door"),
    "doc": DOOR.replace("machine Door", f"/// {NASTY.replace(chr(10), '')}\nmachine Door"),
    "title": DOOR.replace("machine Door", f'machine Door "{NASTY.replace(chr(10), "")}"'),
    "mark": DOOR.replace("machine Door", '/// a\u200fb \u200b\nmachine Door "a\u200f\u061c"'),
    "name": DOOR.replace("Door", f"D{NASTY}"),
    "raw": NASTY,
    "string": DOOR.replace("machine Door", f'machine Door "{NASTY}'),
    "bytes": DOOR + "\ufeff\ufffe\0",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_spec(run: Run, name: str, tmp_path: Path) -> None:
    (tmp_path / "door.fsm").write_text(TEXTS[name])
    for form in ("text", "json", "concise", "sarif", "junit", "github", "gitlab", "markdown"):
        run("check", "--notes", "--format", form, "door.fsm")
        run("verify", "--format", form, "door.fsm")
    for command in (["test", "-v"], ["list"], ["fmt", "--diff"], ["generate"], ["report"], ["diff", "door.fsm"]):
        run(*command, "door.fsm")


EXPRESSION = DOOR.replace(
    "machine Door {",
    f"""machine Door {{
    n: 0..3
    m: Door?
    on entry(Open) do m.
        // {FORGED}
        n = 1
    invariant wrong: (n
{FORGED.split()[0]} + 1
        // {FORGED}
        ) and n""",
)


def test_an_expression_is_quoted_on_one_line_and_without_comments(run: Run, tmp_path: Path) -> None:
    spec = """module m
machine M {
    n: 0..3
    initial state A
    invariant small: (n +
        // explained  gang.TwoGpus: 2 of 2 lines
        n) and true
}
"""
    (tmp_path / "m.fsm").write_text(spec)
    told = run("check", "m.fsm", "--format", "concise", code=1)
    assert FORGED not in told
    (tmp_path / "m.fsm").write_text(EXPRESSION)
    run("check", "m.fsm")


GANG = """module gang
machine Gang {
    initial state Queued
    state Running
    event grow, finish from environment
    Queued -> Running on grow
    Running -> Queued on finish
}
system TwoGpus { gangs: Gang[2]  environment { some g in gangs: g.grow  some g in gangs: g.finish } }
"""

MAPPING = """spec = "gang.fsm"
system = "TwoGpus"
[[line]]
when = { msg = "grow" }
of = "gangs"
instance = "{gang}"
event = "grow"
"""


@pytest.mark.parametrize("options", [[], ["--show"], ["--coverage"], ["--keep-going"], ["--format", "json"]])
def test_a_log(run: Run, options: list[str], tmp_path: Path) -> None:
    (tmp_path / "gang.fsm").write_text(GANG)
    (tmp_path / "m.toml").write_text(MAPPING)
    lines = [{"msg": "grow", "gang": x} for x in (NASTY, "\ud800", NASTY, NASTY + "2")]
    for shown in (lines[:2], lines):
        raw = [json.dumps(x) for x in shown]
        (tmp_path / "a.log").write_text("\n".join(raw) + "\n")
        run("explain", "a.log", "--mapping", "m.toml", *options)
        text = "\n".join(json.dumps(x, ensure_ascii=False) for x in shown)
        (tmp_path / "a.log").write_bytes(f"{text}\n{NASTY}\n{{\n".encode("utf-8", "surrogatepass"))
        run("explain", "a.log", "--mapping", "m.toml", *options)
    (tmp_path / "m.toml").write_text("strict = true\n" + MAPPING)
    run("explain", "a.log", "--mapping", "m.toml", *options)


@pytest.mark.parametrize("place", ["spec", "system", "key", "when", "instance", "event", "raw"])
def test_a_mapping(run: Run, place: str, tmp_path: Path) -> None:
    nasty = json.dumps(NASTY)[1:-1]
    changed = {
        "spec": MAPPING.replace("gang.fsm", nasty),
        "system": MAPPING.replace("TwoGpus", nasty),
        "key": f'"{nasty}" = 1\n{MAPPING}',
        "when": MAPPING.replace("msg", f'"{nasty}"'),
        "instance": MAPPING.replace("{gang}", nasty),
        "event": MAPPING.replace('"grow"\n', f'"{nasty}"\n'),
        "raw": NASTY,
    }
    (tmp_path / "gang.fsm").write_text(GANG)
    (tmp_path / "a.log").write_text(json.dumps({"msg": "grow", "gang": "a"}))
    (tmp_path / "m.toml").write_text(changed[place])
    run("explain", "a.log", "--mapping", "m.toml")
    run("explain", "a.log", "--mapping", "m.toml", "--format", "json")


N = NASTY.replace("\n", " ")
SOURCES = {
    "a.mmd": f"stateDiagram-v2\n  [*] --> A\n  A --> B : {N}\n  state \"{N}\" as B\n  A --> {N}\n  note {N}\n",
    "a.puml": f"@startuml\n[*] --> A\nA --> B : {N}\nstate \"{N}\" as B\n{N}\n@enduml\n",
    "a.scxml": '<scxml xmlns="http://www.w3.org/2005/07/scxml" initial="a"><state id="a"><transition event="e&#10;x" '
    f'cond="{FORGED}&#10;{FORGED}&#x202e;" target="a"/><x{FORGED.split()[0]}/></state></scxml>',
    "b.scxml": f"<scxml>{N}",
    "a.json": json.dumps({"initial": "a", "states": {"a": {"on": {NASTY: NASTY}}, NASTY: {NASTY: NASTY}}, NASTY: 1}),
    "a.py": "from transitions import Machine\nclass M:\n  def __init__(self):\n"
    f"    Machine(self, states=['a', {NASTY!r}], transitions=[[{NASTY!r}, 'a', {NASTY!r}]], **{{{NASTY!r}: 1}})\n",
    "b.py": f"'''{NASTY}",
    "a.ts": f"import {{createMachine}} from 'xstate'\nexport default createMachine({{initial: 'a', states: {{a: {{on: "
    f"{{{json.dumps(NASTY)}: {json.dumps(NASTY)}}}}}}}}})",
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_code_of_others(run: Run, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(SOURCES[name])
    run("import", name)
    run("import", name, "--out", "out.fsm")
    run("drift", "door.fsm", name)
    run("drift", "door.fsm", name, "--rename", f"{NASTY}=Door", "--format", "json")


def test_a_trace_and_counts(run: Run, tmp_path: Path) -> None:
    for content in (
        {"kind": NASTY, "version": NASTY},
        {"kind": "verify", "version": 1, "systems": [{"name": NASTY, "verdicts": [{NASTY: NASTY}]}]},
        {"counts": {NASTY: {NASTY: 1}}},
        {"counts": {"door.Door": {NASTY: NASTY}}},
        NASTY,
    ):
        (tmp_path / "a.json").write_text(json.dumps(content))
        run("simulate", "--trace", "a.json", "door.fsm")
        run("draw", "--counts", "a.json", "--out", "-", "--format", "mermaid", "door.fsm")


def test_git_says_no(run: Run, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    run("diff", f"HEAD~1:{NASTY}", "door.fsm")
    run("diff", NASTY, NASTY, "door.fsm")
    run("report", "--since", NASTY, "door.fsm")
