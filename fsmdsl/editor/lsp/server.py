"""The server: which request goes where."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from lsprotocol import types as t
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from fsmdsl.editor.lsp import answers, commands, edits, outline
from fsmdsl.editor.lsp import test_explorer as testable
from fsmdsl.editor.lsp.positions import path_of
from fsmdsl.editor.lsp.protocol import Server
from fsmdsl.editor.lsp.state import State


def server(version: str) -> LanguageServer:
    """A server that has not been started yet."""
    _log_faults_only()
    language_server = Server("fsm", version)
    state = State(language_server)
    language_server.texts.open_texts = state
    _session(language_server, state)
    _texts(language_server, state)
    _requests(language_server, state)
    _commands(language_server, state)
    return language_server


def _log_faults_only() -> None:
    """What a client sends wrongly, or what is refused, is no fault of ours: `report_server_error` has a line for it."""

    def keeps(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        return not isinstance(error, JsonRpcException)

    logging.getLogger("pygls.protocol.json_rpc").addFilter(keeps)


def _session(server: LanguageServer, state: State) -> None:
    @server.feature(t.INITIALIZE)
    def initialize(params: t.InitializeParams) -> None:
        state.idle.begin()
        options = params.initialization_options
        if isinstance(options, dict):
            state.settings.explore = options.get("explore", True) is not False
            state.settings.transition_lenses = options.get("transitionLenses", True) is not False
            state.open_documents.follow_links = options.get("followLinks", False) is True
        folders = [path_of(f.uri) for f in params.workspace_folders or ()]
        root = [path_of(params.root_uri)] if params.root_uri and not folders else []
        state.texts.encoding = server.workspace.position_encoding or t.PositionEncodingKind.Utf16
        state.open_documents.folders([*folders, *root])

    @server.feature(t.INITIALIZED)
    def initialized(_: t.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace is not None else None
        if watching is not None and watching.dynamic_registration:
            watchers = [t.FileSystemWatcher("**/*.fsm")]
            options = t.DidChangeWatchedFilesRegistrationOptions(watchers)
            wish = t.Registration("specs", t.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            server.client_register_capability(t.RegistrationParams([wish]))

    @server.feature(t.SHUTDOWN)
    def shutdown(_: None) -> None:
        state.stop()


def _texts(server: LanguageServer, state: State) -> None:
    @server.feature(t.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: t.DidSaveTextDocumentParams) -> None:
        state.publish_soon(path_of(params.text_document.uri))

    @server.feature(t.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def written(params: t.DidChangeWatchedFilesParams) -> None:
        state.look_again(path_of(x.uri) for x in params.changes)

    @server.feature(t.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def moved(params: t.DidChangeWorkspaceFoldersParams) -> None:
        event = params.event
        state.open_documents.folders([path_of(f.uri) for f in event.added], [path_of(f.uri) for f in event.removed])
        state.look_again(())


_REQUESTS: tuple[tuple[str, Callable[[State, Any], Any], Any], ...] = (
    (t.TEXT_DOCUMENT_HOVER, answers.on_hover, None),
    (t.TEXT_DOCUMENT_COMPLETION, answers.on_completion, t.CompletionOptions(trigger_characters=[".", ">", " "])),
    (t.TEXT_DOCUMENT_DEFINITION, answers.on_definition, None),
    (t.TEXT_DOCUMENT_REFERENCES, answers.on_references, None),
    (t.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, answers.on_highlight, None),
    (t.TEXT_DOCUMENT_DOCUMENT_SYMBOL, outline.on_symbols, None),
    (t.WORKSPACE_SYMBOL, outline.on_workspace_symbols, None),
    (t.TEXT_DOCUMENT_FOLDING_RANGE, outline.on_folding, None),
    (t.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, outline.on_tokens, outline.LEGEND),
    (t.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, outline.on_tokens_range, outline.LEGEND),
    (t.TEXT_DOCUMENT_CODE_LENS, outline.on_lenses, None),
    (t.TEXT_DOCUMENT_INLAY_HINT, outline.on_hints, None),
    (t.TEXT_DOCUMENT_PREPARE_RENAME, edits.on_prepare, None),
    (t.TEXT_DOCUMENT_RENAME, edits.on_rename, t.RenameOptions(prepare_provider=True)),
    (t.TEXT_DOCUMENT_FORMATTING, edits.on_format, None),
    (t.TEXT_DOCUMENT_RANGE_FORMATTING, edits.on_format_range, None),
    (t.TEXT_DOCUMENT_CODE_ACTION, edits.on_actions, t.CodeActionOptions([t.CodeActionKind.QuickFix])),
)


def _requests(server: LanguageServer, state: State) -> None:
    for method, answer, options in _REQUESTS:
        server.feature(method, options)(_answering(answer, state))

    @server.feature("fsm/diagram")
    async def diagram(params: Any) -> Any:
        return await commands.on_diagram(state, params)


def _answering(answer: Callable[[State, Any], Any], state: State) -> Callable[[Any], Any]:
    def handler(params: Any) -> Any:
        return answer(state, params)

    return handler


def _commands(server: LanguageServer, state: State) -> None:
    @server.command("fsm.verify")
    async def verify(*arguments: Any) -> Any:
        return await commands.on_verify(state, *arguments)

    @server.command("fsm.draw")
    async def draw(*arguments: Any) -> Any:
        return await commands.on_draw(state, *arguments)

    @server.command("fsm.trace")
    async def trace(*arguments: Any) -> Any:
        return await commands.on_trace(state, *arguments)

    @server.command("fsm.systems")
    def systems(*arguments: Any) -> Any:
        return commands.on_systems(state, *arguments)

    @server.command("fsm.tests")
    def tests(*arguments: Any) -> Any:
        return testable.on_tests(state, *arguments)

    @server.command("fsm.test")
    async def test(*arguments: Any) -> Any:
        return await testable.on_test(state, *arguments)
