"""Questions that an editor asks about specs while they are written. No terminal, no protocol: texts in, values out.

The language server (`fsmdsl.editor.lsp`) and the page of `fsm serve` (`fsmdsl.editor.live`) are two faces of this
package. Both keep `OpenDocuments`, tell them of each change of a text, and ask for an `analysis`; each edit costs what
it changes. Positions are offsets in code points, counted from 0; `Source.position` converts them to lines and columns,
counted from 1, and `offset_at` converts back.

    documents = OpenDocuments(["specs"])
    documents.open("specs/cell.fsm", text)         # again after each change
    analysis = documents.analysis("specs/cell.fsm")
    analysis.diagnostics["specs/cell.fsm"]         # diagnostics, as `fsm check` prints them
    complete(analysis, "specs/cell.fsm", offset)

For a text by itself there are `tokens`, `diagnostics`, `completions` and `explanation`.
"""

from __future__ import annotations

from fsmdsl.editor.editing.analysis import Analysis
from fsmdsl.editor.editing.completion import Completion, complete
from fsmdsl.editor.editing.document import Document
from fsmdsl.editor.editing.highlight import Highlight, TokenKind, highlights
from fsmdsl.editor.editing.hover import Hover, hover
from fsmdsl.editor.editing.session import OpenDocuments
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Source

__all__ = [
    "Analysis",
    "Completion",
    "Document",
    "Highlight",
    "Hover",
    "OpenDocuments",
    "TokenKind",
    "complete",
    "completions",
    "diagnostics",
    "explanation",
    "highlights",
    "hover",
    "offset_at",
    "tokens",
]  # fmt: skip

ALONE = "spec.fsm"
"""The name of a text that is asked about by itself."""


def alone(text: str, name: str = ALONE) -> Analysis:
    """A text by itself, without files beside it."""
    open_documents = OpenDocuments()
    open_documents.open(name, text)
    return open_documents.analysis(name)


def tokens(text: str) -> list[Highlight]:
    """The words, signs and comments of a text by what they are, in its order."""
    return highlights(alone(text), ALONE)


def diagnostics(text: str, name: str = ALONE) -> list[Diagnostic]:
    """What is wrong with a text, as `fsm check` finds it."""
    return list(alone(text, name).diagnostics[name])


def completions(text: str, offset: int) -> list[Completion]:
    """What could be written at a place of a text, best first."""
    return complete(alone(text), ALONE, offset)


def explanation(text: str, offset: int) -> Hover | None:
    """What is known of the word at a place of a text."""
    return hover(alone(text), ALONE, offset)


def offset_at(source: Source, line: int, column: int) -> int:
    """The offset of a line and column, both counted from 1; of a place beyond the end of a line or of the text, that
    end."""
    starts = source.line_starts
    if line < 1:
        return 0
    if line > len(starts):
        return len(source.text)
    start = starts[line - 1]
    end = starts[line] - 1 if line < len(starts) else len(source.text)
    return min(max(start + column - 1, start), end)
