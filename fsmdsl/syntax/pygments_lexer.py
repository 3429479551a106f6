"""Colours for `.fsm` text wherever Pygments makes them: documentation, terminals, pages.

It looks at words alone and knows no grammar, so that a few lines out of a spec are coloured as well. Found by Pygments
through its entry point, under the name `fsm`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from fsmdsl.syntax.words import EVENTS, TYPES, WORDS, Role

NAME = r"[A-Za-z_]\w*"

COLORS: Mapping[Role, Any] = {
    "file": Keyword.Namespace, "declaration": Keyword.Declaration, "modifier": Keyword.Pseudo,
    "qualifier": Keyword.Pseudo, "control": Keyword, "clause": Keyword, "effect": Keyword, "step": Keyword,
    "operator": Operator.Word, "temporal": Operator.Word, "constant": Keyword.Constant,
    "self": Name.Builtin.Pseudo, "type": Keyword.Type,
}  # fmt: skip

APART = frozenset({"source", "finitely", "many", "crashes"})
"""Words that are colored in one combination only, by a line of their own below: alone they are mostly names."""


def _colored(*roles: Role) -> list[tuple[Any, Any]]:
    """Lines of the lexer for the words of some roles."""
    texts = {role: [x.text for x in WORDS if x.role == role and x.text not in APART] for role in roles}
    return [(words(texts[role], suffix=r"\b"), COLORS[role]) for role in roles]


class FsmLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Lexer of `.fsm` text."""

    name = "State machines"
    aliases: ClassVar[list[str]] = ["fsm", "fsmdsl"]
    filenames: ClassVar[list[str]] = ["*.fsm"]
    mimetypes: ClassVar[list[str]] = ["text/x-fsm"]
    url = ""
    version_added = ""

    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"///(?!/).*$", Comment.Special),
            (r"//.*$", Comment.Single),
            (r'"[^"\\\n]*(\\.[^"\\\n]*)*"', String.Double),
            (rf"(module|import)(\s+)({NAME}(?:\.{NAME})*)", bygroups(Keyword.Namespace, Whitespace, Name.Namespace)),
            (r'(source)(\s+)(?=")', bygroups(Keyword.Namespace, Whitespace)),
            (
                rf"(machine|system|enum|record|opaque|channel|scenario|operation)(\s+)({NAME})",
                bygroups(Keyword.Declaration, Whitespace, Name.Class),
            ),
            (rf"(state)(\s+)({NAME})", bygroups(Keyword.Declaration, Whitespace, Name.Constant)),
            (r"(on)(\s+)(entry|exit|crash)\b(?!\.)", bygroups(Keyword, Whitespace, Keyword)),
            (
                r"(finitely)(\s+)(many)(\s+)(crashes)\b",
                bygroups(Keyword.Pseudo, Whitespace, Keyword.Pseudo, Whitespace, Keyword.Pseudo),
            ),
            (rf"(on)(\s+)({NAME})", bygroups(Keyword, Whitespace, Name.Function)),
            (rf"(->)(\s*)({NAME})", bygroups(Operator, Whitespace, Name.Constant)),
            (rf"({NAME})(:)(?=[^=\n]*(?:->|\bon\b|\bafter\b))", bygroups(Name.Label, Punctuation)),
            (r"[0-9]+(?=ms\b|s\b|min\b|h\b|d\b)", Number.Integer),
            (r"(?<=[0-9])(ms|s|min|h|d)\b", Keyword.Type),
            (r"[0-9]+\b", Number.Integer),
            (rf"(\.)({NAME})", bygroups(Punctuation, Name)),
            (rf"({NAME})(?=\s*[:=](?!=))", Name.Variable),
            *_colored(*COLORS),
            (words(EVENTS, suffix=r"\b"), Keyword),
            (words(TYPES, suffix=r"\b"), Keyword.Type),
            (NAME, Name),
            (r"~>|=>|->|==|!=|<=|>=|\.\.|[-+&<>=?*/%|]", Operator),
            (r"[{}()\[\],;:.]", Punctuation),
            (r".", Text),
        ]
    }
