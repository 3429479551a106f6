"""Generated Python as statements: lines, and what has lines inside it.

What a writer has to know of code is known from these nodes, never from the text of a line: whether a choice can become
an `elif`, whether two states do the same, whether a condition needs brackets. `lines` writes them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import assert_never

from fsmdsl.classes.statements.text import indented
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.syntax.operators import Arithmetic

DEEPEST = 16
"""Maximum number of nested blocks in one function: Python compiles at most 20 nested loops."""


class Binds(IntEnum):
    """How tightly an expression holds together."""

    LOOSE = 0
    CONDITIONAL = 1
    OR = 2
    AND = 3
    NOT = 4
    COMPARISON = 5
    UNION = 6
    INTERSECTION = 7
    SUM = 8
    PRODUCT = 9
    SIGN = 10
    ATOM = 11


def binding(operator: Arithmetic) -> Binds:
    """How tightly an operator of numbers holds together."""
    match operator:
        case "+" | "-":
            return Binds.SUM
        case "*" | "/" | "%":
            return Binds.PRODUCT
        case _:
            assert_never(operator)


@dataclass(frozen=True, slots=True)
class Text:
    """An expression."""

    text: str
    binds: Binds = Binds.ATOM

    def within(self, binds: Binds) -> str:
        """The text, in brackets where it stands within something that binds more tightly."""
        return f"({self.text})" if self.binds < binds else self.text


def conjunction(parts: Sequence[Text]) -> Text:
    """All of these. There is at least one."""
    if len(parts) == 1:
        return parts[0]
    return Text(" and ".join(x.within(Binds.AND) for x in parts), Binds.AND)


@dataclass(frozen=True, slots=True)
class Comment:
    """A line that does nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A condition, and what is done where it holds and none before it does."""

    test: Text
    body: Block


@dataclass(frozen=True, slots=True)
class If:
    """A choice. A choice alone in `otherwise` is written as `elif`."""

    branches: tuple[Branch, ...]
    otherwise: Block = ()
    assigned: tuple[str, ...] | None = None
    """Variables of the function around that it may assign to; None where it may return from that function."""


@dataclass(frozen=True, slots=True)
class Suite:
    """`for …:` or `with …:`, and what stands in it."""

    head: str
    body: Block
    assigned: tuple[str, ...] | None = None
    """As for `If`."""


@dataclass(frozen=True, slots=True)
class Otherwise:
    """Stands for what is done where no transition is enabled, until `filled` puts it there."""


Statement = str | Comment | If | Suite | Otherwise
Block = tuple[Statement, ...]


def filled(block: Block, otherwise: Callable[[], Block]) -> Block:
    """A block with something in the place of `Otherwise`, which is asked for where there is such a place alone. What is
    chosen stands in no loop."""
    statements: list[Statement] = []
    for x in block:
        match x:
            case Otherwise():
                statements += otherwise()
            case If(branches=branches, otherwise=last):
                inner = tuple(Branch(b.test, filled(b.body, otherwise)) for b in branches)
                statements.append(replace(x, branches=inner, otherwise=filled(last, otherwise)))
            case Suite() | str() | Comment():
                statements.append(x)
            case _:
                assert_never(x)
    return tuple(statements)


# Writing out ---------------------------------------------------------------------------------------------------------


def lines(block: Iterable[Statement]) -> list[str]:
    """The body of a function. What is nested too deeply for Python stands in functions inside it, which come first."""
    functions: list[str] = []
    body = [line for x in block for line in _written(x, 0, functions)]
    return [*functions, *body]


def _written(x: Statement, depth: int, functions: list[str]) -> Iterator[str]:
    match x:
        case str():
            yield x
        case Comment(text):
            yield f"# {text}"
        case If(assigned=tuple() as shared) | Suite(assigned=tuple() as shared) if depth >= DEEPEST:
            yield f"{_apart(x, shared, functions)}()"
        case If(branches=branches, otherwise=otherwise):
            yield from _choice(branches, otherwise, depth, functions)
        case Suite(head=head, body=body):
            yield head
            yield from _inside(body, depth, functions)
        case Otherwise():
            raise TypeError("nothing is known of what stands here")
        case _:
            assert_never(x)


def _choice(branches: Sequence[Branch], otherwise: Block, depth: int, functions: list[str]) -> Iterator[str]:
    word = "if"
    while True:
        for branch in branches:
            yield f"{word} {branch.test.text}:"
            yield from _inside(branch.body, depth, functions)
            word = "elif"
        match otherwise:
            case ():
                return
            case (If(branches=branches, otherwise=otherwise),):
                continue
            case _:
                yield "else:"
                yield from _inside(otherwise, depth, functions)
                return


def _inside(body: Block, depth: int, functions: list[str]) -> list[str]:
    written = [line for x in body for line in _written(x, depth + 1, functions)]
    does_nothing = all(isinstance(x, Comment) for x in body)
    return indented([*written, *(["pass"] if does_nothing else [])])


def _apart(x: Statement, shared: tuple[str, ...], functions: list[str]) -> str:
    """The name of a function with a statement in it. It reads the variables of the functions around it."""
    name = f"_inner{len(functions)}"
    assigned = [f"nonlocal {', '.join(shared)}"] if shared else []
    functions += [f"def {name}() -> None:", *indented([*assigned, *lines([x])])]
    return name
