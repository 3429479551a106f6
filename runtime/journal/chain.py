"""Records, each with a checksum over itself and all before it: none can be changed, left out or moved unnoticed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b

START = bytes(16)
"""What the first record follows."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one step has changed."""

    number: int
    content: bytes
    checksum: bytes


def checksum(before: bytes, number: int, content: bytes) -> bytes:
    """Of a record, or a snapshot, after what came before."""
    return blake2b(before + number.to_bytes(8, "big") + content, digest_size=16).digest()


def is_whole(before: object, number: int, content: object, check: object) -> bool:
    """Whether a record, or a snapshot, is what was written. In a damaged file anything may be in its place."""
    if not isinstance(before, bytes) or not isinstance(content, bytes) or number < 0:
        return False
    return checksum(before, number, content) == check


def write_changes(kind: str, changes: Mapping[str, str | None]) -> bytes:
    """The content of a record: what happened, and the new value of all that is different; none where it is gone.

    Values have no line breaks.
    """
    lines = (f"{json.dumps(key)}\t{value or ''}" for key, value in changes.items())
    return "\n".join((kind, *lines)).encode()


def read_changes(content: bytes) -> Iterator[tuple[str, str]]:
    """What `write_changes` has written: names, each with its new value; empty where it is gone."""
    for line in content.decode().split("\n")[1:]:
        key, _, value = line.partition("\t")
        yield json.loads(key), value


def apply(content: bytes, images: dict[str, str]) -> None:
    """Makes the changes that a record, or a snapshot, tells of. What has changed last comes last."""
    for name, value in read_changes(content):
        images.pop(name, None)
        if value:
            images[name] = value


@dataclass(slots=True)
class Replay:
    """Follows the chain, and stops at the first record that does not belong to it."""

    number: int
    tip: bytes
    images: dict[str, str]
    size: int = 0
    """Of the content of the records that were followed, in bytes."""
    broken: str = ""
    """What is wrong with the record after the last good one; empty where nothing is."""

    def follow(self, records: Iterable[Record]) -> None:
        """Takes over all records that are whole."""
        for record in records:
            if record.number != self.number + 1:
                self.broken = f"record {self.number + 1} is missing, and record {record.number} follows"
            elif not is_whole(self.tip, record.number, record.content, record.checksum):
                self.broken = f"record {record.number} is damaged"
            if self.broken:
                return
            apply(record.content, self.images)
            self.number, self.tip = record.number, record.checksum
            self.size += len(record.content)
