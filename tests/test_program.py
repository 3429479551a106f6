"""Programs do the same as Python, as the Python that is printed of them, and as machine code, compiled well or in a
hurry."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import share

from fsmdsl.program import llvm, nodes, python
from fsmdsl.program.native import loaded
from fsmdsl.program.queries import bound
from fsmdsl.program.source import functions_of

pytest.importorskip("llvmlite")

KINDS = {"words": ctypes.c_int64, "halves": ctypes.c_uint32, "ints": ctypes.c_int32}


def both(text: str, *given: int | list[int], numbers: dict[str, int] | None = None) -> int:
    """What `f` returns, as it stands, printed and compiled, which must agree, also on what they leave in the arrays."""
    from fsmdsl.program.compile import compiled

    functions = functions_of(text)
    expected, left = as_python(text, given, numbers or {})
    printed = "\n\n".join(map(python.function, functions))
    assert as_python(printed, given, numbers or {}) == (expected, left)
    assert functions_of(printed) == tuple(untyped(x) for x in functions)
    types = [p.type for p in next(x for x in functions if x.name == "f").parameters]
    for hurry in (True, False):
        listed = [llvm.listing(bound(x, numbers or {})) for x in functions]
        code = compiled(llvm.module(listed, ["f"]), hurry=hurry)
        native = [(KINDS[t] * len(x))(*x) if isinstance(x, list) else x for t, x in zip(types, given, strict=True)]
        result = loaded(code, {"f": types})["f"](
            *(ctypes.addressof(x) if isinstance(x, ctypes.Array) else x for x in native)
        )
        assert result == expected
        assert [list(x) for x in native if isinstance(x, ctypes.Array)] == left
    return expected


def as_python(text: str, given: tuple[int | list[int], ...], numbers: dict[str, int]) -> tuple[int, list[list[int]]]:
    """What Python makes of it."""
    namespace: dict[str, object] = dict(numbers) | dict.fromkeys(("Words", "Halves", "Ints"), list)
    exec(text, namespace)
    lists = [list(x) if isinstance(x, list) else x for x in given]
    function = namespace["f"]
    assert callable(function)
    return int(function(*lists)), [x for x in lists if isinstance(x, list)]


def untyped(f: nodes.Function) -> nodes.Function:
    """What is left of a function in Python's text: no types of parameters."""
    end = () if f.body and isinstance(f.body[-1], nodes.Return) else (nodes.Return(nodes.ZERO),)
    parameters = tuple(nodes.Parameter(p.name, "number") for p in f.parameters)
    return nodes.Function(f.name, parameters, (*f.body, *end), f.doc)


def test_loops_and_arrays() -> None:
    text = """
def f(a: Words, b: Halves, n: int):
    found = 0
    last = -1
    for i in range(n):
        if a[i] == 7:
            continue
        if a[i] < 0:
            break
        b[i] = a[i] * 3
        found += helper(a, i) if i % 2 == 0 else b[i]
        last = i
    for i in range(2, n - 1):
        a[i] ^= BITS
    for step in (5, last, n):
        found = found * 10 + step
        if step == 4:
            break
    while True:
        n -= 1
        if n < 3:
            break
    return found * 100 + n

def helper(x: Words, at: int):
    \"\"\"Changes the array.\"\"\"
    if x[at] > 10:
        return 1
    x[at] |= 1
    pass
    return x[at]
"""
    assert both(text, [4, 7, 20, 6, -1, 9], [0] * 6, 6, numbers={"BITS": 12}) != 0
    assert both(text, [4, 7, 20, 6, 1, 9], [0] * 6, 6, numbers={"BITS": 12}) != 0


def test_what_a_loop_leaves_behind() -> None:
    text = """
def f(n: int):
    i = 50
    for i in range(3, n):
        n = 0
    return i
"""
    assert [both(text, n) for n in (2, 4, 9)] == [50, 3, 8]


def test_arrays_are_handed_on_in_another_order() -> None:
    text = """
def f(a: Words, b: Words, n: int):
    k, last = n - 1, n
    if n == 0:
        return b[0] // 2 * 100 + (b[1] - 9) % 5
    a[k] = a[k] + b[k] + last
    return f(b, a, k)
"""
    both(text, [1, 2, 3, 4], [10, 20, 30, 40], 4)
    both(text, [1, 2, 3], [10, 20, 30], 3)


def test_what_is_one_instruction() -> None:
    text = """
def f(a: Words, b: Words, x: int):
    for i in range(4):
        b[i] = a[i]
    for j in range(3):
        a[j] = a[j]
    return ones(x) * 1000000 + lowest(x) * 10000 + i * 100 + j * 10 + ones(lowest(b[2]))

def ones(x: int):
    n = 0
    while x:
        x &= x - 1
        n += 1
    return n

def lowest(x: int):
    return ones((x & -x) - 1)
"""
    for x in (1, 40, 1 << 61, (1 << 62) - 1, 0x2A << 20):
        both(text, [5, 6, 1 << 7, -8, 9], [0] * 5, x)
    assert both(text, [5, 6, 1 << 7, -8, 9], [0] * 5, 0b101000) == 2_030_323


def test_what_is_not_quite_a_copy() -> None:
    """Other bounds, other places, numbers of another size, the same array."""
    text = """
def f(a: Words, b: Words, c: Halves, n: int):
    for i in range(n):
        b[i] = a[i]
    for i in range(1, 3):
        b[i] = a[i] + 1
    for i in range(3):
        c[i] = a[i]
    for i in range(3):
        a[i + 1] = a[i]
    for i in range(0):
        b[i] = c[i]
    return i
"""
    assert both(text, [5, 6, 7, 8], [0] * 4, [1] * 4, 4) == 2


def test_small_numbers_have_no_sign_and_wrap_around() -> None:
    text = """
def f(a: Halves):
    a[0] = a[1] + 1 & 0xFFFFFFFF
    return a[1] - a[0] << 8
"""
    assert both(text, [3, 0xFFFFFFFF]) == 0xFFFFFFFF << 8


def test_halves_with_a_sign() -> None:
    text = """
def f(a: Ints, b: Halves):
    a[0] = a[1] - 5
    return a[0] * 10 + (a[2] < b[0])
"""
    assert both(text, [7, 3, -1], [0xFFFFFFFF]) == -19


def test_what_comes_behind_is_not_done() -> None:
    """`and` and `or` give what decided, and leave the rest alone."""
    text = """
def f(a: Words, x: int):
    y = x and note(a, 0, 5)
    z = x or note(a, 1, 6)
    w = (x > 1 and note(a, 2, 0)) or x == 3
    return y * 10000 + z * 100 + w

def note(a: Words, at: int, value: int):
    a[at] += 1
    return value
"""
    assert [both(text, [0, 0, 0], x) for x in (0, 1, 3)] == [600, 50100, 50301]


NAMES = st.sampled_from(["x", "y", "z", "a[1]", "a[x & 3]"])
LEAVES = NAMES | st.integers(-9, 9).map(lambda n: f"({n})") | st.sampled_from(["True", "False"])

BETWEEN = ["+", "-", "*", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or"]


def _larger(of: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(of, st.sampled_from(BETWEEN), of).map(" ".join)
    shifted = st.tuples(of, st.sampled_from(["<<", ">>"]), of).map(lambda p: f"{p[0]} {p[1]} ({p[2]} & 7)")
    divided = st.tuples(of, st.sampled_from(["//", "%"]), of).map(lambda p: f"{p[0]} {p[1]} ({p[2]} | 1)")
    one = st.tuples(st.sampled_from(["-", "~", "not "]), of).map("".join)
    chained = st.tuples(of, of, of).map(lambda p: f"{p[0]} <= {p[1]} < {p[2]}")
    longer = st.tuples(st.sampled_from(["min", "max"]), of, of, of).map(lambda p: f"{p[0]}({p[1]}, {p[2]}, {p[3]})")
    choice = st.tuples(of, of, of).map(lambda p: f"{p[0]} if {p[1]} else {p[2]}")
    extreme = st.tuples(st.sampled_from(["min", "max"]), of, of).map(lambda p: f"{p[0]}({p[1]}, {p[2]})")
    return st.one_of(two, shifted, divided, one, chained, choice, extreme, longer).map(lambda text: f"({text})")


@settings(max_examples=share(60), deadline=None)
@given(st.lists(st.recursive(LEAVES, _larger, max_leaves=8), min_size=8, max_size=8), st.data())
def test_any_expression(expressions: list[str], data: st.DataObject) -> None:
    lines = [f"    found = found * 31 + ({x}) & 0xFFFFFFFFFFFF" for x in expressions]
    text = "\n".join(["def f(a: Words, x: int, y: int, z: int):", "    found = 0", *lines, "    return found", ""])
    number = st.integers(-100, 100)
    both(text, data.draw(st.lists(number, min_size=4, max_size=4)), *(data.draw(number) for _ in range(3)))


@pytest.mark.parametrize("body", ["return x / 2", "x = [1]", "x, y = y, x", "x[0], y = y, 1"])
def test_what_is_not_understood_is_refused(body: str) -> None:
    with pytest.raises(TypeError):
        functions_of(f"def f(x, y):\n    {body}")
