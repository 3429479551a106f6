"""Notes which functions run in the processes that a test starts.

`coverage` keeps the lines of a process in its memory until it ends, and a process that is killed, forks or leaves by
`os._exit` loses them. So a process that finds this folder on its path writes a line when a function runs for the first
time: the test, the file, and the lines of that function. Python imports a module of this name when it starts, unless
its options or its environment keep it from that. A test that starts such a process is noted as blind: it counts as one
that executes everything.

Nothing is imported here, because tests ask which modules a command loads.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType

FILE, TEST, FOLDERS = "FSM_NOTES", "FSM_NOTES_TEST", "FSM_NOTES_FOLDERS"
"""Variables of the environment: where notes go, the test that runs, and the folders whose functions are noted."""
ALONE = {"-I", "-E", "-S"}
"""With these options Python does not look for this module."""
HERE = os.path.dirname(__file__)


class Notes:
    """Of one process and its forks."""

    def __init__(self) -> None:
        self.file, self.test = os.environ[FILE], os.environ.get(TEST, "")
        self.folders = tuple(os.environ[FOLDERS].split(os.pathsep))
        self.seen: dict[int, CodeType] = {}

    def profile(self, frame: "FrameType", event: str, _: object) -> None:
        """A function is called, or something else has happened."""
        code = frame.f_code
        if event != "call" or id(code) in self.seen:
            return
        self.seen[id(code)] = code  # a code object that lives on keeps its number
        if code.co_filename.startswith(self.folders):
            lines = sorted({line for *_, line in code.co_lines() if line})
            self.write(f"{self.test}\t{code.co_filename}\t{' '.join(map(str, lines))}\n")
        elif code.co_qualname == "Thread.start":
            sys.modules["threading"].setprofile(self.profile)

    def audit(self, event: str, arguments: tuple[object, ...]) -> None:
        """Something happens in the interpreter. Is a process started that will note nothing?"""
        match event, arguments:
            case "subprocess.Popen", (_, command, _, environment):
                pass
            case (("os.exec" | "os.posix_spawn"), (_, command, environment)):
                pass
            case _:
                return
        words = command if isinstance(command, list | tuple) else ()
        variables = _texts(os.environ if environment is None else environment)
        if ALONE & {_text(x) for x in words} or FILE not in variables or HERE not in variables.get("PYTHONPATH", ""):
            self.write(f"{self.test}\t\t\n")

    def write(self, line: str) -> None:
        """Where no file may grow, a link says that something is missing."""
        try:
            file = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                os.write(file, os.fsencode(line))
            finally:
                os.close(file)
        except OSError:
            try:  # noqa: SIM105
                os.symlink(self.test, f"{self.file}-{os.getpid()}")
            except OSError:
                pass


def _text(value: object) -> str:
    return os.fsdecode(value) if isinstance(value, str | bytes | os.PathLike) else ""


def _texts(environment: object) -> dict[str, str]:
    pairs = environment.items() if hasattr(environment, "items") else ()
    return {_text(name): _text(value) for name, value in pairs}


def begin() -> None:
    """Note from now on what runs in this process, if that is wanted, and as what test."""
    if FILE in os.environ:
        notes = Notes()
        sys.addaudithook(notes.audit)
        sys.setprofile(notes.profile)


begin()
