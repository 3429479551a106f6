"""The words of the language in the files that editors color by: from `fsmdsl.syntax.words` and the grammar.

`editor_files` puts the lines that are made here into those files. Editors that know no grammar (Vim, VS Code) color a
word that may be a name only beside what the grammar allows there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from fsmdsl.dataclasses import dataclass
from fsmdsl.syntax.parse.table import firsts, followers, load
from fsmdsl.syntax.parse.tree_sitter import parents
from fsmdsl.syntax.words import EVENTS, RESERVED, TYPES, VALUES, WORDS, Role, Word, of_role

VIM: Mapping[Role, str] = {
    "file": "fsmImport", "declaration": "fsmDeclaration", "modifier": "fsmModifier", "qualifier": "fsmModifier",
    "control": "fsmKeyword", "clause": "fsmKeyword", "effect": "fsmKeyword", "step": "fsmKeyword",
    "operator": "fsmOperatorWord", "temporal": "fsmTemporal", "constant": "fsmConstant", "self": "fsmSelf",
    "type": "fsmType",
}  # fmt: skip
TEXTMATE: Mapping[Role, str] = {
    "file": "keyword.control.import", "declaration": "storage.type", "modifier": "storage.modifier",
    "qualifier": "keyword.other", "control": "keyword.control", "clause": "keyword.other", "effect": "keyword.other",
    "step": "storage.type", "operator": "keyword.operator.word", "temporal": "keyword.operator.temporal",
    "constant": "constant.language", "self": "variable.language.self", "type": "support.type",
}  # fmt: skip
TREE_SITTER: Mapping[Role, str] = {
    "file": "keyword", "declaration": "keyword", "modifier": "keyword.modifier", "qualifier": "keyword.modifier",
    "control": "keyword", "clause": "keyword", "effect": "keyword", "step": "keyword", "operator": "keyword.operator",
    "temporal": "keyword.operator", "constant": "constant.builtin", "self": "variable.builtin", "type": "type.builtin",
}  # fmt: skip
BROWSER: Mapping[str, tuple[Role, ...]] = {
    "keyword": ("file", "declaration"), "modifier": ("modifier", "qualifier", "control", "clause", "effect", "step"),
    "logic": ("operator", "temporal"), "atom": ("constant", "self"), "typeName": ("type",),
}  # fmt: skip
"""The colors of the live page's editor, and the roles that have them. A word has the first that fits."""


# Where a word is a keyword -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Context:
    """What must be beside a word for it to be a keyword rather than a name, as far as one line shows."""

    line: bool = False
    """It is the first word of its line, or behind one of `behind`."""
    behind: tuple[str, ...] = ()
    """Words or signs before it; with none, and without `line`, anything is."""
    words: tuple[str, ...] = ()
    """Words that may come after it."""
    names: bool = False
    """A name may come after it, too."""
    signs: str = ""
    """The first letters of other tokens that may come after it."""
    space: bool = False
    """There is space before these: `add (x) to s`, where `add(x)` calls an action."""
    ends: bool = False
    """It may be the last word of its line."""

    @property
    def open(self) -> bool:
        """Whether anything may come after it."""
        return not (self.names or self.words or self.signs or self.ends)


_SIGN = {"INT": "0-9", "DURATION": "0-9", "STRING": '"', "(": "(", "{": "{", "[": "[", "<": "<"}
_BEFORE = {"STRING": '"', "=": "=", ":": ":"}


def context(word: Word, role: Role) -> Context:
    """Where a word that may be a name is a keyword in one of its roles."""
    if role == "type":
        return Context(signs="<")
    words = load().words
    after = followers()[word.text] - {*word.name_before} - ({"<"} if word.also == "type" else set())
    before = {kind for kind, follows in followers().items() if word.text in follows}
    ends = {kind for kind in before & words if "}" in followers()[kind]}
    line = role in ("declaration", "step") or word.text == "source"
    behind: set[str] = set()
    if line:
        behind = before & words - ends - RESERVED
    elif before <= words | _BEFORE.keys():
        behind = before
        line = "STRING" in before  # a text may be the last of its line
    if behind and not line and "NAME" in after:
        return Context(behind=_written(behind))
    return Context(
        line,
        _written(behind),
        tuple(sorted(after & words)),
        "NAME" in after,
        "".join(dict.fromkeys(_SIGN[x] for x in sorted(after) if x in _SIGN)),
        role == "effect",
        "}" in after or firsts()["<_machine_member>"] <= after,
    )


def _written(kinds: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(_BEFORE.get(x, x) for x in kinds))


def _not_after(place: Context) -> list[str]:
    """Words that may come after a name and not after the word in its place: before these, it is a name."""
    continuing = set(of_role("control", "operator")) & RESERVED & followers()["NAME"]
    return sorted(continuing - {*place.words})


Group = tuple[Role, Context, tuple[str, ...]]


def groups() -> Iterator[Group]:
    """The words that may be names, by role and by where they are keywords."""
    entries = [(role, context(x, role), x.text) for x in WORDS if x.text in followers() for role in _roles(x)]
    soft = sorted((x for x in entries if x[2] not in RESERVED), key=lambda x: (x[0], repr(x[1]), x[2]))
    for (role, place), together in groupby(soft, key=lambda x: x[:2]):
        yield role, place, tuple(text for _, _, text in together)


def _roles(word: Word) -> tuple[Role, ...]:
    return (word.role,) if word.also is None else (word.role, word.also)


def _reserved() -> Iterator[tuple[Role, tuple[str, ...]]]:
    for role in VIM:
        words = tuple(x.text for x in WORDS if x.reserved and x.role == role)
        if words:
            yield role, words


# Vim -----------------------------------------------------------------------------------------------------------------


def vim() -> Iterator[str]:
    """Lines of `syntax/fsm.vim`."""
    for role, words in _reserved():
        yield f"syntax keyword {VIM[role]} {' '.join(words)}"
    yield f"syntax keyword {VIM['type']} {' '.join(TYPES)}"
    for role, place, words in groups():
        yield rf"syntax match {VIM[role]} /\v{_vim_before(place)}<%({'|'.join(words)})>{_vim_after(place)}/"


def _vim_before(place: Context) -> str:
    if place.line and not place.behind:
        return r"^\s*\zs"
    texts = ([r"^\s*"] if place.line else []) + [rf"{_vim_text(x)}\s+" for x in place.behind]
    return f"%({'|'.join(texts)})@40<=" if texts else ""


def _vim_text(text: str) -> str:
    return f"<{text}>" if text.isidentifier() else text if text == '"' else f"\\{text}"


def _vim_after(place: Context) -> str:
    if place.open:
        return ""
    texts = []
    if place.names:
        texts.append(rf"\s+%(<%({'|'.join(_not_after(place))})>)@!\h")
    elif place.words:
        texts.append(rf"\s+<%({'|'.join(place.words)})>")
    if place.signs:
        texts.append(rf"\s{'+' if place.space else '*'}[{place.signs.replace('[', chr(92) + '[')}]")
    if place.ends:
        texts.append(r"\s*%($|\}|//)".replace("/", r"\/"))
    return f"%({'|'.join(texts)})@="


# VS Code -------------------------------------------------------------------------------------------------------------


def textmate() -> Iterator[str]:
    """Lines of `syntaxes/fsm.tmLanguage.json`; JSON has no comments, so this part ends where its object does."""
    patterns = [_pattern(place, words, f"{TEXTMATE[role]}.fsm") for role, place, words in groups()]
    for role, reserved in _reserved():
        patterns.append({"match": rf"\b({'|'.join(reserved)})\b", "name": f"{TEXTMATE[role]}.fsm"})
    rows = ",\n".join(f"        {json.dumps(x)}" for x in patterns)
    yield f'      "patterns": [\n{rows}\n      ]'


def _pattern(place: Context, words: tuple[str, ...], name: str) -> dict[str, object]:
    texts = [rf"(?<=\b{x}\s)" if x.isidentifier() else rf"(?<={x}\s)" for x in place.behind]
    if any(not x.isidentifier() for x in place.behind):
        texts.append(r"(?<=\s\s)")  # the formatter aligns what is behind a sign, and this must have a fixed length
    before = "|".join(([r"^\s*"] if place.line else []) + texts)
    pattern = rf"{f'(?:{before})' if before else ''}\b({'|'.join(words)})\b{_textmate_after(place)}"
    return {"match": pattern, "captures": {"1": {"name": name}}}


def _textmate_after(place: Context) -> str:
    if place.open:
        return ""
    texts = []
    if place.names:
        texts.append(rf"\s+(?!(?:{'|'.join(_not_after(place))})\b)[A-Za-z_]")
    elif place.words:
        texts.append(rf"\s+(?:{'|'.join(place.words)})\b")
    if place.signs:
        texts.append(rf"\s{'+' if place.space else '*'}[{place.signs.replace('[', chr(92) + '[')}]")
    if place.ends:
        texts.append(r"\s*(?:$|\}|//)")
    return f"(?={'|'.join(texts)})"


# The live page and tree-sitter ---------------------------------------------------------------------------------------


def browser() -> Iterator[str]:
    """Lines of `live/static/language.js`."""
    more = {"modifier": EVENTS, "atom": VALUES, "typeName": TYPES}
    taken = set[str]()
    for color, roles in BROWSER.items():
        words = [x for x in (*of_role(*roles), *more.get(color, ())) if x not in taken]
        taken.update(words)
        yield f"const {color.upper()} = new Set({json.dumps(words)});"


def tree_sitter() -> Iterator[str]:
    """Lines of `queries/highlights.scm`. A word that may be a name is a keyword inside of some nodes only."""
    inside = parents()
    for role, words in _reserved():
        if any(x in inside for x in words):
            yield f"[{' '.join(json.dumps(x) for x in words if x in inside)}] @{TREE_SITTER[role]}"
    for x in WORDS:
        if not x.reserved and x.text in inside:
            for node in sorted(inside[x.text]):
                role = x.also if x.also == "type" and node.endswith("_type") else x.role
                yield f'({node} "{x.text}" @{TREE_SITTER[role]})'
