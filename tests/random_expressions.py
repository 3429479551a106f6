"""Random expressions of a wanted type, from the names in sight, with the parentheses that they need.

What is written here resolves without errors; whether it has a value in some world is another matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import NamedTuple

from fsmdsl import model as m

LOCALS = ("x", "y", "each", "item", "n_", "q", "by_", "_it")
"""Names of bound variables; nothing else is called so."""

Signature = tuple[Mapping[str, m.Type], m.Type]

# What there is -------------------------------------------------------------------------------------------------------


@dataclass
class MachinePlan:
    """What a machine declares. Its derived values join `lets` as they are written."""

    name: str
    params: dict[str, m.Type] = field(default_factory=dict)
    fields: dict[str, m.Type] = field(default_factory=dict)
    states: list[str] = field(default_factory=list)
    events: dict[str, dict[str, m.Type]] = field(default_factory=dict)
    senders: dict[str, list[str]] = field(default_factory=dict)
    actions: dict[str, tuple[dict[str, m.Type], list[str]]] = field(default_factory=dict)
    let_names: list[str] = field(default_factory=list)
    lets: dict[str, m.Type] = field(default_factory=dict)
    functions: dict[str, Signature] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    """Derived values that read nothing but the machine itself."""

    @property
    def data(self) -> dict[str, m.Type]:
        """What can be read of an instance."""
        return {**self.params, **self.fields, **self.lets}


@dataclass
class ModulePlan:
    """What a module declares."""

    enums: list[m.EnumType] = field(default_factory=list)
    records: list[m.RecordType] = field(default_factory=list)
    opaques: list[m.OpaqueType] = field(default_factory=list)
    state_types: list[m.EnumType] = field(default_factory=list)
    """`state of Cell` of each machine whose states fields and events may have for values."""
    machines: dict[str, MachinePlan] = field(default_factory=dict)
    channels: dict[str, str] = field(default_factory=dict)
    """The receiver of each."""
    each: set[str] = field(default_factory=set)
    """Channels that lead to each instance of the receiver."""
    senders: dict[str, str] = field(default_factory=dict)
    """Of those with a queue for each pair: the machine at the other end."""
    let_names: list[str] = field(default_factory=list)
    lets: dict[str, m.Type] = field(default_factory=dict)
    functions: dict[str, Signature] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    """Members that two enums have."""

    def must_be_alone(self, machine: str) -> bool:
        """Does a channel lead to its only instance?"""
        return any(x == machine and c not in self.each for c, x in self.channels.items())


@dataclass(frozen=True)
class Env:
    """The names in sight of an expression."""

    module: ModulePlan
    names: Mapping[str, m.Type]
    functions: Mapping[str, Signature]
    machine: MachinePlan | None = None
    reserved: frozenset[str] = frozenset()
    """Names that stand for a value here, but cannot be used yet."""
    own_only: bool = False
    """In the guard of an eventless transition."""
    bound: frozenset[str] = frozenset()
    """Names of variables, which may hide a field."""

    def bind(self, variables: Mapping[str, m.Type]) -> Env:
        return replace(self, names={**self.names, **variables}, bound=self.bound | variables.keys())

    def holds(self, name: str) -> bool:
        return name in self.names or name in self.functions or name in self.reserved

    def paths(self, through_options: bool = True) -> Iterator[tuple[str, m.Type]]:
        """Names, and what can be read through them."""
        yield from self.names.items()
        for name, t in self.names.items():
            inner = bare(t) if through_options else t
            if isinstance(inner, m.RecordType):
                yield from ((f"{name}.{n}", x) for n, x in inner.parts)
        if self.machine is not None:
            yield from ((f"self.{n}", t) for n, t in self.machine.fields.items())
        if self.own_only:
            return
        for name, t in self.names.items():
            inner = bare(t) if through_options else t
            if isinstance(inner, m.RefType):
                yield from ((f"{name}.{n}", x) for n, x in self.module.machines[inner.machine].data.items())


def bare(t: m.Type) -> m.Type:
    """A type without its `?`."""
    return t.of if isinstance(t, m.OptionalType) else t


def alike(a: m.Type, b: m.Type) -> bool:
    """May a value of one type stand wherever one of the other may?"""
    match a, b:
        case m.RangeType(), m.RangeType():
            return True
        case m.SetType(), m.SetType():
            return alike(a.of, b.of)
        case m.ListType(), m.ListType():
            return alike(a.of, b.of)
        case m.OptionalType(), m.OptionalType():
            return alike(a.of, b.of)
        case _:
            return a == b


# Text ----------------------------------------------------------------------------------------------------------------

IMPLICATION, OR, AND, NOT, COMPARISON, SUM, PRODUCT, TERM, ATOM = range(9)


class Text(NamedTuple):
    """An expression, how tightly it binds, and whether it reaches as far to the right as it can."""

    text: str
    level: int = ATOM
    open: bool = False


def within(t: Text, level: int, last: bool = True) -> Text:
    """An expression as an operand: in parentheses where it would be read otherwise."""
    return Text(f"({t.text})") if t.level < level or (t.open and not last) else t


def joined(operator: str, level: int, operands: list[Text]) -> Text:
    """Operands, which bind more tightly than the level, with an operator between them."""
    parts = [within(x, level + 1, n == len(operands) - 1) for n, x in enumerate(operands)]
    return Text(f" {operator} ".join(x.text for x in parts), level, parts[-1].open)


# Expressions ---------------------------------------------------------------------------------------------------------

Make = Callable[[], Text]


class Writer:
    """Writes expressions, at random."""

    def __init__(self, random: Random, newer: bool = False) -> None:
        self.random = random
        self.newer = newer
        """Quotients, items and instances by number, too. Without them, a seed gives what it gave before there were."""

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def value(self, env: Env, t: m.Type, depth: int, opened: bool = False) -> Text:
        """An expression of a type that `possible` allows. `opened`: an option may stand in for what it holds."""
        if isinstance(t, m.MapType):
            return self._map(env, t, depth, opened)
        if opened and not isinstance(t, m.OptionalType) and self.chance(0.03):
            options = self._named(env, m.OptionalType(t))
            if options:
                return Text(self.random.choice(options))
        made = self.random.choice(self._ways(env, t, depth))()
        return Text(f"({made.text})") if self.chance(0.03) else made

    def _map(self, env: Env, t: m.MapType, depth: int, opened: bool) -> Text:
        """A map that has a name, or, where one is needed, a value for every key."""
        named = self._named(env, t) or self._always_named(env, t)
        if not named or (opened and self.chance(0.4)):
            return self.value(env, t.of, depth)
        return Text(self.random.choice(named))

    def possible(self, env: Env, t: m.Type) -> bool:
        """Is there an expression of this type?"""
        if isinstance(t, m.MapType):
            return self.possible(env, t.of)
        return self._literal(env, t) or bool(self._always_named(env, t))

    def condition(self, env: Env, depth: int) -> Text:
        """Something that is true or false."""
        return self.value(env, m.BOOL, depth, opened=True)

    def _literal(self, env: Env, t: m.Type) -> bool:
        if isinstance(t, m.RecordType):
            return all(self.possible(env, of) for _, of in t.parts)
        return not isinstance(t, m.RefType | m.OpaqueType) or self._is_self(env, t)

    def _always_named(self, env: Env, t: m.Type) -> list[str]:
        return [n for n, x in env.paths(through_options=False) if alike(x, t)]

    def _is_self(self, env: Env, t: m.Type) -> bool:
        return env.machine is not None and t == m.RefType(env.machine.name)

    def _named(self, env: Env, t: m.Type) -> list[str]:
        return [n for n, x in self.paths(env) if alike(x, t)]

    def paths(self, env: Env) -> list[tuple[str, m.Type]]:
        """What can be read; seldom through an option, which may be none."""
        return list(env.paths(through_options=self.chance(0.1)))

    def _ways(self, env: Env, t: m.Type, depth: int) -> list[Make]:
        """Ways to write an expression of a type."""
        ways: list[Make] = []
        named = self._named(env, t) or (self._always_named(env, t) if not self._literal(env, t) else [])
        if named:
            ways += [lambda: Text(self.random.choice(named))] * 3
        if self._is_self(env, t):
            ways.append(lambda: Text("self"))
        elif self._literal(env, t):
            ways.append(lambda: self.literal(env, t))
        if depth <= 0 or not ways:
            return ways
        ways.append(lambda: self._conditional(env, t, depth - 1))
        calls = [(n, s) for n, s in self._functions(env) if alike(s[1], t)]
        if calls:
            ways.append(lambda: self._call(env, *self.random.choice(calls), depth - 1))
        return ways + list(self._composed(env, t, depth - 1))

    def _composed(self, env: Env, t: m.Type, depth: int) -> Iterator[Make]:
        """What is made of smaller expressions, according to the type."""
        lists = self._named(env, m.ListType(t, 1))
        if lists and not isinstance(t, m.OptionalType) and self.chance(0.3):
            yield lambda: Text(f"first({self.random.choice(lists)})")
        if self.newer:
            yield from self._by_number(env, t, lists, depth)
        match t:
            case m.BoolType():
                yield from [lambda: self._boolean(env, depth)] * 5
            case m.RangeType():
                yield from [lambda: self._number(env, t, depth)] * 3
            case m.EnumType(machine=machine) if machine:
                found = self._state_of(env, machine)
                if found is not None:
                    yield from [lambda: Text(found)] * 3
            case m.EnumType(ordered=True):
                yield lambda: self._extreme(env, t, depth)
            case m.SetType():
                yield lambda: self._sum(env, t, depth, ["+", "-", "&"])
            case m.ListType():
                yield lambda: Text(f"rest({self.value(env, t, depth).text})")
                if self.newer and _plain(t):
                    yield lambda: self._sum(env, t, depth, ["+"])
            case m.RecordType():
                yield from [lambda: self._record(env, t, depth)] * 2
            case m.OptionalType(of) if self.possible(env, of):
                yield lambda: self.value(env, of, depth)
            case _:
                return

    def _by_number(self, env: Env, t: m.Type, lists: list[str], depth: int) -> Iterator[Make]:
        """`log[i]`, `last(log)`, and in a system `cells[i]`."""
        if lists and not isinstance(t, m.OptionalType):
            yield lambda: Text(f"last({self.random.choice(lists)})")
            yield lambda: Text(f"{self.random.choice(lists)}[{self._place(env, depth)}]")
        maps = [(n, x.key) for n, x in self.paths(env) if isinstance(x, m.MapType) and x.of == t]
        maps = [(n, key) for n, key in maps if self.possible(env, key)]
        if maps and self.chance(0.7):
            yield from [lambda: self._entry(env, *self.random.choice(maps))] * 2
        sets = [n for n, x in env.names.items() if x == m.SetType(t)]
        groups = [n for n in sets if env.machine is None and f"{n}[0]" in env.names]
        if groups:
            place = self._place(env, depth)  # the number of an instance that there is not is an error
            yield lambda: Text(f"{self.random.choice(groups)}[{'0' if place.strip('()').isdecimal() else place}]")

    def _entry(self, env: Env, name: str, key: m.Type) -> Text:
        """`votes[n]`."""
        return Text(f"{name}[{self.value(env, key, 0, True).text}]")

    def _place(self, env: Env, depth: int) -> str:
        """A number that is often one of a short list."""
        number = self.value(env, m.RangeType(0, 2), depth, True)
        return f"{within(number, PRODUCT, False).text} % 2" if self.chance(0.5) else number.text

    # Literals and calls

    def literal(self, env: Env, t: m.Type) -> Text:
        """A constant, of a type that has any."""
        match t:
            case m.BoolType():
                return Text(self.random.choice(["true", "false"]))
            case m.RangeType(low, high):
                n = self.random.randint(low, high) + self.chance(0.03)
                return Text(str(n), ATOM if n >= 0 else TERM)
            case m.DurationType():
                return Text(self.random.choice(["100ms", "30s", "5min", "0s", "24h", "3d"]))
            case m.EnumType(members=members, machine=machine) if machine:
                return Text(f"{machine}.{self.random.choice(members)}")
            case m.EnumType(name, members):
                return Text(self.member(env, name, self.random.choice(members)))
            case m.SetType(of):
                return Text("{" + ", ".join(self._items(env, of, self.random.randint(0, 2))) + "}")
            case m.MapType(of=of):
                return self.literal(env, of)
            case m.ListType(of, bound):
                count = self.random.randint(0, bound) + self.chance(0.03)
                items = self._items(env, of, count)
                if len(items) > 1 and self.chance(0.4):  # which of the same comes first or goes makes a difference
                    items[-1] = items[0]
                return Text("[" + ", ".join(items) + "]")
            case m.RecordType():
                return self._record(env, t, 0)
            case _:
                return Text("none")

    def _record(self, env: Env, t: m.RecordType, depth: int) -> Text:
        """A record with its parts named, in any order, or in order."""
        given = [(name, self.value(env, of, depth, opened=True).text) for name, of in t.parts]
        if self.chance(0.5):
            return Text(f"{t.name}({', '.join(x for _, x in given)})")
        self.random.shuffle(given)
        return Text(f"{t.name}({', '.join(f'{name} = {x}' for name, x in given)})")

    def member(self, env: Env, enum: str, name: str) -> str:
        """A member of an enum: bare where nothing else is called so."""
        plain = name not in env.module.shared and not env.holds(name)
        if env.machine is not None:
            plain = plain and name not in env.machine.states
        return name if plain and self.chance(0.6) else f"{enum}.{name}"

    def _items(self, env: Env, of: m.Type, count: int) -> list[str]:
        return [self.value(env, of, 0).text for _ in range(count)] if self.possible(env, of) else []

    def _functions(self, env: Env) -> Iterator[tuple[str, Signature]]:
        """Derived values with parameters whose arguments can be given."""
        found = list(env.functions.items())
        if not env.own_only:
            options = self.chance(0.1)
            for name, t in env.names.items():
                if isinstance(inner := bare(t) if options else t, m.RefType):
                    of = env.module.machines[inner.machine].functions
                    found += [(f"{name}.{n}", s) for n, s in of.items()]
        return ((n, s) for n, s in found if all(self.possible(env, p) for p in s[0].values()))

    def _call(self, env: Env, name: str, signature: Signature, depth: int) -> Text:
        return Text(f"{name}({self.arguments(env, signature[0], depth, settled=True)})")

    def arguments(self, env: Env, parameters: Mapping[str, m.Type], depth: int, settled: bool = False) -> str:
        """Arguments for parameters, which must be possible. `settled`: no map is made of what may not fit."""
        given = (
            self._settled(env, t) if settled and isinstance(t, m.MapType) else self.value(env, t, depth, opened=True)
            for t in parameters.values()
        )
        return ", ".join(x.text for x in given)

    def _settled(self, env: Env, t: m.MapType) -> Text:
        named = self._always_named(env, t)
        if named:
            return Text(self.random.choice(named))
        return Text(str(t.of.low)) if isinstance(t.of, m.RangeType) else self.value(env, t.of, 0)

    def _conditional(self, env: Env, t: m.Type, depth: int) -> Text:
        test, then, other = self.condition(env, depth), self.value(env, t, depth), self.value(env, t, depth)
        return Text(f"if {test.text} then {then.text} else {other.text}", NOT, True)

    # Numbers and sets

    def _number(self, env: Env, t: m.RangeType, depth: int) -> Text:
        if self.newer and self.chance(0.25):
            return self._quotient(env, t, depth)
        match self.random.randrange(7):
            case 0 | 1:
                return self._sum(env, t, depth, ["+", "-"])
            case 6:
                return self._product(env, t, depth)
            case 2:
                return self._extreme(env, t, depth)
            case 3:
                return self._size(env, depth)
            case 4:
                return Text(f"-{within(self.value(env, t, depth, True), ATOM).text}", TERM)
            case _:
                return self._quantified(env, "count", depth)

    def _sum(self, env: Env, t: m.Type, depth: int, operators: list[str]) -> Text:
        text = within(self.value(env, t, depth, True), SUM, False).text
        for _ in range(self.random.choice([1, 1, 2])):
            text += f" {self.random.choice(operators)} {within(self.value(env, t, depth, True), PRODUCT).text}"
        return Text(text, SUM)

    def _product(self, env: Env, t: m.Type, depth: int) -> Text:
        """Factors are small, so that no product of products has too many digits."""
        text = within(self.value(env, t, depth, True), PRODUCT, False).text
        for _ in range(self.random.choice([1, 1, 2])):
            names = [n for n, x in self.paths(env) if isinstance(x, m.RangeType) and max(-x.low, x.high) <= 4]
            text += f" * {self.random.choice([*names, '0', '1', '2', '3', '-1', '-2'])}"
        return Text(text, PRODUCT)

    def _quotient(self, env: Env, t: m.Type, depth: int) -> Text:
        """Now and then by what may be 0."""
        text = within(self.value(env, t, depth, True), PRODUCT, False).text
        divisor = self.value(env, t, depth, True) if self.chance(0.3) else Text(self.random.choice("123"))
        if divisor.text not in ("1", "2", "3"):  # it might be known to be 0
            divisor = Text(f"(if {self.value(env, m.BoolType(), 0).text} then {divisor.text} else -2)")
        return Text(f"{text} {self.random.choice('/%')} {within(divisor, TERM).text}", PRODUCT)

    def _extreme(self, env: Env, t: m.Type, depth: int) -> Text:
        count = self.random.choice([2, 2, 3]) if isinstance(t, m.RangeType) else 2
        listed = ", ".join(self.value(env, t, depth, True).text for _ in range(count))
        return Text(f"{self.random.choice(['min', 'max'])}({listed})")

    def _size(self, env: Env, depth: int) -> Text:
        if env.module.channels and not env.own_only and self.chance(0.8 if env.module.each else 0.2):
            channel = self.random.choice(list(env.module.channels))
            if not env.holds(channel) and channel not in env.module.each:
                return Text(f"size({channel})")
            receiver = m.RefType(env.module.channels[channel])
            for x, sender in env.module.senders.items():
                by, to = self._called(env, sender), self._called(env, env.module.channels[x])
                if by and to and not env.holds(x):
                    return Text(f"size({x} from {self.random.choice(by)} to {self.random.choice(to)})")
            plain = channel in env.module.each and channel not in env.module.senders
            whose = [n for n, t in self.paths(env) if t == receiver] if plain else []
            whose += ["self"] if plain and self._is_self(env, receiver) else []
            if not env.holds(channel) and whose:
                return Text(f"size({channel} of {self.random.choice(whose)})")
        return Text(f"size({self.source(env, depth)[0].text})")

    def _called(self, env: Env, machine: str) -> list[str]:
        """What stands for an instance of a machine, itself included."""
        own = ["self"] if env.machine is not None and env.machine.name == machine else []
        return [n for n, t in self.paths(env) if t == m.RefType(machine)] + own

    # Sets and lists to go through

    def source(self, env: Env, depth: int) -> tuple[Text, m.Type]:
        """A set or list, and the type of what it holds."""
        named = [(n, t) for n, t in self.paths(env) if isinstance(t, m.SetType | m.ListType)]
        if named and self.chance(0.8):
            name, t = self.random.choice(named)
            of = t.of
            if isinstance(t, m.SetType) and depth > 0 and self.chance(0.25):
                operator = self.random.choice("+-&")
                right = within(self.value(env, t, depth - 1), TERM).text
                return Text(f"{name} {operator} {right}", SUM), of
            return Text(name), of
        of = self.random.choice([m.RangeType(0, 2), m.BOOL, *env.module.enums])
        items = ", ".join(self.literal(env, of).text for _ in range(self.random.randint(1, 3)))
        return Text("{" + items + "}" if self.chance(0.7) else f"[{items}]"), of

    def _quantified(self, env: Env, kind: str, depth: int) -> Text:
        binders = []
        for _ in range(1 if kind == "count" else self.random.choice([1, 1, 1, 2])):
            over, of = self.source(env, depth)
            sets = [n for n, x in self.paths(env) if x == m.SetType(of)]
            if sets and self.chance(0.1):
                over, of = Text(f"subsets({self.random.choice(sets)}, {self.random.randint(0, 2)})"), m.SetType(of)
            name = self.local(env)
            if self.newer and self.chance(0.4):
                over, of = self._wider(env, kind, name)
            binders.append(f"{name} in {over.text}")
            env = env.bind({name: of})
        return Text(f"{kind} {', '.join(binders)}: {self.condition(env, depth).text}", NOT, True)

    def _wider(self, env: Env, kind: str, variable: str) -> tuple[Text, m.Type]:
        """A range, an enum, or in a system all subsets of a set. The ends of a range say nothing of another variable of
        the same name."""
        groups = [n for n, x in env.names.items() if isinstance(x, m.SetType) and f"{n}[0]" in env.names]
        if groups and kind != "count" and env.machine is None and self.chance(0.5):
            name = self.random.choice(groups)
            return Text(f"subsets({name})"), env.names[name]
        if env.module.enums and self.chance(0.3):
            enum = self.random.choice(env.module.enums)
            return Text(enum.name), enum
        paths = [n for n, x in self.paths(env) if isinstance(x, m.RangeType) and n.partition(".")[0] != variable]
        ends = [f"max(-1, min(3, {n}))" for n in paths]
        low, high = (self.random.choice([*ends, "0", "1", "2"]) for _ in range(2))
        return Text(f"{low}..{high}{self.random.choice(['', '', ' + 1', ' - 1'])}"), m.RangeType(-1, 4)

    def local(self, env: Env) -> str:
        """A name for a bound variable; now and then one that hides a field."""
        if env.machine is not None and env.machine.fields and self.chance(0.1):
            return self.random.choice(list(env.machine.fields))
        return self.random.choice(LOCALS)

    # Conditions

    def _boolean(self, env: Env, depth: int) -> Text:
        ways: list[Make] = [
            lambda: self._logic(env, depth),
            lambda: Text(f"not {(x := within(self.condition(env, depth), NOT)).text}", NOT, x.open),
            lambda: self._comparison(env, depth),
            lambda: self._comparison(env, depth),
            lambda: self._membership(env, depth),
            lambda: self._quantified(env, self.random.choice(["all", "some"]), depth),
            lambda: self._state_test(env) or self._comparison(env, depth),
            lambda: self._state_test(env) or self._comparison(env, depth),
            lambda: self._bound(env) or self._comparison(env, depth),
            lambda: self._bound(env) or self._comparison(env, depth),
            lambda: self._then_read(env) or self._comparison(env, depth),
        ]
        if env.machine is not None:
            ways.append(lambda: Text("wait"))
        if self.newer:
            ways.append(lambda: self._same_state(env) or self._comparison(env, depth))
            ways.append(lambda: self._state_compared(env) or self._comparison(env, depth))
        return self.random.choice(ways)()

    def _logic(self, env: Env, depth: int) -> Text:
        kind = self.random.choice(["and", "or", "=>"])
        operands = [self.condition(env, depth) for _ in range(2 if kind == "=>" else self.random.choice([2, 2, 3]))]
        if kind == "=>":
            left, right = within(operands[0], OR, False), operands[1]
            return Text(f"{left.text} => {right.text}", IMPLICATION, right.open)
        return joined(kind, AND if kind == "and" else OR, operands)

    def _comparison(self, env: Env, depth: int) -> Text:
        types = [
            m.RangeType(0, 3),
            m.BOOL,
            *env.module.enums,
            *env.module.state_types,
            *(t for _, t in self.paths(env)),
        ]
        t = self.random.choice([x for x in types if not isinstance(bare(x), m.OpaqueType) and _plain(x)])
        ordered = _ordered(bare(t))
        operators = ["==", "!="] + (["<", "<=", ">", ">="] if ordered and self.possible(env, bare(t)) else [])
        operator = self.random.choice(operators)
        if operator not in ("==", "!="):
            t = bare(t)
        if not self.possible(env, t):
            t = m.BOOL
        sides = [self.value(env, t, depth), self.value(env, t, depth)]
        if isinstance(t, m.MapType):  # a value that fills a map is no map to compare with
            maps = [n for n, x in env.paths() if x == t]
            sides = [x if x.text in maps else Text(maps[0]) for x in sides]
        parts = [within(x, SUM, False) for x in sides]
        return Text(f"{parts[0].text} {operator} {parts[1].text}", COMPARISON)

    def _bound(self, env: Env) -> Text | None:
        """A field of its own against a literal: so few of both that guards often speak of the same, with equal bounds,
        or with bounds that are one apart."""
        fields = {} if env.machine is None else env.machine.fields
        ordered = [(n, t) for n, t in fields.items() if _ordered(t) and not isinstance(t, m.DurationType)]
        own = [(n, t) for n, t in ordered if env.names.get(n) == t]
        if not own:
            return None
        name, t = self.random.choice(own)
        operator = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        literal = within(self.literal(env, t), SUM).text
        return Text(f"{name} {operator} {literal}" if self.chance(0.8) else f"{literal} {operator} {name}", COMPARISON)

    def _then_read(self, env: Env) -> Text | None:
        """A test of something that may be none, and what can be read through it: `x not in Used and x.level < 2`. With
        some of the tests it is there, with others it need not be."""
        if env.own_only:
            return None
        options = [(n, r.machine) for n, t in env.names.items() if isinstance(r := option_of(t), m.RefType)]
        if not options:
            return None
        name, machine = self.random.choice(options)
        plan = env.module.machines[machine]
        states = [s for s in plan.states if not env.holds(s)]
        tests = [f"{name} == none", f"{name} != none"]
        tests += [f"{name} {x} {self.random.choice(states)}" for x in ("in", "not in", "not in") if states]
        read = [(n, t) for n, t in plan.data.items() if isinstance(t, m.BoolType | m.RangeType | m.EnumType)]
        if not read:
            return None
        field, t = self.random.choice(read)
        operator = self.random.choice(["==", "!="])
        right = Text(f"{name}.{field} {operator} {within(self.literal(env, t), SUM).text}", COMPARISON)
        test = Text(self.random.choice(tests), COMPARISON)
        if self.chance(0.2):
            test = Text(f"not ({test.text})", NOT)
        match self.random.choice(["and", "and", "or", "=>", "if"]):
            case "=>":
                return Text(f"{within(test, OR, False).text} => {right.text}", IMPLICATION)
            case "if":
                other = self.random.choice(["true", "false"])
                return Text(f"if {test.text} then {right.text} else {other}", NOT, True)
            case kind:
                return joined(kind, AND if kind == "and" else OR, [test, right])

    def _membership(self, env: Env, depth: int) -> Text:
        over, of = self.source(env, depth)
        if not self.possible(env, of) or not _plain(of):
            return self._comparison(env, depth)
        item, over = within(self.value(env, of, depth), SUM, False), within(over, SUM, False)
        if self.chance(0.3):
            return Text(f"{over.text} has {item.text}", COMPARISON)
        return Text(f"{item.text} {self.random.choice(['in', 'not in'])} {over.text}", COMPARISON)

    def _same_state(self, env: Env) -> Text | None:
        """`same_state(x, y)`."""
        found = [] if env.own_only else [(n, t.machine) for n, x in env.paths() if isinstance(t := bare(x), m.RefType)]
        found += [] if env.machine is None else [("self", env.machine.name)]
        if not found:
            return None
        name, machine = self.random.choice(found)
        other = self.random.choice([n for n, of in found if of == machine])
        return Text(f"same_state({name}, {other})")

    def _state_of(self, env: Env, machine: str) -> str | None:
        """`state(x)` of an instance of a machine."""
        found = [] if env.own_only else [n for n, x in env.paths() if bare(x) == m.RefType(machine)]
        found += [] if env.machine is None or env.machine.name != machine else ["self"]
        return f"state({self.random.choice(found)})" if found else None

    def _state_compared(self, env: Env) -> Text | None:
        """`seen in {Used, Free}`, `state(x) == Used`."""
        if not env.module.state_types:
            return None
        t = self.random.choice(env.module.state_types)
        of, plan = self._state_of(env, t.machine), env.module.machines[t.machine]
        left = [n for n, x in env.paths() if bare(x) == t] + ([] if of is None else [of])
        states = [s for s in plan.states if not env.holds(s)]
        leaves = [s for s in t.members if s in states]
        if not left or not leaves:
            return None
        if self.chance(0.5):
            sides = [self.random.choice(left), self.random.choice(leaves)]
            self.random.shuffle(sides)
            return Text(f" {self.random.choice(['==', '!='])} ".join(sides), COMPARISON)
        some = self.random.sample(states, self.random.randint(1, len(states)))
        right = some[0] if len(some) == 1 and self.chance(0.5) else f"{{{', '.join(some)}}}"
        return Text(f"{self.random.choice(left)} {self.random.choice(['in', 'not in'])} {right}", COMPARISON)

    def _state_test(self, env: Env) -> Text | None:
        """`x in Used`, `x in {Used, Free}`, or one of the machine's own states."""
        found = [(n, t.machine) for n, x in env.paths() if isinstance(t := bare(x), m.RefType)]
        found = [] if env.own_only else found
        if env.machine is not None and (not found or self.chance(0.4)):
            members = {x for e in env.module.enums for x in e.members}
            own = [s for s in env.machine.states if not env.holds(s) and s not in members]
            if own and self.chance(0.6):
                return Text(self.random.choice(own))
            found = [("self", env.machine.name)]
        if not found:
            return None
        name, machine = self.random.choice(found)
        states = [s for s in env.module.machines[machine].states if not env.holds(s)]
        if not states:
            return None
        picked = self.random.sample(states, min(len(states), self.random.choice([1, 1, 2])))
        right = picked[0] if len(picked) == 1 and self.chance(0.7) else "{" + ", ".join(picked) + "}"
        return Text(f"{name} {self.random.choice(['in', 'in', 'not in'])} {right}", COMPARISON)


def _plain(t: m.Type) -> bool:
    """Does the type say enough about its literals for both sides of a comparison to agree?"""
    return not (isinstance(t, m.SetType | m.ListType) and isinstance(t.of, m.OptionalType))


def option_of(t: m.Type) -> m.Type | None:
    """What an optional type holds."""
    return t.of if isinstance(t, m.OptionalType) else None


def _ordered(t: m.Type) -> bool:
    return t.ordered if isinstance(t, m.EnumType) else isinstance(t, m.RangeType | m.DurationType)
