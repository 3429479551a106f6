"""`--set groups=5`: sizes and parameters of systems, changed before names are bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.text.source import Source, Span


@dataclass(frozen=True, slots=True)
class Settled:
    """The modules with the settings in every system. `unanswered` says of each setting that nothing answers to, why."""

    modules: tuple[s.Module, ...]
    unanswered: Mapping[str, str]


def with_settings(modules: Sequence[s.Module], settings: Mapping[str, s.Expr]) -> Settled:
    """Put the settings into every system.

    A setting is the size of the set of instances of that name; in a system that has no such set, the value of the
    parameter of that name in every instance that has one. With settings there are no scenarios: they are about the
    sizes in the text.
    """
    if not settings:
        return Settled(tuple(modules), {})
    machines = {x.name.text: x for module in modules for x in module.members if isinstance(x, s.MachineDecl)}
    params = {name: {x.name.text for x in _params(decl)} for name, decl in machines.items()}
    systems = [x for module in modules for x in module.members if isinstance(x, s.SystemDecl)]
    used: set[str] = set()

    def system(x: s.SystemDecl) -> s.SystemDecl:
        having = [x, *_bases(x, systems)]
        sizes = {i.name.text for y in having for i in _instances(y) if i.count is not None and i.name.text in settings}
        values = settings.keys() - sizes
        return replace(x, members=tuple(instance(i, values) if isinstance(i, s.InstanceDecl) else i for i in x.members))

    def instance(x: s.InstanceDecl, values: AbstractSet[str]) -> s.InstanceDecl:
        count = settings.get(x.name.text)
        if isinstance(count, s.Number) and x.count is not None:
            used.add(x.name.text)
            x = replace(x, count=count.value)
        names = params.get(x.machine.names[-1].text, set()) & values
        used.update(names)
        own = tuple(i for i in x.initials if i.name.text not in names)
        added = tuple(s.Initial(s.Name(n, x.span), settings[n], x.span) for n in sorted(names))
        return replace(x, initials=(*own, *added))

    changed = tuple(
        replace(
            module,
            members=tuple(
                system(x) if isinstance(x, s.SystemDecl) else x
                for x in module.members
                if not isinstance(x, s.ScenarioDecl)
            ),
        )
        for module in modules
    )
    return Settled(changed, {name: _why_not(name, systems) for name in settings if name not in used})


def _why_not(name: str, systems: Sequence[s.SystemDecl]) -> str:
    """Why nothing answers to a setting."""
    called = [(x, i) for x in systems for i in _instances(x) if i.name.text == name]
    for x, i in called:
        if i.count is not None:
            return f"`{name}` is a set of instances in `{x.name.text}`: its size is a number"
    for x, i in called:
        return f"`{name}` is a single instance in `{x.name.text}`: only a set, as `{name}: {i.machine}[2]`, has a size"
    return f"no system has a set of instances or a parameter `{name}`"


def _bases(decl: s.SystemDecl, systems: Sequence[s.SystemDecl]) -> list[s.SystemDecl]:
    """The systems whose instances a system has, too."""
    bases: list[s.SystemDecl] = []
    at: s.SystemDecl | None = decl
    while at is not None and at.extends is not None and at not in bases:
        name = at.extends.names[-1].text
        at = next((x for x in systems if x.name.text == name), None)
        bases += [] if at is None else [at]
    return bases


def _instances(decl: s.SystemDecl) -> list[s.InstanceDecl]:
    return [x for x in decl.members if isinstance(x, s.InstanceDecl)]


def _params(decl: s.MachineDecl) -> list[s.ParamDecl]:
    members = [*decl.members, *(i for x in decl.members if isinstance(x, s.AmendDecl) for i in x.members)]
    return [x for x in members if isinstance(x, s.ParamDecl)]


def given_settings(texts: Iterable[str]) -> dict[str, s.Expr]:
    """Settings by name, each once. Raises ValueError where one is none, or is given twice."""
    settings: dict[str, s.Expr] = {}
    for text in texts:
        name, value = setting(text)
        if name in settings:
            raise ValueError(f"`{name}` is given twice, as `{settings[name].span.quote}` and as `{text.strip()}`")
        settings[name] = value
    return settings


def setting(text: str) -> tuple[str, s.Expr]:
    """`name=value`; the value is a number, `true`, `false`, or a member of an enum.

    Raises ValueError when it is neither.
    """
    text = text.strip()
    span = Span(Source("--set", text), 0, len(text))
    name, sign, value = (part.strip() for part in text.partition("="))
    if not sign or not name.isidentifier():
        raise ValueError(f"`{text}` is not of the form name=value")
    if value.removeprefix("-").isdecimal():
        return name, s.Number(int(value), span)
    if value in ("true", "false"):
        return name, s.Word("true" if value == "true" else "false", span)
    if value.isidentifier():
        return name, s.Name(value, span)
    raise ValueError(f"`{value}` is neither a number nor a name")
