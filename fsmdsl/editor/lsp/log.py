"""What the language server writes to standard error: one short line per record, and a limited number of lines per
minute, whatever an editor sends. Editors keep all of it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from time import monotonic

from fsmdsl.text.terminal import printable

MAX_LINE = 400
"""Maximum length of a log line, in characters."""

MAX_LINES = 100
"""Maximum number of lines in a `PERIOD`."""

PERIOD = 60.0
"""In seconds."""

LEFT_OUT = "lines_left_out"
"""The attribute of a record that says how many before it were left out."""


class OneLine(logging.Formatter):
    """A record as a line: its first line and the exception, without a traceback unless FSM_TRACEBACK asks for one."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        if os.environ.get("FSM_TRACEBACK"):
            return super().format(record)
        message, _, more = record.getMessage().partition("\n")
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else sys.exc_info()[1] if more else None
        line = printable(message if error is None else f"{message}: {type(error).__name__}: {error}")
        if before := getattr(record, LEFT_OUT, 0):
            line = f"({before} lines were left out) {line}"
        return f"{record.levelname.lower()}: {line if len(line) <= MAX_LINE else f'{line[:MAX_LINE]}…'}"


class Bounded(logging.Filter):
    """Lets `MAX_LINES` records through in each `PERIOD`. The first one after a period says how many were left out."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._begun = clock()
        self._lines = self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is written."""
        now = self._clock()
        before = 0
        if now - self._begun >= PERIOD:
            before, self._begun, self._lines, self._left_out = self._left_out, now, 0, 0
        self._lines += 1
        if self._lines > MAX_LINES:
            self._left_out += 1
            return False
        setattr(record, LEFT_OUT, before)
        return True


def to_stderr() -> None:
    """Have all records of this process written so."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    handler.addFilter(Bounded())
    logging.getLogger().addHandler(handler)
