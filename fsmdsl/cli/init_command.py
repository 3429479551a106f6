"""`fsm init`: a folder of specs to start from."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from fsmdsl.cli import usage
from fsmdsl.cli.common import format_option, say_json
from fsmdsl.cli.messages import misuse, say
from fsmdsl.text.files import reason
from fsmdsl.text.files.write import create

EXAMPLE = "gang.fsm"


@usage.command("init")
@usage.argument("folder", type=usage.path(path_type=Path), default="specs")
@format_option
def command(folder: Path, form: str) -> None:
    """Create a folder with an example spec that contains a deadlock for `fsm verify` to find.

    Existing files are never overwritten, and a folder that already contains specs is rejected.
    """
    path = folder / EXAMPLE
    try:
        other = next(folder.rglob("*.fsm"), None)
        if other is not None and other != path:
            why = f"`{folder}` already contains specs, such as `{other}`, and nothing was written"
            misuse(f"{why}; name a new folder: `fsm init demo`")
        folder.mkdir(parents=True, exist_ok=True)
        create(path, files("fsmdsl.cli").joinpath(EXAMPLE).read_text("utf-8"))
    except FileExistsError:
        misuse(f"`{path}` already exists; nothing was written")
    except (OSError, ValueError) as error:
        misuse(f"cannot write `{path}`: {reason(error)}")
    if form == "json":
        say_json("init", {"written": [str(path)]})
        return
    say(f"wrote {path}", "")
    say(f"  fsm verify {folder}     explore every state, and find the deadlock")
    say(f"  fsm check {folder}      look for mistakes without running anything")
    say(f"  fsm test {folder}       run the scenario")
    say(f"  fsm draw {folder}       draw a diagram")
    say(f"  fsm generate {folder}   generate Python classes")
