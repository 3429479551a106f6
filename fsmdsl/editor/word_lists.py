"""Lists that are made in files which are written by hand: words and formats, for editors and for the live page.

`python -m fsmdsl.editor.word_lists` writes the part of each file that is between two marks.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from fsmdsl.draw.formats import FORMATS, TEXTS
from fsmdsl.syntax import highlighting
from fsmdsl.text.files import write as disk

BEGIN = "made by `python -m fsmdsl.editor.word_lists`"
END = "end of what is made"


def formats() -> Iterator[str]:
    """Lines of `live/static/tools.js`: the formats in which the page saves a diagram."""
    for x in FORMATS:
        if x.name == "svg" or x.name in TEXTS:
            yield f"  {{ name: {json.dumps(x.name)}, label: {json.dumps(x.label)}, ending: {json.dumps(x.ending)} }},"


FILES: Mapping[str, Callable[[], Iterable[str]]] = {
    "editors/vim/syntax/fsm.vim": highlighting.vim,
    "editors/vscode/syntaxes/fsm.tmLanguage.json": highlighting.textmate,
    "editors/tree-sitter-fsm/queries/highlights.scm": highlighting.tree_sitter,
    "fsmdsl/editor/live/static/language.js": highlighting.browser,
    "fsmdsl/editor/live/static/tools.js": formats,
}
"""By their places in the repository, what makes the lines between the marks."""


def renewed(text: str, lines: Iterable[str]) -> str:
    """A file with other lines between its marks. JSON has no comments: there an object ends what is made."""
    marks = rf"([^\n]*{re.escape(BEGIN)}[^\n]*\n).*?(^[^\n]*{re.escape(END)}|^    \}}[^\n]*)"
    part = re.compile(marks, re.DOTALL | re.MULTILINE).search(text)
    assert part is not None, "the marks are missing"
    return text[: part.end(1)] + "".join(f"{line}\n" for line in lines) + text[part.start(2) :]


def write(root: Path) -> None:
    """Renew all files of a repository."""
    for name, lines in FILES.items():
        path = root / name
        disk.write(path, renewed(path.read_text("utf-8"), lines()))


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
