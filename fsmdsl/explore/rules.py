"""What an exploration finds, as diagnostics at the place in the text that it is about."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl.diagnostics import Diagnostic, Rule, Severity
from fsmdsl.explore.verdict import Exploration, Verdict

INVARIANT = Rule(
    "FSM301",
    "invariant-violated",
    Severity.ERROR,
    "a reachable state breaks an invariant",
    """
An `invariant` must hold in every state that the system can reach: of a system, or of each instance of a machine. The
message names the part of the formula that fails and the values for which it does, and a shortest run that leads there.

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
    "a state that no step leaves, outside of final states",
    """
No event, answer, timer or message can come any more, and some machine that has final states is not in one of them. A
crash is no way out. Where no machine of the system has final states, every state without a next step is reported.

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

Add the transition that is missing, mark the state `final` if it is good to end there, or let the `environment` send
more.
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

Look at the transitions that never fired: one of them should have led there.
""",
)

STOPPED = Rule(
    "FSM305",
    "not-all-explored",
    Severity.NOTE,
    "the exploration stopped before it had seen every state",
    """
A limit on states or time was reached, or the environment would have had to choose among too many values. What was
found is right, and its trace is a run of the system; what was not found is unknown.

```fsm
machine Counter {
    param a: 0..100
    marks: set<Counter>
    initial state On
    event mark(who: set<Counter>, year: 0..4095) from environment
    On on mark(who, year) do marks = who
}

system Many { counters: Counter[2] { a = index } }
```

Raise the limit, explore a smaller system, or say in its `environment` which values come.
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
    invariant Locked => keys > 0                  // so this is never put to the test
}

system Hall { door: Door }
```

Look at the transitions that never fired: one of them should have made it true. If it is right that it never is, say
that instead: `invariant not Locked`. A `reachable` for what an invariant speaks of keeps it honest later on.
""",
)

RULES = (INVARIANT, DEADLOCK, FAILS, UNREACHABLE, STOPPED, VACUOUS)


def diagnostics(exploration: Exploration) -> list[Diagnostic]:
    """The violations, each at the text of its property or fault, what holds untested, and a note if not all was
    explored."""
    violations = (_violation(exploration, v) for v in exploration.violations)
    return [*violations, *_untested(exploration), *_stopped(exploration)]


def _violation(exploration: Exploration, v: Verdict) -> Diagnostic:
    found = _headline(exploration, v)
    for line in v.explanation:
        if line not in found.message:
            found = found.note(line)
    if v.trace is None:
        return found
    steps = ", then ".join(v.trace.steps())
    return found.note(f"shortest run: {steps}" if steps else "already so in the beginning")


def _headline(exploration: Exploration, v: Verdict) -> Diagnostic:
    system = exploration.system.name
    match v.kind:
        case "invariant":
            return INVARIANT.at(v.span, f"`{v.name}` does not hold in every state of `{system}`")
        case "deadlock":
            return DEADLOCK.at(v.span, f"`{system}` can get stuck outside of final states")
        case "fault":
            return FAILS.at(v.span, f"in `{system}`, {v.explanation[0]} ({v.name})")
        case "reachable" | "property":
            return UNREACHABLE.at(v.span, f"no state of `{system}` shows `{v.name}`").note(v.basis)


def _untested(exploration: Exploration) -> Iterator[Diagnostic]:
    """What there is to explain about an invariant or property that holds is that it was not tested."""
    for v in exploration.verdicts:
        if v.outcome == "holds" and v.kind in ("invariant", "property"):
            for line in v.explanation:
                text = f"`{v.name}` holds in `{exploration.system.name}`, but is not put to the test: {line}"
                yield VACUOUS.at(v.span, text)


def _stopped(exploration: Exploration) -> Iterator[Diagnostic]:
    if exploration.stopped is not None:
        text = f"the exploration of `{exploration.system.name}` {exploration.stopped}: the rest is unknown"
        yield STOPPED.at(exploration.system.span, text)
