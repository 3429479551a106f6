"""Signs and words of other languages and of mathematics, and what to write instead.

Every hint of the kind "you wrote that, the language writes this" is in one of these tables, unless it depends on more
than one token (`common_mistakes`). A reader goes on as if the right tokens stood there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsmdsl.dataclasses import NamedTuple
from fsmdsl.syntax.tree import Token


class Equivalent(NamedTuple):
    """What a foreign sign or word is read as."""

    kinds: tuple[str, ...]
    """The tokens as which it is read."""
    advice: str | None = None
    """What to write, where that is more than these tokens in its place."""

    @property
    def text(self) -> str:
        return " ".join(self.kinds)

    @property
    def replacement(self) -> str | None:
        """The text of a quick fix; None if replacing the sign or word is not enough."""
        return self.text if self.advice is None else None

    def tokens(self, start: int, end: int) -> Iterator[Token]:
        """The tokens in the place of the foreign text; all but the first are empty and behind it."""
        for n, kind in enumerate(self.kinds):
            yield Token(kind, kind, start if n == 0 else end, end)


def _same(foreign: Mapping[str, str]) -> dict[str, Equivalent]:
    """From the tokens of the language, each with what others write for it, separated by spaces."""
    return {x: Equivalent((kind,)) for kind, others in foreign.items() for x in others.split()}


_EQUIVALENCE = Equivalent(("=>",), "compare the two conditions: `(p) == (q)`")
"""It is read as `=>` because the sides of `==` cannot be comparisons without parentheses."""

SIGNS: Mapping[str, Equivalent] = {
    **_same({
        "and": "&& ∧ /\\", "or": "|| ∨ \\/", "not": "! ¬", "==": "=== ≡", "!=": "!== <> ≠", "<=": "≤", ">=": "≥",
        "=": ":=", "->": "→ ⟶", "=>": "==> ⇒ ⟹", "~>": "⇝ ↝", "in": "∈", "all": "∀", "some": "∃", "always": "□",
        "eventually": "◇", "+": "∪", "&": "∩", "-": "−", "*": "×", "..": "…",
    }),
    "∉": Equivalent(("not", "in")),
    **dict.fromkeys(("<=>", "<->", "⇔", "↔"), _EQUIVALENCE),
}  # fmt: skip
"""Operators. The grammar has the same list (`FOREIGN_SIGN`)."""

PREFIXES: Mapping[str, Equivalent] = _same({"eventually": "<>"})
"""Operators of `SIGNS` that mean something else before an operand: TLA+ writes `<>` for `eventually`."""

WORDS: Mapping[str, Equivalent] = {
    **_same({
        "all": "forall foreach", "some": "exists", "=>": "implies", "~>": "leadsto leads_to", "%": "mod",
        "when": "where provided given requires", "after": "every within", "final": "terminal accepting",
        "property": "liveness", "expect": "assert check", "invariant": "safety", "under": "assuming",
    }),
    **dict.fromkeys(("elif", "elsif", "elseif"), Equivalent(("else", "if"))),
    "iff": _EQUIVALENCE,
    "is": Equivalent(("==",), "values are compared with `==`, and `in` tests a state: `x in S`"),
}  # fmt: skip
"""Words, in lower case, that are names wherever a name fits."""

ALTERNATIVES: Mapping[str, Equivalent] = _same({"invariant": "assert"})
"""Words of `WORDS` that are something else where that does not fit: `assert` outside a scenario."""

VALUES: Mapping[str, str] = {
    "null": "none", "nil": "none", "undefined": "none", "none": "none", "true": "true", "false": "false",
    "this": "self", "self": "self",
}  # fmt: skip
"""Values, in lower case, where no name of the spec is meant."""

CONFUSED: Mapping[str, tuple[str, ...]] = {
    "=": ("==", ":"), "==": ("=",), ":": ("=",), "=>": ("->", "do"), "->": ("=>",), ";": (",",), ",": (";", "|"),
    "|": ("or", ","), "..": (".",), "if": ("when",), "then": ("do",), "/": ("do",), ">": ("->",),
}  # fmt: skip
"""Signs and words of the language that are taken for one another."""
