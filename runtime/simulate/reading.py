"""Reading files that users name: everything that is wrong with one becomes a `UserError`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runtime.errors import UserError


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Around all access to a file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text: byte {error.start}: {error.reason}") from error
    except csv.Error as error:
        raise UserError(f"{path} cannot be read: {error}") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


def read_json(path: Path) -> Any:
    """The document in a file. Raises `UserError`."""
    with reading(path):
        text = path.read_text("utf-8")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON: {error}") from error
