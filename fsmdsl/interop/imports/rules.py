"""What `fsm import` reports of a source that it cannot read."""

from __future__ import annotations

from fsmdsl.text.diagnostics import Rule, Severity

NOT_READ = Rule(
    "FSM521",
    "import-not-read",
    Severity.ERROR,
    "a source that cannot be imported",
    """
The text is not of the format that its name or `--from` says, or no state machine was found in it. Nothing is written.

```console
$ fsm import table.go
```

`docs/import.md` shows for each format what is read. Name the format with `--from` where the ending of the file's name
does not tell it.
""",
)

TOO_DEEP = Rule(
    "FSM522",
    "import-too-deep",
    Severity.ERROR,
    "a source to import that is nested too deeply, or has too many states or rows",
    """
An import has at most 100 levels of nesting, 10,000 states and 100,000 rows.

```console
$ fsm import generated.scxml
```

Take the generated part out of the source, or split the machine.
""",
)

UNREAD = Rule(
    "FSM523",
    "import-incomplete",
    Severity.WARNING,
    "a part of a source that could not be read",
    """
A part of a machine is written in a way that the importer does not understand: a row that a function call returns, a
table that another file declares, an element that the format does not have. States and rows may be missing from the
result. `fsm import` lists each such part and exits with 3. `fsm drift` compares what it has read, and exits with 3 if
that does not differ.

```console
$ fsm import order.ts --out order.fsm
$ fsm drift order.fsm order.ts
```

Write the part out in the source, or add the missing rows to the spec by hand.
""",
)

DEAD_STATE = Rule(
    "FSM524",
    "import-dead-state",
    Severity.WARNING,
    "a state of a source that no row leads to",
    """
No row takes the machine of the source into this state. `fsm import` leaves the state out of the spec, with the rows
that leave it. In most cases, a row is missing, or a name is misspelled in one. Calls that set a state without a row
(`job.to_lost()` of `transitions`, `SetState` of `looplab/fsm`) are not read.

```console
$ fsm import job.py --out job.fsm
```

Add the missing row to the source, or delete the state.
""",
)

NEVER_FOLLOWED = Rule(
    "FSM525",
    "import-row-never-followed",
    Severity.WARNING,
    "a row of a source that is never followed",
    """
Another row of the same state and event always comes before this row, replaces it, or says the same again; or its own
conditions contradict each other. `fsm import` leaves the row out of the spec. Rows for every state (`*`) may come
behind rows for some of them: that is no finding.

```console
$ fsm import job.py --out job.fsm
```

Give one of the rows a condition or another event, or delete it.
""",
)

RULES = (NOT_READ, TOO_DEEP, UNREAD, DEAD_STATE, NEVER_FOLLOWED)
