"""An editor, for tests: starts `fsm lsp` as a process and talks the protocol to it over standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import Any

Message = dict[str, Any]

PATIENCE = 60.0
"""Seconds to wait for anything; the machine may be busy."""

WISHES = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "publishDiagnostics": {"tagSupport": {"valueSet": [1, 2]}, "relatedInformation": True},
        "rename": {"prepareSupport": True},
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    },
    "workspace": {"workspaceFolders": True, "didChangeWatchedFiles": {"dynamicRegistration": True}},
}
"""What a client says that it can do."""


class RefusedError(Exception):
    """The server answered a request with an error."""


class Editor:
    """Texts as an editor has them, and what the server has said about them."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._log = log
        self._stderr = log.open("wb")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._stderr)
        self._incoming: Queue[Message | None] = Queue()
        self.answers: dict[int, Message] = {}
        self._number = 0
        self._versions: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self.diagnostics: dict[str, list[Message]] = {}
        self.published: list[tuple[float, str]] = []
        self.messages: list[Message] = []
        Thread(target=self._read, daemon=True).start()

    # The wire

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while line := stream.readline().strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not length:
                self._incoming.put(None)
                return
            self._incoming.put(json.loads(stream.read(length)))

    def send_raw(self, data: bytes) -> None:
        """Whatever bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Message) -> None:
        """Any message."""
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_raw(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """The answer to a request; raises RefusedError."""
        self._number += 1
        number = self._number
        self.send({"id": number, "method": method, "params": params})
        self.until(lambda: number in self.answers)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise RefusedError(answer["error"]["message"])
        return answer["result"]

    def until(self, done: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Take in messages until something is so."""
        end = monotonic() + patience
        while not done():
            try:
                message = self._incoming.get(timeout=max(end - monotonic(), 0.001))
            except Empty:
                raise AssertionError(f"waited in vain; the log:\n{self.log}") from None
            if message is None:
                raise AssertionError(f"the server has ended; the log:\n{self.log}")
            self._take(message)

    def _take(self, message: Message) -> None:
        if "method" not in message:
            self.answers[message["id"]] = message
        elif message["method"] == "textDocument/publishDiagnostics":
            params = message["params"]
            self.diagnostics[params["uri"]] = params["diagnostics"]
            self.published.append((monotonic(), params["uri"]))
        else:
            self.messages.append(message)
            if "id" in message:
                self.send({"id": message["id"], "result": None})

    @property
    def log(self) -> str:
        """What the server has written to its standard error."""
        return self._log.read_text("utf-8", "replace")

    # Editing

    def begin(self, folders: list[Path], **options: Any) -> Message:
        """Say hello; what the server can do."""
        listed = [{"uri": x.as_uri(), "name": x.name} for x in folders]
        answer: Message = self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "capabilities": WISHES,
                "workspaceFolders": listed,
                "initializationOptions": options,
            },
        )
        self.notify("initialized", {})
        return answer

    def open(self, uri: str, text: str) -> None:
        self.texts[uri] = text
        self._versions[uri] = 1
        document = {"uri": uri, "languageId": "fsm", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def edit(self, uri: str, old: str, new: str) -> None:
        """Type: the one place where `old` stands becomes `new`."""
        text = self.texts[uri]
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        start = text.index(old)
        self.edit_between(uri, start, start + len(old), new)

    def edit_between(self, uri: str, start: int, end: int, new: str) -> None:
        """Type over what is between two offsets."""
        text = self.texts[uri]
        place = {"start": position(text, start), "end": position(text, end)}
        self.texts[uri] = text[:start] + new + text[end:]
        self.change(uri, [{"range": place, "text": new}])

    def replace(self, uri: str, text: str) -> None:
        """The whole text at once."""
        self.texts[uri] = text
        self.change(uri, [{"text": text}])

    def change(self, uri: str, changes: list[Message]) -> None:
        """Whatever changes."""
        self._versions[uri] += 1
        document = {"uri": uri, "version": self._versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def close(self, uri: str) -> None:
        self.texts.pop(uri, None)
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def at(self, uri: str, words: str, by: int = 0) -> Message:
        """Parameters that point at the first of some words, or so many characters further."""
        text = self.texts[uri]
        return {"textDocument": {"uri": uri}, "position": position(text, text.index(words) + by)}

    def whole(self, uri: str) -> Message:
        """Parameters about a text."""
        return {"textDocument": {"uri": uri}}

    def settled(self, uri: str, wanted: Callable[[list[Message]], bool]) -> list[Message]:
        """The diagnostics of a text, once they are as wanted."""
        self.until(lambda: uri in self.diagnostics and wanted(self.diagnostics[uri]))
        return self.diagnostics[uri]

    def applied(self, edit: Message) -> dict[str, str]:
        """Texts after a workspace edit, by address; of those that are not open, as on disk."""
        found = {}
        for uri, edits in edit["changes"].items():
            text = self.texts.get(uri)
            if text is None:
                text = Path(uri.removeprefix("file://")).read_text("utf-8")
            found[uri] = edited(text, edits)
        return found

    def end(self) -> None:
        """Say goodbye; the process ends by itself."""
        self.ask("shutdown", None)
        self.notify("exit", None)
        assert self.process.wait(PATIENCE) == 0


def position(text: str, offset: int) -> Message:
    """The position of an offset, columns in UTF-16."""
    line = text.count("\n", 0, offset)
    start = text.rfind("\n", 0, offset) + 1
    return {"line": line, "character": len(text[start:offset].encode("utf-16-le")) // 2}


def offset(text: str, at: Message) -> int:
    """The offset of a position."""
    lines = text.split("\n")
    before = sum(len(x) + 1 for x in lines[: at["line"]])
    column = lines[at["line"]].encode("utf-16-le")[: at["character"] * 2].decode("utf-16-le")
    return before + len(column)


def edited(text: str, edits: list[Message]) -> str:
    """A text after edits."""
    for x in sorted(edits, key=lambda x: offset(text, x["range"]["start"]), reverse=True):
        start, end = offset(text, x["range"]["start"]), offset(text, x["range"]["end"])
        text = text[:start] + x["newText"] + text[end:]
    return text


@contextmanager
def editor(log: Path, folders: list[Path], **options: Any) -> Iterator[Editor]:
    """An editor with a server; ends well, and has nothing in its log."""
    made = Editor([sys.executable, "-m", "fsmdsl", "lsp"], log)
    try:
        made.begin(folders, **options)
        yield made
        made.end()
        assert made.log == ""
    finally:
        made.process.kill()
        made.process.wait()
