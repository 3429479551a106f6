"""Classes of `fsmdsl.dataclasses` mean what those of `dataclasses` mean."""

from __future__ import annotations

import copy
import dataclasses as standard
import pickle
import subprocess
import sys
import typing
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsmdsl import dataclasses as ours

T = TypeVar("T")
NAMES = ("a", "b", "self", "cls", "name", "missing", "hash", "fields", "_private", "object", "other")
ATTRIBUTES = ("__match_args__", "__slots__", "__hash__", "__qualname__", "__doc__", "__module__")

Outcome = tuple[str, object]


def outcome(action: Callable[[], object]) -> Outcome:
    """What an action gives, or how it fails."""
    try:
        return "value", action()
    except Exception as error:
        return type(error).__name__, str(error)


@st.composite
def field_options(draw: st.DrawFn) -> dict[str, Any]:
    """What `field` is asked for."""
    options: dict[str, Any] = {x: draw(st.booleans()) for x in ("repr", "compare") if draw(st.booleans())}
    options |= {"hash": draw(st.sampled_from([None, True, False]))} if draw(st.booleans()) else {}
    options |= {"init": False} if draw(st.integers(0, 5)) == 0 else {}
    return options


@st.composite
def shapes(draw: st.DrawFn) -> tuple[dict[str, bool], list[tuple[str, str, Any]], dict[str, Any]]:
    """Options of a class; name, kind and value of each field; other members."""
    frozen, order = draw(st.booleans()), draw(st.booleans())
    options = {
        "frozen": frozen,
        "order": order,
        "eq": order or draw(st.booleans()),
        "repr": draw(st.booleans()),
        "slots": draw(st.booleans()),
        "unsafe_hash": draw(st.booleans()),
    }
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))
    kinds = draw(
        st.lists(
            st.sampled_from(["plain", "field", "default", "field default", "factory", "class"]),
            min_size=len(names),
            max_size=len(names),
        )
    )
    members = {name: draw(field_options()) for name in names}
    own: dict[str, Any] = {}
    if draw(st.booleans()) and not frozen:
        own["__post_init__"] = lambda self: setattr(self, names[0], "set afterwards") if names else None
    if draw(st.booleans()):
        own["__repr__"] = lambda self: "its own"
    if draw(st.booleans()) and not options["unsafe_hash"]:
        own["__hash__"] = lambda self: 17
    if draw(st.booleans()):
        own["__eq__"] = lambda self, other: True
    return options, [(n, k, members[n]) for n, k in zip(names, kinds, strict=True)], own


def build(library: Any, shape: Any, bases: tuple[type, ...] = (), name: str = "Thing") -> Any:
    """The class of a shape, made by one of the libraries."""
    options, fields, own = shape
    space: dict[str, Any] = {"__annotations__": {}, "__module__": __name__, "__qualname__": f"Outer.{name}", **own}
    space["__doc__"] = "Without it, `dataclasses` writes a signature here."
    for field, kind, its in fields:
        space["__annotations__"][field] = "ClassVar[int]" if kind == "class" else "int"
        match kind:
            case "field":
                space[field] = library.field(**its)
            case "default":
                space[field] = 5
            case "field default":
                space[field] = library.field(default=6, **its)
            case "factory":
                space[field] = library.field(default_factory=list, **its)
            case "class":
                space[field] = 7
    return library.dataclass(**options)(type(name, bases, space))


def values(x: object, names: list[str]) -> list[Outcome]:
    """What its fields have."""
    return [outcome(lambda name=name: getattr(x, name)) for name in names]


def observed(cls: Any, arguments: list[int], named: dict[str, int], others: list[int]) -> list[Any]:
    """Everything that can be seen of a class and two of its instances."""
    seen: list[Any] = [getattr(cls, x, None) for x in ATTRIBUTES if x != "__hash__"]
    seen.append(cls.__hash__ is None)
    seen.append([(f.name, f.type, f.init, f.repr, f.compare, f.hash) for f in standard.fields(cls)])
    seen.append(standard.is_dataclass(cls))
    made, other = outcome(lambda: cls(*arguments, **named)), outcome(lambda: cls(*others))
    if made[0] != "value":
        return [*seen, made[0]]
    x: Any = made[1]
    names = [f.name for f in standard.fields(cls)]
    pairs = [(x, x), (x, other[1]), (x, 3)]
    seen += [
        values(x, names),
        outcome(lambda: hash(x) == hash(cls(*arguments, **named))),
    ]
    for left, right in pairs if other[0] == "value" else []:
        seen += [outcome(lambda a=left, b=right: a == b), outcome(lambda a=left, b=right: a < b)]
        seen += [outcome(lambda a=left, b=right: a >= b), outcome(lambda a=left, b=right: a != b)]
    seen.append(outcome(lambda: copy.copy(x) == x))
    shown = outcome(lambda: repr(x))
    seen.append(shown if " object at 0x" not in str(shown[1]) else "its address")
    for replace in (standard.replace, ours.replace if hasattr(cls, "__fields__") else standard.replace):
        changed = outcome(lambda replace=replace: replace(x, **{names[0]: 9} if names else {}))
        seen.append("refused" if changed[0] != "value" else values(changed[1], names))
    if names:
        seen += [outcome(lambda: setattr(x, names[0], 4)), outcome(lambda: delattr(x, names[0]))]
    # A frozen class with slots says so, where `dataclasses` stumbles over the class that it has replaced.
    return [*seen, outcome(lambda: setattr(x, "unheard_of", 4))[0] == "value"]


@given(
    shapes(),
    st.lists(st.integers(0, 2), max_size=6),
    st.dictionaries(st.sampled_from(NAMES), st.integers(0, 2), max_size=2),
    st.lists(st.integers(0, 2), max_size=6),
)
def test_a_class_means_the_same(shape: Any, arguments: list[int], named: dict[str, int], others: list[int]) -> None:
    expected = outcome(lambda: build(standard, shape))
    if expected[0] != "value":  # what the type checker reports
        return
    assert observed(build(ours, shape), arguments, named, others) == observed(expected[1], arguments, named, others)


@given(shapes(), shapes(), st.lists(st.integers(0, 2), max_size=8))
def test_a_derived_class_means_the_same(first: Any, second: Any, arguments: list[int]) -> None:
    second[0]["frozen"] = first[0]["frozen"]
    if first[0]["frozen"]:
        second[2].pop("__post_init__", None)
    for _, _, options in first[1]:  # `dataclasses` forgets the value of such a field where only the base has slots
        options.pop("init", None)
    first = (first[0], [x for x in first[1] if x[1] != "class"], first[2])  # it would have a place among the fields
    of_base = {name for name, _, _ in first[1]}  # the type checker refuses that one becomes a member of the class
    second = (second[0], [x for x in second[1] if x[1] != "class" or x[0] not in of_base], second[2])

    def both(library: Any) -> Any:
        return build(library, second, (build(library, first, name="Base"),))

    expected = outcome(lambda: both(standard))
    if expected[0] == "value":
        assert observed(both(ours), arguments, {}, []) == observed(expected[1], arguments, {}, [])


# Names that pickle finds ----------------------------------------------------------------------------------------------


@ours.dataclass(frozen=True, slots=True)
class Point:
    """Frozen, with slots."""

    x: int
    y: int = 0
    notes: list[str] = ours.field(default_factory=list, compare=False)
    ORIGIN: ClassVar[str] = "0, 0"


@ours.dataclass(frozen=True)
class Text:
    """Frozen, with a dictionary."""

    words: tuple[str, ...]

    @cached_property
    def length(self) -> int:
        """How many words there are."""
        return len(self.words)


@ours.dataclass
class Box(Generic[T]):
    """Neither."""

    content: T
    inside: Box[T] | None = None


@pytest.mark.parametrize("x", [Point(1, 2, ["n"]), Text(("a", "b")), Box(3, Box(4))])
def test_copies_and_pickles_are_equal(x: object) -> None:
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y == x
        assert y is not x


def test_a_frozen_instance_stays_as_it_is() -> None:
    for x, name in ((Point(1), "x"), (Text(()), "words")):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(x, name, 2)
        with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(x, name)
    assert Text(("a", "b")).length == 2


def test_an_instance_that_contains_itself_has_a_text() -> None:
    box = Box[object](None)
    box.content = box
    assert repr(box) == "Box(content=..., inside=None)"


def test_a_default_that_instances_would_share_is_refused() -> None:
    with pytest.raises(ValueError, match="mutable default"):

        @ours.dataclass
        class _Shared:
            words: list[str] = []


def test_methods_are_compiled_when_they_are_called() -> None:
    @ours.dataclass(frozen=True)
    class Late:
        n: int

    late = {name: getattr(Late, name) for name in ("__init__", "__eq__", "__hash__")}
    assert Late(1) == Late(1)
    assert hash(Late(1)) == hash(Late(1))
    assert all(getattr(Late, name) is not stub for name, stub in late.items())


def test_a_mistaken_call_is_reported_as_of_any_function() -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=r"^Point.__init__\(\) missing 1 required positional argument: 'x'$"):
            Point()  # type: ignore[call-arg]


def test_the_standard_library_is_imported_for_others_alone() -> None:
    code = (
        "import sys; from fsmdsl.text.source import Source, Span; s = Span(Source('a', 'b'), 0, 1)\n"
        "assert s == s and hash(s) and 'dataclasses' not in sys.modules\n"
        "import dataclasses; assert [x.name for x in dataclasses.fields(s)] == ['source', 'start', 'end']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class Place(ours.NamedTuple):
    """Where something is."""

    line: int
    name: str = "here"

    @property
    def text(self) -> str:
        """As text."""
        return f"{self.name}:{self.line}"


class StandardPlace(typing.NamedTuple):
    """Where something is."""

    line: int
    name: str = "here"

    @property
    def text(self) -> str:
        """As text."""
        return f"{self.name}:{self.line}"


def test_a_tuple_with_names_means_the_same() -> None:
    x, y = Place(1), StandardPlace(1)
    assert (x, x.text, x._replace(name="there")) == (y, y.text, y._replace(name="there"))
    assert repr(y) == f"Standard{x!r}"
    for name in ("_fields", "_field_defaults", "__doc__", "__match_args__", "__module__", "__slots__", "__bases__"):
        assert getattr(Place, name) == getattr(StandardPlace, name), name
    assert Place.__annotations__ == {"line": "int", "name": "str"}
    assert typing.get_type_hints(Place) == typing.get_type_hints(StandardPlace)
    assert pickle.loads(pickle.dumps(x)) == x
    with pytest.raises(TypeError):
        Place()  # type: ignore[call-arg]
