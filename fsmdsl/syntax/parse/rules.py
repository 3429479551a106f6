"""What can be wrong with a text before anything in it has a meaning."""

from __future__ import annotations

from fsmdsl.text.diagnostics import Rule, Severity

DEPTH = 100
"""Maximum nesting depth of expressions and blocks."""

LIMIT = 100
"""Maximum number of errors that are reported for one file."""

UNEXPECTED = Rule(
    "FSM001",
    "unexpected-text",
    Severity.ERROR,
    "the text does not follow the grammar here",
    """
The parser read a word or an operator that is not expected there. It says what is expected, resumes at the next
declaration, and so reports every such place of a file at once.

```fsm
machine Door {
    initial state Open
    state Shut
    event push from environment
    Open -> -> Shut on push   // two arrows
}
```

Write what the message expects, or take the text away.
""",
)

BAD_CHARACTER = Rule(
    "FSM002",
    "unknown-character",
    Severity.ERROR,
    "a character or an operator that the language does not have",
    """
Specs use letters, digits, `_`, double quotes, and the signs of expressions and declarations. Anything else outside a
comment or a text in quotes is reported here, and so are a text in quotes that has no end and, anywhere, characters that
cannot be seen. Where the operator of another language is clear, the parser continues as if the right one were there.

```fsm
machine Door {
    opened: 0..9
    initial state Open
    state Shut
    event push from environment
    Open -> Shut on push when opened > 0 && opened < 9   // `and`
}
```

Write what the message names.
""",
)

TOO_DEEP = Rule(
    "FSM003",
    "nested-too-deeply",
    Severity.ERROR,
    "brackets, blocks or operators are nested deeper than anyone can read",
    f"""
The parts of an expression or a block may be nested about {DEPTH} levels deep.

```fsm
machine Door {{
    initial state Open
    invariant {"not " * (DEPTH + 10)}Open
}}
```

Name the inner parts with `let`.
""",
)

BAD_NUMBER = Rule(
    "FSM004",
    "unusable-number",
    Severity.ERROR,
    "digits that are neither a number nor a duration, or a number too large to use",
    """
Numbers are digits alone, 15 of them at most. Durations are digits with a unit: `100ms`, `30s`, `5min`, `24h`, `3d`. A
name begins with a letter.

```fsm
machine Door {
    initial state Open
    state Shut
    Open -> Shut after 5m
}
```

Write the number or the unit as above.
""",
)

MORE = Rule(
    "FSM005",
    "more-errors",
    Severity.NOTE,
    "a file has more errors than are shown",
    f"""
After {LIMIT} errors of one file nothing more is reported of it. It may not be a spec at all.

```console
$ fsm check photograph.fsm
```

Correct those that are shown, then check again.
""",
)

RULES = (UNEXPECTED, BAD_CHARACTER, TOO_DEEP, BAD_NUMBER, MORE)
