"""VS Code as it is, for tests of the extension: code-server, which `python -m tests.code_server` builds.

It comes to `build/code-server`. The packages are those of `editors/code-server/package-lock.json` and of the lock files
that code-server ships. None of their install scripts runs: they would download programs. What has to be compiled is
compiled here, against the Node.js of this machine, and ripgrep is the one of this machine.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "editors" / "code-server"
FOLDER = ROOT / "build" / "code-server"
SERVER = FOLDER / "node_modules" / "code-server"
CODE = SERVER / "lib" / "vscode"
STAMP = FOLDER / "lock-of-what-is-built.json"
ARGON2 = SERVER.parent / "argon2"
NATIVE = {
    ARGON2: ("--module_name=argon2", f"--module_path={ARGON2}/lib/binding/napi-v3", "--napi_build_version=3"),
    CODE / "node_modules" / "@vscode" / "spdlog": (),
    CODE / "node_modules" / "native-watchdog": (),
    CODE / "node_modules" / "node-pty": (),
}
"""What the server loads when it starts and that has to be compiled. Kerberos and what is for Windows it never loads."""


class SetupError(Exception):
    """This machine lacks something; the text says what, and what to do."""


def missing() -> str:
    """Why there is no VS Code to test in; empty where there is one, built from the present lock."""
    if not STAMP.exists():
        return "SKIPPED, THE EXTENSION IS NOT TESTED IN VS CODE: it is not set up (`make code-server`)"
    if STAMP.read_text("utf-8") != (LOCK / "package-lock.json").read_text("utf-8"):
        return "SKIPPED, THE EXTENSION IS NOT TESTED IN VS CODE: another version is set up (`make code-server`)"
    return ""


def build() -> None:
    """Install and compile, in one to four minutes of one core. Raises `SetupError`, and `CalledProcessError`."""
    ripgrep, headers = _requirements()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(LOCK / name, FOLDER)
    install = ("npm", "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error")
    _run(FOLDER, *install)
    _run(CODE, *install, "--legacy-peer-deps")  # its lock file lacks one
    _compile(ripgrep, headers)
    shutil.copy(LOCK / "package-lock.json", STAMP)


def _compile(ripgrep: str, headers: Path) -> None:
    """What the packages' own scripts would have downloaded."""
    (CODE / "node_modules.asar").symlink_to("node_modules")
    for module, variables in NATIVE.items():
        gyp = FOLDER / "node_modules" / "node-gyp" / "bin" / "node-gyp.js"
        _run(module, "node", str(gyp), "rebuild", f"--nodedir={headers}", "--loglevel=error", *variables)
    place = CODE / "node_modules" / "@vscode" / "ripgrep" / "bin"
    place.mkdir(exist_ok=True)
    (place / "rg").symlink_to(ripgrep)


def _requirements() -> tuple[str, Path]:
    """Where ripgrep is, and the folder whose `include/node` has the headers of Node.js."""
    wanted = json.loads((LOCK / "package.json").read_text("utf-8"))["engines"]["node"]
    node = shutil.which("node")
    version = "" if node is None else subprocess.run([node, "--version"], capture_output=True, text=True).stdout.strip()
    if node is None or version.lstrip("v").split(".")[0] != wanted:
        raise SetupError(f"code-server needs Node.js {wanted}, and this is {version or 'none'}")
    headers = Path(node).resolve().parent.parent
    if not (headers / "include" / "node" / "node.h").exists():
        raise SetupError(f"there are no headers of Node.js in {headers}/include/node (`apt install libnode-dev`)")
    if shutil.which("c++") is None or shutil.which("make") is None:
        raise SetupError("there is no C++ compiler (`apt install g++ make`)")
    ripgrep = shutil.which("rg")
    if ripgrep is None:
        raise SetupError("there is no `rg` (`apt install ripgrep`)")
    return ripgrep, headers


def _run(folder: Path, *command: str) -> None:
    print(f"{folder.relative_to(ROOT)}: {' '.join(command[:3])}", flush=True)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def running(extension: Path, home: Path) -> Iterator[str]:
    """Serve VS Code with an extension (a `.vsix`) on a free port of this machine; its address. `home` is where it keeps
    its files."""
    entry = ["node", str(SERVER / "out" / "node" / "entry.js")]
    config = home / "config.yaml"
    config.write_text("auth: none\n", "utf-8")
    places = [
        "--config",
        str(config),
        "--user-data-dir",
        str(home / "data"),
        "--extensions-dir",
        str(home / "extensions"),
    ]
    environment = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    subprocess.run(
        [*entry, *places, "--install-extension", str(extension)], env=environment, check=True, capture_output=True
    )
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"]
    quiet += ["--disable-getting-started-override", "--disable-file-downloads", "--disable-proxy"]
    with (home / "log").open("w") as log:
        server = _started([*entry, *places, *quiet, "--bind-addr", address], environment, log)
        try:
            yield f"http://{address}"
        finally:
            server.terminate()
            server.wait(20)


def _started(command: list[str], environment: dict[str, str], log: IO[str]) -> subprocess.Popen[bytes]:
    """The server, when it answers. It gives up where its own second process takes more than ten seconds to begin, as it
    may on a busy machine; then it is started again."""
    address = f"http://{command[-1]}/healthz"
    for _ in range(5):
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        while server.poll() is None:
            try:
                urlopen(address, timeout=5).close()
            except (URLError, OSError):
                time.sleep(0.1)
            else:
                return server
    raise AssertionError("code-server did not start; see the file `log` beside its data")


if __name__ == "__main__":
    try:
        build()
    except SetupError as error:
        sys.exit(f"error: {error}")
