"""Which `[[line]]` of a mapping a line matches, and the values that it has for it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

from fsmdsl.interop.logs.binding import Claim, Meaning
from fsmdsl.interop.logs.lines import MISSING, Fields, UnreadableLineError, field_of, value_at
from fsmdsl.interop.logs.mapping import LineRule, Template

Values: TypeAlias = tuple[Any, ...]
"""The name of the instance (None: the line is of the whole system), then each argument, then each field."""

MAX_MATCHES = 10_000
"""Maximum number of cached combinations of `when` values, each with the `[[line]]` that it matches."""


RuleMatch: TypeAlias = tuple[Meaning, str | None]
"""A meaning, and the field that holds all that it needs: the name of an instance. None: it needs more than that."""


class Classifier:
    """The first `[[line]]` that a line matches, by the values of the fields that the `when` of any names.

    Lines with the same values match the same one: each combination is compared once.
    """

    def __init__(self, meanings: Sequence[Meaning]) -> None:
        self._meanings = [(x, _name_alone(x.rule)) for x in meanings]
        self._paths = tuple(dict.fromkeys(path for x in meanings for path, _ in x.rule.when))
        self._only = self._paths[0] if len(self._paths) == 1 else ""
        self._matches: dict[Hashable, RuleMatch | None] = {}

    def classify(self, line: Fields) -> tuple[Meaning, Values] | None:
        """What a line means, and its values; None: it means nothing. Raises `UnreadableLineError`."""
        value = line.get(self._only)
        if value.__class__ is str and value in self._matches:
            match = self._matches[value]
        else:
            match = self._looked_up([value_at(line, path) for path in self._paths])
        if match is None:
            return None
        meaning, path = match
        if path is not None:
            name = line.get(path)
            if name.__class__ is str and name and name.isascii():
                return meaning, (name,)
        return meaning, _values(meaning.rule, line)

    def _looked_up(self, values: Sequence[object]) -> RuleMatch | None:
        try:
            return self._remembered(values)
        except TypeError:  # a list or an object: no key
            return self._matching(values)

    def _remembered(self, values: Sequence[object]) -> RuleMatch | None:
        key: Hashable = tuple([x if x.__class__ is str else (x.__class__, x) for x in values])
        if len(values) == 1 and isinstance(values[0], str):
            key = values[0]
        if key not in self._matches:
            if len(self._matches) >= MAX_MATCHES:
                self._matches.clear()
            self._matches[key] = self._matching(values)
        return self._matches[key]

    def _matching(self, values: Sequence[object]) -> RuleMatch | None:
        at = dict(zip(self._paths, values, strict=True))
        fitting = (x for x in self._meanings if all(_is_any(at[path], accepted) for path, accepted in x[0].rule.when))
        return next(fitting, None)


def _is_any(value: object, accepted: Sequence[object]) -> bool:
    if value is MISSING:
        return False
    return any(value == x and isinstance(value, bool) == isinstance(x, bool) for x in accepted) or (
        isinstance(value, str) and any(value == str(x) for x in accepted)
    )


def _values(rule: LineRule, line: Fields) -> Values:
    """The values that a line has for a rule."""
    rest = [_value(x, line) for _, x in rule.arguments] + [_value(x, line) for _, x in rule.fields]
    return (_name(rule.instance, line), *rest)


def _name_alone(rule: LineRule) -> str | None:
    """The field with the name of the instance, if a rule uses no other."""
    if rule.instance is None or not rule.instance.is_field or rule.arguments or rule.fields:
        return None
    return rule.instance.parts[1]


def _name(instance: Template | None, line: Fields) -> str | None:
    if instance is None:
        return None
    name = _filled(instance, line)
    if name is None or name == "":
        raise UnreadableLineError(f"the name of its instance, `{instance.text}`, is empty")
    return str(name)


def claim(meaning: Meaning, values: Values) -> Claim:
    """What a line says that has these values."""
    rule = meaning.rule
    name, *rest = values
    arguments = tuple((k, x) for (k, _), x in zip(rule.arguments, rest, strict=False))
    fields = tuple((k, x) for (k, _), x in zip(rule.fields, rest[len(arguments) :], strict=True))
    assert name is None or isinstance(name, str)
    return Claim(meaning, name, rule.event, rule.row, arguments, fields)


def _value(x: object, line: Fields) -> object:
    return _filled(x, line) if isinstance(x, Template) else x


def _filled(template: Template, line: Fields) -> object:
    parts = template.parts
    try:
        if template.is_field:
            value = field_of(line, parts[1])
            return printable(value) if isinstance(value, str) else value
        return printable("".join(x if n % 2 == 0 else str(field_of(line, x)) for n, x in enumerate(parts)))
    except KeyError as error:
        raise UnreadableLineError(f"it has no field `{error.args[0]}`") from error


def printable(text: str) -> str:
    """JSON can escape half of a character, which no output can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
