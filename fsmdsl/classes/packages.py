"""A whole package: which files there are, and what they have in common."""

from __future__ import annotations

from collections.abc import Container, Mapping

from fsmdsl import model as m
from fsmdsl.classes.context import Context
from fsmdsl.classes.declarations import PLAIN, Parts, actions, channels, declared, in_derived, states
from fsmdsl.classes.files import File, Written
from fsmdsl.classes.imports import relative_imports
from fsmdsl.classes.locks import locks_file
from fsmdsl.classes.machines.classes import machine_class
from fsmdsl.classes.machines.standalone import standalone_class
from fsmdsl.classes.names import numbered
from fsmdsl.classes.statements.scope import Scope
from fsmdsl.classes.statements.text import WIDTH, docstring, folded, mark, sentence
from fsmdsl.classes.systems import systems, with_code
from fsmdsl.classes.traits import value_types
from fsmdsl.model.typing import is_limited

_DECLARED: Mapping[str, tuple[str, Parts]] = {
    **PLAIN,
    "states": ("The states of the machines of {}.", states),
    "actions": ("What hand-written code does for the machines of {}.", actions),
    "channels": ("The channels of {}.", channels),
    "systems": ("Systems of {}: what must hold of machines together.", systems),
}
"""The files beside those of machines, see `declared`."""


def package(context: Context, module: m.Module) -> dict[str, Written]:
    """The files of a module's package, by their path inside it; without the machinery."""
    names = context.packages[module.name]
    files = {names.machines[x.qualified].file: machine_file(context, x) for x in module.machines}
    locks = {"locks": locks_file(context, module)} if module.locks else {}
    return {**files, **declared(context, module, _DECLARED), **locks}


def machine_file(context: Context, machine: m.Machine) -> Written:
    """The file of one machine."""
    names = context.machine(machine.qualified)
    file = File(context, machine.module, names.file)
    scope = Scope(file, machine)
    body = standalone_class(scope) if context.standalone(machine) else machine_class(scope)
    return file.text(f"`{machine.name}` of {machine.module}.", body)


def package_init(context: Context, module: m.Module, files: Container[str]) -> Written:
    """The package's `__init__`: what users import. Protocols stay apart, as `typing` is slow to import."""
    names = context.packages[module.name]
    public: dict[str, list[str]] = {}
    for x in module.machines:
        own = names.machines[x.qualified]
        public.setdefault(own.file, []).append(own.class_)
        public.setdefault("states", []).append(own.states_class)
    opaque = {x.type.name for x in module.opaques}
    public["values"] = [name for of, name in names.types.items() if of not in opaque]
    functions = {x.name for x in in_derived(context, module)}
    public["derived"] = [name for let, name in names.lets.items() if let in functions]
    public["channels"] = [*names.channels.values()]
    public["systems"] = [name for let, name in names.lets.items() if let not in functions]
    public["systems"] += [names.systems[s.qualified] for s in with_code(module)]
    public["locks"] = [*names.locks.values()]
    home = (*context.home(module.name), "machinery")
    lines = {(*names.folder, file): exports for file, exports in public.items() if exports and file in files}
    shared = _shared(context, module)
    lines |= {home: shared} if shared else {}
    lines |= {(*home, "locks"): ["LockOrderBroken"]} if module.locks else {}
    body = relative_imports(names.folder, lines, WIDTH)
    everything = sorted({x for exports in lines.values() for x in exports}, key=numbered)
    all_text = ", ".join(f'"{x}"' for x in everything)
    head = [mark(module.name), *docstring(_about(module))]
    text = "\n".join([*head, "", *folded(body), "", *folded([f"__all__ = [{all_text}]"]), ""])
    return Written(text, frozenset(shared))


def _shared(context: Context, module: m.Module) -> list[str]:
    """The names of the runtime that a package shows. One that has nothing but locks, or values without limits, needs
    none."""
    checked = any(is_limited(of) for x in module.records for _, of in x.type.parts)
    if not (module.machines or module.channels or module.systems or checked):
        return []
    t = context.traits(module.name)
    names = ["Followed", "ForeignSnapshot", "StepRefused", "UnhandledEvent"]
    names += ["System"] if t.systems else []
    names += ["Table"] if any(isinstance(t, m.MapType) for x in module.machines for t in value_types(x)) else []
    return names + (["VirtualClock"] if t.timers else [])


def _about(module: m.Module) -> str:
    sources = [f"After “{d.title}”{f' ({d.location})' if d.location else ''}." for d in module.documents]
    own = sentence(module.doc) or f"The machines of {module.name}."
    return "\n\n".join([own, *sources])
