"""Text to tokens and comments. What does not belong to the language is reported, and taken for what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.syntax.build.expressions import MILLISECONDS
from fsmdsl.syntax.parse.equivalents import PREFIXES, SIGNS
from fsmdsl.syntax.parse.rules import BAD_CHARACTER, BAD_NUMBER, LIMIT
from fsmdsl.syntax.parse.table import Table
from fsmdsl.syntax.tree import Comment, Token
from fsmdsl.text.diagnostics import Diagnostic, Fix
from fsmdsl.text.source import Source, Span, breaks

LARGEST = 10**15
"""Upper limit (exclusive) of numbers in a spec, and of durations in milliseconds."""

HIDDEN = "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
"""Characters that cannot be seen, or that change how the text around them is shown."""

BEFORE_OPERAND = frozenset({
    ":", "(", "[", "=>", "~>", "and", "or", "not", "then", "else", "until", "always", "eventually", "property",
})  # fmt: skip
"""Tokens that an operand of a condition follows."""

ALIKE = {"m": "min", "mins": "min", "sec": "s", "secs": "s", "hour": "h", "hours": "h", "day": "d", "days": "d"}
"""Units that one might write, and what they are here."""


@dataclass(slots=True)
class Lexed:
    """The tokens of a source, with an `END` after the last, its comments, and what was wrong up to `end`."""

    source: Source
    tokens: list[Token] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    end: int = -1

    def report(self, start: int, end: int, message: str, advice: str, replacement: str | None = None) -> None:
        """Note a bad character or sign; one message for a run of them."""
        run, self.end = start == self.end, end
        if run or len(self.diagnostics) > LIMIT:
            return
        span = Span(self.source, start, end)
        fix = None if replacement is None else Fix(span, replacement, f"write `{replacement.strip()}`")
        self.diagnostics.append(BAD_CHARACTER.at(span, message, fix=fix).help(advice))

    def report_number(self, start: int, end: int, message: str, advice: str) -> None:
        """Note a number that cannot be used."""
        if len(self.diagnostics) <= LIMIT:
            self.diagnostics.append(BAD_NUMBER.at(Span(self.source, start, end), message).help(advice))


def lex(table: Table, source: Source) -> Lexed:
    """The tokens and comments of a source."""
    lexed = Lexed(source)
    text, words, tokens = source.text, table.words, lexed.tokens
    previous = -1
    for kind, start, end in _matches(table, text):
        match kind:
            case "NAME":
                word = text[start:end]
                tokens.append(Token(word if word in words else kind, word, start, end))
            case "SIGN":
                sign = text[start:end]
                tokens.append(Token(sign, sign, start, end))
                if sign == ";" and previous >= 0 and breaks(text, previous, start) > 0:
                    continue  # a line that begins with it has nothing that a comment could be behind
            case "FOREIGN_SIGN":
                tokens += _foreign_sign(lexed, start, end)
            case "DOC" | "COMMENT":
                _check_hidden(lexed, start, end)
                lexed.comments.append(Comment(kind == "DOC", text[start:end], start, end, previous))
                continue
            case _:
                token = _other(lexed, kind, start, end)
                if token is None:
                    continue
                tokens.append(token)
        previous = end
    return lexed


def _matches(table: Table, text: str) -> Iterator[tuple[str, int, int]]:
    """The classes of what the text consists of, with their places. A comment as in C ends where it says, else
    with its line; it is not the pattern that looks for its end, which would read a line once for each comment in it."""
    here: int | None = 1 if text.startswith("\ufeff") else 0
    last_close = text.rfind("*/")
    while here is not None:
        matches, here = table.pattern.finditer(text, here), None
        for hit in matches:
            kind = hit.lastgroup or ""
            start, end = hit.span(kind)
            if kind == "FOREIGN_COMMENT" and text[start] == "/":
                closed = start + 2 <= last_close
                end = here = text.index("*/", start + 2) + 2 if closed else _line_end(text, start)
            yield kind, start, end
            if here is not None or kind == "END":  # which is met again behind white space
                break


def _line_end(text: str, start: int) -> int:
    ends = (text.find(c, start) for c in "\r\n")
    return min((end for end in ends if end >= 0), default=len(text))


def _other(lexed: Lexed, kind: str, start: int, end: int) -> Token | None:
    """The token of a rarer kind; None for what is skipped."""
    text = lexed.source.text[start:end]
    match kind:
        case "INT" | "DURATION":
            return _number(lexed, kind, text, start, end)
        case "STRING":
            _check_hidden(lexed, start, end)
        case "FOREIGN_STRING":
            kind = "STRING"
            lexed.report(
                start, end, "strings need straight double quotes", f'write `"{text[1:-1]}"`', f'"{text[1:-1]}"'
            )
        case "FOREIGN_NAME":
            kind = "NAME"
            bad = next(c for c in text if not (c.isascii() and c.isalnum()) and c != "_")
            lexed.report(
                start,
                end,
                f"{_character_text(bad)} cannot be part of a name",
                "names have letters a to z, digits and `_`",
            )
        case "FOREIGN_NUMBER":
            return _foreign_number(lexed, text, start, end)
        case "ENTRY" | "EXIT" | "ANY" | "END":
            pass
        case _:
            _skipped(lexed, kind, text, start, end)
            return None
    return Token(kind, text, start, end)


def _foreign_sign(lexed: Lexed, start: int, end: int) -> Iterator[Token]:
    text = lexed.source.text[start:end]
    sign = PREFIXES[text] if text in PREFIXES and _before_operand(lexed.tokens) else SIGNS[text]
    advice = sign.advice or f"write `{sign.text}`"
    replacement = sign.replacement and _apart(lexed.source.text, start, end, sign.replacement)
    lexed.report(start, end, f"`{text}` is not an operator", advice, replacement)
    return sign.tokens(start, end)


def _before_operand(tokens: list[Token]) -> bool:
    """Whether an operand follows the tokens. `[]` without one before it is the `always` of TLA+."""
    kinds = [token.kind for token in tokens[-3:]]
    return kinds[-1:] != [] and (
        kinds[-1] in BEFORE_OPERAND or (kinds[-2:] == ["[", "]"] and kinds[0] in BEFORE_OPERAND)
    )


def _apart(text: str, start: int, end: int, replacement: str) -> str:
    """A word in the place of a sign, with spaces where a letter or a digit stands next to the sign: `a&&b`, `!a`."""
    before = " " * (replacement[0].isalpha() and text[start - 1 : start].isalnum())
    after = " " * (replacement[-1].isalpha() and text[end : end + 1].isalnum())
    return f"{before}{replacement}{after}"


def _skipped(lexed: Lexed, kind: str, text: str, start: int, end: int) -> None:
    if kind == "FOREIGN_COMMENT":
        lexed.report(start, end, f"a comment does not begin with `{text[0] if text[0] == '#' else '/*'}`", "write `//`")
    elif kind == "FOREIGN_SPACE":
        lexed.report(start, end, f"{_character_text(text[0])} is not a plain space", "write a space")
    elif kind == "UNENDED":
        lexed.report(start, end, "unterminated string", 'close it with `"` on the same line')
    elif text == "/":
        lexed.report(start, end, "unexpected character `/`", "a comment begins with `//`; effects follow `do`")
    else:
        lexed.report(start, end, f"unexpected character {_character_name(text)}", "remove it")


def _number(lexed: Lexed, kind: str, text: str, start: int, end: int) -> Token:
    """A number that can be used; one that is too large is reported, and read as 1."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = MILLISECONDS.get(text[len(digits) :], 1)
    if len(digits) <= 15 and int(digits) * unit < LARGEST:
        return Token(kind, text, start, end)
    advice = "numbers have at most 15 digits, and durations end before thirty thousand years"
    lexed.report_number(start, end, "this number is too large", advice)
    return Token(kind, f"1{text[len(digits) :]}", start, end)


def _foreign_number(lexed: Lexed, text: str, start: int, end: int) -> Token:
    """Digits with something at them: `5m`, `1_000`, `2nd`."""
    unit = text.lstrip("0123456789")
    digits = text[: len(text) - len(unit)]
    advice = "numbers are digits alone; durations end in `ms`, `s`, `min`, `h` or `d`; names begin with a letter"
    if unit in ALIKE:
        advice = f"did you mean `{digits}{ALIKE[unit]}`?"
    lexed.report_number(start, end, f"`{text[:40]}` is neither a number nor a duration nor a name", advice)
    return Token("DURATION" if unit in ALIKE else "INT", f"1{ALIKE.get(unit, '')}", start, end)


def _check_hidden(lexed: Lexed, start: int, end: int) -> None:
    if lexed.source.text[start:end].isprintable():  # it is nearly always
        return
    hit = re.compile(HIDDEN).search(lexed.source.text, start, end)
    if hit is not None:
        lexed.report(
            hit.start(),
            hit.end(),
            f"{_character_text(hit[0])} cannot be seen and may mislead readers",
            "remove it",
        )


def _character_text(character: str) -> str:
    return f"{'' if character.isprintable() else 'the character '}{_character_name(character)}"


def _character_name(character: str) -> str:
    return f"`{character}`" if character.isprintable() else f"U+{ord(character):04X}"
