"""What `fsm import` reports of a source that it cannot read."""

from __future__ import annotations

from fsmdsl.text.diagnostics import Rule, Severity

NOT_READ = Rule(
    "FSM521",
    "import-not-read",
    Severity.ERROR,
    "a source that cannot be imported",
    """
The source does not have the format that its file name or `--from` indicates, or it contains no state machine. No file
is written.

```console
$ fsm import table.go
```

`docs/import.md` describes what the importer reads in each format. If the file extension does not determine the format,
specify it with `--from`.
""",
)

TOO_DEEP = Rule(
    "FSM522",
    "import-too-deep",
    Severity.ERROR,
    "an import source that is nested too deeply, or has too many states or rows",
    """
An import may have at most 100 nesting levels, 10,000 states and 100,000 rows.

```console
$ fsm import generated.scxml
```

Remove the generated part from the source, or split the machine.
""",
)

UNREAD = Rule(
    "FSM523",
    "import-incomplete",
    Severity.WARNING,
    "a part of an import source that could not be read",
    """
The importer does not support the way in which a part of the machine is written. For example, a function call returns a
row, another file declares a table, or an element is not part of the format. States and rows may be missing from the
result. `fsm import` lists each such part and exits with code 3. `fsm drift` compares the parts that it could read, and
exits with code 3 if they do not differ.

```console
$ fsm import order.ts --out order.fsm
$ fsm drift order.fsm order.ts
```

Write this part explicitly in the source, or add the missing rows to the spec by hand.
""",
)

DEAD_STATE = Rule(
    "FSM524",
    "import-dead-state",
    Severity.WARNING,
    "a state in an import source that no row leads to",
    """
No row of the source leads to this state. `fsm import` omits the state from the spec, together with the rows that leave
it. In most cases, a row is missing, or a name in a row is misspelt. Calls that set a state without a row
(`job.to_lost()` in `transitions`, `SetState` in `looplab/fsm`) are not read.

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
    "a row in an import source that is never followed",
    """
Another row for the same state and event always precedes, replaces or duplicates this row, or the conditions of this row
contradict each other. `fsm import` omits the row from the spec. A row for every state (`*`) is not reported if it
follows rows for some of these states.

```console
$ fsm import job.py --out job.fsm
```

Give one of the rows a condition or a different event, or delete this row.
""",
)

RULES = (NOT_READ, TOO_DEEP, UNREAD, DEAD_STATE, NEVER_FOLLOWED)
