"""Paths and sentences of others in what is exported: they stay inside comments and strings, whatever they are."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import nodes
from test_second_opinion import spin
from tiers import share, today

import fsmdsl.interop.export
from fsmdsl import graphs
from fsmdsl import model as m
from fsmdsl.interop.export import MACHINE_TARGETS, TARGETS
from fsmdsl.interop.export.escape import MAX_TEXT, c_comment, c_string, tla_comment, xml_comment
from fsmdsl.interop.second_opinion.opinion import Budgeted
from fsmdsl.interop.second_opinion.spin import Spin
from fsmdsl.model.resolve import resolve
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

__all__ = ["spin"]

SPEC = """\
module kiln

enum Size {{ small | large }}

/// {doc}
machine Kiln "{doc}" {{
    heat: 0..2
    pots: set<Kiln>
    durable size: Size
    waits: list<0..1>[2]
    let hot = heat > 1
    initial state Cold "{doc}"    /// {doc}
    state Hot
    event light(n: 0..2), cool from link, Kiln, environment
    action ring -> done | broken
    /// {doc}
    lit: Cold -> Hot on light(n) when n > 0 do {{ heat = n; add self to pots; send link.cool to self }}
    Hot -> Cold on cool when not hot do {{ waits = waits + [1] }}
    Hot -> Cold after 5s
    Hot on light(n) do ring
    Hot -> Cold on ring.done
    Hot -> Hot on ring.broken
    Cold -> Cold on crash
    ignore light in Cold
    ignore cool in Cold, Hot
    invariant warm: heat < 3
}}

channel link: fifo[1] from each Kiln to each Kiln

system Two {{
    kilns: Kiln[2]
    let busy = (count k in kilns: k in Hot) > 0
    environment {{
        some k in kilns, n in 0..1: k.light(n) when not busy
        crash between writes
    }}
    recover {{ for k in kilns {{ k.heat = 0 }} }}
    invariant cold: not busy or busy
    reachable burning: some k in kilns: k in Hot
    property ends: busy ~> not busy
}}
"""

PIECES = [
    "*/ PWNED /*", "/* PWNED", "// PWNED", "*/", '"; PWNED; "', "\\", "\\\"", "??/", "??'", "\nPWNED", "\rPWNED",
    "\x0bPWNED", "\x0cPWNED", "\x85PWNED", "\u2028PWNED", "\x00", "{", "}", "'", "#define PWNED", "\n#include PWNED",
    "%n%s", "(* PWNED", "*) PWNED", "\\* PWNED", "====", "\n====\nPWNED", "--algorithm", "--> PWNED", "--", "-",
    "]]>", "</PWNED>", "<!--", "&PWNED;", "\ud800", "\u202e", "\ufffe", "c_code { PWNED }", "ж", "a" * 300,
]  # fmt: skip
"""What means something to one of the targets."""

HOSTILE = "".join(PIECES)

STRINGS = r'"(?:[^"\\\n]|\\.)*"'
COMMENTS = {
    "promela": re.compile(rf"/\*.*?\*/|//[^\n]*|{STRINGS}|'(?:[^'\\\n]|\\.)*'", re.DOTALL),
    "tla": re.compile(rf"\\\*[^\n]*|\(\*.*?\*\)|{STRINGS}", re.DOTALL),
}


def skeleton(target: str, text: str) -> str:
    """A text without its comments and strings."""
    bare = COMMENTS[target].sub(lambda x: "''" if x[0][0] in "'\"" else "", text)
    return re.sub(r"\n(}\n\nc_code {\n|\n)+", "\n", bare)  # how much fits into a piece depends on what is in comments


def model_of(path: str, doc: str = "A kiln.") -> m.Model:
    """The spec at a path; its sentences are put in behind the parser, which would refuse some."""
    parsed = parse(Source(path, SPEC.format(doc="A kiln.")))
    found = resolve([parsed.module])
    assert [*parsed.diagnostics, *found.diagnostics] == []
    assert found.model is not None
    if doc == "A kiln.":
        return found.model
    (module,) = found.model.modules
    machine = module.machines[0]
    states = tuple(replace(s, display=doc, doc=doc) for s in machine.states)
    rows = tuple(replace(t, doc=doc) for t in machine.transitions)
    changed = replace(machine, display=doc, doc=doc, states=states, transitions=rows)
    return m.Model((replace(module, machines=(changed,)),))


def exported(target: str, path: str) -> str:
    model = model_of(path)
    return TARGETS[target](model, model.systems["kiln.Two"])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", today([HOSTILE, *PIECES]))
def test_a_path_is_no_code(target: str, path: str) -> None:
    assert skeleton(target, exported(target, path)) == skeleton(target, exported(target, "kiln.fsm"))


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=6).map("".join))
@settings(max_examples=share(300), deadline=None)
def test_one_function_for_each_language_lets_nothing_out(text: str) -> None:
    assert skeleton("promela", f"a {c_comment(text)} b") == "a  b"
    assert skeleton("promela", f"a {c_string(text)} b") == "a '' b"
    assert skeleton("tla", f"a {tla_comment(text)}\nb") == "a \nb"
    for made in (c_comment(text), c_string(text), tla_comment(text)):
        assert len(made.splitlines()) == 1
        assert "??" not in made  # trigraphs
        assert not set(made.removeprefix("\\*")) & set("\\{}#%'")
    (comment,) = ET.fromstring(
        f"<a><!--{xml_comment(text)}--></a>".encode(), ET.XMLParser(target=ET.TreeBuilder(insert_comments=True))
    )
    assert comment.tag is ET.Comment


@pytest.mark.parametrize("doc", [HOSTILE, *PIECES])
def test_a_sentence_adds_nothing_to_a_statechart(doc: str) -> None:
    def machine(text: str) -> tuple[m.Model, m.Machine]:
        model = model_of("kiln.fsm", text)
        return model, model.machines["kiln.Kiln"]

    def tags(text: str) -> list[tuple[str, tuple[str, ...]]]:
        root = ET.fromstring(MACHINE_TARGETS["scxml"](*machine(text))[0].encode())
        return [(x.tag, tuple(x.attrib)) for x in root.iter()]

    assert tags(doc) == tags("A kiln.")
    config = json.loads(MACHINE_TARGETS["xstate"](*machine(doc))[0])
    assert config["states"].keys() == {"Cold", "Hot"}
    drawn = graphs.graphml(graphs.machine(machine(doc)[1]))
    assert ET.fromstring(drawn.encode()).tag.endswith("graphml")


SIGNS = re.compile(r"/\*|\*/|//|\\\*|<!--")


def writes_a_comment(text: ast.JoinedStr) -> bool:
    return any(isinstance(x, ast.Constant) and SIGNS.search(str(x.value)) for x in text.values)


def test_no_other_code_writes_comments() -> None:
    folder = Path(fsmdsl.interop.export.__file__).parent
    for path in folder.glob("*.py"):
        if path.name != "escape.py":
            formatted = (x for x in nodes(path) if isinstance(x, ast.JoinedStr))
            wrong = [x.lineno for x in formatted if writes_a_comment(x)]
            assert not wrong, f"{path.name}:{wrong}: use `c_comment` or `tla_comment`"


def test_a_long_path_is_cut_in_the_middle() -> None:
    made = c_string("invariant 3 violated: " + "a" * 5000 + "/b.fsm:3:4")
    assert len(made) <= MAX_TEXT + 2
    assert re.fullmatch(r'"invariant 3 violated: a+\.\.\.a+/b\.fsm:3:4"', made)


def test_spin_reads_it_and_the_compiler_too(spin: Spin, tmp_path: Path) -> None:
    model = model_of(HOSTILE)
    (tmp_path / "model.pml").write_text(TARGETS["promela"](model, model.systems["kiln.Two"]), encoding="utf-8")
    subprocess.run([spin.spin, "-a", "model.pml"], cwd=tmp_path, check=True, stdin=subprocess.DEVNULL)
    flags = ["-w", "-fsyntax-only", "-DSAFETY", "-DNOREDUCE", "-DBFS", "-DNOCLAIM", "-DVECTORSZ=4096"]
    subprocess.run([spin.compiler, *flags, "pan.c"], cwd=tmp_path, check=True)


def test_a_path_runs_nothing_in_the_second_opinion(spin: Spin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shell = f'system("touch {tmp_path}/PWNED");'
    code = f"*/ static void __attribute__((constructor)) pwned(void) {{ {shell} }} /*"
    for path in (f"a {code}/x.fsm", f"a*/ }} c_code {{ {shell} }} /*/x.fsm"):
        model = model_of(path)
        assert spin.opinion(model, model.systems["kiln.Two"], 100, Budgeted()).unfinished is None
        assert list(tmp_path.iterdir()) == []
