"""The rules that an exploration can find broken; `diagnose.py` says where."""

from __future__ import annotations

from fsmdsl.text.diagnostics import Rule, Severity

INVARIANT = Rule(
    "FSM301",
    "invariant-violated",
    Severity.ERROR,
    "a reachable state violates an invariant",
    """
An `invariant` must hold in every reachable state, either of a system or of each instance of a machine. The message
shows the part of the formula that is false, the values that make it false, and a run that leads to the state.

```fsm
machine Door {
    open: bool
    initial state Shut
    event push from environment
    Shut on push do open = true
    invariant not open            // fails after one push
}

system Hall { door: Door }
```

Either the machine allows too much (add a guard, correct an effect), or the invariant requires too much.
""",
)

DEADLOCK = Rule(
    "FSM302",
    "deadlock",
    Severity.ERROR,
    "a state in which no step is possible, and in which the system may not rest",
    """
No further event, outcome, timer or message is possible, but the system may not rest in this state. By default, it may
rest only if each instance of a machine with `final` states is in one of them or in a `resting` state, and no channel
contains a message that its receiver does not take. If no machine in the system has final states, each instance must be
in a `resting` state. A crash does not resolve a deadlock.

```fsm
machine Task {
    left: 0..3 = 2
    initial state Waiting
    state Running
    final state Done
    event begin, finish from environment
    Waiting -> Running on begin do left = left - 1
    Running -> Done on finish when left == 0      // it is 1, for ever
}

system Shop { task: Task }
```

Add the missing transition, or let the `environment` send more events. If it is correct that nothing more happens,
declare it:

- `resting state Waiting` if an instance may stay there regardless of the others,
- `may rest when task.left == 0` in the system, if the condition concerns the system as a whole,
- `final state Done` if each instance must reach it.

Do not add a machine whose initial state is final: it hides dead ends in other machines.
""",
)

FAILS = Rule(
    "FSM303",
    "step-fails",
    Severity.ERROR,
    "a reachable step ends in a fault",
    """
A step fails in one of these cases:

- An event reaches an instance that neither handles nor ignores it (`unhandled`).
- Two transitions are enabled, and neither has priority (`overlap`).
- An event reaches an instance in the middle of its own transition (`reentrance`), or one that waits for an outcome
  (`busy`).
- An expression has no value, for example because `none` is used as an instance (`none`).
- A value is outside its range (`range`), or a channel or list is full (`overflow`).
- A round does not end (`endless`).
- A crash occurs while an instance is in a state that does not survive a crash (`lost`).

In generated code, such a step is rejected and undone. Impossible initial values are reported in the same way.

```fsm
machine Lamp {
    initial state Off
    state On
    event toggle from Switch
    Off -> On on toggle
}

machine Switch {
    param lamp: Lamp
    initial state Up
    event press from environment
    Up on press do lamp.toggle    // the second press finds the lamp On
}

system Room {
    lamp: Lamp
    switch: Switch { lamp = lamp }
}
```

Add the missing transition or guard, write `ignore … in …`, or prevent the event from being sent.
""",
)

UNREACHABLE = Rule(
    "FSM304",
    "never-reachable",
    Severity.ERROR,
    "a `reachable` whose formula is not true in any reachable state",
    """
`reachable` requires a witness, that is, a reachable state in which the formula is true. It complements invariants,
because an invariant is easily satisfied in a system in which nothing happens.

```fsm
machine Door {
    keys: 0..3
    initial state Shut
    state Open
    event push, knock from environment
    Shut on knock
    Shut -> Open on push when keys > 0            // nobody brings one
    Open -> Shut on push
}

system Hall {
    door: Door
    reachable entrance: door in Open
}
```

If the formula is a conjunction, the message names the part that is not true in any state, or states that each part is
true in some state, but that they are never all true in the same state. Otherwise, check the rows that no run takes: one
of these rows should have led to such a state.
""",
)

STOPPED = Rule(
    "FSM305",
    "not-all-explored",
    Severity.NOTE,
    "the exploration stopped before it visited every state",
    """
A limit on states or time was reached, a violation was found, or the environment would have had to choose among too many
values. Every reported violation is real, and its trace is a run of the system. Other violations may remain undetected.

```fsm
machine Counter {
    param a: 0..100
    marks: set<Counter>
    initial state On
    event mark(who: set<Counter>, year: 0..65535) from environment
    On on mark(who, year) do marks = who
}

system Many { counters: Counter[2] { a = index } }
```

Raise the limit, explore a smaller system, or restrict the values in its `environment`. `fsm verify --all` continues
after a violation.
""",
)

VACUOUS = Rule(
    "FSM306",
    "vacuous",
    Severity.WARNING,
    "an invariant or property that holds only because the case it describes never occurs",
    """
`a => b` is true in every state in which `a` is false, and `all c in g.cells: …` in every state in which `g.cells` is
empty. If this applies to all reachable states and all instances, the formula holds but states nothing. The same applies
to `a ~> b` if `a` never becomes true, and to `recovers` if no crash occurs.

```fsm
machine Door {
    keys: 0..3
    initial state Shut
    state Locked
    event knock, turn from environment
    Shut on knock
    Shut -> Locked on turn when keys > 0          // nobody brings one
    Locked -> Shut on turn
    invariant Locked => keys > 0                  // so this is vacuous
}

system Hall { door: Door }
```

Check the rows that no run takes: one of these rows should have made the condition true. If the condition should never
be true, state that instead: `invariant not Locked`. Add a `reachable` for the states that an invariant describes, so
that the invariant cannot become vacuous later.

A condition on runs, such as `eventually always server in Up`, can be true of no run because a run never stops while a
step is possible: if nothing is left to do except `fail`, every run fails again. If reality permits that nothing more
happens, `fsm verify --stutter` also considers runs that stop. Otherwise, limit how often the step occurs.
""",
)

PROPERTY = Rule(
    "FSM307",
    "property-violated",
    Severity.ERROR,
    "a run of the system violates a property",
    """
A `property` must be true for every run of the system or, if it has an `under` clause, for every fair run. The message
shows a run that violates it: a sequence of steps, followed by steps that repeat forever. It also names the event or
condition that never occurs, or occurs too often.

```fsm
machine Ticket {
    initial state Waiting
    state Served
    event serve, look from environment
    Waiting on look
    Waiting -> Served on serve
    Served on look
}

system Office {
    ticket: Ticket
    property patience: ticket in Waiting ~> ticket in Served     // one may look for ever
}
```

If only an unlucky order of steps keeps the required step from occurring, declare a fairness assumption:
`under fair serve`, or `under strong fair serve` if the step is possible only from time to time. Otherwise, the machine
can cycle forever. Add a transition that leaves the cycle.
""",
)

RECOVERS = Rule(
    "FSM308",
    "does-not-recover",
    Severity.ERROR,
    "a crash from which the system does not recover",
    """
`recovers` requires three things: recovery ends, a second recovery right after it changes nothing, and it leads to a
state that is also reachable without a crash. The message shows the crash and the recovery that violate this, and
names the write that was lost or was not undone.

```fsm
machine Purse {
    durable paid: bool
    durable goods: bool
    initial state On
    event buy from environment
    On on buy do { paid = true; goods = true }
}

system Shop {
    purse: Purse
    environment {
        purse.buy
        crash between writes                      // paid, and no goods
    }
    property safe: recovers on paid, goods
}
```

Combine writes that belong together, order them so that each intermediate state is valid, or repair the state in the
system's `recover` block.
""",
)

CIRCULAR_WAIT = Rule(
    "FSM309",
    "circular-wait",
    Severity.NOTE,
    "an end state, other than a deadlock, in which instances wait for each other",
    """
If some machines in the system have final states, an end state is not a deadlock once their instances are in final or
`resting` states. Instances of other machines, such as servers, may stay in any state, even if two of them block each
other forever. This note names these instances and shows the run that leads to the state. It does not affect verdicts or
the exit code.

Instances wait for each other if each has a row with a false guard, for a timer or for an event that the environment may
send, and if only these instances could make one of those guards true. The note does not report an idle server whose
guards read finished instances, instances in a `resting` state, or states in which `may rest when` is true.

```fsm
machine Fork {
    holder: Phil?
    initial state Here
    event take(p: Phil), put from Phil
    Here on take(p) when holder == none do holder = p
    Here on put do holder = none
}
machine Phil {
    param one: Fork
    param two: Fork
    initial state Thinks
    state Hungry
    state Eats
    event first, second, done from environment
    Thinks -> Hungry on first when one.holder == none do one.take(self)
    Hungry -> Eats on second when two.holder == none do two.take(self)
    Eats -> Thinks on done do { one.put; two.put }
}
machine Job {
    initial state Runs
    final state Over                              // without it, the same end is a deadlock
    event stop from environment
    Runs -> Over on stop
}

system Two {
    forks: Fork[2]
    phils: Phil[2] { one = forks[index], two = forks[1 - index] }
    job: Job
}
```

`property free: all p in phils: always not stuck(p)` makes such a wait a violation, which is then found even while other
instances are active.
""",
)

REFINES = Rule(
    "FSM310",
    "does-not-refine",
    Severity.ERROR,
    "a step without a counterpart in the refined system",
    """
If a system `refines` another, each of its steps must map to a step of the other system, or leave the mapped state of
the other system unchanged (see `map`). The message shows a shortest run to a step that does neither, the change that
the other system would have to make, and the steps that it can take there instead. The same error is reported for an
initial state that differs, and for a state that has no counterpart because no `map` row applies or because a field
would have an impossible value.

```fsm
machine Lamp {
    initial state Off
    state Dim
    state Bright
    event turn from environment
    Off -> Dim on turn
    Dim -> Bright on turn
    Bright -> Off on turn
}

machine Relay {
    initial state Open
    state Closed
    event push, release from environment
    Open -> Closed on push
    Closed -> Open on release
}

system Plan {
    lamp: Lamp
}

system Built refines Plan {
    relay: Relay
    map lamp in Bright when relay in Closed       // from Off, in one step
    map lamp in Off
}
```

If the step is wrong, correct it. If it is right, either the other system lacks it, or the mapping is too detailed. An
intermediate state can be mapped to the same state as the one before or after it, so that the step changes nothing in
the other system.
""",
)

RELIES = Rule(
    "FSM312",
    "unpromised-step",
    Severity.NOTE,
    "a property that holds only because of a step that no fairness assumption guarantees",
    """
A run never stops while a step is possible. Therefore, a property can hold only because a certain step must occur when
no other step is possible: for example, a user tries again, a timer fires, or a crash happens. In reality, nothing
forces this step to occur. The note shows a run that violates the property if it stops at some point, and names the
steps that are possible at that point. It does not affect verdicts or the exit code.

```fsm
machine Shop {
    stock: 0..1 = 1
    initial state Open
    event sell, restock from environment
    Open on sell when stock == 1 do stock = 0
    Open on restock when stock == 0 do stock = 1
}

system Street {
    shop: Shop
    property filled: always eventually shop.stock == 1       // if somebody restocks
}
```

If the step is certain to occur, declare it fair: `under fair restock`. Otherwise, let the machine make progress on its
own, or weaken the property. `fsm verify --stutter` reports such a property as violated.
""",
)

STUTTERS = Rule(
    "FSM313",
    "only-stutters",
    Severity.NOTE,
    "a row that never changes the refined system",
    """
The refinement holds, and the listed rows are taken. However, every step that takes one of them leaves the refined
system unchanged, so the check compares these rows with nothing. This is correct for the internal steps of an
implementation. It is wrong for a row that should have an effect in the refined system, too: an answer that is missing
or early is not detected in this way. Rows without an effect are not listed. The note changes no verdict and no exit
code.

```fsm
machine Lamp {
    initial state Off
    state On
    event turn from environment
    Off -> On on turn
    On -> Off on turn
}

machine Relay {
    initial state Open
    state Closed
    state Worn
    event push, wear from environment
    Open -> Closed on push
    Closed -> Worn on wear                        // still `On`: nothing there compares with it
}

system Plan {
    lamp: Lamp
}

system Built refines Plan {
    relay: Relay
    map lamp in Off when relay in Open
    map lamp in On
}
```

If the row should correspond to a step of the refined system, extend the mapping (`map`), or add the missing part to the
refined system. Otherwise, ignore the note.
""",
)

NEVER_FOLLOWED = Rule(
    "FSM311",
    "never-followed",
    Severity.NOTE,
    "a row that no run of any system follows",
    """
Every system with this machine was explored completely, and no run in any of them takes the row. So the verdicts do not
cover it. `fsm verify` lists such rows below the verdict of each system. This note appears only in SARIF, once for all
systems. It does not affect verdicts or the exit code.

```fsm
machine Job {
    initial state Running
    final state Done
    event finish, cancel  from environment

    finished:   Running -> Done  on finish
    cancelled:  Running -> Done  on cancel
}

system One {
    job: Job
    environment { job.finish }
}
```

Send the event that triggers the row, give a parameter the value that its guard requires, or remove the row.
""",
)

RULES = (
    INVARIANT, DEADLOCK, FAILS, UNREACHABLE, STOPPED, VACUOUS, PROPERTY, RECOVERS, CIRCULAR_WAIT, REFINES,
    NEVER_FOLLOWED, RELIES, STUTTERS,
)  # fmt: skip
