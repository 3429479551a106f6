"""Core statements in TLA+: what makes of one world the next.

A statement becomes a definition (`LET … IN`) or a test (`IF … ELSE`) in front of those behind it. A step that has ended
early, by a fault or a crash, does nothing more. What is done behind several branches, or behind a loop, is written
once: behind the definition of what the branches change, if that is one thing; if not, as an operator that each branch
ends in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import indent
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.translate.context import negated
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.interop.export.tla_expressions import in_order, machine_of, queue_number, sequence, value, values
from fsmdsl.interop.export.tla_scope import WORLD, Env, Names, TlaScope

End = Callable[[Env], str]
"""What comes at the end of a block."""

Loop = s.Each | s.EachPending | s.Repeat

Change = s.Call | s.CallOn | s.Unoffered | s.Progress | s.Note | s.Offer | s.Change
"""What is a world."""


@dataclass(frozen=True, slots=True)
class Ends:
    """What comes where a block ends. Each is short, so it may be written several times."""

    next: End
    leave: End | None = None
    """Behind the loop."""
    otherwise: str | None = None
    """The operator that takes a fault, in an attempt."""
    is_value: bool = False
    """Is the operator the value that is returned?"""
    is_world: bool = False
    """Is it the world, as it is then?"""


def procedure(scope: TlaScope, p: s.Procedure) -> str:
    """The operator of a procedure."""
    env = Env(Names(), "w")
    env.inside.new("w")
    parameters = ["w"]
    for x in p.parameters:
        name, env = env.bind(x)
        parameters.append(name)
    scope.definitions.add(p.name)
    ends = Ends(lambda env: env.world, is_value=scope.is_value(p.name), is_world=True)
    return f"{scope.procedure(p.name)}({', '.join(parameters)}) ==\n{_in(_block(scope, p.body, env, ends))}"


def _in(text: str) -> str:
    return indent(text, "  ")


# Blocks --------------------------------------------------------------------------------------------------------------


def _block(scope: TlaScope, block: s.Block, env: Env, ends: Ends) -> str:
    lines: list[str] = []
    block = tuple(x for x in block if not isinstance(x, s.Note | s.Arm | s.Disarm))  # timers run as the states say
    for n, x in enumerate(block):
        rest = block[n + 1 :]
        match x:
            case s.If() | s.Each() | s.EachPending() | s.Repeat() | s.Attempt():
                compound = _compound(scope, x, rest, env, ends)
                if isinstance(compound, str):
                    return "\n".join([*lines, compound])
                line, env = compound
            case s.Let(variable=variable, value=e) | s.Set(variable=variable, value=e):
                text = value(scope, e, env)
                name, env = env.bind(variable)
                line = f"LET {name} == {text} IN"
            case s.Require(condition=condition, fault=fault):
                line = f"IF {value(scope, negated(condition), env)} THEN {_fault(scope, fault, env, ends)} ELSE"
            case s.Fail(fault=fault):
                return "\n".join([*lines, _fault(scope, fault, env, ends)])
            case s.Leave():
                assert ends.leave is not None
                return "\n".join([*lines, ends.leave(env)])
            case s.Return(value=result):
                return "\n".join([*lines, _result(scope, result, env, ends)])
            case _:
                is_last = rest == (s.Return(),) or (ends.is_world and not rest)
                if is_last and ends.otherwise is None and not _has_result(x):
                    return "\n".join([*lines, _next_world(scope, x, env)])
                line, env = _change(scope, x, env, ends)
        lines.append(line)
    return "\n".join([*lines, ends.next(env)])


def _fault(scope: TlaScope, fault: s.Fault, env: Env, ends: Ends) -> str:
    kind, place = fault.cause.kind, value(scope, fault.location, env)
    if ends.otherwise is not None:
        return f'{ends.otherwise}(<<"{kind}", {place}>>)'
    return f'Fail({env.world}, "{kind}", {place})'


def _result(scope: TlaScope, result: s.Expr | None, env: Env, ends: Ends) -> str:
    if result is None:
        return env.world
    text = value(scope, result, env)
    return text if ends.is_value else f"[{env.world} EXCEPT !.result = {text}]"


def _change(scope: TlaScope, x: Change, env: Env, ends: Ends) -> tuple[str, Env]:
    """The next world, which may be the last; and where the next statement is. A `let` changes nothing but the result,
    so what is behind it goes on with the world before."""
    world, after = env.next_world()
    line = f"LET {world} == {_next_world(scope, x, env)} IN"
    if _may_stop((x,)):
        line = f"{line}\n{_unless_stopped(world, ends)}"
    if _is_let(x):
        after = env
    if isinstance(x, s.Call | s.CallOn) and x.into is not None:
        name, after = after.bind(x.into)
        line = f"{line}\nLET {name} == {world}.result IN"
    return line, after


def _unless_stopped(world: str, ends: Ends) -> str:
    stopped = world if ends.otherwise is None else f"{ends.otherwise}({world}.fault)"
    return f'IF {world}.stop # "" THEN {stopped} ELSE'


def _has_result(x: s.Statement) -> bool:
    return isinstance(x, s.Call | s.CallOn) and x.into is not None


def _is_let(x: s.Statement) -> bool:
    return isinstance(x, s.Call) and x.procedure.kind == "let"


# Changes -------------------------------------------------------------------------------------------------------------


def _next_world(scope: TlaScope, x: Change, env: Env) -> str:
    """The world after a change."""
    w = env.world

    def of(e: s.Expr) -> str:
        return value(scope, e, env)

    match x:
        case s.Call(procedure=name, arguments=arguments):
            return f"{scope.operator(name)}({', '.join([w, *values(scope, arguments, env)])})"
        case s.CallOn(kind=kind, instance=instance):
            return f"{scope.by_instance(kind)}({w}, {of(instance)})"
        case s.Write(owner=owner, name=name, value=new):
            assert x.kind == "field"  # parameters are constants
            field = scope.field(machine_of(owner), name)
            return f"[{w} EXCEPT !.{field}[{of(owner)}] = {of(new)}]"
        case s.Enter(instance=instance, leaf=leaf):
            return f'[{w} EXCEPT !.state[{of(instance)}] = "{leaf}"]'
        case s.Cut():
            return f"Cut({w})"
        case s.Put(queue=queue, event=event, arguments=arguments):
            message = f'<<"{event}", {sequence(scope, arguments, env)}>>'
            return f"Put({w}, {queue_number(scope, queue, env)}, {message})"
        case s.Drop(queue=queue, position=position):
            return f"Drop({w}, {queue_number(scope, queue, env)}, {of(position)} + 1)"
        case s.Duplicate(queue=queue, position=position):
            return f"Duplicate({w}, {queue_number(scope, queue, env)}, {of(position)} + 1)"
        case s.DropAll():
            return f"[{w} EXCEPT !.channels = First.channels]"
        case s.Await(instance=instance, action=action):
            return f'[{w} EXCEPT !.pending = Append(@, <<{of(instance)}, "{action}">>)]'
        case s.Answered(instance=instance, action=action):
            return f'[{w} EXCEPT !.pending = Without(@, <<{of(instance)}, "{action}">>)]'
        case s.Forget(instance=instance):
            return f"Forget({w}, {of(instance)})"
        case s.Mark(flag=flag, instance=instance, on=on):
            sign = "\\cup" if on else "\\"
            return f"[{w} EXCEPT !.{flag} = @ {sign} {{{of(instance)}}}]"
        case s.Choose(instance=instance, transition=transition):
            return f"Choose({w}, {of(instance)}, {'none' if transition is None else transition})"
        case s.SetDown(down=down):
            return f"[{w} EXCEPT !.down = {str(down).upper()}]"
        case s.Progress(fault=fault, limit=limit):
            return f'Progress({w}, {limit}, "{fault.cause.kind}", {of(fault.location)})'
        case s.Offer(step=step):
            return _offer(scope, step, env)
        case s.Unoffered():
            return f"[{w} EXCEPT !.unoffered = @ \\cup {{{env.fault}}}]"
        case s.Note() | s.Arm() | s.Disarm():
            return w
        case _:
            assert_never(x)


def _offer(scope: TlaScope, step: s.Step, env: Env) -> str:
    def of(e: s.Expr) -> str:
        return value(scope, e, env)

    match step:
        case s.SystemCrash(kind=kind):
            how = {"anywhere": "Crash", "between writes": "CrashInside", "during recovery": "CrashInRecovery"}[kind]
            return f"Offer{how}({env.world})"
        case s.EventStep(instance=instance, event=event, arguments=arguments):
            text = f'<<"event", {of(instance)}, "{event}", {sequence(scope, arguments, env)}>>'
        case s.OutcomeStep(instance=instance, action=action, outcome=outcome):
            text = f'<<"answer", {of(instance)}, "{action}", "{outcome}">>'
        case s.TimerStep(instance=instance, transition=transition):
            text = f'<<"timer", {of(instance)}, {transition}>>'
        case s.ChannelStep(kind=kind, queue=queue, position=position):
            text = f'<<"{kind}", {queue_number(scope, queue, env)}, {of(position)}>>'
        case s.CrashStep(of=instances):
            text = f'<<"crash alone", {of(instances)}>>'
        case s.RecoverStep():
            text = '<<"recover">>'
        case _:
            assert_never(step)
    return f"[{env.world} EXCEPT !.offers = @ \\cup {{{text}}}]"


# Branches and loops --------------------------------------------------------------------------------------------------


def _compound(scope: TlaScope, x: s.Compound, rest: s.Block, env: Env, ends: Ends) -> str | tuple[str, Env]:
    """Everything up to the end; or what is written for this statement, and where the next one is."""
    if isinstance(x, s.If) and _ends_early(x.then):
        return _if(scope, replace(x, otherwise=(*x.otherwise, *rest)), env, ends)
    if isinstance(x, s.Each) and _only_offers(x, env):
        return _each_offer(scope, x, env)
    if not rest:
        return _text(scope, x, env, ends)
    if len(rest) == 1 and isinstance(rest[0], s.Return | s.Fail | s.Leave):
        return _text(scope, x, env, replace(ends, next=lambda e: _block(scope, rest, e, ends), is_world=False))
    outputs = _outputs(x, env, ends)
    names, after = env.renewed(outputs)
    stops = _may_stop((x,))
    if len(outputs) == 1 and not _exits(x) and not (stops and ends.otherwise is not None):
        only = replace(ends, next=lambda e: e.values(outputs)[0], is_world=outputs == [WORLD])
        line = f"LET {names[0]} ==\n{_in(_in(_text(scope, x, env, only)))} IN"
        return (f"{line}\n{_unless_stopped(names[0], ends)}" if stops else line), after
    join = env.inside.new("then")
    head = f"{join}({', '.join(names)})" if names else join
    definition = f"LET {head} ==\n{_in(_in(_block(scope, rest, after, ends)))} IN\n"
    return definition + _text(
        scope, x, env, replace(ends, next=lambda e: _application(join, e.values(outputs)), is_world=False)
    )


def _application(operator: str, arguments: Sequence[str]) -> str:
    return f"{operator}({', '.join(arguments)})" if arguments else operator


def _text(scope: TlaScope, x: s.Compound, env: Env, ends: Ends) -> str:
    match x:
        case s.If():
            return _if(scope, x, env, ends)
        case s.Each(over=over):
            return _loop(scope, x, in_order(scope, over, env), env, ends)
        case s.EachPending():
            return _loop(scope, x, f"Answerable({env.world})", env, ends)
        case s.Repeat():
            return _loop(scope, x, None, env, ends)
        case s.Attempt(body=body, otherwise=otherwise):
            name, fault = env.inside.new("otherwise"), env.inside.new("fault")
            instead = _block(scope, otherwise, replace(env, fault=fault), ends)
            text = _block(scope, body, env, replace(ends, otherwise=name, is_world=False))
            return f"LET {name}({fault}) ==\n{_in(_in(instead))} IN\n{text}"
        case _:
            assert_never(x)


def _if(scope: TlaScope, x: s.If, env: Env, ends: Ends) -> str:
    then, otherwise = _block(scope, x.then, env, ends), _block(scope, x.otherwise, env, ends)
    return f"IF {value(scope, x.condition, env)} THEN\n{_in(then)}\nELSE\n{otherwise}"


def _each_offer(scope: TlaScope, x: s.Each, env: Env) -> tuple[str, Env]:
    """Steps are offered as a set, so in no order: their number may be large."""
    name, (world, after) = env.inside.new("each"), env.next_world()
    variable, inner = env.bind(x.variable)
    body = _block(scope, x.body, inner, Ends(lambda e: e.world, is_world=True))
    over = value(scope, x.over, env)
    if isinstance(x.over.type, m.ListType):
        n = env.inside.new("i")
        over = f"{{{over}[{n}] : {n} \\in DOMAIN {over}}}"
    member = env.inside.new(variable)
    parts = ["offers"] + ["unoffered"] * any(isinstance(y, s.Unoffered) for y in s.walk(x.body))
    changes = (f"!.{part} = @ \\cup UNION {{{name}({member}).{part} : {member} \\in {over}}}" for part in parts)
    update = f"[{env.world} EXCEPT {', '.join(changes)}]"
    return f"LET {name}({variable}) ==\n{_in(_in(body))} IN\nLET {world} == {update} IN", after


def _loop(scope: TlaScope, x: Loop, over: str | None, env: Env, ends: Ends) -> str:
    """A recursive operator that takes one turn after the other, and at the end goes on."""
    outputs = _outputs(x, env, ends)
    name = env.inside.new("each" if over is not None else "repeat")
    names, inner = env.renewed(outputs)
    rest = [] if over is None else [env.inside.new("rest")]
    tail = [f"Tail({name})" for name in rest]

    def again(e: Env) -> str:
        return _application(name, [*e.values(outputs), *tail])

    turn = Ends(again, ends.next, ends.otherwise, ends.is_value)
    body = _turn(scope, x, rest[0] if rest else "", inner, turn)
    if rest:
        body = f"IF {rest[0]} = <<>> THEN {ends.next(inner)} ELSE\n{body}"
    head = _application(name, [*names, *rest])
    declaration = f"RECURSIVE {_application(name, ['_'] * (len(names) + len(rest)))}"
    first = _application(name, [*env.values(outputs), *([] if over is None else [over])])
    return f"LET {declaration}\n    {head} ==\n{indent(body, '      ')} IN\n{first}"


def _turn(scope: TlaScope, x: Loop, rest: str, env: Env, ends: Ends) -> str:
    match x:
        case s.Repeat(body=body):
            return _block(scope, body, env, ends)
        case s.Each(variable=variable, body=body):
            name, env = env.bind(variable)
            return f"LET {name} == Head({rest}) IN\n{_block(scope, body, env, ends)}"
        case s.EachPending(variable=variable, actions=actions):
            name, env = env.bind(variable)
            cases = [
                f'{scope.is_instance(name, a.machine)} /\\ Head({rest})[2] = "{a.action}" ->\n'
                f"{_in(_block(scope, a.body, env, ends))}"
                for a in actions
            ]
            return f"LET {name} == Head({rest})[1] IN\nCASE " + "\n  [] ".join(cases)
        case _:
            assert_never(x)


# What a statement does -----------------------------------------------------------------------------------------------


def _only_offers(x: s.Each, env: Env) -> bool:
    """Does a loop nothing but offer steps?"""
    inside = list(s.walk(x.body))
    crashes = any(isinstance(y, s.Offer) and isinstance(y.step, s.SystemCrash) for y in inside)  # of steps before
    offers = any(isinstance(y, s.Offer | s.Unoffered) for y in inside)
    changes = any(_is_change(y) and not isinstance(y, s.Offer | s.Unoffered) for y in inside)
    assigns = any(name in env.variables for name in _variables(x.body))
    return offers and not (crashes or changes or assigns or _may_stop(x.body) or _exits(x))


def _outputs(x: s.Compound, env: Env, ends: Ends) -> list[str]:
    """What a statement may change: variables, and the world (`WORLD`), which also says whether the step has ended."""
    changes = any(map(_is_change, s.walk((x,)))) or (ends.otherwise is None and _may_stop((x,)))
    branches = [_variables(block) for block in s.blocks(x)]
    always = set[str]() if not isinstance(x, s.If | s.Attempt) else set(branches[0]).intersection(*branches[1:])
    some = dict.fromkeys(name for branch in branches for name in branch)
    return [*([WORLD] if changes else []), *(name for name in some if name in env.variables or name in always)]


def _is_change(x: s.Statement) -> bool:
    match x:
        case s.Call():
            return not _is_let(x)
        case s.CallOn() | s.Unoffered() | s.Offer() | s.Progress():
            return True
        case s.Arm() | s.Disarm():
            return False
        case _:
            return isinstance(x, s.Change)


def _variables(block: s.Block) -> dict[str, None]:
    names: dict[str, None] = {}
    for x in s.walk(block):
        match x:
            case (
                s.Set(variable=variable)
                | s.Call(into=s.Variable() as variable)
                | s.CallOn(into=s.Variable() as variable)
            ):
                names[variable.name] = None
            case _:
                pass
    return names


def _may_stop(block: s.Block) -> bool:
    """May a step end here, by a fault or a crash?"""
    for x in block:
        match x:
            case s.Require() | s.Fail() | s.Call() | s.CallOn() | s.Cut() | s.Progress():
                return True
            case s.Attempt(otherwise=otherwise):
                if _may_stop(otherwise):
                    return True
            case _:
                if any(_may_stop(y) for y in s.blocks(x)):
                    return True
    return False


def _ends_early(block: s.Block) -> bool:
    """Does nothing behind a block happen?"""
    match block[-1:]:
        case (s.Return() | s.Fail() | s.Leave(),):
            return True
        case (s.If(then=then, otherwise=otherwise),):
            return _ends_early(then) and _ends_early(otherwise)
        case _:
            return False


def _exits(x: s.Statement, in_loop: bool = False) -> bool:
    """Does a statement leave a loop around it, or the procedure?"""
    match x:
        case s.Return():
            return True
        case s.Leave():
            return not in_loop
        case _:
            inside = in_loop or isinstance(x, Loop)
            return any(_exits(y, inside) for block in s.blocks(x) for y in block)
