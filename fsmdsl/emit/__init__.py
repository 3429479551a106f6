"""From a model to Python: classes of our own, and machines for the `transitions` library.

Both are pure: the same model gives the same text. Nothing of a spec becomes code but through `names`, `text` and the
model's typed expressions.
"""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.emit.context import Context
from fsmdsl.emit.naming import folder
from fsmdsl.emit.packages import face, machinery, needs_machinery, package
from fsmdsl.emit.text import MARK, mark

__all__ = ["MARK", "folder", "python"]


def python(model: m.Model, module_name: str) -> dict[str, str]:
    """The package of a module: relative path -> text.

    `yunikorn.core` becomes `yunikorn/core/`. It needs the standard library and itself. Modules that import one another
    make one system, so their packages share the `machinery.py` of the folder that holds them all: that folder is what can
    be copied elsewhere.
    """
    context = Context(model)
    module = context.modules[module_name]
    place = context.packages[module_name].folder
    home = context.home(module_name)
    files = package(context, module)
    out = {"/".join((*place, f"{name}.py")): text for name, text in files.items()}
    out["/".join((*place, "__init__.py"))] = face(context, module, files)
    if needs_machinery(module):
        family = [x for x in context.modules.values() if context.home(x.name) == home]
        around = [files if x is module else package(context, x) for x in family]
        texts = [text for other in around for text in other.values()]
        out["/".join((*home, "machinery.py"))] = machinery(context, module_name, texts)
    for depth in range(len(place)):
        if place[:depth] not in [p.folder for p in context.packages.values()]:
            out.setdefault("/".join((*place[:depth], "__init__.py")), _INNER if depth else _TOP)
    return dict(sorted(out.items()))


_TOP = f'{mark(None)}\n"""Generated code: one package for each module of the specs."""\n'
_INNER = f'{mark(None)}\n"""Generated code: the packages of modules that belong together."""\n'
