"""Which systems of the specs a command is about, and what it says where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.cli.common import absent, ordered_model, paint
from fsmdsl.cli.common import chosen as specs
from fsmdsl.cli.messages import misuse
from fsmdsl.model.workspace import NO_SYSTEM, Loaded
from fsmdsl.syntax.settings import given_settings
from fsmdsl.text.diagnostics import Diagnostic, did_you_mean
from fsmdsl.text.source import Source, Span
from fsmdsl.text.terminal import printable


def settings_of(assignments: tuple[str, ...]) -> dict[str, s.Expr]:
    """The values of `--set`."""
    try:
        return given_settings(assignments)
    except ValueError as error:
        misuse(f"--set: {error}")


def systems_left_out(model: m.Model) -> list[tuple[str, m.LeftOut]]:
    """By qualified name, the systems that are not there as documented."""
    return [(f"{x.name}.{y.name}", y) for x in model.modules for y in x.systems_left_out]


def alternative_lines(model: m.Model, systems: Sequence[m.System]) -> Iterator[str]:
    """The repairs of the machines of systems that do not apply, as another one does."""
    machines = {i.machine for x in systems for i in x.instances}
    for module in model.modules:
        for x in (x for x in module.alternatives if f"{module.name}.{x.machine}" in machines):
            why = f"`{x.instead}` also replaces `{x.row}` of {x.machine}, and comes first"
            yield f"{paint('not taken', 'quiet')} {module.name}.{x.title}: {why}; `--without {x.without}` takes it"


def no_system(model: m.Model, paths: Sequence[str]) -> Diagnostic:
    """That there is nothing to verify, and how to change that."""
    message = "no system to explore, so nothing was verified"
    d = NO_SYSTEM.at(Span(Source(" ".join(map(printable, specs(paths))), ""), 0, 0), message)
    if model.systems:
        imported = " or ".join(f"`--system {x}`" for x in model.systems)
        return d.help(f"{imported} explores one of an imported module")
    if systems_left_out(model):
        return d.help("the systems need amendments: verify without `--as-documented` and `--without`")
    machine = next((x.name for x in model.machines.values()), None)
    if machine is None:
        return d.help("write a machine, and a `system` with instances of it; `fsm init` starts with an example")
    return d.help(f"add a system, which says what instances there are, such as `system Main {{ first: {machine} }}`")


def chosen_systems(loaded: Loaded, names: tuple[str, ...]) -> tuple[m.Model, list[m.System]]:
    """The model, and the systems to look at."""
    return ordered_model(loaded), _chosen(loaded, names)


def _chosen(loaded: Loaded, names: tuple[str, ...]) -> list[m.System]:
    """The systems named, of imported modules too; else those of the files that were given."""
    model = ordered_model(loaded)
    if not names:
        return [x for x in model.systems.values() if x.module in loaded.root_modules]
    by_name = {name: x for x in model.systems.values() for name in (x.name, x.qualified)}
    left_out = {name: x for qualified, x in systems_left_out(model) for name in (x.name, qualified)}
    for name in names:
        if name in left_out and name not in by_name:
            misuse(f"as documented there is no system `{name}`: {left_out[name].why}")
        if name not in by_name:
            advice = (
                did_you_mean(name, by_name) or f"there are {', '.join(f'`{x.name}`' for x in model.systems.values())}"
            )
            misuse(f"{absent('system', name)}; {advice}")
    return list(dict.fromkeys(by_name[name] for name in names))
