"""What other checkers confirm of all systems of `specs`, with their holes, and of the models of `benchmarks`.

    python benchmarks/second_opinion.py spin --log spin.jsonl [--seconds 600] [--most 40000]
    TLA2TOOLS=tla2tools.jar python benchmarks/second_opinion.py tlc --log tlc.jsonl

Asks about one system after the other (`fsm verify --second-opinion`), the smallest first, and writes down what came
out: the same command continues where it was interrupted. Prints the rows of the table in `docs/second-opinion.md`; the
exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDERS = ("specs/confine", "specs/grove", "specs/hived", "specs/kubernetes", "specs/yunikorn", "benchmarks")


def fsm(*arguments: str) -> Any:
    """The data that a command of ours prints."""
    command = [sys.executable, "-m", "fsmdsl", *arguments, "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 3), done.stderr
    return json.loads(done.stdout)


def paths(folder: str) -> list[str]:
    """What is loaded together."""
    inner = ROOT / folder / "holes"
    return [folder, str(inner.relative_to(ROOT))] if inner.exists() else [folder]


def sizes(folder: str, most: int) -> list[tuple[int, str]]:
    """The systems, the smallest first, with as many states as are known within the limit."""
    arguments = ["verify", *paths(folder), "--all", "--no-symmetry", "--max-states", str(most + 1)]
    return sorted((x["states"], f"{x['module']}.{x['name']}") for x in fsm(*arguments)["systems"])


def opinion(folder: str, system: str, tool: str, seconds: float) -> dict[str, Any]:
    """What came out of one system, in numbers; `why`: why nothing was compared."""
    options = ["--system", system, "--second-opinion", tool, "--max-seconds", str(seconds)]
    rows = fsm("verify", *paths(folder), *options)["second_opinions"][0]["rows"]
    runs = [x for x in rows if x["what"].startswith("property")]
    others = [x for x in rows if x not in runs]
    return {
        "folder": folder,
        "system": system,
        "states": int(rows[0]["ours"]),
        "confirmed": sum(x["agreement"] == "confirmed" for x in others),
        "asked": len(others),
        "runs_confirmed": sum(x["agreement"] == "confirmed" for x in runs),
        "runs": len(runs),
        "different": [x["what"] for x in rows if x["agreement"] == "different"],
        "why": rows[0]["theirs"] if rows[0]["agreement"] == "not confirmed" else None,
    }


def table(opinions: list[dict[str, Any]]) -> Iterator[str]:
    """Rows for the documentation."""
    for folder in (*FOLDERS, "all"):
        here = [x for x in opinions if folder in (x["folder"], "all")]
        compared = [x for x in here if x["why"] is None]

        def total(what: str, of: list[dict[str, Any]] = compared) -> str:
            return f"{sum(x[what] for x in of):,}"

        counts = f"{len(here)} | {len(compared)} | {total('states')} | {total('confirmed')} of {total('asked')}"
        yield f"| `{folder}` | {counts} | {total('runs_confirmed')} of {total('runs')} |"


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description="Compare the verdicts on all systems with those of other checkers.")
    parser.add_argument("tool", choices=["spin", "tlc", "graph"])
    parser.add_argument("--log", type=Path, required=True, help="record the results in this file, and resume from it")
    parser.add_argument("--seconds", type=float, default=600, help="time limit for each system")
    parser.add_argument("--most", type=int, default=40_000, help="skip systems with more states")
    options = parser.parse_args()
    lines = options.log.read_text("utf-8").splitlines() if options.log.exists() else []
    opinions = [json.loads(x) for x in lines]
    judged = {x["system"] for x in opinions}
    left = sorted(
        (n, name, folder) for folder in FOLDERS for n, name in sizes(folder, options.most) if name not in judged
    )
    for states, name, folder in left:
        if states > options.most:
            print(f"left out: {name} has more than {options.most:,} states")
            continue
        opinions.append(opinion(folder, name, options.tool, options.seconds))
        with options.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(opinions[-1]) + "\n")
        print(json.dumps(opinions[-1]), flush=True)
    print("\n".join(table(opinions)))
    return 1 if any(x["different"] for x in opinions) else 0


if __name__ == "__main__":
    sys.exit(main())
