"""The language server as an object, and a client with texts of its own that it compares."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
from array import array
from bisect import bisect_right
from functools import cache
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from fsmdsl.editor.lsp.server import server
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.source import Source
from fuzz.target import Target
from fuzz.texts import LINE_ENDS, SEPARATORS, SIGNS, base, ended

Data = dict[str, Any]

NAMES = ("untitled:one", "untitled:two", "file:///nowhere/the%20spec.fsm")
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 2**31 - 1, "character": 2**31 - 1}}


class Units:
    """A text as the client has it: a list of the units in which positions are counted. Written anew, on purpose."""

    def __init__(self, text: str, encoding: str) -> None:
        self.encoding = encoding
        self.units = self.of(text)

    def of(self, text: str) -> list[int]:
        text = json.loads(json.dumps(text))  # on the way two halves become one character
        match self.encoding:
            case "utf-8":
                return list(text.encode("utf-8", "surrogatepass"))
            case "utf-32":
                return list(map(ord, text))
            case _:
                return list(array("H", text.encode("utf-16-le", "surrogatepass")))

    @property
    def text(self) -> str:
        match self.encoding:
            case "utf-8":
                return bytes(self.units).decode("utf-8", "surrogatepass")
            case "utf-32":
                return "".join(map(chr, self.units))
            case _:
                return array("H", self.units).tobytes().decode("utf-16-le", "surrogatepass")

    def lines(self) -> list[tuple[int, int]]:
        """Where each line begins, and where it ends, without its end."""
        found, start, i = [], 0, 0
        while i < len(self.units):
            if self.units[i] in (10, 13):
                found.append((start, i))
                i += self.units[i : i + 2] == [13, 10]
                start = i + 1
            i += 1
        return [*found, (start, len(self.units))]

    def offset(self, at: Data) -> int:
        lines = self.lines()
        if at["line"] >= len(lines):
            return len(self.units)
        start, end = lines[at["line"]]
        return min(start + at["character"], end)

    def word(self, number: int) -> Data:
        """The position of the first character of a word; numbers begin anew behind the last."""
        words = [x.start() for x in re.finditer(r"[^\W\d]\w*", self.text)]
        at = len(self.of(self.text[: words[number % len(words)]])) if words else 0
        line = bisect_right(self.lines(), at, key=lambda x: x[0]) - 1
        return {"line": line, "character": at - self.lines()[line][0]}

    def inside(self, at: int) -> bool:
        """Whether a place is inside a character of UTF-8."""
        return self.encoding == "utf-8" and at < len(self.units) and self.units[at] & 0xC0 == 0x80

    def replace(self, place: Data, text: str) -> None:
        start, end = sorted((self.offset(place["start"]), self.offset(place["end"])))
        self.units[start:end] = self.of(text)

    def edited(self, edits: list[Data]) -> str:
        """The text after edits, which must not overlap and must stand in the text."""
        copy, lines = Units("", self.encoding), self.lines()
        copy.units = list(self.units)
        edits = sorted(edits, key=lambda x: self.offset(x["range"]["start"]))
        for x in edits:
            for at in (x["range"]["start"], x["range"]["end"]):
                start, end = lines[at["line"]]
                assert start + at["character"] <= end, (at, "is beyond its line")
        for one, other in pairwise(edits):
            assert self.offset(one["range"]["end"]) <= self.offset(other["range"]["start"])
        for x in reversed(edits):
            copy.replace(x["range"], x["newText"])
        return copy.text


@cache
def _the_converter() -> list[Any]:
    return []


def _converter(protocol: Any) -> Any:
    """One for all servers: it takes longer to make than all else."""
    known = _the_converter()
    if not known:
        known.append(protocol._converter)
    return known[0]


class Client:
    """Sends messages as JSON, takes what comes back."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self.texts: dict[str, Units] = {}
        self.versions: dict[str, int] = {}
        self.answers: dict[int, Data] = {}
        self.errors: list[str] = []
        self.server = server("0")
        self.server.protocol._converter = _converter(self.server.protocol)
        self.server.protocol.set_writer(self, include_headers=False)
        self.state = self.server.texts.open_texts
        self._number = 0

    def write(self, data: bytes) -> None:
        message = json.loads(data)
        if "method" not in message:
            self.answers[message["id"]] = message
        elif message["method"] == "textDocument/publishDiagnostics":
            self._diagnostics(message["params"])
        elif message["method"] == "window/showMessage":
            self.errors.append(message["params"]["message"])

    def close(self) -> None: ...

    def _diagnostics(self, params: Data) -> None:
        text = self.texts.get(params["uri"])
        if text is not None and not self.errors:
            self._inside(text, [d["range"] for d in params["diagnostics"]])

    def _inside(self, text: Units, ranges: list[Data]) -> None:
        lines = text.lines()
        for place in ranges:
            for at in (place["start"], place["end"]):
                start, end = lines[at["line"]]
                assert at["character"] <= end - start, (at, "is beyond its line")

    def notify(self, method: str, params: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", "method": method, "params": params})
        self.server.protocol.handle_message(json.loads(data, object_hook=self.server.protocol.structure_message))

    def ask(self, method: str, params: Any) -> Data:
        self._number += 1
        data = json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        self.server.protocol.handle_message(json.loads(data, object_hook=self.server.protocol.structure_message))
        return self.answers.pop(self._number)

    # What is done

    def open(self, uri: str, text: str) -> None:
        self.texts[uri], self.versions[uri] = Units(text, self.encoding), 1
        document = {"uri": uri, "languageId": "fsm", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, changes: list[Data]) -> None:
        text = self.texts[uri]
        self.versions[uri] += 1
        sent: list[Data] = []
        for x in changes:
            if "range" not in x:
                text.units = text.of(x["text"])
            elif any(text.inside(text.offset(at)) for at in x["range"].values()):
                continue  # no editor whose text is UTF-8 does so
            else:
                text.replace(x["range"], x["text"])
            sent.append(x)
        document = {"uri": uri, "version": self.versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": sent})

    def shut(self, uri: str) -> None:
        del self.texts[uri], self.versions[uri]
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def compare(self) -> None:
        """The texts are the same, and nothing is kept of those that were closed."""
        for uri, mine in self.texts.items():
            theirs = self.state.texts[uri]
            assert theirs.text == mine.text
            assert theirs.doubt is None, theirs
        state = self.state
        assert len(state._uris) == len(self.texts)
        assert state._published.keys() <= state._uris.keys()
        assert len(state.open_documents._memories) <= 64
        assert not self.errors, self.errors

    def format(self, uri: str, place: Data | None) -> None:
        mine = self.texts[uri]
        options = {"tabSize": 4, "insertSpaces": True}
        params = {"textDocument": {"uri": uri}, "options": options}
        method = "formatting" if place is None else "rangeFormatting"
        answer = self.ask(f"textDocument/{method}", params if place is None else {**params, "range": place})
        assert "error" not in answer, answer
        edits = answer["result"]
        parsed = parse(Source("x", mine.text))
        if any(d.severity is Severity.ERROR for d in parsed.diagnostics):
            assert edits is None
            return
        formatted = mine.edited(edits)
        if place is None:
            assert formatted == format_source(parsed)
        self.change(uri, [{"range": x["range"], "text": x["newText"]} for x in _last_first(mine, edits)])
        assert self.texts[uri].text == formatted

    def asks(self, uri: str, at: Data, which: int) -> None:
        """A question, whose answer is no fault of the server, and whose places stand in the text."""
        document = {"textDocument": {"uri": uri}}
        point, part = {**document, "position": at}, {"start": {"line": 0, "character": 0}, "end": at}
        method, params = (
            ("hover", point), ("completion", point), ("definition", point), ("documentHighlight", point),
            ("references", {**point, "context": {"includeDeclaration": True}}), ("documentSymbol", document),
            ("foldingRange", document), ("codeLens", document), ("semanticTokens/full", document),
            ("inlayHint", {**document, "range": part}), ("rename", {**point, "newName": "other"}),
            ("semanticTokens/range", {**document, "range": part}), ("prepareRename", point),
            ("codeAction", {**document, "range": part, "context": {"diagnostics": []}}),
        )[which % 14]  # fmt: skip
        answer = self.ask(f"textDocument/{method}", params)
        if "error" in answer:
            assert answer["error"]["code"] == -32803, answer
        elif method.startswith("semanticTokens") and answer["result"] is not None:
            self._tokens(self.texts[uri], answer["result"]["data"])
        elif method in ("documentHighlight", "codeLens", "documentSymbol"):
            self._inside(self.texts[uri], [x["range"] for x in answer["result"] or ()])
        elif method == "rename":
            for name, edits in answer["result"]["changes"].items():
                self.texts[name].edited(edits)

    def _tokens(self, text: Units, data: list[int]) -> None:
        line, column, lines = 0, 0, text.lines()
        for n in range(0, len(data), 5):
            line, column = line + data[n], data[n + 1] + (column if data[n] == 0 else 0)
            start, end = lines[line]
            assert column + data[n + 2] <= end - start, "a token is longer than its line"


def _last_first(text: Units, edits: list[Data]) -> list[Data]:
    return sorted(edits, key=lambda x: text.offset(x["range"]["start"]), reverse=True)


async def _session(session: Data) -> None:
    client = Client(session["encoding"])
    try:
        capabilities = {"general": {"positionEncodings": [session["encoding"]]}}
        hello = {"processId": None, "rootUri": None, "capabilities": capabilities}
        answer = client.ask("initialize", {**hello, "initializationOptions": {"explore": False}})
        assert answer["result"]["capabilities"]["positionEncoding"] == session["encoding"]
        client.notify("initialized", {})
        for step in session["steps"]:
            _do(client, step, session.get("texts", [""] * len(NAMES)))
            client.compare()
        await asyncio.sleep(0)
        client.compare()
        for uri in list(client.texts):
            client.shut(uri)
        await asyncio.sleep(0)
        assert not client.state._uris
        assert not client.state._checked
        assert not client.state.open_documents._memories
    finally:
        client.state.stop()
        if client.server._thread_pool is not None:
            client.server._thread_pool.shutdown()


def _do(client: Client, step: Data, texts: list[str]) -> None:
    """`texts` are those that are opened where a step is about one that is not."""
    number = step["name"] % len(NAMES)
    uri = NAMES[number]
    if uri not in client.texts:
        client.open(uri, step.get("text", texts[number]))
        if "text" in step:
            return
    match step["do"]:
        case "open":
            client.open(uri, step["text"])
        case "change":
            client.change(uri, step["changes"])
        case "close":
            client.shut(uri)
        case "format":
            client.format(uri, step.get("range"))
        case _:
            at = step["at"] if "at" in step else client.texts[uri].word(step["word"])
            client.asks(uri, at, step["which"])


def _check(session: Data) -> None:
    logging.disable(logging.CRITICAL)
    try:
        asyncio.run(_session(session))
    finally:
        logging.disable(logging.NOTSET)
        gc.enable()  # a server collects in pauses, of which there are none


_column = st.one_of(st.integers(0, 12), st.integers(0, 100), st.sampled_from((2**31 - 1, 10**6)))
_position = st.builds(lambda line, character: {"line": line, "character": character}, _column, _column)
_range = st.builds(lambda a, b: {"start": a, "end": b}, _position, _position)
_near = st.builds(
    lambda a, n, m: {"start": a, "end": {"line": a["line"] + n, "character": a["character"] + m}},
    _position.filter(lambda x: max(x.values()) < 10**6), st.integers(0, 1), st.integers(0, 6),
)  # fmt: skip
_typed = st.one_of(
    st.sampled_from((*LINE_ENDS, *SEPARATORS, *SIGNS, "")),
    st.lists(st.sampled_from((*LINE_ENDS, *SEPARATORS, "\U0001f512", "a", " ", "\ud800", "\udc00")), max_size=8).map(
        "".join
    ),
)
_whole = st.builds(lambda n, m: ended(base(n), m), st.integers(0, 2**40), st.integers(0, 2**10))
_text = _whole | _typed
_change = st.one_of(
    st.builds(lambda r, x: {"range": r, "text": x}, st.one_of(_near, _near, _range), _typed),
    st.builds(lambda r, x: {"range": r, "text": x}, st.one_of(_near, _near, _range), _typed),
    st.builds(lambda x: {"text": x}, _text),
)
_name = st.integers(0, 2)
_numbers = st.integers(0, 200)
_step = st.one_of(
    st.builds(lambda n, x: {"do": "open", "name": n, "text": x}, _name, _text),
    st.builds(lambda n, x: {"do": "change", "name": n, "changes": x}, _name, st.lists(_change, max_size=4)),
    st.builds(lambda n, x: {"do": "change", "name": n, "changes": x}, _name, st.lists(_change, max_size=4)),
    st.builds(lambda n, x: {"do": "change", "name": n, "changes": x}, _name, st.lists(_change, max_size=4)),
    st.builds(lambda n: {"do": "close", "name": n}, _name),
    st.builds(lambda n: {"do": "format", "name": n}, _name),
    st.builds(lambda n, r: {"do": "format", "name": n, "range": r}, _name, _near),
    st.builds(lambda n, at, k: {"do": "ask", "name": n, "at": at, "which": k}, _name, _position, st.integers(0, 13)),
    *(st.builds(lambda n, w, k: {"do": "ask", "name": n, "word": w, "which": k}, _name, _numbers, st.integers(0, 13))
      for _ in range(4)),
)  # fmt: skip
_sessions = st.builds(
    lambda encoding, texts, steps: {"encoding": encoding, "texts": texts, "steps": steps},
    st.sampled_from(("utf-16", "utf-16", "utf-8", "utf-32")),
    st.lists(_whole, min_size=len(NAMES), max_size=len(NAMES)),
    st.lists(_step, min_size=1, max_size=20),
)

editor = Target("editor", _sessions, _check)
