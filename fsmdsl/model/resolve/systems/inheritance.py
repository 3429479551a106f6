"""`extends`: the members of a system are those of the system that it extends, and its own.

They are resolved again for every system that has them, with the names of that system: sets of other sizes, and what has
taken the place of something. So a system that extends another is a system like any, and no reader of the model knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import Member, Members, ModuleNames, Program, SystemNames, machine_at, unknown
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Span

T = TypeVar("T")


def of_kind(members: Members, kind: type[T]) -> list[Member[T]]:
    """The members that are declarations of a kind."""
    return [Member(x.decl, x.home, x.owner) for x in members if isinstance(x.decl, kind)]


def own(module: ModuleNames, qualified: str, decls: Iterable[T]) -> list[Member[T]]:
    """Members that nothing is inherited with."""
    return [Member(x, module, qualified) for x in decls]


def base_of(module: ModuleNames, decl: s.SystemDecl) -> tuple[ModuleNames, s.SystemDecl] | None:
    """The system that another extends."""
    located = None if decl.extends is None else module.at(decl.extends)
    base = None if located is None else located[0].systems.get(located[1])
    return None if located is None or base is None else (located[0], base)


def resolved(module: ModuleNames, path: s.Path | None, systems: Mapping[str, m.System]) -> m.System | None:
    """The system that a path names. `systems` are those resolved already, by qualified name."""
    located = None if path is None else module.at(path)
    return None if located is None else systems.get(f"{located[0].name}.{located[1]}")


def resolved_at(
    module: ModuleNames, path: s.Path, systems: Mapping[str, m.System]
) -> tuple[ModuleNames, m.System] | None:
    """The same, with the module that declares it; reports when there is none."""
    located, system = module.at(path), resolved(module, path, systems)
    if located is None or system is None:
        names = tuple(x.name for x in systems.values() if x.module == module.name)
        module.program.diagnostics.append(unknown("system", str(path), path.span, names))
        return None
    module.note(path, located[0], "system")
    return located[0], system


def chain(module: ModuleNames, decl: s.SystemDecl) -> list[tuple[ModuleNames, s.SystemDecl]]:
    """A system, the one that it extends, and so on. Ends before one that was there already."""
    systems: list[tuple[ModuleNames, s.SystemDecl]] = []
    seen: set[int] = set()
    at: tuple[ModuleNames, s.SystemDecl] | None = (module, decl)
    while at is not None and id(at[1]) not in seen:
        seen.add(id(at[1]))
        systems.append(at)
        at = base_of(*at)
    return systems


def extended(module: ModuleNames, decl: s.SystemDecl) -> bool:
    """Is all there that a system extends? Reports where it is not."""
    if decl.extends is None:
        return True
    base = base_of(module, decl)
    if base is None:
        names = (*module.systems, *(n for n, home in module.borrowed.items() if n in home.systems))
        module.program.diagnostics.append(unknown("system", str(decl.extends), decl.extends.span, names))
        return False
    module.note(decl.extends, base[0], "system")
    last_home, last = chain(module, decl)[-1]
    again = base_of(last_home, last)
    if again is not None and again[1] is decl:
        diagnostic = rules.CIRCULAR.at(decl.extends.span, f"`{decl.name.text}` extends itself")
        module.program.diagnostics.append(
            diagnostic.help(
                "a system inherits everything from the one it extends; extend another system, or remove `extends`"
            )
        )
    return last.extends is None


def members_of(module: ModuleNames, decl: s.SystemDecl) -> Members:
    """What a system has: first what it extends has, in its order, and in the place of that what has the same name."""
    cache = module.program.members
    members: Members = ()
    for home, x in reversed(chain(module, decl)):
        if id(x) not in cache:
            cache[id(x)] = _joined(home, x, members)
        members = cache[id(x)]
    return members


def _joined(home: ModuleNames, decl: s.SystemDecl, inherited: Members) -> Members:
    mine = own(home, f"{home.name}.{decl.name.text}", decl.members)
    if decl.extends is None:
        return mine
    members = [x for x in inherited if not isinstance(x.decl, s.MapState | s.MapField)]
    places = {key: n for n, x in enumerate(members) if (key := _key(x.decl)) is not None}
    for x in mine:
        key = _key(x.decl)
        at = None if key is None else places.get(key)
        if at is None or key is None:
            members.append(x)
        elif _takes_the_place(home.program, x, members[at]):
            members[at] = Member(x.decl, x.home, members[at].owner)
            del places[key]
    return members


def _key(x: s.SystemMember) -> tuple[str, str] | None:
    """What two members have in common of which only one can be there."""
    match x:
        case s.InstanceDecl(name=name) | s.LetDecl(name=name):
            return "value", name.text
        case s.InvariantDecl(name=s.Name(text=text)):
            return "invariant", text
        case s.PropertyDecl(name=s.Name(text=text)):
            return "property", text
        case s.ReachableDecl(name=s.Name(text=text)):
            return "reachable", text
        case s.RecoverDecl():
            return "recover", ""
        case _:
            return None


def _takes_the_place(program: Program, x: Member[s.SystemMember], before: Member[s.SystemMember]) -> bool:
    """Can a member take the place of another? Reports when it cannot."""
    match x.decl, before.decl:
        case s.InstanceDecl() as new, s.InstanceDecl() as old:
            if x.home.at(new.machine) == before.home.at(old.machine):
                return True
            if _machine(x.home, new.machine) is None:
                machine_at(x.home, new.machine)
                return False
            diagnostic = rules.INSTANCE.at(
                new.machine.span,
                f"`{new.name.text}` has machine `{old.machine}`, which cannot be overridden with `{new.machine}`",
            )
            help = "an override can change only the number of instances, not their machine"
            program.diagnostics.append(diagnostic.label(old.span, "declared here").help(help))
            return False
        case s.InstanceDecl() | s.LetDecl() as new, s.InstanceDecl() | s.LetDecl() as old if type(new) is not type(old):
            diagnostic = rules.TWICE.at(new.name.span, f"`{new.name.text}` is already declared as something else")
            program.diagnostics.append(diagnostic.label(old.span, "in the system that is extended"))
            return False
        case _:
            return True


def _machine(home: ModuleNames, path: s.Path) -> object | None:
    located = home.at(path)
    return None if located is None else located[0].machines.get(located[1])


def take_lets(names: SystemNames, members: Members) -> None:
    """The `let`s of a system, and where its names are declared."""
    for x in members:
        if isinstance(x.decl, s.LetDecl):
            names.lets.setdefault(x.decl.name.text, x.decl)
            if x.home is not names.module:
                names.homes[x.decl.name.text] = x.home
        if isinstance(x.decl, s.LetDecl | s.InstanceDecl) and x.owner != names.qualified:
            names.owners[x.decl.name.text] = x.owner


# What is found, and noted, in the text of others ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mark:
    """How much had been found and noted before something was resolved."""

    diagnostics: int
    uses: int


def mark(program: Program) -> Mark:
    """What there is by now."""
    return Mark(len(program.diagnostics), len(program.uses))


def settle(program: Program, before: Mark, within: Span, at: Span, why: str) -> None:
    """What was found since in the text of others was found there, too, unless it is wrong for this use only: then say
    which that is. What names stand for is noted where they are declared."""
    program.uses[before.uses :] = [u for u in program.uses[before.uses :] if _inside(u.span, within)]
    earlier = {(d.rule.code, d.span) for d in program.diagnostics[: before.diagnostics]}
    new = program.diagnostics[before.diagnostics :]
    program.diagnostics[before.diagnostics :] = list(_settled(new, earlier, within, at, why))


def _settled(
    new: Sequence[Diagnostic], earlier: set[tuple[str, Span]], within: Span, at: Span, why: str
) -> Iterator[Diagnostic]:
    for d in new:
        if _inside(d.span, within):
            yield d
        elif (d.rule.code, d.span) not in earlier:
            yield d.label(at, why)


def _inside(span: Span, of: Span) -> bool:
    return of.contains(span)
