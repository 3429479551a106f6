"""A person walks through a system in the terminal or through a pipe: `fsm simulate`, and `fsm verify --explore`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fsmdsl.cli.common import paint
from fsmdsl.cli.line_input import LineInput, short
from fsmdsl.cli.messages import say, say_text
from fsmdsl.dataclasses import dataclass
from fsmdsl.report.as_scenario import as_scenario
from fsmdsl.runs.narrative import tree
from fsmdsl.runs.rejection import fault_lines
from fsmdsl.runs.simulation import Choice, Session, called, choices, chosen, condition_values, matching, why_not
from fsmdsl.runs.trace import world_lines
from fsmdsl.search import Trace, lines
from fsmdsl.step import within
from fsmdsl.step.describe import describe, fault_message
from fsmdsl.text.files import reason
from fsmdsl.text.files.write import create

MAX_STEPS = 40
"""More steps than this are not listed unless asked for."""

HELP = """\
  NUMBER or TEXT    take that step; TEXT may be a part that only one has
  undo, back [N]    undo the last step, or the last N     redo       take it again
  goto N            state N of the run or trace           trace N    another trace; alone: list them
  list [TEXT]       all steps, or those with TEXT         run        the run so far
  why               what must hold, and whether it does   why EVENT  why it is not possible here
  save NAME [FILE]  the run as a scenario                 quit       stop (or Ctrl-D)"""

_MARKS = {"timer": "timer", "answer": "answer", "delivery": "message", "loss": "message", "repetition": "message"}
"""What is not an event; a crash and a recovery say so themselves."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run that was found before, and what it shows."""

    label: str
    outcome: str
    trace: Trace


def walkthrough(session: Session, runs: Sequence[PastRun], hint: Callable[[Path], str], *, own: bool = False) -> None:
    """Walk until the person stops or the input ends. `hint`: the command that runs a scenario saved to a file; `own`:
    such a scenario has instances of its own, for the text declares other sizes."""
    walk = _Walk(session, runs, hint, own)
    say(f"walking through {called(session.universe.system, session.universe.model)}; `help` says how")
    if session.universe.fault is not None:
        say(f"it cannot begin as declared: {fault_message(session.universe, session.universe.fault)}")
    walk.show_traces()
    walk.show()
    terminal = LineInput(walk.words)
    try:
        while (line := terminal.line()) is not None and not walk.obey(line):
            pass
    except KeyboardInterrupt:
        say()


class _Walk:
    """Where the person is."""

    def __init__(self, session: Session, runs: Sequence[PastRun], hint: Callable[[Path], str], own: bool) -> None:
        self.session, self.runs, self.hint, self.own = session, runs, hint, own
        self.universe = session.universe
        self.chosen = next((n for n, x in enumerate(runs) if x.outcome == "violated"), 0)
        """The trace whose states `goto` means."""
        self.commands: dict[str, Callable[[str], None]] = {
            "": lambda _: self.show(),
            "help": lambda _: say_text(HELP),
            "list": lambda rest: self.offer(rest, every=True),
            "run": lambda _: say(*lines(self.session.trace)),
            "back": self.back,
            "undo": lambda _: self.back(""),
            "redo": lambda _: self.redo(),
            "goto": self.goto,
            "trace": self.choose,
            "why": self.why,
            "save": self.save,
        }

    def words(self) -> list[str]:
        """What could be typed here."""
        return [*(x for x in self.commands if x), "quit", *(c.text for c in self.choices())]

    def obey(self, line: str) -> bool:
        """Do what a line says; True: stop."""
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word in ("quit", "q", "exit"):
            return True
        if line.isdecimal():
            self.take_numbered(line)
        elif word in self.commands:
            self.commands[word](rest)
        else:
            self.take_by_text(line)
        return False

    # Showing

    def show(self) -> None:
        """Where everything is, and what can come next."""
        self.session = self.session.settled()
        last, before = self.session.last, self.session.before
        after = f", after {describe(self.universe, last.step, before)}" if last is not None else ""
        say(paint(f"state {self.session.at}{after}", "strong"))
        for line in world_lines(self.universe, self.session.world):
            say(f"  {line}")
        if not within(self.universe, self.session.world):
            say(f"  beyond the bound of `{self.universe.system.name}`: `fsm verify` explores no step from here")
        self.offer()

    def offer(self, part: str = "", *, every: bool = False) -> None:
        """The enabled steps by number, or those with a text in them."""
        steps = self.choices(explain=True)
        matching = [c for c in steps if part in c.text]
        for c in matching if every else matching[:MAX_STEPS]:
            say(f"  {c.number:>4}  {c.text}{_marks(c)}")
        if len(matching) > MAX_STEPS and not every:
            more = len(matching) - MAX_STEPS
            say(f"        and {more:,} more; `list` shows all, `list TEXT` those with a text in them")
        elif steps and not matching:
            say(f"none of the {len(steps):,} steps has `{short(part)}` in it")

    def choices(self, *, explain: bool = False) -> tuple[Choice, ...]:
        """What can come next; where that cannot be said, `explain` says why."""
        offer = choices(self.session)
        if explain and offer.problem is not None:
            say(offer.problem)
        elif explain and not offer.choices:
            say("no step is possible here; `back` undoes the last")
        return offer.choices

    # Walking

    def take_numbered(self, number: str) -> None:
        """A step by its number."""
        steps = self.choices(explain=True)
        fitting = matching(steps, number) if number.isascii() else []
        if fitting:
            self.take(fitting[0])
        else:
            say(f"there is no step {number[:9]}: they go from 1 to {len(steps)}" if steps else "there is no step")

    def take_by_text(self, text: str) -> None:
        """A step by its text, or by a part of it."""
        fitting = matching(self.choices(), text)
        if len(fitting) == 1:
            self.take(fitting[0])
        elif fitting:
            say(f"`{short(text)}` is ambiguous; type more of it, or its number")
            for c in fitting[:MAX_STEPS]:
                say(f"  {c.number:>4}  {c.text}{_marks(c)}")
        else:
            say(f"there is no `{short(text)}` here; `help` says what there is, `why {short(text)}` why not")

    def take(self, choice: Choice) -> None:
        """One step further. One that fails leaves everything as it is, and is only told."""
        self.session = chosen(self.session, choice)
        last = self.session.last
        if last is None:
            self.show()
            return
        for line in tree(self.universe, last, self.session.before):
            say(f"  {line}")
        if last.fault is None:
            self.show()
            return
        for line in fault_lines(self.universe, last.fault)[1:]:
            say(f"    {line}")
        say("the step failed and the state is unchanged; take another step, or `save` this run")

    def back(self, count: str) -> None:
        """Undo the last step, or several."""
        if count and not count.isdecimal():
            say("`back N`: how many steps?")
        elif not self.session.at:
            say("this is the beginning")
        else:
            self.session = self.session.undone(int(count[:9] or 1))
            self.show()

    def redo(self) -> None:
        """Take the step again that was undone last."""
        if self.session.at == len(self.session.entries):
            say("no step has been undone")
        else:
            self.session = self.session.redone()
            self.show()

    def goto(self, number: str) -> None:
        """A state of the chosen trace; without traces, of this run."""
        trace = self.runs[self.chosen].trace if self.runs else self.session.whole
        last = sum(e.fault is None for e in trace.entries)
        if not number.isdecimal() or int(number[:9]) > last:
            say(f"`goto N`: the states of this {'trace' if self.runs else 'run'} go from 0 to {last}")
            return
        self.session = self.session.along(trace, int(number[:9]))
        self.show()

    # Traces

    def show_traces(self) -> None:
        """What was found, by number."""
        for n, x in enumerate(self.runs):
            mark = "*" if n == self.chosen else " "
            count = len(x.trace.entries)
            say(f" {mark} trace {n + 1}: {x.outcome}, {x.label}, {count} step{'s' * (count != 1)}")

    def choose(self, number: str) -> None:
        """The trace that `goto` means from now on."""
        if not self.runs:
            say("no trace was found: nothing is violated" if not number else "there are no traces here")
        elif not number:
            self.show_traces()
        elif number.isdecimal() and 1 <= int(number[:9]) <= len(self.runs):
            self.chosen = int(number[:9]) - 1
            self.show_traces()
        else:
            say(f"there is no trace {short(number)}; there are {len(self.runs)}")

    # Asking and keeping

    def why(self, event: str) -> None:
        """Every invariant and `reachable`: is it so here, and why not? Or why an event is not possible."""
        if event:
            for line in why_not(self.universe, self.session.world, event):
                say(f"  {short(line, 400)}")
            return
        conditions = condition_values(self.universe, self.session.world)
        for a in conditions:
            if a.kind == "reachable":
                say(f"  {'yes' if a.holds else 'no':<5}  reachable {a.name}")
                continue
            say(f"  {paint('holds', 'good') if a.holds else paint('fails', 'error')}  invariant {a.name}")
            for line in a.why:
                say(f"         {line}")
        if not conditions:
            say("this system has no invariant and no `reachable`")

    def save(self, rest: str) -> None:
        """The run as a scenario in a file that is not there yet."""
        name, _, file = rest.partition(" ")
        target = file.strip() or name
        path = Path(target if target.endswith(".fsm") else f"{target}.fsm")
        if not name:
            say("`save NAME [FILE]`: what is it called?")
            return
        script = as_scenario(self.session.trace, Path(name).name.removesuffix(".fsm"), own=self.own)
        try:
            create(path, script.text)
        except FileExistsError:
            say(f"`{path}` already exists; choose another name")
            return
        except (OSError, ValueError) as error:
            say(f"cannot write `{path}`: {reason(error)}")
            return
        if script.cut is not None:
            say(f"it ends early: {script.cut}")
        say(f"saved; `{self.hint(path)}` runs it")


def _marks(c: Choice) -> str:
    """What sets a step apart from an event that goes well."""
    marks = [_MARKS[c.kind]] if c.kind in _MARKS else []
    marks += [f"would fail: {c.fault.kind}"] if c.fault is not None else []
    return paint(f"   [{', '.join(marks)}]", "error" if c.fault is not None else "quiet") if marks else ""
