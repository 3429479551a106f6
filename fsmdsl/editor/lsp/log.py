"""What the language server writes to standard error: a short line for each record, whatever an editor has sent."""

from __future__ import annotations

import logging
import os
import sys

from fsmdsl.text.terminal import printable

MAX_LINE = 400
"""Maximum length of a log line, in characters."""


class OneLine(logging.Formatter):
    """A record as a line: its first line and the exception, without a traceback unless FSM_TRACEBACK asks for one."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        if os.environ.get("FSM_TRACEBACK"):
            return super().format(record)
        message, _, more = record.getMessage().partition("\n")
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else sys.exc_info()[1] if more else None
        line = printable(message if error is None else f"{message}: {type(error).__name__}: {error}")
        return f"{record.levelname.lower()}: {line if len(line) <= MAX_LINE else f'{line[:MAX_LINE]}…'}"


def to_stderr() -> None:
    """Have all records of this process written so."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    logging.getLogger().addHandler(handler)
