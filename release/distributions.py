"""The wheel and the sdist, built so that whoever builds them again gets the same bytes.

Usage: python release/distributions.py OUT

The time in the archives is that of the last commit, unless `SOURCE_DATE_EPOCH` says another.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).absolute().parent.parent


def build(source: Path, out: Path, epoch: str, *kinds: str) -> list[Path]:
    """Build `kinds` (`wheel`, `sdist`; else both) from a folder into another; the files, sorted by name.

    Raises `CalledProcessError` if hatchling fails.
    """
    targets = [word for kind in kinds for word in ("-t", kind)]
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out.absolute()), *targets]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    subprocess.run(command, cwd=source, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return sorted(out.iterdir())


def epoch_of(root: Path) -> str:
    """The time of the archives, in seconds since 1970."""
    command = ["git", "log", "-1", "--format=%ct"]
    return os.environ.get("SOURCE_DATE_EPOCH") or subprocess.check_output(command, cwd=root, text=True).strip()


def main(out: Path) -> None:
    """Build both into an empty folder, and print their digests."""
    shutil.rmtree(out, ignore_errors=True)
    for path in build(ROOT, out, epoch_of(ROOT)):
        print(f"{sha256(path.read_bytes()).hexdigest()}  {path.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
