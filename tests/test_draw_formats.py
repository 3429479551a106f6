"""Every format of diagrams is documented, is offered everywhere, and has golden files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from door import DOOR
from test_draw import GOLDEN, machine
from test_draw_golden import sections

from fsmdsl.cli.parser import cli
from fsmdsl.draw.formats import BY_NAME, FORMATS, PICTURES, TEXTS, Format, enumerated
from fsmdsl.editor.live.pictures import exported

ROOT = Path(__file__).parent.parent
NAMES = [x.name for x in FORMATS]


def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


@pytest.mark.parametrize("form", FORMATS, ids=NAMES)
def test_it_is_documented(form: Format) -> None:
    """In the table of diagrams, in the README, and of those that the live page saves, on its page."""
    way = "one joined arrow" if form.junctions else "one arrow per state"
    maker = "fsm" if form.text else "Graphviz"
    assert f"| `{form.name}` ({form.label}) | `.{form.ending}` | {maker} | {way} |" in page("docs/command-line.md")
    assert re.search(rf"^\| `fsm draw` \|.*\b{form.label}\b", page("README.md"), re.MULTILINE)
    if form.name == "svg" or form.text:
        saved = re.search(r"\*Download …\* saves the diagram as ([^.]*)\.", page("docs/live.md"))
        assert saved is not None
        assert form.label in re.split(r",\s|\sor\s", saved[1])


def test_the_table_has_no_other_formats() -> None:
    rows = re.findall(r"^\| `(\w+)` \(\w+\) \| `\.", page("docs/command-line.md"), re.MULTILINE)
    assert rows == NAMES


@pytest.mark.parametrize("form", TEXTS.values(), ids=list(TEXTS))
def test_it_has_golden_files(form: Format) -> None:
    """`UPDATE=1 pytest tests/test_draw_golden.py` writes them."""
    paths = [*GOLDEN.glob("*.txt")]
    assert paths
    assert [x.name for x in paths if form.name not in sections(x.read_text("utf-8"))] == []
    assert form.sequence is None or form.name in sections((GOLDEN / "sequence.out").read_text("utf-8"))


@pytest.mark.parametrize("form", TEXTS.values(), ids=list(TEXTS))
def test_the_command_and_the_live_page_write_it(form: Format, tmp_path: Path) -> None:
    (tmp_path / "door.fsm").write_text(DOOR)
    arguments = ["draw", str(tmp_path / "door.fsm"), "--format", form.name, "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    drawn = (tmp_path / "out" / f"door.Door.{form.ending}").read_text("utf-8")
    assert form.text is not None
    assert drawn == form.text(form.graph(machine(DOOR)), None) == exported(machine(DOOR), form.name)


def test_names_endings_and_labels_are_different() -> None:
    for part in ("name", "ending", "label"):
        assert len({getattr(x, part) for x in FORMATS}) == len(FORMATS)
    assert BY_NAME.keys() == PICTURES.keys() | TEXTS.keys()


def test_formats_in_a_sentence() -> None:
    assert enumerated(PICTURES, "and") == "svg, png and pdf"
    assert enumerated(["a"], "or") == "a"
