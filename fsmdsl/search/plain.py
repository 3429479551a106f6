"""The search in plain Python: at once, and fast enough for the systems of every day."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

from fsmdsl.program.llvm import MAX_CACHED
from fsmdsl.runs.frontier import Frontier
from fsmdsl.runs.liveness.graph import Graph
from fsmdsl.search.engine import Expansion, OneProcess
from fsmdsl.search.lower import Lowered, groups

CAP = 1 << 12
"""Room for the successors of one state; more is made where it does not do."""

BYTES_OF_STATE = 400
"""What a state takes, about."""

PAUSE = 4
"""Number of states expanded between two looks at the clock."""


class Plain(OneProcess):
    """States as words, their numbers, and where each came from."""

    def __init__(self, lowered: Lowered, firsts: Sequence[tuple[int, ...]] = ()) -> None:
        self.lowered = lowered
        self.begin(firsts)
        self.board = row(lowered)
        self._before: list[int] | None = None
        """The board as it was before the last state was expanded, where that may have been one too many."""
        self._row = row(lowered)
        self._out = [0] * (CAP * lowered.stride)

    def begin(self, firsts: Sequence[tuple[int, ...]]) -> None:
        """With the words of these states, each once."""
        self.states: list[tuple[int, ...]] = list(firsts)
        self.number: dict[tuple[int, ...], int] = {words: n for n, words in enumerate(firsts)}
        self.preds: list[int] = [0] * len(firsts)
        self.frontier = Frontier(count=len(firsts), level_end=len(firsts))

    @cached_property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The module's functions; not made where machine code is there from the beginning."""
        return functions(self.lowered)

    def run(self, pause: Callable[[], bool], most: int | None) -> bool:
        """See `Engine`."""
        frontier = self.frontier
        while frontier.advance():
            if (frontier.first % PAUSE == 0 or frontier.between_levels) and pause():
                return False
            if most is not None and frontier.count + len(self._out) > most:
                self._before = list(self.board)
            self._expand(frontier.first)
            frontier.first += 1
            if most is not None and frontier.count > most:
                return False
        return True

    def roll_back(self) -> None:
        """After an interruption in the middle of a state: its successors are those that are known in every respect."""
        count = self.frontier.count
        self._row = row(self.lowered)
        del self.states[count:], self.preds[count:]
        self.number = {words: n for words, n in self.number.items() if n < count}

    def rewind(self, most: int) -> None:
        """Forget the states beyond so many, and that the one was expanded from which the first of them was found."""
        self.frontier.first, self.frontier.count = self.preds[most], most
        for words in self.states[most:]:
            del self.number[words]
        del self.states[most:], self.preds[most:]
        self.board = self._before or self.board

    def _expand(self, at: int) -> None:
        n = self._visit(at)
        words, stride, out = self.lowered.layout.words, self.lowered.stride, self._out
        for k in range(0, n * stride, stride):
            self._arrive(tuple(out[k : k + words]), at)

    def _visit(self, at: int) -> int:
        """Take all steps from a state: how many successors are in `_out`."""
        board, b, f = self.board, self.lowered.board, self.functions
        f["unpack"](self.states[at], 0, self._row)
        board[b.current], board[b.leads_on] = at, 0
        n = self._successors()
        f["note"](self._row, board)
        if board[b.leads_on] == 0:
            if f["stuck"](self._row):
                board[b.dead] = board[b.dead] or at + 1
            elif f["waiting"](self._row):
                board[b.waiting] = board[b.waiting] or at + 1
                board[b.waits] += 1
        return n

    def _successors(self) -> int:
        """How many are in `_out`."""
        board, b = self.board, self.lowered.board
        n: int = self.functions["expand"](self._row, board, self._out, 0, len(self._out) // self.lowered.stride)
        while n * self.lowered.stride > len(self._out):
            board[b.change] = -1  # that is taken back
            self.functions["expand"](self._row, board, self._out, 0, 0)
            board[b.change], board[b.leads_on] = 1, 0
            self._out = [0] * (2 * n * self.lowered.stride)
            n = self.functions["expand"](self._row, board, self._out, 0, 2 * n)
        return n

    def _arrive(self, words: tuple[int, ...], origin: int) -> None:
        if words not in self.number:
            self.number[words] = self.frontier.count
            self.states.append(words)
            self.preds.append(origin)
            self.frontier.count += 1

    def expansion(self, at: int) -> Expansion:
        """What the program says about one state. Changes nothing."""
        before, self.board = self.board, row(self.lowered)
        n = self._visit(at)
        board, self.board = self.board, before
        words, stride = self.lowered.layout.words, self.lowered.stride
        return Expansion(board, [tuple(self._out[k : k + words]) for k in range(0, n * stride, stride)])

    def graph(self) -> Graph:
        """The states that were expanded with all their steps, which are taken once more."""
        saved_board, self.board = self.board, row(self.lowered)
        count, done = self.frontier.count, self.frontier.first
        words, stride, marked = self.lowered.layout.words, self.lowered.stride, self.lowered.marked
        columns = groups(self.lowered.atoms)
        offsets, targets, marks = array("q", [0]), array("q"), array("q")
        atoms = [0] * (columns * count)
        for at in range(count):
            self.functions["unpack"](self.states[at], 0, self._row)
            self.functions["hold"](self._row, atoms, at, count)
            n = self._successors() if at < done else 0
            for k in range(0, n * stride, stride):
                targets.append(self.number.get(tuple(self._out[k : k + words]), -1))
                marks.append(self._out[k + words] if marked else 0)
            offsets.append(len(targets))
        self.board = saved_board
        atom_columns = tuple(array("q", atoms[k * count : (k + 1) * count]) for k in range(columns))
        return Graph(offsets, targets, marks, atom_columns, None if done == count else done, self.frontier.firsts)

    def state(self, n: int) -> tuple[int, ...]:
        """The words of a state."""
        return self.states[n]

    def origin(self, n: int) -> int:
        """The state from which one was found."""
        return self.preds[n]

    def find(self, words: tuple[int, ...]) -> int | None:
        """The number of a state."""
        return self.number.get(words)

    def noted(self, place: int) -> int:
        """What was noted at a place of a row, if anything was."""
        return max(self.board[place], self._row[place])

    def used(self) -> int:
        """Bytes in use, about."""
        return self.frontier.count * BYTES_OF_STATE

    def fired(self) -> int:
        """Steps taken."""
        return self.board[self.lowered.board.fired]

    def note_rest(self) -> None:
        """Ask the questions of the states that are not expanded."""
        for at in range(self.frontier.first, self.frontier.count):
            self.functions["unpack"](self.states[at], 0, self._row)
            self.board[self.lowered.board.current] = at
            self.functions["note"](self._row, self.board)


def functions(lowered: Lowered) -> dict[str, Callable[..., Any]]:
    """The functions of a module, as Python. What Python does faster in its own way is done so."""
    namespace: dict[str, Any] = {"__name__": "system"}
    for listing in lowered.listings:
        exec(_code(listing.text), namespace)
    copied = lowered.layout.copied

    def copy(s: list[int], t: list[int]) -> None:
        t[:copied] = s[:copied]

    def keep(t: list[int], at: int) -> None:
        t[at : at + copied] = t[:copied]

    def bring(t: list[int], at: int) -> None:
        t[:copied] = t[at : at + copied]

    def same(t: list[int], at: int) -> bool:
        return t[:copied] == t[at : at + copied]

    namespace.update(
        copy=copy,
        keep=keep,
        bring=bring,
        same=same,
        ones=int.bit_count,
        lowest=lambda x: (x & -x).bit_length() - 1,
        highest=lambda x: 1 << x.bit_length() - 1 if x > 0 else 0,
    )
    return namespace


@lru_cache(MAX_CACHED)
def _code(text: str) -> CodeType:
    """Of a function; most are as they were before a spec was changed."""
    return compile(text, "system", "exec")


def row(lowered: Lowered) -> list[int]:
    """A row with all that is kept behind it, as a search begins."""
    numbers = [0] * (lowered.layout.end + 1)
    for place, number in lowered.layout.params.items():
        numbers[place] = number
    return numbers
