"""What `fsm explain` reports of a mapping that it cannot use, and of a log that a strict mapping does not describe."""

from __future__ import annotations

from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

MAPPING = Rule(
    "FSM541",
    "log-mapping",
    Severity.ERROR,
    "an unusable mapping from log lines to a spec",
    """
A mapping is a TOML file that defines the meaning of the log lines. `docs/explain.md` lists its keys. This mapping
contains a syntax error, a key that is unknown or has the wrong type, or a name that does not exist in the system.

```console
$ fsm explain run.log --mapping gang.toml
```

Correct the mapping at the location in the message.
""",
)

LINE = Rule(
    "FSM542",
    "log-line",
    Severity.ERROR,
    "a log line that a strict mapping does not describe",
    """
If the mapping contains `strict = true`, each line of the log must have the format that the mapping names, match one of
its `[[line]]` tables, and contain the fields that the table uses.

```console
$ fsm explain run.log --mapping gang.toml
```

Add a `[[line]]` table for such lines, or remove `strict`, so that these lines are skipped and counted.
""",
)

RULES = (MAPPING, LINE)


class LogError(Exception):
    """A mapping cannot be used, or a strict one does not describe the log: what is wrong, and where."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics
