"""Names with arguments: the built-in functions, and derived values with parameters."""

from __future__ import annotations

from typing import Literal

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import replace
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import Scope, dotted, miscounted, unknown
from fsmdsl.model.resolve.names.states import machine_of, state_type
from fsmdsl.model.resolve.types.type_text import type_text
from fsmdsl.model.resolve.values.channels import ends, home_of
from fsmdsl.model.resolve.values.lets import derived, let_of
from fsmdsl.model.resolve.values.places import no_value, of_type, opened, typed
from fsmdsl.model.typing import bare, extreme_type, holds, join, join_all
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Span

FUNCTIONS = {
    "size": 1, "min": 2, "max": 2, "first": 1, "last": 1, "rest": 1, "same_state": 2, "state": 1, "stuck": 1,
    "subsets": 2,
}  # fmt: skip
"""Number of arguments of each function. `min` and `max` accept more."""


def apart(call: s.Expr) -> tuple[s.Expr, tuple[s.Expr, ...]]:
    """What is called, and with which arguments; a name alone with none."""
    return (call.target, call.arguments) if isinstance(call, s.Call) else (call, ())


def applied(scope: Scope, e: s.Call, function: s.Name, expected: m.Type | None) -> m.Expr:
    """`size(cells)` and the like."""
    name = function.text
    if name not in FUNCTIONS:
        scope.report(unknown("function", name, function.span, (*FUNCTIONS, *scope.values())))
        return m.Constant(None, m.ERROR, e.span)
    arity, count = FUNCTIONS[name], len(e.arguments)
    if count < arity or (count > arity and name not in ("min", "max")):
        scope.report(miscounted(name, arity, count, e.span))
        return m.Constant(None, m.ERROR, e.span)
    operands, queue = e.arguments, e.arguments[0]
    whose = queue.ends if name == "size" and isinstance(queue, s.Queue) else ()
    if isinstance(queue, s.Queue) and whose:
        operands = (queue.channel,)
    inner = replace(scope, channel=name == "size" and isinstance(operands[0], s.Name))
    arguments = [opened(typed(inner, a, expected)) for a in operands]
    if whose or isinstance(arguments[0], m.ChannelRef):
        return _waiting(scope, e, arguments[0], whose)
    if name == "state":
        return _state_of(scope, name, arguments[0], e.span)
    if name == "same_state":
        return _same_state(scope, e, *arguments)
    if name == "stuck":
        return _stuck(scope, e, arguments[0])
    result = _result(name, arguments)
    if result is None:
        scope.report(rules.MISMATCH.at(e.span, f"`{name}` does not take these").help(_WANTS[name]))
        return m.Constant(None, m.ERROR, e.span)
    if name == "last":
        return _last(arguments[0], result, e.span)
    return m.Apply(name, tuple(arguments), result, e.span)  # type: ignore[arg-type]


def _waiting(scope: Scope, e: s.Call, of: m.Expr, whose: tuple[s.Expr, ...]) -> m.Expr:
    """`size(to_cache)`, `size(inbox of p)`, `size(link from p to q)`: how many messages wait."""
    if not isinstance(of, m.ChannelRef):
        if not isinstance(of.type, m.ErrorType):
            scope.report(rules.MISMATCH.at(of.span, f"`{of.span.quote}` is not a channel"))
        return m.Constant(None, m.ERROR, e.span)
    home, channel = home_of(scope, of)
    queue_ends = ends(scope, home, channel, whose, e.span, lambda x: f"size({channel} {x})")
    if queue_ends is None:
        return m.Constant(None, m.ERROR, e.span)
    return m.Apply("size", (of, *queue_ends), m.RangeType(0, 1 << 16), e.span)


def _state_of(scope: Scope, name: str, target: m.Expr, span: Span) -> m.Expr:
    """`state(x)`."""
    machine = machine_of(scope, target.type)
    if machine is not None:
        return m.StateOf(target, state_type(machine), span)
    if not isinstance(target.type, m.ErrorType):
        scope.report(rules.MISMATCH.at(span, f"`{name}` does not take these").help(_WANTS[name]))
    return m.Constant(None, m.ERROR, span)


def _same_state(scope: Scope, e: s.Call, a: m.Expr, b: m.Expr) -> m.Expr:
    """`same_state(x, y)`: `state(x) == state(y)`."""
    one, other = (_state_of(scope, "same_state", x, e.span) for x in (a, b))
    if join(one.type, other.type) is None:
        scope.report(rules.MISMATCH.at(e.span, "`same_state` does not take these").help(_WANTS["same_state"]))
    return m.Binary("==", one, other, m.BOOL, e.span)


def _stuck(scope: Scope, e: s.Call, target: m.Expr) -> m.Expr:
    """`stuck(x)`: x can never move again. Only who knows all runs can say."""
    if not scope.temporal:
        diagnostic = rules.MISPLACED.at(e.span, "`stuck` is about future steps and is allowed only in a `property`")
        scope.report(diagnostic.help("write `property free: all x in …: always not stuck(x)`"))
    elif not isinstance(target.type, m.RefType | m.ErrorType):
        scope.report(rules.MISMATCH.at(e.span, "`stuck` does not take this").help("it takes an instance"))
    return m.Temporal("stuck", (target,), span=e.span)


def _last(sequence: m.Expr, result: m.Type, span: Span) -> m.Expr:
    """`last(log)`: `log[size(log) - 1]`."""
    if not isinstance(sequence.type, m.ListType):
        return m.Constant(None, m.ERROR, span)
    size = m.Apply("size", (sequence,), m.RangeType(0, sequence.type.bound), span)
    one = m.Constant(1, m.RangeType(1, 1), span)
    at = m.Binary("-", size, one, m.RangeType(-1, sequence.type.bound - 1), span)
    return m.Apply("item", (sequence, at), result, span)


_WANTS = {
    "size": "it takes a set, a list or a channel",
    "min": "it takes numbers, or members of one ordered enum",
    "max": "it takes numbers, or members of one ordered enum",
    "first": "it takes a list",
    "last": "it takes a list",
    "rest": "it takes a list",
    "same_state": "it takes two instances of one machine",
    "state": "it takes an instance",
    "subsets": "it takes a set and the size of the subsets",
}


def _result(name: str, arguments: list[m.Expr]) -> m.Type | None:
    types = [a.type for a in arguments]
    if any(isinstance(t, m.ErrorType) for t in types):
        return m.ERROR
    match name, types:
        case "size", [m.SetType()]:
            return m.RangeType(0, 1 << 16)
        case "size", [m.ListType(bound=bound)]:
            return m.RangeType(0, bound)
        case "first" | "last", [m.ListType(of=of)]:
            return of
        case "rest", [m.ListType()]:
            return types[0]
        case "subsets", [m.SetType(), m.RangeType()]:
            return m.SetType(types[0])
        case "min" | "max" as function, _:
            return _extreme(function, types)
        case _:
            return None


def _extreme(name: Literal["min", "max"], types: list[m.Type]) -> m.Type | None:
    both = join_all(types)
    if isinstance(both, m.EnumType) and both.ordered:
        return both
    ranges = [t for t in types if isinstance(t, m.RangeType)]
    return extreme_type(name, ranges) if len(ranges) == len(types) else None


def call_let(scope: Scope, e: s.Call) -> m.Expr:
    """`outranks(g, c)`, `g.fits(c)`, `module.pred(x)`."""
    located = _locate(scope, e.target)
    if located is None:
        located = rules.MISMATCH.at(e.target.span, "this is not a function")
    if isinstance(located, Diagnostic):
        scope.report(located)
        return m.Constant(None, m.ERROR, e.span)
    owner, name, target = located
    let = let_of(scope, owner, name, e.span)
    if let is None:
        return m.Constant(None, m.ERROR, e.span)
    if len(let.parameters) != len(e.arguments):
        return derived(scope, owner, name, target, tuple(typed(scope, a) for a in e.arguments), e.span)
    pairs = zip(e.arguments, let.parameters, strict=True)
    return derived(
        scope, owner, name, target, tuple(settled(scope, of_type(scope, a, p.type)) for a, p in pairs), e.span
    )


def settled(scope: Scope, e: m.Expr) -> m.Expr:
    """A value where no step could end in a fault `range`; reports a map that may not be able to hold what it is made
    of."""
    match e:
        case m.Apply("filled", (value,), m.MapType(of=of)) if not holds(of, value.type):
            diagnostic = rules.MISMATCH.at(e.span, f"this value fills a map, but may be outside {type_text(of)}")
            scope.report(diagnostic.help("write `max(…, min(…, x))` around it"))
        case _:
            pass
    return e


def _locate(scope: Scope, target: s.Expr) -> tuple[str, str, m.Expr | None] | Diagnostic | None:
    """The owner and name of the `let` that is called, and the instance it is asked of; of an event, why it is none."""
    if isinstance(target, s.Name):
        name, machine, system = target.text, scope.machine, scope.visible_system
        if name in scope.locals:
            return None
        if machine is not None and name in machine.lets:
            scope.note(target, "let", machine.qualified)
            return machine.qualified, name, None
        if system is not None and name in system.lets:
            scope.note(target, "let", system.owner(name))
            return system.qualified, name, None
        home = scope.module.home(name)
        if name in home.lets:
            scope.note(target, "let", home.name)
        return (home.name, name, None) if name in home.lets else None
    if not isinstance(target, s.Member):
        return None
    path = dotted(target.target)
    home_module = scope.module.imports.get(".".join(path)) if path is not None else None
    if home_module is not None and target.name.text in home_module.lets:
        scope.module.program.note(target.target.span, "module", "", home_module.name)
        scope.note(target.name, "let", home_module.name)
        return home_module.name, target.name.text, None
    instance = typed(scope, target.target)
    machine = machine_of(scope, bare(instance.type))
    if machine is not None and target.name.text in (*machine.events, *machine.actions):
        return no_value(machine, target.name)
    if machine is None or target.name.text not in machine.lets:
        return None
    scope.note(target.name, "let", machine.qualified)
    return machine.qualified, target.name.text, opened(instance)
