"""What `fsm explain` reports of a mapping that it cannot use, and of a log that a strict mapping does not describe."""

from __future__ import annotations

from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

MAPPING = Rule(
    "FSM541",
    "log-mapping",
    Severity.ERROR,
    "a mapping from the lines of a log to a spec that cannot be used",
    """
A mapping is a TOML file that says what the lines of a log mean: `docs/explain.md` lists its keys. It has a mistake of
syntax, a key that is unknown or of the wrong type, or a name that the system does not have.

```console
$ fsm explain run.log --mapping gang.toml
```

Correct the place that the message names.
""",
)

LINE = Rule(
    "FSM542",
    "log-line",
    Severity.ERROR,
    "a line of a log that a strict mapping does not describe",
    """
With `strict = true` in the mapping, each line of the log must have the format that the mapping names, match one of its
`[[line]]` tables, and have the fields that the table uses.

```console
$ fsm explain run.log --mapping gang.toml
```

Add a `[[line]]` table for such lines, or leave `strict` out: such lines are skipped and counted then.
""",
)

RULES = (MAPPING, LINE)


class LogError(Exception):
    """A mapping cannot be used, or a strict one does not describe the log: what is wrong, and where."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics
