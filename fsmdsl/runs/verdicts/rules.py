"""The rules that an exploration can find broken; `diagnose.py` says where."""

from __future__ import annotations

from fsmdsl.text.diagnostics import Rule, Severity

INVARIANT = Rule(
    "FSM301",
    "invariant-violated",
    Severity.ERROR,
    "a reachable state breaks an invariant",
    """
An `invariant` must hold in every state that the system can reach: of a system, or of each instance of a machine. The
message names the part of the formula that fails and the values for which it does, and a run that leads there.

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

Either the machine allows too much (add a guard, correct an effect), or the invariant asks for too much.
""",
)

DEADLOCK = Rule(
    "FSM302",
    "deadlock",
    Severity.ERROR,
    "a state that no step leaves, and in which the system may not rest",
    """
No event, answer, timer or message can come any more, and the system may not rest: an instance of a machine that has
`final` states is in none of them and in no `resting` state, or a message waits that its receiver does not take. Where
no machine of the system has final states, each instance has to be in a `resting` state. A crash is no way out.

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

Add the transition that is missing, or let the `environment` send more. If it is right that nothing happens any more,
say so:

- `resting state Waiting` if an instance may stay there, whatever the others do,
- `may rest when task.left == 0` in the system, for what only the system can say,
- `final state Done` if each instance has to get there.

Do not add a machine that is final from the beginning: it hides dead ends that are none of its business.
""",
)

FAILS = Rule(
    "FSM303",
    "step-fails",
    Severity.ERROR,
    "a step that can come does not end well",
    """
A step fails when an event reaches an instance that neither handles nor ignores it (`unhandled`), when two transitions
without priority are enabled (`overlap`), when an event reaches an instance in the middle of its own transition
(`reentrance`) or one that waits for an answer (`busy`), when `none` is used as an instance (`none`), when a value does
not fit (`range`, `overflow`), when a round does not end (`endless`), and when a crash finds an instance in a state that
does not survive one (`lost`). In a program, such a step is refused and undone. Impossible initial values are reported
in the same way.

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

Add the transition or guard that is missing, say `ignore … in …`, or keep the event from being sent.
""",
)

UNREACHABLE = Rule(
    "FSM304",
    "never-reachable",
    Severity.ERROR,
    "a `reachable` that no state shows",
    """
`reachable` asks for a witness: a state that can be reached and in which the formula holds. It keeps invariants honest,
for an invariant holds easily in a system where nothing happens.

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

If the formula is a conjunction, the message names the part that is true in no state, or says that each part is true
in some state, but never all of them at once. Else look at the rows that no run follows: one of them should have led
there.
""",
)

STOPPED = Rule(
    "FSM305",
    "not-all-explored",
    Severity.NOTE,
    "the exploration stopped before it had seen every state",
    """
A limit on states or time was reached, something was violated, or the environment would have had to choose among too
many values. What was found is right, and its trace is a run of the system; what was not found is unknown.

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

Raise the limit, explore a smaller system, or say in its `environment` which values come. After a violation, `fsm verify
--all` continues.
""",
)

VACUOUS = Rule(
    "FSM306",
    "vacuous",
    Severity.WARNING,
    "an invariant or property that holds only because what it speaks of never comes",
    """
`a => b` holds in every state in which `a` is false, and `all c in g.cells: …` in every state in which `g.cells` is
empty. If that is so in all states that can be reached, and in all instances, the formula passes and says nothing. The
same goes for `a ~> b` whose `a` never becomes true, and for `recovers` where no crash comes.

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

Look at the rows that no run follows: one of them should have made it true. If it is right that it never is, say
that instead: `invariant not Locked`. A `reachable` for what an invariant speaks of keeps it honest later on.
""",
)

PROPERTY = Rule(
    "FSM307",
    "property-violated",
    Severity.ERROR,
    "a run of the system breaks a property",
    """
A `property` must be true of every run of the system: of those that are fair, where something stands after `under`. The
message shows one that breaks it, as steps that lead somewhere and then steps that are repeated for ever, and says what
never comes, or comes too often.

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

Where nothing but bad luck keeps the step from coming, say so: `under fair serve`; where it is possible only now and
then, `under strong fair serve`. Else the machine can go round in a circle, and needs a way out of it.
""",
)

RECOVERS = Rule(
    "FSM308",
    "does-not-recover",
    Severity.ERROR,
    "a crash from which the system does not recover",
    """
`recovers` asks that recovery ends, that running it again at once changes nothing, and that it leads to a state that can
be reached without a crash. The message shows the crash and the recovery that go wrong, and names the write that was
lost or left over.

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

Write what belongs together at once, in an order in which each part can be seen alone, or repair it in the system's
`recover` block.
""",
)

CIRCULAR_WAIT = Rule(
    "FSM309",
    "circular-wait",
    Severity.NOTE,
    "an end state in which instances wait for each other, and which is no deadlock",
    """
Where a machine of the system has final states, an end state in which all that have some are in them (or in `resting`
states) is no deadlock: machines without final states, such as servers, may stay wherever they are. So two that block
each other for ever are no deadlock either. This note names them, with the run that leads there. It changes no verdict
and no exit code.

Instances wait for each other where each has a row for a timer, or for an event that the environment may send, with a
guard that is false, and nobody but these instances could make one of the guards true. A server without work left, whose
guards read what has finished, is not reported, nor is who is in a `resting` state, nor a state where `may rest when` is
true.

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

`property free: all p in phils: always not stuck(p)` makes it a violation, which is found also while others move.
""",
)

REFINES = Rule(
    "FSM310",
    "does-not-refine",
    Severity.ERROR,
    "a step that has no counterpart in the system that is refined",
    """
Where a system `refines` another, each of its steps must be a step of the other, or change nothing of what the other
would look like (see `map`). The message shows a shortest run to a step for which neither is so, what the other system
would have to change, and what it can do there instead. It also reports a beginning that is different, and a state
that is no state of the other: no row is true, or a field would have a value that it cannot have.

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

If the step is wrong, correct it. If it is right, either the other system lacks it, or the mapping says too much: a
state in between can have the image of the one before or behind it, so that nothing is seen of a step.
""",
)

RELIES = Rule(
    "FSM312",
    "unpromised-step",
    Severity.NOTE,
    "a property that holds only because a step comes that no fairness promises",
    """
A run never stands still where a step is possible. So a property can hold because a step has to come: a user who asks
again, a timer, a crash, where nothing else is possible. Outside of the model nothing makes it come. The note names the
steps that are possible where a run that stands still violates the property, and shows that run. It changes no verdict
and no exit code.

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

If the step is sure to come, promise it: `under fair restock`. If not, let the machine help itself, or weaken the
property. `fsm verify --stutter` reports such a property as violated.
""",
)

NEVER_FOLLOWED = Rule(
    "FSM311",
    "never-followed",
    Severity.NOTE,
    "a row that no run of any system follows",
    """
Every system with this machine was explored to the end, and in none of them does a run follow the row. So the verdicts
say nothing about it. `fsm verify` lists such rows below the verdict of each system. This note is in SARIF alone, once
for all systems. It changes no verdict and no exit code.

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

Send the event that the row waits for, give a parameter the value that its guard asks for, or remove the row.
""",
)

RULES = (
    INVARIANT, DEADLOCK, FAILS, UNREACHABLE, STOPPED, VACUOUS, PROPERTY, RECOVERS, CIRCULAR_WAIT, REFINES,
    NEVER_FOLLOWED, RELIES,
)  # fmt: skip
