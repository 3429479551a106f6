"""Declares commands, as data that needs no library.

The decorators are called like those of click, which parses the command line (`parser`). A call without options needs no
parser: `plain_values` reads it, and click, a fifth of the time of `fsm check`, is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fsmdsl.dataclasses import dataclass, field

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Type:
    """A parameter type of click: its class, and what that is made with."""

    name: str
    arguments: tuple[Any, ...]
    settings: dict[str, Any]


def choice(values: Sequence[str]) -> Type:
    """One of the values."""
    return Type("Choice", (list(values),), {})


def integer(least: int, most: int | None = None) -> Type:
    """A whole number in a range."""
    return Type("IntRange", (least, most), {})


def number(least: float, **settings: Any) -> Type:
    """A number. `settings`: `min_open=True` leaves out `least`."""
    return Type("FloatRange", (least,), settings)


def path(**settings: Any) -> Type:
    """A path, as text unless `path_type` says otherwise."""
    return Type("Path", (), settings)


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option or an argument. The settings are those of `click.option` and `click.argument`."""

    kind: str
    """`option` or `argument`."""
    names: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of the function's parameter: one without dashes, else the first long one."""
        plain = [x for x in self.names if not x.startswith("-")]
        long = [x for x in self.names if x.startswith("--")]
        return (plain or long or list(self.names))[0].lstrip("-").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: a function, called with a value for each parameter."""

    name: str
    function: Callable[..., None]
    parameters: tuple[Parameter, ...]
    settings: dict[str, Any] = field(default_factory=dict)


def option(*names: str, **settings: Any) -> Callable[[F], F]:
    """An option of a command, as `click.option` declares it."""
    return _declared(Parameter("option", names, settings))


def argument(*names: str, **settings: Any) -> Callable[[F], F]:
    """An argument of a command, as `click.argument` declares it."""
    return _declared(Parameter("argument", names, settings))


def command(name: str, **settings: Any) -> Callable[[Callable[..., None]], Command]:
    """A command with the parameters declared below it. Its help is the text of the function."""

    def decorate(function: Callable[..., None]) -> Command:
        # Decorators are applied from the innermost to the outermost.
        return Command(name, function, tuple(reversed(vars(function).get(_PARAMETERS, ()))), settings)

    return decorate


_PARAMETERS = "declared_parameters"


def _declared(parameter: Parameter) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        vars(function)[_PARAMETERS] = (*vars(function).get(_PARAMETERS, ()), parameter)
        return function

    return decorate


def plain_values(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """The value of each parameter when no option is given; None where it takes a parser to tell.

    Only a command whose arguments are any number of paths can be read so. Options that the function does not receive
    (`expose_value`) set `invocation`, which begins with their defaults.
    """
    if any(x.startswith("-") for x in words):
        return None
    values: dict[str, Any] = {}
    remaining: Sequence[str] = words
    for parameter in command.parameters:
        settings = parameter.settings
        if settings.get("required") or (_converts(settings.get("type")) and settings.get("default") is not None):
            return None
        if parameter.kind == "argument":
            if settings.get("nargs") != -1 or _converts(settings.get("type")):
                return None
            values[parameter.name], remaining = tuple(words), ()
        elif settings.get("expose_value", True):
            values[parameter.name] = _default(settings)
    return None if remaining else values


def _converts(type_: Type | None) -> bool:
    """Does a parser make something else of a value of this type than text?"""
    return type_ is not None and "path_type" in type_.settings


def _default(settings: dict[str, Any]) -> Any:
    if settings.get("multiple"):
        return ()
    return settings.get("default", False if settings.get("is_flag") else None)
