"""Colours outside of the language server: Pygments, Vim, and the grammar of VS Code and others."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from pygments import highlight
from pygments.formatters import NullFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, Operator, String, Token

from fsmdsl.editor.word_lists import FILES, renewed
from fsmdsl.syntax import pygments_lexer
from fsmdsl.syntax.parse.table import load
from fsmdsl.syntax.pygments_lexer import FsmLexer
from fsmdsl.syntax.words import WORDS

ROOT = Path(__file__).parent.parent
VIM = ROOT / "editors" / "vim"
TEXTMATE = ROOT / "editors" / "vscode" / "syntaxes" / "fsm.tmLanguage.json"
TREE_SITTER = ROOT / "editors" / "tree-sitter-fsm" / "queries" / "highlights.scm"
LIVE = ROOT / "fsmdsl" / "editor" / "live" / "static" / "language.js"
LEASE = (ROOT / "editors" / "playground" / "lease.fsm").read_text("utf-8")

needs_vim = pytest.mark.skipif(shutil.which("vim") is None, reason="VIM IS NOT INSTALLED: its colours were not tested")


# Which words there are


def words_in(text: str) -> set[str]:
    return set(re.findall(r"[a-z_]+", text))


def test_every_word_of_the_language_has_a_color_in_every_editor() -> None:
    words = set(load().words)
    browser = "\n".join(x for x in LIVE.read_text("utf-8").splitlines() if x.startswith("const "))
    for path, text in (
        (VIM, (VIM / "syntax" / "fsm.vim").read_text("utf-8").replace("\\v", " ").replace("\\s", " ")),
        (TEXTMATE, TEXTMATE.read_text("utf-8").replace("\\b", " ").replace("\\s", " ")),
        (LIVE, browser),
        (TREE_SITTER, TREE_SITTER.read_text("utf-8")),
    ):
        assert words - words_in(text) == set(), path
    assert {x.role for x in WORDS} <= pygments_lexer.COLORS.keys()
    plain = {x for x in words - pygments_lexer.APART if kinds(x)[x] is Name}
    assert plain == set()


@pytest.mark.parametrize("name", FILES)
def test_a_list_in_a_file_of_an_editor_is_fresh(name: str) -> None:
    """`python -m fsmdsl.editor.word_lists` writes them, and so does `make generate`."""
    text = (ROOT / name).read_text("utf-8")
    assert renewed(text, FILES[name]()) == text


# Pygments


def kinds(text: str) -> dict[str, object]:
    return {value: kind for kind, value in FsmLexer().get_tokens(text)}


def test_pygments_finds_the_lexer_and_keeps_the_text() -> None:
    assert isinstance(get_lexer_by_name("fsm"), FsmLexer)
    assert isinstance(get_lexer_for_filename("hived.fsm"), FsmLexer)
    assert highlight(LEASE, FsmLexer(), NullFormatter()) == LEASE.strip("\n") + "\n"


@pytest.mark.parametrize("path", sorted((ROOT / "specs").rglob("*.fsm")), ids=lambda x: x.name)
def test_nothing_in_a_spec_is_strange_to_the_lexer(path: Path) -> None:
    strange = [
        value for kind, value in FsmLexer().get_tokens(path.read_text("utf-8")) if kind in (Token.Error, Token.Text)
    ]
    assert strange == []


def test_words_have_the_colour_of_their_place() -> None:
    found = kinds('    back: Draining -> Idle  on taken  do next = "x"  // why\n    initial state error\n')
    assert found["back"] is Name.Label
    assert found["->"] is Operator
    assert found["Idle"] is Name.Constant
    assert found["taken"] is Name.Function
    assert found["on"] is Keyword
    assert found["next"] is Name.Variable
    assert found['"x"'] is String.Double
    assert found["// why"] is Comment.Single
    assert found["state"] is Keyword.Declaration
    assert found["error"] is Name.Constant


# Vim


def groups(text: str, places: list[tuple[int, str]], folder: Path) -> list[str]:
    """The syntax group of each word: of line (from 1) and text."""
    spec = folder / "test.fsm"
    spec.write_text(text)
    lines = text.splitlines()
    asked = [f"[{line},{lines[line - 1].index(word) + 1}]" for line, word in places]
    script = folder / "ask.vim"
    script.write_text(
        f"set nocompatible rtp^={VIM}\nfiletype plugin on\nsyntax on\nedit {spec}\n"
        f"let found = map([{','.join(asked)}], {{_, p -> synIDattr(synID(p[0], p[1], 1), 'name')}})\n"
        f"call writefile(found + [&filetype, &commentstring], '{folder}/found')\nqall!\n"
    )
    subprocess.run(
        ["vim", "-u", "NONE", "-N", "-es", "-S", str(script)], stdin=subprocess.DEVNULL, timeout=30, check=False
    )
    return (folder / "found").read_text().splitlines()


@needs_vim
def test_vim_colours_a_spec(tmp_path: Path) -> None:
    text = (
        LEASE
        + "\nmachine M {\n    initial state next\n    source: bool\n    a: next -> next  on go  do source = true\n}\n"
    )
    line = {word: n for n, x in enumerate(text.splitlines(), 1) for word in [x.strip()] if word}
    end = len(text.splitlines())
    found = groups(
        text,
        [
            (line["/// One node, lent to one job at a time."], "One"),
            (line["machine Node {"], "machine"),
            (line["event lend(to: Job), take_back  from environment"], "from"),
            (line["crash: Draining -> Lent      on crash"], "on crash"),
            (line["crash: Draining -> Lent      on crash"], "Lent"),
            (line["environment {"], "environment"),
            (line["fails node.lend(j0) with unhandled"], "with"),
            (end - 3, "initial"),
            (end - 3, "next"),
            (end - 2, "source"),
            (end - 1, "a:"),
        ],
        tmp_path,
    )
    assert found == [
        "fsmDoc", "fsmDeclaration", "fsmKeyword", "fsmKeyword", "fsmStateName", "fsmDeclaration", "fsmKeyword",
        "fsmModifier", "fsmStateName", "", "fsmLabel", "fsm", "// %s",
    ]  # fmt: skip


@needs_vim
def test_vim_tells_words_from_names(tmp_path: Path) -> None:
    text = (
        "channel mail: lossy fifo[2] to each Pod\n"
        'source "a"\n    at "b"\n'
        "machine M {\n"
        "    layout rows A\n"
        "    event fifo, add\n"
        "    ignore fifo, add in *\n"
        '    amends "why"\n'
        "    replaces\n"
        "}\n"
    )
    places = [
        (1, "lossy"), (1, "fifo"), (1, "each"), (3, "at"), (5, "rows"), (6, "fifo"), (6, "add"), (7, "add"),
        (9, "replaces"),
    ]  # fmt: skip
    assert groups(text, places, tmp_path)[: len(places)] == [
        "fsmModifier", "fsmModifier", "fsmModifier", "fsmImport", "fsmModifier", "", "", "", "fsmModifier",
    ]  # fmt: skip


# VS Code


def test_the_grammar_includes_only_what_it_has() -> None:
    grammar = json.loads(TEXTMATE.read_text("utf-8"))
    included = set(re.findall(r'"include": "#(\w+)"', TEXTMATE.read_text("utf-8")))
    assert included - set(grammar["repository"]) == set()
