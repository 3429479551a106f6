"""`fsm verify --replay FOLDER`: a test for every violation, and the classes that the tests drive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fsmdsl import classes as emit
from fsmdsl import model as m
from fsmdsl.classes.replays.replay import Holder, Moment, Run, replay
from fsmdsl.cli.output_files import generated, write_folder
from fsmdsl.runs.replay import broken
from fsmdsl.search import Exploration, Verdict
from fsmdsl.step import Universe

PACKAGE = "replayed"
"""The folder of the generated packages, beside the tests."""

CONFTEST = f'''# {emit.MARK}.
"""Lets the tests import the classes that they drive, from `{PACKAGE}`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
'''


def write_replays(explorations: list[Exploration], model: m.Model, folder: Path, *, force: bool = False) -> list[Path]:
    """Write the tests; what earlier calls have written and this one does not is removed. Gives the tests' paths."""
    files: dict[str, str] = {}
    for x in explorations:
        files.update({f"{name}.py": text for name, text in _tests(x, model)})
    tests = [folder / name for name in files]
    if tests:
        for module in model.modules:
            files.update({f"{PACKAGE}/{p}": text for p, text in emit.python(model, module.name).items()})
        files["conftest.py"] = CONFTEST
    write_folder(folder, "verify --replay", files, ours=generated, force=force)
    return tests


def _tests(x: Exploration, model: m.Model) -> Iterator[tuple[str, str]]:
    """Each violation that a run shows, as `test_hived_PreemptionSmall_unhandled` and the text."""
    universe = Universe(model, x.system)
    taken: set[str] = set()
    for v in x.violations:
        if v.trace is None:
            continue
        name = base = re.sub(r"\W+", "_", f"{x.system.qualified} {_called(v)}").strip("_")
        for n in range(2, len(x.violations) + 2):
            if name not in taken:
                break
            name = f"{base}_{n}"
        taken.add(name)
        moments = tuple(Moment(e.step, e.cascade, e.world, e.fault) for e in v.trace.entries)
        start, holder = universe.beginning(v.trace.start), _holder(universe, v)
        run = Run(start, name, v.explanation, moments, v.trace.loop, holder)
        yield f"test_{name}", replay(run, PACKAGE)


def _called(v: Verdict) -> str:
    return v.kind if v.kind == "deadlock" else v.name


def _holder(universe: Universe, v: Verdict) -> Holder | None:
    """Whose invariant is broken at the end."""
    violation = broken(universe, v, v.trace.end) if v.kind == "invariant" and v.trace is not None else None
    if violation is None:
        return None
    return "system" if violation[0].instance is None else violation[0].instance
