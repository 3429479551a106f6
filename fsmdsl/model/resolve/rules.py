"""The rules that binding names and finding types can break."""

from __future__ import annotations

from fsmdsl.text.diagnostics import Rule, Severity


def _rule(code: str, name: str, summary: str, explanation: str) -> Rule:
    return Rule(code, name, Severity.ERROR, summary, explanation)


UNKNOWN = _rule(
    "FSM101",
    "unknown-name",
    "a name that nothing declares",
    """
Every state, event, action, field, type, machine and module must be declared before the file ends. A misspelt name is
the usual cause; the closest known name is suggested.

```fsm
machine Door {
    initial state Open
    event push from environment
    Open -> Shut on push      // no state `Shut`
}
```

Declare it, or correct the spelling.
""",
)

TWICE = _rule(
    "FSM102",
    "declared-twice",
    "two declarations of one name in one place",
    """
Within a machine, states, events, actions and data each have one list of names; within a module, its machines, types and
systems. Two entries of the same name would leave it open which one is meant.

```fsm
machine Door {
    initial state Open
    state Open
}
```

Rename one of them.
""",
)

MISMATCH = _rule(
    "FSM103",
    "type-mismatch",
    "a value of the wrong type",
    """
Values are compared, assigned and passed on only to places of their own type: numbers to ranges, members to their enum,
instances to references of their machine. A guard is true or false.

```fsm
machine Door {
    opened: 0..9
    initial state Open
    invariant opened == true
}
```

Compare or assign a value of the type that the message names.
""",
)

ARGUMENTS = _rule(
    "FSM104",
    "wrong-arguments",
    "too many or too few arguments",
    """
An event, action or derived value takes as many arguments as its declaration has parameters. A transition may leave the
arguments of its event out altogether when it does not use them.

```fsm
machine Door {
    initial state Open
    event push(force: 0..9) from environment
    Open -> Open on push(force, speed)
}
```

Pass what the declaration asks for.
""",
)

AMBIGUOUS = _rule(
    "FSM105",
    "ambiguous-name",
    "a name that could mean several things here",
    """
Two enums may share a member's name. Where the place does not say which enum is meant, the member needs it before it.

```fsm
enum Near { Idle | Busy }
enum Far { Idle | Gone }
machine Door {
    initial state Open
    invariant size({Idle}) == 1
}
```

Write `Near.Idle`.
""",
)

SENDER = _rule(
    "FSM106",
    "sender-not-declared",
    "an event sent by someone whom its declaration does not name",
    """
`event e from X` says who may send it. The reader of the machine relies on that list, so a send from elsewhere is an
error, not an addition.

```fsm
machine Door {
    initial state Open
    event push from environment
    Open -> Open on push
}
machine Robot {
    param door: Door
    initial state Idle
    event tick from environment
    Idle -> Idle on tick do door.push
}
```

Add the sender: `event push from environment, Robot`.
""",
)

MISPLACED = _rule(
    "FSM107",
    "misplaced",
    "something that has no meaning in this place",
    """
Some things belong to some places only: assignments to a machine's own fields, `index` to the braces of an instance set,
temporal words to properties, actions with outcomes to the end of their block. An eventless guard reads
its own machine only, because nothing tells the machine when another one changes.

```fsm
machine Door {
    initial state Open
    invariant always Open
}
```

The message says where it belongs.
""",
)

IMPORT = _rule(
    "FSM108",
    "import-not-found",
    "a module that no file has",
    """
`import a.b` looks for `a/b.fsm`, then `b.fsm`, beside the importing file and in the folders above it, and among the
files given to the command. The file's `module` line must say the same name.

```fsm
import no_such_module
```

Correct the name, or pass the file to the command.
""",
)

INITIAL = _rule(
    "FSM109",
    "initial-state",
    "not exactly one initial state",
    """
A machine begins in one state, and a composite state that a transition enters needs one child to begin in.

```fsm
machine Door {
    state Open
    state Shut
    event push from environment
    Open -> Shut, Shut -> Open on push
}
```

Write `initial` before one of them.
""",
)

FLAGS = _rule(
    "FSM110",
    "contradicting-flags",
    "words before a state that exclude each other",
    """
A state is `persistent` or `volatile`, not both; a `final` or `resting` state has no children; a `transient` state is
neither `final` nor `resting` nor `initial`; a `final` state is not also `resting`, as an instance may stay there
anyway.

```fsm
machine Door {
    initial persistent volatile state Open
}
```

Keep one of them.
""",
)

CIRCULAR = _rule(
    "FSM111",
    "circular-definition",
    "a derived value that needs itself, a record that holds itself, or a system that extends itself",
    """
A `let` is computed from other values; going round in a circle it would never end. A record that has itself as a part,
directly or through other records, would never end either, nor would the members of a system that extends one that
extends it.

```fsm
machine Door {
    let a = b
    let b = a
    initial state Open
}
```

Break the circle. In the place of a record of its own kind, a record may refer to an instance of a machine.
""",
)

INSTANCE = _rule(
    "FSM112",
    "instance-incomplete",
    "an instance without all it needs",
    """
In a system or scenario each instance gives a value to every parameter of its machine that has no default, and a channel
has exactly one receiver, or is declared `to each` of them. Where a system extends another, a set of instances takes the
place of one of the same machine.

```fsm
machine Door {
    param width: 1..9
    initial state Open
}
system One {
    door: Door
}
```

Write `door: Door { width = 3 }`.
""",
)

RANGE = _rule(
    "FSM113",
    "empty-range",
    "a range, bound or number that leaves nothing",
    """
`low..high` includes both ends, so `high` may not be below `low`; channels, lists and instance sets hold at least one.

```fsm
machine Door {
    opened: 9..0
    initial state Open
}
```

Exchange the bounds.
""",
)

REPLACES = _rule(
    "FSM114",
    "replaces-nothing",
    "an amendment that replaces no documented row",
    """
`amends "reason" replaces e4: …` takes the place of the document's transitions labelled `e4`, and
`amends "reason" replaces e4: { … }` puts rows of other labels in their place. Without such a row there is nothing to
replace.

```fsm
machine Door {
    initial state Open
    event push from environment
    Open -> Open on push
    amends "the label does not exist" replaces e9: Open -> Open on push
}
```

Correct the label, or leave `replaces` out.
""",
)

TOO_LARGE = _rule(
    "FSM115",
    "too-large",
    "more of something than a spec may have",
    """
Channels and lists hold at most 10,000 messages and items. A set of instances has at most 10,000 of them, and an enum
at most 10,000 members. The name of a module has at most 32 parts, and a number that is computed has at most 18 digits,
whatever the data are. No system of that size can be explored; such a number is a slip, or an attempt to keep a machine
busy.

```fsm
channel orders: fifo[1000000000] to Door

machine Door {
    initial state Open
    event push from orders
    Open on push
}
```

A channel that holds a few messages shows the same mistakes as a large one.
""",
)

MAPPING = _rule(
    "FSM116",
    "incomplete-mapping",
    "not everything that a system refines is mapped",
    """
`system Impl refines Abstract` compares what `Impl` does with what `Abstract` does. For that, each state of `Impl` must
say what `Abstract` would look like: an instance of the same name and machine, and of the same number, is itself; for
any other, rows with `map` say in which state it is, and what each of its fields is. Rows are tried in order. A row
says an innermost state, and none follows one without a condition. What refers to instances can be mapped where both
systems have them. Messages that wait in a channel, and answers that are awaited, are those of instances that are the
same in both.

```fsm
machine Gate {
    cars: 0..3
    initial state Closed
    state Open
    event arrive from environment
    Closed -> Open on arrive
}

machine Barrier {
    initial state Down
    state Up
    event car from environment
    Down -> Up on car
}

system Plan {
    gate: Gate
}

system Built refines Plan {
    barrier: Barrier
    map gate in Open when barrier in Up       // where it is not, the gate is Closed; and what is `gate.cars`?
}
```

Write the rows that the message names.
""",
)

RULES = (
    UNKNOWN, TWICE, MISMATCH, ARGUMENTS, AMBIGUOUS, SENDER, MISPLACED, IMPORT, INITIAL, FLAGS, CIRCULAR, INSTANCE,
    RANGE, REPLACES, TOO_LARGE, MAPPING,
)  # fmt: skip
