"""What a log says against what the spec has: values of a type, and names that stand for instances.

A log has names of its own. What each stands for is known once something was said of it; until then it may stand for
any instance of its kind that no other name stands for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.step.data import RecordValue, Table, Value
from fsmdsl.step.describe import duration, value_text
from fsmdsl.step.instances import Roster
from fsmdsl.step.values import elements

Names: TypeAlias = tuple[tuple[str, int], ...]
"""What names of the log stand for, sorted by name."""

EMPTY = frozenset({"", "none", "null", "nil", "None"})


class Directory:
    """The instances of a system by the names that a log may have for them."""

    def __init__(self, roster: Roster, fixed: Mapping[str, str], *, in_order: bool = False) -> None:
        """`fixed`: names of the log, each with that of its instance; `in_order`: a new name stands for the first
        instance that no other stands for."""
        self.in_order = in_order
        own = {roster.name(n): n for n in range(len(roster.machines))}
        self.roster = roster
        self.fixed = own | {name: own[instance] for name, instance in fixed.items()}

    def bound(self, names: Names, name: str) -> int | None:
        """The instance that a name stands for, if that is known."""
        instance = self.fixed.get(name)
        return instance if instance is not None else next((n for x, n in names if x == name), None)

    def choices(
        self, names: Names, name: str, among: Iterable[int], only: int | None = None
    ) -> Iterator[tuple[int, Names]]:
        """The instances that a name may stand for, each with what names stand for then; only the one `only`, if one
        is."""
        bound = self.bound(names, name)
        if bound is not None:
            if bound in among and only in (None, bound):
                yield bound, names
            return
        in_use = {n for _, n in names} | set(self.fixed_instances)
        free = [n for n in among if n not in in_use]
        for n in free[:1] if self.in_order else free:
            if only in (None, n):
                yield n, tuple(sorted((*names, (name, n))))

    @property
    def fixed_instances(self) -> Iterator[int]:
        """Instances that `[names]` of the mapping gives a name: no other name stands for them."""
        own = self.roster.name
        return (n for name, n in self.fixed.items() if name != own(n))

    def as_logged(self, names: Names) -> Roster:
        """The same instances, called as in the log. One without a name is `another Job` if others have one."""
        called = {n: name for name, n in (*self.fixed.items(), *names) if name != self.roster.name(n)}
        named_machines = {self.roster.machines[n].qualified for n in called}
        instances = tuple(
            replace(x, name=called.get(n, f"another {machine.name}" if machine.qualified in named_machines else x.name))
            for n, (x, machine) in enumerate(zip(self.roster.system.instances, self.roster.machines, strict=True))
        )
        return Roster(self.roster.model, replace(self.roster.system, instances=instances))

    # Values

    def unify(self, t: m.Type, logged: object, value: Value, names: Names) -> Iterator[Names]:
        """Each way in which a value of the log is that of the spec: what names stand for then."""
        match t:
            case m.RefType(machine):
                if isinstance(value, int) and isinstance(logged, str | int):
                    among = sorted(self.roster.instances_of(machine))
                    yield from (after for _, after in self.choices(names, str(logged), among, value))
            case m.OptionalType(of):
                if value is None or _is_nothing(logged):
                    yield from (names,) * (value is None and _is_nothing(logged))
                else:
                    yield from self.unify(of, logged, value, names)
            case m.RecordType():
                if isinstance(logged, dict) and isinstance(value, RecordValue):
                    yield from self._parts(t.parts, logged, value.parts, names)
            case m.SetType(of) | m.ListType(of):
                items = items_of(logged)
                if items is not None and isinstance(value, frozenset | tuple) and len(items) == len(value):
                    yield from self._items(of, items, elements(t, value), names, isinstance(value, frozenset))
            case m.MapType(key, of):
                if isinstance(logged, dict) and isinstance(value, Table) and len(logged) == len(value.entries):
                    yield from self._entries(key, of, list(logged.items()), value.entries, names)
            case _:
                yield from (names,) * _is_same(t, logged, value)

    def _parts(
        self, parts: Sequence[tuple[str, m.Type]], logged: Mapping[str, object], values: Sequence[Value], names: Names
    ) -> Iterator[Names]:
        """The parts of a record one by one; a log need not tell all."""
        if not parts:
            yield names
            return
        (name, of), *rest = parts
        for after in self.unify(of, logged[name], values[0], names) if name in logged else (names,):
            yield from self._parts(rest, logged, values[1:], after)

    def _items(
        self, of: m.Type, items: Sequence[object], values: Sequence[Value], names: Names, any_order: bool
    ) -> Iterator[Names]:
        """Items one by one: those of a list in their order, those of a set in any."""
        if not items:
            yield names
            return
        for place, value in enumerate(values if any_order else values[:1]):
            rest = (*values[:place], *values[place + 1 :])
            for after in self.unify(of, items[0], value, names):
                yield from self._items(of, items[1:], rest, after, any_order)

    def _entries(
        self,
        key: m.Type,
        of: m.Type,
        logged: Sequence[tuple[object, object]],
        entries: Sequence[tuple[Value, Value]],
        names: Names,
    ) -> Iterator[Names]:
        """The entries of a map one by one, in any order."""
        if not logged:
            yield names
            return
        for place, (k, value) in enumerate(entries):
            rest = (*entries[:place], *entries[place + 1 :])
            for bindings in self.unify(key, logged[0][0], k, names):
                for after in self.unify(of, logged[0][1], value, bindings):
                    yield from self._entries(key, of, logged[1:], rest, after)

    def label(self, t: m.Type, value: Value, names: Names) -> str:
        """A value with the names of the log where they are known."""
        called = {n: name for name, n in names}
        if isinstance(t, m.RefType) and isinstance(value, int) and value in called:
            return f"{self.roster.name(value)} ({called[value]})"
        return value_text(self.roster, t, value)


def outline(t: m.Type, logged: object, place: Callable[[str], Hashable]) -> Hashable:
    """What is left of a value of a log when each name of an instance is replaced by its `place`: values with the same
    outline are the same to `Directory.unify` where names with the same place stand for the same instances."""
    match t:
        case m.RefType():
            return place(str(logged)) if isinstance(logged, str | int) else None
        case m.OptionalType(of):
            return (None,) if _is_nothing(logged) else outline(of, logged, place)
        case m.RecordType(parts=parts):
            fields = logged if isinstance(logged, dict) else {}
            outlines = ((name, outline(of, fields[name], place)) for name, of in parts if name in fields)
            return ("parts", isinstance(logged, dict), *outlines)
        case m.SetType(of) | m.ListType(of):
            items = items_of(logged)
            return None if items is None else ("items", *[outline(of, x, place) for x in items])
        case m.MapType(key, of):
            if not isinstance(logged, dict):
                return None
            return ("entries", *[(outline(key, k, place), outline(of, x, place)) for k, x in logged.items()])
        case m.OpaqueType():
            return None
        case _:
            return logged if logged.__class__ is str else (logged.__class__, repr(logged))


def _is_same(t: m.Type, logged: object, value: Value) -> bool:
    match t:
        case m.BoolType():
            return logged is value or (isinstance(logged, str) and logged.lower() == str(value).lower())
        case m.RangeType():
            if isinstance(logged, bool):
                return False
            return logged == value or (isinstance(logged, str) and logged.strip() == str(value))
        case m.DurationType():
            assert isinstance(value, int)
            if isinstance(logged, str):
                return logged.strip() in (duration(value), str(value / 1000), f"{value}ms")
            return isinstance(logged, int | float) and not isinstance(logged, bool) and logged * 1000 == value
        case m.EnumType():
            return logged == value
        case m.OpaqueType():
            return True
        case m.NoneType():
            return _is_nothing(logged)
        case m.NeverType() | m.ErrorType():
            return False
        case m.RecordType() | m.RefType() | m.OptionalType() | m.SetType() | m.ListType() | m.MapType():
            raise AssertionError(t)
        case _:
            assert_never(t)


def _is_nothing(logged: object) -> bool:
    return logged is None or (isinstance(logged, str) and logged in EMPTY)


def items_of(logged: object) -> Sequence[object] | None:
    """A list of JSON, or a text such as `a,b`, `[a b]`; None for what is neither."""
    if isinstance(logged, list):
        return logged
    if isinstance(logged, str):
        return [x for x in re.split(r"[\s,]+", logged.strip().strip("[]{}()")) if x]
    return None
