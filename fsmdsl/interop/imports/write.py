"""Tables to the text of a spec, laid out by the formatter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.imports.guards import guarded
from fsmdsl.interop.imports.machine_text import WIDTH, MachineText, comment, place
from fsmdsl.interop.imports.name_words import words_of
from fsmdsl.interop.imports.names import Names, module_name, state_name
from fsmdsl.interop.imports.normalize import normal
from fsmdsl.interop.imports.regions import split
from fsmdsl.interop.imports.table import Imported, LeftOut, Table, Unread
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.source import Source
from fsmdsl.text.terminal import HIDDEN


def spec_text(imported: Imported, origin: str, module: str | None = None) -> tuple[str, tuple[LeftOut, ...]]:
    """The text of a spec with all tables, a system for each, and what is left out.

    `origin` is what was read, as comments name it. Raises ValueError where there is no table.
    """
    if not imported.tables:
        raise ValueError("there is no machine to write")
    left_out = list(imported.left_out)
    every = list(written_machines(imported))
    names = Names(x.name for x in every)
    machines: list[str] = []
    systems: list[str] = []
    for written in every:
        left_out += written.left_out
        machines.append(written.machine.text())
        systems.append(_system(names, written.name))
    remarks = tuple(dict.fromkeys(left_out))
    header = [f"module {module or module_name(origin)}", *_header(origin, remarks, imported.missing)]
    text = "\n\n".join(["\n".join(header), *machines, *systems]) + "\n"
    return _formatted(text), remarks


@dataclass(frozen=True, slots=True)
class Written:
    """A machine as a spec has it. `source` is the table as it was read, and `left_out` what the machine lacks of it."""

    machine: MachineText
    source: Table
    left_out: tuple[LeftOut, ...]

    @property
    def name(self) -> str:
        """What a spec calls it."""
        return self.machine.name


def written_machines(imported: Imported) -> Iterator[Written]:
    """The machines of all tables and of their regions, under the names that a spec gives them."""
    names = Names()
    for whole in imported.tables:
        parts, left_out = split(whole)
        for part in parts:
            plain, more = normal(part)
            rows, _ = guarded(plain.rows)
            machine = MachineText(plain, rows, names.give(state_name(part.name)))
            yield Written(machine, part, (*left_out, *more))


def _system(names: Names, machine: str) -> str:
    system = names.give(f"One{machine}", f"System{machine}")
    instance_name = "_".join(words_of(machine)) or machine.lower()
    instance = Names(("environment",)).give(instance_name, f"one_{instance_name}")
    return f"/// One instance; the environment sends every event.\nsystem {system} {{\n{instance}: {machine}\n}}"


def _header(origin: str, left_out: Sequence[LeftOut], unread: Sequence[Unread]) -> Iterator[str]:
    yield comment(f"Imported from {origin}.")
    for title, parts in (
        ("Not read, so that states and rows may be missing:", unread),
        ("Without effect in the source:", [x for x in left_out if x.rule is not None]),
        ("Not carried over:", [x for x in left_out if x.rule is None]),
    ):
        if not parts:
            continue
        yield "//"
        yield comment(title)
        for line in _lines(parts):
            first, *more = wrap(" ".join(line.split()), WIDTH)
            yield from (f"// - {first}", *(f"//   {x}" for x in more))


def _lines(left_out: Iterable[LeftOut | Unread]) -> Iterator[str]:
    for x in left_out:
        where = place(x.place)
        yield f"{where}: {x.text}" if where else x.text


def _formatted(text: str) -> str:
    """The text as the formatter lays it out. An error in it is a fault of the writer."""
    printable = re.sub(HIDDEN, lambda x: x[0] if x[0] == "\n" else "\N{REPLACEMENT CHARACTER}", text)
    parsed = parse(Source("imported.fsm", printable))
    errors = [d for d in parsed.diagnostics if d.severity is Severity.ERROR]
    if errors:
        raise AssertionError(f"the spec that was written cannot be read: {errors[0].span}: {errors[0].message}\n{text}")
    return format_source(parsed)
