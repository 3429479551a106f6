"""Pictures: what Graphviz makes of a diagram, and what is said where it cannot."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from counting import grows_with
from test_draw import NESTED, XML, documented, needs_graphviz, of

from fsmdsl.cli.parser import cli
from fsmdsl.draw import svg
from fsmdsl.draw.dot import dot
from fsmdsl.draw.graph import graph_of
from fsmdsl.draw.mermaid import mermaid
from fsmdsl.draw.plantuml import plantuml
from fsmdsl.draw.restyle import restyled
from fsmdsl.text.diagnostics import Diagnostic

# Pictures ------------------------------------------------------------------------------------------------------------


@needs_graphviz
def test_svg_has_an_id_for_every_node_edge_and_label() -> None:
    for x in (of(NESTED), *(x for x in documented() if x.name in ("AffinityGroup", "Cell"))):
        g = graph_of(x, prefix="one-")
        drawn = svg.picture(g, "svg")
        assert isinstance(drawn, bytes)
        root = ElementTree.fromstring(drawn)
        listed = [found for y in root.iter() if (found := y.get("id")) is not None]
        ids = {n.id for n in g.every()} | {e.id for e in g.edges}
        ids |= {label.id for e in g.edges for label in e.labels} | {label.id for n in g.every() for label in n.inside}
        assert ids <= set(listed)
        assert len(listed) == len(set(listed))
        assert root.get("role") == "img"
        assert root.get("aria-label") == f"State machine {x.display}"


@needs_graphviz
def test_tooltips_are_titles_and_ink_is_the_page_s() -> None:
    x = of("initial state A /// where it begins\n  state B  event x\n  /// the way\n  e: A -> B on x")
    drawn = svg.picture(graph_of(x), "svg")
    assert isinstance(drawn, bytes)
    root = ElementTree.fromstring(drawn)
    by_id = {y.get("id"): y for y in root.iter() if y.get("id")}
    assert by_id["state-A"].findtext(f"{XML}title") == "where it begins"
    assert by_id["transition-0"].findtext(f"{XML}title") == "the way\ne: A -> B on x"
    assert "#24292f" not in re.sub(r"<style>.*?</style>", "", drawn.decode(), flags=re.S)
    assert not list(root.iter(f"{XML}a"))
    assert [y.get("text-anchor") for y in by_id["state-A"].iter(f"{XML}text")] == ["middle"]


@needs_graphviz
@pytest.mark.parametrize(("form", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_png_and_pdf(form: svg.Picture, start: bytes) -> None:
    drawn = svg.picture(graph_of(of("initial state A")), form)
    assert isinstance(drawn, bytes)
    assert drawn.startswith(start)


@needs_graphviz
def test_both_directions_and_no_legend() -> None:
    g = graph_of(of("initial state A  state B  event x  A -> B on x"))
    assert "rankdir=LR" in dot(g, "LR")
    assert "initial" in dot(g)
    assert "initial" not in dot(g, with_legend=False)
    assert isinstance(svg.rendered(dot(g, "LR", with_legend=False), "svg"), bytes)


def test_without_graphviz_there_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(svg, "find_spec", lambda _: None)
    found = svg.picture(graph_of(of("initial state A")), "svg")
    assert isinstance(found, Diagnostic)
    assert found.rule.code == "FSM501"
    assert "fsmdsl[svg]" in (found.advice or "")


def test_a_report_without_graphviz_warns_once_and_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(svg, "find_spec", lambda _: None)
    spec, out = tmp_path / "a.fsm", tmp_path / "report"
    machine = "machine M { initial state A  final state B  event x  A -> B on x }"
    spec.write_text(f"module a\n{machine}\nsystem S {{ m: M  environment {{ m.x }} }}\n")
    done = CliRunner().invoke(cli, ["report", str(spec), "--out", str(out)])
    why = "the program `dot` of Graphviz is not installed; run `pip install 'fsmdsl[svg]'`"
    assert done.stderr == f"warning: the page lacks diagrams: {why}\n"
    assert done.exit_code == 0
    assert (out / "index.html").is_file()
    missing = CliRunner().invoke(cli, ["draw", str(spec), "--out", str(out)])
    assert missing.exit_code == 1
    assert missing.stderr.startswith("error[FSM501]: the program `dot` of Graphviz is not installed\n  = help: run ")
    assert "--format mermaid" in missing.stderr


def program(folder: Path, script: str) -> Path:
    path = folder / "dot"
    path.write_text(f"#!{sys.executable}\nimport sys, time\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_dot_program_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "sys.stdin.read()\nsys.stdout.write(' '.join(sys.argv[1:]))")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert svg.rendered("digraph {}", "png") == b"-Tpng -Gbgcolor=white -Gdpi=144"
    assert svg.rendered("digraph {}", "svg") == b"-Tsvg"


def test_a_failing_graphviz_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path, "sys.exit('Fontconfig warning: fonts\\nError: out of memory\\nFontconfig error: more')")
    found = svg.rendered("digraph {}", "svg")
    assert isinstance(found, Diagnostic)
    assert (found.rule.code, found.message) == ("FSM502", "Graphviz failed: Error: out of memory")
    program(tmp_path, "time.sleep(9)")
    monkeypatch.setattr(svg, "TIMEOUT", 0.2)
    found = svg.rendered("digraph {}", "svg")
    assert isinstance(found, Diagnostic)
    assert "did not finish" in found.message
    (tmp_path / "dot").write_text("#!/no/such/interpreter\n")
    assert isinstance(svg.rendered("digraph {}", "svg"), Diagnostic)


def test_older_graphviz_is_restyled_too() -> None:
    """Version 2 has other names for nothing, and no preserved blanks."""
    old = (
        '<svg width="8pt" height="9pt" viewBox="0 0 8 9" xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink"><g id="M" class="graph"><title>machine</title>'
        '<g id="edge-a-b" class="edge"><title>a-&gt;b</title><g id="a_edge-a-b"><a xlink:title="how">'
        '<path stroke="#24292f" d="M0,0"/></a></g><g id="a_edge-a-b-label"><a xlink:title="how">'
        '<g id="a_transition-0"><a xlink:title="how">'
        '<text x="1" y="2" font-weight="bold">e</text><text x="3" y="2">\u00a0go</text></a></g></a></g></g></g></svg>'
    )
    root = ElementTree.fromstring(restyled(old, 'a "title"'))
    inside = root.find(f".//{XML}g[@id='transition-0']")
    assert inside is not None
    assert "".join(inside.itertext()) == "howe\u00a0go"
    assert root.find(f".//{XML}path[@stroke='currentColor']") is not None
    assert root.get("aria-label") == 'a "title"'


@pytest.mark.full(reason="size")
def test_writing_takes_time_in_proportion_to_the_machine() -> None:
    def writing(count: int) -> Callable[[], object]:
        states = "\n".join(f"{'initial ' if i == 0 else ''}state S{i}" for i in range(count))
        events = "\n".join(f"event e{i}" for i in range(50))
        rows = "\n".join(f"r{k}: S{k * 7 % count} -> S{k * k % count} on e{k % 50}" for k in range(5 * count))
        x = of(f"{states}\n{events}\n{rows}")
        return lambda: [dot(graph_of(x)), mermaid(graph_of(x, junctions=False)), plantuml(graph_of(x, junctions=False))]

    assert grows_with(writing, 40)
