"""What the server knows: texts, their problems, what explorations have found; and what was published to the client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping

from lsprotocol import types as t
from pygls.lsp.server import LanguageServer

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.check.event_table import INCOMPLETE
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.editor.editing import Analysis, Document, OpenDocuments
from fsmdsl.editor.editing.document import placed
from fsmdsl.editor.editing.drawing import Pictures
from fsmdsl.editor.editing.explorer import Explorer
from fsmdsl.editor.editing.findings import Explored, Findings, Mark
from fsmdsl.editor.editing.position_map import Shift, moved_diagnostic, moved_mark
from fsmdsl.editor.lsp.idle import Idle
from fsmdsl.editor.lsp.positions import Lines, lines, path_of, uri_of
from fsmdsl.editor.lsp.reports import of_diagnostic, of_mark
from fsmdsl.editor.lsp.texts import Change, Text, Texts
from fsmdsl.model.workspace import shipped, unreadable
from fsmdsl.text.diagnostics import Diagnostic

QUICK_STATES = 100_000
QUICK_SECONDS = 5.0
COUNTING_SECONDS = 0.5
"""Limits of the exploration of each system in the background: states, seconds, and seconds for counting transitions."""

Command = asyncio.Future[Findings]


@dataclass
class Settings:
    """What the client may ask for in `initializationOptions`."""

    explore: bool = True
    """Explore beside the editing."""
    transition_lenses: bool = True


@dataclass
class Results:
    """What explorations have found of the files that belong together with one."""

    systems: Mapping[str, Explored] = field(default_factory=dict)
    machines: Mapping[str, m.Machine] = field(default_factory=dict)
    """The machines as they were explored."""
    marks: tuple[Mark, ...] = ()
    """Where the texts stand as they were last published."""


def _settled(analysis: Analysis, results: Results) -> Iterator[Diagnostic]:
    """Notes on events that may arrive where they would be a fault, of machines all of whose systems have been explored
    completely: where one does arrive, that is a violation, and all others never do."""
    notes = [d for d in analysis.checked if d.rule is INCOMPLETE]
    if analysis.model is None or not notes:
        return
    machines = {x.span: x.qualified for x in analysis.model.machines.values()}
    systems = analysis.model.systems.values()
    for d in notes:
        names = [x.qualified for x in systems if any(i.machine == machines.get(d.span) for i in x.instances)]
        if names and all(name in results.systems and results.systems[name].is_exhaustive for name in names):
            yield placed(d)


class State:
    """Everything that lasts from one message to the next."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.open_documents = OpenDocuments()
        self.settings = Settings()
        self.pictures = Pictures({})
        self.idle = Idle()
        self.texts = Texts()
        self._uris: dict[str, str] = {}
        self._published: dict[str, tuple[t.Diagnostic, ...]] = {}
        self._due: set[str] = set()
        self._results: dict[frozenset[str], Results] = {}
        self._checked: dict[str, tuple[Diagnostic, ...]] = {}
        self._stood: dict[str, str] = {}
        """The texts in which `_checked` and the marks stand."""
        self._explored: tuple[int, Analysis] | None = None
        self._explorer = Explorer(self._from_explorer)
        self._commands = Explorer(self._from_commands)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[int, Command] = {}
        self._refreshed = 0
        """The last request of which the lenses have shown something."""

    # Texts -----------------------------------------------------------------------------------------------------------

    def open(self, uri: str, text: str, version: int | None) -> None:
        """A text was opened."""
        self._take(uri, self.texts.open(uri, text, version))

    def change(self, uri: str, version: int | None, changes: list[Change]) -> None:
        """Apply changes to a text, in order. Changes of a text that is not open are ignored."""
        changed = self.texts.change(uri, version, changes)
        if changed is not None:
            self._take(uri, changed)

    def _take(self, uri: str, text: Text) -> None:
        path = path_of(uri)
        self._uris[path] = uri
        self.open_documents.open(path, text.text)
        self.publish_soon(path)

    def close(self, uri: str) -> None:
        """A text was closed: what is on disk counts."""
        if not self.texts.close(uri):
            return
        path = path_of(uri)
        for other in self.texts.names(path):  # the same file, under another name
            self._take(other, self.texts[other])
            return
        self._uris.pop(path, None)
        self.open_documents.close(path)
        if self.open_documents.document(path) is None:
            self._tell(path, (), uri)
            self._forget(path)
        else:
            self.publish_soon(path)
        for other in self._uris:
            self.publish_soon(other)

    def _forget(self, path: str) -> None:
        """A file is no more: nothing that was known of it is kept."""
        for table in (self._published, self._checked, self._stood):
            table.pop(path, None)
        for together in [x for x in self._results if path in x]:
            del self._results[together]

    def doubt(self, path: str) -> str | None:
        """Why a text may not be what the author sees; None where it is, or is not open."""
        names = self.texts.names(path)
        if len(names) > 1:
            return "it is open under two names"
        return self.texts[names[0]].doubt if names else None

    def look_again(self, paths: Iterable[str]) -> None:
        """Files were written, made or deleted."""
        changed_paths = list(paths)
        self.open_documents.changed_on_disk(changed_paths)
        for path in changed_paths:
            if self.open_documents.document(path) is None:
                self._tell(path, ())
                self._forget(path)
        for path in self._uris:
            self.publish_soon(path)

    def document(self, uri: str) -> Document | None:
        return self.open_documents.document(path_of(uri))

    def analysis(self, uri: str) -> Analysis:
        """What is known of a text as it stands."""
        return self.open_documents.analysis(path_of(uri))

    def lines(self, path: str) -> Lines:
        """The lines of a file as it stands."""
        document = self.open_documents.document(path)
        return lines("" if document is None else document.source.text, self.texts.encoding)

    def uri(self, path: str) -> str:
        """What the client calls a file."""
        return self._uris.get(path) or uri_of(path)

    def results(self, analysis: Analysis) -> Results:
        """What explorations have found of these files."""
        return self._results.get(frozenset(analysis.documents), Results())

    # Telling ---------------------------------------------------------------------------------------------------------

    def publish_soon(self, path: str) -> None:
        """Publish when the messages at hand have been read."""
        if not self._due:
            self._loop = asyncio.get_running_loop()
            self._loop.call_soon(self._publish_due)
        self._due.add(path)

    def _publish_due(self) -> None:
        due, self._due = self._due, set()
        self.idle.busy()
        done: set[str] = set()
        for path in sorted(due):
            if path not in done and self.open_documents.document(path) is not None:
                number = self._explore(path)  # which takes time of another processor
                analysis = self.open_documents.analysis(path)
                done |= analysis.documents.keys()
                self.publish(analysis)
                self._explored = None if number is None else (number, analysis)

    def publish(self, analysis: Analysis) -> None:
        """Publish the problems of files to the client, where they have changed since the last time."""
        diagnostics, results = analysis.diagnostics, self.results(analysis)
        settled = list(_settled(analysis, results))
        for path, document in analysis.documents.items():
            if shipped(path) and path not in self._uris:  # a shipped file is read-only
                continue
            self._move(document, results)
            of_file = [*self._excess(path), *(d for d in diagnostics[path] if d not in settled)]
            if analysis.model is None:
                # Nothing can be checked now; what was found before in what has not changed stands.
                of_file += (d for d in self._checked.get(path, ()) if d not in of_file)
            else:
                self._checked[path] = tuple(placed(d) for d in analysis.checked if d.span.source.name == path)
            marks = (of_mark(self, x) for x in results.marks if x.path == path and x.is_published)
            self._tell(path, (*(of_diagnostic(self, d) for d in of_file), *marks))

    def _excess(self, path: str) -> list[Diagnostic]:
        """That a text which is open is too large, and not read."""
        errors = (self.texts[name].excess for name in self.texts.names(path))
        return [unreadable(path, x) for x in errors if x is not None]

    def _move(self, document: Document, results: Results) -> None:
        """Let what was found in an earlier text of a file stand where it is now."""
        path, before = document.path, self._stood.get(document.path)
        self._stood[path] = document.source.text
        if before is None or before == document.source.text:
            return
        shift = Shift(before, document.source.text)
        checked = (moved_diagnostic(d, shift, document.source) for d in self._checked.get(path, ()))
        self._checked[path] = tuple(d for d in checked if d is not None)
        marks = (x if x.path != path else moved_mark(x, shift) for x in results.marks)
        results.marks = tuple(x for x in marks if x is not None)

    def marks_at(self, analysis: Analysis, path: str, offset: int) -> list[Mark]:
        """What explorations have found at a place."""
        lines = self.lines(path)
        line = lines.position(offset).line
        marks = self.results(analysis).marks
        return [x for x in marks if x.path == path and lines.position(x.start).line == line]

    def _tell(self, path: str, diagnostics: tuple[t.Diagnostic, ...], uri: str | None = None) -> None:
        if self._published.get(path, ()) == diagnostics and path in self._published:
            return
        self._published[path] = diagnostics
        self.server.text_document_publish_diagnostics(
            t.PublishDiagnosticsParams(uri or self.uri(path), list(diagnostics))
        )

    # Exploring -------------------------------------------------------------------------------------------------------

    def _explore(self, path: str) -> int | None:
        """Have the systems explored of all that belong together with a file, where there are any and they can be read.
        The number of the request."""
        documents = self.open_documents.documents(path)
        members = (x for d in documents.values() for x in d.module.members)
        if not self.settings.explore or any(d.broken for d in documents.values()):
            return None
        if not any(isinstance(x, s.SystemDecl) for x in members):
            return None
        return self._explorer.explore(documents, states=QUICK_STATES, seconds=QUICK_SECONDS, counted=COUNTING_SECONDS)

    def _from_explorer(self, findings: Findings) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take_in, findings)

    def _take_in(self, findings: Findings) -> None:
        """What an exploration has found; nothing if the texts have changed since."""
        if self._explored is None or self._explored[0] != findings.request or not findings.systems:
            return
        analysis = self._explored[1]
        path = next(iter(analysis.documents))
        if self.open_documents.analysis(path) is not analysis or analysis.model is None:
            return
        marks, before = findings.marks, self.results(analysis)
        if not findings.done:
            # What is not yet known again may still be as it was.
            marks += tuple(x for x in before.marks if x.system not in findings.systems)
        systems = findings.systems if findings.done else {**before.systems, **findings.systems}
        self._results[frozenset(analysis.documents)] = Results(systems, analysis.model.machines, marks)
        self.publish(analysis)
        if findings.done or self._refreshed != findings.request or systems != before.systems:
            self._refreshed = findings.request
            self._refresh_lenses()

    def _refresh_lenses(self) -> None:
        workspace = self.server.client_capabilities.workspace
        if workspace is not None and workspace.code_lens is not None and workspace.code_lens.refresh_support:
            self.server.workspace_code_lens_refresh(None)

    async def explored(self, analysis: Analysis, system: str) -> Findings:
        """A system explored without limits but those of the machine, on demand; in a process of its own."""
        self._loop = asyncio.get_running_loop()
        for other in self._waiting.values():
            other.cancel()
        future: Command = self._loop.create_future()
        number = self._commands.explore(analysis.documents, (system,))
        self._waiting = {number: future}
        return await future

    def _from_commands(self, findings: Findings) -> None:
        if findings.done and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._finish, findings)

    def _finish(self, findings: Findings) -> None:
        future = self._waiting.pop(findings.request, None)
        if future is not None and not future.done():
            future.set_result(findings)

    def stop(self) -> None:
        """End the processes beside."""
        self._explorer.stop()
        self._commands.stop()
