"""What a release contains, as CycloneDX: `python release/bill_of_materials.py OUT`.

`toolkit.cdx.json` has the wheel's dependencies with the extras that people install, `allocator.cdx.json` those of the
container image, but for its base. Each is made from its lock: versions and digests, also of packages that only other
platforms need.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).absolute().parent.parent
THINGS = {"toolkit": ("fsmdsl", "library"), "allocator": ("allocator", "application")}
"""By lock in `requirements`: what has these dependencies, and which type of component that is."""

DESCRIPTION = '[project]\nname = "{name}"\nversion = "{version}"\nlicense = "{license}"\n'


def main(out: Path) -> None:
    """Write the bills. The same lock gives the same bytes. Raises `CalledProcessError` if a lock cannot be read."""
    out.mkdir(parents=True, exist_ok=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    with TemporaryDirectory() as folder:
        described = Path(folder, "pyproject.toml")
        for lock, (name, kind) in THINGS.items():
            described.write_text(DESCRIPTION.format(**project | {"name": name}), "utf-8")
            command = [
                sys.executable, "-W", "ignore::UserWarning", "-m", "cyclonedx_py", "requirements",
                f"requirements/{lock}.txt", "--pyproject", str(described), "--mc-type", kind,
                "--output-reproducible", "--output-format", "JSON",
                "--output-file", str(out.absolute() / f"{lock}.cdx.json"),
            ]  # fmt: skip
            subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
