"""Half a minute of feedback while writing: lint, and the tests for the changed files.

    make quick                     # what differs from the last commit, or the last commit where nothing does
    python tests/quick.py main     # what differs from a revision

Some tests run in any case: they cover the language from end to end. The others are those of `AREAS`, by the folders of
the changed files, and changed test files themselves. A change of many folders runs the tests of those with most changed
files, so that half a minute is enough. `make test` says whether a change is right; this says soon that it is wrong.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import tiers

ROOT = Path(__file__).parent.parent

MAX_AREAS = 3
"""The maximum number of folders, and of changed test files, whose tests run."""

MAX_FAILURES = 3
"""The maximum number of failures that are shown: the others mostly have the same cause."""

ALWAYS = ("test_cases", "test_step", "test_evaluate", "test_meanings", "test_imports")

AREAS: Mapping[str, tuple[str, ...]] = {
    "fsmdsl/text": ("test_saved", "test_terminal"),
    "fsmdsl/syntax": ("test_parse", "test_format"),
    "fsmdsl/model": ("test_core", "test_systems"),
    "fsmdsl/model/resolve": ("test_names",),
    "fsmdsl/model/library": ("test_library",),
    "fsmdsl/program": ("test_program", "test_packed_cases"),
    "fsmdsl/core": ("test_core", "test_core_statements", "test_emit_cases", "test_packed_cases"),
    "fsmdsl/step": ("test_core", "test_core_statements", "test_crash", "test_rounds", "test_scenario"),
    "fsmdsl/check": ("test_rules", "test_oracles", "test_sharing"),
    "fsmdsl/classes": ("test_emit", "test_emit_cases", "test_emit_faults", "test_emit_runtime", "test_generated"),
    "fsmdsl/draw": ("test_draw", "test_draw_golden", "test_draw_layout", "test_draw_sequences", "test_draw_machines"),
    "fsmdsl/runs": ("test_explore", "test_explore_findings", "test_traces", "test_properties"),
    "fsmdsl/runs/simulation": ("test_simulation",),
    "fsmdsl/search": ("test_explore", "test_packed_cases", "test_symmetry_cases", "test_cross_check"),
    "fsmdsl/search/lower": ("test_packed",),
    "fsmdsl/report": ("test_report", "test_formats_schema"),
    "fsmdsl/report/compare": ("test_diff",),
    "fsmdsl/testing": ("test_testing",),
    "fsmdsl/interop": ("test_export",),
    "fsmdsl/interop/imports": ("test_import", "test_import_cli"),
    "fsmdsl/interop/drift": ("test_import_cli",),
    "fsmdsl/interop/logs": ("test_explain",),
    "fsmdsl/interop/certificate": ("test_certificates",),
    "fsmdsl/editor": ("test_editing", "test_names"),
    "fsmdsl/editor/lsp": ("test_lsp",),
    "fsmdsl/editor/live": ("test_live",),
    "fsmdsl/cli": ("test_command_line",),
    "runtime/service": ("runtime/test_service_engine", "runtime/test_service_input"),
    "runtime/simulate": ("runtime/test_simulate_engine", "runtime/test_simulate_trace"),
    "runtime/lifecycle": ("runtime/test_following_lag",),
    "runtime": ("runtime/test_allocator_scheduling", "runtime/test_allocator_preemption", "runtime/test_journal"),
    "specs": ("test_holes",),
    "docs": ("test_documents",),
}
"""Folder → the tests that notice most of what goes wrong in it."""


def changed(base: str | None) -> list[str]:
    """The files that differ from a revision, and those that git does not know yet."""
    differing = _git("diff", "--name-only", base or "HEAD") + _git("ls-files", "--others", "--exclude-standard")
    return differing or _git("diff", "--name-only", "HEAD~1")


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def concerned(files: Iterable[str]) -> list[str]:
    """The test files to run, relative to the root."""
    tests, areas = list[str](), Counter[str]()
    for file in files:
        if file.startswith("tests/") and Path(file).name.startswith("test_"):
            tests.append(file.removeprefix("tests/").removesuffix(".py"))
        areas.update(area for area in AREAS if file.startswith(f"{area}/"))
    names = [*ALWAYS, *tests[:MAX_AREAS], *(x for area, _ in areas.most_common(MAX_AREAS) for x in AREAS[area])]
    paths = (ROOT / "tests" / f"{name}.py" for name in dict.fromkeys(names))
    return [path.relative_to(ROOT).as_posix() for path in paths if path.is_file() and not tiers.is_full(path)]


def main(arguments: list[str]) -> int:
    """The exit code of the last command that fails. A line that is too long does not keep the tests from running."""
    tests = concerned(changed(arguments[0] if arguments else None))
    print(" ".join(tests), flush=True)
    pytest = ["pytest", "-n", "2", "--dist", "worksteal", f"--maxfail={MAX_FAILURES}", *tests]
    commands = (["ruff", "check", "."], pytest)
    codes = [subprocess.run([sys.executable, "-m", *x], cwd=ROOT, check=False).returncode for x in commands]
    return next((code for code in reversed(codes) if code), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
