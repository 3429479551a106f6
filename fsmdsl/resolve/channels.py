"""Channels: which one a path names, and whose queue of it is meant."""

from __future__ import annotations

from collections.abc import Callable

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.resolve import rules
from fsmdsl.resolve.scope import ModuleNames, Scope, machine_at, unknown
from fsmdsl.source import Span

OfType = Callable[[Scope, s.Expr, m.Type], m.Expr]
"""`expressions.of_type`."""


def channel_at(scope: Scope, path: s.Path) -> tuple[ModuleNames, str, str | None] | None:
    """The channel that a path names, with its module, and the event behind it; reported if there is none."""
    names = [n.text for n in path.names]
    for cut, event in ((len(names), None), (len(names) - 1, names[-1])):
        *front, last = names[:cut] or [""]
        home = scope.module.imports.get(".".join(front)) if front else scope.module.home(last)
        if home is not None and last in home.channels:
            scope.note(path.names[-1 if event is None else -2], "channel", home.name)
            return home, last, event
    scope.report(unknown("channel", str(path), path.span, tuple(scope.module.channels)))
    return None


def belongs(
    scope: Scope, home: ModuleNames, channel: str, whose: s.Expr | None, of_type: OfType, at: Span, help: str
) -> tuple[m.Expr | None] | None:
    """The instance whose queue is meant (none where the channel has one receiver); None where it is missing, or too
    much, which is reported. `help` shows how it is written."""
    decl = home.channels[channel]
    receiver = decl.receiver.names[-1].text
    if decl.each == (whose is not None):
        machine = machine_at(home, decl.receiver)
        if whose is None:
            return (None,)
        return None if machine is None else (of_type(scope, whose, m.RefType(machine.qualified)),)
    if whose is None:
        found = rules.ARGUMENTS.at(at, f"each {receiver} has a queue of `{channel}`, and this does not say whose")
        scope.report(found.help(f"write `{help}`"))
    else:
        found = rules.MISPLACED.at(whose.span, f"`{channel}` has one receiver, which is not named")
        scope.report(found.help(f"leave it out, or declare the channel `to each {receiver}`"))
    return None


def home_of(scope: Scope, channel: m.ChannelRef) -> tuple[ModuleNames, str]:
    """The module that declares a channel, and the channel's own name."""
    module, _, name = channel.name.rpartition(".")
    seen = (scope.module, *scope.module.imports.values(), *scope.module.borrowed.values())
    return next(x for x in seen if x.name == module), name
