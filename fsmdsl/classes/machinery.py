"""The folder `machinery` of packages that belong together: modules of the runtime, and the class of systems."""

from __future__ import annotations

from collections.abc import Set
from itertools import chain

from fsmdsl.classes.context import Context
from fsmdsl.classes.imports import Origin, relative_imports
from fsmdsl.classes.machines.members import Member, class_, method
from fsmdsl.classes.names import numbered
from fsmdsl.classes.runtime import MODULES, needed, source
from fsmdsl.classes.statements.text import WIDTH, docstring, folded, literal, mark, tuple_of
from fsmdsl.classes.traits import Traits, snapshot_version


def machinery(context: Context, module: str, used: Set[str]) -> dict[str, str]:
    """The files of the folder, by their names. `used` are the names that the files of the packages take from it."""
    if not used:
        return {}
    traits = context.traits(module)
    has_system = context.dialect == "classes" and traits.systems
    modules = needed(used | {"TimedMachine"} if has_system and traits.timers else used)
    public: dict[Origin, tuple[str, ...]] = {(m,): MODULES[m].public for m in modules if MODULES[m].public}
    names = [*chain.from_iterable(public.values()), *(["System", "VERSION"] if has_system else [])]
    lines = [
        mark(None),
        *docstring("The classes that machines share: exceptions, base classes, the system."),
        "",
        "from __future__ import annotations",
        "",
        *([f"from . import {'timers' if traits.timers else 'system'}"] if has_system else []),
        *folded(relative_imports((), public, WIDTH)),
        *(["", *folded([f"__all__ = [{', '.join(map(literal, sorted(names, key=numbered)))}]"])] if names else []),
        *(_system(context, module, traits) if has_system else []),
        "",
    ]
    return {"__init__.py": "\n".join(lines), **{f"{m}.py": f"{mark(None)}\n{source(m)}" for m in modules}}


def _system(context: Context, module: str, t: Traits) -> list[str]:
    """The class of systems, and the version of their snapshots."""
    version = snapshot_version(x for name in context.sharing(module) for x in context.modules[name].machines)
    about = "Of snapshots of a system. It changes with the states and fields of machines, and with their types."
    entries = (("channels", t.channels), ("pending", t.outcomes), ("down", t.recovers))
    saved = tuple_of([literal(name) for name, is_saved in entries if is_saved])
    doc = """Machines that act together, one step at a time.

    A step is an event from outside with everything that it causes. It happens completely or, when an exception ends it,
    not at all. Afterwards, listeners are called, and then the actions that it called for, in order. One thread at a
    time may use a system."""
    base = "timers.TimedSystem" if t.timers else "system.System"
    head = ["__slots__ = ()", "", "_VERSION = VERSION", *([] if saved == "()" else [f"_SAVED = {saved}"])]
    body = class_(f"System({base})", doc, [head, _crash(t)])
    return ["", f"VERSION = {literal(version)}", *docstring(about), "", "", *body]


def _crash(t: Traits) -> Member:
    if not t.crashes:
        return []
    doc = """A restart: fields that are not durable get their first values, awaited answers, messages and timers are
    gone, and machines follow their crash transitions."""
    if not t.alone:
        return method("def crash(self) -> None:", doc, ["self._restart(())"])
    doc += "\n\nWith `machines`, they alone crash, together: other machines, and messages on their way, live on."
    return method("def crash(self, *machines: Machine) -> None:", doc, ["self._restart(machines)"])
