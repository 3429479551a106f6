"""The rules that binding names and finding types can break."""

from __future__ import annotations

from fsmdsl.text.diagnostics import Rule, Severity


def _rule(code: str, name: str, summary: str, explanation: str) -> Rule:
    return Rule(code, name, Severity.ERROR, summary, explanation)


UNKNOWN = _rule(
    "FSM101",
    "unknown-name",
    "a name that is not declared",
    """
Every state, event, action, field, type, machine and module that a spec uses must be declared. The order of declarations
does not matter. The usual cause is a misspelt name. The message suggests the closest declared name.

```fsm
machine Door {
    initial state Open
    event push from environment
    Open -> Shut on push      // no state `Shut`
}
```

Declare the name, or correct its spelling.
""",
)

TWICE = _rule(
    "FSM102",
    "declared-twice",
    "two declarations of the same name in one scope",
    """
A machine has separate namespaces for its states, events, actions and data. A module has one namespace for its machines,
types and systems. If a namespace contained the same name twice, a reference to it would be ambiguous.

```fsm
machine Door {
    initial state Open
    state Open
}
```

Rename one of the declarations.
""",
)

MISMATCH = _rule(
    "FSM103",
    "type-mismatch",
    "a value of the wrong type",
    """
Comparisons, assignments and arguments require matching types: numbers match ranges, members match their enum, and
instances match references to their machine. A guard must be a `bool`.

```fsm
machine Door {
    opened: 0..9
    initial state Open
    invariant opened == true
}
```

Use a value of the type that the message names.

A reference to an instance has no initial value. If it never changes, it is a parameter, which the system sets;
otherwise, it is optional, and `none` until a transition assigns it:

```fsm
machine Lease {
    worker: Worker?
    initial state Free
    state Taken
    event take(by: Worker), free from Worker
    Free -> Taken on take(by) do worker = by
    Taken -> Free on free     do worker = none
}

machine Worker {
    param lease: Lease
    initial state Idle
    state Busy
    event start, finish from environment
    Idle -> Busy on start  do lease.take(self)
    Busy -> Idle on finish do lease.free
}

system One {
    lease: Lease
    worker: Worker { lease = lease }
    environment {
        worker.start
        worker.finish
    }
}
```
""",
)

ARGUMENTS = _rule(
    "FSM104",
    "wrong-arguments",
    "too many or too few arguments",
    """
An event, action or derived value takes as many arguments as its declaration has parameters. A transition may omit all
event arguments if it does not use them.

```fsm
machine Door {
    initial state Open
    event push(force: 0..9) from environment
    Open -> Open on push(force, speed)
}
```

Pass the arguments that the declaration requires.
""",
)

AMBIGUOUS = _rule(
    "FSM105",
    "ambiguous-name",
    "a name that has several possible meanings here",
    """
Two enums may have a member with the same name. If the context does not determine the enum, qualify the member with the
name of its enum.

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
    "an event whose declaration does not name the sender",
    """
`event e from X` lists the senders of the event. Readers of the machine rely on that list. Therefore, sending the event
from anywhere else is an error; it does not extend the list.

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
    "a construct that is not allowed here",
    """
Some constructs are allowed only in certain contexts. For example, only the machine itself may assign to its fields,
`index` may occur only in the braces of an instance set, temporal operators only in properties, and a call to an action
with outcomes must be the last statement of its block. The guard of an eventless transition may read only the data of
its own machine, because a machine is not notified when another one changes.

```fsm
machine Door {
    initial state Open
    invariant always Open
}
```

Follow the message, which states where the construct is allowed or what to use instead.
""",
)

IMPORT = _rule(
    "FSM108",
    "import-not-found",
    "an imported module that cannot be found",
    """
`import a.b` looks for `a/b.fsm`, then `b.fsm`. It searches the folder of the importing file, the folders above it, and
the files passed to the command. The `module` line of the file must contain the same name.

```fsm
import no_such_module
```

Correct the name, or pass the file to the command.
""",
)

INITIAL = _rule(
    "FSM109",
    "initial-state",
    "a machine or composite state without exactly one initial state",
    """
A machine must have one initial state. A composite state that a transition enters must have one initial child.

```fsm
machine Door {
    state Open
    state Shut
    event push from environment
    Open -> Shut, Shut -> Open on push
}
```

Write `initial` before one of the states.
""",
)

FLAGS = _rule(
    "FSM110",
    "contradicting-flags",
    "state flags that exclude each other",
    """
A state cannot be both `persistent` and `volatile`. A `final` or `resting` state has no children. A `transient` state
cannot be `final`, `resting` or `initial`. A `final` state cannot also be `resting`, because an instance may stay in a
final state anyway.

```fsm
machine Door {
    initial persistent volatile state Open
}
```

Keep one of the flags.
""",
)

CIRCULAR = _rule(
    "FSM111",
    "circular-definition",
    "a derived value that depends on itself, a record that contains itself, or a system that extends itself",
    """
A `let` is computed from other values, so the computation of a cycle would never end. The same applies to a record that
contains itself, directly or through other records, and to systems that extend each other.

```fsm
machine Door {
    let a = b
    let b = a
    initial state Open
}
```

Break the cycle. Instead of containing a record of its own type, a record may refer to an instance of a machine.
""",
)

INSTANCE = _rule(
    "FSM112",
    "instance-incomplete",
    "an incomplete instance or channel, or a scenario without instances",
    """
In a system or scenario, each instance must give a value to every machine parameter that has no default. A channel must
have exactly one receiver, unless it is declared with `to each`. If a system extends another one, a set of instances can
replace only a set of the same machine. A scenario with steps has instances: those of a
system (`scenario s of S`), or its own.

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
    "a range, bound or number that allows no value",
    """
`low..high` includes both ends, so `high` must not be less than `low`. The bound of a channel or list, and the number of
instances in a set, must be at least one.

```fsm
machine Door {
    opened: 9..0
    initial state Open
}
```

Swap the bounds.
""",
)

REPLACES = _rule(
    "FSM114",
    "replaces-nothing",
    "an amendment that replaces no documented row",
    """
`amends "reason" replaces e4: …` replaces the documented transitions that are labelled `e4`.
`amends "reason" replaces e4: { … }` replaces them with rows that have other labels. If no row has that label, there is
nothing to replace.

```fsm
machine Door {
    initial state Open
    event push from environment
    Open -> Open on push
    amends "the label does not exist" replaces e9: Open -> Open on push
}
```

Correct the label, or remove `replaces`.
""",
)

TOO_LARGE = _rule(
    "FSM115",
    "too-large",
    "a size that exceeds a limit of the language",
    """
A channel holds at most 10,000 messages and a list at most 10,000 items. A set has at most 10,000 instances, and an enum
at most 10,000 members. A module name has at most 32 parts. A computed number has at most 18 digits, regardless of the
data values. No system of that size can be explored. A larger number is either a mistake or an attempt to overload the
computer that checks the spec.

```fsm
channel orders: fifo[1000000000] to Door

machine Door {
    initial state Open
    event push from orders
    Open on push
}
```

Use a smaller number. A channel that holds a few messages reveals the same errors as a large one.
""",
)

MAPPING = _rule(
    "FSM116",
    "incomplete-mapping",
    "a refinement whose mapping is incomplete",
    """
`system Impl refines Abstract` compares the behaviour of `Impl` with that of `Abstract`. For this comparison, each state
of `Impl` must determine a state of `Abstract`. An instance or set with the same name, machine and size in both systems
is mapped to itself. For any other instance, `map` rows specify its state and the value of each of its fields. Rows are
tried in order. Each row must name an innermost state, and no row may follow a row without a condition. References to
instances can be mapped only if both systems contain those instances. Waiting messages in a channel and pending answers
must belong to instances that are the same in both systems.

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
