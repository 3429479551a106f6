"""The protocol with texts of our own: the library keeps none, and sees no position of a change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from lsprotocol import types as t
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification
from pygls.protocol.language_server import lsp_method

from fsmdsl.editor.lsp.texts import Change, Texts, read_change, read_open, read_uri

CHECKSUM = "fsmChecksum"
"""Beside the parameters of a request: of which text the editor speaks, as in `texts.checksum_of`."""

_OURS = frozenset({t.TEXT_DOCUMENT_DID_OPEN, t.TEXT_DOCUMENT_DID_CHANGE, t.TEXT_DOCUMENT_DID_CLOSE})


class OpenTexts(Protocol):
    """Who wants to know of texts."""

    texts: Texts

    def open(self, uri: str, text: str, version: int | None) -> None: ...

    def change(self, uri: str, version: int | None, changes: list[Change]) -> None: ...

    def close(self, uri: str) -> None: ...


class TextProtocol(LanguageServerProtocol):
    """Gives what the editor says of its texts to `open_texts`, as it is said."""

    open_texts: OpenTexts

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message, from JSON; those about texts keep the parameters that they came with."""
        method, params = data.get("method"), data.get("params")
        if "jsonrpc" not in data:  # a part of one
            return data
        if method in _OURS:
            return JsonRPCNotification(method, data["jsonrpc"], params)
        if isinstance(params, dict) and isinstance(params.get(CHECKSUM), str):
            with suppress(ValueError):  # which the request is answered for
                self.open_texts.texts.compare(read_uri(params), params[CHECKSUM])
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if isinstance(data.get("id"), int | str) and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise

    def _execute_handler(
        self,
        msg_id: str | int,
        handler: Callable[..., Any],
        callback: Callable[[Any], Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Handle a message, or a part of it. A part has an id of its own, under which the library would keep its result
        to the end of the process."""

        def done(future: Any) -> None:
            self._request_futures.pop(msg_id, None)
            if not future.cancelled():
                future.exception()  # nobody asks for it where the request was cancelled, and asyncio would log that
            callback(future)

        super()._execute_handler(msg_id, handler, done, args, kwargs)

    @lsp_method(t.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: Any) -> None:
        """A text is opened."""
        try:
            self.open_texts.open(*read_open(params))
        except ValueError as error:
            self._unread(params, error)

    @lsp_method(t.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: Any) -> None:
        """A text is changed."""
        try:
            self.open_texts.change(*read_change(params))
        except ValueError as error:
            self._unread(params, error)

    @lsp_method(t.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: Any) -> None:
        """A text is closed."""
        try:
            self.open_texts.close(read_uri(params))
        except ValueError as error:
            self._unread(params, error)

    def _unread(self, params: Any, error: ValueError) -> None:
        """Something was said of a text that cannot be read: it may be another by now."""
        try:
            uri: str | None = read_uri(params)
        except ValueError:
            uri = None
        self.open_texts.texts.suspect(f"a message about it could not be read: {error}", uri)
        raise JsonRpcInvalidParams(str(error)) from None


class Server(LanguageServer):
    """A server that distrusts all its texts after a message that cannot be parsed: the message may have changed any of
    them."""

    def __init__(self, name: str, version: str) -> None:
        super().__init__(name, version, t.TextDocumentSyncKind.Incremental, protocol_cls=TextProtocol)

    @property
    def texts(self) -> TextProtocol:
        """What takes in texts."""
        assert isinstance(self.protocol, TextProtocol)
        return self.protocol

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Tell the client; see `LanguageServer`."""
        if source is JsonRpcException and not isinstance(error, JsonRpcException):
            self.texts.open_texts.texts.suspect("a message could not be read")
        super().report_server_error(error, source)
