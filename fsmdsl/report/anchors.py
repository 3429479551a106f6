"""Ids for places on a page, made of names."""

from __future__ import annotations


def anchor(*names: str) -> str:
    """An id made of names; only ASCII letters, digits, dots and dashes."""
    return "-".join("".join(map(_letter, n)) for n in names)


def _letter(c: str) -> str:
    if c.isalnum():
        return c if c.isascii() else f"{ord(c):x}"
    return c if c == "." else "-"
