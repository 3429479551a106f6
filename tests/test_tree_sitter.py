"""The tree-sitter grammar: made from the parser's grammar, and it reads what the parser reads."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from fsmdsl.syntax.parse import parse
from fsmdsl.syntax.parse.tree_sitter import grammar
from fsmdsl.text.source import Source
from tests.literate import CASES, cases

pytestmark = pytest.mark.full(reason="tree-sitter")

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "editors" / "tree-sitter-fsm"
COMPILER = shutil.which("cc")
MISSING = (
    "SKIPPED, THE TREE-SITTER GRAMMAR IS NOT TESTED: there is no C compiler (`apt install gcc`)"
    if COMPILER is None
    else "SKIPPED, THE TREE-SITTER GRAMMAR IS NOT TESTED: there is no tree_sitter (`pip install tree-sitter`)"
)
needed = pytest.mark.skipif(COMPILER is None or find_spec("tree_sitter") is None, reason=MISSING)


def test_the_grammar_is_that_of_the_parser() -> None:
    made = (FOLDER / "grammar.js").read_text("utf-8")
    assert made == grammar(), "run `make tree-sitter`"
    stamp = (FOLDER / "src" / "made-from.txt").read_text("utf-8").split()[0]
    assert stamp == sha256(made.encode()).hexdigest(), "src/parser.c is of another grammar: run `make tree-sitter`"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The parser, compiled as editors do."""
    made = tmp_path_factory.mktemp("parser") / "fsm.so"
    source = FOLDER / "src" / "parser.c"
    # Without optimisation: the file is large, and the texts are not.
    command = [str(COMPILER), "-shared", "-fPIC", "-O0", "-I", str(source.parent), str(source), "-o", str(made)]
    subprocess.run(command, check=True)
    return made


@pytest.fixture(scope="module")
def language(library: Path) -> Any:
    from tree_sitter import Language

    made = ctypes.CDLL(str(library)).tree_sitter_fsm
    made.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return Language(capsule(made(), b"tree_sitter.Language", None))


BEYOND = ("is a reserved word and cannot be used as a name", "levels deep")
"""Ends of messages about what tree-sitter cannot reject."""

EVENT = re.compile(r"-> \w+ on exit do")
"""An event called `exit`: for tree-sitter, `on exit` is always a hook."""


def texts() -> Iterator[tuple[str, str]]:
    """Every spec of the repository, and every case."""
    for path in sorted((ROOT / "specs").rglob("*.fsm")):
        yield str(path.relative_to(ROOT)), path.read_text("utf-8")
    for path in sorted(CASES.glob("*.md")):
        for case in cases(path):
            for n, source in enumerate(case.sources):
                yield f"{path.name} {case.name} {n}", source.text


def errors(language: Any, text: str) -> list[str]:
    """The lines on which it finds something that it cannot read."""
    from tree_sitter import Parser

    root = Parser(language).parse(text.encode()).root_node
    waiting, found = [root], []
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            line = node.start_point[0]
            found.append(f"{line + 1}: {text.splitlines()[line] if text.splitlines()[line:] else ''}")
        elif node.has_error:
            waiting += node.children
    return found


@needed
def test_it_reads_what_the_parser_reads_and_nothing_else(language: Any) -> None:
    wrong = {}
    for name, text in texts():
        messages = [x.message for x in parse(Source("x.fsm", text)).diagnostics]
        found = [x for x in errors(language, text) if not EVENT.search(x)]
        if found and not messages:
            wrong[name] = found
        elif not found and not all(x.endswith(BEYOND) for x in messages):
            wrong[name] = [f"the parser says: {x}" for x in messages]
    assert wrong == {}


@needed
def test_colours(language: Any) -> None:
    from tree_sitter import Parser, Query, QueryCursor

    query = Query(language, (FOLDER / "queries" / "highlights.scm").read_text("utf-8"))
    text = (ROOT / "editors" / "playground" / "lease.fsm").read_text("utf-8")
    found = QueryCursor(query).captures(Parser(language).parse(text.encode()).root_node)
    shown = {name: {x.text.decode() for x in nodes} for name, nodes in found.items()}
    assert shown["type"] == {"Node", "Job"}
    assert {"Idle", "Lent", "Draining", "Running", "Leaving", "Left"} <= shown["constant"]
    assert {"lend", "drain", "gone", "crash", "alone", "used_by_both"} <= shown["label"]
    assert {"durable", "initial", "persistent", "volatile", "final"} <= shown["keyword.modifier"]
    assert "/// One node, lent to one job at a time." in shown["comment.documentation"]


@needed
def test_a_word_is_no_keyword_where_it_is_a_name(language: Any) -> None:
    from tree_sitter import Parser, Query, QueryCursor

    query = Query(language, (FOLDER / "queries" / "highlights.scm").read_text("utf-8"))
    text = b"machine M { initial state source  state to  to: bool  source -> to on add do { add to to rows } }"
    captures = QueryCursor(query).captures(Parser(language).parse(text).root_node)
    keywords = [
        (x.start_byte, x.text.decode()) for name in captures if name.startswith("keyword") for x in captures[name]
    ]
    assert [x for _, x in sorted(keywords)] == ["machine", "initial", "state", "state", "on", "do", "add", "to"]


NEOVIM = """
local text = vim.treesitter.get_parser(0, "fsm")
local root = text:parse()[1]:root()
local get = vim.treesitter.query.get or vim.treesitter.query.get_query
local query, found = get("fsm", "highlights"), {}
for id in query:iter_captures(root, 0, 0, -1) do found[query.captures[id]] = true end
io.stdout:write(vim.json and vim.json.encode({ root:type(), root:has_error(), found }) or "")
"""


@needed
@pytest.mark.skipif(shutil.which("nvim") is None, reason="SKIPPED, THE GRAMMAR IS NOT TESTED IN NEOVIM: no `nvim`")
def test_neovim_reads_and_colours_a_spec(library: Path, tmp_path: Path) -> None:
    colours = FOLDER / "queries" / "highlights.scm"
    for place, source in (("parser/fsm.so", library), ("queries/fsm/highlights.scm", colours)):
        (tmp_path / place).parent.mkdir(parents=True)
        shutil.copy(source, tmp_path / place)
    (tmp_path / "look.lua").write_text(NEOVIM, "utf-8")
    command = ["nvim", "--headless", "-u", "NONE", "--cmd", f"set runtimepath^={tmp_path}"]
    command += [str(ROOT / "editors" / "playground" / "lease.fsm"), "-c", f"luafile {tmp_path}/look.lua", "-c", "qa!"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    kind, wrong, found = json.loads(done.stdout or "null") or pytest.fail(done.stderr)
    assert (kind, wrong) == ("start", False)
    assert {"keyword", "type", "constant", "label", "comment.documentation"} <= found.keys()
