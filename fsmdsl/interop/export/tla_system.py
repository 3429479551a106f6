"""What a system is in TLA+: its instances, how it begins, and which procedure takes a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsmdsl.core import statements as s
from fsmdsl.core.rest import resting_leaves
from fsmdsl.interop.export.escape import tla_comment
from fsmdsl.interop.export.tla_scope import TlaScope
from fsmdsl.interop.export.tla_values import constant, function
from fsmdsl.step import World


def constants(scope: TlaScope) -> Iterator[str]:
    """What every operator may name: parameters of machines, and what actions and channels are."""
    u = scope.universe
    names = ", ".join(f"{n} {x.name}" for n, x in enumerate(u.system.instances))
    yield tla_comment(f"Instances by number: {names}")
    for machine in scope.machines:
        for p in machine.params:
            values = {n: constant(p.type, u.params[n][p.name]) for n in scope.numbers(machine)}
            yield f"{scope.param(machine.qualified, p.name)} == {function(values)}"
    blocking = (
        f'<<{n}, "{a.name}">>' for n, x in enumerate(u.machines) for a in x.actions if a.outcomes and not a.asynchronous
    )
    yield f"Blocking == {{{', '.join(blocking)}}}"
    fifo = (str(x.channel.order == "fifo").upper() for x in u.queues)
    yield f"Fifo == <<{', '.join(fifo)}>>"
    leaves = resting_leaves(u.machines)
    texts = [", ".join(f'"{s.name}"' for s in x.leaves if s.name in leaves[x.qualified]) for x in u.machines]
    yield f"Resting == {function({n: f'{{{text}}}' for n, text in enumerate(texts)})}"


def first_world(scope: TlaScope) -> str:
    """The world in which everything begins."""
    u = scope.universe
    start = u.starts[0]
    parts = [f"state |-> {function({n: chr(34) + x + chr(34) for n, x in enumerate(start.states)})}"]
    for machine in scope.machines:
        for slot, f in enumerate(machine.fields):
            values = {n: constant(f.type, start.fields[n][slot]) for n in scope.numbers(machine)}
            parts.append(f"{scope.field(machine.qualified, f.name)} |-> {function(values)}")
    parts += [
        f"channels |-> <<{', '.join('<<>>' for _ in u.queues)}>>", "waited |-> {}", "pending |-> <<>>",
        "down |-> FALSE", "busy |-> {}", "touched |-> {}", "chosen |-> {}", "seen |-> {}", "writes |-> 0", "cut |-> 0",
        'stop |-> ""', "fault |-> <<>>", "result |-> none", "offers |-> {}", "unoffered |-> {}",
    ]  # fmt: skip
    first_fault = "" if u.fault is None else f'"fault", "{u.fault.kind}", {scope.place(u.fault.span)}'
    inner = ",\n   ".join(parts)
    first = f"First ==\n  [{inner}]\n"
    if len(u.starts) > 1:
        first += f"Firsts == {{{', '.join(['First', *(_other(scope, x) for x in u.starts[1:])])}}}\n"
    return f"{first}{tla_comment('A first value that does not fit.')}\nFirstFault == <<{first_fault}>>"


def _other(scope: TlaScope, world: World) -> str:
    """Another first world: what it has otherwise than the first."""
    start = scope.universe.starts[0]
    changed = [f'!.state[{n}] = "{x}"' for n, x in enumerate(world.states) if x != start.states[n]]
    for n, machine in enumerate(scope.universe.machines):
        for f, begun, before in zip(machine.fields, world.fields[n], start.fields[n], strict=True):
            if begun != before:
                changed.append(f"!.{scope.field(machine.qualified, f.name)}[{n}] = {constant(f.type, begun)}")
    return f"[First EXCEPT {', '.join(changed)}]"


def by_instance(scope: TlaScope, kind: s.ProcedureKind) -> str:
    """The operator for an instance of any machine."""
    cases = [
        f"{scope.is_instance('i', x.qualified)} -> {scope.procedure(name)}(w, i)"
        for x in scope.machines
        if (name := s.Name(kind, x.qualified)) in scope.program.procedures
    ]
    return f"{scope.by_instance(kind)}(w, i) ==\n  CASE " + "\n    [] ".join(cases)


def run(scope: TlaScope) -> str:
    """What a step does, by its name and data."""
    cases = [case for name in scope.program.procedures for case in _cases(scope, name)]
    return "Run(w, s) ==\n  CASE " + "\n    [] ".join(cases)


def _cases(scope: TlaScope, name: s.Name) -> Iterator[str]:
    """The steps that a procedure takes."""
    subject = name.subject

    def case(test: str, arguments: Sequence[str]) -> str:
        return f"{test} -> {scope.procedure(name)}({', '.join(['w', *arguments])})"

    def of_instance(kind: str, rest: str) -> str:
        return f's[1] = "{kind}" /\\ {scope.is_instance("s[2]", name.owner)} /\\ {rest}'

    match name.kind:
        case "event":
            count = len(scope.program.procedures[name].parameters) - 1
            yield case(of_instance("event", f's[3] = "{subject}"'), ["s[2]", *(f"s[4][{n + 1}]" for n in range(count))])
        case "answer":
            action, _, outcome = subject.partition(".")
            yield case(of_instance("answer", f's[3] = "{action}" /\\ s[4] = "{outcome}"'), ["s[2]"])
        case "tick":
            yield case(of_instance("timer", f"s[3] = {subject}"), ["s[2]"])
        case "deliver message" | "lose message" | "duplicate message":
            for n, q in enumerate(scope.universe.queues, scope.FIRST_QUEUE):
                if q.channel.qualified == name.owner:
                    ends = [str(x) for x in (q.sender, q.receiver) if x is not None]
                    yield case(f's[1] = "{name.kind.split()[0]}" /\\ s[2] = {n}', [*ends, "s[3]"])
        case "crash alone":
            yield case('s[1] = "crash alone"', ["s[2]"])
        case "recover":
            yield case('s[1] = "recover"', [])
        case _:
            pass
