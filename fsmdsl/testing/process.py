"""An implementation in another language: a program that reads a request from each line, and answers with a line.

Requests and replies are JSON objects (UTF-8); docs/twin-in-another-language.md lists them. One program serves all
walks of a test: `start` begins anew.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, TypedDict

from fsmdsl.testing.implementation import Action
from fsmdsl.testing.plain_values import Instance, RecordParts
from fsmdsl.testing.twin import Twin


class RefusedError(Exception):
    """The program refused an event."""


class ProgramError(Exception):
    """The program reported an error, ended, answered too late, or with something that the protocol does not have."""


class Reply(TypedDict, total=False):
    """What a program answers. `states` is always there, the others where they apply."""

    states: dict[str, str]
    fields: dict[str, dict[str, Any]]
    performed: list[dict[str, Any]]
    refused: str
    error: str


class ProcessTwin(Twin):
    """A twin in another language.

    ```python
    class TestLease(ProcessTwin):
        specs = "specs/lease.fsm"
        system = "Shared"
        command = ["go", "run", "./lease"]
    ```

    With `refusal = None`, events that the model does not handle are not sent.
    """

    command: ClassVar[Sequence[str]] = ()
    """The program with its arguments. What it writes to its standard error is that of the test."""
    folder: ClassVar[str | Path | None] = None
    """Where it runs; the current folder unless you say so."""
    reply_seconds: ClassVar[float] = 30.0
    """A reply that takes longer is an error."""
    refusal = RefusedError

    _program: ClassVar[_Program | None] = None
    _reply: Reply = {}

    @classmethod
    def finish(cls) -> None:
        """End the program: its input ends; a second later, it is killed."""
        if cls._program is not None:
            cls._program.end()
            cls._program = None

    def start(self, instances: Sequence[Instance]) -> None:
        """Begin anew: with a new program, where there is none, or the last one failed."""
        mine = type(self)
        if mine._program is not None and mine._program.failed:
            mine.finish()
        if mine._program is None:
            mine._program = _Program(mine.command, mine.folder)
        descriptions = [
            {name: getattr(x, name) for name in ("name", "machine", "state", "parameters", "fields")} for x in instances
        ]
        self._ask(do="start", instances=descriptions)

    def event(self, instance: str, name: str, arguments: Mapping[str, object]) -> None:
        """`{"do": "event", …}`."""
        self._ask(do="event", instance=instance, name=name, arguments=arguments)

    def answer(self, instance: str, action: str, outcome: str) -> None:
        """`{"do": "answer", …}`."""
        self._ask(do="answer", instance=instance, action=action, outcome=outcome)

    def timeout(self, instance: str, transition: str) -> None:
        """`{"do": "timeout", …}`."""
        self._ask(do="timeout", instance=instance, transition=transition)

    def deliver(self, channel: str, position: int) -> None:
        """`{"do": "deliver", …}`."""
        self._ask(do="deliver", channel=channel, position=position)

    def lose(self, channel: str, position: int) -> None:
        """`{"do": "lose", …}`."""
        self._ask(do="lose", channel=channel, position=position)

    def duplicate(self, channel: str, position: int) -> None:
        """`{"do": "duplicate", …}`."""
        self._ask(do="duplicate", channel=channel, position=position)

    def crash(self) -> None:
        """`{"do": "crash"}`."""
        self._ask(do="crash")

    def crash_of(self, instances: Sequence[str]) -> None:
        """`{"do": "crash", "of": […]}`."""
        self._ask(do="crash", of=list(instances))

    def recover(self) -> None:
        """`{"do": "recover"}`."""
        self._ask(do="recover")

    def state(self, instance: str) -> str:
        """As the last reply has it."""
        states = self._reply["states"]
        if instance not in states:
            raise ProgramError(f"the reply has no state for `{instance}`: {_shortened(json.dumps(self._reply))}")
        return states[instance]

    def fields(self, instance: str) -> Mapping[str, object]:
        """Those that the last reply has."""
        return self._reply.get("fields", {}).get(instance, {})

    def performed(self) -> Sequence[Action] | None:
        """As the last reply has it; not compared where it has none."""
        actions = self._reply.get("performed")
        if actions is None:
            return None
        return [Action(str(x.get("instance")), str(x.get("name")), x.get("arguments") or {}) for x in actions]

    def _ask(self, **request: object) -> None:
        program = type(self)._program
        assert program is not None, "`start` has begun it"
        self._reply = program.ask(request, self.reply_seconds)
        if "refused" in self._reply:
            raise RefusedError(self._reply["refused"])
        if "error" in self._reply:
            raise ProgramError(self._reply["error"])


class _Program:
    """A process, with the lines that it writes."""

    def __init__(self, command: Sequence[str], folder: str | Path | None) -> None:
        if not command:
            raise ValueError("say which program runs: `command = [...]`")
        self.failed = False
        self.process = subprocess.Popen(
            list(command), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None, "a pipe"
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")  # the program has closed its output: no line is empty, each has its line feed

    def ask(self, request: Mapping[str, object], seconds: float) -> Reply:
        """One request, answered within so many seconds. Raises `ProgramError`; then the program is of no more use."""
        self.failed = True  # until the reply is complete, so that every exception below leaves it set
        if not self.lines.empty():
            raise ProgramError(f"the program wrote more than one line for a request: {_shortened(self.lines.get())}")
        assert self.process.stdin is not None, "a pipe"
        try:
            self.process.stdin.write(json.dumps(request, default=_json_value) + "\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise ProgramError(f"no reply to `{request['do']}` within {seconds:g} s") from None
        except BrokenPipeError:
            line = ""
        if not line:
            raise ProgramError(
                f"the program ended with code {self.process.wait()}, without a reply to `{request['do']}`"
            )
        reply = _parsed(line)
        self.failed = "error" in reply
        return reply

    def end(self) -> None:
        """Its input ends; a second later, it is killed."""
        assert self.process.stdin is not None, "a pipe"
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _parsed(line: str) -> Reply:
    """A reply. Raises `ProgramError` where it has no states, no refusal and no error."""
    try:
        reply = json.loads(line)
    except ValueError:
        raise ProgramError(f"the reply is not JSON: {_shortened(line)}") from None
    shapes = {"states": dict, "fields": dict, "performed": list, "refused": str, "error": str}
    if not isinstance(reply, dict) or not ("error" in reply or "states" in reply):
        raise ProgramError(f'the reply has neither "states" nor "error": {_shortened(line)}')
    for name, shape in shapes.items():
        if name in reply and not isinstance(reply[name], shape):
            raise ProgramError(f'"{name}" in the reply is not {_SHAPES[shape]}: {_shortened(line)}')
    return reply  # type: ignore[return-value]


_SHAPES = {dict: "an object", list: "a list", str: "a text"}


def _json_value(value: object) -> object:
    """Sets, as sorted lists, and records as objects: JSON has neither."""
    if isinstance(value, RecordParts):
        return dict(value)
    assert isinstance(value, frozenset)
    return sorted(value, key=repr)


def _shortened(text: str) -> str:
    text = text.rstrip("\n")
    return text if len(text) <= 200 else f"{text[:200]}…"
