"""Python text: literals that hold any string, docstrings, lines that are not too long."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

WIDTH = 100
"""No line of generated code is longer, if it can be helped."""

INDENT = "    "


def literal(text: str) -> str:
    """A string literal for any text, on one line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_printable(escaped)}"'


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def comment(text: str) -> str:
    """What stands behind a `#`: one line, whatever the text is."""
    return "# " + _printable(" ".join(text.split()))


def docstring(text: str, indent: int = 0) -> list[str]:
    """A docstring as lines, without their indentation. `indent` is the number of levels that will stand before them."""
    paragraphs = [p for p in text.strip().split("\n\n") if p.strip()]
    lines: list[str] = []
    for p in paragraphs:
        lines += ["", *_filled(p, WIDTH - len(INDENT) * indent)]
    lines = [_quotable(line) for line in lines[1:]] or [""]
    if len(lines) == 1 and len(lines[0]) + 6 + len(INDENT) * indent <= WIDTH:
        return [f'"""{_ended(lines[0])}"""']
    return [f'"""{lines[0]}', *lines[1:], '"""']


def _filled(paragraph: str, width: int) -> list[str]:
    """A paragraph as lines; one that begins with `|` is kept as it stands, line by line."""
    if paragraph.startswith("|"):
        return [line.removeprefix("|") for line in paragraph.splitlines()]
    return textwrap.wrap(" ".join(paragraph.split()), width - 3, break_long_words=False, break_on_hyphens=False)


def rows(listed: Iterable[str]) -> str:
    """Lines for a docstring that are not to be filled: see `docstring`."""
    return "\n".join(f"|{line}" for line in listed)


def _quotable(line: str) -> str:
    """A line that no quote or backslash in it lets out of the docstring."""
    return _printable(line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'))


def _ended(line: str) -> str:
    return f'{line[:-1]}\\"' if line.endswith('"') else line


def indented(lines: Iterable[str], levels: int = 1) -> list[str]:
    """Lines further to the right."""
    return [INDENT * levels + line if line else "" for line in lines]


def sentence(text: str) -> str:
    """A text that begins with a capital letter and ends with a full stop, as the first line of a docstring does."""
    text = text.strip()
    if not text:
        return ""
    first, gap, rest = text.partition("\n\n")
    first = first[0].upper() + first[1:]
    return first + ("" if first[-1] in ".?!:" else ".") + gap + rest


# Long lines ----------------------------------------------------------------------------------------------------------


def folded(lines: Iterable[str], indent: int = 0) -> list[str]:
    """The same statements, long lines broken inside brackets. Lines of docstrings are to be left out."""
    return [short for line in lines for short in _fold(line, WIDTH - len(INDENT) * indent)]


def _fold(line: str, width: int) -> list[str]:
    if len(line) <= width or line.lstrip().startswith("#"):
        return [line]
    margin = line[: len(line) - len(line.lstrip())]
    text = _parenthesised(line.lstrip())
    place = _bracket(text, last=not text.startswith("def "))
    if place is None:
        return [line]
    start, end = place
    head, body, tail = text[: start + 1], text[start + 1 : end], text[end:]
    inner = list(_parts(body))
    if len(inner) == 1 and len(margin) + len(INDENT) + len(body) > width:
        inner = list(_operands(body))
    out = [margin + head]
    for part in inner:
        out += _fold(margin + INDENT + part, width)
    return [*out, margin + tail]


def _parenthesised(text: str) -> str:
    """A condition or value of several operands in brackets, so that it can be broken before an operator."""
    for opening, closing in (("if ", ":"), ("elif ", ":"), ("return ", ""), ("while ", ":")):
        if text.startswith(opening) and text.endswith(closing):
            body = text[len(opening) : len(text) - len(closing)]
            if len(list(_operands(body))) > 1:
                return f"{opening}({body}){closing}"
    left, equals, right = text.partition(" = ")
    if equals and len(list(_operands(right))) > 1 and "(" not in left:
        return f"{left} = ({right})"
    return text


def _bracket(text: str, last: bool) -> tuple[int, int] | None:
    """The first or last outermost pair of brackets with something in it."""
    found = None
    start = depth = 0
    for place, c in _code(text):
        if c in "([{":
            start, depth = (place if depth == 0 else start), depth + 1
        elif c in ")]}":
            depth -= 1
            if depth == 0 and place > start + 1 and (last or found is None):
                found = (start, place)
    return found


def _parts(body: str) -> Iterator[str]:
    """What commas separate, each with a comma behind it; one part alone has none."""
    cuts = [place for place, c in _outermost(body) if c == ","]
    pieces = [p.strip() for p in _cut(body, cuts, 1)]
    if len(pieces) == 1:
        yield body
    else:
        yield from (f"{p}," for p in pieces if p)


def _operands(body: str) -> Iterator[str]:
    """What `and`, `or`, `if`, `else` and `for` begin, at the outermost level."""
    places = {place for place, _ in _outermost(body)}
    cuts = [
        place
        for word in (" and ", " or ", " if ", " else ", " for ", " | ")
        for place in _occurrences(body, word)
        if place in places
    ]
    yield from (p.strip() for p in _cut(body, sorted(cuts), 0))


def _occurrences(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def _cut(text: str, places: Sequence[int], skipped: int) -> Iterator[str]:
    start = 0
    for place in places:
        yield text[start:place]
        start = place + skipped
    yield text[start:]


def _outermost(text: str) -> Iterator[tuple[int, str]]:
    depth = 0
    for place, c in _code(text):
        depth -= c in ")]}"
        if depth == 0:
            yield place, c
        depth += c in "([{"


def outermost_text(text: str) -> Iterator[str]:
    """What stands outside of brackets and strings."""
    yield "".join(c for _, c in _outermost(text) if c not in "()[]{}")


def _code(text: str) -> Iterator[tuple[int, str]]:
    """The characters outside of string literals, with their places."""
    quote = ""
    skip = False
    for place, c in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip = c == "\\"
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        else:
            yield place, c
