"""Derived values: resolved when first used, whatever the order of the text."""

from __future__ import annotations

from collections.abc import Mapping

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import ModuleNames, Scope, miscounted
from fsmdsl.model.resolve.types.type_expressions import variables
from fsmdsl.model.resolve.values.places import typed
from fsmdsl.text.source import Span


def derived(
    scope: Scope, owner: str, name: str, target: m.Expr | None, arguments: tuple[m.Expr, ...], span: Span
) -> m.Expr:
    """The use of a `let`."""
    let = let_of(scope, owner, name, span)
    if let is None:
        return m.Constant(None, m.ERROR, span)
    if len(let.parameters) != len(arguments):
        diagnostic = miscounted(name, len(let.parameters), len(arguments), span)
        scope.report(diagnostic.label(let.span, "declared here"))
        return m.Constant(None, m.ERROR, span)
    return m.Derived(name, owner, target, arguments, let.type, span)


def let_of(scope: Scope, owner: str, name: str, span: Span) -> m.Let | None:
    """The `let` of an owner (a machine, module or system, qualified); None when it is wrong or needs itself."""
    program = scope.module.program
    key = (owner, name)
    if key in program.lets:
        if program.lets[key] is None:
            scope.report(rules.CIRCULAR.at(span, f"`{name}` depends on itself"))
        return program.lets[key]
    home, decl, amended = _declaration(scope, owner, name)
    program.lets[key] = None
    noted = len(program.uses)
    let = resolve_let(home, owner, decl, amended)
    program.uses_in_lets[key] = program.uses[noted:]
    del program.uses[noted:]
    program.lets[key] = let
    return None if isinstance(let.type, m.ErrorType) else let


def all_of(scope: Scope, owner: str, decls: Mapping[str, s.LetDecl]) -> tuple[m.Let, ...]:
    """Every `let` of an owner that has a value."""
    program = scope.module.program
    lets = [let_of(scope, owner, name, decl.name.span) for name, decl in decls.items()]
    for name in decls:
        program.uses.extend(program.uses_in_lets.get((owner, name), ()))
    return tuple(x for x in lets if x is not None)


def resolve_let(home: Scope, owner: str, decl: s.LetDecl, amended: str | None) -> m.Let:
    """One declaration, in the scope of its owner."""
    parameters = variables(home.module, decl.parameters)
    for p, written in zip(parameters, decl.parameters, strict=True):
        home = home.bind(written.name, p.type)
    value = typed(home, decl.value)
    return m.Let(decl.name.text, owner, parameters, value, value.type, decl.doc, amended, decl.span)


def _declaration(scope: Scope, owner: str, name: str) -> tuple[Scope, s.LetDecl, str | None]:
    # A system, a machine and a module may be called the same, in error or not.
    if scope.system is not None and scope.system.qualified == owner and name in scope.system.lets:
        return (
            Scope(scope.system.homes.get(name, scope.system.module), system=scope.system),
            scope.system.lets[name],
            None,
        )
    machine = scope.module.program.machines.get(owner)
    if machine is not None and name in machine.lets:
        reason = next((why for member, why in machine.members if member is machine.lets[name]), None)
        return Scope(machine.module, machine), machine.lets[name], reason
    home = _module(scope.module, owner)
    return Scope(home), home.lets[name], None


def _module(module: ModuleNames, name: str) -> ModuleNames:
    if module.name == name:
        return module
    return next(x for x in (*module.imports.values(), *module.borrowed.values()) if x.name == name)
