"""The words of the language: one list, from which editors, the formatter, the parser and the importers take theirs.

The grammar (`fsm.lark`) says where each word may be. This list adds what the grammar cannot say: what a word is, what
completion and hover show for it, and whether it may be a name. `tests/test_word_list.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from fsmdsl.dataclasses import dataclass

Role = Literal[
    "file", "declaration", "modifier", "qualifier", "control", "clause", "effect", "step", "operator", "temporal",
    "constant", "self", "type",
]  # fmt: skip
"""What a word is, and so which color it has in an editor. A `qualifier` says under which assumption something holds, or
in relation to which other system."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word, what it is, and what it means in one sentence."""

    text: str
    role: Role
    meaning: str
    also: Role | None = None
    """What else it is, elsewhere."""
    reserved: bool = False
    """It is never a name, because it holds a declaration or an expression together. Any other word may be a name."""
    continues: bool = False
    """It continues a declaration that was begun, so completion offers it first."""
    name_before: str = ""
    """The signs before which it is a name where both readings fit: `next - 1`. In a `property` it is not."""


WORDS = (
    Word("module", "file", "Names the module; the default is the file name.", reserved=True),
    Word("import", "file", "Imports the declarations of another module.", reserved=True),
    Word("source", "file", "Names the document that the module formalizes."),
    Word("at", "file", "The location in the document that the module formalizes.", continues=True),
    Word("machine", "declaration", "A state machine: data, states, events, transitions, invariants.", reserved=True),
    Word(
        "system",
        "declaration",
        "The instances, the environment and the properties that are checked together.",
        reserved=True,
    ),
    Word(
        "scenario",
        "declaration",
        "A worked example: external events and their expected effects.",
        reserved=True,
    ),
    Word("enum", "declaration", "A type with named members: `{ red | green }`, or ordered with `<`.", reserved=True),
    Word("record", "declaration", "A type with named parts: `record Entry { term: 0..3  value: bool }`."),
    Word("opaque", "declaration", "A type whose values a spec can pass on but not inspect.", reserved=True),
    Word("channel", "declaration", "Events that are delivered later: `channel c: fifo[2] to Machine`."),
    Word("locks", "declaration", "The order in which locks may be acquired."),
    Word("operation", "declaration", "The locks that an operation acquires while it holds other locks."),
    Word("let", "declaration", "A value or function that is computed and never stored.", reserved=True),
    Word("param", "declaration", "Data that is fixed when the instance is created.", reserved=True),
    Word(
        "state",
        "declaration",
        "A state, or, if braces follow, a composite state; `state of Pod` is the type of a machine's states, and "
        "`state(x)` is the state of an instance.",
        reserved=True,
    ),
    Word("event", "declaration", "Declares events, their parameters, and who may send them.", reserved=True),
    Word(
        "action",
        "declaration",
        "Declares an operation that hand-written code performs; if it has outcomes, its answer starts the next step.",
        reserved=True,
    ),
    Word("invariant", "declaration", "A condition that must hold in every state.", reserved=True),
    Word("property", "declaration", "A condition that must hold for every run."),
    Word("reachable", "declaration", "A condition that at least one reachable state must satisfy."),
    Word("ignore", "declaration", "Declares that an event intentionally has no effect in these states.", reserved=True),
    Word(
        "amends",
        "declaration",
        "Adds a declaration that the document lacks, or replaces rows of the document, with a reason.",
        reserved=True,
    ),
    Word(
        "priority",
        "declaration",
        "Decides between transitions that are enabled together, with the highest priority first.",
    ),
    Word("layout", "declaration", "The positions of the states in a diagram; has no effect on the behaviour."),
    Word(
        "map",
        "declaration",
        "As a type, `map<K, V>`: a `V` for every `K`; in a system: how the state or a field of an instance of"
        " the refined system is computed from this one.",
        also="type",
    ),
    Word(
        "start",
        "declaration",
        "`start when`: restricts the initial states of a system; `start with`: the initial state of a scenario.",
    ),
    Word(
        "may",
        "declaration",
        "`may rest when`: if the condition is true, a state from which no step is possible is not a deadlock.",
    ),
    Word("explore", "declaration", "`explore while`: steps are explored only from states that satisfy the condition."),
    Word(
        "environment",
        "declaration",
        "The external events that can be sent, and when; belongs to one system or is shared by several.",
    ),
    Word("recover", "declaration", "Effects that run after every crash, before anything else."),
    Word("durable", "modifier", "The field survives a crash.", reserved=True),
    Word("initial", "modifier", "The first state of an instance, or of a composite state that is entered."),
    Word(
        "final",
        "modifier",
        "A state without outgoing transitions, which the instance must reach before the system may rest.",
    ),
    Word("resting", "modifier", "A state in which an instance may stay forever, and which it may leave."),
    Word("persistent", "modifier", "A crash does not change the state."),
    Word("volatile", "modifier", "A crash makes the machine leave the state, through an `on crash` transition."),
    Word("transient", "modifier", "A state that is left in the same round in which it is entered."),
    Word("error", "modifier", "A state that is drawn and reported as a failure."),
    Word("async", "modifier", "While the action runs, this machine accepts no events, but the others continue."),
    Word("replaces", "modifier", "Replaces the document's rows that have the same label.", continues=True),
    Word("rows", "modifier", "Rows of a diagram, from top to bottom."),
    Word("columns", "modifier", "Columns of a diagram, from left to right."),
    Word(
        "any",
        "modifier",
        "Any value of the type, or any state, can be the initial one; the checker explores all of them.",
    ),
    Word("lossy", "modifier", "The environment may lose messages."),
    Word("duplicating", "modifier", "The environment may duplicate messages."),
    Word("waiting", "modifier", "A message waits until its receiver can handle it or ignores it."),
    Word("fifo", "modifier", "Messages are delivered in order."),
    Word("bag", "modifier", "Messages are delivered in any order."),
    Word(
        "each",
        "modifier",
        "Each instance of the receiver, or each pair, has a queue: `channel c: fifo[2] to each Machine`.",
    ),
    Word("symmetric", "modifier", "The instances are interchangeable."),
    Word("read", "modifier", "The lock is shared."),
    Word("write", "modifier", "The lock is exclusive."),
    Word("child", "modifier", "A lock of the same kind one level down."),
    Word(
        "extends",
        "qualifier",
        "This system inherits everything from the other one and overrides items with the same name.",
    ),
    Word(
        "refines",
        "qualifier",
        "Every step of this system corresponds to a step of the other one, or changes nothing there.",
    ),
    Word("under", "qualifier", "The assumptions of the property: fairness, finitely many crashes.", continues=True),
    Word(
        "weak",
        "qualifier",
        "`weak fair a, b`, or just `fair a, b`: each of these steps eventually happens if it stays possible.",
    ),
    Word(
        "strong",
        "qualifier",
        "`strong fair a, b`: each of these steps eventually happens if it becomes possible again and again.",
    ),
    Word(
        "fair",
        "qualifier",
        "`fair a, b`: each of these steps eventually happens if it stays possible. A name refers to all events and "
        "labels with that name; `Machine.name` only to those of one machine.",
    ),
    Word("finitely", "qualifier", "`finitely many crashes`: only runs in which the crashes eventually stop."),
    Word("many", "qualifier", "`finitely many crashes`: only runs in which the crashes eventually stop."),
    Word("crashes", "qualifier", "`finitely many crashes`: only runs in which the crashes eventually stop."),
    Word(
        "recovers",
        "qualifier",
        "Recovery terminates, is idempotent, and leads to a state that is also reachable without the crash.",
    ),
    Word("between", "qualifier", "`crash between writes`: crashes within steps."),
    Word("writes", "qualifier", "`crash between writes`: crashes within steps."),
    Word("during", "qualifier", "`crash during recovery`: crashes within `recover`."),
    Word("recovery", "qualifier", "`crash during recovery`: crashes within `recover`."),
    Word(
        "on",
        "control",
        "The trigger of the transition: an event, an outcome of an action, or `crash`.",
        reserved=True,
        continues=True,
    ),
    Word("entry", "control", "`on entry(A)`: effects that run whenever the state is entered."),
    Word("exit", "control", "`on exit(A)`: effects that run whenever the state is left."),
    Word("after", "control", "A timer that starts when the state is entered.", reserved=True, continues=True),
    Word("when", "control", "The guard: the transition is taken only if it is true.", reserved=True, continues=True),
    Word("do", "control", "The effects of the transition, in order.", reserved=True, continues=True),
    Word(
        "for",
        "control",
        "Runs effects for each element; in `fair`, `for each a` makes a separate promise for each value.",
        reserved=True,
    ),
    Word("if", "control", "A conditional effect or expression.", reserved=True),
    Word("then", "control", "The value of a conditional expression if its condition is true.", reserved=True),
    Word("else", "control", "The branch, or the value, if the condition is false.", reserved=True, continues=True),
    Word("rest", "control", "In `may rest when`: the condition for coming to rest.", continues=True),
    Word("while", "control", "In `explore while`: the condition for exploring the steps of a state.", continues=True),
    Word(
        "from",
        "clause",
        "The allowed sender of the event (by default anyone), or the sender of a queue that belongs to a pair.",
        continues=True,
    ),
    Word(
        "to",
        "clause",
        "The target of `add`, the receiver of a channel, or the queue that the message is put into.",
        continues=True,
    ),
    Word(
        "of",
        "clause",
        "The system of a scenario, the label or state of a timer, the instance that crashes, or the owner of a queue.",
        continues=True,
    ),
    Word("with", "clause", "The kind of the expected fault.", continues=True),
    Word("add", "effect", "Adds an element to a set, or appends an item to a list."),
    Word("remove", "effect", "Removes an element from a set, or the first equal item from a list."),
    Word("send", "effect", "Puts a message into a channel."),
    Word("expect", "step", "A condition that must hold at this point of the scenario."),
    Word("fails", "step", "The step must end in a fault."),
    Word("via", "step", "The transitions taken since the last `via`, by label."),
    Word("timeout", "step", "A timer of the instance fires."),
    Word("deliver", "step", "The channel delivers a message; in `fair`: a waiting message is eventually delivered."),
    Word("lose", "step", "The channel loses a message."),
    Word("duplicate", "step", "The channel duplicates a message."),
    Word("and", "operator", "Both operands are true.", reserved=True),
    Word("or", "operator", "At least one operand is true.", reserved=True),
    Word("not", "operator", "The operand is false.", reserved=True),
    Word(
        "in",
        "operator",
        "Tests whether a value is an element of a collection, or an instance is in a state.",
        reserved=True,
        continues=True,
    ),
    Word("has", "operator", "Tests whether a collection contains an element.", reserved=True),
    Word("all", "operator", "True for every element.", reserved=True),
    Word("some", "operator", "True for at least one element; in an environment: once for each choice.", reserved=True),
    Word("count", "operator", "The number of elements for which a condition holds."),
    Word("always", "temporal", "True now and in every later state.", name_before="-[{"),
    Word("eventually", "temporal", "True now or in some later state.", name_before="-[{"),
    Word("next", "temporal", "True in the next state.", name_before="-[{"),
    Word("until", "temporal", "The second condition becomes true, and the first one is true until then."),
    Word("true", "constant", "A value of the type `bool`.", reserved=True),
    Word("false", "constant", "A value of the type `bool`, and its default.", reserved=True),
    Word("none", "constant", "No value.", reserved=True),
    Word("self", "self", "This instance.", reserved=True),
    Word("set", "type", "A type: `set<T>`."),
    Word("list", "type", "A type: `list<T>[4]`, at most 4 items."),
)

SIGNS: Mapping[str, str] = {
    "~>": "Leads to: whenever the first condition is true, the second one is true then or later."
}
"""Operators that are explained like words."""

HOOKS = ("entry", "exit")
"""Words that are one token with the `on` before them."""

TYPES = ("bool", "duration")
"""Types that have a name and no word of the grammar."""

EVENTS = ("crash",)
"""Events that every machine has."""

VALUES = ("wait", "index")
"""Values that have a name and no word of the grammar, each in some places only."""

MEANINGS: Mapping[str, str] = {**{x.text: x.meaning for x in WORDS}, **SIGNS}
"""What hover, completion and the index of keywords show."""

RESERVED = frozenset(x.text for x in WORDS if x.reserved)
"""Words that are never names."""

PREFERS_NAME = frozenset((x.text, sign) for x in WORDS for sign in x.name_before)
"""Words with the sign after them that are names where both readings fit. In a `property` they are not."""


def of_role(*roles: Role, soft: bool = False) -> tuple[str, ...]:
    """The words of some roles, in the order of the list; with `soft`, only those that may be names."""
    words = (x for x in WORDS if x.role in roles or x.also in roles)
    return tuple(x.text for x in words if not (soft and x.reserved))
