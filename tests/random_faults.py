"""Random conditions that may have no value, each with what it is worth by the words of the language reference.

Ranges are empty, have one number, or end where nothing is; lists are empty, options none, divisors 0, keys missing;
conditions are constant, or decide before a fault is reached. A condition is made together with a Python function that
evaluates it from left to right and no further than needed, so that nothing of the tool's own decides what is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from random import Random
from typing import Any, NamedTuple

Values = Mapping[str, Any]
"""Of fields, and of the variables around."""


class NoValueError(Exception):
    """The fault `none`."""


class Made(NamedTuple):
    """An expression, and its value."""

    text: str
    value: Callable[[Values], Any]


FIELDS = """    k: -1..2
    j: 0..1
    l: list<-1..1>[2]
    empty: list<-1..0>[1]
    o: M?
    votes: map<0..1, 0..3> = 1
"""
LETS = """    let shifted(n: 0..1) = n + k
    let upto(n: 0..1) = (count x in 0..n: x != 1)
    let at(n: 0..1) = l[n]
    let sizes(s: set<0..1>) = (count x in s: some q in subsets(s): size(q) == x)
    let no_item = empty[0]
"""
"""Parameters are narrower than what is given to them."""

LISTS = [(), (1,), (0, -1), (1, 1)]


def worlds(random: Random, count: int) -> list[dict[str, Any]]:
    """Some values of the fields; `o` is none."""
    every = [
        {"k": k, "j": j, "l": l, "empty": e}
        for k, j, l, e in product(range(-1, 3), range(2), LISTS, [(), (-1,), (0,)])  # noqa: E741
    ]
    return random.sample(every, count)


def _item(of: tuple[int, ...], at: int) -> int:
    if not 0 <= at < len(of):
        raise NoValueError
    return of[at]


def _divided(a: int, b: int) -> int:
    if b == 0:
        raise NoValueError
    return a // b


def _missing(_: Values) -> Any:
    raise NoValueError


class Writer:
    """Writes conditions, at random."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.variables = 0

    def condition(self, depth: int, bound: tuple[str, ...] = ()) -> Made:
        """Something that is true or false, or has no value."""
        ways = [self._constant, self._compared, self._member, self._in_state]
        if depth > 0:
            ways += [self._logic, self._logic, self._negated, self._quantified, self._quantified, self._chosen]
        return self.random.choice(ways)(depth - 1, bound)

    def number(self, depth: int, bound: tuple[str, ...]) -> Made:
        """A number, or no value."""
        plain = [self._simple] * 2 + [self._faulty]
        if depth > 0:
            plain += [self._about] * bool(bound) + [
                self._sum,
                self._divided,
                self._called,
                self._counted,
                self._conditional,
                self._looked_up,
            ]
        return self.random.choice(plain)(depth - 1, bound)

    # Numbers

    def _simple(self, _: int, bound: tuple[str, ...]) -> Made:
        if self.random.random() < 0.4:
            n = self.random.randint(-1, 3)
            return Made(str(n), lambda _: n)
        name = self.random.choice(["k", "j", *bound, *bound])
        return Made(name, lambda v: v[name])

    def _faulty(self, _: int, bound: tuple[str, ...]) -> Made:
        """A number that is not there in many worlds, or in all."""
        return self.random.choice(
            [
                Made("first(l)", lambda v: _item(v["l"], 0)),
                Made("empty[0]", lambda v: _item(v["empty"], 0)),
                Made("no_item", lambda v: _item(v["empty"], 0)),
                Made("last(rest(l))", lambda v: _item(v["l"][1:], len(v["l"]) - 2)),
                Made("o.k", _missing),
                Made("o.no_item", _missing),
                Made("first(rest([k]))", _missing),
                Made("votes[k + 3]", lambda v: _missing(v) if v["k"] + 3 > 1 else 1),
                Made("(k / (j - j))", _missing),
            ]
        )

    def _about(self, _: int, bound: tuple[str, ...]) -> Made:
        """A number computed from a variable, which may have no value at all."""
        x = self.random.choice(bound)
        return self.random.choice(
            [
                Made(f"(k - {x})", lambda v: v["k"] - v[x]),
                Made(f"max({x}, {x} + 1)", lambda v: v[x] + 1),
                Made(f"(3 / (j - {x}))", lambda v: _divided(3, v["j"] - v[x])),
                Made(f"(-{x})", lambda v: -v[x]),
            ]
        )

    def _sum(self, depth: int, bound: tuple[str, ...]) -> Made:
        a, b = self.number(depth, bound), self.number(depth, bound)
        match self.random.randrange(4):
            case 0:
                return Made(f"({a.text} + {b.text})", lambda v: a.value(v) + b.value(v))
            case 1:
                return Made(f"({a.text} - {b.text})", lambda v: a.value(v) - b.value(v))
            case 2:
                return Made(f"min({a.text}, {b.text})", lambda v: min(a.value(v), b.value(v)))
            case _:
                return Made(f"max({a.text}, {b.text})", lambda v: max(a.value(v), b.value(v)))

    def _divided(self, depth: int, bound: tuple[str, ...]) -> Made:
        a = self.number(depth, bound)
        name = self.random.choice(["k", "j", "2"])
        return Made(f"({a.text} / {name})", lambda v: _divided(a.value(v), 2 if name == "2" else v[name]))

    def _looked_up(self, depth: int, bound: tuple[str, ...]) -> Made:
        at = self.number(depth, bound)
        if self.random.random() < 0.5:
            return Made(f"l[{at.text}]", lambda v: _item(v["l"], at.value(v)))
        return Made(f"votes[{at.text}]", lambda v: 1 if at.value(v) in (0, 1) else _missing(v))

    def _called(self, depth: int, bound: tuple[str, ...]) -> Made:
        given = self.number(depth, bound)
        match self.random.randrange(4):
            case 0:
                return Made(f"shifted({given.text})", lambda v: given.value(v) + v["k"])
            case 1:
                return Made(f"at({given.text})", lambda v: _item(v["l"], given.value(v)))
            case 2:
                return Made(f"upto({given.text})", lambda v: sum(x != 1 for x in range(given.value(v) + 1)))
            case _:
                other = self.number(depth, bound)

                def sizes(v: Values) -> int:
                    of = {given.value(v), other.value(v)}
                    return sum(0 <= x <= len(of) for x in of)

                return Made(f"sizes({{{given.text}, {other.text}}})", sizes)

    def _conditional(self, depth: int, bound: tuple[str, ...]) -> Made:
        c, a, b = self.condition(depth, bound), self.number(depth, bound), self.number(depth, bound)
        return Made(f"(if {c.text} then {a.text} else {b.text})", lambda v: a.value(v) if c.value(v) else b.value(v))

    def _counted(self, depth: int, bound: tuple[str, ...]) -> Made:
        name, over, values = self._binder(depth, bound)
        body = self._body(depth, name, bound)
        return Made(
            f"(count {name} in {over}: {body.text})",
            lambda v: sum(body.value({**v, name: x}) for x in values(v)),
        )

    # Conditions

    def _constant(self, _: int, bound: tuple[str, ...]) -> Made:
        holds = self.random.random() < 0.5
        return Made("true" if holds else "false", lambda _: holds)

    def _compared(self, depth: int, bound: tuple[str, ...]) -> Made:
        a, b = self.number(depth, bound), self.number(depth, bound)
        if self.random.random() < 0.1:
            b = a
        match self.random.randrange(4):
            case 0:
                return Made(f"{a.text} == {b.text}", lambda v: a.value(v) == b.value(v))
            case 1:
                return Made(f"{a.text} != {b.text}", lambda v: a.value(v) != b.value(v))
            case 2:
                return Made(f"{a.text} < {b.text}", lambda v: a.value(v) < b.value(v))
            case _:  # is true of all values that there can be
                return Made(f"{a.text} >= -1000", lambda v: a.value(v) >= -1000)

    def _member(self, depth: int, bound: tuple[str, ...]) -> Made:
        a, b = self.number(depth, bound), self.number(depth, bound)
        match self.random.randrange(4):
            case 0:
                return Made(f"{a.text} in {{}}", lambda v: a.value(v) is None)
            case 1:
                return Made(f"{a.text} in l", lambda v: a.value(v) in v["l"])
            case 2:
                return Made(f"{a.text} in {{{b.text}, 1}}", lambda v: a.value(v) in (b.value(v), 1))
            case _:
                return Made(f"size({{{a.text}, {b.text}}}) > 0", lambda v: len({a.value(v), b.value(v)}) > 0)

    def _logic(self, depth: int, bound: tuple[str, ...]) -> Made:
        if self.random.random() < 0.3:
            a, b = self.condition(depth, bound), self.condition(depth, bound)
            return Made(f"(({a.text}) => ({b.text}))", lambda v: not a.value(v) or b.value(v))
        ways = [self.condition, self.condition, self._in_state]
        parts = [self.random.choice(ways)(depth, bound) for _ in range(self.random.randint(2, 4))]
        written = [x.text if x.text.startswith("self ") else f"({x.text})" for x in parts]
        if self.random.random() < 0.5:
            return Made(f"({' and '.join(written)})", lambda v: all(x.value(v) for x in parts))
        return Made(f"({' or '.join(written)})", lambda v: any(x.value(v) for x in parts))

    def _in_state(self, _: int, bound: tuple[str, ...]) -> Made:
        """A test of the state, which is S."""
        return self.random.choice(
            [
                Made("self in S", lambda _: True),
                Made("self in T", lambda _: False),
                Made("self not in S", lambda _: False),
                Made("self not in T", lambda _: True),
                Made("o in T", lambda _: False),
                Made("o not in S", lambda _: True),
            ]
        )

    def _negated(self, depth: int, bound: tuple[str, ...]) -> Made:
        a = self.condition(depth, bound)
        return Made(f"not ({a.text})", lambda v: not a.value(v))

    def _chosen(self, depth: int, bound: tuple[str, ...]) -> Made:
        c, a, b = (self.condition(depth, bound) for _ in range(3))
        return Made(f"(if {c.text} then {a.text} else {b.text})", lambda v: a.value(v) if c.value(v) else b.value(v))

    def _quantified(self, depth: int, bound: tuple[str, ...]) -> Made:
        name, over, values = self._binder(depth, bound)
        body = self._body(depth, name, bound)
        if self.random.random() < 0.5:
            return Made(
                f"(all {name} in {over}: {body.text})", lambda v: all(body.value({**v, name: x}) for x in values(v))
            )
        return Made(
            f"(some {name} in {over}: {body.text})", lambda v: any(body.value({**v, name: x}) for x in values(v))
        )

    def _end(self, depth: int, bound: tuple[str, ...]) -> Made:
        """A number that cannot be large."""
        if self.random.random() < 0.6:
            return self.random.choice([self._simple, self._faulty])(depth, bound)
        n = self.number(depth, bound)
        return Made(f"max(-2, min(4, {n.text}))", lambda v: _between(n.value(v)))

    def _body(self, depth: int, name: str, bound: tuple[str, ...]) -> Made:
        """A condition, often one on the variable."""
        if self.random.random() < 0.5:
            return self.condition(depth, (*bound, name))
        a, b = self._about(0, (name,)), self._simple(0, bound)
        return Made(f"{a.text} < {b.text}", lambda v: a.value(v) < b.value(v))

    def _binder(self, depth: int, bound: tuple[str, ...]) -> tuple[str, str, Callable[[Values], list[int]]]:
        """A variable, and what it runs through: mostly a range, whose ends are evaluated first."""
        self.variables += 1
        name = f"x{self.variables}"
        low, high = self._end(depth, bound), self._end(depth, bound)
        first, last = (n := self.random.randint(-1, 2)), n + self.random.randint(-1, 1)
        match self.random.randrange(10):
            case 8 | 9:
                return name, f"{first}..{last}", lambda _: _numbers(first, last)
            case 0:
                return name, "rest(l)", lambda v: list(v["l"][1:])
            case 1:
                return name, f"{{{low.text}, {high.text}}}", lambda v: sorted({low.value(v), high.value(v)})
            case 2:
                return name, f"[{low.text}, {high.text}]", lambda v: [low.value(v), high.value(v)]
            case _:
                return name, f"{low.text}..{high.text}", lambda v: _numbers(low.value(v), high.value(v))


def _between(n: int) -> int:
    return max(-2, min(4, n))


def _numbers(low: int, high: int) -> list[int]:
    return list(range(low, high + 1))


class Row(NamedTuple):
    """Two rows of one event: `one`, which goes first, and `two`. If they are `apart`, no world has both, which can be
    seen from the first halves of their guards, and no priority is needed."""

    one: Made
    two: Made
    apart: bool

    def taken(self, v: Values) -> str:
        """Which is followed, or the fault. Both guards are evaluated."""
        try:
            a, b = self.one.value(v), self.two.value(v)
        except NoValueError:
            return "none"
        names = ("this", "that") if self.apart else ("one", "two")
        return names[0] if a else names[1] if b else "unhandled"


def rows(seed: int, count: int) -> list[Row]:
    """Pairs of guards."""
    random = Random(seed)
    writer = Writer(random)
    found = []
    for _ in range(count):
        one, two = writer.condition(3), writer.condition(2)
        apart = random.random() < 0.5
        if apart:
            test = random.choice([("j == 0", "j != 0"), ("k < 1", "k >= 1"), ("l == []", "not (l == [])")])
            first, second = _tests(*test)
            one, two = _both(first, one), _both(second, two)
        found.append(Row(one, two, apart))
    return found


def _tests(a: str, b: str) -> tuple[Made, Made]:
    functions: dict[str, Callable[[Values], bool]] = {
        "j == 0": lambda v: v["j"] == 0,
        "k < 1": lambda v: v["k"] < 1,
        "l == []": lambda v: not v["l"],
    }
    return Made(a, functions[a]), Made(b, lambda v: not functions[a](v))


def _both(a: Made, b: Made) -> Made:
    return Made(f"{a.text} and ({b.text})", lambda v: a.value(v) and b.value(v))


def text_of(rows: list[Row], name: str, *, begins: Values | None = None) -> str:
    """A machine with an event for each pair, and a system that begins with given values, or with any."""
    fields = "".join(_field(line, begins) for line in FIELDS.splitlines(keepends=True))
    lines = [f"module {name}", "machine M {", fields + LETS + "    initial state S  state T"]
    lines.append(f"    event {', '.join(f'e{n}' for n in range(len(rows)))} from environment")
    for n, row in enumerate(rows):
        names = ("this", "that") if row.apart else ("one", "two")
        lines += [
            f"    {x}: S -> S on e{n} when {made.text}" for x, made in zip(names, (row.one, row.two), strict=True)
        ]
    asked = [f"    invariant i{n}: {row.one.text}" for n, row in enumerate(rows)]
    return "\n".join([*lines, "    priority one > two", *asked, "}", "system Only { m: M }", ""])


def _field(line: str, begins: Values | None) -> str:
    name = line.split(":")[0].strip()
    if begins is None or name not in begins:
        return line
    value = begins[name]
    return f"{line.rstrip()} = {list(value) if isinstance(value, tuple) else value}\n"
