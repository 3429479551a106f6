"""How Go calls the constants of a package that a list of texts names: read by patterns, for second readings."""

from __future__ import annotations

import re

_STRINGS = re.compile(r"func \(\w+ (\w+)\) String\(\) string \{\s*return \[\.\.\.\]string\{([^}]*)\}")
_BLOCK = re.compile(r"const \(\s*(\w+)\s+(\w+)\s*=\s*iota\s*([^)]*)\)")


def listed_names(text: str) -> dict[str, str]:
    """What `String()` answers for each constant of `const (… = iota …)`: the text at its place of the list."""
    strings = {name: re.findall(r'"(\w+)"', listed) for name, listed in _STRINGS.findall(text)}
    named: dict[str, str] = {}
    for first, name, rest in _BLOCK.findall(text):
        if name in strings:
            constants = [first, *re.findall(r"^\s*(\w+)\s*$", rest, re.MULTILINE)]
            named |= dict(zip(constants, strings[name], strict=False))
    return named
