"""`fsm verify --explore`: a person walks from state to state, in the terminal or through a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from fsmdsl import model as m
from fsmdsl.cli.common import paint, say
from fsmdsl.explore import Entry, Exploration, Trace, Verdict
from fsmdsl.explore.explain import explain
from fsmdsl.explore.story import tree
from fsmdsl.explore.trace import world_lines
from fsmdsl.report.as_scenario import as_scenario
from fsmdsl.step import FaultError, Step, TooManyValuesError, Universe, World, describe, enabled, fire, holds
from fsmdsl.step.evaluate import Frame

MOST = 40
"""More steps than this are not listed unless asked for."""

HELP = """\
  NUMBER      take that step             back        undo the last step
  goto N      state N of the trace       trace N     another trace; alone: list them
  list TEXT   the steps with TEXT        why         what must hold, and whether it does here
  save FILE   the run as a scenario      quit        stop"""


def walkthrough(x: Exploration, model: m.Model, hint: Callable[[Path], str]) -> None:
    """Walk until the person stops or the input ends. `hint`: the command that runs a scenario saved to a file."""
    walk = _Walk(Universe(model, x.system), [v for v in x.verdicts if v.trace is not None], hint)
    say(f"walking through {x.system.qualified}; `help` says how")
    walk.show_traces()
    walk.show()
    try:
        while (line := _line()) is not None and not walk.obey(line):
            pass
    except KeyboardInterrupt:
        say()


def _line() -> str | None:
    """What the person says next; None at the end of the input."""
    click.echo("> ", nl=False)
    line = b"" if sys.stdin is None else sys.stdin.buffer.readline()
    text = line.decode("utf-8", errors="replace").strip()
    typed = line and sys.stdin.isatty()
    if not typed:
        # Nobody has typed it: an answer without its question is hard to read.
        say(_short(text))
    return text if line else None


class _Walk:
    """Where the person is: the run so far."""

    def __init__(self, universe: Universe, found: list[Verdict], hint: Callable[[Path], str]) -> None:
        self.universe, self.found, self.hint = universe, found, hint
        self.run: list[Entry] = []
        self.chosen = next((n for n, v in enumerate(found) if v.outcome == "violated"), 0)
        """The trace whose states `goto` means."""

    @property
    def world(self) -> World:
        return self.run[-1].world if self.run else self.universe.start

    @property
    def trace(self) -> Trace:
        return Trace(self.universe, self.universe.start, tuple(self.run))

    def obey(self, line: str) -> bool:
        """Do what a line says; True: stop."""
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word in ("quit", "q", "exit"):
            return True
        known: dict[str, Callable[[], None]] = {
            "": self.show,
            "help": lambda: say(HELP),
            "list": lambda: self.offer(rest, every=True),
            "back": self.back,
            "goto": lambda: self.goto(rest),
            "trace": lambda: self.choose(rest),
            "why": self.why,
            "save": lambda: self.save(rest),
        }
        if word.isdecimal() and not rest:
            self.take(word)
        elif word in known:
            known[word]()
        else:
            say(f"there is no `{_short(word)}` here; `help` says what there is")
        return False

    # Showing

    def show(self) -> None:
        """Where everything is, and what can come next."""
        self._drop_failure()
        before = self.run[-2].world if len(self.run) > 1 else self.universe.start
        last = f", after {describe(self.universe, self.run[-1].step, before)}" if self.run else ""
        say(paint(f"state {len(self.run)}{last}", "strong"))
        for line in world_lines(self.universe, self.world):
            say(f"  {line}")
        self.offer()

    def offer(self, wanted: str = "", *, every: bool = False) -> None:
        """The enabled steps by number, or those with a text in them."""
        steps = self.steps()
        shown = [(n, describe(self.universe, s, self.world)) for n, s in enumerate(steps, 1)]
        matching = [(n, text) for n, text in shown if wanted in text]
        for n, text in matching if every else matching[:MOST]:
            say(f"  {n:>4}  {text}")
        if len(matching) > MOST and not every:
            say(f"        and {len(matching) - MOST:,} more; `list` shows all, `list TEXT` those with a text in them")
        elif steps and not matching:
            say(f"none of the {len(steps):,} steps has `{_short(wanted)}` in it")

    def steps(self) -> list[Step]:
        """What can come next; where that cannot be said, why."""
        try:
            found = enabled(self.universe, self.world)
        except FaultError as error:
            say(f"the environment has no value here: {error.fault.message} ({error.fault.kind})")
        except TooManyValuesError as error:
            say(f"the environment would have to choose among {error}")
        else:
            if not found:
                say("no step leads on from here; `back` undoes the last")
            return found
        return []

    # Walking

    def take(self, number: str) -> None:
        """A step by its number. One that fails leaves everything as it is, and is only told."""
        steps = self.steps()
        if not 1 <= int(number[:9]) <= len(steps):
            say(f"there is no step {number[:9]}: they go from 1 to {len(steps)}" if steps else "there is no step")
            return
        self._drop_failure()
        before, step = self.world, steps[int(number[:9]) - 1]
        result = fire(self.universe, before, step)
        entry = Entry(step, result.cascade, result.world, result.fault)
        self.run.append(entry)
        for line in tree(self.universe, entry, before):
            say(f"  {line}")
        if result.fault is None:
            self.show()
        else:
            say("everything is as it was before; another step, or `save` to keep this")

    def _drop_failure(self) -> None:
        """A step that failed has not happened."""
        if self.run and self.run[-1].fault is not None:
            self.run.pop()

    def back(self) -> None:
        """Undo the last step."""
        if not self.run:
            say("this is the beginning")
            return
        self.run.pop()
        self.show()

    def goto(self, number: str) -> None:
        """A state of the chosen trace."""
        if not self.found:
            say("no trace was found: nothing is violated")
            return
        trace = self.found[self.chosen].trace
        assert trace is not None
        states = [e for e in trace.entries if e.fault is None]
        if not number.isdecimal() or int(number[:9]) > len(states):
            say(f"`goto N`: the states of this trace go from 0 to {len(states)}")
            return
        self.run = states[: int(number[:9])]
        self.show()

    # Traces

    def show_traces(self) -> None:
        """What was found, by number."""
        for n, v in enumerate(self.found):
            assert v.trace is not None
            mark = "*" if n == self.chosen else " "
            count = len(v.trace.entries)
            say(f" {mark} trace {n + 1}: {v.outcome}, {v.shown}, {count} step{'s' * (count != 1)}")

    def choose(self, number: str) -> None:
        """The trace that `goto` means from now on."""
        if not number:
            self.show_traces()
        elif number.isdecimal() and 1 <= int(number[:9]) <= len(self.found):
            self.chosen = int(number[:9]) - 1
            self.show_traces()
        else:
            say(f"there is no trace {_short(number)}; there are {len(self.found)}")

    # Asking and keeping

    def why(self) -> None:
        """Every invariant, and each `reachable`: is it so here, and why not?"""
        system, machines = self.universe.system, self.universe.machines
        for x in system.invariants:
            self._judge(x, x.name, [None])
        for machine in dict.fromkeys(machines):
            for x in machine.invariants:
                self._judge(x, f"{machine.name}: {x.name}", [n for n, y in enumerate(machines) if y is machine])
        for r in system.reachables:
            say(f"  {'yes' if self._holds(r.condition, None) else 'no':<5}  reachable {r.name}")
        if not (system.invariants or system.reachables or any(x.invariants for x in machines)):
            say("nothing is asked of this system")

    def _judge(self, x: m.Invariant, name: str, instances: Sequence[int | None]) -> None:
        """An invariant of the system, or of all instances of a machine."""
        failing = [n for n in instances if not self._holds(x.condition, n)]
        say(f"  {paint('fails', 'error') if failing else paint('holds', 'good')}  invariant {name}")
        for n in failing:
            whose = "" if n is None else f"in {self.universe.name(n)}: "
            for line in explain(Frame(self.universe, self.world, n), x.condition):
                say(f"         {whose}{line}")

    def _holds(self, condition: m.Expr, instance: int | None) -> bool:
        try:
            return holds(self.universe, self.world, condition, instance=instance)
        except FaultError:
            return False

    def save(self, name: str) -> None:
        """The run as a scenario in a file that is not there yet."""
        path = Path(name if name.endswith(".fsm") else f"{name}.fsm")
        if not name:
            say("`save FILE`: which file?")
            return
        script = as_scenario(self.trace, path.stem)
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(script.text)
        except FileExistsError:
            say(f"`{path}` is there already; choose another name")
            return
        except (OSError, ValueError) as error:
            say(f"cannot write `{path}`: {(getattr(error, 'strerror', None) or 'not a file name').lower()}")
            return
        if script.cut is not None:
            say(f"it ends early: {script.cut}")
        say(f"saved; `{self.hint(path)}` runs it")


def _short(text: str) -> str:
    """What a person typed, as a message can show it."""
    text = "".join(c if c.isprintable() else "·" for c in text)
    return text if len(text) <= 40 else f"{text[:39]}…"
