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
    Word("module", "file", "Names the module; else the file's own name does.", reserved=True),
    Word("import", "file", "Makes the declarations of another module known.", reserved=True),
    Word("source", "file", "Names the document that the module formalises."),
    Word("at", "file", "The place in the document that the module formalises.", continues=True),
    Word("machine", "declaration", "A state machine: data, states, events, transitions, invariants.", reserved=True),
    Word(
        "system",
        "declaration",
        "How many instances there are, what the environment does, and what must hold: what is explored.",
        reserved=True,
    ),
    Word(
        "scenario",
        "declaration",
        "A worked example: events from outside, and what is expected after them.",
        reserved=True,
    ),
    Word("enum", "declaration", "A type with named members: `{ red | green }`, or ordered with `<`.", reserved=True),
    Word("record", "declaration", "A type of values with named parts: `record Entry { term: 0..3  value: bool }`."),
    Word("opaque", "declaration", "A type that a spec only passes on.", reserved=True),
    Word("channel", "declaration", "Events that are delivered later: `channel c: fifo[2] to Machine`."),
    Word("locks", "declaration", "The order in which locks may be taken."),
    Word("operation", "declaration", "What an operation locks while it holds what."),
    Word("let", "declaration", "A value or function that is computed, never stored.", reserved=True),
    Word("param", "declaration", "Data that is fixed when the instance is made.", reserved=True),
    Word(
        "state",
        "declaration",
        "A state; with braces behind it, a composite of states. `state of Pod` is the type of a machine's states, "
        "`state(x)` the state of an instance.",
        reserved=True,
    ),
    Word("event", "declaration", "Declares events, their parameters, and who may send them.", reserved=True),
    Word(
        "action",
        "declaration",
        "Declares work that hand-written code does; with outcomes, its answer begins the next step.",
        reserved=True,
    ),
    Word("invariant", "declaration", "What must hold in every state.", reserved=True),
    Word("property", "declaration", "What must be true of every run."),
    Word("reachable", "declaration", "What must be possible: some state has to show it."),
    Word("ignore", "declaration", "Says on purpose that an event changes nothing in these states.", reserved=True),
    Word("amends", "declaration", "What the document lacks and the machine needs, with the reason.", reserved=True),
    Word("priority", "declaration", "Decides between transitions that are enabled together; best first."),
    Word("layout", "declaration", "Where a diagram has the states; it changes no meaning."),
    Word(
        "map",
        "declaration",
        "A type, `map<K, V>`: a `V` for every `K`. In a system: what an instance of the one that is refined is, in "
        "terms of this one: its state, or a field.",
        also="type",
    ),
    Word(
        "start",
        "declaration",
        "`start when`: which of its first states a system begins in; `start with`: what a scenario begins with.",
    ),
    Word(
        "may",
        "declaration",
        "`may rest when`: where this is true, a system in which nothing can happen is at rest, not in a deadlock.",
    ),
    Word("explore", "declaration", "`explore while`: no step is followed from a state in which this is not true."),
    Word("environment", "declaration", "What may be sent from outside, and when: in one system, or shared by several."),
    Word("recover", "declaration", "What runs after every crash, before anything else."),
    Word("durable", "modifier", "The field survives a crash.", reserved=True),
    Word("initial", "modifier", "Where an instance, or a composite that is entered, begins."),
    Word("final", "modifier", "No way out: an instance ends here, and has to before the system comes to rest."),
    Word("resting", "modifier", "An instance may stay here for ever; it need not get here, and it may leave."),
    Word("persistent", "modifier", "A crash leaves the state alone."),
    Word("volatile", "modifier", "A crash moves the machine on from the state: it needs a transition `on crash`."),
    Word("transient", "modifier", "Left within the round in which it is entered."),
    Word("error", "modifier", "Drawn and reported as a failure."),
    Word("async", "modifier", "While the action runs, only this machine takes no events."),
    Word(
        "replaces",
        "modifier",
        "Takes the place of the document's rows of a label.",
        continues=True,
    ),
    Word("rows", "modifier", "Rows of a diagram, from top to bottom."),
    Word("columns", "modifier", "Columns of a diagram, from left to right."),
    Word("any", "modifier", "Any value of the type, or any state, to begin with; the checker looks at all of them."),
    Word("lossy", "modifier", "The environment may lose messages."),
    Word("duplicating", "modifier", "The environment may repeat messages."),
    Word("waiting", "modifier", "A message waits until its receiver handles or ignores it."),
    Word("fifo", "modifier", "Messages are delivered in order."),
    Word("bag", "modifier", "Messages are delivered in any order."),
    Word(
        "each",
        "modifier",
        "Every instance of the receiver, or each pair, has a queue: `channel c: fifo[2] to each Machine`.",
    ),
    Word("symmetric", "modifier", "The instances are interchangeable."),
    Word("read", "modifier", "The lock is shared."),
    Word("write", "modifier", "The lock is exclusive."),
    Word("child", "modifier", "A lock of the same kind one level down."),
    Word("extends", "qualifier", "This system has all that the other has; what has the same name takes its place."),
    Word("refines", "qualifier", "Every step of this system is a step of the other, or changes nothing there."),
    Word("under", "qualifier", "What the property assumes: fairness, finitely many crashes.", continues=True),
    Word("weak", "qualifier", "`weak fair`, or only `fair`: not put off for ever while it stays possible."),
    Word("strong", "qualifier", "Is not put off for ever while it becomes possible again and again."),
    Word("fair", "qualifier", "Is not put off for ever while it stays possible."),
    Word("finitely", "qualifier", "`finitely many crashes`: only runs in which crashes come to an end."),
    Word("many", "qualifier", "`finitely many crashes`: only runs in which crashes come to an end."),
    Word("crashes", "qualifier", "`finitely many crashes`: only runs in which crashes come to an end."),
    Word(
        "recovers",
        "qualifier",
        "Recovery ends, can be repeated, and leads to a state that could be reached without the crash.",
    ),
    Word("between", "qualifier", "`crash between writes`: crashes inside steps."),
    Word("writes", "qualifier", "`crash between writes`: crashes inside steps."),
    Word("during", "qualifier", "`crash during recovery`: crashes inside `recover`."),
    Word("recovery", "qualifier", "`crash during recovery`: crashes inside `recover`."),
    Word(
        "on",
        "control",
        "What triggers the transition: an event, an outcome of an action, or `crash`.",
        reserved=True,
        continues=True,
    ),
    Word("entry", "control", "`on entry(A)`: effects whenever the state is entered."),
    Word("exit", "control", "`on exit(A)`: effects whenever the state is left."),
    Word("after", "control", "A timer, armed when the state is entered.", reserved=True, continues=True),
    Word(
        "when", "control", "The guard: the transition is followed only where it is true.", reserved=True, continues=True
    ),
    Word("do", "control", "The effects, in order.", reserved=True, continues=True),
    Word(
        "for",
        "control",
        "Does something for each element; behind `fair`, `for each a`: for each value of the parameter.",
        reserved=True,
    ),
    Word("if", "control", "A choice.", reserved=True),
    Word("then", "control", "What a conditional is where its condition is true.", reserved=True),
    Word("else", "control", "What a choice or a conditional is otherwise.", reserved=True, continues=True),
    Word("rest", "control", "`may rest when`: where a system may come to rest.", continues=True),
    Word("while", "control", "Where the steps of a state are explored.", continues=True),
    Word(
        "from",
        "clause",
        "Who may send the event (without it, anyone), or the sender of a queue that belongs to a pair.",
        continues=True,
    ),
    Word(
        "to",
        "clause",
        "Where the effect adds, who receives from the channel, or whose queue the message is put into.",
        continues=True,
    ),
    Word(
        "of",
        "clause",
        "The system of a scenario, the label or state of a timer, who crashes alone, or whose queue is meant.",
        continues=True,
    ),
    Word("with", "clause", "The kind of fault that is expected.", continues=True),
    Word("add", "effect", "Adds an element to a set, or appends an item to a list."),
    Word("remove", "effect", "Removes an element from a set, or the first such item from a list."),
    Word("send", "effect", "Puts a message into a channel."),
    Word("expect", "step", "A condition that holds at this point of the scenario."),
    Word("fails", "step", "The step ends in a fault."),
    Word("via", "step", "The transitions followed since the last `via`, by label."),
    Word("timeout", "step", "A timer of the instance fires."),
    Word("deliver", "step", "The channel delivers a message; behind `fair`: what waits in it is not put off for ever."),
    Word("lose", "step", "The channel loses a message."),
    Word("duplicate", "step", "The channel repeats a message."),
    Word("and", "operator", "Both are true.", reserved=True),
    Word("or", "operator", "At least one is true.", reserved=True),
    Word("not", "operator", "It is false.", reserved=True),
    Word("in", "operator", "Is an element of, or is in a state.", reserved=True, continues=True),
    Word("has", "operator", "Has as an element.", reserved=True),
    Word("all", "operator", "For every element.", reserved=True),
    Word("some", "operator", "For at least one element; in an environment, for each choice.", reserved=True),
    Word("count", "operator", "How many elements."),
    Word("always", "temporal", "From every state on.", name_before="-[{"),
    Word("eventually", "temporal", "From some state on, now or later.", name_before="-[{"),
    Word("next", "temporal", "From the next state on.", name_before="-[{"),
    Word("until", "temporal", "The second comes, and the first is true until then."),
    Word("true", "constant", "The value of a `bool`.", reserved=True),
    Word("false", "constant", "The value of a `bool`, and what one begins as.", reserved=True),
    Word("none", "constant", "No value.", reserved=True),
    Word("self", "self", "This instance.", reserved=True),
    Word("set", "type", "A type: `set<T>`."),
    Word("list", "type", "A type: `list<T>[4]`, at most 4 items."),
)

SIGNS: Mapping[str, str] = {"~>": "Leads to: whenever the first is true, the second becomes true, then or later."}
"""Signs that are explained like words."""

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
