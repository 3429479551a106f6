"""A whole package: which files there are, and what they have in common."""

from __future__ import annotations

from collections.abc import Container, Mapping, Set

from fsmdsl import model as m
from fsmdsl.classes.context import Context
from fsmdsl.classes.declarations import PLAIN, Parts, actions, channels, declared, in_derived, states
from fsmdsl.classes.files import File, Written
from fsmdsl.classes.imports import relative_imports
from fsmdsl.classes.locks import locks_file
from fsmdsl.classes.machines.classes import machine_class
from fsmdsl.classes.machines.persistence import version
from fsmdsl.classes.machines.standalone import standalone_class
from fsmdsl.classes.names import numbered
from fsmdsl.classes.statements.expression_context import Place
from fsmdsl.classes.statements.text import WIDTH, docstring, folded, mark, sentence, tuple_of
from fsmdsl.classes.systems import systems, with_code
from fsmdsl.classes.templates import rendered
from fsmdsl.classes.traits import Traits, held_types
from fsmdsl.dataclasses import fields
from fsmdsl.model.depth import DEEPEST_CASCADE, LONGEST_ROUND
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
    place = Place(file, machine)
    body = standalone_class(place) if context.standalone(machine) else machine_class(place)
    return file.text(f"`{machine.name}` of {machine.module}.", body)


def needs_machinery(module: m.Module) -> bool:
    """Does anything in a module need the support file? Locks alone do not."""
    checked = any(is_limited(of) for x in module.records for _, of in x.type.parts)
    return bool(module.machines or module.channels or module.systems or checked)


# What all files use --------------------------------------------------------------------------------------------------


_HELPERS = frozenset([
    "present", "first", "item", "divisor", "without", "not_longer", "in_range", "in_range_or_none", "each_in_range",
    "in_order", "subsets", "misfit", "named", "Table", "alike", "key_of",
])  # fmt: skip


def machinery(context: Context, module: str, used: Set[str]) -> str:
    """The support file, with what the files of the packages around use of it."""
    traits = context.traits(module)
    return rendered(
        "machinery.py.jinja",
        t=traits,
        used=used,
        busy=traits.outcomes or traits.recovers,
        deepest=DEEPEST_CASCADE,
        longest=LONGEST_ROUND,
        **_checks(used),
        functions=bool(used & _HELPERS),
        slots=_slots(context, module),
        values=bool(used & {"present", "first", "item", "without", "not_longer", "subsets"}),
        collections=", ".join(_collections(used)),
        mark=mark(None),
        lost_in_crash=_lost(context, module),
        struck="struck" if traits.alone else "self._machines.values()",
        emptied="() if these else self._channels.values()" if traits.alone else "self._channels.values()",
        version=_version(context, module),
        restored=tuple_of(_restored(traits)),
    )


def support(used: Set[str]) -> str:
    """The support file of packages for `transitions`; empty where they need none."""
    if not used:
        return ""
    return rendered(
        "support.py.jinja",
        t=Traits(*[False] * len(fields(Traits))),
        used=used,
        **_checks(used),
        functions=bool(used & _HELPERS),
        mark=mark(None),
    )


def _checks(used: Set[str]) -> Mapping[str, bool]:
    """Which values are looked at: numbers in ranges, members of enums."""
    ranges = {"in_range", "in_range_or_none", "each_in_range"}
    return {"ranges": bool(used & ranges), "limits": bool(used & {*ranges, "misfit"})}


def _collections(used: Set[str]) -> list[str]:
    iterable = ["Iterable"] if used & {"in_order", "subsets", "misfit", "named", "alike"} else []
    return ["Callable", *iterable, "Mapping"]


def _version(context: Context, module: str) -> str:
    """Of snapshots of all machines that share a machinery."""
    machines = (x for name in context.sharing(module) for x in context.modules[name].machines)
    return version(machines)


def _slots(context: Context, module: str) -> list[str]:
    t = context.traits(module)
    slots = ["_before", "_followed", "_handling", "_listeners", "_machines", "_made"]
    slots += ["_touched"] if t.rounds else []
    slots += ["_calls", "_delivering", "_outbox"] if t.actions else []
    slots += ["_pending", "_pending_before", "_tickets"] if t.outcomes else []
    slots += ["_overdue", "_settings", "_timers", "clock"] if t.timers else []
    slots += ["_channels"] if t.channels else []
    slots += ["_recovering", "_recovery", "down"] if t.recovers else []
    return sorted(slots)


def _restored(t: Traits) -> list[str]:
    """What a snapshot of a system holds."""
    has = (("parts", True), ("pending", t.outcomes), ("down", t.recovers), ("timers", t.timers))
    return [name for name, there in has if there]


def _lost(context: Context, module: str) -> str:
    t = context.traits(module)
    parts = [x for x, has in (("awaited answers", t.outcomes), ("messages", t.channels), ("timers", t.timers)) if has]
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"{listed[0].upper()}{listed[1:]} are gone." if listed else ""


def face(context: Context, module: m.Module, files: Container[str]) -> Written:
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
    public["locks"] = [*names.locks.values(), "LockOrderBroken"]
    lines = {(*names.folder, file): listed for file, listed in public.items() if listed and file in files}
    if needs_machinery(module):
        lines[(*context.home(module.name), "machinery")] = _support(context, module)
    body = relative_imports(names.folder, lines, WIDTH)
    everything = sorted({x for listed in lines.values() for x in listed}, key=numbered)
    listed_ = ", ".join(f'"{x}"' for x in everything)
    head = [mark(module.name), *docstring(_about(module))]
    return Written("\n".join([*head, "", *folded(body), "", *folded([f"__all__ = [{listed_}]"]), ""]))


def _support(context: Context, module: m.Module) -> list[str]:
    t = context.traits(module.name)
    found = ["Followed", "ForeignSnapshot", "StepRefused", "UnhandledEvent"]
    found += ["System"] if t.systems else []
    found += ["Table"] if any(isinstance(t, m.MapType) for x in module.machines for t in held_types(x)) else []
    return found + (["VirtualClock"] if t.timers else [])


def _about(module: m.Module) -> str:
    sources = [f"After “{d.title}”{f' ({d.location})' if d.location else ''}." for d in module.documents]
    own = sentence(module.doc) or f"The machines of {module.name}."
    return "\n\n".join([own, *sources])
