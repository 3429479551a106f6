"""Reference pages made from the language itself: its grammar as EBNF, an index of its keywords, and a glossary.

`python -m fsmdsl.syntax.language_pages docs` writes `grammar.md`, `keywords.md` and `glossary.md`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from fsmdsl.syntax.glossary import GLOSSARY, Term
from fsmdsl.syntax.topics import TOPIC_OF
from fsmdsl.syntax.words import MEANINGS
from fsmdsl.text.files import write as disk

GRAMMAR = """# Grammar

The grammar of `.fsm` files in EBNF, generated from the parser's grammar: `?` means optional, `*` any number, `+` at
least one, and `|` a choice. Literals are in quotes, tokens in capitals. Comments and white space are allowed between
any two tokens and have no meaning. [The reference](language.md) and [the semantics](semantics.md) explain the
constructs.

"""

INDEX = """# Keywords

Most keywords are reserved only at the start of the construct that they introduce. Elsewhere they can be used
as names. Each keyword links to the section that explains it. The last column has lines of an example; `fsm explain
KEYWORD` prints all of it.

| keyword | meaning | example |
| --- | --- | --- |
"""

TERMS = """# Glossary

This page lists each term with its meaning in fsmdsl, and its origin unless we coined it. Terms link to the sections
that explain them. `fsm explain TERM` prints a row in the terminal, often with an example.

| term | meaning | from |
| --- | --- | --- |
"""


def pages() -> dict[str, str]:
    """The name and text of each page."""
    return {
        "grammar.md": GRAMMAR + "\n".join(_chapters()),
        "keywords.md": INDEX + "".join(_keyword(word, meaning) for word, meaning in sorted(MEANINGS.items())),
        "glossary.md": TERMS + "".join(map(_term, GLOSSARY)),
    }


def _keyword(word: str, meaning: str) -> str:
    """A row of the index."""
    topic = TOPIC_OF[word]
    lines = (x.strip() for x in topic.example.splitlines() if re.search(rf"(?<!\w){word}(?!\w)", x))
    example = "<br>".join(f"`{line}`" for line in lines)
    return f"| [`{word}`]({topic.section}) | {_cell(meaning)} | {_cell(example)} |\n"


def _term(x: Term) -> str:
    """A row of the glossary."""
    text = x.text if x.topic is None else f"[{x.text}]({x.topic.section})"
    return f"| {text} | {x.meaning} | {x.origin or '–'} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _chapters() -> Iterator[str]:
    """A heading and a block of rules for each part of the grammar file."""
    text = (files("fsmdsl.syntax") / "fsm.lark").read_text("utf-8").partition("// What does not belong")[0]
    title, rules = "Files", list[str]()
    for line in text.splitlines():
        heading = re.fullmatch(r"// ([A-Z][^,.]*)[^:]*", line)
        if line.startswith("//"):
            if heading is not None and "grammar" not in line and not line.startswith("// Most"):
                yield from _chapter(title, rules)
                title, rules = heading[1], []
        elif line.strip() and not line.startswith(("%", "ENTRY", "EXIT", "ANY", "DOC", "COMMENT", "WHITESPACE")):
            rules.append(line)
    yield from _chapter(title, rules)


def _chapter(title: str, rules: list[str]) -> Iterator[str]:
    if rules:
        yield from (f"## {title}", "", "```ebnf", *map(ebnf, rules), "```", "")


def ebnf(line: str) -> str:
    """A line of the grammar without what is only of interest to the parser: names of nodes, priorities, marks."""
    line = re.sub(r"\s*->\s*[a-z_]+$", "", line)
    token = re.fullmatch(r"([A-Z]+)(?:\.-?\d+)?: (.*)", line)
    if token is not None:
        return f"{token[1]} ::= {token[2].replace('(?!' + chr(92) + 'w)', '')}"
    line = re.sub(r"(?<![\w\"])_source\b", "source_state", line)  # `source` names the document
    line = re.sub(r"^[?!]?_?([a-z_]+):", r"\1 ::=", line)
    line = re.sub(r"(?<![\w\"])_([a-z_]+)", r"\1", line)
    line = re.sub(r"\b([a-z_]+)_(?![\w\"])", r"\1", line)
    line = line.replace('"*" | ANY', '"*"').replace("ENTRY", '"on" "entry"').replace("EXIT", '"on" "exit"')
    return _optional(line)


def _optional(line: str) -> str:
    """`[x]` as `(x)?`, outside of literals."""
    parts = re.split(r'("[^"]*")', line)
    line = "".join(x if n % 2 else x.replace("[", "(").replace("]", ")?") for n, x in enumerate(parts))
    return re.sub(r"\((\w+)\)\?", r"\1?", line)


def write(folder: Path) -> None:
    """Write all pages."""
    for name, text in pages().items():
        disk.write(folder / name, text)


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
