"""Channels: which one a path names, and whose queue of it is meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import ModuleNames, Scope, machine_at, unknown
from fsmdsl.model.resolve.values.places import of_type
from fsmdsl.text.source import Span


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


def ends(
    scope: Scope,
    home: ModuleNames,
    channel: str,
    expressions: Sequence[s.Expr],
    at: Span,
    help: Callable[[str], str],
) -> tuple[m.Expr, ...] | None:
    """The instances whose queue is meant: the receiver where each has one, the sender and the receiver where each pair
    has; none where the channel has one receiver. None where one is missing, or too much, which is reported. `help`
    shows how it is written."""
    decl = home.channels[channel]
    paths = [x for x in (decl.sender, decl.receiver if decl.each else None) if x is not None]
    if len(expressions) == len(paths):
        machines = [machine_at(home, x) for x in paths]
        pairs = zip(expressions, machines, strict=True)
        references = [of_type(scope, x, m.RefType(y.qualified)) for x, y in pairs if y is not None]
        return tuple(references) if len(references) == len(paths) else None
    receiver = decl.receiver.names[-1].text
    written = ["", "of x", "from x to y"][len(paths)]
    if not expressions:
        owner = f"each pair of {decl.sender} and {receiver}" if decl.sender is not None else f"each {receiver}"
        missing = rules.ARGUMENTS.at(at, f"`{channel}` has one queue for {owner}; specify which")
        scope.report(missing.help(f"write `{help(written)}`"))
    elif paths:
        owner = "pair" if decl.sender is not None else "receiver"
        wrong = rules.MISPLACED.at(at, f"`{channel}` has one queue for each {owner}, which must be written differently")
        scope.report(wrong.help(f"write `{help(written)}`"))
    else:
        wrong = rules.MISPLACED.at(expressions[-1].span, f"`{channel}` has one receiver, which must not be named")
        scope.report(wrong.help(f"leave it out, or declare the channel `to each {receiver}`"))
    return None


def home_of(scope: Scope, channel: m.ChannelRef) -> tuple[ModuleNames, str]:
    """The module that declares a channel, and the channel's own name."""
    module, _, name = channel.name.rpartition(".")
    seen = (scope.module, *scope.module.imports.values(), *scope.module.borrowed.values())
    return next(x for x in seen if x.name == module), name
