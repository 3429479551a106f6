"""SPIN's opinion. It writes a C program from the exported model, which is compiled and run."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fsmdsl import model as m
from fsmdsl.core.elaborate import TooLargeNumberError
from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.export.promela import CHOICES, Promela, formula, promela
from fsmdsl.interop.export.refusals import RefusedError
from fsmdsl.interop.export.runs import Claim
from fsmdsl.interop.second_opinion.opinion import Budgeted, Key, Opinion
from fsmdsl.interop.second_opinion.process import Ended, program, run
from fsmdsl.step.evaluate import TooManyValuesError

MAX_UNOPTIMIZED_STATES = 30_000
"""Maximum number of states for which the verifier is compiled unoptimized: optimizing would cost more time."""

MAX_CHOICES = 16 * CHOICES
"""Maximum number of steps from one state; with more, SPIN gives no opinion."""


@dataclass(frozen=True, slots=True)
class Spin:
    """Where SPIN and a C compiler are."""

    spin: str
    compiler: str
    quick: bool = False
    """Compile fast rather than well: for small systems."""

    @classmethod
    def installed(cls, tool: str | None = None, *, quick: bool = False) -> Spin:
        """Raises `MissingError`."""
        compilers = ("tcc", "gcc", "cc", "clang") if quick else ("gcc", "cc", "clang", "tcc")
        spin = program(("spin",), tool, "`apt install spin` or https://spinroot.com has it")
        return cls(spin, program(compilers, None, "SPIN needs a C compiler"), quick)

    def opinion(self, model: m.Model, system: m.System, states: int, budget: Budgeted) -> Opinion:
        """Of a system that has about so many states."""
        begun = time.monotonic()
        choices = CHOICES
        while True:
            try:
                text = promela(model, system, choices)
            except (RefusedError, TooManyValuesError, TooLargeNumberError) as error:
                return Opinion("SPIN", unfinished=f"not exported: {error}")
            with tempfile.TemporaryDirectory() as folder:
                opinion = _Run(self, text, Path(folder), states, budget, begun).opinion()
            if opinion.unfinished != _TOO_MANY or choices >= MAX_CHOICES:
                return opinion
            choices *= 4


_TOO_MANY = "more choices in one state than CHOICES"


@dataclass(slots=True)
class _Run:
    tools: Spin
    text: Promela
    folder: Path
    states: int
    budget: Budgeted
    begun: float

    def opinion(self) -> Opinion:
        process = self._generate("")
        if process.code != 0:
            return self._unfinished("SPIN does not read the model", process)
        process = self._compile("-DSAFETY", "-DBFS", "-DNOCLAIM")
        if process.code != 0:
            return self._unfinished("the verifier does not compile", process)
        bits = min(max(12, (2 * self.states).bit_length()), 28)
        # -c0: do not stop at an error. -w: a hash table of 2**bits slots, about two for each expected state.
        ended = self._run(["./pan", "-c0", f"-w{bits}"])
        beyond = re.search(r"^beyond: (.*)$", ended.output, re.MULTILINE)
        if beyond is not None:
            return Opinion("SPIN", unfinished=beyond[1])
        count = re.search(r"([\d.e+]+) states, stored", ended.output)
        if ended.code != 0 or count is None or "Search not completed" in ended.output:
            return self._unfinished("SPIN's search did not end", ended)
        findings = frozenset(self._findings(ended.output))
        runs: dict[str, bool] = {}
        without = dict(self.text.claims.without)
        self._decide(runs, without)
        return Opinion(
            "SPIN",
            round(float(count[1])) - self.text.before,
            findings,
            runs,
            without,
            None,
            time.monotonic() - self.begun,
        )

    def _findings(self, output: str) -> Iterator[Key]:
        for line in output.splitlines():
            if match := re.match(r"pan:\d+: (invariant|reachable) (\d+) ", line):
                yield Key(match[1], self.text.questions[int(match[2])].name)
            elif re.match(r"pan:\d+: deadlock", line):
                yield Key("deadlock")
            elif match := re.match(r"pan:\d+: fault \d+ at (\d+): (\w+), ", line):
                yield Key("fault", match[2], str(self.text.places[int(match[1])]))

    def _decide(self, runs: dict[str, bool], without: dict[str, str]) -> None:
        """Properties of runs, each claim in a search of its own."""
        for claim in self.text.claims.claims:
            if claim.property not in without:
                holds, why = self._claim(claim)
                if why is None:
                    runs[claim.property] = runs.get(claim.property, True) and holds
                else:
                    without[claim.property] = why
        for name in without:
            runs.pop(name, None)

    def _claim(self, claim: Claim) -> tuple[bool, str | None]:
        """Does a claim hold, or why is that not known?"""
        if self._generate(formula(claim)).code != 0:
            return False, "SPIN makes no automaton of its formula"
        if self._compile("-DPROPERTIES").code != 0:
            return False, "the verifier of its formula does not compile"
        ended = self._run(["./pan", "-a", f"-m{100_000 + 8 * self.states}"])
        errors = re.search(r"errors: (\d+)", ended.output)
        beaten = errors is not None and errors[1] != "0"
        cut = "Search not completed" in ended.output or "max search depth" in ended.output
        if errors is None or ended.code != 0 or (cut and not beaten):
            return False, "SPIN's search for a run that violates it did not end"
        return not beaten, None

    def _generate(self, formulas: str) -> Ended:
        (self.folder / "model.pml").write_text(self.text.model + formulas, encoding="utf-8")
        return self._run([self.tools.spin, "-a", "model.pml"])

    def _compile(self, *flags: str) -> Ended:
        memory = f"-DMEMLIM={max(self.budget.memory >> 20, 16)}"
        speed = ["-O2"] if self.states > MAX_UNOPTIMIZED_STATES and not self.tools.quick else ["-O0"]
        vector = f"-DVECTORSZ={self.text.vector}"
        return self._run(
            [self.tools.compiler, *speed, "-w", "-DNOREDUCE", memory, vector, *flags, "-o", "pan", "pan.c"]
        )

    def _run(self, command: list[str]) -> Ended:
        return run(command, self.folder, self.begun + self.budget.seconds - time.monotonic())

    def _unfinished(self, what: str, ended: Ended) -> Opinion:
        if ended.code is None:
            return Opinion("SPIN", unfinished=f"{what} in {self.budget.seconds:g} s")
        lines = [x for x in ended.output.splitlines() if x.strip()]
        reason = next((x for x in lines if "memory" in x or "error" in x.lower()), lines[-1] if lines else "no output")
        return Opinion("SPIN", unfinished=f"{what}: {reason.strip()}")
