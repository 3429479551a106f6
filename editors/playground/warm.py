"""Run before the snapshot is taken: imports what the page needs, and reads what is read once.

After a snapshot is restored, this memory is there; the files that were read for it are not.
"""

import gc
import json

from fsmdsl.draw.formats import TEXTS
from fsmdsl.editor.live.playground import Playground, explore

DOOR = """\
module door

/// A door.
machine Door {
    initial state Shut
    state Open
    event push from environment
    open:  Shut -> Open on push
    close: Open -> Shut on push
    invariant never: Shut
}

system One { door: Door  environment { door.push }  property again: always eventually door in Open }
"""

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="8pt" height="8pt" viewBox="0 0 8 8"><g id="a" class="graph"/></svg>'
)


class Warming:
    """A playground that is thrown away."""

    def __init__(self) -> None:
        self.playground = Playground("warm")

    def ask(self, name: str, /, **question: object) -> dict[str, object]:
        """An answer. Raises `AssertionError` where it is refused."""
        status, content = json.loads(self.playground.answer(name, json.dumps(question)))
        assert status == 200, content
        return content


def warm() -> None:
    """Every kind of question, once."""
    ask, file = Warming().ask, "warm/door.fsm"
    ask("open", files={"door.fsm": DOOR, "other.fsm": "module other\nmachine Odd { state }\n"})
    ask("files")
    ask("read", name=file)
    ask("analysis", file=file)
    ask("analysis", file=file, documented=True, texts={file: DOOR.replace("-> Shut", "-> Shutt")})
    ask("complete", file=file, at=120)
    ask("hover", file=file, at=120)
    ask("format", text=DOOR)
    ask("open", files={"door.fsm": DOOR})
    ask("drawn", key=ask("diagram", machine="door.Door")["key"], svg=SVG)
    for form in TEXTS:
        ask("export", machine="door.Door", form=form)
    run = ask("start", system="door.One", steps=["door.push"])["id"]
    ask("why", id=run, at=0, text="door.pull")
    ask("save-run", id=run, at=1, name="found")
    ask("write", name=file, text=DOOR + "\n", base=ask("read", name=file)["version"])
    ask("zip")
    explore(json.dumps(ask("job", system="door.One")), lambda event, content: None)


warm()
gc.collect()
