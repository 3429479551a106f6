"""Times as people write them, and settings as in `every=90d repair=4h`."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from runtime.simulate.workload import WorkloadError, suggestion

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def seconds(text: str) -> float | None:
    """Of `90`, `45s`, `30m`, `4h`, `1.5d`, `2w`; none for anything else, and for what is negative."""
    number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1.0)
    try:
        value = float(number) * unit
    except ValueError:
        return None
    return value if isfinite(value) and value >= 0 else None


def spoken(value: float) -> str:
    """As in `2 d 4 h`, `35 min`, `12 s`: two units at most."""
    if value < 0.5:
        return "0 s"
    rest = round(value)
    parts: list[str] = []
    for name, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        number, rest = divmod(rest, size)
        if number or parts:
            parts.append(f"{number} {name}" if number else "")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if part)


def pairs(text: str, defaults: Mapping[str, str], what: str) -> dict[str, str]:
    """Settings as in `a=1 b=2`, or with commas; those that are not there as in `defaults`. Raises `WorkloadError`."""
    values, problems = dict(defaults), []
    for part in text.replace(",", " ").split():
        name, equals, value = part.partition("=")
        if not equals:
            problems.append(f"{what}: {part!r} must be a setting, as in {next(iter(defaults))}=…")
        elif name not in defaults:
            problems.append(f"{what}: there is no setting {name!r}{suggestion(name, defaults)}")
        else:
            values[name] = value
    if problems:
        raise WorkloadError(problems)
    return values


def settings(text: str, defaults: Mapping[str, str], what: str) -> dict[str, float]:
    """Settings that all are times, none of them 0. Raises `WorkloadError`."""
    durations, problems = {}, []
    for name, value in pairs(text, defaults, what).items():
        read = seconds(value)
        if not read:
            problems.append(f"{what}: {name}={value} is not a time, as in 45s, 30m, 4h, 90d")
        else:
            durations[name] = read
    if problems:
        raise WorkloadError(problems)
    return durations
