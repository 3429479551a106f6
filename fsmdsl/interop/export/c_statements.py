"""Core statements in C, one to one. A procedure is a function that says whether the step goes on: `FINE`, `FAILED` or
`CUT`; one that returns a value and cannot fail returns that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, assert_never

from fsmdsl.core import statements as s
from fsmdsl.core.translate.context import can_fail
from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.interop.export.c_expressions import (
    FLAGS,
    event_number,
    expression,
    fitted,
    local,
    machine_of,
    passed,
    place,
    queue_number,
    turns,
)
from fsmdsl.interop.export.c_scope import CScope
from fsmdsl.interop.export.escape import c_comment

TAB = "    "

Returns = Literal["nothing", "value", "result"]
"""What a procedure returns: a value as such, where it cannot fail; else as its result."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The function that is being written."""

    scope: CScope
    returns: Returns
    variables: dict[str, None] = field(default_factory=dict)
    """Declared in front, as C has no jump past a declaration."""
    failing: str = ""
    """The label behind the attempt around it."""

    def variable(self, x: s.Variable) -> str:
        """A variable that takes a value."""
        self.variables[local(x.name)] = None
        return local(x.name)

    def text(self, e: s.Expr) -> str:
        """An expression."""
        return expression(self.scope, e)

    def fail(self, fault: s.Fault) -> str:
        """The step ends with a fault."""
        call = f"fault({fault.cause.kind.upper()}_FAULT, {self.text(fault.location)})"
        return f"{{ {call}; goto {self.failing}; }}" if self.failing else f"return {call};"

    def go_on(self, call: str) -> str:
        """A call, after which the step may not go on."""
        return f"if ({call}) goto {self.failing};" if self.failing else f"TRY({call});"


# Procedures ----------------------------------------------------------------------------------------------------------


def returns(p: s.Procedure) -> Returns:
    """What the function of a procedure returns. Those that are called by the machine of an instance are all alike."""
    match p.name.kind:
        case "let" | "may begin" | "holds":
            return "result" if can_fail(p.body) else "value"
        case "eventless":
            return "result"
        case _:
            return "nothing"


def prototype(scope: CScope, p: s.Procedure) -> str:
    """The first line of a procedure's function."""
    kind = returns(p)
    parameters = [f"V {local(x.name)}" for x in p.parameters] + ["V *result"] * (kind == "result")
    return f"static {'V' if kind == 'value' else 'int'} {scope.function(p.name)}({', '.join(parameters) or 'void'})"


def procedure(scope: CScope, p: s.Procedure) -> str:
    """A procedure's function."""
    at = Frame(scope, returns(p))
    body = [*_block(at, p.body), *([] if at.returns == "value" else ["return FINE;"])]
    declared = [f"V {', '.join(at.variables)};"] if at.variables else []
    lines = "".join(f"{TAB}{x}\n" for x in [*declared, *body])
    title = c_comment(" ".join([p.name.kind, ".".join(x for x in (p.name.owner, p.name.subject) if x)]).strip())
    return f"{title}\n{prototype(scope, p)}\n{{\n{lines}}}"


def _block(at: Frame, block: s.Block) -> list[str]:
    return [line for x in block for line in _statement(at, x)]


def _inside(at: Frame, block: s.Block) -> list[str]:
    return [f"{TAB}{line}" for line in _block(at, block)]


def _statement(at: Frame, x: s.Statement) -> Sequence[str]:
    match x:
        case s.If() | s.Each() | s.EachPending() | s.Repeat() | s.Attempt():
            return list(_compound(at, x))
        case s.Note(happening):
            return list(_note(at, happening))
        case s.Put():
            return [_put(at, x)]
        case s.Offer(step):
            return [_offer(at, step)]
        case (
            s.Let() | s.Set() | s.Require() | s.Fail() | s.Leave() | s.Call() | s.CallOn() | s.Return()
            | s.Unoffered() | s.Progress()
        ):  # fmt: skip
            return [_simple(at, x)]
        case s.Arm() | s.Disarm():
            return []  # a timer runs while its state is active, which `tick` and `offer timers` look at
        case _:
            return [_change(at, x)]


def _compound(at: Frame, x: s.Compound) -> Iterator[str]:
    match x:
        case s.If(condition, then, otherwise):
            yield f"if ({at.text(condition)}) {{"
            yield from _inside(at, then)
            if otherwise:
                yield "} else {"
                yield from _inside(at, otherwise)
            yield "}"
        case s.Each(variable, over, body):
            declared, head, turn = turns(at.scope, over)
            yield f"{{ {declared}"
            yield f"{head} {{"
            yield f"{TAB}{at.variable(variable)} = {turn};"
            yield from _inside(at, body)
            yield "} }"
        case s.EachPending(variable, actions):
            yield "{ int i; for (i = 0; i < w.waiting; i++) if (is_answerable(i)) {"
            yield f"{TAB}{at.variable(variable)} = w.who[i];"
            for a in actions:
                yield f"{TAB}if (w.what[i] == {at.scope.action(a.machine, a.action)}) {{"
                yield from (f"{TAB}{line}" for line in _inside(at, a.body))
                yield f"{TAB}}}"
            yield "} }"
        case s.Repeat(body):
            yield "for (;;) {"
            yield from _inside(at, body)
            yield "}"
        case s.Attempt(body, otherwise):
            n = at.scope.fresh()
            yield "{"
            yield from _inside(replace(at, failing=f"failing_{n}"), body)
            yield f"{TAB}goto behind_{n};"
            yield f"failing_{n}:;"
            yield from _inside(at, otherwise)
            yield f"behind_{n}:;"
            yield "}"
        case _:
            assert_never(x)


Plain = s.Let | s.Set | s.Require | s.Fail | s.Leave | s.Call | s.CallOn | s.Return | s.Unoffered | s.Progress


def _simple(at: Frame, x: Plain) -> str:
    match x:
        case s.Let(variable, value) | s.Set(variable, value):
            return f"{at.variable(variable)} = {fitted(at.scope, value, variable.type)};"
        case s.Require(condition, fault):
            return f"if (!{at.text(condition)}) {at.fail(fault)}"
        case s.Fail(fault):
            return at.fail(fault)
        case s.Leave():
            return "break;"
        case s.Call(name, arguments, into):
            values = passed(at.scope, name, arguments)
            if into is None:
                return at.go_on(f"{at.scope.function(name)}({values})")
            return at.go_on(f"{at.scope.function(name)}({values}{', ' if values else ''}&{at.variable(into)})")
        case s.CallOn(kind, instance, into):
            self = at.text(instance)
            result = f", &{at.variable(into)}" if into is not None else ""
            return at.go_on(f"{at.scope.table(kind)}[{self}]({self}{result})")
        case s.Return(value):
            return _return(at, value)
        case s.Unoffered(crash):
            return f"unoffer({int(crash)});"
        case s.Progress(fault, limit):
            return f"if (!progress({limit})) {at.fail(fault)}"
        case _:
            assert_never(x)


def _return(at: Frame, value: s.Expr | None) -> str:
    match at.returns:
        case "value":
            assert value is not None
            return f"return {at.text(value)};"
        case "result":
            assert value is not None
            return f"{{ *result = {at.text(value)}; return FINE; }}"
        case "nothing":
            return "return FINE;"
        case _:
            assert_never(at.returns)


# Changes -------------------------------------------------------------------------------------------------------------

Changed = (
    s.Write | s.Enter | s.Cut | s.Drop | s.Duplicate | s.DropAll | s.Await | s.Answered | s.Forget | s.Mark | s.Choose
    | s.SetDown
)  # fmt: skip


def _change(at: Frame, x: Changed) -> str:
    match x:
        case s.Write():
            return _write(at, x)
        case s.Enter(instance, leaf):
            machine = machine_of(at.scope, instance)
            assert machine is not None
            return f"w.state[{at.text(instance)}] = {at.scope.leaf(machine, leaf)};"
        case s.Cut():
            return "if (is_cut()) return CUT;"
        case s.Drop(queue, position):
            return f"drop({queue_number(at.scope, queue)}, {at.text(position)});"
        case s.Duplicate(queue, position):
            return f"duplicate({queue_number(at.scope, queue)}, {at.text(position)});"
        case s.DropAll():
            return "drop_all();"
        case s.Await(instance, action):
            return f"await({at.text(instance)}, {_action(at, instance, action)});"
        case s.Answered(instance, action):
            return f"answered({at.text(instance)}, {_action(at, instance, action)});"
        case s.Forget(instance):
            return f"forget({at.text(instance)});"
        case s.Mark(flag, instance, on):
            bit = f"1LL << {at.text(instance)}"
            return f"{FLAGS[flag]} |= {bit};" if on else f"{FLAGS[flag]} &= ~({bit});"
        case s.Choose(instance, transition):
            return f"chosen[{at.text(instance)}] = {-1 if transition is None else transition};"
        case s.SetDown(down):
            return f"w.down = {int(down)};"
        case _:
            assert_never(x)


def _write(at: Frame, x: s.Write) -> str:
    if x.kind == "param":
        raise TypeError("parameters are constants, which have their values")
    machine = machine_of(at.scope, x.owner)
    if machine is None:
        return c_comment("there is no instance")
    return f"w.{place(at.scope, machine, x.name, x.owner)} = {fitted(at.scope, x.value, x.type)};"


def _action(at: Frame, instance: s.Expr, action: str) -> str:
    machine = machine_of(at.scope, instance)
    assert machine is not None
    return at.scope.action(machine.qualified, action)


def _put(at: Frame, x: s.Put) -> str:
    model = at.scope.universe.model
    event = model.machines[model.channels[x.queue.channel].receiver].event_named[x.event]
    values = [fitted(at.scope, y, p.type) for y, p in zip(x.arguments, event.parameters, strict=True)]
    number = event_number(at.scope, x.queue, x.event)
    return (
        f"{{ V a[ARGUMENTS] = {{{', '.join(values) or '0'}}}; put({queue_number(at.scope, x.queue)}, {number}, a); }}"
    )


# What happens --------------------------------------------------------------------------------------------------------


def _note(at: Frame, x: s.Happening) -> Iterator[str]:
    """A comment, and the promises of fairness that it keeps."""
    match x:
        case s.Followed(instance, n):
            machine = machine_of(at.scope, instance)
            assert machine is not None
            t = machine.transitions[n]
            yield c_comment(f"{t.source} -> {t.target or '(internal)'} on {t.name}, {t.span}")
            yield from _fulfilled(at, instance, [k for k, p in enumerate(at.scope.promises) if n in p.transitions])
        case s.Ignored(instance, trigger):
            yield from _fulfilled(at, instance, [k for k, p in enumerate(at.scope.promises) if trigger in p.ignored])
        case s.GuardSeen() | s.Sent() | s.Posted() | s.Requested() | s.Assigned() | s.Crashed():
            pass
        case _:
            assert_never(x)


def _fulfilled(at: Frame, instance: s.Expr, promises: list[int]) -> Iterator[str]:
    machine = machine_of(at.scope, instance)
    for n in promises:
        of = at.scope.promises[n].instance
        if at.scope.universe.machines[of] is machine:
            yield f"if ({at.text(instance)} == {of}) happened |= {1 << n}LL;"


# What can come next --------------------------------------------------------------------------------------------------


def _offer(at: Frame, x: s.Step) -> str:
    match x:
        case s.EventStep(instance, event, arguments):
            name = _of_machine(at, "event", instance, event)
            return _add(at, name, passed(at.scope, name, (instance, *arguments)))
        case s.OutcomeStep(instance, action, outcome):
            return _add(at, _of_machine(at, "answer", instance, f"{action}.{outcome}"), at.text(instance))
        case s.TimerStep(instance, transition):
            return _add(at, _of_machine(at, "tick", instance, f"{transition}"), at.text(instance))
        case s.ChannelStep(kind, queue, position):
            name = s.Name(_of_channel(kind), queue.channel)
            ends = ["sender[q], ", ""][len(at.scope.procedures[name].parameters) == 2]
            values = f"{ends}receiver[q], {at.text(position)}"
            return f"{{ int q = {queue_number(at.scope, queue)}; {_add(at, name, values)} }}"
        case s.CrashStep(of):
            name = s.Name("crash alone")
            return _add(at, name, passed(at.scope, name, (of,)), crash=True)
        case s.SystemCrash("anywhere"):
            return "add_crash(0, 0);"
        case s.SystemCrash(kind):
            return f"add_crashes({int(kind == 'between writes')});"
        case s.RecoverStep():
            return _add(at, s.Name("recover"), "0")
        case _:
            assert_never(x)


def _of_channel(kind: s.ChannelStepKind) -> s.ProcedureKind:
    match kind:
        case "deliver":
            return "deliver message"
        case "lose":
            return "lose message"
        case "duplicate":
            return "duplicate message"
        case _:
            assert_never(kind)


def _of_machine(at: Frame, kind: s.ProcedureKind, instance: s.Expr, subject: str) -> s.Name:
    machine = machine_of(at.scope, instance)
    assert machine is not None
    return s.Name(kind, machine.qualified, subject)


def _add(at: Frame, name: s.Name, values: str, *, crash: bool = False) -> str:
    return f"{{ V a[STEP_ARGUMENTS] = {{{values}}}; add({at.scope.step(name)}, {int(crash)}, a); }}"
