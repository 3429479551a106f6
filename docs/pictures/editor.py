"""Neovim with the language server at work, as a page: what the terminal shows, drawn as text.

Needs Neovim (Debian: `neovim`) and the terminal emulator pyte (`pip install pyte`).
"""

from __future__ import annotations

import html
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from fcntl import ioctl
from itertools import groupby
from pathlib import Path
from tempfile import mkdtemp
from termios import TIOCSWINSZ

ROOT = Path(__file__).parent.parent.parent
ROWS, COLUMNS = 34, 118

THEMES = {
    "light": {
        "paper": "#ffffff", "ink": "#24292f", "comment": "#6e7781", "doc": "#57606a", "keyword": "#cf222e",
        "modifier": "#953800", "state": "#0550ae", "label": "#8250df", "string": "#0a3069", "number": "#0550ae",
        "error": "#a40e26", "hint": "#6e7781", "line": "#8c959f", "float": "#f6f8fa",
    },
    "dark": {
        "paper": "#0d1117", "ink": "#e6edf3", "comment": "#8b949e", "doc": "#9198a1", "keyword": "#ff7b72",
        "modifier": "#ffa657", "state": "#79c0ff", "label": "#d2a8ff", "string": "#a5d6ff", "number": "#79c0ff",
        "error": "#ff8182", "hint": "#8b949e", "line": "#6e7681", "float": "#161b22",
    },
}  # fmt: skip

SETUP = """
set termguicolors laststatus=0 noruler noshowcmd noshowmode number signcolumn=yes
set shortmess+=IcF nowrap scrolloff=0
set runtimepath^={vim}
syntax on
hi Normal guifg={ink} guibg={paper}
hi LineNr guifg={line}
hi SignColumn guibg={paper}
hi EndOfBuffer guifg={paper}
hi Comment guifg={comment} gui=italic
hi SpecialComment guifg={doc} gui=italic
hi Structure guifg={keyword}
hi Statement guifg={keyword}
hi Include guifg={keyword}
hi Operator guifg={keyword}
hi Special guifg={keyword}
hi StorageClass guifg={modifier}
hi Constant guifg={state}
hi Identifier guifg={modifier}
hi Type guifg={modifier}
hi Label guifg={label}
hi Number guifg={number}
hi String guifg={string}
hi NormalFloat guifg={ink} guibg={float}
hi FloatBorder guifg={line} guibg={float}
hi DiagnosticError guifg={error}
hi DiagnosticVirtualTextError guifg={error} gui=italic
hi DiagnosticUnderlineError gui=underline guisp={error}
hi DiagnosticHint guifg={hint}
hi LspCodeLens guifg={hint} gui=italic
hi LspCodeLensSeparator guifg={hint}
lua <<LUA
local function first_line(found) return (found.message:gsub("\\n.*", "")) end
vim.diagnostic.config({{ virtual_text = {{ prefix = "●", format = first_line }}, severity_sort = true }})
local id = vim.lsp.start_client({{ name = "fsm", cmd = {{ "{fsm}", "lsp" }}, root_dir = vim.fn.getcwd() }})
local function attach(event) vim.lsp.buf_attach_client(event.buf, id) end
vim.api.nvim_create_autocmd("FileType", {{ pattern = "fsm", callback = attach }})
LUA
set filetype=fsm
"""


class Terminal:
    """Neovim in a terminal of its own."""

    def __init__(self, folder: Path, theme: str) -> None:
        import pyte

        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        setup = folder / "setup.vim"
        fsm = Path(sys.executable).parent / "fsm"
        setup.write_text(SETUP.format(vim=ROOT / "editors" / "vim", fsm=fsm, **THEMES[theme]))
        self._master, slave = pty.openpty()
        ioctl(slave, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "XDG_STATE_HOME": str(folder)}
        command = ["nvim", "-u", "NONE", "-n", "-S", str(setup), "spec.fsm"]
        self._process = subprocess.Popen(
            command, cwd=folder, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
        )
        os.close(slave)

    def wait(self, seconds: float) -> None:
        """Takes in what Neovim shows meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._master], [], [], left)[0]:
                self._stream.feed(os.read(self._master, 1 << 16))

    def until(self, text: str, seconds: float = 30) -> None:
        """Until a text is to be seen."""
        for _ in range(int(seconds * 4)):
            self.wait(0.25)
            if any(text in line for line in self.screen.display):
                return
        raise RuntimeError(f"Neovim never showed {text!r}:\n" + "\n".join(self.screen.display))

    def type(self, keys: str) -> None:
        """Keys, as one types them."""
        os.write(self._master, keys.encode())
        self.wait(0.3)

    def close(self) -> None:
        """Nothing was written."""
        self._process.kill()
        self._process.wait()
        os.close(self._master)


def shown(theme: str, spec: str, steps: Sequence[tuple[str, str]]) -> str:
    """A page that shows a spec in Neovim. Each step: when a text is to be seen, keys are typed."""
    if shutil.which("nvim") is None:
        raise RuntimeError("Neovim is not installed: apt install neovim")
    folder = Path(mkdtemp())
    (folder / "spec.fsm").write_text(spec)
    terminal = Terminal(folder, theme)
    try:
        for awaited, keys in steps:
            terminal.until(awaited)
            terminal.type(keys)
        terminal.wait(1.5)
        return page(terminal, theme)
    finally:
        terminal.close()
        shutil.rmtree(folder)


def page(terminal: Terminal, theme: str) -> str:
    """The screen as HTML."""
    lines = "\n".join("".join(_spans(terminal, row, THEMES[theme])) for row in range(ROWS - 1))
    colours = THEMES[theme]
    return (
        f'<!DOCTYPE html><meta charset="utf-8"><style>body{{margin:0;background:{colours["paper"]}}}'
        f'pre{{margin:0;padding:14px 10px;display:inline-block;font:14px/1.42 "DejaVu Sans Mono",monospace;'
        f'color:{colours["ink"]};background:{colours["paper"]}}}</style><pre id="screen">{lines}</pre>'
    )


def _spans(terminal: Terminal, row: int, colours: dict[str, str]) -> Iterator[str]:
    cells = [terminal.screen.buffer[row][column] for column in range(COLUMNS)]
    for (ink, paper, bold, italic, under), run in groupby(
        cells, lambda c: (c.fg, c.bg, c.bold, c.italics, c.underscore)
    ):
        style = [f"color:{_colour(ink, colours['ink'])}"]
        if paper != "default":
            style.append(f"background:{_colour(paper, colours['paper'])}")
        style += ["font-weight:600"] * bold + ["font-style:italic"] * italic + ["text-decoration:underline"] * under
        yield f'<span style="{";".join(style)}">{html.escape("".join(c.data for c in run))}</span>'


def _colour(name: str, default: str) -> str:
    return default if name == "default" else f"#{name}" if len(name) == 6 else name
