"""Comments and strings of the target languages. Paths, names and sentences reach an exported text through these
functions alone: whatever they are given, a comment ends where it should and a string holds no code.

Only letters, digits and signs that mean nothing in any target are kept. That leaves out what ends a comment or begins
one (`*`), quotes, backslashes (also those that trigraphs stand for), braces (SPIN counts them in embedded C), `#` and
`%`, line ends, and characters that cannot be seen. The middle of a long text is left out, as SPIN reads no long pieces.
"""

from __future__ import annotations

import re

MAX_TEXT = 200
"""Maximum length of a comment or string, in characters."""

_SIGNS = " _-+.,:;=<>()[]/@~&|!?"

_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What a document of XML 1.0 cannot hold, not even as a reference."""


def _harmless(text: str) -> str:
    half = MAX_TEXT // 2 - 2
    short = text if len(text) <= MAX_TEXT else f"{text[:half]}...{text[-half:]}"
    safe = "".join(c if c.isalnum() or c in _SIGNS else "_" for c in short)
    return safe.replace("??", "?_")  # `??/` is a trigraph in C: a backslash, which would continue a comment line


def c_comment(text: str) -> str:
    """A comment in C and in Promela."""
    return f"/* {_harmless(text)} */"


def c_string(text: str) -> str:
    """A string in C, also inside Promela and as a format of `printf`."""
    return f'"{_harmless("".join(c if c.isascii() else "_" for c in text))}"'


def tla_comment(text: str) -> str:
    """A comment in TLA+, to the end of the line, which is not part of it."""
    return f"\\* {_harmless(text)}"


def xml_comment(text: str) -> str:
    """The inside of a comment in XML, where no `--` can be."""
    return f" {re.sub('-(?=-)', '- ', xml_text(text))} "


def xml_text(text: str) -> str:
    """A text that XML can hold; markup is left to the library that writes it."""
    return _IMPOSSIBLE.sub("\N{REPLACEMENT CHARACTER}", text)
