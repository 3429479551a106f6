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
    "text that does not follow the grammar",
    """
The parser found a word or an operator that it did not expect at this point. The message lists the expected tokens.
Parsing resumes at the next declaration, so one run reports every such error in the file.

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
    "a character or operator that is not part of the language",
    """
Specs use letters, digits, `_`, double quotes, and the symbols used in expressions and declarations. Any other character
outside comments and quoted text is reported. This rule also reports quoted text without a closing quote, and invisible
characters anywhere in the file. If an operator from another language has an obvious equivalent, parsing continues with
the equivalent.

```fsm
machine Door {
    opened: 0..9
    initial state Open
    state Shut
    event push from environment
    Open -> Shut on push when opened > 0 && opened < 9   // `and`
}
```

Use the character or operator that the message suggests.
""",
)

TOO_DEEP = Rule(
    "FSM003",
    "nested-too-deeply",
    Severity.ERROR,
    "brackets, blocks or operators that are nested too deeply",
    f"""
Expressions and blocks may be nested at most about {DEPTH} levels deep.

```fsm
machine Door {{
    initial state Open
    invariant {"not " * (DEPTH + 10)}Open
}}
```

Define the inner parts separately, with `let`.
""",
)

BAD_NUMBER = Rule(
    "FSM004",
    "unusable-number",
    Severity.ERROR,
    "digits that form neither a number nor a duration, or a number that is too large",
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

Write a valid number, duration or name.
""",
)

MORE = Rule(
    "FSM005",
    "more-errors",
    Severity.NOTE,
    "a file with more errors than are shown",
    f"""
After {LIMIT} errors in a file, no further errors are reported for it. The file may not be a spec at all.

```console
$ fsm check photograph.fsm
```

Fix the reported errors, then run `fsm check` again.
""",
)

RULES = (UNEXPECTED, BAD_CHARACTER, TOO_DEEP, BAD_NUMBER, MORE)
