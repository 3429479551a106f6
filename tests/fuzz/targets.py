"""All targets, by name. Each is loaded when it is asked for: not every machine has what each of them needs."""

from __future__ import annotations

from importlib import import_module

from fuzz.target import Target

TARGETS = {
    "parser": "fuzz.language",
    "formatter": "fuzz.language",
    "checks": "fuzz.language",
    "editor": "fuzz.editor",
    "page": "fuzz.page",
    "service": "fuzz.service",
    "imports": "fuzz.imports",
    "journal": "fuzz.journal",
    "search": "fuzz.search",
    "certificates": "fuzz.certificates",
    "explain": "fuzz.logs",
}


def target(name: str) -> Target:
    """A target by its name."""
    found = getattr(import_module(TARGETS[name]), name)
    assert isinstance(found, Target)
    return found
