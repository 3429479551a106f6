"""What could stand in a place, in the author's terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from fsmdsl.syntax.build.expressions import CHAINS
from fsmdsl.syntax.operators import Written
from fsmdsl.syntax.parse.automaton import Frame, probe
from fsmdsl.syntax.parse.table import Table, firsts, is_made, symbols_of

MAX_ALTERNATIVES = 6
"""Maximum number of alternatives that a message lists."""

EXPRESSION, CONDITION, DECLARATION = "an expression", "a condition", "a declaration"

PHRASES = {
    **dict.fromkeys(("<_member>", "<_machine_member>", "<_system_member>", "<source>", "<import_>"), DECLARATION),
    **dict.fromkeys(("<expr>", "<until>", "<implication>", "<disjunction>", "<conjunction>", "<negation>"), EXPRESSION),
    **dict.fromkeys((*symbols_of(CHAINS), "<term>", "<atom>"), "a value"),
    **dict.fromkeys(("<type>", "<plain_type>"), "a type"),
    **dict.fromkeys(("<comparator>", *symbols_of(CHAINS.values())), "an operator"),
    **dict.fromkeys(("<edge>", "<sources>"), "a state"),
    "<_effect>": "an effect", "<_step>": "a step", "<offer>": "an event", "<state>": "a state",
    "<event_path>": "an event", "<_lock_member>": "an order of locks", "<lock_order>": "an order of locks",
    "<hold>": "a lock", "<lock_use>": "a lock", "<parameter>": "a parameter", "<binder>": "`name in set`",
    "<_source>": "a state", "<_ranked>": "an event or a label", "<enum_member>": "a member", "<name>": "a name",
    "<path>": "a name", "<reference>": "a name", "<bound>": "a number", "<mapped>": "an instance", "NAME": "a name",
    "INT": "a number", "DURATION": "a duration", "STRING": "a string", "END": "the end of the file",
    "ENTRY": "`on entry`", "EXIT": "`on exit`", "ANY": "`*`",
}  # fmt: skip
"""What to call a part that rules make, or a class of tokens. Other parts are named by what they begin with."""

ROLES = {
    ("edge", "<name>"): "a state", ("hook", "<name>"): "a state", ("ignore", "<name>"): "a state",
    ("layout_rank", "<name>"): "a state",
    ("in_state", "<name>"): "a state", ("senders", "<path>"): "who sends it", ("outcomes", "<name>"): "an outcome",
    ("after", "<atom>"): "a duration", ("channel", "<path>"): "a machine", ("instance", "<path>"): "a machine",
    ("of", "<path>"): "a system", ("import_", "<path>"): "a module", ("via", "<name>"): "a label",
    ("fails", "<reference>"): "an event", ("fails", "<fault>"): "a kind of fault",
    ("elapse", "<reference>"): "an instance", ("timer_name", "<name>"): "a label or a state",
    ("transmit", "<path>"): "a channel", ("post", "<reference>"): "a message",
    ("fairness", "<path>"): "an event or a label", ("_promised", "<path>"): "an event or a label",
    ("to", "<reference>"): "an instance", ("queue_of", "<reference>"): "an instance",
    ("for_each", "<path>"): "a parameter", ("_each_of", "<path>"): "a parameter",
    ("queue_between", "<reference>"): "an instance",
    ("delivery", "<path>"): "a channel", ("recovers", "<path>"): "a field",
    ("first_value", "<reference>"): "a field of an instance",
    ("extends", "<path>"): "a system", ("environment_use", "<path>"): "an environment",
    ("refines", "<path>"): "a system", ("map_state", "<name>"): "a state",
    ("map_field", "<name>"): "a field", ("element", "<name>"): "a variable",
}  # fmt: skip
"""What to call a part of a certain rule."""

CONDITIONAL = frozenset({
    "when", "start_when", "may_rest_when", "explore_while", "invariant", "reachable", "property", "expect", "if_",
    "conditional",
})  # fmt: skip
"""Rules whose expression is a condition."""

OPERATORS = frozenset({
    "`and`", "`or`", "`=>`", "`~>`", "`until`", "`==`", "`!=`", "`<`", "`<=`", "`>`", "`>=`", "`in`", "`not`",
    "`has`", "`.`", "`[`", "`(`", "`?`", *(f"`{sign}`" for sign in get_args(Written)),
})  # fmt: skip

LAST = ("an operator", DECLARATION, "an effect", "a step", "`}`", "the end of the file")
"""What a listing ends with, in this order."""


def listing(table: Table, top: Frame, *, going_on: bool = False) -> str | None:
    """What can stand there, such as "a state, `on` or `when`"; None if it is too much to help. With `going_on`, only
    what does not begin something else."""
    phrases: set[str] = set()
    for kind in table.moves[top.state]:
        after = None if is_made(kind) else probe(table, top, kind)
        if after is not None and after.below is not None:
            phrases.update(_phrases(table, after.below.state, kind))
    alternatives = _shortened(phrases - {*LAST[1:]} if going_on else phrases)
    if not 0 < len(alternatives) <= MAX_ALTERNATIVES:
        return None
    return " or ".join(filter(None, (", ".join(alternatives[:-1]), alternatives[-1])))


def _shortened(phrases: set[str]) -> list[str]:
    """Operators as one, and the particular before the general."""
    signs = phrases & OPERATORS
    if len(signs) > 2:
        phrases = (phrases - signs) | {"an operator"}
    return sorted(phrases, key=lambda x: (LAST.index(x) + 2 if x in LAST else x.startswith("`"), x))


def _phrases(table: Table, state: int, kind: str) -> Iterator[str]:
    """What a token of a kind is in a state that shifts it."""
    for number, place in table.begun[state]:
        rule = table.rules[number]
        if place < len(rule.symbols):
            yield from _begins(table, rule.name, rule.symbols[place], kind)


def _begins(table: Table, inside: str, symbol: str, kind: str) -> Iterator[str]:
    """What a symbol of a rule is called, if it can begin with a token of a kind."""
    if not can_begin(symbol, kind):
        return
    called = ROLES.get((inside, symbol)) or PHRASES.get(symbol)
    if called is not None:
        yield CONDITION if called == EXPRESSION and inside in CONDITIONAL else called
    elif not is_made(symbol):
        yield f"`{symbol}`"
    else:
        for rule in table.rules:
            if rule.origin == symbol and rule.symbols and rule.symbols[0] != symbol:
                yield from _begins(table, rule.name, rule.symbols[0], kind)


def can_begin(symbol: str, kind: str) -> bool:
    """Whether a symbol of a rule can begin with a token of a kind."""
    return symbol == kind or kind in firsts().get(symbol, ())
