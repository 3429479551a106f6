"""Kills of commands that write: each file must be the old one or the new one, and the next run must set all right.

    python tests/campaign_kills.py --kills 200 --seed 1

A command runs in a process of its own, forked from this one, so that its start takes no time. It is killed at a random
moment: by SIGKILL anywhere in its run or shortly after its first sign of writing, or by a timer of its own within a
millisecond after it has opened one of its files to write it, which is where a file could be cut short.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import uvicorn  # noqa: E402, F401  # loaded once, before the forks

from fsmdsl import check as checks  # noqa: E402, F401
from fsmdsl import classes as emit  # noqa: E402, F401
from fsmdsl import search as explore  # noqa: E402, F401
from fsmdsl.cli.run import main  # noqa: E402
from fsmdsl.editor.live import app  # noqa: E402, F401
from fsmdsl.model import resolve  # noqa: E402, F401
from fsmdsl.text.files import manifest  # noqa: E402
from fsmdsl.text.files.write import LITTER  # noqa: E402

Tree = dict[str, bytes]

os.environ["SOURCE_DATE_EPOCH"] = "0"
"""A report says when it was made."""

TIMES = re.compile(rb"[\d.,]+ (s|ms|states/s)\b")
"""A report says how long explorations took."""


def spec(name: str, *, event: str = "push", rough: bool = False, rows: int = 20) -> str:
    """A module with a machine of many transitions; `rough`: not formatted."""
    gap = "   " if rough else " "
    states = "".join(f"    state{gap}S{n}\n" for n in range(1, rows))
    steps = "".join(f"    S{n} -> S{(n + 1) % rows} on{gap}{event}\n" for n in range(rows))
    system = "\nsystem One {\n    door: Door\n    reachable far: door in S3\n}\n"
    head = f"module {name}\n\nmachine Door {{\n    initial state S0\n{states}    event {event} from environment\n"
    return f"{head}{steps}}}\n{system}"


@dataclass
class Result:
    """What the kills have done."""

    kills: Counter[str] = field(default_factory=Counter)
    """By operation, and how the process ended: `killed` in time, or it was `done` before."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """By operation: runs that have left all files old, all new, or some of each."""
    litter: int = 0
    """Hidden files that were left behind."""
    broken: list[str] = field(default_factory=list)
    """Files that were neither old nor new, and folders that the next run has not set right."""


def tree(folder: Path) -> Tree:
    """All files of a folder but what was left behind half written, and the manifest."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(LITTER) and path.name != manifest.NAME:
            found[str(path.relative_to(folder))] = TIMES.sub(b"", path.read_bytes())
    return found


def put(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Make a folder hold these files, and no others."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


@dataclass(frozen=True)
class Timer:
    """The end of a process: so many seconds after it opens the file of a number, counted from 1, for writing."""

    file: int
    seconds: float

    def start(self, folder: Path) -> None:
        """In this process. SIGALRM ends it as SIGKILL would: no line of it runs any more."""
        left = self.file

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            if event != "open" or not isinstance(arguments[0], str) or not isinstance(arguments[2], int):
                return
            if arguments[2] & (os.O_WRONLY | os.O_RDWR) and Path(arguments[0]).absolute().is_relative_to(folder):
                left -= 1
                if left == 0:
                    signal.setitimer(signal.ITIMER_REAL, self.seconds)

        sys.addaudithook(hook)


def forked(arguments: list[str], cwd: Path, out: int | None = None, timer: Timer | None = None) -> int:
    """The number of a process that runs `fsm` in a folder."""
    child = os.fork()
    if child:
        return child
    try:  # the child never returns from here
        os.chdir(cwd)
        os.dup2(os.open(os.devnull, os.O_WRONLY) if out is None else out, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        if timer is not None:
            timer.start(cwd)
        main(arguments)
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    finally:
        os._exit(99)


def ended(child: int) -> str:
    """How a process has ended."""
    status = os.waitpid(child, 0)[1]
    return "killed" if os.WIFSIGNALED(status) else f"done with {os.WEXITSTATUS(status)}"


def kill_at(child: int, folder: Path, moment: float, *, writing: bool) -> str:
    """Kill a process so many seconds after its start, or after its first sign of writing in a folder."""
    begun = time.monotonic()
    if writing:
        before = _stamps(folder)
        while _stamps(folder) == before and os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() - begun > 60:
                break
            time.sleep(0.0005)
    time.sleep(moment)
    try:
        os.kill(child, signal.SIGKILL)
        return ended(child)
    except (ProcessLookupError, ChildProcessError):
        return "done"


def _stamps(folder: Path) -> list[tuple[str, int]]:
    found = []
    for here, folders, names in os.walk(folder):
        for name in (*folders, *names):
            try:
                found.append((name, os.stat(os.path.join(here, name)).st_mtime_ns))
            except FileNotFoundError:
                found.append((name, 0))
    return sorted(found)


class Command:
    """A command that turns the old files of a folder into new ones."""

    def __init__(self, name: str, folder: Path, arguments: list[str], written: str) -> None:
        self.name, self.folder, self.arguments = name, folder, arguments
        self.out = folder / written
        """The folder that it writes to."""

    def prepare(self, old: Callable[[], None], new: Callable[[], None]) -> None:
        """`old` and `new` make the files that the command then finds."""
        old()
        self.run()
        self.before = self.whole()
        new()
        begun = time.monotonic()
        self.run()
        self.seconds, self.after = time.monotonic() - begun, tree(self.out)

    def run(self) -> str:
        """To its end."""
        return ended(forked(self.arguments, self.folder))

    def whole(self) -> Tree:
        """All files of the folder, inputs and manifests included."""
        return {str(x.relative_to(self.folder)): x.read_bytes() for x in self.folder.rglob("*") if x.is_file()}

    def kill(self, result: Result, chance: random.Random, inputs: Mapping[str, bytes]) -> None:
        """Once: from the old files on, with new inputs."""
        put(self.folder, {**self.before, **inputs})
        old = tree(self.out)
        if chance.random() < 0.5:
            timer = Timer(chance.randint(1, len(self.after) + 2), chance.uniform(1e-5, 1e-3))
            how = ended(forked(self.arguments, self.folder, timer=timer))
        else:
            writing = chance.random() < 0.5
            moment = chance.uniform(0, 0.15 if writing else self.seconds)
            how = kill_at(forked(self.arguments, self.folder), self.out, moment, writing=writing)
        result.kills[f"{self.name} {how}"] += 1
        found = tree(self.out)
        for name in found.keys() | old.keys() | self.after.keys():
            if found.get(name) not in (old.get(name), self.after.get(name)):
                result.broken.append(f"{self.name}: {name} is neither old nor new")
        state = "all old" if found == old else "all new" if found == self.after else "some of each"
        result.outcomes[f"{self.name}: {state}"] += 1
        result.litter += sum(x.name.endswith(LITTER) for x in self.folder.rglob(".*"))
        again = self.run()
        if again not in ("done with 0", "done with 1") or tree(self.out) != self.after:
            result.broken.append(f"{self.name}: the next run {again}, and the files are not as they should be")


def commands(folder: Path) -> list[tuple[Command, Tree]]:
    """`fmt`, `generate` and `report`, with their new inputs."""
    found = []
    rough = {f"specs/m{n}.fsm": spec(f"m{n}", rough=True).encode() for n in range(6)}
    fmt = Command("fmt", folder / "fmt", ["fmt", "specs"], "specs")
    fmt.folder.mkdir()
    fmt.prepare(lambda: put(fmt.folder, rough), lambda: put(fmt.folder, rough))
    found.append((fmt, rough))
    for name, out in (("generate", "generated"), ("report", "build/report")):
        command = Command(name, folder / name, [name, "specs"], out)
        command.folder.mkdir()
        old = {f"specs/m{n}.fsm": spec(f"m{n}").encode() for n in range(3)}
        new = {f"specs/m{n}.fsm": spec(f"m{n}", event="pull").encode() for n in range(2)}

        def change(command: Command = command, new: Tree = new) -> None:
            (command.folder / "specs" / "m2.fsm").write_text(spec("m3", event="pull"))
            for path, content in new.items():
                (command.folder / path).write_bytes(content)

        command.prepare(lambda command=command, old=old: put(command.folder, old), change)  # type: ignore[misc]
        found.append((command, {**new, "specs/m2.fsm": spec("m3", event="pull").encode()}))
    return found


# The page ------------------------------------------------------------------------------------------------------------


def kill_save(folder: Path, result: Result, chance: random.Random) -> None:
    """Kill a server while a page saves one text after the other."""
    path = folder / "door.fsm"
    texts = [spec("door", rows=rows) for rows in (50, 900)]
    path.write_text(texts[0])
    reading, writing = os.pipe()
    child = forked(["serve", "door.fsm", "--port", "0"], folder, writing)
    os.close(writing)
    said = b""
    while (address := re.search(rb"http://127.0.0.1:(\d+)/#token=([\w-]+)", said)) is None or not said.endswith(b"\n"):
        said += os.read(reading, 4096)
    port, token = int(address[1]), address[2].decode()
    saves = [0]
    saving = threading.Thread(target=_save, args=(port, token, texts, saves))
    saving.start()
    while not saves[0] and saving.is_alive():
        time.sleep(0.001)
    time.sleep(chance.uniform(0, 0.4))
    os.kill(child, signal.SIGKILL)
    result.kills[f"save {ended(child)}"] += 1
    saving.join()
    os.close(reading)
    found = path.read_text()
    if found not in texts:
        result.broken.append(f"save: {len(found)} characters are neither text")
    result.outcomes[f"save: text {texts.index(found) if found in texts else '?'}"] += 1
    result.litter += sum(x.name.endswith(LITTER) for x in folder.glob(".*"))


def _save(port: int, token: str, texts: list[str], saves: list[int]) -> None:
    """Until the server is gone."""
    headers = {"x-fsm-token": token, "content-type": "application/json"}
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", "/api/read", json.dumps({"name": "door.fsm"}), headers)
        version = json.loads(connection.getresponse().read())["version"]
        for n in range(1, 10_000):
            body = {"name": "door.fsm", "text": texts[n % 2], "base": version}
            saves[0] += 1
            connection.request("POST", "/api/write", json.dumps(body), headers)
            version = json.loads(connection.getresponse().read())["version"]
    except (OSError, http.client.HTTPException, ValueError):
        return


def campaign(folder: Path, kills: int, seed: int) -> Result:
    """So many kills, dealt out to the four operations."""
    result, chance = Result(), random.Random(seed)
    made = commands(folder)
    page = folder / "page"
    page.mkdir()
    for n in range(kills):
        if n and n % 20 == 0:
            print(f"{n} kills, {len(result.broken)} problems", file=sys.stderr, flush=True)
        if n % 4 == 3:
            kill_save(page, result, chance)
        else:
            command, inputs = made[n % 4]
            command.kill(result, chance, inputs)
    return result


def run() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="fsm-kills-") as made:
        result = campaign(Path(made), given.kills, given.seed)
    for counted in (result.kills, result.outcomes):
        for name, count in sorted(counted.items()):
            print(f"{count:5}  {name}")
    print(f"{result.litter:5}  hidden files left behind")
    for problem in result.broken:
        print(problem)
    sys.exit(1 if result.broken else 0)


if __name__ == "__main__":
    run()
