"""What can keep a search from being made as it was asked for. The messages are for users."""

from __future__ import annotations


class UnavailableError(Exception):
    """Several processes were started, or a search is to be gone on with, and something is not there that it takes."""


class SavedError(Exception):
    """What was saved cannot be used, or nothing can be saved."""


class FullError(Exception):
    """There is no memory for what has come."""
