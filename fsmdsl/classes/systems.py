"""Systems: any number of machines in the roles that a system of the spec names, with its invariants and recovery."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsmdsl import model as m
from fsmdsl.classes.declarations import derived_function
from fsmdsl.classes.files import File
from fsmdsl.classes.machines.members import Member, class_, invariant_member, let_member, method, slots
from fsmdsl.classes.names import RESERVED_IN_CLASSES, Namespace, snake
from fsmdsl.classes.statements.code import Statement
from fsmdsl.classes.statements.effects import statements
from fsmdsl.classes.statements.limits import Border, check, each_checked
from fsmdsl.classes.statements.scope import Scope
from fsmdsl.classes.statements.text import literal, sentence
from fsmdsl.core.lets import surveys


def with_code(module: m.Module) -> list[m.System]:
    """The systems of which something is left at run time: what must hold, what a crash is followed by."""
    return [s for s in module.systems if s.invariants or s.recover is not None]


def systems(file: File, module: m.Module) -> Iterator[list[str]]:
    """The systems of a module, and the derived values that look at all machines of a kind."""
    model = file.context.model
    yield from (derived_function(file, module, x) for x in module.lets if surveys(model, x.value))
    yield from (_class(file, system) for system in with_code(module))


def _class(file: File, system: m.System) -> list[str]:
    name = file.define(file.context.packages[system.module].systems[system.qualified])
    names = attribute_names(system)
    scope = Scope(file, system=system, locals=names)
    members: list[Member] = [
        slots(["system", *(names[g.name] for g in system.groups)]),
        _constructor(file, system, names),
        *(let_member(scope, let, names[let.name]) for let in system.lets),
        invariant_member(scope, system.invariants),
        _recovery(scope, system),
    ]
    doc = sentence(system.doc) or f"`{system.name}`."
    return class_(name, doc, members)


def attribute_names(system: m.System) -> Mapping[str, str]:
    """What groups and derived values are called."""
    space = Namespace([*RESERVED_IN_CLASSES, "system", "check_invariants", "self"])
    names = [*(g.name for g in system.groups), *(x.name for x in system.lets)]
    return {n: space.claim(snake(n)) for n in names}


def _constructor(file: File, system: m.System, names: Mapping[str, str]) -> Member:
    parameters: list[str] = []
    body: list[Statement] = ["self.system = system"]
    for g in system.groups:
        class_, name = file.class_(g.machine), names[g.name]
        alone = file.context.standalone(file.context.model.machines[g.machine])
        where = Border(literal(system.name), "None" if alone else "system")
        many = class_ if g.single else f"{file.library('collections.abc', 'Iterable')}[{class_}]"
        parameters.append(f"{name}: {many}")
        if g.single:
            body += [check(file, m.RefType(g.machine), name, g.name, where), f"self.{name} = {name}"]
        else:
            body.append(f"self.{name} = {each_checked(file, m.RefType(g.machine), name, g.name, where)}")
    if system.recover is not None:
        body.append("system._recovery = self._recover")
    head = f"def __init__(self, system: {file.machinery('System', typing=True)}, *, {', '.join(parameters)}) -> None:"
    return method(head, "", body)


def _recovery(scope: Scope, system: m.System) -> Member:
    if system.recover is None:
        return []
    return method("def _recover(self) -> None:", "", statements(scope, system.recover) or ("pass",))
