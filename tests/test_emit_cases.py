"""Small specs whose classes were wrong once, or would be if a decision of the writer were another."""

from __future__ import annotations

import ast
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from generating import Generated
from stepping import compiled

from fsmdsl import classes as emit
from fsmdsl.classes.statements.code import DEEPEST

# Values that may be none ---------------------------------------------------------------------------------------------

TWO = """module two
machine Lamp {
    param switch: Switch?
    lit: bool
    initial state On
    event press from environment, Switch
    press: On on press when switch == none do lit = true
    other: On on press when switch != none do lit = false
}
machine Switch {
    param lamp: Lamp?
    initial state Up
    event flick from environment
    flick: Up on flick do if lamp != none { lamp.press }
}
"""


def test_none_is_a_value_for_a_parameter_that_leads_back(tmp_path: Path) -> None:
    two = Generated(tmp_path, TWO)
    system = two.System()
    lamp, switch = two.Lamp(system, switch=None), two.Switch(system)
    lamp.press()
    switch.flick()
    assert (lamp.lit, lamp.switch, switch.lamp) == (True, None, None)
    switch.connect(lamp=lamp)
    lamp.connect(switch=switch)
    switch.flick()
    assert (lamp.lit, lamp.switch) == (False, switch)


POINTER = """module pointer
machine Pointer {{
    at: Target?
    other: bool
    initial state Here
    event turn(to: Target) from environment
    Here on turn(to) do at = to
    event go(those: list<Target?>[3]) from environment
    Here on go(those) {go}
}}
machine Target {{
    hits: 0..9
    initial state There
    event hit from Pointer
    There on hit do hits = hits + 1
}}
"""


@pytest.mark.parametrize(
    ("go", "value"),
    [
        ("when at != none do { for x in those { at.hit; at = none } }", "at"),
        ("when at != none do { if other { } else { at = none }; at.hit }", "at"),
        ("when at != none do { if not other { at = none }; at.hit }", "at"),
        ("when at != none do { at = none; at.hit }", "at"),
        ("do { for x in those { if x != none { for x in rest(those) { x.hit } } } }", "x"),
    ],
)
def test_what_was_known_not_to_be_none_is_looked_at_again_where_it_may_be(go: str, value: str, tmp_path: Path) -> None:
    made = Generated(tmp_path, POINTER.format(go=go))
    system = made.System()
    first, pointer = made.Target(system), made.Pointer(system)
    pointer.turn(first)
    with pytest.raises(made["machinery"].MissingReference, match=f"^{value} "):
        pointer.go((first, None))
    assert (first.hits, pointer.at) == (0, first)


def test_what_is_known_not_to_be_none_is_not_looked_at_again() -> None:
    text = POINTER.format(go="when at != none do { other = true; if other { other = false }; at.hit }")
    assert "present" not in emit.python(compiled(text), "pointer")["pointer/pointer.py"]


# Values that may not fit ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["same(by)", "twice(by)", "first(rest(listed([0, by])))", "same(same(by))"])
def test_what_a_let_gives_may_not_fit_where_its_argument_does_not(value: str, tmp_path: Path) -> None:
    lets = "let same(n: 0..2) = n  let twice(n: 0..9) = same(n)  let listed(s: list<0..2>[2]) = s"
    text = f"""module narrow
    machine Narrow {{
        small: 0..2
        initial state On
        {lets}
        event e(by: 0..9)
        On on e(by) do small = {value}
    }}
    """
    made = Generated(tmp_path, text)
    narrow = made.Narrow()
    narrow.e(2)
    with pytest.raises(made["machinery"].OutOfRange):
        narrow.e(3)
    assert narrow.small == 2


def test_a_list_that_a_let_gives_may_be_too_long_where_its_argument_is(tmp_path: Path) -> None:
    text = """module long
    machine Long {
        few: list<0..9>[2]
        initial state On
        let same(s: list<0..9>[2]) = s
        event e(many: list<0..9>[3])
        On on e(many) do few = same(many)
    }
    """
    made = Generated(tmp_path, text)
    long = made.Long()
    long.e((1, 2))
    with pytest.raises(made["machinery"].Full):
        long.e((1, 2, 3))
    assert long.few == (1, 2)


# Systems -------------------------------------------------------------------------------------------------------------

WATCHING = """module watching
channel box: fifo[1] to Reader
machine Gate {
    initial state Open
    state Shut
    event push from environment
    push: Open -> Shut on push when size(box) == 0
    back: Shut -> Open on push
}
machine Reader {
    initial state Idle
    event note from box
    event write from environment
    note: Idle on note
    write: Idle on write do send box.note
}
"""


def test_a_machine_that_looks_into_a_channel_needs_a_system(tmp_path: Path) -> None:
    made = Generated(tmp_path, WATCHING)
    system = made.System()
    gate, reader = made.Gate(system), made.Reader(system)
    box = made.Box(system, reader)
    reader.write()
    with pytest.raises(made.UnhandledEvent):
        gate.push()
    box.deliver()
    gate.push()
    assert gate.state.name == "SHUT"


# Machines that stand alone -------------------------------------------------------------------------------------------


def test_a_transition_that_only_has_a_comment(tmp_path: Path) -> None:
    text = """module quiet
    machine Quiet {
        initial state On
        event e
        /// Nothing happens.
        On on e
    }
    """
    quiet = Generated(tmp_path, text).Quiet()
    quiet.e()


def test_a_parameter_called_label(tmp_path: Path) -> None:
    text = """module labelled
    machine Labelled {
        n: 0..3
        initial state Off
        state On
        event e(label: 0..3)
        a: Off -> On on e(label) do n = label
        b: On -> Off on e(label) do n = label
    }
    """
    made = Generated(tmp_path, text).Labelled()
    told: list[str] = []
    made.listen(lambda followed: told.append(followed[0].label))
    made.e(2)
    made.e(label=3)
    assert (made.n, told) == (3, ["a", "b"])


STAGED = """module staged
machine Staged {{
    a: 0..9
    b: 0..9
    list: list<0..9>[2]
    initial state On
    {lets}
    event e(by: 0..9)
    On on e(by) do {{ {effects} }}
}}
"""


@pytest.mark.parametrize(
    "effects",
    [
        "a = by; b = b + by",
        "b = by; a = first(list)",
        "b = by; if first(list) == 1 { a = 1 }",
        "b = by; for x in {first(list)} { a = 1 }",
        "for x in {1, 2} { b = b + 5 }",
        "b = by; add by to list; add by to list; add by to list",
        "if by == 1 { b = 9 } else { b = by; add first(rest(list)) to list }",
    ],
)
def test_a_step_that_fails_changes_nothing(effects: str, tmp_path: Path) -> None:
    made = Generated(tmp_path, STAGED.format(lets="", effects=effects))
    staged = made.Staged(b=7)
    before = staged.snapshot()
    with pytest.raises(made.StepRefused):
        staged.e(8)
    assert staged.snapshot() == before


def test_derived_values_follow_what_is_not_stored_yet(tmp_path: Path) -> None:
    lets = "let twice = min(a + a, 9)  let more(n: 0..9) = min(twice + n, 9)  let fixed = 3"
    made = Generated(tmp_path, STAGED.format(lets=lets, effects="a = by; b = more(1); a = twice; b = b + fixed"))
    staged = made.Staged()
    staged.e(2)
    assert (staged.a, staged.b) == (4, 8)
    staged.e(0)
    assert (staged.a, staged.b) == (0, 4)
    with pytest.raises(made.StepRefused):
        staged.e(4)
    assert (staged.a, staged.b) == (0, 4)


# Sizes ---------------------------------------------------------------------------------------------------------------


def lines_of(text: str) -> int:
    """Of all files, which must be Python."""
    files = emit.python(compiled(text), "sized")
    for file in files.values():
        ast.parse(file)
    return sum(len(x) for x in files.values())


CHAIN = """module sized
{module}
machine Sized {{
    a: 0..9
    b: 0..9
    list: list<0..9>[2]
    initial state On
    {machine}
    event e(by: 0..9)
    On on e(by) when {guard} do {{ {effects} }}
}}
"""


def chain(count: int, first: str) -> str:
    return f"let v0 = {first}\n" + "\n".join(f"let v{n} = v{n - 1} and v{n - 1}" for n in range(1, count))


def module_chain(count: int) -> str:
    given = "let v0(n: 0..9) = n == 1\n" + "\n".join(
        f"let v{n}(n: 0..9) = v{n - 1}(n) and v{n - 1}(n)" for n in range(1, count)
    )
    return CHAIN.format(module=given, machine="", guard=f"v{count - 1}(a)", effects="a = by")


def machine_chain(count: int) -> str:
    """In a step whose values are found before the first is stored."""
    effects = f"a = by; b = first(list); if v{count - 1} {{ b = 1 }}"
    return CHAIN.format(module="", machine=chain(count, "a == 1"), guard=f"v{count - 1}", effects=effects)


def counts(depth: int) -> str:
    guard = "a == 1"
    for n in range(depth):
        guard = f"(count x{n} in {{1}}: {guard}) == 1"
    return CHAIN.format(module="", machine="", guard=guard, effects="a = by")


@pytest.mark.parametrize("spec", [module_chain, machine_chain, counts])
def test_what_is_used_twice_by_what_is_used_twice_is_written_once(spec: object) -> None:
    assert callable(spec)
    assert lines_of(spec(40)) < 8 * lines_of(spec(10))


@pytest.mark.parametrize("depth", [2, DEEPEST - 1, DEEPEST, DEEPEST + 1, 2 * DEEPEST + 5])
@pytest.mark.parametrize("staged", [False, True])
def test_loops_inside_loops(depth: int, staged: bool, tmp_path: Path) -> None:
    """In a machine alone, with its values stored at once or at the end."""
    innermost = f"b = min(b + x0 + x{depth - 1}, 9)" if staged else f"if x0 + x{depth - 1} > 2 {{ a = 5 }}"
    loops = "".join(
        f"for x{n} in {{1, 2}} {{ " if n in (0, depth - 1) else f"for x{n} in {{1}} {{ " for n in range(depth)
    )
    effects = f"{loops}{innermost}{' }' * depth}"
    made = Generated(tmp_path, CHAIN.format(module="", machine="", guard="a == 0", effects=effects))
    sized = made.Sized()
    sized.e(1)
    assert (sized.a, sized.b) == ((0, 9) if staged else (5, 0))


SAME_NAME = """module same
machine Cell {
    initial state Free
}
machine Holder {
    param cells: set<Cell>
    n: 0..9
    last: Cell?
    initial state On
    event go(xs: set<0..3>), all_of(ys: list<0..9>[2]), both(x: Cell) from environment
    On on go(xs) do { for x in xs { n = x }  for x in cells { last = x }  for x in xs { n = max(n, x) } }
    On on all_of(ys) do { for x in cells { last = x }  for x in ys { n = x } }
    On on both(x) do { last = x  for y in {1, 2} { n = y } }
}
system Two {
    cells: Cell[2]
    holder: Holder { cells = cells }
    environment { crash }
    recover { for x in cells { holder.last = x }  for x in {1, 2} { holder.n = x } }
}
"""


def test_loops_of_one_variable_may_run_through_values_of_different_types(tmp_path: Path) -> None:
    made: Any = Generated(tmp_path, SAME_NAME)
    system = made.System()
    cell = made.Cell(system)
    holder = made.Holder(system, cells=frozenset({cell}))
    holder.go(frozenset({1, 3}))
    assert (holder.n, holder.last) == (3, cell)
    holder.all_of((5, 4))
    assert (holder.n, holder.last) == (4, cell)
    written = tmp_path / "typed"
    for path, text in emit.python(compiled(SAME_NAME), "same").items():
        (written / path).parent.mkdir(parents=True, exist_ok=True)
        (written / path).write_text(text, "utf-8")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache"), "."]
    done = subprocess.run(mypy, cwd=written, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_numbers_below_0_are_compared_with_none(tmp_path: Path) -> None:
    text = """module below
    machine Node {
        n: 0..1
        initial state A
        event go from environment
        A on go when -1 != none and -1 == -1 do n = 1
    }
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made: Any = Generated(tmp_path, text)
        node = made.Node()
        node.go()
    assert node.n == 1
