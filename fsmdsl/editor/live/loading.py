"""Texts to a model, for what the open documents of `language` do not do: in another process, and as documented."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from fsmdsl import model as m
from fsmdsl.editor.live.documents import Documents
from fsmdsl.model.resolve import resolve
from fsmdsl.model.resolve.declarations.modules import module_name
from fsmdsl.model.workspace import home_of
from fsmdsl.syntax.parse import Parsed, parse
from fsmdsl.text.diagnostics import Diagnostic, Severity
from fsmdsl.text.files.read import UnreadableError, read_text, root_of
from fsmdsl.text.source import Source

Texts = tuple[tuple[str, str], ...]
"""Every file by name, with the text that is meant: typed, or as it is on disk."""


def texts_of(documents: Documents, typed: Mapping[str, str]) -> Texts:
    """All files, with what is typed instead of what is on disk, and behind them what they import from elsewhere."""
    texts = {d.name: typed.get(d.name, d.text) for d in documents.every()}
    modules = {module_name(_parsed(name, text).module) for name, text in texts.items()}
    waiting = list(texts)
    while waiting:
        importer = waiting.pop()
        for imported in _parsed(importer, texts[importer]).module.imports:
            name = str(imported.path)
            path = home_of(Path(importer), name) if name not in modules else None
            if path is not None and str(path) not in texts and (text := _text(path)) is not None:
                texts[str(path)] = text
                waiting.append(str(path))
                modules.add(name)
    return tuple(texts.items())


def _text(path: Path) -> str | None:
    try:
        return read_text(path, root_of(path))
    except UnreadableError:
        return None


@lru_cache(maxsize=256)
def _parsed(name: str, text: str) -> Parsed:
    return parse(Source(name, text))


@lru_cache(maxsize=16)
def model_of(texts: Texts, as_documented: bool) -> m.Model | None:
    """The model of texts, with or without amendments; None where they have errors."""
    parsed = [_parsed(name, text) for name, text in texts]
    if _serious(d for p in parsed for d in p.diagnostics):
        return None
    resolved = resolve([p.module for p in parsed], as_documented=as_documented)
    return None if _serious(resolved.diagnostics) else resolved.model


def _serious(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(d.severity is Severity.ERROR for d in diagnostics)
