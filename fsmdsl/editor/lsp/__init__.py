"""The language server, `fsm lsp`: what `fsmdsl.editor.editing` knows, over the Language Server Protocol.

`positions` alone knows how the protocol counts; `state` holds the desk, publishes diagnostics and explores beside the
editing; the others translate answers. Needs the extra `lsp` (pygls).
"""
