"""How far an exploration is, in a line of the terminal that is written over."""

from __future__ import annotations

from collections.abc import Callable

from fsmdsl.cli.messages import overwritable, write_over
from fsmdsl.runs.verdicts.verdict import Progress
from fsmdsl.text.terminal import printable


def progress(name: str) -> Callable[[Progress], None] | None:
    """What tells of a system's exploration; None where no terminal shows it."""
    if not overwritable():
        return None
    last = Progress(0, 0, 0, 0)

    def show(p: Progress) -> None:
        nonlocal last
        new = (x for x in p.violated if x not in last.violated)
        violated = "".join(f"{printable(f'{name}: violated: {x}')}\n" for x in new)
        write_over(violated + line(name, p, last))
        last = p

    return show


def line(name: str, p: Progress, last: Progress) -> str:
    """What there is to say now; the speed is that since the last time."""
    text = f"{name}: {p.states:,} states, {p.waiting:,} waiting, depth {p.depth}"
    if p.seconds > last.seconds:
        text += f", {(p.states - last.states) / (p.seconds - last.seconds):,.0f} states/s"
    return text + (f", {_bytes(p.memory)}" if p.memory else "")


def clear() -> None:
    """Take the line away."""
    if overwritable():
        write_over("")


def _bytes(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
