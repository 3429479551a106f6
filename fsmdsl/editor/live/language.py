"""What a page asks about its texts while they are typed: the answers of `fsm check` and `fsm lsp`, and as quick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from fsmdsl import model as m
from fsmdsl.editor.editing import Analysis, Completion, OpenDocuments, complete, hover
from fsmdsl.editor.live.analysis import findings, offset, outline, units
from fsmdsl.editor.live.documents import Documents
from fsmdsl.editor.live.loading import model_of, texts_of
from fsmdsl.text.diagnostics import Diagnostic, ordered

Data = dict[str, Any]
Typed = Mapping[str, str]
"""What a page has typed and not saved, by file."""

MAX_COMPLETIONS = 200
"""So many completions are offered."""


class Language:
    """A desk that all pages share, for one question at a time: what each has typed is laid on it first."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._desk = OpenDocuments()
        self._lock = Lock()
        self._laid: tuple[str, ...] = ()

    def told(self, typed: Typed, file: str, *, documented: bool) -> Data:
        """What is wrong in all files, what a file declares (null where it has errors), and which systems there are.

        With `documented`, what is declared is what the documents alone say; what is wrong never is.
        """
        with self._lock:
            self._lay(typed)
            analyses = self._analyses()
            models = [self._documented(typed)] if documented else [a.model for a in analyses]
            here = models[0] if documented else self._desk.analysis(file).model
            systems = [x.qualified for model in models if model is not None for x in model.systems.values()]
            return {"findings": findings(_diagnostics(analyses)), "outline": outline(here, file), "systems": systems}

    def model(self, typed: Typed, name: str, *, documented: bool) -> m.Model | None:
        """The model that has a machine or system, by its qualified name; None where there is none, or it has errors."""
        with self._lock:
            self._lay(typed)
            models = [self._documented(typed)] if documented else [a.model for a in self._analyses()]
        return next((x for x in models if x is not None and (name in x.machines or name in x.systems)), None)

    def complete(self, typed: Typed, file: str, unit: int) -> Data:
        """What could be written at a place (in UTF-16 units), best first."""
        with self._lock:
            text = self._lay(typed).get(file, "")
            listed = complete(self._desk.analysis(file), file, offset(text, unit))
        start = min((x.start for x in listed), default=0)
        return {"from": units(text, start), "options": [_option(x) for x in listed[:MAX_COMPLETIONS]]}

    def hover(self, typed: Typed, file: str, unit: int) -> Data:
        """What a word means, as Markdown, and where it stands."""
        with self._lock:
            text = self._lay(typed).get(file, "")
            found = hover(self._desk.analysis(file), file, offset(text, unit))
            if found is None:
                return {"text": None}
            return {"text": found.text, "from": units(text, found.span.start), "to": units(text, found.span.end)}

    def _lay(self, typed: Typed) -> dict[str, str]:
        """All files, as a page sees them."""
        texts = {d.name: typed.get(d.name, d.text) for d in self._documents.every()}
        for name in self._laid:
            if name not in texts:
                self._desk.close(name)
        for name, text in texts.items():
            self._desk.open(name, text)
        self._laid = tuple(texts)
        return texts

    def _analyses(self) -> list[Analysis]:
        """One for each set of files that belong together, of those just laid: meanwhile there may be others."""
        found: dict[int, Analysis] = {}
        seen: set[str] = set()
        for name in self._laid:
            if name not in seen:
                analysis = self._desk.analysis(name)
                seen.update(analysis.documents)
                found[id(analysis)] = analysis
        return list(found.values())

    def _documented(self, typed: Typed) -> m.Model | None:
        return model_of(texts_of(self._documents, typed), True)


def _diagnostics(analyses: Sequence[Analysis]) -> list[Diagnostic]:
    return ordered(d for a in analyses for listed in a.found.values() for d in listed)


def _option(x: Completion) -> Data:
    return {"label": x.label, "kind": x.kind, "detail": x.detail, "doc": x.doc, "rank": x.rank}
