"""Lines that a person types, with completion where the terminal has it, or that come through a pipe."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

from fsmdsl.cli.messages import say, say_document
from fsmdsl.text.terminal import printable

PROMPT = "> "


class LineInput:
    """The lines that a person types. `words` gives those that could be typed, for completion."""

    def __init__(self, words: Callable[[], list[str]]) -> None:
        self.words = words
        self.at_terminal = sys.stdin is not None and sys.stdin.isatty()
        self.edited = self.at_terminal and sys.stdout.isatty() and self._readline()

    def line(self) -> str | None:
        """The next line without its end; None when there is none."""
        return self._edited() if self.edited else self._plain()

    def _plain(self) -> str | None:
        say_document(PROMPT)
        line = b"" if sys.stdin is None else sys.stdin.buffer.readline()
        text = line.decode("utf-8", errors="replace").strip()
        if not (line and self.at_terminal):
            # It comes through a pipe: an answer without its question is hard to read.
            say(short(text))
        return text if line else None

    def _edited(self) -> str | None:
        try:
            return input(PROMPT).strip()
        except EOFError:
            say()
            return None

    def _readline(self) -> bool:
        """Make the terminal's line editing know what could be typed; False where there is none."""
        try:
            import readline
        except ImportError:
            return False
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        matches: list[str] = []

        def complete(text: str, state: int) -> str | None:
            if state == 0:
                matches[:] = [w for w in self.words() if w.startswith(text)]
            return matches[state] if state < len(matches) else None

        readline.set_completer(complete)
        readline.set_completer_delims("")
        readline.parse_and_bind("tab: complete")
        return True


def short(text: str, most: int = 40) -> str:
    """What a person typed, as a message can show it."""
    text = printable(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
