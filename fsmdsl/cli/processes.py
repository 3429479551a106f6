"""Explores the systems of a folder in several processes (`--jobs`).

Processes are forked after everything is read, so each has the model. Results are returned in the order of the systems,
and an error takes the place of the result that it prevented.

Ctrl-C reaches this process alone, which passes it on: each process ends its exploration as this one would, and starts
no other. Processes share the memory that a command may take. A system that needs more than its process's share is
explored again by this process, when all others are done.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import active_count
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from fsmdsl import model as m
from fsmdsl.cli import usage
from fsmdsl.cli.invocation import invocation
from fsmdsl.cli.messages import overwritable
from fsmdsl.cli.progress import progress
from fsmdsl.cli.ranks import several
from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.verdicts.verdict import Progress
from fsmdsl.text.budget import INTERRUPTED, Budget

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

    from fsmdsl.runs.model_pickle import ModelPickle

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Show = Callable[[Progress], None]

MAX_SERIAL = 3
"""Maximum number of systems that are explored without further processes, unless `--jobs` asks for them."""

POLL_INTERVAL = 0.1
"""Seconds between two checks for Ctrl-C."""

INTERRUPT_SIGNAL = signal.SIGUSR1 if hasattr(signal, "SIGUSR1") else signal.SIGINT
"""The signal that passes Ctrl-C on."""


def jobs_option(command: F) -> F:
    """`--jobs`."""
    return usage.option(
        "--jobs",
        type=usage.integer(1),
        metavar="N",
        help="Explore systems in N parallel processes (default: one per processor).",
    )(command)


def processes(jobs: int | None, systems: int) -> int:
    """The number of processes for a number of systems; 1 is this process. `jobs`: the option, if it was given."""
    if several() or not hasattr(os, "fork") or active_count() > 1:
        return 1
    if jobs is None:
        if systems <= MAX_SERIAL or invocation().begun is None:
            return 1
        from fsmdsl.search.memory import processors

        jobs = processors()
    return min(jobs, max(systems, 1))


@dataclass(frozen=True, slots=True)
class Work(Generic[T]):
    """The work for each system, by its number, within a budget. `shows_progress`: print progress, on a terminal."""

    models: Sequence[m.Model]
    """Those that results refer to."""
    names: Sequence[str]
    """Of the systems, for messages."""
    budget: Budget
    shows_progress: bool
    of: Callable[[int, Show | None], T]

    def show(self, n: int) -> Show | None:
        """Reports the progress of a system, if progress is shown."""
        return progress(self.names[n]) if self.shows_progress else None


@contextmanager
def results(work: Work[T], jobs: int) -> Iterator[Iterator[T]]:
    """The results in the order of the systems, computed by a number of processes."""
    if jobs == 1:
        yield (work.of(n, work.show(n)) for n in range(len(work.names)))
        return
    pool = _ProcessPool(work, jobs)
    try:
        yield map(pool.result, range(len(work.names)))
    finally:
        pool.end()


# In this process -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a process sends for a system: a pickled result, an error, or neither, if it needs more memory."""

    pickled: bytes | None = None
    error: BaseException | None = None


class _ProcessPool(Generic[T]):
    """The processes, and what they have sent."""

    def __init__(self, work: Work[T], jobs: int) -> None:
        from multiprocessing import get_context

        from fsmdsl.runs.model_pickle import ModelPickle
        from fsmdsl.search.compose import load

        load()
        self._work, self._pickle = work, ModelPickle(work.models)
        self._left = deque(range(len(work.names)))
        self._answers: dict[int, _Answer] = {}
        self._processes: dict[Connection, ForkProcess] = {}
        self._busy: dict[Connection, int] = {}
        """With which system."""
        self._interrupted = False
        fork = get_context("fork")
        for _ in range(jobs):
            here, there = fork.Pipe()
            ours = [*self._processes, here]
            process = fork.Process(target=_serve, args=(work, self._pickle, jobs, there, ours, os.getpid()))
            process.start()
            there.close()
            self._processes[here] = process
            self._give(here)

    def result(self, n: int) -> T:
        """What came of a system."""
        self._wait(lambda: n in self._answers, n)
        answer = self._answers.pop(n)
        if answer.error is not None:
            raise answer.error
        if answer.pickled is not None:
            result: T = self._pickle.loads(answer.pickled)
            return result
        self._wait(lambda: not self._busy, n)
        return self._work.of(n, self._work.show(n))

    def end(self) -> None:
        """No process is left."""
        for here, process in self._processes.items():
            here.close()
            if here in self._busy:
                process.kill()
        for process in self._processes.values():
            process.join()

    def _give(self, here: Connection) -> None:
        """The next system to a process."""
        self._busy.pop(here, None)
        if self._left:
            self._busy[here] = self._left.popleft()
            here.send(self._busy[here])

    def _wait(self, over: Callable[[], bool], n: int) -> None:
        """Take what processes send, and tell how far one system is. Ctrl-C is passed on."""
        from multiprocessing.connection import wait

        show = self._work.show(n)
        with Budget() as budget, budget.patience():
            while not over():
                for here in cast("list[Connection]", wait([*self._busy], POLL_INTERVAL)):
                    message = self._received(here)
                    if isinstance(message, _Answer):
                        self._answers[self._busy[here]] = message
                        self._give(here)
                    elif show is not None and self._busy[here] == n:
                        show(message)
                if budget.reached and not self._interrupted:
                    self._pass_on()

    def _received(self, here: Connection) -> Progress | _Answer:
        try:
            message: Progress | _Answer = here.recv()
        except EOFError:
            process, name = self._processes[here], self._work.names[self._busy[here]]
            process.join()
            why = f"the process exploring `{name}` ended with exit code {process.exitcode}"
            return _Answer(error=RuntimeError(why))
        return message

    def _pass_on(self) -> None:
        self._interrupted = True
        self._work.budget.stop(INTERRUPTED)
        for process in self._processes.values():
            assert process.pid is not None
            os.kill(process.pid, INTERRUPT_SIGNAL)


# In each of the others -----------------------------------------------------------------------------------------------


def _serve(
    work: Work[T], model_pickle: ModelPickle, jobs: int, there: Connection, others: Sequence[Connection], parent: int
) -> None:
    """Do the work for one system after the other, as long as there are any."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(INTERRUPT_SIGNAL, lambda *_: work.budget.interrupt())
    for other in others:
        other.close()
    if work.budget.memory is not None:
        work.budget.memory -= max(work.budget.room() or 0, 0) * (jobs - 1) // jobs
    shows_progress = work.shows_progress and overwritable()

    def show(p: Progress) -> None:
        if os.getppid() != parent:
            os._exit(1)  # the parent was killed
        if shows_progress:
            there.send(p)

    with suppress(EOFError, BrokenPipeError):
        while True:
            there.send(_answer(work, model_pickle, there.recv(), show))


def _answer(work: Work[T], model_pickle: ModelPickle, n: int, show: Show) -> _Answer:
    from traceback import format_exception

    budget = work.budget
    budget.crowded = False
    try:
        packed = model_pickle.dumps(work.of(n, show))
    except BaseException as error:
        error.add_note("".join(format_exception(error)))
        return _Answer(error=error if _can_be_sent(error) else RuntimeError(str(error)))
    return _Answer() if budget.crowded and budget.reached != INTERRUPTED else _Answer(packed)


def _can_be_sent(error: BaseException) -> bool:
    import pickle

    try:
        pickle.loads(pickle.dumps(error))  # our own
    except Exception:
        return False
    return True
