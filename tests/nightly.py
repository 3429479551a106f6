"""Everything that is too long for each change, one after the other.

    python tests/nightly.py                      # the seeds of today: others each day, the same all day
    python tests/nightly.py --seeds 40000:41000  # these
    python tests/nightly.py --only twin liveness # some of it

A line before each campaign says with what command it can be repeated alone. The exit code is 1 if any of them found
something; the others are run all the same.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parent.parent
SEEDS = 1000
"""How many seeds a night has, of each kind."""


def campaigns(first: int, last: int, minutes: float) -> dict[str, list[str]]:
    """The command of each campaign, by its name. Twin walks take longer for a seed, so they have fewer."""
    some, test = f"{first}:{last}", ["-m", "pytest", "-n", "0", "-p", "no:cacheprovider"]
    return {
        "packed": ["tests/campaign.py", "packed", "--seeds", some],
        "specs": ["tests/campaign.py", "specs", "--seeds", some],
        "environments": ["tests/campaign.py", "environments", "--seeds", some],
        "unevaluated": ["tests/campaign.py", "unevaluated", "--seeds", some],
        "core": ["tests/campaign.py", "core", "--seeds", some],
        "twin": [*test, "tests/twin/test_random_twin.py"],
        "liveness": [*test, "tests/test_liveness.py", "-k", "textbook"],
        "properties": [*test, "--hypothesis-profile", "campaign", "tests/test_checks.py", "tests/test_oracles.py"],
        "diagrams": [*test, "tests/test_draw_machines.py"],
        "kills": ["tests/campaign_kills.py", "--kills", "200", "--seed", str(first)],
        "forger": ["tests/forger.py", "--tries", "100000", "--seed", str(first)],
        "mutants": ["tests/mutants.py", "--count", "500", "--minutes", str(minutes)],
    }


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description="Everything that is too long for each change.")
    parser.add_argument("--seeds", help="from:to, the last one left out; those of today unless given")
    parser.add_argument("--only", nargs="*", help="names of campaigns")
    parser.add_argument("--minutes", type=float, default=120, help="the most for mutants")
    given = parser.parse_args()
    today = date.today().toordinal() * SEEDS
    first, last = map(int, given.seeds.split(":")) if given.seeds else (today, today + SEEDS)
    failed = []
    for name, command in campaigns(first, last, given.minutes).items():
        if given.only and name not in given.only:
            continue
        print(f"{name}: FSM_SEEDS={first}:{last} python {' '.join(command)}", flush=True)
        begun = time.monotonic()
        environment = {**os.environ, "FSM_SEEDS": f"{first}:{last}", "FSM_EVERY_DIAGRAM": "1", "FSM_TESTS": "full"}
        ended = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, check=False)
        print(f"{name}: {'failed' if ended.returncode else 'good'} after {time.monotonic() - begun:.0f} s", flush=True)
        if ended.returncode:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "nothing was found", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
