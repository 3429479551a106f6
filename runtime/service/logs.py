"""Log lines that only the service writes.

Names come from the creators of pods, and may contain anything. Characters that could end a line, or change how a
terminal shows it, are written as escapes; the lines of a traceback are indented, so that none looks like a record.
"""

from __future__ import annotations

import logging
from typing import TextIO

from fsmdsl.text.terminal import printable


class OneLine(logging.Formatter):
    """A record as a line, with its time and level; a traceback below it, indented."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is the library's
        """The line."""
        return printable(super().formatMessage(record))

    def formatException(self, ei: object) -> str:  # noqa: N802
        """The lines below."""
        text = super().formatException(ei)  # type: ignore[arg-type]
        return "\n".join(f"    {printable(line)}" for line in text.split("\n"))


def handler(stream: TextIO | None = None) -> logging.Handler:
    """Writes to a stream, or to the standard error."""
    stream_handler = logging.StreamHandler(stream)
    stream_handler.setFormatter(OneLine())
    return stream_handler
