"""A release tried out: the files of `make dist` on an index of this machine, installed and used as people would.

Usage: python release/rehearsal.py DIST

1. The dependencies (`requirements/toolkit.txt`, and what builds an sdist) are downloaded, as pip is configured.
2. They and the two distributions become an index: a folder of static pages (PEP 503), served on the loopback address.
3. From here on nothing else is reachable for pip: no configuration, no other index, no cache. The wheel is installed
   into a fresh environment, and what the README and the tutorial show is done there, from top to bottom.
4. The sdist is installed into another one; it gives the same wheel.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).absolute().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from first_steps import follow  # noqa: E402
from static_server import served  # noqa: E402

VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
EXTRAS = "fast,svg,testing"


def index(folder: Path) -> None:
    """Pages for the distributions in `folder/files`: one that lists projects, and one for each with its digests."""
    projects: dict[str, list[Path]] = {}
    for path in sorted((folder / "files").iterdir()):
        found = re.match(r"(.+?)-\d", path.name)
        assert found is not None, path
        projects.setdefault(re.sub(r"[-_.]+", "-", found[1]).lower(), []).append(path)
    for name, paths in projects.items():
        page = folder / "simple" / name / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text(listed(f"../../files/{x.name}#sha256={digest(x)}" for x in paths), "utf-8")
    (folder / "simple" / "index.html").write_text(listed(f"{name}/" for name in projects), "utf-8")


def listed(links: Iterator[str]) -> str:
    """A page of links."""
    rows = "".join(f'<a href="{x}">{x.rpartition("/files/")[2].partition("#")[0]}</a><br>\n' for x in links)
    return f"<!doctype html>\n<html><head><title>index</title></head><body>\n{rows}</body></html>\n"


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return sha256(path.read_bytes()).hexdigest()


def download(folder: Path) -> None:
    """What the distributions depend on, by the locks, from where pip is configured to look."""
    for lock in ("toolkit", "action"):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--require-hashes", "--only-binary", ":all:", "-r", f"requirements/{lock}.txt", "-d", str(folder)]
        subprocess.run(command, cwd=ROOT, check=True)


def isolated() -> dict[str, str]:
    """The variables of a shell in which pip has no configuration, no cache, and no index that is not named."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON"))}
    return variables | {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def installed(folder: Path, address: str, *what: str) -> Path:
    """A fresh environment in `folder`, with what the index at `address` has of `what`, and nothing from elsewhere."""
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=folder, check=True)
    command = [".venv/bin/pip", "install", "--quiet", "--index-url", f"{address}simple/", *what]
    subprocess.run(command, cwd=folder, env=isolated(), check=True)
    return folder


def main(dist: Path) -> None:
    """Try the release out; raises an error at the first thing that is not as it should be."""
    ours = [*dist.glob("*.whl"), *dist.glob("*.tar.gz")]
    assert len(ours) == 2, f"{dist} has {len(ours)} distributions: run `make dist`"
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "files").mkdir()
        download(folder / "files")
        for path in ours:
            (folder / "files" / path.name).write_bytes(path.read_bytes())
        index(folder)
        print(f"index: {len([*(folder / 'simple').iterdir()]) - 1} projects")
        with served(folder) as address:
            fresh = installed(folder / "wheel", address, f"fsmdsl[{EXTRAS}]=={VERSION}")
            for document in ("README.md", "docs/tutorial.md"):
                print(f"{document}: {follow(ROOT / document, fresh)} commands print what it shows")
            source = installed(folder / "sdist", address, "--no-binary", "fsmdsl", f"fsmdsl=={VERSION}")
        assert package(fresh) == package(source), "the sdist installs other files than the wheel"
    print("the sdist installs the same files as the wheel")


def package(environment: Path) -> dict[str, bytes]:
    """What is installed of `fsmdsl`: the files, by name."""
    (folder,) = environment.glob(".venv/lib/*/site-packages/fsmdsl")
    files = (x for x in folder.rglob("*") if x.is_file() and x.suffix != ".pyc")
    return {x.relative_to(folder).as_posix(): x.read_bytes() for x in files}


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
