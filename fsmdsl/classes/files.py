"""One file of generated code: what it imports, and how it begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fsmdsl import model as m
from fsmdsl.classes.context import Context
from fsmdsl.classes.imports import Origin, import_order, relative_imports
from fsmdsl.classes.names import Namespace, module_of, prefixed
from fsmdsl.classes.runtime import MODULE_OF, MODULES
from fsmdsl.classes.statements.text import WIDTH, docstring, folded, indented, mark
from fsmdsl.core.lets import surveys
from fsmdsl.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Written:
    """A finished file, and the names of the runtime that it uses."""

    text: str
    helpers: frozenset[str] = frozenset()


class File:
    """Collects the imports of a file while its text is written."""

    def __init__(self, context: Context, module: str, name: str) -> None:
        self.context = context
        self.module = module
        self.package = context.packages[module].folder
        self.name = name
        self._local: dict[tuple[Origin, str], str] = {}
        self._used: dict[str, tuple[Origin, str]] = {}
        self._running: set[tuple[Origin, str]] = set()
        self._library: set[tuple[str, str]] = set()
        self._running_library: set[tuple[str, str]] = set()
        self._packages: set[str] = set()
        self._helpers: set[str] = set()
        self._constants: dict[str, str] = {}

    # What a file refers to. Each gives the name by which it does.

    def machinery(self, name: str, typing: bool = False) -> str:
        """Something of the runtime. What users may import as well comes from the folder, the rest from its module."""
        self._helpers.add(name)
        module = MODULE_OF.get(name)
        inside = () if module is None or name in MODULES[module].public else (module,)
        return self._take((*self.context.home(self.module), "machinery", *inside), name, typing)

    def states_class(self, machine: str, typing: bool = False) -> str:
        """The enum of a machine's states."""
        return self._of(machine, "states", self.context.machine(machine).states_class, typing)

    def class_(self, machine: str) -> str:
        """A machine's class; only for types, as files refer to one another in circles."""
        names = self.context.machine(machine)
        if not self.context.written(machine):
            return self.library("typing", "Any")
        return self._of(machine, names.file, names.class_, True)

    def running_class(self, machine: str) -> str:
        """A machine's class, for code that runs."""
        names = self.context.machine(machine)
        return self._inside(machine, names.file, names.class_)

    def actions_class(self, machine: str) -> str:
        """The protocol of a machine's actions, for types."""
        return self._of(machine, "actions", self.context.machine(machine).actions_class, True)

    def type_(self, t: m.EnumType | m.RecordType | m.OpaqueType, typing: bool = False) -> str:
        """The class of an enum, of a machine's states, or of a record; the name of an opaque type."""
        if isinstance(t, m.EnumType) and t.machine:
            return self.states_class(t.machine, typing)
        return self._of(t.name, "values", self.context.packages[module_of(t.name)].types[t.name], typing)

    def part(self, t: m.RecordType, name: str) -> str:
        """The attribute of a part of a record."""
        return self.context.packages[module_of(t.name)].parts[t.name, name]

    def channel(self, channel: str) -> str:
        """The class of a channel."""
        module = module_of(channel)
        return self._of(channel, "channels", self.context.packages[module].channels[channel], False)

    def let(self, module: str, let: m.Let) -> str:
        """The function of a derived value of a module. One that looks at all machines of a kind stands with systems."""
        name = self.context.packages[module].lets[let.name]
        if surveys(self.context.model, let.value):
            return self._inside(f"{module}.", "systems", name)
        return self._of(f"{module}.", "derived", name, False)

    def library(self, module: str, name: str, typing: bool = True) -> str:
        """Something of the standard library."""
        (self._library if typing else self._running_library).add((module, name))
        return name

    def package_import(self, package: str) -> None:
        """A package of others, imported as a whole."""
        self._packages.add(package)

    def _of(self, qualified: str, file: str, name: str, typing: bool) -> str:
        return self._take((*self.context.packages[module_of(qualified)].folder, file), name, typing)

    def _inside(self, qualified: str, file: str, name: str) -> str:
        """A name in a file that may be in a circle with this one: the file is imported, and the name looked up when the
        code runs."""
        folder = self.context.packages[module_of(qualified)].folder
        if (*folder, file) == (*self.package, self.name):
            return name
        key = (folder, file)
        if key not in self._local:
            self._local[key] = self.define(Namespace(self._used).claim(f"_{file}_file"))
            self._running.add(key)
        return f"{self._local[key]}.{name}"

    def _take(self, origin: Origin, name: str, typing: bool) -> str:
        if origin == (*self.package, self.name):
            return name
        key = (origin, name)
        if not typing:
            self._running.add(key)
        if key not in self._local:
            local = name
            if name in self._used:
                local = self._alias(origin, name)
            self._used[local] = key
            self._local[key] = local
        return self._local[key]

    def _alias(self, origin: Origin, name: str) -> str:
        return Namespace(self._used).claim(prefixed(origin[-2] if len(origin) > 1 else origin[-1], name))

    def define(self, name: str) -> str:
        """A name of the file's own, which no import may take."""
        self._used[name] = ((*self.package, self.name), name)
        return name

    def constant(self, name: str, value: str) -> str:
        """The constant of the file that has a value. Classes of the file may be used: it is defined behind them."""
        if value not in self._constants:
            self._constants[value] = self.define(Namespace(self._used).claim(name))
        return self._constants[value]

    # The whole

    def text(self, doc: str, body: Sequence[str]) -> Written:
        """The whole file."""
        if self._constants:
            final = self.library("typing", "Final")
            constants = [f"{name}: {final} = {value}" for value, name in self._constants.items()]
            body = [*body, "", "", "# The types of values from outside.", *folded(constants)]
        lines = [mark(self.module), *docstring(doc), "", "from __future__ import annotations", ""]
        lines += self._imports(self._running_library, self._running, 0, sorted(self._packages))
        typed = set(self._local) - self._running
        if self._library or typed:
            block = indented(self._imports(self._library, typed, 1))
            lines += ["TYPE_CHECKING = False", "if TYPE_CHECKING:", *block]
        while lines[-1] == "":
            lines.pop()
        return Written("\n".join([*lines, *(["", "", *body] if body else []), ""]), frozenset(self._helpers))

    def _imports(
        self,
        library: Iterable[tuple[str, str]],
        relative: Iterable[tuple[Origin, str]],
        indent: int,
        packages: Sequence[str] = (),
    ) -> list[str]:
        lines = [f"from {module} import {', '.join(names)}" for module, names in sorted(_grouped(library).items())]
        lines += [""] if lines else []
        lines += [*(f"import {x}" for x in packages), ""] if packages else []
        plain: dict[Origin, list[str]] = {}
        renamed: dict[Origin, dict[str, str]] = {}
        for origin, name in relative:
            local = self._local[(origin, name)]
            if local == name:
                plain.setdefault(origin, []).append(name)
            else:
                renamed.setdefault(origin, {})[name] = local
        inner = relative_imports(self.package, plain, WIDTH - 4 * indent, renamed)
        lines += folded(inner, indent)
        return [*lines, ""] if inner else lines


def _grouped(library: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    by_module: dict[str, list[str]] = {}
    for module, name in sorted(library):
        by_module.setdefault(module, []).append(name)
    return {module: sorted(names, key=import_order) for module, names in by_module.items()}
