"""`pack` and `unpack`: rows to words and back."""

from __future__ import annotations

from fsmdsl.explore.packed.layout import Layout


def pack(layout: Layout) -> list[str]:
    """`pack` writes the words of a row from a place on."""
    lines = ["def pack(t, out, at):", '    """The words of a row."""']
    for word in range(layout.words):
        parts = []
        for p in layout.packing:
            if p.word == word:
                parts.append(_code(f"t[{p.place}]", p.shape.low, p.shape.none, p.shift))
        lines.append(f"    out[at + {word}] = ({' | '.join(parts) or '0'})")
    return [*lines, "    return 0"]


def _code(text: str, low: int, none: int | None, shift: int) -> str:
    if none is None:
        code = f"({text} - {low})" if low else text
    elif none == low - 1:
        code = f"({text} + {-none})"
    else:
        code = f"(0 if {text} == {none} else {text} - {low - 1})"
    return f"{code} << {shift}" if shift else code


def unpack(layout: Layout) -> list[str]:
    """`unpack` reads a row from words that begin at a place."""
    lines = ["def unpack(words, at, s):", '    """The row of words."""']
    for word in range(layout.words):
        lines.append(f"    w{word} = words[at + {word}]")
    for p in layout.packing:
        shifted = f"w{p.word} >> {p.shift}" if p.shift else f"w{p.word}"
        code = f"{shifted} & {(1 << p.shape.bits) - 1}"
        low, none = p.shape.low, p.shape.none
        if none is not None and none != low - 1:
            lines.append(f"    c = {code}")
            lines.append(f"    s[{p.place}] = {none} if c == 0 else c + {low - 1}")
        else:
            base = low if none is None else none
            lines.append(f"    s[{p.place}] = ({code}) + {base}" if base else f"    s[{p.place}] = {code}")
    return [*lines, "    return 0"]
