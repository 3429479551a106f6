"""`--max-seconds` and `--max-memory`: the budget of a command, which begins before the first byte is read.

A command declares that it has limits with `limit_options`, and does its work inside `within`. `UNLIMITED` lists the
others, each with the reason.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from fsmdsl.cli import BOUNDED, usage
from fsmdsl.cli import INTERRUPTED as INTERRUPTED_CODE
from fsmdsl.cli.common import chosen, paint, say_json
from fsmdsl.cli.invocation import invocation
from fsmdsl.cli.messages import say, unstyled
from fsmdsl.model.workspace import UNFINISHED
from fsmdsl.text.budget import INTERRUPTED, Budget, LimitError, available, resident
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Source, Span

if TYPE_CHECKING:
    from fsmdsl.cli.printing import Printing

UNLIMITED = {
    "serve": "it runs until it is ended; each exploration on the page has limits of its own",
    "lsp": "it runs until the editor ends it; each exploration in it has limits of its own",
    "init": "it writes one small file",
    "cache": "it lists one folder, whose size is bounded",
    "completion": "it prints one small text",
}
"""The commands without limits, each with the reason: they cannot take long, or are there to take long."""

MINUTES = 300.0
"""The limit of commands that are done in seconds unless something is wrong."""

Form = Literal["text", "json", "document"]
"""What a command without `Printing` prints: lines for a person, a JSON document, or what could be a file."""


def limit_options(
    seconds: float | None = None,
    summary: str = "Stop after this many seconds",
    shared: Callable[[], bool] = lambda: False,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--max-seconds` and `--max-memory` of a command, which gets the budget as `budget`. `seconds`: the default;
    `summary`: the help without the default; `shared`: do several processes do the work together?"""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def limited(*args: Any, max_seconds: float | None, max_memory: float | None, **options: Any) -> None:
            command(*args, budget=command_budget(max_seconds, max_memory, shared=shared()), **options)

        description = summary + ("." if seconds is None else f" (default: {seconds:g}).")
        above_zero = usage.number(0, min_open=True)
        limited = usage.option(
            "--max-memory",
            type=above_zero,
            metavar="GB",
            help="Stop when the process uses this much memory (default: three quarters of the free memory).",
        )(limited)
        return usage.option("--max-seconds", type=above_zero, default=seconds, help=description)(limited)

    return decorate


def command_budget(seconds: float | None, gigabytes: float | None, *, shared: bool = False) -> Budget:
    """The budget of a command. It began with the process, where the process is there for the command alone."""
    memory = resident() + available() * 3 // 4 if gigabytes is None else int(gigabytes * 10**9)
    return Budget(seconds, memory, shared=shared, begun=invocation().begun)


@contextmanager
def within(
    budget: Budget,
    paths: Sequence[str],
    out: Printing | Form = "text",
    before: str = "the specs were read and checked",
) -> Iterator[None]:
    """Inside, the limits hold. Where one is reached the command ends with `BOUNDED`, for nothing is known: it says
    `before` what. Ctrl-C ends it as ever."""
    try:
        with budget, _uncollected():
            budget.check()
            yield
            return
    except LimitError:
        pass
    except MemoryError:
        budget.stop("stopped: no memory is left")
    end_bounded(budget, paths, out, before)


def end_bounded(budget: Budget, paths: Sequence[str], out: Printing | Form, before: str) -> NoReturn:
    """End a command whose limit came before what it is for; see `within`."""
    if budget.reached == INTERRUPTED:
        raise KeyboardInterrupt
    message = f"{paint('bounded ', 'warning')}  {budget.reached}, before {before}"
    unfinished = UNFINISHED.at(Span(Source(" ".join(chosen(paths)), ""), 0, 0), unstyled(message))
    match out:
        case "text":
            say(message)
        case "document":
            say(message, err=True)
        case "json":
            from fsmdsl.report.data import diagnostics

            say_json("diagnostics", diagnostics([unfinished]))
        case _:
            _finish(out, message, unfinished)
    sys.exit(BOUNDED)


def _finish(out: Printing, message: str, unfinished: Diagnostic) -> None:
    from fsmdsl.report.formats.check_results import from_check

    out.say(message)
    out.finish(lambda: from_check([unfinished], [unfinished], (), unstyled(message), "diagnostics"))


def exit_code(budget: Budget, code: int) -> int:
    """The code that a command ends with, where it has printed what it knew when Ctrl-C came: never one that says that
    something is wrong, or that all is well."""
    return INTERRUPTED_CODE if budget.reached == INTERRUPTED else code


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
