"""The grammar as one for tree-sitter, for editors: `python -m fsmdsl.syntax.parse.tree_sitter` prints `grammar.js`.

Lark expands `fsm.lark` into plain rules, as for `tabulate`; each becomes a rule of tree-sitter. What the two do
differently:

- `?rule` and `-> name`: a rule whose alternatives give nodes of different names becomes a hidden rule, and a rule for
  each name.
- Conflicts that Lark resolves as shift: every rule is right-associative, which is the same.
- Words that may be names (`soft_keywords.py` looks at what follows): they are names, too, and what comes next
  decides, or where that is not enough, which reading goes on (`FORKS`).
- Tokens that look ahead (`ANY`, `ENTRY`): tree-sitter cannot. `*` is one token, and `on entry` is always a hook.
- Reserved words are names where nothing else is expected; the parser says that they cannot be.

Lark is needed here and nowhere else.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from lark import Lark

from fsmdsl.syntax.parse.soft_keywords import joining
from fsmdsl.syntax.parse.tabulate import GRAMMAR
from fsmdsl.syntax.words import RESERVED

TOKENS = {
    "NAME": "identifier", "INT": "integer", "DURATION": "time", "STRING": "string", "ENTRY": "on_entry",
    "EXIT": "on_exit",
}  # fmt: skip
"""What terminals that are no fixed texts are called as nodes."""

DROPPED = frozenset({"ANY"})
"""Terminals that are another one with a look at what follows."""

FORKS = (
    "any", "delivery", "each", "elapse", "expect", "fails", "fairness", "finite", "recovers", "start_with", "strength",
    "transmission", "via",
)  # fmt: skip
"""Rules that begin with a word which may be a name where they stand: tree-sitter tries both readings. Those of
expressions, effects and locks are found in the grammar (`_joining`)."""

Rules = dict[str, list[list[str]]]
"""The alternatives of each rule, as expressions of tree-sitter's language."""


def grammar() -> str:
    """The text of `grammar.js`. Takes about a second."""
    lark = _lark()
    rules = _rules(lark)
    tokens = {TOKENS[t.name]: _regex(t.pattern.to_regexp()) for t in lark.terminals if t.name in TOKENS}
    begun = sorted({*FORKS, *_joining(rules)})
    soft = sorted(_words(lark) - RESERVED)
    rules["name"] += [[json.dumps(x)] for x in soft]
    comments = {
        "doc_comment": r"token(prec(1, /\/\/\/([^\/\r\n][^\r\n]*)?/))",
        "comment": r"token(/\/\/[^\r\n]*/)",
    }
    lines = [*(_rule_text(name, alternatives) for name, alternatives in rules.items())]
    lines += [f"    {name}: _ => {x}," for name, x in {**tokens, **comments}.items()]
    forks = ", ".join(f"[$.{x}, $.name]" for x in begun)
    return _HEAD.replace("FORKS", forks) + "\n".join(lines) + "\n  },\n});\n"


def parents() -> dict[str, set[str]]:
    """For each word, the nodes that it is directly in. Takes about a second."""
    rules = _rules(_lark())
    inside: dict[str, set[str]] = {}
    for name, alternatives in rules.items():
        for symbol in {x for parts in alternatives for x in parts}:
            inside.setdefault(symbol.removeprefix("$."), set()).add(name)
    words = (x for x in inside if x.startswith('"') and json.loads(x).isidentifier())
    return {json.loads(x): set(_visible(x, inside)) for x in words}


def _visible(symbol: str, inside: dict[str, set[str]]) -> Iterator[str]:
    """The nodes around a symbol, past those that are hidden."""
    waiting, past = [symbol], set[str]()
    while waiting:
        around = inside.get(waiting.pop(), set()) - past
        past |= around
        yield from (x for x in around if not x.startswith("_"))
        waiting += (x for x in around if x.startswith("_"))


def _joining(rules: Rules) -> Iterator[str]:
    """Rules that begin with a word which would take a name behind it: see `soft_keywords.joining`."""
    ending, _ = joining()
    firsts = {json.dumps(x) for x in ending}
    yield from (name for name, alternatives in rules.items() if any(x[0] in firsts for x in alternatives if x))


def _lark() -> Lark:
    return Lark(GRAMMAR.read_text("utf-8"), parser="lalr", lexer="basic", maybe_placeholders=False)


_HEAD = """\
// Made from fsmdsl/syntax/fsm.lark by `python -m fsmdsl.syntax.parse.tree_sitter`. Not to be edited.
/* eslint-disable */
module.exports = grammar({
  name: "fsm",
  word: $ => $.identifier,
  extras: $ => [/\\s/, $.doc_comment, $.comment],
  conflicts: $ => [FORKS],
  rules: {
"""


def _rules(lark: Any) -> Rules:
    """All rules that are used, the first one first."""
    groups: dict[str, Rules] = {}
    for rule in lark.rules:
        if any(x.is_term and x.name in DROPPED for x in rule.expansion):
            continue
        origin, options = str(rule.origin.name), rule.options
        single = len(rule.expansion) == 1 and options.expand1 and not rule.alias
        node = "" if single else str(rule.alias or origin)
        groups.setdefault(origin, {}).setdefault(node, []).append(list(rule.expansion))
    hidden = {x for x, nodes in groups.items() if set(nodes) != {x}}
    rules: Rules = {}
    for origin, nodes in groups.items():
        if origin in hidden:
            plain = [[_symbol(x, lark, hidden) for x in parts] for parts in nodes.get("", [])]
            _add(rules, f"_{origin}", plain + [[f"$.{_name(x)}"] for x in nodes if x])
        for node, alternatives in nodes.items():
            if node:
                _add(rules, _name(node), [[_symbol(x, lark, hidden) for x in parts] for parts in alternatives])
    return rules


def _add(rules: Rules, name: str, alternatives: list[list[str]]) -> None:
    assert name not in rules, f"two rules would be called {name}"
    rules[name] = alternatives


def _symbol(symbol: Any, lark: Any, hidden: set[str]) -> str:
    if not symbol.is_term:
        return f"$._{symbol.name}" if symbol.name in hidden else f"$.{_name(symbol.name)}"
    if symbol.name in TOKENS:
        return f"$.{TOKENS[symbol.name]}"
    return json.dumps(lark.get_terminal(symbol.name).pattern.value)


def _name(name: str) -> str:
    """Without what only sets it apart from a word of Python; what Lark makes for repetitions is hidden."""
    return "_" + name.strip("_") if name.startswith("_") else name.rstrip("_")


def _rule_text(name: str, alternatives: Iterable[list[str]]) -> str:
    # What a name is must stay open as long as it can: there a conflict is a fork.
    sequences = [x[0] if len(x) == 1 else f"seq({', '.join(x)})" if x else "blank()" for x in alternatives]
    choices = ",\n      ".join(sequences)
    body = sequences[0] if len(sequences) == 1 else f"choice(\n      {choices},\n    )"
    return f"    {name}: $ => {body}," if name == "name" else f"    {name}: $ => prec.right({body}),"


def _regex(pattern: str) -> str:
    """Without what looks ahead: there the longest token wins anyway."""
    plain = re.sub(r"\(\?![^)]*\)$|\\b$", "", re.sub(r"^\(\?:(.*)\)$", r"\1", pattern))
    return f"/{plain.translate(_ESCAPES)}/"


_ESCAPES = {ord(x): y for x, y in {"\n": r"\n", "\r": r"\r", "\t": r"\t"}.items()}


def _words(lark: Any) -> set[str]:
    texts: Iterator[str] = (str(t.pattern.value) for t in lark.terminals if t.pattern.type == "str")
    return {x for x in texts if x.isidentifier() and x.islower()}


if __name__ == "__main__":
    sys.stdout.write(grammar())
