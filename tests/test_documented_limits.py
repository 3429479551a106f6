"""Each limit that the language reference and the semantics document: at the limit a spec is fine, one more is an error.

The numbers come from the documents. A limit whose sentence is gone, or a row of the table without a case, fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from stepping import compiled, only_system

from fsmdsl.model.resolve import resolve
from fsmdsl.search import explore
from fsmdsl.step import TooManyValuesError, Universe, enabled, fire, initial
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

DOCS = Path(__file__).parent.parent / "docs"
LANGUAGE, SEMANTICS = ((DOCS / name).read_text("utf-8") for name in ("language.md", "semantics.md"))
LIMITS = LANGUAGE.split("## Limits")[1].split("\n## ")[0]
TABLE = {
    what: int(most.replace(",", ""))
    for what, most in re.findall(r"^\| ([^|]+) \| (?:about )?([\d,]+)[^|]*\|$", LIMITS, re.MULTILINE)
}
"""The table of limits in the reference."""
ABOUT = {"nesting levels of expressions, blocks and types": 10}
"""How far from a limit a spec is fine, or an error, where the table says `about`."""

M = "machine M { initial state A }\n"


def computed(n: int) -> str:
    """A number with `n` digits that is the product of two others."""
    high, other = 10 ** (n // 2) - 1, 10 ** (n - n // 2) - 1
    return f"machine M {{ a: 0..{high}  b: 0..{other}  initial state A  invariant a * b >= 0 }}"


CASES: dict[str, list[Callable[[int], str]]] = {
    "messages in a channel, items in a list, keys of a map": [
        lambda n: f"channel c: fifo[{n}] to M\nmachine M {{ initial state A  event e from c  A on e }}",
        lambda n: f"machine M {{ l: list<bool>[{n}]  initial state A }}",
        lambda n: f"machine M {{ l: map<1..{n}, bool>  initial state A }}",
    ],
    "instances in a set of a system": [lambda n: f"{M}system S {{ ms: M[{n}] }}"],
    "members of an enum": [lambda n: f"enum E {{ {' | '.join(f'e{i}' for i in range(n))} }}"],
    "parts of a module name (`a.b.c` has three)": [lambda n: f"module {'.'.join('a' * n)}\n{M}"],
    "nesting levels of expressions, blocks and types": [  # an `if` and its block are two
        lambda n: f"machine M {{ initial state A  invariant {'not ' * n}true }}",
        lambda n: (
            f"machine M {{ initial state A  event e  A on e do {{ {'if true { ' * (n // 2)} {'}' * (n // 2)} }} }}"
        ),
        lambda n: f"machine M {{ initial state A  event e(x: {'set<' * n}bool{'>' * n}) }}",
    ],
    "digits of a number": [lambda n: f"machine M {{ a: 0..{'9' * n}  initial state A }}"],
    "digits of a computed number": [computed],
}
"""Specs at a limit of the table, by its row."""


def errors(text: str) -> list[str]:
    parsed = parse(Source("test.fsm", text))
    found = [*parsed.diagnostics, *resolve([parsed.module]).diagnostics]
    return [f"{d.rule.code} {d.message}" for d in found]


def test_the_table_has_these_rows() -> None:
    assert list(TABLE) == list(CASES)


@pytest.mark.parametrize(("row", "case"), [(row, n) for row, cases in CASES.items() for n in range(len(cases))])
def test_a_limit_of_the_table(row: str, case: int) -> None:
    most, text, about = TABLE[row], CASES[row][case], ABOUT.get(row, 0)
    assert errors(text(most - about)) == []
    assert errors(text(most + 1 + about)) != []


# What a step and a search can do -------------------------------------------------------------------------------------


def documented(pattern: str, document: str) -> int:
    """The number of a sentence."""
    found = re.search(pattern, " ".join(document.split()))
    assert found is not None, pattern
    return int(found[1].replace(",", ""))


def fault(text: str) -> str | None:
    """The fault of the only step of a system, if it fails."""
    model = compiled(text)
    universe = Universe(model, only_system(model))
    (step,) = enabled(universe, initial(universe))
    found = fire(universe, initial(universe), step).fault
    (v,) = (v for v in explore(model, only_system(model)).verdicts if v.kind == "fault")
    assert v.outcome == ("holds" if found is None else "violated")
    return None if found is None else found.kind


def test_nested_sends() -> None:
    most = documented(r"more than ([\d,]+) nested sends", SEMANTICS)
    chain = """machine M {{
        param next: M?
        initial state A
        final state B
        event e from environment, M
        A -> B on e do {{ if next != none {{ next.e }} }}
    }}
    system S {{
        ms: M[{0}] {{ next = if index == {0} - 1 then none else ms[(index + 1) % {0}] }}
        environment {{ ms[0].e }}
    }}
    """
    assert fault(chain.format(most + 1)) is None
    assert fault(chain.format(most + 2)) == "endless"


def test_transitions_of_a_round() -> None:
    most = documented(r"takes more than ([\d,]+) transitions", SEMANTICS)
    count = """machine M {{
        n: 0..{0}
        initial state A
        state B
        event e from environment
        A -> B on e
        B when n < {0} do n = n + 1
        ignore e in B
    }}
    system S {{ m: M }}
    """
    assert fault(count.format(most)) is None
    assert fault(count.format(most + 1)) == "endless"


def test_items_and_messages() -> None:
    """`at most 4 long`, `At most two messages wait in it`: as many as declared."""
    lists = """machine M {{
        l: list<bool>[2] = {0}
        initial state A
        final state B
        event e from environment
        A -> B on e do add true to l
    }} """
    assert fault(lists.format("[true]") + "system S { m: M }") is None
    assert fault(lists.format("[true, true]") + "system S { m: M }") == "overflow"
    sends = """channel c: waiting fifo[2] to N
    machine M {{ initial state A  final state B  event e from environment  A -> B on e do {{ {0} }} }}
    machine N {{ initial state A  final state B  event f from c  A -> B on f when false  ignore f in B }}
    system S {{ m: M  n: N }}"""
    assert fault(sends.format("send c.f; send c.f")) is None
    assert fault(sends.format("send c.f; send c.f; send c.f")) == "overflow"


def test_first_states() -> None:
    most = documented(r"There are at most ([\d,]+) initial states", LANGUAGE)
    text = "machine M {{ n: 0..{0} = any  initial state A  event e from environment  A on e }}  system S {{ m: M }}"
    few, many = (compiled(text.format(n - 1)) for n in (most, most + 1))
    assert len(Universe(few, only_system(few)).starts) == most
    with pytest.raises(TooManyValuesError):
        Universe(many, only_system(many)).starts  # noqa: B018 - raises
    outcomes = {v.outcome for v in explore(many, only_system(many)).verdicts}
    assert outcomes == {"unknown"}


FAIR = """channel c: bag[1] to N
machine M {{ initial state A  event e(n: 1..{0}) from environment  A on e(n) when size(c) == 0 do send c.f(1) }}
machine N {{ initial state A  event f(n: 1..{1}) from c  A on f(n) }}
system S {{ m: M  n: N  property p: always m in A under {2} }}
"""


@pytest.mark.parametrize(
    ("pattern", "fair", "ranges"),
    [
        (r"no more than ([\d,]+) promises", "fair e for each n", ("{}", "1")),
        (r"no more than ([\d,]+) messages", "fair deliver c", ("1", "{}")),
    ],
)
def test_promises_of_fairness(pattern: str, fair: str, ranges: tuple[str, str]) -> None:
    most = documented(pattern, SEMANTICS)
    for n, outcome in ((most, "holds"), (most + 1, "not checked")):
        model = compiled(FAIR.format(*(x.format(n) for x in ranges), fair))
        (v,) = (v for v in explore(model, only_system(model)).verdicts if v.kind == "property")
        assert v.outcome == outcome
