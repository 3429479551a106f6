"""States that a crash transition must leave, and none does; crashes that change nothing; machines that never crash, and
machines that may crash but do not mention crashes."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from fsmdsl import model as m
from fsmdsl.check.machine_graph import Shape
from fsmdsl.check.subject import Subject
from fsmdsl.core.hierarchy import Endurance
from fsmdsl.core.triggers import CRASH, triggered_by
from fsmdsl.model.walk import expressions
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

LOST = Rule(
    "FSM219",
    "lost-in-crash",
    Severity.WARNING,
    "a volatile state without a crash transition",
    """
A `volatile` state does not survive a crash, so an `on crash` transition must specify the state after the crash. If a
system allows crashes, the same applies to a `transient` state, because an instance is in it while an action is in
progress.

```fsm
machine Group {
    initial persistent state Pending
    volatile state Preempting
    final persistent state Gone
    event go, stop from environment
    Pending -> Preempting on go
    Preempting, Pending -> Gone on stop
}
```

Add `Preempting -> Pending on crash`, or make the state `persistent`.
""",
)

NOTHING = Rule(
    "FSM228",
    "crash-changes-nothing",
    Severity.WARNING,
    "a crash that has no effect on its instance",
    """
`crash of x` resets the fields of `x` that are not durable, triggers its `on crash` transition, and discards the
outcomes that it is waiting for. If all fields are durable, and the machine has no such transition and never waits for
an outcome, the crash has no effect.

```fsm
machine Server {
    durable term: 0..3
    initial state Follower
    state Leader
    event win from environment
    Follower -> Leader on win when term < 3 do term = term + 1
    Leader -> Follower on win
}

system Cluster {
    servers: Server[2]
    environment {
        some s in servers: s.win
        some s in servers: crash of s             // it keeps its term, and is still Leader
    }
}
```

Declare the effect of the crash: remove `durable` from a field that is lost, or add a transition such as
`Leader -> Follower on crash`. Otherwise, remove the crash.
""",
)

NEVER = Rule(
    "FSM229",
    "never-crashes",
    Severity.WARNING,
    "`on crash` transitions of a machine that never crashes",
    """
In a system whose environment contains `crash of`, only the named instances crash. This machine has `on crash`
transitions and is used in such a system, but its instances do not crash in any system. These transitions are therefore
never taken.

```fsm
machine Cache {
    filled: bool
    initial state Cold
    state Warm
    event fill from environment
    Cold -> Warm on fill do filled = true
    Warm -> Cold on crash
}

machine Worker {
    busy: bool
    initial state On
    event go from environment
    On on go do busy = not busy
}

system Shop {
    cache: Cache
    worker: Worker
    environment {
        cache.fill
        worker.go
        crash of worker                           // and the cache, if it is in the same process
    }
}
```

Name the instance too (`crash of worker, cache`), add a separate crash for it, or add `crash`, which affects all
instances.
""",
)

UNKNOWN = Rule(
    "FSM230",
    "first-value-unknown",
    Severity.ERROR,
    "a crash resets a field whose initial value is unknown",
    """
A crash resets each field that is not durable to its initial value. A field that can begin with any value (`= any`), or
with a value computed from such a field, has no fixed initial value.

```fsm
machine Server {
    seen: 0..3 = any
    initial state Up
    event reset from environment
    Up on reset do seen = 0
}

system Cluster {
    servers: Server[2]
    environment {
        some s in servers: s.reset
        some s in servers: crash of s
    }
}
```

Make the field `durable`, so that a crash does not change it, or give it an initial value.
""",
)

SILENT = Rule(
    "FSM232",
    "crash-unmentioned",
    Severity.WARNING,
    "a machine that may crash but does not mention crashes",
    """
A state without `persistent`, `volatile` or `transient` counts as persistent, so a crash does not change it. This is
correct for states that are stored, but it hides defects if the state exists only in memory. This machine has instances
in a system that allows crashes, but it has no state with one of these keywords, no `on crash` transition and no
`durable` field. Nothing in the machine shows that crashes were considered.

```fsm
machine Worker {
    initial state Idle
    state Busy
    event start, finish from environment
    Idle -> Busy on start
    Busy -> Idle on finish
}

system Pool {
    workers: Worker[2]
    environment {
        some w in workers: w.start
        some w in workers: w.finish
        crash                                     // each worker stays Idle, or Busy
    }
}
```

If a restart loses the state, write `volatile state Busy` and `Busy -> Idle on crash`. If the state is stored, write
`persistent state Busy`.
""",
)

RULES = (LOST, NOTHING, NEVER, UNKNOWN, SILENT)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Guards are not looked at: one transition is enough."""
    systems = subject.model.systems.values()
    struck = {i.machine for s in systems if s.crashes for i in s.instances}
    struck |= {x for s in systems for crash in s.process_crashes for x in crash.machines}
    yield from _lasting(subject)
    yield from _unknown(subject)
    yield from _spared(subject, struck)
    yield from _silent(subject, struck)
    for shape in subject.shapes:
        flags: tuple[Endurance, ...] = ("volatile", "transient") if shape.machine.qualified in struck else ("volatile",)
        for state in shape.machine.leaves:
            kind = shape.hierarchy.endurance(state.name)
            followed = shape.selection.candidates(state.name, CRASH)
            if kind is not None and kind in flags and state.name in shape.reachable and not followed:
                yield _lost(shape, state, kind)


def _lasting(subject: Subject) -> Iterator[Diagnostic]:
    """Crashes of instances that nothing happens to."""
    for system in subject.model.systems.values():
        for crash in system.process_crashes:
            for target, name in zip(crash.targets, crash.machines, strict=True):
                machine = subject.model.machines[name]
                if not _is_affected(machine):
                    diagnostic = NOTHING.at(target.span, f"a crash of `{target.span.quote}` changes nothing")
                    why = f"{machine.name} has durable fields only, no transition `on crash`, and no answer to wait for"
                    yield diagnostic.note(why)


def _is_affected(machine: m.Machine) -> bool:
    """May the crash of one of its instances change anything?"""
    waits = any(a.outcomes for a in machine.actions)
    passing = any(not f.durable for f in machine.fields) or any(s.volatile for s in machine.states)
    return waits or passing or bool(triggered_by(machine, m.OnCrash))


def _silent(subject: Subject, struck: AbstractSet[str]) -> Iterator[Diagnostic]:
    """Machines with several states that may crash, and do not mention it. If a crash of one of their instances changes
    nothing, another rule reports that."""
    alone = {x for s in subject.model.systems.values() for crash in s.process_crashes for x in crash.machines}
    for machine in subject.model.machines.values():
        if machine.qualified not in struck or len(machine.leaves) < 2 or _mentions_crash(machine):
            continue
        if machine.qualified not in alone or _is_affected(machine):
            diagnostic = SILENT.at(machine.initial.span, f"`{machine.name}` may crash, but does not mention crashes")
            diagnostic = diagnostic.note("its states count as `persistent`, so a crash does not change them")
            yield diagnostic.help("write `persistent` or `volatile` before its states")


def _mentions_crash(machine: m.Machine) -> bool:
    states = any(s.persistent or s.volatile or s.transient for s in machine.states)
    return states or any(f.durable for f in machine.fields) or bool(triggered_by(machine, m.OnCrash))


def _unknown(subject: Subject) -> Iterator[Diagnostic]:
    """Fields that a crash gives back a value that is not known: each once."""
    diagnostics: dict[int, Diagnostic] = {}
    for system in subject.model.systems.values():
        machines = [subject.model.machines[x.machine] for x in system.instances]
        fields = [(x, f) for x, machine in zip(system.instances, machines, strict=True) for f in machine.fields]
        several = any(x.states for x in system.instances)
        if not several and not any(x.begins_with_any(f) for x, f in fields):
            continue
        struck = {x for crash in system.process_crashes for x in crash.machines}
        for x, f in fields:
            crashes = bool(system.crashes) or x.machine in struck
            first = dict(x.values).get(f.name, f.default)
            if crashes and not f.durable and (x.begins_with_any(f) or _reads(first, several)):
                message = f"a crash in `{system.name}` resets `{f.name}` to its initial value, which is unknown"
                diagnostics.setdefault(
                    id(f), UNKNOWN.at(f.span, message).help("make it `durable`, or give it an initial value")
                )
    yield from diagnostics.values()


def _reads(first: m.Expr, states: bool) -> bool:
    """May a first value depend on that of a field, or on a state?"""
    return any(
        isinstance(e, m.Derived) or (isinstance(e, m.Read) and e.kind == "field")
        or (states and isinstance(e, m.InState | m.StateOf))
        for e in expressions(first)
    )  # fmt: skip


def _spared(subject: Subject, struck: AbstractSet[str]) -> Iterator[Diagnostic]:
    """Machines in systems where others crash, which themselves never do."""
    beside = {i.machine for s in subject.model.systems.values() if s.process_crashes for i in s.instances}
    for machine in subject.model.machines.values():
        transitions = triggered_by(machine, m.OnCrash)
        if transitions and machine.qualified in beside - struck:
            message = f"no crash affects {machine.name}, so this transition is never taken"
            yield NEVER.at(transitions[0].span, message).help(
                "list an instance of it after `crash of`, or add `crash` to the environment"
            )


def _lost(shape: Shape, state: m.State, kind: Endurance) -> Diagnostic:
    diagnostic = LOST.at(state.span, f"`{state.name}` is {kind}, but no `on crash` transition leaves it")
    goal = shape.machine.initial.name
    return diagnostic.help(f"add a transition, such as `{state.name} -> {goal} on crash`")
