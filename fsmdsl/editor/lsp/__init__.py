"""The language server, `fsm lsp`: what `fsmdsl.editor.editing` knows, over the Language Server Protocol.

`positions` alone knows how the protocol counts. `state` holds the open documents, publishes diagnostics and explores
in the background. The other modules translate answers. Needs the extra `lsp` (pygls).
"""
