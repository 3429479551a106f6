"""`fsm lsp`: the language server, for editors."""

from __future__ import annotations

from importlib.util import find_spec

from fsmdsl.cli import usage, version
from fsmdsl.cli.messages import misuse


@usage.command("lsp")
@usage.option("--stdio", is_flag=True, help="Use standard input and output (the only transport).")
def command(stdio: bool) -> None:
    """Start the language server. Editors start it automatically; docs/editor.md describes how to configure them.

    The server speaks the Language Server Protocol over standard input and output until the editor stops it.
    """
    if find_spec("pygls") is None:
        misuse("the language server needs the extra `lsp`; run `pip install 'fsmdsl[lsp]'`")
    from fsmdsl.editor.lsp.log import to_stderr
    from fsmdsl.editor.lsp.server import server

    to_stderr()
    server(version()).start_io()
