"""What a release contains, as CycloneDX: `python release/bill_of_materials.py OUT`.

`toolkit.cdx.json` has the wheel's dependencies with the extras that people install, `allocator.cdx.json` those of the
container image; each from its lock, with versions, licences where they are known, and digests.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).absolute().parent.parent
LOCKS = {"toolkit": "library", "allocator": "application"}
"""A lock in `requirements`, and what CycloneDX calls the thing that has these dependencies."""


def main(out: Path) -> None:
    """Write the bills. The same lock gives the same bytes. Raises `CalledProcessError` if a lock cannot be read."""
    out.mkdir(parents=True, exist_ok=True)
    for name, kind in LOCKS.items():
        command = [
            sys.executable, "-m", "cyclonedx_py", "requirements", f"requirements/{name}.txt",
            "--pyproject", "pyproject.toml", "--mc-type", kind, "--output-reproducible", "--output-format", "JSON",
            "--output-file", str(out.absolute() / f"{name}.cdx.json"),
        ]  # fmt: skip
        subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
