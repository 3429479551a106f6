"""Where the documentation explains the keywords and terms, with lines of a spec that show them.

One list: `fsm explain` prints from it, and the index of keywords and the glossary are made with it.
`tests/test_language_pages.py` looks up every section, and parses every example.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from fsmdsl.dataclasses import dataclass

Context = Literal["module", "machine", "system", "scenario"]
"""What an example is a part of."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What one section explains."""

    section: str
    """A page in `docs`, and an anchor on it: `language.md#states`."""
    names: tuple[str, ...]
    """Keywords and terms. The example shows all of the keywords."""
    context: Context = "module"
    example: str = ""
    """Up to five lines; empty where none helps."""


TOPICS = (
    Topic(
        "language.md#files-names-comments",
        ("module", "import", "source", "at"),
        "module",
        'module lease\nimport hived { Cell }\nsource "State machines" at "doc/design.md"',
    ),
    # Types and values ------------------------------------------------------------------------------------------------
    Topic(
        "language.md#types-and-values",
        ("enum", "opaque"),
        "module",
        "enum Colour { red | green }\nenum Level { low < middle < high }\nopaque Resource",
    ),
    Topic(
        "language.md#types-and-values",
        ("true", "false", "none", "set", "list"),
        "machine",
        "ready: bool = false\nopen: bool = true\nuser: Gang? = none\ncells: set<Cell>\nlog: list<0..9>[4] = []",
    ),
    Topic("language.md#maps", ("map",), "machine", "votes: map<Node, 0..3> = 0"),
    Topic("language.md#records", ("record",), "module", "record Entry { term: 0..3  value: bool }"),
    Topic(
        "language.md#expressions",
        ("all", "some", "count"),
        "system",
        "invariant few: (count g in gangs: g in Running) <= 2\n"
        "reachable busy: all g in gangs: g in Running\n"
        "reachable waits: some g in gangs: g in Half",
    ),
    Topic(
        "language.md#expressions",
        ("and", "or", "not", "in", "has"),
        "machine",
        "let fits = not full and (gang in Queued or cells has spare)",
    ),
    Topic("language.md#expressions", ("self",), "machine", "grow: Queued -> Half on grow do cell.take(self)"),
    Topic("language.md#expressions", ("then",), "machine", "let share = if urgent then 4 else 1"),
    # Machines --------------------------------------------------------------------------------------------------------
    Topic(
        "language.md#a-first-look",
        ("machine",),
        "module",
        "machine Lamp {\n    initial state Off\n    state On\n    event press from environment\n"
        "    Off -> On on press  On -> Off on press }",
    ),
    Topic(
        "language.md#data",
        ("param", "let", "durable"),
        "machine",
        "param size: 1..8 = 2\ndurable used: 0..8\nlet free = size - used",
    ),
    Topic("language.md#data", ("any",), "machine", "s: 0..7 = any"),
    Topic(
        "language.md#states",
        ("state", "initial", "final", "composite state"),
        "machine",
        "initial state Waiting\nstate Busy { initial state Starting  state Up }\nfinal state Done",
    ),
    Topic("language.md#states", ("resting",), "machine", "resting state Idle"),
    Topic(
        "language.md#states",
        ("transient", "error"),
        "machine",
        'transient state Choosing\nerror state Lost "lost for good"',
    ),
    Topic(
        "semantics.md#crash-and-recovery",
        ("persistent", "volatile", "crash", "crash transition"),
        "machine",
        "persistent state Free\nvolatile state Reserving\nReserving -> Free on crash",
    ),
    Topic("language.md#events-and-actions", ("event", "from"), "machine", "event take(by: Gang), free from Gang"),
    Topic(
        "language.md#events-and-actions",
        ("action", "async"),
        "machine",
        "action release, allocate(to: Gang)\nasync action deploy -> ok | err",
    ),
    Topic(
        "language.md#transitions",
        ("on", "when", "do", "guard"),
        "machine",
        "take: Free -> Used on take(by) when users < 8 do users = users + 1",
    ),
    Topic(
        "language.md#transitions",
        ("entry", "exit"),
        "machine",
        "on entry(Free, Lost) do release\non exit(Busy) do ready = 0",
    ),
    Topic("language.md#transitions", ("ignore",), "machine", "ignore take, deploy.err in Lost, Deleted"),
    Topic("language.md#transitions", ("priority",), "machine", "priority remove > take > *"),
    Topic("language.md#transitions", ("eventless transition",), "machine", "Allocated -> Deploying when size >= 2"),
    Topic("language.md#transitions", ("internal transition",), "machine", "Running on tick do beats = beats + 1"),
    Topic("semantics.md#timers", ("after",), "machine", "Starting -> Failed after 5min"),
    Topic(
        "language.md#effects",
        ("for", "if", "else"),
        "machine",
        "done: Busy -> Free on done do {\n    if jobs == {} { release } else { for j in jobs { j.wait } }\n}",
    ),
    Topic(
        "language.md#effects",
        ("add", "remove", "to"),
        "machine",
        "grow: Half -> Running on grow(c) do { remove c from free; add c to used }",
    ),
    Topic("language.md#invariants", ("invariant",), "machine", "invariant enough: used <= size"),
    Topic("language.md#layout", ("layout", "rows"), "machine", "layout rows Free, Reserved | Used, Reserving"),
    Topic("language.md#layout", ("columns",), "machine", "layout columns Free, Reserved | Used, Reserving"),
    Topic(
        "language.md#amendments",
        ("amends", "replaces", "amendment"),
        "machine",
        'amends "the row forgets the user" replaces\n    e4: Used -> Free on free do user = none',
    ),
    Topic("language.md#repairs", ("repair",)),
    Topic("language.md#alternatives", ("alternative",)),
    # Channels and locks ----------------------------------------------------------------------------------------------
    Topic(
        "language.md#channels",
        ("channel", "fifo", "bag", "lossy", "duplicating", "waiting"),
        "module",
        "channel to_cache: fifo[2] to Cache\nchannel gossip: lossy duplicating bag[3] to Node\n"
        "channel requests: waiting fifo[4] to Server",
    ),
    Topic(
        "language.md#channels",
        ("each",),
        "module",
        "channel inbox: fifo[4] to each Process\nchannel link: fifo[2] from each Site to each Site",
    ),
    Topic(
        "language.md#channels", ("send",), "machine", "start: Idle -> Passed on start do send inbox.arrive(0) to next"
    ),
    Topic(
        "language.md#locks",
        ("locks", "operation", "read", "write", "child"),
        "module",
        "locks Order {\n    Queue > child Queue\n    write(Queue) > Node\n    operation list { read(Queue) }\n}",
    ),
    # Systems ---------------------------------------------------------------------------------------------------------
    Topic(
        "language.md#systems",
        ("system", "environment"),
        "module",
        "system Small {\n    gangs: Gang[2]\n    environment { some g in gangs: g.grow when used < 2 }\n}",
    ),
    Topic("language.md#systems", ("start",), "system", "start when all n in ring: n.s < 4"),
    Topic("language.md#rest-and-bounds", ("may", "rest"), "system", "may rest when user.requests == 2"),
    Topic("language.md#systems", ("reachable", "witness"), "system", "reachable both: a in Running and b in Running"),
    Topic(
        "how-the-checker-works.md#what-a-bound-means",
        ("explore", "while", "bound"),
        "system",
        "explore while all w in writers: w.term <= 2",
    ),
    Topic("how-the-checker-works.md#symmetry", ("symmetric", "orbit"), "system", "cells: Cell[4] symmetric"),
    Topic(
        "language.md#systems",
        ("between", "writes", "during", "recovery"),
        "system",
        "environment { crash between writes  crash during recovery }",
    ),
    Topic(
        "semantics.md#crash-and-recovery", ("recover",), "system", "recover { for c in cells { c.reserver = none } }"
    ),
    Topic(
        "language.md#systems-that-extend-others",
        ("extends",),
        "module",
        "system Large extends Small { gangs: Gang[4] }",
    ),
    Topic(
        "language.md#refinement",
        ("refines",),
        "module",
        "system Built refines Promised {\n    gate: Gate\n    map gang in Running when gate in Open\n"
        "    map gang in Waiting\n}",
    ),
    # Properties of runs ----------------------------------------------------------------------------------------------
    Topic(
        "semantics.md#properties-of-runs",
        ("property", "always", "eventually"),
        "system",
        "property served: always (gang in Queued => eventually gang in Running)",
    ),
    Topic("semantics.md#properties-of-runs", ("~>",), "system", "property served: gang in Queued ~> gang in Running"),
    Topic(
        "semantics.md#properties-of-runs",
        ("next", "until"),
        "system",
        "property kept: gang not in Running until used == 2\n"
        "property leaves: always (gang in Choosing => next gang in Running)",
    ),
    Topic(
        "semantics.md#fairness",
        ("under", "weak", "fair", "strong", "fairness"),
        "system",
        "property served: gang in Queued ~> gang in Running\n    under weak fair finish, strong fair grow",
    ),
    Topic(
        "semantics.md#finitely-many-crashes",
        ("finitely", "many", "crashes"),
        "system",
        "property ends: job in Waiting ~> job in Done under fair finish, finitely many crashes",
    ),
    Topic("semantics.md#recovery", ("recovers",), "system", "property repeats: recovers on cells, user"),
    Topic("semantics.md#properties-of-runs", ("liveness", "safety", "stutter")),
    # Scenarios -------------------------------------------------------------------------------------------------------
    Topic(
        "language.md#scenarios",
        ("scenario", "of"),
        "module",
        'scenario First "a gang starts" of Small {\n    gangs[0].grow\n    expect gangs[0] in Half\n}',
    ),
    Topic(
        "language.md#scenarios",
        ("expect", "via", "fails", "with"),
        "scenario",
        "gangs[0].grow\nexpect gangs[0] in Half\nvia grow\nfails gangs[0].finish with unhandled",
    ),
    Topic(
        "language.md#scenarios",
        ("timeout", "deliver", "lose", "duplicate"),
        "scenario",
        "timeout g0\nduplicate to_cache.release\ndeliver to_cache.release\nlose to_cache",
    ),
    # What the checker does -------------------------------------------------------------------------------------------
    Topic("semantics.md#steps", ("step",)),
    Topic("semantics.md#rounds", ("round",)),
    Topic("semantics.md#initial-states", ("initial state",)),
    Topic("semantics.md#faults", ("fault",)),
    Topic("semantics.md#deadlock", ("deadlock",)),
    Topic("semantics.md#circular-wait", ("circular wait",)),
    Topic("semantics.md#vacuity", ("vacuous",)),
    Topic("how-the-checker-works.md#the-evidence-for-a-verdict", ("exhaustive",)),
    Topic("how-the-checker-works.md#properties-of-runs", ("lasso",)),
    Topic("how-the-checker-works.md#the-run-that-is-shown", ("counterexample",)),
    Topic("testing.md#a-twin-of-your-own-code", ("twin",)),
)

TOPIC_OF: Mapping[str, Topic] = {name: topic for topic in TOPICS for name in topic.names}
"""The topic of each keyword, and of the terms that have one."""
