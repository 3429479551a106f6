"""From a model to Python: classes of our own, and machines for the `transitions` library.

Both are pure: the same model gives the same text. Nothing of a spec becomes code but through `names`, `text` and the
model's typed expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fsmdsl import model as m
from fsmdsl.classes import tabular
from fsmdsl.classes.context import Context
from fsmdsl.classes.files import Written
from fsmdsl.classes.machinery import machinery
from fsmdsl.classes.naming import folder
from fsmdsl.classes.packages import package, package_init
from fsmdsl.classes.statements.text import MARK, mark, marked
from fsmdsl.core.unsupported import Lost

__all__ = ["MARK", "TARGETS", "folder", "left_out", "marked", "python", "transitions"]


def python(model: m.Model, module_name: str) -> dict[str, str]:
    """The package of a module: relative path -> text.

    `yunikorn.core` becomes `yunikorn/core/`. It needs the standard library and itself. Modules that import one another
    make one system, so their packages share the `machinery` of the folder that holds them all: that folder is what
    can be copied elsewhere.
    """
    return _files_of(Context(model), module_name)


def transitions(model: m.Model, module_name: str) -> dict[str, str]:
    """The same for the `transitions` library: a file for each machine that it can run."""
    return _files_of(Context(model, "transitions"), module_name)


TARGETS: Mapping[str, Callable[[m.Model, str], dict[str, str]]] = {"python": python, "transitions": transitions}
"""What `fsm generate --target` can write: a model and the name of one of its modules, to files by relative path."""


def left_out(target: str, model: m.Model, module_name: str) -> list[Lost]:
    """What the files of a module do not say, which the spec does. Our own classes say all of it."""
    if target != "transitions":
        return []
    context = Context(model, "transitions")
    return list(tabular.left_out(context, context.modules[module_name]))


def _files_of(context: Context, module_name: str) -> dict[str, str]:
    module = context.modules[module_name]
    place, home = context.packages[module_name].folder, context.home(module_name)
    files = _files(context, module)
    out = {"/".join((*place, f"{name}.py")): file.text for name, file in files.items()}
    family = [x for x in context.modules.values() if context.home(x.name) == home]
    written = [file for x in family for file in (files if x is module else _files(context, x)).values()]
    used = frozenset().union(*(file.helpers for file in written))
    for name, text in machinery(context, module_name, used).items():
        out["/".join((*home, "machinery", name))] = text
    for depth in range(1, len(place)):
        if place[:depth] not in [p.folder for p in context.packages.values()]:
            out.setdefault("/".join((*place[:depth], "__init__.py")), _INNER)
    return dict(sorted(out.items()))


def _files(context: Context, module: m.Module) -> dict[str, Written]:
    if context.dialect == "transitions":
        return tabular.tabular(context, module)
    files = package(context, module)
    return {**files, "__init__": package_init(context, module, files)}


_INNER = f'{mark(None)}\n"""Generated code: the packages of modules that belong together."""\n'
