"""`--max-seconds` and `--max-memory`: the budget of a command, which begins before the first byte is read."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from fsmdsl.cli import BOUNDED, usage
from fsmdsl.cli.common import chosen, paint
from fsmdsl.cli.invocation import invocation
from fsmdsl.cli.messages import say, unstyled
from fsmdsl.model.workspace import UNFINISHED
from fsmdsl.text.budget import INTERRUPTED, Budget, LimitError, available, resident
from fsmdsl.text.source import Source, Span

if TYPE_CHECKING:
    from fsmdsl.cli.printing import Printing
    from fsmdsl.report.formats.results import Results

MINUTES = 300.0
"""The limit of commands that are done in seconds unless something is wrong."""


def limit_options(
    seconds: float | None = None, each: str = "all of it", shared: Callable[[], bool] = lambda: False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--max-seconds` and `--max-memory` of a command, which gets the budget as `budget`. `seconds`: the default;
    `each`: for what it is; `shared`: do several processes do the work together?"""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def limited(*args: Any, max_seconds: float | None, max_memory: float | None, **options: Any) -> None:
            command(*args, budget=command_budget(max_seconds, max_memory, shared=shared()), **options)

        description = f"Stop after so long, for {each}" + ("." if seconds is None else f" (default: {seconds:g}).")
        above_zero = usage.number(0, min_open=True)
        limited = usage.option(
            "--max-memory",
            type=above_zero,
            metavar="GB",
            help="Stop when the process has so much memory (default: three quarters of what is free).",
        )(limited)
        return usage.option("--max-seconds", type=above_zero, default=seconds, help=description)(limited)

    return decorate


def command_budget(seconds: float | None, gigabytes: float | None, *, shared: bool = False) -> Budget:
    """The budget of a command. It began with the process, where the process is there for the command alone."""
    memory = resident() + available() * 3 // 4 if gigabytes is None else int(gigabytes * 10**9)
    return Budget(seconds, memory, shared=shared, begun=invocation().begun)


@contextmanager
def within(budget: Budget, paths: Sequence[str], out: Printing | None = None) -> Iterator[None]:
    """Inside, the limits hold. Where one is reached the command ends with `BOUNDED`, for nothing is known; Ctrl-C ends
    it as ever."""
    try:
        with budget, _uncollected():
            budget.check()
            yield
            return
    except LimitError:
        pass
    if budget.reached == INTERRUPTED:
        raise KeyboardInterrupt
    message = f"{paint('bounded ', 'warning')}  {budget.reached}, before the specs were read and checked"
    if out is None:
        say(message)
    else:
        out.say(message)
        out.finish(lambda: _unfinished(unstyled(message), paths))
    sys.exit(BOUNDED)


@contextmanager
def _uncollected() -> Iterator[None]:
    """What is read stays to the end, where the process is there for the command alone. To look for garbage among it can
    take a second, in one call that no limit ends."""
    if invocation().begun is None:
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _unfinished(message: str, paths: Sequence[str]) -> Results:
    from fsmdsl.report.formats.check_results import from_check

    d = UNFINISHED.at(Span(Source(" ".join(chosen(paths)), ""), 0, 0), message)
    return from_check([d], [d], (), message, "diagnostics")
