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
The parser read a word or an operator that is not expected there. The message lists what is expected. Parsing resumes at
the next declaration, so one run reports every such error in the file.

```fsm
machine Door {
    initial state Open
    state Shut
    event push from environment
    Open -> -> Shut on push   // two arrows
}
```

Replace the text with one of the expected tokens, or remove it.
""",
)

BAD_CHARACTER = Rule(
    "FSM002",
    "unknown-character",
    Severity.ERROR,
    "a character or an operator that the language does not have",
    """
Specs use letters, digits, `_`, double quotes, and the signs of expressions and declarations. Any other character
outside comments and quoted text is reported here. The same applies to quoted text without a closing quote and,
anywhere, to invisible characters. If an operator of another language has an obvious equivalent, parsing continues with
that one.

```fsm
machine Door {
    opened: 0..9
    initial state Open
    state Shut
    event push from environment
    Open -> Shut on push when opened > 0 && opened < 9   // `and`
}
```

Write the character or operator that the message suggests.
""",
)

TOO_DEEP = Rule(
    "FSM003",
    "nested-too-deeply",
    Severity.ERROR,
    "brackets, blocks or operators that are nested too deeply",
    f"""
Expressions and blocks may be nested about {DEPTH} levels deep.

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
A number consists of 1 to 15 digits. A duration is a number with a unit: `100ms`, `30s`, `5min`, `24h`, `3d`. A name
begins with a letter.

```fsm
machine Door {
    initial state Open
    state Shut
    Open -> Shut after 5m
}
```

Write a number, a duration or a name in one of these forms.
""",
)

MORE = Rule(
    "FSM005",
    "more-errors",
    Severity.NOTE,
    "a file has more errors than are shown",
    f"""
After {LIMIT} errors in a file, no further ones are reported for it. The file may not be a spec at all.

```console
$ fsm check photograph.fsm
```

Fix the reported errors, then run `fsm check` again.
""",
)

RULES = (UNEXPECTED, BAD_CHARACTER, TOO_DEEP, BAD_NUMBER, MORE)
