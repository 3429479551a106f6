"""What could stand in a place, in the author's terms."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl.parse.automaton import Frame, probe
from fsmdsl.parse.table import Table

SHOWN = 6
"""How many things a message names."""

PHRASES = {
    "<_member>": "a declaration", "<source>": "`source`", "<import_>": "`import`", "<_machine_member>": "a declaration",
    "<_system_member>": "a declaration", "<_lock_member>": "an order of locks", "<_effect>": "an effect",
    "<_step>": "a step", "<offer>": "an event", "<hold>": "a lock", "<state>": "a state",
    "<expr>": "an expression", "<until>": "an expression", "<implication>": "an expression", "<disjunction>": "an expression",
    "<conjunction>": "an expression", "<negation>": "an expression", "<sum>": "a value", "<term>": "a value",
    "<atom>": "a value", "<reference>": "a name", "<type>": "a type", "<plain_type>": "a type", "<bound>": "a number",
    "<comparator>": "an operator", "<sum_op>": "an operator", "<event_path>": "an event", "<path>": "a name",
    "<anything>": "`*`", "<signature>": "a name", "<parameter>": "a parameter", "<binder>": "`x in a set`", "<edge>": "a state",
    "<lock_use>": "a lock", "<initial>": "a name", "<block>": "`{`",
}  # fmt: skip
"""What to call the parts that rules make. The parts of anything else are named one by one."""

CONDITIONS = frozenset("when invariant reachable expect if_ conditional property".split())
"""Rules in which an expression is a condition."""

ROLES = {
    ("edge", "<name>"): "a state", ("sources", "<_source>"): "a state", ("hook", "<name>"): "a state",
    ("ignore", "<name>"): "a state", ("in_state", "<name>"): "a state", ("timer_name", "<name>"): "a transition or state",
    ("senders", "<path>"): "who sends it", ("channel", "<path>"): "a machine", ("instance", "<path>"): "a machine",
    ("of", "<path>"): "a system", ("import_", "<path>"): "a module", ("module_line", "<path>"): "a name",
    ("transmit", "<path>"): "a channel", ("recovers", "<path>"): "a field", ("fairness", "<path>"): "an event or a label",
    ("via", "<name>"): "a label", ("fails", "<name>"): "a kind of fault", ("fails", "<reference>"): "an event",
    ("post", "<reference>"): "a message", ("outcomes", "<name>"): "an outcome", ("arguments", "<name>"): "a name",
    ("enum_member", "<name>"): "a member", ("after", "<atom>"): "a duration", ("_ranked", "<name>"): "an event or a label",
    ("priority", "<_ranked>"): "an event or a label", ("elapse", "<reference>"): "an instance",
    ("do_step", "<reference>"): "a step",
}  # fmt: skip
"""What to call a part in its rule, where that says more."""

OPERATORS = frozenset("and or => ~> until == != < <= > >= in not has + - & . [ ( ?".split())


LAST = ("an operator", "a declaration", "an effect", "a step", "`}`", "the end of the file")
"""What comes at the end of a listing, in this order."""


def listing(table: Table, top: Frame) -> str | None:
    """What can stand there, such as "a state, `on` or `when`"; None if it is too much to help."""
    found: set[str] = set()
    for kind in filter(lambda k: not k.startswith("<"), table.moves[top.state]):
        after = probe(table, top, kind)
        if after is not None and after.below is not None:
            found.update(_phrases(table, after.below.state, kind))
    shown = _shortened(found)
    if not 0 < len(shown) <= SHOWN:
        return None
    return " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _shortened(found: set[str]) -> list[str]:
    """Operators as one, and the particular before the general."""
    signs = {f"`{x}`" for x in OPERATORS} & found
    if len(signs) > 3:
        found = (found - signs) | {"an operator"}
    return sorted(found, key=lambda x: (LAST.index(x) + 2 if x in LAST else x.startswith("`"), x))


def _phrases(table: Table, state: int, kind: str) -> Iterator[str]:
    """What a token of a kind is in a state that shifts it."""
    for number, place in table.begun[state] if state else ((i, 0) for i in _firsts()["<start>"].rules):
        rule = table.rules[number]
        if place < len(rule.symbols):
            yield from _begins(table, rule.name, rule.symbols[place], kind)
