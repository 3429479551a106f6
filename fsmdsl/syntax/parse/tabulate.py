"""The grammar made into the table that the parser reads: `python -m fsmdsl.syntax.parse.tabulate`.

Lark does the work; it is needed here and nowhere else. The table is plain data, the same for the same grammar, in two
files: `table.json`, one line a rule or state, in which a change can be reviewed, and `table.bin`, made from that, which
the parser reads and a wheel has.
"""

from __future__ import annotations

import json
import marshal
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lark import Lark

GRAMMAR = Path(__file__).parent.parent / "fsm.lark"
TABLE = Path(__file__).parent / "table.json"
READY = TABLE.with_suffix(".bin")

FORMAT = 4
"""The format of `marshal`, which every Python since 3.4 reads."""

ITEMS = frozenset({
    "source", "import_", "_member", "_machine_member", "state", "_effect", "_lock_member", "lock_order", "operation",
    "hold", "record_part", "_system_member", "offer", "instance", "_step",
})  # fmt: skip
"""The rules of what stands one after the other in a file or in braces: where reading can go on after a mistake."""


def table() -> str:
    """The text of `table.json`."""
    lark = Lark(GRAMMAR.read_text("utf-8"), parser="lalr", lexer="basic", maybe_placeholders=False, debug=True)
    kinds = {t.name: _kind(t) for t in lark.terminals} | {"$END": "END"}
    parts = {
        "words": [json.dumps(w) for w in sorted(_words(kinds))],
        "pattern": [json.dumps(_pattern(lark, kinds))],
        "rules": [json.dumps(_rule(r, kinds)) for r in lark.rules],
        **_states(lark, kinds),
    }
    inside = (f'"{name}": [\n{_lines(lines)}\n]' for name, lines in parts.items())
    return "{" + ",\n".join(inside) + "}\n"


def ready(text: str) -> tuple[Any, ...]:
    """What `table.load` reads: the fields of a `Table`, the pattern as text and rules as tuples."""
    raw = json.loads(text)
    moves = tuple(state[0] for state in raw["states"])
    for row, state in zip(moves, raw["states"], strict=True):
        for rule, after in state[1]:
            row.update(dict.fromkeys(raw["sets"][after], ~rule))
    whole = moves[0]["<start>"]
    moves[whole]["END"] = whole
    return (
        frozenset(raw["words"]),
        raw["pattern"][0],
        tuple(_whole_rule(*rule) for rule in raw["rules"]),
        moves,
        tuple(tuple((rule, place) for rule, place in state[2]) for state in raw["states"]),
        tuple(frozenset(state[3]) for state in raw["states"]),
    )


def _whole_rule(name: str, symbol: str, symbols: list[str], places: list[int], how: str) -> tuple[Any, ...]:
    """The fields of a `table.Rule`."""
    transparent = how == "unwrap" and len(symbols) == len(places) == 1
    mixed = any(symbols[i].startswith("<_") for i in places)
    return (name, symbol, tuple(symbols), tuple(places), how, transparent, mixed)


def _lines(lines: Iterable[str]) -> str:
    return ",\n".join(lines)


def _kind(terminal: Any) -> str:
    """What tokens of a terminal are called: a fixed text by itself."""
    return str(terminal.pattern.value) if terminal.pattern.type == "str" else str(terminal.name)


def _words(kinds: dict[str, str]) -> set[str]:
    return {kind for kind in kinds.values() if kind.isidentifier() and kind.islower()}


def _pattern(lark: Any, kinds: dict[str, str]) -> str:
    """One regular expression for any token, with white space before it. Its groups are the classes; signs are one."""
    signs = sorted({kind for kind in kinds.values() if not kind.isidentifier()}, key=lambda x: (-len(x), x))
    classes = {t.name: (-t.priority, t.pattern.to_regexp()) for t in lark.terminals if kinds[t.name] == t.name}
    space = classes.pop("WHITESPACE")[1]
    classes |= {"SIGN": (0, "|".join(map(re.escape, signs))), "END": (0, r"\Z")}
    ordered = sorted((priority, name, pattern) for name, (priority, pattern) in classes.items())
    return f"(?:{space})?(?:{'|'.join(f'(?P<{name}>{pattern})' for _, name, pattern in ordered)})"


def _rule(rule: Any, kinds: dict[str, str]) -> list[Any]:
    """Name in the tree, left side, right side, places of the right side that are kept in the tree, and how.

    Lark's conventions: the parts of `_rule` are put in its place, as they are for a `?rule` with only one part; fixed
    texts are left out but for a `!rule`.
    """
    origin, options = str(rule.origin.name), rule.options
    places = [i for i, x in enumerate(rule.expansion) if options.keep_all_tokens or not (x.is_term and x.filter_out)]
    how = "spread" if origin.startswith("_") else "unwrap" if options.expand1 and not rule.alias else "node"
    return [str(rule.alias or origin), f"<{origin}>", [_symbol(x, kinds) for x in rule.expansion], places, how]


def _symbol(symbol: Any, kinds: dict[str, str]) -> str:
    return kinds[symbol.name] if symbol.is_term else f"<{symbol.name}>"


def _states(lark: Any, kinds: dict[str, str]) -> dict[str, list[str]]:
    """The states, the first first, and the sets of kinds of tokens that they share."""
    table = lark.parser.parser._parse_table
    index = {rule: i for i, rule in enumerate(lark.rules)}
    numbers = {state: i for i, state in enumerate(_reached(table))}
    sets: dict[tuple[str, ...], int] = {}
    rows = []
    for state in numbers:
        moves: dict[str, int] = {}
        reduced: dict[int, list[str]] = {}
        for name, (action, target) in sorted(table.states[state].items()):
            if action.name == "Shift":
                moves[kinds.get(name, f"<{name}>")] = numbers[target]
            else:
                reduced.setdefault(index[target], []).append(kinds[name])
        ends = [[rule, sets.setdefault(tuple(sorted(after)), len(sets))] for rule, after in sorted(reduced.items())]
        inside = (p for p in state if p.rule in index and (p.index > 0 or p.rule.origin.name == "start"))
        begun = sorted([index[p.rule], p.index] for p in inside)
        items = sorted(ITEMS & {str(p.rule.origin.name) for p in state if p.index == 0})
        rows.append(json.dumps([moves, ends, begun, items]))
    return {"sets": [json.dumps(s) for s in sets], "states": rows}


def _reached(table: Any) -> Iterator[Any]:
    """States in an order that does not depend on hashing: as they are reached from the first."""
    first = table.start_states["start"]
    seen, queue = {first}, [first]
    for state in queue:
        yield state
        for _, (action, target) in sorted(table.states[state].items()):
            if action.name == "Shift" and target not in seen:
                seen.add(target)
                queue.append(target)


if __name__ == "__main__":
    TABLE.write_text(table(), "utf-8")
    READY.write_bytes(marshal.dumps(ready(TABLE.read_text("utf-8")), FORMAT))
