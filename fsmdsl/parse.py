"""Text to syntax. Reports every error of a file, and returns a tree of all that could be read.

The only module that imports lark. NOTE(recovery): on an unexpected token the parser drops tokens up to the next place
where a declaration or statement can begin (or a block ends), and unwinds its stack until that token is acceptable. What
was read before and after is kept, so one mistake costs one declaration and gives one message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from fsmdsl import syntax
from fsmdsl.build import Builder, Comment
from fsmdsl.diagnostics import Diagnostic, Rule, Severity, did_you_mean
from fsmdsl.source import Source, Span

UNEXPECTED = Rule(
    "FSM001",
    "unexpected-text",
    Severity.ERROR,
    "the text does not follow the grammar here",
    """
The parser met a word or sign that cannot stand here. It says what could, skips to the next declaration and goes on, so
that every such place of a file is reported at once.

```fsm
machine Door {
    initial state Open
    Open -> -> Shut on push   // two arrows
}
```

Write what the message expects, or take the text away.
""",
)

BAD_CHARACTER = Rule(
    "FSM002",
    "unknown-character",
    Severity.ERROR,
    "a character that the language does not use",
    """
Specs use letters, digits, `_`, quotes, and the signs of expressions and declarations. Anything else outside a comment
or a text in quotes is reported here, as is a text in quotes that has no end.

```fsm
machine Door {
    initial state Open
    Open -> Open on push; # a comment starts with two slashes
}
```
""",
)

TOO_DEEP = Rule(
    "FSM003",
    "nested-too-deeply",
    Severity.ERROR,
    "brackets or operators are nested deeper than anyone can read",
    f"""
An expression or block may be nested {(DEPTH := 100)} levels deep. Name the inner parts with `let`.

```fsm
machine Door {{
    initial state Open
    invariant {"not " * 110}true
}}
```
""",
)

OPENERS = frozenset(
    """MODULE IMPORT SOURCE ENUM OPAQUE LET CHANNEL MACHINE LOCKS SYSTEM SCENARIO PARAM STATE INITIAL FINAL PERSISTENT
    VOLATILE TRANSIENT ERROR EVENT ACTION ASYNC DURABLE ENTRY EXIT IGNORE PRIORITY INVARIANT AMENDS ENVIRONMENT RECOVER
    PROPERTY REACHABLE EXPECT VIA FAILS DELIVER LOSE DUPLICATE TIMEOUT OPERATION FOR SEND ADD REMOVE""".split()
)
"""Tokens at which a declaration or statement begins: where reading goes on after a mistake."""

CONTEXTUAL = frozenset(
    """PRIORITY SOURCE COUNT ERROR INITIAL FINAL NEXT READ WRITE CHILD LOSE DELIVER TIMEOUT RECOVER ADD REMOVE SEND TO FROM
    AT OF WITH FAIR WEAK STRONG SET LIST DUPLICATE EXPECT VIA FAILS BETWEEN WRITES DURING RECOVERY UNTIL ALWAYS EVENTUALLY
    UNDER ENVIRONMENT OPERATION LOCKS CHANNEL TRANSIENT REPLACES RECOVERS REACHABLE PROPERTY""".split()
)
"""Keywords that are plain names where they open nothing, so that a field may be called `priority`."""

_NAMING = frozenset("DOT PARAM EVENT ACTION STATE LET ON MACHINE ENUM __ANON_ARROW".split())
_OPERATORS = frozenset("WHEN AND OR NOT IF THEN ELSE IN HAS DO AFTER".split())
_EXPRESSION_OPENERS = frozenset("NEXT COUNT ALWAYS EVENTUALLY".split())
_BINARY_SIGNS = frozenset("== != < <= > >= + - & = ( { [ => ~> |".split())
_ENDING_SIGNS = frozenset(": -> = . , ) } ] ; == != <= >= > + - & ? => ~> |".split())


@dataclass(frozen=True, slots=True)
class Parsed:
    """What could be read of a source, and what went wrong. The module is incomplete when there are errors."""

    source: Source
    module: syntax.Module
    diagnostics: tuple[Diagnostic, ...]
    comments: tuple[Comment, ...]


def parse(source: Source) -> Parsed:
    """Read a whole file. Never raises for bad text; takes time in proportion to its length."""
    comments: list[Comment] = []
    found: list[Diagnostic] = []
    tokens = list(_plain_names(_tokens(source, comments, found)))
    tree = _tree(source, tokens, found)
    builder = Builder(source, comments, tokens)
    found.extend(
        TOO_DEEP.at(span, f"this is nested more than {DEPTH} levels deep").help("name the inner parts with `let`")
        for span in _prune(source, tree)
    )
    return Parsed(source, builder.module(tree), tuple(found), tuple(comments))


@cache
def _grammar() -> Lark:
    text = files("fsmdsl").joinpath("fsm.lark").read_text("utf-8")
    return Lark(text, parser="lalr", lexer="basic", propagate_positions=True, maybe_placeholders=False)


# Tokens --------------------------------------------------------------------------------------------------------------


def _tokens(source: Source, comments: list[Comment], found: list[Diagnostic]) -> Iterator[Token]:
    previous = -1
    for token in _grammar().lex(source.text, dont_ignore=True):
        start, end = _place(token)
        match token.type:
            case "WHITESPACE":
                pass
            case "DOC" | "COMMENT":
                comments.append(Comment(token.type == "DOC", str(token), start, end, previous))
            case "BAD" | "UNENDED":
                if not (found and found[-1].span.end == start):  # one message for a run of them
                    found.append(_bad_character(token, Span(source, start, end)))
            case _:
                previous = end
                yield token


def _bad_character(token: Token, span: Span) -> Diagnostic:
    if token.type == "UNENDED":
        found = BAD_CHARACTER.at(span, "this text in quotes has no end")
        return found.help('close it with `"` on the same line')
    shown = str(token) if token.isprintable() else f"U+{ord(token):04X}"
    found = BAD_CHARACTER.at(span, f"`{shown}` is not a character of the language")
    return found.help("a comment starts with `//`") if token == "#" else found


def _place(token: Token) -> tuple[int, int]:
    start = token.start_pos or 0
    return start, token.end_pos if token.end_pos is not None else start + len(token)


def _plain_names(tokens: Iterator[Token]) -> Iterator[Token]:
    """Contextual keywords that open nothing become names."""
    before: Token | None = None
    stream = list(tokens)
    for i, token in enumerate(stream):
        if token.type in CONTEXTUAL:
            after = stream[i + 1] if i + 1 < len(stream) else None
            if _is_name(token, before, after):
                token = token.update(type="NAME")
        before = token
        yield token


def _is_name(token: Token, before: Token | None, after: Token | None) -> bool:
    follows = str(after) if after is not None else "}"
    leads = str(before) if before is not None else ""
    if token.type == "ENVIRONMENT":
        return follows != "{"
    if before is not None and before.type in ("BETWEEN", "DURING"):
        return token.type not in ("WRITES", "RECOVERY")
    if token.type in ("SET", "LIST"):
        return not (follows == "<" and leads in (":", "<"))
    if token.type in ("ERROR", "INITIAL", "FINAL", "TRANSIENT"):
        return after is None or after.type not in _STATE_WORDS
    if before is not None and (before.type in _NAMING or leads in ("->", ".")):
        return True
    if follows in _ENDING_SIGNS:
        return not (token.type == "RECOVERS" or (token.type in _EXPRESSION_OPENERS and follows == "-"))
    if follows == "(":
        return token.type not in ("READ", "WRITE", "EXPECT", *_EXPRESSION_OPENERS, "UNTIL", "FROM", "TO")
    if token.type in ("LOCKS", "RECOVER"):
        return token.type == "RECOVER" and follows != "{"
    if token.type in _EXPRESSION_OPENERS:
        return False
    if token.type in ("SEND", "ADD", "REMOVE") and before is not None and before.type == "DO":
        return after is None or after.type != "NAME"
    if token.type == "CHILD":
        return after is None or after.type != "NAME"
    if token.type == "FAIR":
        return after is None or (after.type != "NAME" and after.type not in CONTEXTUAL)
    if token.type in ("WEAK", "STRONG"):
        return after is None or after.type != "FAIR"
    return before is not None and (before.type in _OPERATORS or leads in _BINARY_SIGNS) and leads not in ("{", ">")


_STATE_WORDS = frozenset("STATE INITIAL FINAL PERSISTENT VOLATILE TRANSIENT ERROR".split())

# The tree ------------------------------------------------------------------------------------------------------------


def _tree(source: Source, tokens: list[Token], found: list[Diagnostic]) -> Tree[Token]:
    parser = _grammar().parse_interactive()
    assert isinstance(parser, InteractiveParser)
    i = 0
    while i < len(tokens):
        try:
            parser.feed_token(tokens[i])
            i += 1
        except UnexpectedToken:
            found.append(_unexpected(source, tokens[i], parser.accepts()))
            i = _recover(parser, tokens, i)
    end = Token("$END", "", len(source.text), end_pos=len(source.text))
    while True:
        try:
            tree = parser.feed_token(end)
            assert isinstance(tree, Tree)
            return tree
        except UnexpectedToken:
            if not any(d.span.start >= len(source.text.rstrip()) for d in found):
                found.append(_unexpected(source, end, parser.accepts()))
            _close(parser)


def _recover(parser: InteractiveParser, tokens: list[Token], i: int) -> int:
    """Skip to a token that can go on, unwinding as far as it takes; the token's index. See NOTE(recovery)."""
    first = i
    depth = 0
    while i < len(tokens):
        token = tokens[i]
        opens = token.type in OPENERS or _starts_declaration(tokens, i)
        if depth == 0 and (i > first or opens) and (opens or token in ("}", ";")) and _unwind(parser, token):
            return i
        depth += (token == "{") - (token == "}" and depth > 0)
        i += 1
    return i


def _starts_declaration(tokens: list[Token], i: int) -> bool:
    """`name:` or `name ->` at the start of a line."""
    if i == 0 or tokens[i].type != "NAME" or tokens[i].line == tokens[i - 1].line or i + 1 >= len(tokens):
        return False
    return str(tokens[i + 1]) in (":", "->", ",")


def _unwind(parser: InteractiveParser, token: Token) -> bool:
    """Pop the parser's stack until it accepts the token; leave it as it was if no depth does."""
    state = parser.parser_state
    for kept in range(len(state.state_stack), 0, -1):
        trial = parser.copy()
        del trial.parser_state.state_stack[kept:]
        del trial.parser_state.value_stack[kept - 1 :]
        if token.type in trial.choices() and _feeds(trial, token):
            del state.state_stack[kept:]
            del state.value_stack[kept - 1 :]
            return True
    return False


def _feeds(trial: InteractiveParser, token: Token) -> bool:
    try:
        trial.feed_token(token)
    except UnexpectedToken:
        return False
    return True


def _close(parser: InteractiveParser) -> None:
    """The file ended too early: close what is open, or drop the innermost of it."""
    brace = Token("RBRACE", "}")
    if not _unwind(parser, brace):
        del parser.parser_state.state_stack[1:]
        del parser.parser_state.value_stack[:]
    else:
        parser.feed_token(brace)


def _unexpected(source: Source, token: Token, accepts: set[str]) -> Diagnostic:
    start, end = _place(token)
    if token.type == "$END":
        at = len(source.text.rstrip())
        found = UNEXPECTED.at(Span(source, max(at - 1, 0), at), "the file ends in the middle of a declaration")
        return found.help("close it with `}`") if "RBRACE" in accepts else found
    shown = str(token) if len(token) <= 40 else f"{token[:40]}…"
    found = UNEXPECTED.at(Span(source, start, end), f"`{shown}` cannot stand here")
    words = {_spelling(t) for t in accepts}
    if token.type == "NAME" and (advice := did_you_mean(str(token), (w for w in words if w.isalpha()))):
        return found.help(advice)
    if token.type not in ("NAME", "INT", "STRING", "DURATION") and "NAME" in accepts and token[:1].isalpha():
        return found.help(f"`{token}` is a word of the language; choose another name")
    return found.help(f"expected {_listing(words)}") if words else found


def _listing(words: set[str]) -> str:
    known = sorted(words, key=lambda w: (w[:1] == "`", w))
    shown = [w if w.startswith("a ") or w.startswith("an ") else f"`{w}`" for w in known]
    if len(shown) > 8:
        shown = [*shown[:7], "…"]
    return " or ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def _spelling(terminal: str) -> str:
    named = {"NAME": "a name", "INT": "a number", "STRING": "a text in quotes", "DURATION": "a duration", "$END": "the end"}
    if terminal in named:
        return named[terminal]
    pattern = _grammar().get_terminal(terminal).pattern
    return {"ENTRY": "on entry", "EXIT": "on exit"}.get(terminal, pattern.value)


def _prune(source: Source, tree: Tree[Token]) -> list[Span]:
    """Cut subtrees below the depth limit, so that what follows may recurse; the places cut."""
    cut: list[Span] = []
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        chain = len(node.children) // 2 if node.data == "sum" else 0
        if depth + chain > DEPTH:
            cut.append(Span(source, node.meta.start_pos, node.meta.end_pos))
            node.data, node.children = "truth", [Token("TRUE", "true")]
            continue
        stack.extend((c, depth + 1) for c in node.children if isinstance(c, Tree))
    return cut
