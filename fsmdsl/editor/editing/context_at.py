"""What surrounds a place in a text: the declaration that it is in, and what the names there may stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.editor.editing.analysis import Analysis
from fsmdsl.editor.editing.declarations import home
from fsmdsl.model.resolve.limits import INSTANCES
from fsmdsl.model.resolve.names.scope import MachineNames, ModuleNames, Program, Scope, SystemNames
from fsmdsl.model.resolve.names.states import machine_of
from fsmdsl.model.resolve.systems.inheritance import members_of, of_kind, own, take_lets
from fsmdsl.model.resolve.systems.instances import instance_names, name_elements
from fsmdsl.model.resolve.types.type_expressions import type_of
from fsmdsl.model.resolve.values.binders import bound
from fsmdsl.model.resolve.values.places import typed
from fsmdsl.model.typing import bare
from fsmdsl.syntax.build.builder import Builder
from fsmdsl.syntax.build.docs import Docs
from fsmdsl.syntax.build.expressions import EXPRESSIONS, binders, expression
from fsmdsl.syntax.build.types import type_of as type_expression
from fsmdsl.syntax.parse.context import Accepted, accepted
from fsmdsl.syntax.tree import Node, Token
from fsmdsl.text.source import Source


@dataclass(frozen=True, slots=True)
class CursorContext:
    """A place at which a word begins: what the grammar accepts there, the module, the scope of names, and a builder for
    the nodes that are open."""

    accepted: Accepted
    module: ModuleNames
    scope: Scope
    builder: Builder

    @property
    def machine(self) -> MachineNames | None:
        return self.scope.machine

    @property
    def system(self) -> SystemNames | None:
        return self.scope.system

    def type_of(self, node: Node | Token) -> m.Type | None:
        """The type of an expression that is open at the place."""
        expression = _expression(self.builder, node)
        return None if expression is None else typed(self.scope, expression).type

    def machine_of(self, node: Node | Token) -> MachineNames | None:
        """The machine of the instance that an expression stands for."""
        type_ = self.type_of(node)
        return None if type_ is None else machine_of(self.scope, bare(type_))


def around(analysis: Analysis, path: str, offset: int) -> CursorContext | None:
    """What surrounds a word that begins at a place; None where there is nothing to complete."""
    document, module = analysis.documents.get(path), home(analysis, path)
    if document is None or module is None:
        return None
    part = document.part_at(offset)
    start = part.start
    if start and not any(t.start + start < offset for t in part.tokens[:-1]):
        start = document.part_at(start - 1).start
    source = Source(path, document.source.text[start:offset])
    prefix = accepted(source)
    if prefix is None:
        return None
    apart = replace(
        module, program=Program(False, module.program.expression, module.program.machines, module.program.lets)
    )
    builder = Builder(source, Docs(source, (), ()))
    return CursorContext(prefix, apart, _scope(apart, builder, prefix.open), builder)


def _expression(builder: Builder, node: Node | Token) -> s.Expr | None:
    if isinstance(node, Token):
        return s.Name(node.text, builder.span(node)) if node.kind == "NAME" else None
    return expression(builder, node) if node.rule in EXPRESSIONS else None


# Scope ---------------------------------------------------------------------------------------------------------------


def _scope(module: ModuleNames, builder: Builder, parts: Sequence[Node | Token]) -> Scope:
    scope = Scope(module, temporal=True)
    for before, part in zip((None, *parts), parts, strict=False):
        if isinstance(before, Token) and before.kind in ("machine", "system", "scenario") and isinstance(part, Node):
            scope = _owner(module, before.kind, part.text())
        elif isinstance(part, Node):
            scope = _bound(scope, builder, part)
    return scope


def _owner(module: ModuleNames, kind: str, name: str) -> Scope:
    """The scope of a machine, system or scenario."""
    if kind == "machine":
        return Scope(module, module.machines.get(name))
    return Scope(module, system=instances_of(module, name), temporal=True)


def instances_of(module: ModuleNames, name: str) -> SystemNames:
    """The names of a system, or of a scenario."""
    decls = [x for x in module.syntax.members if isinstance(x, s.SystemDecl | s.ScenarioDecl) and x.name.text == name]
    qualified = f"{module.name}.{name}"
    for decl in decls:
        if isinstance(decl, s.SystemDecl):
            members = members_of(module, decl)
            names = instance_names(module, qualified, of_kind(members, s.InstanceDecl))
            take_lets(names, members)
            return names
        if decl.system is not None and len(decl.system.names) == 1:
            return instances_of(module, str(decl.system))
        return instance_names(module, qualified, own(module, qualified, decl.instances))
    names = SystemNames(qualified, module)
    name_elements(names)
    return names


def _bound(scope: Scope, builder: Builder, part: Node) -> Scope:
    """The scope with what a part that is not complete binds in what follows."""
    match part.rule:
        case "on":
            return _arguments(scope, part)
        case "binder":
            (complete,) = binders(builder, [part])
            return bound(scope, complete).scope
        case "some":
            for binder in part.every("binder"):
                scope = _bound(scope, builder, binder)
        case "mapped" if (element_ := part.one("element")) is not None:
            for name in element_.every("name"):
                scope = scope.bind(builder.name(name), m.RangeType(0, INSTANCES))
        case "parameters":
            for parameter in part.every("parameter"):
                name = parameter.nodes()[0]
                type_ = type_of(scope.module, type_expression(builder, parameter))
                scope = scope.bind(builder.name(name), type_)
    return scope


def _arguments(scope: Scope, on: Node) -> Scope:
    path, names = on.one("event_path"), on.one("arguments")
    event = None if path is None or scope.machine is None else scope.machine.events.get(path.nodes()[-1].text())
    if event is None or names is None:
        return scope
    source = scope.module.syntax.span
    for node, parameter in zip(names.every("name"), event.parameters, strict=False):
        scope = scope.bind(s.Name(node.text(), source), parameter.type)
    return scope


def states(machine: MachineNames) -> Iterator[tuple[str, s.StateDecl]]:
    """The states of a machine, in the order of the text."""
    yield from machine.states.items()
