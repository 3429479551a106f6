"""Effects in TLA+: what makes of one world the next. An effect is skipped where the step has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.interop.export.scope import identifier
from fsmdsl.interop.export.tla_expressions import FINE, chain, fault, in_order, map_fault, reference_fault, value
from fsmdsl.interop.export.tla_scope import Env, TlaScope
from fsmdsl.interop.export.values import machine_of
from fsmdsl.model.typing import holds, is_limited


def performed(scope: TlaScope, effects: Sequence[m.Effect], env: Env) -> str:
    """The world after effects, as an expression over `env.world`."""
    return _sequence(scope, scope.elaboration.effects(effects), env)


def then(scope: TlaScope, start: str, steps: Sequence[Callable[[str], str]]) -> str:
    """Steps one after the other, each a function from the name of a world to the next world."""
    if not steps:
        return start
    lines: list[str] = []
    at = start
    for n, step in enumerate(steps):
        text = step(at)
        if n == len(steps) - 1 and not lines:
            return text
        name = scope.fresh("w")
        lines.append(f"{name} == {text}" if n == 0 else f'{name} == IF {at}.stop # "" THEN {at} ELSE {text}')
        at = name
    return f"(LET {' '.join(lines)} IN {at})"


def _sequence(scope: TlaScope, effects: Sequence[m.Effect], env: Env) -> str:
    return then(scope, env.world, [_step(scope, e, env) for e in effects])


def _step(scope: TlaScope, e: m.Effect, env: Env) -> Callable[[str], str]:
    return lambda w: _effect(scope, e, env.at(w))


def _failing(scope: TlaScope, bad: str, env: Env, text: str) -> str:
    """A world, unless there is a place without a value."""
    if bad == FINE:
        return text
    n = scope.fresh("f")
    return f'(LET {n} == {bad} IN IF {n} # 0 THEN Fail({env.world}, "none", {n}) ELSE {text})'


def _effect(scope: TlaScope, e: m.Effect, env: Env) -> str:
    match e:
        case m.Assign() | m.Change():
            return _assign(scope, e, env)
        case m.Send(target=target, machine=machine) if machine not in scope.selections:
            return _failing(scope, reference_fault(scope, target, env), env, env.world)
        case m.Send(target=target, machine=machine, event=event):
            bad = chain(scope, [reference_fault(scope, target, env), *(fault(scope, a, env) for a in e.arguments)])
            arguments = _tuple(scope, e.arguments, env)
            name = event_operator(scope, machine, event)
            call = f"{name}({env.world}, {value(scope, target, env)}, {arguments}, {scope.place(e.span)})"
            return _failing(scope, bad, env, call)
        case m.Post():
            return _post(scope, e, env)
        case m.Request():
            return _request(scope, e, env)
        case m.ForEach():
            return _loop(scope, e, env)
        case m.If(condition=c):
            one, other = _sequence(scope, e.then, env), _sequence(scope, e.otherwise, env)
            text = f"(IF {value(scope, c, env)} THEN {one} ELSE {other})"
            return _failing(scope, fault(scope, c, env), env, text)
        case _:
            raise scope.unknown(e)


def _tuple(scope: TlaScope, items: Sequence[m.Expr], env: Env) -> str:
    return f"<<{', '.join(value(scope, a, env) for a in items)}>>"


def _assign(scope: TlaScope, e: m.Assign | m.Change, env: Env) -> str:
    owner = scope.reader
    if e.target is not None:
        owner = machine_of(e.target.type)
        if owner not in scope.selections:
            return _failing(scope, reference_fault(scope, e.target, env), env, env.world)
    machine = scope.universe.model.machines[owner]
    name = identifier(scope.machine_name(machine), e.name)
    whose = env.self if e.target is None else value(scope, e.target, env)
    operand = e.value if isinstance(e, m.Assign) else e.item
    bad = [] if e.target is None else [reference_fault(scope, e.target, env)]
    is_map_update = isinstance(operand, m.Apply) and operand.function in ("filled", "replaced")
    bad.append(
        map_fault(scope, operand, env) if isinstance(operand, m.Apply) and is_map_update else fault(scope, operand, env)
    )
    old, item = f"{env.world}.{name}[{whose}]", value(scope, operand, env)
    if isinstance(e, m.Assign):
        text, fits = item, _fits(e.type, operand)
    else:
        text, fits = _changed(e, old, item), e.kind == "remove"
        fits = fits or (isinstance(e.type, m.SetType) and holds(e.type.of, operand.type))
    field = next(f for f in machine.fields if f.name == e.name)
    v = scope.fresh("x")
    update = f"[{env.world} EXCEPT !.{name}[{whose}] = {v}]"
    update = f"Wrote({update})" if field.durable else update
    if not fits:
        n = scope.fresh("m")
        why = misfit(scope, e.type, v)
        place = scope.place(e.span)
        update = f'(LET {n} == {why} IN IF {n} # "" THEN Fail({env.world}, {n}, {place}) ELSE {update})'
    return _failing(scope, chain(scope, bad), env, f"(LET {v} == {text} IN {update})")


def _fits(t: m.Type, operand: m.Expr) -> bool:
    """Is a value, or what a map is made of, sure to fit?"""
    if isinstance(t, m.MapType) and isinstance(operand, m.Apply) and operand.function in ("filled", "replaced"):
        return holds(t.of, operand.arguments[-1].type)
    return holds(t, operand.type)


def _changed(e: m.Change, old: str, item: str) -> str:
    if isinstance(e.type, m.SetType):
        sign = "\\cup" if e.kind == "add" else "\\"
        return f"({old} {sign} {{{item}}})"
    return f"Append({old}, {item})" if e.kind == "add" else f"Without({old}, {item})"


def misfit(scope: TlaScope, t: m.Type, text: str) -> str:
    """The kind of fault for a value that a place cannot hold, or the empty text."""
    match t:
        case m.RangeType(low, high):
            return f'(IF {text} \\in ({low})..({high}) THEN "" ELSE "range")'
        case m.OptionalType(of):
            inner = misfit(scope, of, text)
            return inner if inner == '""' else f'(IF {text} = none THEN "" ELSE {inner})'
        case m.RefType():
            return f'(IF {text} = none THEN "none" ELSE "")'
        case m.ListType(of, bound):
            n, k = scope.fresh("i"), scope.fresh("bad")
            inner = misfit(scope, of, f"{text}[{n}]")
            item = misfit(scope, of, f"{text}[Least({k})]")
            each = f'LET {k} == {{{n} \\in DOMAIN {text} : {inner} # ""}} IN IF {k} = {{}} THEN "" ELSE {item}'
            return f'(IF Len({text}) > {bound} THEN "overflow" ELSE {each if is_limited(of) else chr(34) * 2})'
        case m.SetType(of) if is_limited(of):
            n, k = scope.fresh("x"), scope.fresh("bad")
            inner = misfit(scope, of, n)
            some = misfit(scope, of, f"(CHOOSE {n} \\in {k} : TRUE)")
            return f'(LET {k} == {{{n} \\in {text} : {inner} # ""}} IN IF {k} = {{}} THEN "" ELSE {some})'
        case m.MapType(of=of):
            n, k = scope.fresh("k"), scope.fresh("bad")
            inner, some = misfit(scope, of, f"{text}[{n}]"), misfit(scope, of, f"{text}[CHOOSE {n} \\in {k} : TRUE]")
            each = f'(LET {k} == {{{n} \\in DOMAIN {text} : {inner} # ""}} IN IF {k} = {{}} THEN "" ELSE {some})'
            return inner if inner == '""' else each
        case _:
            return '""'


def arguments_misfit(scope: TlaScope, parameters: Sequence[m.Variable], name: str) -> str:
    """The same for the first argument that does not fit; `name` names the tuple."""
    misfits = [x for n, p in enumerate(parameters) if (x := misfit(scope, p.type, f"{name}[{n + 1}]")) != '""']
    if not misfits:
        return '""'
    text = misfits[-1]
    for x in reversed(misfits[:-1]):
        n = scope.fresh("m")
        text = f'(LET {n} == {x} IN IF {n} # "" THEN {n} ELSE {text})'
    return text


def event_operator(scope: TlaScope, machine: str, event: str) -> str:
    """What delivers an event to an instance of a machine."""
    return identifier("on", scope.machine_name(machine), event)


def _checked(scope: TlaScope, parameters: Sequence[m.Variable], e: m.Post | m.Request, env: Env, text: str) -> str:
    """Arguments, as `a`, are looked at before anything happens."""
    a, n = scope.fresh("a"), scope.fresh("m")
    why = arguments_misfit(scope, parameters, a)
    bad = chain(scope, [fault(scope, x, env) for x in e.arguments])
    if why != '""':
        text = f'(LET {n} == {why} IN IF {n} # "" THEN Fail({env.world}, {n}, {scope.place(e.span)}) ELSE {text})'
    return _failing(scope, bad, env, f"(LET {a} == {_tuple(scope, e.arguments, env)} IN {text.replace('@a@', a)})")


def _request(scope: TlaScope, e: m.Request, env: Env) -> str:
    action = scope.universe.model.machines[scope.reader].action_named[e.action]
    waits = f'[{env.world} EXCEPT !.pending = Append(@, <<{env.self}, "{action.name}">>)]'
    return _checked(scope, action.parameters, e, env, waits if action.outcomes else env.world)


def _post(scope: TlaScope, e: m.Post, env: Env) -> str:
    channel = scope.universe.model.channels[e.channel]
    parameters = scope.universe.model.machines[channel.receiver].event_named[e.event].parameters
    queue = scope.queue(e.channel, [value(scope, x, env) for x in e.ends])
    update = f'Post({env.world}, {queue}, <<"{e.event}", @a@>>, {scope.place(e.span)})'
    text = _checked(scope, parameters, e, env, env.world if queue is None else update)
    for x in reversed(e.ends):
        text = _failing(scope, reference_fault(scope, x, env), env, text)
    return text


def _loop(scope: TlaScope, e: m.ForEach, env: Env) -> str:
    """An operator that takes one turn after the other."""
    name = scope.fresh("loop_")
    x, inner = env.bind(e.variable)
    outer = list(env.names.values())
    body = _sequence(scope, e.body, replace(inner, world="w", self="self"))
    head = ", ".join(["w", "self", *outer, "s"])
    turn = ", ".join([body, "self", *outer, "Tail(s)"])
    scope.operators.append(
        f'{name}({head}) == IF s = <<>> \\/ w.stop # "" THEN w ELSE LET {x} == Head(s) IN {name}({turn})'
    )
    scope.recursive.append(f"{name}({', '.join('_' * (3 + len(outer)))})")
    over = in_order(scope, e.over.type, value(scope, e.over, env))
    call = f"{name}({', '.join([env.world, env.self, *outer, over])})"
    return _failing(scope, fault(scope, e.over, env), env, call)
