"""Colours for `.fsm` text wherever Pygments makes them: documentation, terminals, pages.

It looks at words alone and knows no grammar, so that a few lines out of a spec are coloured as well. Found by Pygments
through its entry point, under the name `fsm`.
"""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

NAME = r"[A-Za-z_]\w*"

DECLARING = (
    "action", "amends", "channel", "enum", "environment", "event", "explore", "ignore", "invariant", "layout",
    "let", "locks", "machine", "map", "opaque", "operation", "param", "priority", "property", "reachable",
    "record", "recover", "scenario", "start", "state", "system",
)  # fmt: skip
"""Words that begin a declaration."""

MODIFYING = (
    "any", "async", "bag", "between", "child", "columns", "duplicating", "durable", "during", "each", "error",
    "extends", "fair", "fifo", "final", "initial", "lossy", "persistent", "read", "recovers", "recovery", "refines",
    "replaces", "rows", "strong", "symmetric", "transient", "under", "volatile", "waiting", "weak", "write", "writes",
)  # fmt: skip
"""Words that say how, at a declaration."""

ACTING = (
    "add", "after", "at", "crash", "deliver", "do", "duplicate", "else", "entry", "exit", "expect", "fails", "for",
    "from", "if", "lose", "of", "on", "remove", "send", "then", "timeout", "to", "via", "when", "while", "with",
)  # fmt: skip
"""Words of transitions, effects and scenarios."""

OPERATORS = (
    "all", "always", "and", "count", "eventually", "has", "in", "next", "not", "or", "some", "until",
)  # fmt: skip

TYPES = ("bool", "duration", "list", "map", "set")


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
            (words(("true", "false", "none"), suffix=r"\b"), Keyword.Constant),
            (r"self\b", Name.Builtin.Pseudo),
            (words(OPERATORS, suffix=r"\b"), Operator.Word),
            (words(DECLARING, suffix=r"\b"), Keyword.Declaration),
            (words(MODIFYING, suffix=r"\b"), Keyword.Pseudo),
            (words(ACTING, suffix=r"\b"), Keyword),
            (words(TYPES, suffix=r"\b"), Keyword.Type),
            (NAME, Name),
            (r"~>|=>|->|==|!=|<=|>=|\.\.|[-+&<>=?*/%|]", Operator),
            (r"[{}()\[\],;:.]", Punctuation),
            (r".", Text),
        ]
    }
