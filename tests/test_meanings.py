"""One meaning, case by case: what the language says of a few words, in every reader of a model.

`Case.outcome` and `explored_alike` ask `step`, the packed search and the generated classes in every case, and each case
is written down here as well, so that no two readers can be wrong in the same way. The checks, which decide some of it
without running, agree too.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, count, product
from pathlib import Path
from typing import Any

import pytest
from campaign import by_definition, differences, found, packed
from generating import Generated
from packed_search import PLAIN
from stepping import compiled
from tiers import today

from fsmdsl import model as m
from fsmdsl.check import check
from fsmdsl.classes.traits import standalone
from fsmdsl.runs.simulation.closed_system import closed
from fsmdsl.search import Limits, Means
from fsmdsl.search.packed_search import PackedSearch
from fsmdsl.search.plain import Plain
from fsmdsl.step import EventStep, Fault, Followed, OutcomeStep, Universe, Value, World, fire, initial

sys.path.append(str(Path(__file__).parent / "twin"))
from mirror import Packages
from walks import Explored, Walk

FAULTS = {"Overlap": "overlap", "MissingReference": "none", "UnhandledEvent": "unhandled", "OutOfRange": "range"}
"""What the exceptions of generated classes are called in the definition."""

NUMBERS = count()
"""Of the packages that are walked through."""

FAILS = "fails"
"""What a program says of any fault but of an event that nothing handles."""


class Case:
    """A spec, read in three ways."""

    def __init__(self, folder: Path, text: str) -> None:
        self.text = text
        self.model = compiled(text)
        self.classes = Generated(folder, text)
        self._programs: dict[tuple[str, str], PackedSearch] = {}

    def outcome(
        self, machine: str, values: Mapping[str, Value], event: str, derived: Mapping[str, Value] | None = None
    ) -> str:
        """What all three readers say: the label of the transition that an event takes, or the fault. `derived`: the
        values of fields that the class computes from the others."""
        kind = next(x for x in self.model.machines.values() if x.name == machine)
        universe = Universe(self.model, closed(self.model, kind))
        world = initial(universe)
        known = {**values, **(derived or {})}
        fields = tuple(known.get(f.name, v) for f, v in zip(kind.fields, world.fields[0], strict=True))
        begun = World(
            world.states, (fields, *world.fields[1:]), world.waited, world.channels, world.pending, world.down
        )
        stepped = self.stepped(universe, begun, event)
        called = self.called(machine, values, event)
        searched = self.searched(machine, begun, event)
        # A program only says that a step fails.
        expected = FAILS if searched == FAILS and stepped in FAULTS.values() else stepped
        readers = f"step: {stepped}, class: {called}, search: {searched}\n{self.text}"
        assert (stepped, expected) == (called, searched), readers
        return stepped

    def stepped(self, universe: Universe, world: World, event: str) -> str:
        """By the definition."""
        result = fire(universe, world, EventStep(0, event, ()))
        if isinstance(result.fault, Fault):
            return result.fault.kind
        (taken,) = (h for h in result.cascade if isinstance(h, Followed))
        return universe.machines[0].transitions[taken.transition].label or ""

    def called(self, machine: str, values: Mapping[str, Value], event: str) -> str:
        """By the generated class."""
        kind = next(x for x in self.model.machines.values() if x.name == machine)
        world = [] if standalone(self.model, kind) else [self.classes.System()]
        instance = getattr(self.classes, machine)(*world, **values)
        labels: list[str] = []
        (world or [instance])[0].listen(lambda happened: labels.extend(x.label for x in happened))
        try:
            getattr(instance, event)()
        except Exception as error:
            return FAULTS.get(type(error).__name__, type(error).__name__)
        return labels[0]

    def searched(self, machine: str, world: World, event: str) -> str:
        """By the program of the packed search, which offers no event that nothing handles, and only says that a step
        fails."""
        if (machine, event) not in self._programs:
            text = f"{self.text}system Searched {{ m: {machine} environment {{ m.{event} }} }}\n"
            model = compiled(text)
            universe = Universe(model, next(x for x in model.systems.values() if x.name == "Searched"))
            self._programs[machine, event] = PackedSearch(universe, Limits(), PLAIN)
        search = self._programs[machine, event]
        assert isinstance(search.engine, Plain)
        board, layout = search.lowered.board, search.lowered.layout
        search.engine.begin([layout.pack(layout.encode(world))])
        expansion = search.engine.expansion(0)
        if not expansion.board[board.fired]:
            return "unhandled"
        if not expansion.successors:
            return FAILS
        (taken,) = (n for (_, n), place in board.followed.items() if expansion.board[place])
        return search.universe.machines[0].transitions[taken].label or ""


def explored_alike(text: str, folder: Path | None = None) -> Mapping[str, object]:
    """What is found of the only system, by the definition and packed; both must find the same. With a folder for their
    package, the classes must go the same way on some walks, too."""
    model = compiled(text)
    (system,) = model.systems.values()
    wanted = found(by_definition(model, system, Limits()))
    search = packed(model, system, Limits(), Means(compiled=False, symmetry=False))
    assert search.note is None
    assert differences(wanted, found(search)) == []
    if folder is not None:
        packages = Packages(model, folder, f"walked_{next(NUMBERS)}")
        for run, start in enumerate(Universe(model, system).starts):
            Walk(Explored(Universe(model, system).beginning(start)), packages, run).run(30)
    return wanted


def overlaps(model: m.Model) -> set[str]:
    """The labels of the transitions that FSM206 is reported at."""
    labels = {t.span: t.label for machine in model.machines.values() for t in machine.transitions}
    return {labels[d.span] or "" for d in check(model) if d.rule.code == "FSM206"}


# Which transition: guards and priority -------------------------------------------------------------------------------

PRIORITIES = ["", "x > y", "y > x", "z > x", "z > y", "x > z", "y > z", "z > y > x", "y > x > z", "x > y > z"]
THIRD = ["", " when c"]


def ranked(priority: str) -> set[tuple[str, str]]:
    """Who goes before whom."""
    return set(combinations(priority.split(" > "), 2))


def chosen(priority: str, enabled: list[str]) -> str:
    """The one that no other enabled one goes before, if it is one."""
    before = ranked(priority)
    best = [x for x in enabled if not any((y, x) in before for y in enabled)]
    return "unhandled" if not enabled else best[0] if len(best) == 1 else "overlap"


def choices() -> Iterator[tuple[str, str, str]]:
    """Machines that differ in priority and in whether the third transition has a guard."""
    for n, (priority, third) in enumerate(product(PRIORITIES, THIRD)):
        rule = f"    priority {priority}\n" if priority else ""
        yield (
            f"machine M{n} {{\n    a: bool\n    b: bool\n    c: bool\n    initial state S\n    state T\n"
            f"    event go from environment\n    x: S -> T on go when a\n    y: S -> T on go when b\n"
            f"    z: S -> T on go{third}\n{rule}}}\n",
            priority,
            third,
        )


def test_the_transition_that_no_enabled_one_goes_before_is_taken_and_two_of_them_overlap(tmp_path: Path) -> None:
    listed = list(choices())
    case = Case(tmp_path, "module choice\n" + "".join(text for text, _, _ in listed))
    for n, (_, priority, third) in enumerate(listed):
        for a, b, c in product([False, True], repeat=3):
            values = {"a": a, "b": b, "c": c}
            wanted = chosen(priority, [x for x, on in (("x", a), ("y", b), ("z", c or not third)) if on])
            assert case.outcome(f"M{n}", values, "go") == wanted, (priority, third, values)
        before = ranked(priority)
        equal = {b for a, b in combinations("xyz", 2) if (a, b) not in before and (b, a) not in before}
        assert overlaps(compiled(f"module choice\n{listed[n][0]}")) == equal, (priority, third)


CONTRADICTORY = [
    ["x > y", "y > x"],
    ["x > y", "y > x", "z > x"],
    ["x > y", "y > x", "x > z"],
    ["x > y", "y > z", "z > x"],
    ["x > y > z", "z > x"],
    ["x > y", "y > x", "y > z > w"],
    ["x > y", "y > x", "z > w", "w > z", "x > z"],
    ["x > y", "z > w", "y > x > z", "w > z"],
    ["x > y > z > w", "w > x"],
]


@pytest.mark.parametrize("chains", CONTRADICTORY)
@pytest.mark.parametrize("last", ["", " when d"])
def test_of_transitions_that_each_give_way_to_another_none_is_left(
    chains: list[str], last: str, tmp_path: Path
) -> None:
    text = (
        "module circle\nmachine M {\n    a: bool = any\n    b: bool = any\n    c: bool = any\n    d: bool = any\n"
        "    initial state S\n    state T\n    event go from environment\n    ignore go in T\n"
        f"    x: S -> T on go when a\n    y: S -> T on go when b\n    z: S -> T on go when c\n"
        f"    w: S -> T on go{last}\n" + "".join(f"    priority {x}\n" for x in chains) + "}\n"
    )
    case = Case(tmp_path, text)
    before = {pair for x in chains for pair in ranked(x)}
    for values in product([False, True], repeat=4):
        enabled = [x for x, on in zip("xyzw", values, strict=True) if on or (x == "w" and not last)]
        best = [x for x in enabled if not any((y, x) in before for y in enabled)]
        wanted = "unhandled" if not enabled else best[0] if len(best) == 1 else "overlap"
        given = dict(zip("abcd", values, strict=True))
        assert case.outcome("M", given, "go") == wanted, (chains, given)
    explored_alike(f"{text}system Only {{ m: M }}\n", tmp_path)
    assert "FSM231" in {d.rule.code for d in check(case.model)}


# Which transition: comparisons ---------------------------------------------------------------------------------------

COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
VALUES = range(3)


def compared(sides: str, first: str, second: str) -> tuple[str, Callable[[int, int], bool], Callable[[int, int], bool]]:
    """Two guards as text and as functions of the fields `n` and `k`. `sides`: what stands left and right in each."""
    one, two = sides.split(" | ")
    text = f"{one.replace('?', first)} | {two.replace('?', second)}"

    def function(guard: str, compare: Callable[[int, int], bool]) -> Callable[[int, int], bool]:
        left, _, right = guard.partition(" ? ")
        return lambda n, k: compare(*(n if x == "n" else k if x == "k" else int(x) for x in (left, right)))

    return text, function(one, COMPARISONS[first]), function(two, COMPARISONS[second])


@pytest.mark.parametrize(
    "sides",
    today(["n ? k | n ? k", "n ? k | k ? n", "n ? 1 | n ? 1", "n ? 1 | n ? 2", "2 ? n | n ? 1", "1 ? n | 1 ? n"]),
)
def test_comparisons_exclude_each_other_where_no_values_make_both_true(sides: str, tmp_path: Path) -> None:
    pairs = [compared(sides, a, b) for a, b in product(COMPARISONS, repeat=2)]
    lines = ["module compare", "machine M {", "    n: 0..2", "    k: 0..2", "    initial state S", "    state T"]
    for i, (text, _, _) in enumerate(pairs):
        one, two = text.split(" | ")
        lines += [
            f"    event e{i} from environment",
            f"    x{i}: S -> T on e{i} when {one}",
            f"    y{i}: S -> T on e{i} when {two}",
        ]
    case = Case(tmp_path, "\n".join([*lines, "}\n"]))
    both = set()
    for i, (text, one_holds, two_holds) in enumerate(pairs):
        for n, k in product(VALUES, repeat=2):
            enabled = [x for x, f in ((f"x{i}", one_holds), (f"y{i}", two_holds)) if f(n, k)]
            wanted = "unhandled" if not enabled else enabled[0] if len(enabled) == 1 else "overlap"
            assert case.outcome("M", {"n": n, "k": k}, f"e{i}") == wanted, (text, n, k)
            both |= {f"y{i}"} if wanted == "overlap" else set()
    assert overlaps(case.model) == both


# Numbers -------------------------------------------------------------------------------------------------------------

COMPUTED: Mapping[str, Callable[[int, int, int], int]] = {
    "a * b": lambda a, b, c: a * b,
    "a + b * c": lambda a, b, c: a + (b * c),
    "(a + b) * c": lambda a, b, c: (a + b) * c,
    "a * b - c": lambda a, b, c: (a * b) - c,
    "a * (b - c)": lambda a, b, c: a * (b - c),
    "a - b * c - a": lambda a, b, c: (a - (b * c)) - a,
    "-a * b": lambda a, b, c: (-a) * b,
    "a * -b * c": lambda a, b, c: (a * (-b)) * c,
    "-(a * b) + c": lambda a, b, c: (-(a * b)) + c,
    "a * (if b < c then b else c)": lambda a, b, c: a * min(b, c),
    "max(a * b, c) * size({a, b})": lambda a, b, c: max(a * b, c) * len({a, b}),
    "times(a + b, c)": lambda a, b, c: (a + b) * c + (a + b),
    "(a - 9) / 2 + (b - 9) % 4 * c": lambda a, b, c: (a - 9) // 2 + ((b - 9) % 4) * c,
    "7 / -2 - a / 2 * b % 3": lambda a, b, c: -4 - ((a // 2) * b) % 3,
    "9 / (a - 4) + 9 % (b - 4)": lambda a, b, c: 9 // (a - 4) + 9 % (b - 4),
    "9 % -4 * c": lambda a, b, c: -3 * c,
}


def test_products_are_computed_before_sums_and_from_the_left(tmp_path: Path) -> None:
    lines = ["module compute", "machine M {", *(f"    {x}: -3..3" for x in "abc"), "    r: -99..99"]
    lines += ["    let times(n: 0..1, k: 0..1) = n * k + n", "    initial state S"]
    for i, text in enumerate(COMPUTED):
        lines += [f"    event e{i} from environment", f"    x{i}: S -> S on e{i} when {text} == r"]
    case = Case(tmp_path, "\n".join([*lines, "}\n"]))
    for i, (text, function) in enumerate(COMPUTED.items()):
        for a, b, c in product([-3, -1, 0, 2], repeat=3):
            r = function(a, b, c)
            for told, wanted in ((r, f"x{i}"), (r + 1, "unhandled"), (r - 1, "unhandled")):
                values = {"a": a, "b": b, "c": c, "r": told}
                assert case.outcome("M", values, f"e{i}") == wanted, (text, values)


def test_nothing_is_divided_by_zero(tmp_path: Path) -> None:
    """In a `let` the divisor may be what its parameter cannot be."""
    guards = ["6 / a == 2", "6 % a == 0", "b == 0 or 6 / b == 2", "not (a != 0 and 6 % a == 1)", "part(a, b) == 3"]
    lines = ["module divide", "machine M {", *(f"    {x}: -3..3" for x in "ab")]
    lines += ["    let part(n: 1..2, by: 1..2) = n / by", "    initial state S"]
    lines += [
        line
        for i, g in enumerate(guards)
        for line in (f"    event e{i} from environment", f"    x{i}: S -> S on e{i} when {g}")
    ]
    case = Case(tmp_path, "\n".join([*lines, "}\n"]))
    evaluated: list[Callable[[int, int], bool]] = [
        lambda a, b: 6 // a == 2,
        lambda a, b: 6 % a == 0,
        lambda a, b: b == 0 or 6 // b == 2,
        lambda a, b: not (a != 0 and 6 % a == 1),
        lambda a, b: a // b == 3,
    ]
    for (i, function), a, b in product(enumerate(evaluated), range(-3, 4), range(-3, 4)):
        try:
            wanted = f"x{i}" if function(a, b) else "unhandled"
        except ZeroDivisionError:
            wanted = "none"
        values = {"a": a, "b": b}
        assert case.outcome("M", values, f"e{i}") == wanted, (guards[i], values)


def test_products_are_explored_as_another_program_counts_them(tmp_path: Path) -> None:
    """A product that leaves its place is a fault; what a `let` makes of more than its parameter holds is exact."""
    found = explored_alike(
        """module widen
        machine M {
            a: -3..3
            r: -6..9
            let twice(n: 0..1) = 2 * n
            initial state S
            event next, back, wide from environment
            S -> S on next do { a = if a == 3 then -3 else a + 1; r = a * a }
            S -> S on back do r = -2 * a
            S -> S on wide when a > -3 do r = twice(a) * twice(a)
            ignore wide in S
        }
        system One { m: M  environment { m.next  m.back  m.wide } }
    """,
        tmp_path,
    )
    states, waiting = {(0, 0)}, [(0, 0)]
    for a, _ in waiting:
        up = -3 if a == 3 else a + 1
        after = [(up, up * up), (a, -2 * a), *([(a, 4 * a * a)] if a > -3 and 4 * a * a <= 9 else [])]
        new = [x for x in dict.fromkeys(after) if x not in states]
        states |= {*new}
        waiting += new
    assert found["states"] == len(states)
    assert "range" in str(found["faults"])


# None ----------------------------------------------------------------------------------------------------------------

USER = """module missing
machine User {
    level: 0..3
    initial state Idle
    state Used
    event go, back from environment
    Idle -> Used on go
    Used -> Idle on back
}
"""

GUARDS = [
    ("user in Used and user.level < 2", False),
    ("user not in Used and user.level < 2", True),
    ("not (user in Used) and user.level < 2", True),
    ("user not in Used or user.level < 2", False),
    ("user in Used or user.level < 2", True),
    ("user in Used => user.level < 2", False),
    ("user not in Used => user.level < 2", True),
    ("user != none and user.level < 2", False),
    ("none != user and user.level < 2", False),
    ("user == none or user.level < 2", False),
    ("user == none and user.level < 2", True),
    ("user != none or user.level < 2", True),
    ("not (user == none) and user.level < 2", False),
    ("not (user != none) and user.level < 2", True),
    ("(user == none => n > 0) and user.level < 2", False),
    ("(user == none => n == 0) and user.level < 2", True),
    ("not (user == none or n > 0) and user.level < 2", False),
    ("not (user == none and n > 0) and user.level < 2", True),
    ("(some x in {0, 1}: user == none) or user.level < 2", False),
    ("(if user in Used then true else user.level < 2)", True),
    ("(if user not in Used then true else user.level < 2)", False),
]
"""A guard, and whether it has no value where `user` is none."""


@pytest.mark.parametrize(("guard", "faulty"), GUARDS)
def test_a_state_test_of_none_is_false_and_what_follows_knows_no_more(guard: str, faulty: bool, tmp_path: Path) -> None:
    cell = f"""machine Cell {{
    user: User?
    n: 0..3
    initial state Free
    state Busy
    event take(by: User), drop, look from environment
    Free -> Busy on take(by) do user = by
    Busy -> Free on drop do user = none
    seen: Free -> Busy on look when {guard}
    ignore look in Free
}}
"""
    system = "system S {\n    users: User[1]\n    cell: Cell\n}\n"
    kinds = {f[2].kind for f in explored_alike(USER + cell + system, tmp_path)["faults"].values()}  # type: ignore[attr-defined]
    assert ("none" in kinds) is faulty
    package = Generated(tmp_path, USER + cell)
    world = package.System()
    _, instance = package.User(world), package.Cell(world)
    if not faulty:
        instance.look()
        return
    with pytest.raises(package["machinery"].MissingReference):
        instance.look()


EFFECTS = [
    ("n = user.level", "holds"),
    ("user = none; n = user.level", "none"),
    ("if n == 0 { user = none }; n = user.level", "none"),
    ("if n == 1 { user = none }; n = user.level", "holds"),
    ("if n == 1 { n = 0 } else { user = none }; n = user.level", "none"),
    ("for x in {1, 2} { user = none }; n = user.level", "none"),
    ("user = self.user; n = user.level", "holds"),
    ("n = user.level; user = none", "holds"),
]
"""Effects behind a guard that says that `user` is not none."""


@pytest.mark.parametrize(("effects", "outcome"), EFFECTS)
def test_what_a_guard_says_of_a_field_ends_where_the_field_may_change(
    effects: str, outcome: str, tmp_path: Path
) -> None:
    cell = f"""machine Cell {{
    user: User?
    n: 0..3
    initial state Free
    event take(by: User), look from environment
    Free on take(by) do user = by
    Free on look when user != none do {{ {effects} }}
    ignore look in Free
}}
"""
    system = "system S {\n    users: User[1]\n    cell: Cell\n}\n"
    kinds = {f[2].kind for f in explored_alike(USER + cell + system, tmp_path)["faults"].values()}  # type: ignore[attr-defined]
    assert kinds == ({"none"} if outcome == "none" else set())
    package = Generated(tmp_path, USER + cell)
    world = package.System()
    user, instance = package.User(world), package.Cell(world)
    instance.take(user)
    if outcome == "holds":
        instance.look()
        return
    with pytest.raises(package["machinery"].MissingReference):
        instance.look()
    assert instance.user is user


# Lists ---------------------------------------------------------------------------------------------------------------

LISTS = [
    ("[1, 2, 1]", "remove 1 from all_", (2, 1)),
    ("[2, 1, 1]", "remove 1 from all_", (2, 1)),
    ("[1, 2, 1]", "remove 2 from all_", (1, 1)),
    ("[1, 2]", "remove 3 from all_", (1, 2)),
    ("[1, 2]", "add 1 to all_", (1, 2, 1)),
    ("[1, 2, 1]", "all_ = rest(all_)", (2, 1)),
    ("[3, 2, 1]", "all_ = [first(all_)]", (3,)),
]


@pytest.mark.parametrize(("before", "effect", "after"), LISTS)
def test_a_list_loses_the_first_such_item_and_gains_one_at_its_end(
    before: str, effect: str, after: tuple[int, ...], tmp_path: Path
) -> None:
    machine = f"""module lists
machine M {{
    all_: list<1..3>[3] = {before}
    initial state S
    state T
    event go from environment
    S -> T on go do {effect}
}}
"""
    wanted = explored_alike(
        f"{machine}system S {{\n    m: M\n    invariant m in T => m.all_ == {list(after)}\n}}\n", tmp_path
    )
    assert wanted["states"] == 2
    worlds = wanted["worlds"]
    assert isinstance(worlds, list)
    assert worlds[1].fields == ((after,),)
    instance = Generated(tmp_path, machine).M()
    instance.go()
    assert tuple(instance.all_) == after


def test_a_full_list_is_too_long_whatever_is_added(tmp_path: Path) -> None:
    machine = """module lists
machine M {
    all_: list<1..3>[1] = [1]
    n: 0..3
    initial state S
    event go from environment
    S on go do add n to all_
}
"""
    wanted = explored_alike(f"{machine}system S {{\n    m: M\n}}\n", tmp_path)
    assert [f[2].kind for f in wanted["faults"].values()] == ["overflow"]  # type: ignore[attr-defined]
    with pytest.raises(Exception, match="all_ holds at most 1, not 2"):
        Generated(tmp_path, machine).M().go()


# Types ---------------------------------------------------------------------------------------------------------------


def let_type(expression: str) -> m.Type:
    """The type of an expression."""
    model = compiled(
        f"module types\nmachine M {{\n    n: 0..9\n    k: 3..5\n    lit: bool\n    one: list<0..9>[1]\n"
        f"    three: list<0..9>[3]\n    maybe: 3..5?\n    initial state S\n    event go from environment\n"
        f"    let x = {expression}\n    S on go when x == x\n}}\n"
    )
    (machine,) = model.machines.values()
    return machine.let_named["x"].type


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("min(n, k)", m.RangeType(0, 5)),
        ("min(k, n)", m.RangeType(0, 5)),
        ("max(n, k)", m.RangeType(3, 9)),
        ("max(k, n)", m.RangeType(3, 9)),
        ("min(n, k, 2)", m.RangeType(0, 2)),
        ("max(n, k, 7)", m.RangeType(7, 9)),
        ("n + k", m.RangeType(3, 14)),
        ("n - k", m.RangeType(-5, 6)),
        ("k - n", m.RangeType(-6, 5)),
        ("-k", m.RangeType(-5, -3)),
        ("if lit then n else k", m.RangeType(0, 9)),
        ("if lit then k else 1", m.RangeType(1, 5)),
        ("if lit then one else three", m.ListType(m.RangeType(0, 9), 3)),
        ("if lit then three else one", m.ListType(m.RangeType(0, 9), 3)),
        ("size(three)", m.RangeType(0, 3)),
        ("first(three)", m.RangeType(0, 9)),
        ("rest(three)", m.ListType(m.RangeType(0, 9), 3)),
        ("[k]", m.ListType(m.RangeType(3, 5), 1)),
        ("[n, k]", m.ListType(m.RangeType(0, 9), 2)),
        ("if lit then maybe else k", m.OptionalType(m.RangeType(3, 5))),
        ("if lit then k else none", m.OptionalType(m.RangeType(3, 5))),
    ],
)
def test_a_type_holds_every_value_and_no_more_than_it_must(expression: str, wanted: m.Type) -> None:
    assert let_type(expression) == wanted


def test_a_choice_between_lists_has_room_for_the_longer_one(tmp_path: Path) -> None:
    wanted = explored_alike(
        """module lists
machine M {
    one:   list<0..3>[1]
    three: list<0..3>[3] = [1, 2, 3]
    out:   list<0..3>[3]
    lit:   bool
    let either = if lit then one else three
    let other  = if lit then three else one
    initial state S
    event flip, left, right from environment
    S on flip do lit = not lit
    S on left do out = either
    S on right do out = other
}
system S {
    m: M
    reachable all3: m.out == [1, 2, 3]
    reachable by_right: m.out == m.other and size(m.out) == 3
}
""",
        tmp_path,
    )
    assert wanted["states"] == 4
    assert not wanted["faults"]


# Rounds and answers --------------------------------------------------------------------------------------------------

ANSWERS = """module answers
machine Asker {
    param other: Other
    initial state Idle
    state Chosen
    state Asking
    final state WaitFalse
    final state WaitTrue
    event go from environment
    action ask -> ok | no
    Idle   -> Chosen  on go  do other.start
    Chosen -> Asking  do ask
    Asking on ask.ok  do other.again
    ignore ask.no in Asking
    Asking -> WaitFalse  when not wait
    Asking -> WaitTrue   when wait
}
machine Other {
    initial state Idle
    state Started
    state Ready
    state Again
    final state WaitFalse
    final state WaitTrue
    event start, again from Asker
    Idle    -> Started  on start
    Started -> Ready
    Ready   -> Again    on again
    Again   -> WaitFalse  when not wait
    Again   -> WaitTrue   when wait
}
system S {
    asker: Asker { other = other }
    other: Other
}
"""


def test_the_other_members_of_a_round_finish_it_before_the_answer(tmp_path: Path) -> None:
    """The round of the caller continues with the answer, that of the others is a new one, where `wait` is true."""
    wanted = explored_alike(ANSWERS, tmp_path)
    universe = Universe(model := compiled(ANSWERS), model.systems["answers.S"])
    asked = fire(universe, initial(universe), EventStep(0, "go", ())).world
    assert asked.states == ("Asking", "Ready")
    ends = {x: fire(universe, asked, OutcomeStep(0, "ask", x)).world.states for x in ("ok", "no")}
    assert ends == {"ok": ("WaitFalse", "WaitTrue"), "no": ("WaitFalse", "Ready")}
    assert wanted["states"] == 4


@pytest.mark.parametrize(("answer", "ends"), [("ok", ["WaitFalse", "WaitTrue"]), ("no", ["WaitFalse", "Ready"])])
def test_a_class_finishes_the_round_before_it_calls_the_action(answer: str, ends: list[str], tmp_path: Path) -> None:
    classes, seen = Generated(tmp_path, ANSWERS), list[str]()

    class Answering:
        def ask(self, machine: Any) -> str:
            seen.append(machine.other.state.value)
            return answer

    system = classes.System()
    other = classes.Other(system)
    asker = classes.Asker(system, Answering(), other=other)
    asker.go()
    assert seen == ["Ready"]
    assert [asker.state.value, other.state.value] == ends


# How it begins -------------------------------------------------------------------------------------------------------

BEGINS = """module begins
machine Node {{
    s:    0..3 = any
    plus: 0..6 = s + s
    up:   bool = any
    initial state S
    event go from environment
    low:  S on go when s == 0 do s = 3
    high: S on go when s > 0 and up do s = s - 1
}}
system All {{
    a: Node
    b: Node {{ s = 2 }}
    {narrowed}
    reachable apart: a.s == 3 and a.plus == 0
}}
"""


@pytest.mark.parametrize(
    ("narrowed", "allowed"),
    [
        ("", lambda s, up, other: True),
        ("start when a.s < b.s", lambda s, up, other: s < 2),
        ("start when a.up or a.plus == 6 start when not b.up", lambda s, up, other: (up or s == 3) and not other),
        ("start when 6 / a.s == b.s", lambda s, up, other: s == 3),
    ],
)
def test_a_system_begins_with_any_values_that_start_when_allows(
    narrowed: str, allowed: Callable[[int, bool, bool], bool], tmp_path: Path
) -> None:
    case = Case(tmp_path, BEGINS.format(narrowed=narrowed))
    begun = {x for x in product(range(4), (False, True), (False, True)) if allowed(*x)}
    universe = Universe(case.model, case.model.systems["begins.All"])
    assert {(a[0], a[2], b[2]) for (a, b) in (w.fields for w in universe.starts)} == begun
    assert all(a[1] == 2 * a[0] and b[:2] == (2, 4) for (a, b) in (w.fields for w in universe.starts))
    seen, waiting = set(), [(s, 2 * s, up, 2, other) for s, up, other in begun]
    while waiting:  # by hand: what the two rows do
        at = s, plus, up, b, other = waiting.pop()
        if at not in seen:
            seen.add(at)
            waiting += [(3, plus, up, b, other)] if s == 0 else [(s - 1, plus, up, b, other)] if up else []
            waiting += [(s, plus, up, 3, other)] if b == 0 else [(s, plus, up, b - 1, other)] if other else []
    wanted = explored_alike(BEGINS.format(narrowed=narrowed), tmp_path)
    assert wanted["states"] == len(seen)
    for s, up, _ in begun:
        label = "low" if s == 0 else "high" if up else "unhandled"
        assert case.outcome("Node", {"s": s, "up": up}, "go", {"plus": 2 * s}) == label


def test_no_step_is_followed_from_beyond_a_bound(tmp_path: Path) -> None:
    text = """
    module count
    machine Counter {
        n: 0..9 = 0
        initial state Up
        event go from environment
        one: Up on go when n < 9 do n = n + 1
    }
    system Few { a: Counter  b: Counter  explore while a.n < 2  explore while 6 / (3 - b.n) > 1 }
    """
    wanted = explored_alike(text, tmp_path)
    # b may come to 3, where the second bound has no value; a to 2; and both are beyond only one at a time.
    assert (wanted["states"], wanted["beyond"]) == (3 * 4 - 1, 3 + 2)


def test_a_class_asks_for_what_may_be_any_and_looks_at_it(tmp_path: Path) -> None:
    node = Case(tmp_path, BEGINS.format(narrowed="")).classes.Node
    assert node(s=3, up=True).plus == 6
    with pytest.raises(TypeError, match="missing 2 required keyword-only arguments: 's' and 'up'"):
        node()
    with pytest.raises(Exception, match="Node: s must be a whole number from 0 to 3, not 4"):
        node(s=4, up=True)


# What is not evaluated -----------------------------------------------------------------------------------------------

EMPTY = """module empty
machine M {
    k: 0..3
    none_here: list<-1..0>[1]
    l: list<0..3>[2] = [3]
    o: M?
    initial state S
    state T
    event go from environment
    let upto(n: 0..1) = (count x in 0..n: true)
    let parts(s: set<0..1>) = (count n in {0, 1, 2, 3}: some q in subsets(s): size(q) == n)
    let last_of(n: 0..1) = none_here[n]
    let first_k(x: list<M?>[1]) = first(x).k
    let in_s(x: list<M?>[1]) = (count y in x: y in S)
    let ks(x: list<list<M?>[1]>[1]) = (count y in x: all z in y: z.k == 0)
    one: S -> T on go when GUARD
    ignore go in T
}
"""

UNEVALUATED = [
    # The ends of a range are evaluated first, the left one before the right, even if no number is between them.
    ("all i in 1..none_here[0]: i > 5", "none"),
    ("some i in 1..none_here[0]: i > 5", "none"),
    ("(count i in 1..none_here[0]: i > 5) == 0", "none"),
    ("all i in 1..o.k: i > 5", "none"),
    ("all i in o.k..-1: i > 5", "none"),
    ("all i in 1..last_of(0): i > 5", "none"),
    ("all i in l[0]..l[1]: i > 5", "none"),
    ("all i in 1..k / (k - k): i > 5", "none"),
    ("all i in 4..l[1]: i > 5", "none"),
    ("all i in l[0]..k: false", "one"),
    ("some i in l[0]..k: true", "unhandled"),
    ("(count i in l[0]..k: true) == 0", "one"),
    # What the variable of an empty range would be is a number, and nothing is evaluated for it.
    ("all i in 1..0: 3 - i > 5", "one"),
    ("all i in 1..0: max(i, i + 1) / (2 - i) > none_here[i]", "one"),
    ("some i in 1..0: 3 - i > 5", "unhandled"),
    ("(count i in 1..0: 3 / i > 5) == 0", "one"),
    ("all i in 2..1, j in 1..none_here[0]: false", "one"),
    ("all i in 1..1, j in 1..none_here[0]: false", "none"),
    ("all i in 1..1: none_here[i] > 0", "none"),
    ("all x in {}: none_here[0] > 0", "one"),
    # A parameter's type says nothing about how many values its argument has.
    ("upto(3) == 4", "one"),
    ("parts({0, 1, 5}) == 4", "one"),
    ("first_k([none, none]) == 0", "none"),
    ("in_s([none, none]) == 0", "one"),
    ("ks([[], []]) == 2", "one"),
    ("ks([[], [none]]) == 2", "none"),
    # What has been evaluated already, or decides nothing any more.
    ("false and none_here[0] > 0", "unhandled"),
    ("none_here[0] > 0 and false", "none"),
    ("true or none_here[0] > 0", "one"),
    ("none_here[0] > 0 or true", "none"),
    ("none_here[0] > 0 => true", "none"),
    ("none_here[0] >= -1", "none"),
    ("none_here[0] in {}", "none"),
    ("not (none_here[0] in {})", "none"),
    ("none_here[0] == none_here[0]", "none"),
    ("size({none_here[0]}) == 1", "none"),
    ("size(rest([none_here[0]])) == 0", "none"),
    ("self in T or none_here[0] > 0 or self in S", "none"),
    ("self not in T and none_here[0] > 0 and self not in S", "none"),
    ("self in T or k == 0 or none_here[0] > 0 or self in S", "one"),
    ("self in S or none_here[0] > 0 or self in T", "one"),
    ("(if true then true else none_here[0] > 0)", "one"),
    ("(if none_here[0] > 0 then true else true)", "none"),
]
"""A guard, and what an event leads to: the transition, no transition, or the fault."""


@pytest.mark.parametrize(("guard", "outcome"), UNEVALUATED)
def test_what_is_evaluated_can_be_a_fault_and_nothing_else_can(guard: str, outcome: str, tmp_path: Path) -> None:
    text = EMPTY.replace("GUARD", guard)
    case = Case(tmp_path, text)
    assert case.outcome("M", {}, "go") == outcome
    wanted = explored_alike(f"{text}system S {{ m: M  reachable in_t: m in T }}", tmp_path)
    faults = {fault.kind for _, _, fault in wanted["faults"].values()}  # type: ignore[attr-defined]
    assert (wanted["states"], faults) == (2 if outcome == "one" else 1, {"none"} if outcome == "none" else set())


ENVIRONMENTS = [
    ("m.go when all i in 1..m.none_here[0]: i > 5", "none"),
    ("some i in 2..1: m.go when m.none_here[i] == 0", "nothing"),
    ("some i in 1..1: m.go when m.none_here[i] == 0", "none"),
    ("some x in m.l: m.go when all i in x + 1..m.none_here[0]: true", "none"),
    ("some x in rest(m.l): m.go when all i in x + 1..m.none_here[0]: true", "nothing"),
]


@pytest.mark.parametrize(("offer", "outcome"), ENVIRONMENTS)
def test_what_an_environment_does_not_come_to_is_no_fault(offer: str, outcome: str, tmp_path: Path) -> None:
    system = f"system S {{ m: M  environment {{ {offer} }} }}"
    wanted = explored_alike(EMPTY.replace("GUARD", "true") + system, tmp_path)
    faults = {fault.kind for _, _, fault in wanted["faults"].values()}  # type: ignore[attr-defined]
    assert (wanted["states"], faults) == (1, {"none"} if outcome == "none" else set())
