"""`--set groups=5`: sizes and parameters of systems, changed before names are bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fsmdsl import syntax as s


def with_settings(
    modules: Sequence[s.Module], settings: Mapping[str, s.Expr]
) -> tuple[tuple[s.Module, ...], frozenset[str]]:
    """The modules with the settings in every system, and the settings that something answered to.

    A setting is the number of a set of instances, or the value of a parameter in every instance that has it. With
    settings there are no scenarios: they are about the sizes in the text.
    """
    machines = {x.name.text: x for module in modules for x in module.members if isinstance(x, s.MachineDecl)}
    params = {name: {x.name.text for x in _params(decl)} for name, decl in machines.items()}
    used: set[str] = set()

    def instance(x: s.InstanceDecl) -> s.InstanceDecl:
        count = settings.get(x.name.text)
        if isinstance(count, s.Number) and x.count is not None:
            used.add(x.name.text)
            x = replace(x, count=count.value)
        known = params.get(x.machine.names[-1].text, set()) & settings.keys()
        used.update(known)
        kept = tuple(i for i in x.initials if i.name.text not in known)
        added = tuple(s.Initial(s.Name(n, x.span), settings[n], x.span) for n in sorted(known))
        return replace(x, initials=(*kept, *added))

    def member(x: s.ModuleMember) -> s.ModuleMember:
        if not isinstance(x, s.SystemDecl):
            return x
        return replace(x, members=tuple(instance(i) if isinstance(i, s.InstanceDecl) else i for i in x.members))

    if not settings:
        return tuple(modules), frozenset()
    changed = tuple(
        replace(module, members=tuple(member(x) for x in module.members if not isinstance(x, s.ScenarioDecl)))
        for module in modules
    )
    return changed, frozenset(used)


def _params(decl: s.MachineDecl) -> list[s.ParamDecl]:
    listed = [*decl.members, *(i for x in decl.members if isinstance(x, s.AmendDecl) for i in x.members)]
    return [x for x in listed if isinstance(x, s.ParamDecl)]


def setting(text: str) -> tuple[str, s.Expr]:
    """`name=value`; the value is a number, `true`, `false`, or a member of an enum.

    Raises ValueError when it is neither.
    """
    name, sign, value = (part.strip() for part in text.partition("="))
    if not sign or not name.isidentifier():
        raise ValueError(f"`{text}` is not of the form name=value")
    if value.removeprefix("-").isdecimal():
        return name, s.Number(int(value))
    if value in ("true", "false"):
        return name, s.Word("true" if value == "true" else "false")
    if value.isidentifier():
        return name, s.Name(value)
    raise ValueError(f"`{value}` is neither a number nor a name")
