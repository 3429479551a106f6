"""Declared types: which values from outside a parameter takes, and how others are refused."""

from __future__ import annotations

from .errors import Full, OutOfRange
from .values import either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from enum import Enum
    from typing import Any, NoReturn

LONGEST_QUOTE = 200
"""Maximum length of a value in a message."""


class Kind:
    """A declared type."""

    __slots__ = ("expected",)

    def __init__(self, expected: str) -> None:
        self.expected = expected
        """Its values, in a sentence."""

    def has(self, value: Any, system: object) -> bool:
        """Is a value of this type? Machines have to belong to the system, unless that is None."""
        raise NotImplementedError

    def have(self, values: Iterable[Any], system: object) -> bool:
        """Are several values of this type?"""
        return all(self.has(x, system) for x in values)

    def check(self, value: Any, system: object, holder: object, label: str) -> None:
        """Raises `OutOfRange`, or `Full`, if a value is not of this type."""
        if not self.has(value, system):
            self.refuse(value, system, holder, label)

    def refuse(self, value: Any, system: object, holder: object, label: str) -> NoReturn:
        """Refuses a value. `holder` and `label`: where it came in."""
        raise OutOfRange(f"{holder}: {label} must be {self.expected}, not {quoted(value)}")


class TruthKind(Kind):
    """True or false."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("True or False")

    def has(self, value: Any, system: object) -> bool:
        return isinstance(value, bool)


class NumberKind(Kind):
    """Whole numbers of a range. True and False are none."""

    __slots__ = ("high", "low")

    def __init__(self, low: int, high: int) -> None:
        super().__init__(f"a whole number from {low} to {high}")
        self.low = low
        self.high = high

    def has(self, value: Any, system: object) -> bool:
        return type(value) is int and self.low <= value <= self.high


class SecondsKind(Kind):
    """Lengths of time."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("a number of seconds")

    def has(self, value: Any, system: object) -> bool:
        return type(value) in (int, float) and 0 <= value < float("inf")


class MemberKind(Kind):
    """Members of an enum, or the states of a machine."""

    __slots__ = ("kind",)

    def __init__(self, kind: type[Enum]) -> None:
        super().__init__(either(f"{kind.__name__}.{x.name}" for x in kind))
        self.kind = kind

    def has(self, value: Any, system: object) -> bool:
        return isinstance(value, self.kind)


class RecordKind(Kind):
    """Records, which check their parts themselves. Only they do not know which system machines have to belong to."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind: type, **parts: Kind) -> None:
        super().__init__(f"{_article(kind.__name__)} {kind.__name__}")
        self.kind = kind
        self.parts = parts

    def has(self, value: Any, system: object) -> bool:
        return isinstance(value, self.kind) and all(
            part.has(getattr(value, name), system) for name, part in self.parts.items()
        )

    def refuse(self, value: Any, system: object, holder: object, label: str) -> NoReturn:
        if isinstance(value, self.kind):
            for name, part in self.parts.items():
                part.check(getattr(value, name), system, holder, f"{label}.{name}")
        super().refuse(value, system, holder, label)


class ReferenceKind(Kind):
    """Machines of one class, in the system. They are known by their states, as files of machines import one another."""

    __slots__ = ("states",)

    def __init__(self, name: str, states: type[Enum]) -> None:
        super().__init__(f"{_article(name)} {name} of this system")
        self.states = states

    def has(self, value: Any, system: object) -> bool:
        try:
            return type(value._state) is self.states and (system is None or value._system is system)
        except AttributeError:
            return False

    def have(self, values: Iterable[Any], system: object) -> bool:
        states = self.states
        try:
            for x in values:
                if type(x._state) is not states or (system is not None and x._system is not system):
                    return False
        except AttributeError:
            return False
        return True

    def refuse(self, value: Any, system: object, holder: object, label: str) -> NoReturn:
        elsewhere = " of another system" if self.has(value, None) else ""
        raise OutOfRange(f"{holder}: {label} must be {self.expected}, not {quoted(value)}{elsewhere}")

    def each(self, values: Any, system: object, holder: object, label: str) -> tuple[Any, ...]:
        """Several machines, in any collection."""
        try:
            machines = tuple(values)
        except TypeError:
            raise OutOfRange(f"{holder}: {label} must be a collection of machines, not {quoted(values)}") from None
        for machine in machines:
            self.check(machine, system, holder, f"an element of {label}")
        return machines


class ModelKind(Kind):
    """Models of a class, which is looked up late, as files of machines import one another."""

    __slots__ = ("class_",)

    def __init__(self, name: str, class_: Any) -> None:
        super().__init__(f"{_article(name)} {name}")
        self.class_ = class_

    def has(self, value: Any, system: object) -> bool:
        return isinstance(value, self.class_())


class OpaqueKind(Kind):
    """Values that only hand-written code looks into. They may become elements of sets."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("a value that has a hash")

    def has(self, value: Any, system: object) -> bool:
        try:
            hash(value)
        except TypeError:
            return False
        return value is not None


class OptionalKind(Kind):
    """The values of a type, and None."""

    __slots__ = ("of",)

    def __init__(self, of: Kind) -> None:
        super().__init__(f"{of.expected}, or None")
        self.of = of

    def has(self, value: Any, system: object) -> bool:
        return value is None or self.of.has(value, system)

    def refuse(self, value: Any, system: object, holder: object, label: str) -> NoReturn:
        if value is None:
            super().refuse(value, system, holder, label)
        self.of.refuse(value, system, holder, label)


class SetKind(Kind):
    """Sets."""

    __slots__ = ("of",)

    def __init__(self, of: Kind) -> None:
        super().__init__(f"a frozenset, with elements that are {of.expected}")
        self.of = of

    def has(self, value: Any, system: object) -> bool:
        return isinstance(value, frozenset) and (not value or self.of.have(value, system))

    def refuse(self, value: Any, system: object, holder: object, label: str) -> NoReturn:
        if isinstance(value, frozenset):
            first = min((x for x in value if not self.of.has(x, system)), key=quoted)
            self.of.refuse(first, system, holder, f"an element of {label}")
        super().refuse(value, system, holder, label)


class ListKind(Kind):
    """Lists of a limited length."""

    __slots__ = ("bound", "of")

    def __init__(self, of: Kind, bound: int) -> None:
        super().__init__(f"a tuple of at most {bound}, with items that are {of.expected}")
        self.of = of
        self.bound = bound

    def has(self, value: Any, system: object) -> bool:
        return isinstance(value, tuple) and len(value) <= self.bound and self.of.have(value, system)

    def refuse(self, value: Any, system: object, holder: object, label: str) -> NoReturn:
        if isinstance(value, tuple):
            if len(value) > self.bound:
                raise Full(f"{holder}: {label} holds at most {self.bound}, not {len(value)}")
            for item in value:
                self.of.check(item, system, holder, f"an item of {label}")
        super().refuse(value, system, holder, label)


def quoted(value: object) -> str:
    """A value in a message, whatever its class does."""
    try:
        text = repr(value)
    except Exception:
        text = object.__repr__(value)
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"


def _article(name: str) -> str:
    return "an" if name[:1] in "AEIOUaeiou" else "a"
