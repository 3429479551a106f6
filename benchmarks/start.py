"""How long `fsm` takes to start, as a multiple of what Python takes: `check` of ten lines, `verify` of two states.

Usage: python benchmarks/start.py [CHECKOUT] [--runs N]. With another checkout, the same commands of both, in turns.
Prints processor time (user and system), the least of all runs: on a busy computer other figures say little. Byte code
is cached before.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent

DOOR = """machine Door {
    initial state Open
    state Closed
    event shut, open  from environment

    Open   -> Closed  on shut
    Closed -> Open    on open
}
"""
HOUSE = """
system House {
    door: Door
}
"""

COMMANDS = {"check": DOOR, "verify": DOOR + HOUSE}


def seconds(command: list[str], checkout: Path, folder: str) -> float:
    """Processor time of a process, in a folder without modules."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(checkout)}
    subprocess.run([sys.executable, *command], cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the startup time of fsm.")
    parser.add_argument("checkout", nargs="?", type=Path, help="compare with this checkout")
    parser.add_argument("--runs", type=int, default=25)
    options = parser.parse_args()
    checkouts = [ROOT] if options.checkout is None else [ROOT, options.checkout.resolve()]
    with tempfile.TemporaryDirectory() as folder:
        runs = {("python", ROOT): ["-c", "pass"]}
        script = ["-c", "from fsmdsl.__main__ import main; main()"]  # as the command `fsm` does it
        for name, text in COMMANDS.items():
            path = Path(folder, f"{name}.fsm")
            path.write_text(text, "utf-8")
            runs |= {(name, x): [*script, name, str(path)] for x in checkouts}
        least = dict.fromkeys(runs, float("inf"))
        for _ in range(options.runs + 1):
            for key, command in runs.items():
                least[key] = min(least[key], seconds(command, key[1], folder))
    bare = least["python", ROOT]
    print(f"python: {1000 * bare:.1f} ms")
    for name in COMMANDS:
        own, *others = (least[name, x] for x in checkouts)
        beside = "".join(f"; {x / bare:.1f} x there: {own / x:.2f} of it" for x in others)
        print(f"fsm {name}: {1000 * own:.1f} ms, {own / bare:.1f} x python{beside}")


if __name__ == "__main__":
    main()
