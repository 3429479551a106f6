"""Certificates as files: strict JSON, in which every part has one type and one spelling.

A certificate comes from someone else, so nothing in it is believed before `parse` has looked at it. What its states
are, `states` decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.certificate.strict_json import RefusedError, mismatch, parsed
from fsmdsl.syntax.settings import given_settings

__all__ = [
    "FORMAT", "MAX_BYTES", "Certificate", "CertifiedSystem", "RefusedError", "digest", "options", "parse", "rendered",
]  # fmt: skip

FORMAT = "fsmdsl certificate 2"

EARLIER = "fsmdsl certificate 1"

MAX_BYTES = 256 * 2**20
"""Maximum size of a certificate in bytes: more than a million states."""

_SHA_256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class CertifiedSystem:
    """What is certified of one system."""

    system: str
    """Qualified."""
    invariants: tuple[str, ...]
    """All that the system has, by name."""
    states: int
    digest: str
    worlds: tuple[str, ...] | None = None
    """The states, see `states.encoded`. None: only their number and digest are certified."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What `fsm verify --certificate` writes."""

    modules: Mapping[str, str]
    """The SHA-256 of each module's text, by name, imported ones and those of the library included."""
    as_documented: bool
    settings: tuple[str, ...]
    systems: tuple[CertifiedSystem, ...]

    @property
    def values(self) -> Mapping[str, s.Expr]:
        """The settings by name."""
        return given_settings(self.settings)


def digest(lines: Iterable[str]) -> str:
    """Of a set of states, whatever their order: SHA-256 of the sorted lines."""
    return sha256("\n".join(sorted(lines)).encode()).hexdigest()


def options(settings: Sequence[str], as_documented: bool) -> str:
    """As a command line has them."""
    return " ".join([*(f"--set {x}" for x in settings), *["--as-documented"] * as_documented])


def rendered(certificate: Certificate) -> str:
    """The text of a certificate."""
    content = {
        "format": FORMAT,
        "modules": dict(certificate.modules),
        "as_documented": certificate.as_documented,
        "settings": list(certificate.settings),
        "systems": [_system_object(x) for x in certificate.systems],
    }
    return json.dumps(content, indent=1) + "\n"


def _system_object(x: CertifiedSystem) -> dict[str, object]:
    content = {"system": x.system, "invariants": list(x.invariants), "states": x.states, "digest": x.digest}
    return content if x.worlds is None else {**content, "worlds": list(x.worlds)}


# Parsing -------------------------------------------------------------------------------------------------------------


def parse(data: bytes) -> Certificate:
    """The certificate that a file is. Raises `RefusedError`."""
    try:
        content = parsed(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RefusedError(f"this is not UTF-8 text: byte {error.start} cannot be read") from None
    if not isinstance(content, dict):
        raise mismatch("the certificate", "an object", content)
    _check_format(content.get("format"))
    x = _object(content, "the certificate", ("format", "modules", "as_documented", "settings", "systems"))
    modules = _dictionary(x["modules"], "`modules`")
    settings = _strings(x["settings"], "`settings`")
    try:
        given_settings(settings)
    except ValueError:
        raise mismatch("`settings`", "settings, each once, as `name=value`", x["settings"]) from None
    systems = tuple(_system(y, f"`systems`, item {n}") for n, y in enumerate(_items(x["systems"], "`systems`"), 1))
    if not systems:
        raise RefusedError("the certificate covers no system")
    names = [y.system for y in systems]
    if len(set(names)) < len(names):
        raise RefusedError("`systems`: a system is certified twice")
    return Certificate(
        {name: _hash(y, "`modules`, the digest of a module") for name, y in modules.items()},
        _bool(x["as_documented"], "`as_documented`"),
        settings,
        systems,
    )


def _check_format(value: object) -> None:
    if value == EARLIER:
        raise RefusedError(
            "the certificate is in an earlier format, which did not bind its settings; "
            "make it again with `fsm verify --certificate`"
        )
    if value != FORMAT:
        raise mismatch("not a certificate that this version reads: `format`", f'"{FORMAT}"', value)


def _system(value: Any, part: str) -> CertifiedSystem:
    x = _object(value, part, ("system", "invariants", "states", "digest"), ("worlds",))
    states = x["states"]
    if type(states) is not int or states < 1:
        raise mismatch(f"{part}, `states`", "a whole number above 0", states)
    return CertifiedSystem(
        _string(x["system"], f"{part}, `system`"),
        _strings(x["invariants"], f"{part}, `invariants`"),
        states,
        _hash(x["digest"], f"{part}, `digest`"),
        _strings(x["worlds"], f"{part}, `worlds`") if "worlds" in x else None,
    )


def _object(value: Any, part: str, keys: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """An object with these keys and no others."""
    content = _dictionary(value, part)
    missing = next((x for x in keys if x not in content), None)
    if missing is not None:
        raise RefusedError(f"{part}: `{missing}` is missing")
    unknown = next((x for x in content if x not in keys and x not in optional), None)
    if unknown is not None:
        raise mismatch(f"{part}: unknown key", f"one of {', '.join([*keys, *optional])}", unknown)
    return content


def _dictionary(value: Any, part: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise mismatch(part, "an object", value)
    return value


def _items(value: Any, part: str) -> list[Any]:
    if type(value) is not list:
        raise mismatch(part, "a list", value)
    return value


def _strings(value: Any, part: str) -> tuple[str, ...]:
    return tuple(_string(x, f"{part}, an item") for x in _items(value, part))


def _string(value: Any, part: str) -> str:
    if type(value) is not str:
        raise mismatch(part, "a string", value)
    return value


def _bool(value: Any, part: str) -> bool:
    if type(value) is not bool:
        raise mismatch(part, "true or false", value)
    return value


def _hash(value: Any, part: str) -> str:
    if type(value) is not str or not _SHA_256.fullmatch(value):
        raise mismatch(part, "64 hexadecimal digits", value)
    return value
