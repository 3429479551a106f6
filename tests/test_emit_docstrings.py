"""What generated files say of themselves: docstrings, what a channel carries, the first line."""

from __future__ import annotations

import ast

import pytest
from stepping import compiled

from fsmdsl import classes as emit
from fsmdsl.classes.statements.text import WIDTH, docstring, mark, marked

PEERS = """module peers
channel link: {declared}
machine Peer {{
    heard: bool
    initial state On
    event go from environment
    event word(n: 0..3) from link
    On on go do {sent}
    On on word(n) do heard = n > 1
}}
"""


@pytest.mark.parametrize(
    ("declared", "to", "said"),
    [
        ("lossy fifo[2] to Peer", "", "Carries at most 2 messages to Peer, in order; may lose messages."),
        ("bag[3] to each Peer", " to self", "Carries at most 3 messages to one Peer, in any order."),
        (
            "fifo[2] from each Peer to each Peer",
            " to self",
            "Carries at most 2 messages from one Peer to one Peer, in order.",
        ),
    ],
)
def test_the_class_of_a_channel_says_what_it_carries(declared: str, to: str, said: str) -> None:
    files = emit.python(compiled(PEERS.format(declared=declared, sent=f"send link.word(2){to}")), "peers")
    assert said in " ".join("\n".join(files.values()).split())


@pytest.mark.parametrize(
    ("declared", "to", "method"),
    [
        ("fifo[2] to Peer", "", "def post_word_link(self, n: int) -> None:"),
        ("fifo[2] to each Peer", " to self", "def post_word_link(self, receiver: Peer, n: int) -> None:"),
    ],
)
def test_for_transitions_there_is_a_method_that_sends(declared: str, to: str, method: str) -> None:
    model = compiled(PEERS.format(declared=declared, sent=f"send link.word(2){to}"))
    assert method in emit.transitions(model, "peers")["peers/peer.py"]


@pytest.mark.parametrize("length", range(WIDTH - 14, WIDTH - 6))
def test_a_docstring_is_one_line_where_it_fits(length: int) -> None:
    """With its quotes, and with what stands before it."""
    said = "A" * 50 + " " + "b" * (length - 52) + "."
    text = f"module t\n/// {said}\nrecord Entry {{ term: 0..3 }}\nmachine M {{ e: Entry = Entry(0)  initial state A }}"
    lines = "\n".join(emit.python(compiled(text), "t").values()).splitlines()
    assert (f'    """{said}"""' in lines) is (4 + 3 + length + 3 <= WIDTH)


def test_a_quote_at_the_end_of_a_line_is_left_alone_where_the_docstring_goes_on() -> None:
    assert docstring('say "hi"\n\nand go') == ['"""say "hi"', "", "and go", '"""']


@pytest.mark.parametrize("said", ['it is "full"', '"full"', "full", "a \\", '"""', '\\"', 'four """"', '\\"""'])
def test_a_text_stands_in_a_docstring_as_it_is(said: str) -> None:
    assert ast.literal_eval("\n".join(docstring(said))) == said


def test_generated_files_are_recognized_by_their_first_line() -> None:
    assert marked(f"{mark(None)}\nx = 1\n".encode())
    assert marked(f"{mark('hived')}\r\n".encode())
    assert not marked(b"x = 1\n")
    assert not marked(f"x = 1\n{mark(None)}\n".encode())
    assert not marked(mark(None).encode())
