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
"""Maximum number of completions that are offered."""


class Language:
    """Open documents that all pages share, for one question at a time: each question first lays over them what its page
    has typed."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._open_documents = OpenDocuments()
        self._lock = Lock()
        self._open_names: tuple[str, ...] = ()

    def analysis(self, typed: Typed, file: str, *, documented: bool) -> Data:
        """What is wrong in all files, what a file declares (null where it has errors), and which systems there are.

        With `documented`, what is declared is what the documents alone say; what is wrong never is.
        """
        with self._lock:
            self._lay(typed)
            analyses = self._analyses()
            models = [self._documented(typed)] if documented else [a.model for a in analyses]
            here = models[0] if documented else self._open_documents.analysis(file).model
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
            completions = complete(self._open_documents.analysis(file), file, offset(text, unit))
        start = min((x.start for x in completions), default=0)
        return {"from": units(text, start), "options": [_option(x) for x in completions[:MAX_COMPLETIONS]]}

    def hover(self, typed: Typed, file: str, unit: int) -> Data:
        """What a word means, as Markdown, and where it stands."""
        with self._lock:
            text = self._lay(typed).get(file, "")
            tooltip = hover(self._open_documents.analysis(file), file, offset(text, unit))
            if tooltip is None:
                return {"text": None}
            return {"text": tooltip.text, "from": units(text, tooltip.span.start), "to": units(text, tooltip.span.end)}

    def _lay(self, typed: Typed) -> dict[str, str]:
        """All files, as a page sees them."""
        texts = {d.name: typed.get(d.name, d.text) for d in self._documents.every()}
        for name in self._open_names:
            if name not in texts:
                self._open_documents.close(name)
        for name, text in texts.items():
            self._open_documents.open(name, text)
        self._open_names = tuple(texts)
        return texts

    def _analyses(self) -> list[Analysis]:
        """One for each set of files that belong together, of those just opened: meanwhile there may be others."""
        by_id: dict[int, Analysis] = {}
        seen: set[str] = set()
        for name in self._open_names:
            if name not in seen:
                analysis = self._open_documents.analysis(name)
                seen.update(analysis.documents)
                by_id[id(analysis)] = analysis
        return list(by_id.values())

    def _documented(self, typed: Typed) -> m.Model | None:
        return model_of(texts_of(self._documents, typed), True)


def _diagnostics(analyses: Sequence[Analysis]) -> list[Diagnostic]:
    return ordered(d for a in analyses for of_file in a.diagnostics.values() for d in of_file)


def _option(x: Completion) -> Data:
    return {"label": x.label, "kind": x.kind, "detail": x.detail, "doc": x.doc, "rank": x.rank}
