"""Ends the service when its configuration file changes, so that its supervisor restarts it with the new one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from threading import Event

from runtime.config import read_configuration
from runtime.errors import ConfigurationError

log = logging.getLogger(__name__)

CHECK_INTERVAL = 5.0
"""Seconds between two checks of the file."""


class Reload:
    """Looks at the file until it is told to stop. Runs in a thread of its own."""

    def __init__(self, path: Path, end: Callable[[], object], every: float = CHECK_INTERVAL) -> None:
        self._path = path
        self._end = end
        self._every = every
        self._content = _read(path)
        self._stopped = Event()

    def run(self) -> None:
        """A file that cannot be read, or has mistakes, changes nothing: the service goes on as it is."""
        while not self._stopped.wait(self._every):
            now = _read(self._path)
            if now is None or now == self._content:
                continue
            self._content = now
            try:
                read_configuration(self._path)
            except ConfigurationError as error:
                log.error("the new configuration is invalid; the previous one stays in use:\n%s", error)
                continue
            log.warning("the configuration has changed: the service ends, to be started again with it")
            self._end()
            return

    def stop(self) -> None:
        """It does not matter any more."""
        self._stopped.set()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
