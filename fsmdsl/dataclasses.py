"""`dataclasses` for a program that starts often: classes mean the same, and are made in a thirtieth of the time.

A command defines hundreds of classes and makes instances of some fifty of them. So a method is compiled when it is
first called, where `dataclasses` compiles all of them with the class, which was half of the time until `fsm check`
answered. `dataclasses` itself is imported for an error, or when somebody else asks for the fields of a class.

The type checker sees the functions of `dataclasses` under these names.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

_MISSING: Any = object()


class _Field:
    """A field of a class: what `dataclasses.Field` has under the same names."""

    __slots__ = ("compare", "default", "default_factory", "hash", "init", "name", "repr", "type")

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: Any = _MISSING,
        init: bool = True,
        repr: bool = True,
        hash: bool | None = None,
        compare: bool = True,
    ) -> None:
        self.name, self.type = "", ""
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.hash, self.compare = init, repr, hash, compare


_Fields = tuple[_Field, ...]


class _Definition:
    """What a class was made from. Its methods know the class by this, since they are there before it is."""

    __slots__ = ("cls", "fields", "options")

    def __init__(self, fields: _Fields, options: dict[str, bool]) -> None:
        self.cls: Any = None
        self.fields, self.options = fields, options


class _Standard:
    """What `dataclasses` keeps in a class, made when it is asked for; so its functions take our classes for its own."""

    __slots__ = ("_definition", "_name")

    def __init__(self, definition: _Definition, name: str) -> None:
        self._definition, self._name = definition, name

    def __get__(self, instance: object, owner: type) -> Any:
        import dataclasses

        fields = []
        for f in self._definition.fields:
            values: dict[str, Any] = {x: getattr(f, x) for x in ("init", "repr", "hash", "compare")}
            values |= {x: y for x in ("default", "default_factory") if (y := getattr(f, x)) is not _MISSING}
            fields.append((f.name, f.type, dataclasses.field(**values)))
        options: dict[str, Any] = dict(self._definition.options)
        twin = dataclasses.make_dataclass(self._definition.cls.__name__, fields, **options)
        standard = getattr(twin, self._name)
        setattr(self._definition.cls, self._name, standard)
        return standard


def _fields(cls: Any) -> _Fields:
    fields: _Fields = cls.__fields__
    return fields


def _is_dataclass(x: object) -> bool:
    return hasattr(x, "__fields__")


def _replace(x: Any, /, **changes: Any) -> Any:
    cls = type(x)
    values = [changes.pop(name) if name in changes else getattr(x, name) for name in cls.__match_args__]
    return cls(*values, **changes)


def _dataclass(
    cls: type | None = None,
    /,
    *,
    eq: bool = True,
    frozen: bool = False,
    order: bool = False,
    repr: bool = True,
    slots: bool = False,
    unsafe_hash: bool = False,
) -> Any:
    options = {
        "eq": eq,
        "frozen": frozen,
        "order": order,
        "repr": repr,
        "slots": slots,
        "unsafe_hash": unsafe_hash,
    }
    return partial(_class, options=options) if cls is None else _class(cls, options)


def _class(cls: Any, options: dict[str, bool]) -> Any:
    definition = _Definition(_collected(cls), options)
    members = _members(cls.__dict__, definition)
    if options["slots"]:
        cls = _with_slots(cls, definition.fields, members)
    else:
        for name, value in members.items():
            setattr(cls, name, value)
        for f in definition.fields:
            if isinstance(cls.__dict__.get(f.name), _Field):
                if f.default is _MISSING:
                    delattr(cls, f.name)
                else:
                    setattr(cls, f.name, f.default)
    definition.cls = cls
    return cls


def _members(own: Mapping[str, Any], definition: _Definition) -> dict[str, Any]:
    """What a class gets that does not have it of its `own`."""
    fields, options = definition.fields, definition.options
    members = {
        "__fields__": fields,
        "__dataclass_fields__": _Standard(definition, "__dataclass_fields__"),
        "__dataclass_params__": _Standard(definition, "__dataclass_params__"),
        "__match_args__": tuple([f.name for f in fields if f.init]),
        "__replace__": _replace,
        "__init__": _late(definition, "__init__", _init_text),
    }
    if options["repr"]:
        members["__repr__"] = _late(definition, "__repr__", _repr_text)
    for name in (*["__eq__"] * options["eq"], *_ORDER * options["order"]):
        members[name] = _late(definition, name, partial(_comparing_text, name))
    if options["unsafe_hash"] or (options["eq"] and options["frozen"]):
        members["__hash__"] = _late(definition, "__hash__", _hash_text)
    elif options["eq"]:
        members["__hash__"] = None
    if options["frozen"]:
        members |= _frozen(definition)
    return {
        x: y for x, y in members.items() if x not in own or (x == "__hash__" and own[x] is None and "__eq__" in own)
    }


def _collected(cls: Any) -> _Fields:
    """The fields of the bases, then those of the class itself, from its annotations."""
    fields: dict[str, _Field] = {}
    for base in cls.__mro__[:0:-1]:
        fields |= {f.name: f for f in base.__dict__.get("__fields__", ())}
    for name, annotation in cls.__annotations__.items():
        if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            fields.pop(name, None)
            continue
        f = getattr(cls, name, _MISSING)
        if not isinstance(f, _Field):
            # A slot of a base class is no default.
            f = _Field(default=_MISSING if isinstance(f, MemberDescriptorType) else f)
        if f.default.__class__.__hash__ is None:
            raise ValueError(f"{name} of {cls.__name__} has a mutable default: use default_factory")
        f.name, f.type = name, annotation
        fields[name] = f
    return tuple(fields.values())


def _with_slots(cls: Any, fields: _Fields, members: dict[str, Any]) -> Any:
    """The class made anew: slots have to be there when it is made."""
    space = {**cls.__dict__, **members}
    inherited = {name for base in cls.__mro__[1:-1] for name in _slots(base)}
    space["__slots__"] = tuple([f.name for f in fields if f.name not in inherited])
    for name in (*(f.name for f in fields), "__dict__", "__weakref__"):
        space.pop(name, None)
    again = type(cls)(cls.__name__, cls.__bases__, space)
    again.__qualname__ = cls.__qualname__
    return again


def _slots(cls: type) -> Iterable[str]:
    slots: str | Iterable[str] = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


# Methods that are compiled when they are called -----------------------------------------------------------------------


def _late(definition: _Definition, name: str, text: Callable[[_Definition, dict[str, Any]], str]) -> Any:
    """A method that puts the true one in its place when it is first called. `text` writes that, from names of fields
    alone, and adds what it needs to its name space."""

    def method(self: Any, /, *arguments: Any, **keywords: Any) -> Any:
        space: dict[str, Any] = {"__name__": definition.cls.__module__}
        exec(text(definition, space), space)
        compiled = space[name]
        compiled.__qualname__ = f"{definition.cls.__qualname__}.{name}"
        setattr(definition.cls, name, compiled)
        return compiled(self, *arguments, **keywords)

    return method


def _init_text(definition: _Definition, space: dict[str, Any]) -> str:
    cls, fields, frozen = definition.cls, definition.fields, definition.options["frozen"]
    this = "__self" if any(f.name == "self" for f in fields) else "self"
    parameters, lines = [this], []
    space |= {"__missing": _MISSING, "__set": object.__setattr__}
    for f in fields:
        name, value = f.name, f.name
        if f.default_factory is not _MISSING:
            space[f"__make_{name}"] = f.default_factory
            value = f"__make_{name}() if {name} is __missing else {name}" if f.init else f"__make_{name}()"
        elif f.default is not _MISSING:
            space[f"__default_{name}"] = f.default
            value = name if f.init else f"__default_{name}"
        elif not f.init:
            continue
        if f.init:
            default = "__missing" if f.default_factory is not _MISSING else f"__default_{name}"
            has_default = f.default is not _MISSING or f.default_factory is not _MISSING
            parameters.append(f"{name}={default}" if has_default else name)
        if not frozen:
            lines.append(f"{this}.{name} = {value}")
        elif isinstance(slot := getattr(cls, name, None), MemberDescriptorType):
            space[f"__set_{name}"] = slot.__set__
            lines.append(f"__set_{name}({this}, {value})")
        else:
            lines.append(f"__set({this}, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(f"{this}.__post_init__()")
    return f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"])


def _values(this: str, names: Iterable[str]) -> str:
    return f"({''.join(f'{this}.{name},' for name in names)})"


def _hash_text(definition: _Definition, _space: Mapping[str, Any]) -> str:
    names = [f.name for f in definition.fields if (f.compare if f.hash is None else f.hash)]
    return f"def __hash__(self):\n return hash({_values('self', names)})"


def _comparing_text(name: str, definition: _Definition, _space: Mapping[str, Any]) -> str:
    names = [f.name for f in definition.fields if f.compare]
    both = f"{_values('self', names)} {_OPERATORS[name]} {_values('other', names)}"
    same = f"if other.__class__ is self.__class__:\n  return {both}\n return NotImplemented"
    return f"def {name}(self, other):\n {same}"


_OPERATORS = {"__eq__": "==", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")


def _repr_text(definition: _Definition, space: dict[str, Any]) -> str:
    space["__guarded"] = recursive_repr()
    fields_text = ", ".join(f"{f.name}={{self.{f.name}!r}}" for f in definition.fields if f.repr)
    return f"@__guarded\ndef __repr__(self):\n return f'{{self.__class__.__qualname__}}({fields_text})'"


# Frozen classes -------------------------------------------------------------------------------------------------------


def _frozen(definition: _Definition) -> dict[str, Any]:
    """With these nobody sets or deletes an attribute; of a class derived from it, a field."""

    def refuse(self: Any, name: str, verb: str) -> None:
        if type(self) is definition.cls or any(f.name == name for f in definition.fields):
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot {verb} field {name!r}")

    def set_attribute(self: Any, name: str, value: Any) -> None:
        refuse(self, name, "assign to")
        super(definition.cls, self).__setattr__(name, value)

    def delete_attribute(self: Any, name: str) -> None:
        refuse(self, name, "delete")
        super(definition.cls, self).__delattr__(name)

    members = {"__setattr__": set_attribute, "__delattr__": delete_attribute}
    # Without slots, a copy is made past `__setattr__`.
    return members | {"__getstate__": _state, "__setstate__": _set_state} if definition.options["slots"] else members


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in _fields(self)]


def _set_state(self: Any, state: Iterable[Any]) -> None:
    for f, value in zip(_fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)


# Tuples with names ----------------------------------------------------------------------------------------------------


class _NamedTupleMeta(type):
    """Makes a tuple with names of a class statement. `typing` does the same, and compiles each annotation for it."""

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> Any:
        annotations = space["__annotations__"]
        defaults = [space[x] for x in annotations if x in space]
        make: Any = namedtuple  # a type checker wants literals
        tuple_class = make(name, annotations, defaults=defaults, module=space["__module__"])
        for key, value in space.items():
            if key not in annotations:
                setattr(tuple_class, key, value)
        return tuple_class


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
    from dataclasses import replace as replace
    from typing import NamedTuple as NamedTuple
else:
    NamedTuple = type.__new__(_NamedTupleMeta, "NamedTuple", (), {})
    dataclass, field, fields, is_dataclass, replace = _dataclass, _Field, _fields, _is_dataclass, _replace
