"""The command: `python -m tests.fuzz TARGET… --minutes 60`."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir
from time import monotonic

import click

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "runtime"), str(TESTS.parent)]

from fuzz.target import Search  # noqa: E402
from fuzz.targets import TARGETS, target  # noqa: E402

MEMORY = 8 << 30
"""Bytes of address space for a target: what asks for more fails, and the machine does not."""


ENDED = 10
"""Seconds before the end in which a target that was killed is not started again."""


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="TARGET…", type=click.Choice(["all", *TARGETS]))
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(gettempdir()) / "fuzz",
    show_default=True,
    help="Write failing inputs to this folder.",
)
@click.option("--replay", type=click.Path(path_type=Path, exists=True), help="Try the input in this file once.")
@click.option("--here", is_flag=True, hidden=True, help="Run in this process.")
def main(names: tuple[str, ...], minutes: float, out: Path, replay: Path | None, here: bool) -> None:
    """Fuzz targets, all at once, each in a process of its own. Exit code 1: something failed."""
    out.mkdir(parents=True, exist_ok=True)
    if replay is not None:
        for name in names:
            target(name).check(json.loads(replay.read_text("utf-8")))
        print("nothing fails")
    elif here:
        _search(names[0], minutes, out)
    else:
        end = monotonic() + 60 * minutes
        listed = list(TARGETS) if "all" in names else list(dict.fromkeys(names))
        running = {name: _started(name, minutes, out) for name in listed}
        sys.exit(max([_finished(name, process, end, out) for name, process in running.items()]))


def _started(name: str, minutes: float, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.fuzz", name, "--minutes", str(minutes), "--out", str(out.resolve())]
    return subprocess.Popen([*command, "--here"], cwd=TESTS.parent)


def _search(name: str, minutes: float, out: Path) -> None:
    """One target; exit code 1 where something failed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    search = Search(target(name), out, monotonic() + 60 * minutes)
    search.run()
    print(search, flush=True)
    sys.exit(int(bool(search.failures)))


def _finished(name: str, process: subprocess.Popen[bytes], end: float, out: Path) -> int:
    """The exit code of a target. One whose process was killed goes on in another."""
    code = process.wait()
    if code >= 0:
        return code
    current, kept = out / f"{name}.current", out / f"{name}-killed-{process.pid}.json"
    kept.write_text(current.read_text("ascii") if current.exists() else "null", "ascii")
    print(f"{name}: FAILED, the process was ended by signal {-code}\n  input: {kept}", flush=True)
    left = end - monotonic()
    if left > ENDED:
        _finished(name, _started(name, left / 60, out), end, out)
    return 1


if __name__ == "__main__":
    main()
