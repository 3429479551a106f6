"""Functions about a system as a whole: the end of a round, a crash, recovery."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import awaitable, kinds, leaf_number
from fsmdsl.explore.packed.lower.context import Context, Scope
from fsmdsl.explore.packed.lower.effects import perform
from fsmdsl.explore.packed.lower.expressions import is_one_of
from fsmdsl.explore.packed.lower.handlers import choose, eventless, machine_scope, mark, numbers, stretches
from fsmdsl.explore.packed.lower.orders import (
    apart_where_symmetric,
    doubt,
    in_doubt_of_fault,
    lost_apart,
    rivals,
)
from fsmdsl.explore.packed.lower.sites import IGNORED
from fsmdsl.explore.packed.lower.writer import Writer
from fsmdsl.step.cascade import LONGEST_ROUND
from fsmdsl.step.universe import CRASH, flag

# Answers awaited -----------------------------------------------------------------------------------------------------


def answers(context: Context) -> list[str]:
    """`awaits`, `expect`, `answered`: actions that are pending."""
    layout = context.layout
    first, last = layout.pending, layout.pending + layout.pending_places
    if not layout.awaited:
        return []
    owner = Writer()
    with owner.block(f"for n in range({first}, {last}):"):
        texts = [f"t[n] == {n + 1}" for n in range(len(layout.awaited))]
        for instance in dict.fromkeys(p.instance for p in layout.awaited):
            codes = [text for p, text in zip(layout.awaited, texts, strict=True) if p.instance == instance]
            with owner.block(f"if at == {instance} and ({' or '.join(codes)}):"):
                owner.line("return True")
    return [
        "def awaits(t, at):",
        '    """Does an instance wait for an answer?"""',
        *owner.lines,
        "    return False",
        "",
        "def expect(t, code):",
        '    """An answer is awaited from now on. False if there is no room to say so."""',
        f"    for n in range({first}, {last}):",
        "        if t[n] == 0:",
        "            t[n] = code",
        "            return True",
        "    return False",
        "",
        "def answered(t, code):",
        '    """The first such answer has come."""',
        "    found = False",
        f"    for n in range({first}, {last}):",
        "        if t[n] == code and not found:",
        "            found = True",
        "        if found:",
        f"            t[n] = t[n + 1] if n + 1 < {last} else 0",
        "    return 0",
    ]


# Rounds --------------------------------------------------------------------------------------------------------------


def rounds(context: Context) -> list[str]:
    """`settle`: what follows a step until nothing is left that needs no event."""
    w = Writer()
    layout = context.layout
    machines = [x for x in kinds(context.universe) if any(isinstance(t.trigger, m.Eventless) for t in x.transitions)]
    functions: list[str] = []
    if machines:
        for n, machine in enumerate(machines):
            functions += [*eventless(context, machine, f"without_event_{n}"), ""]
            if context.reduction.of_machine(machine.qualified):
                functions += [*eventless(context, machine, f"would_{n}", only_asked=True), ""]
                functions += rivals(context, machine, f"would_{n}")
        _until_quiet(context, machines, w)
    for machine in kinds(context.universe):
        if awaitable(machine):
            wait = Scope(context, w, "t", None, None, lambda _: None).at(
                context.column(machine.qualified, "wait"), "at"
            )
            with w.block(f"for at in {numbers(context, machine)}:"), w.block("if not awaits(t, at):"):
                w.line(f"{wait} = 0")
    w.line("return 0")
    del layout
    return [*functions, "def settle(t):", '    """The round, to its end."""', *w.lines]


def _until_quiet(context: Context, machines: list[m.Machine], w: Writer) -> None:
    """Among the instances touched, the first in order that has one enabled follows one, and so on."""
    layout = context.layout
    w.line("count = 0")
    with w.block("while True:"):
        w.line("quiet = True")
        for instance, machine in enumerate(context.universe.machines):
            if machine not in machines:
                continue
            condition = f"quiet and t[{layout.touched}] >> {instance} & 1"
            condition += f" and not awaits(t, {instance})" if awaitable(machine) else ""
            for x in context.reduction.of_machine(machine.qualified):
                if instance == x.first:
                    several = f"t[{layout.touched}] & {x.bits}"
                    with w.block(f"if quiet and {several} & ({several}) - 1 and rivals_{x.first}(t):"):
                        why = "which of them goes on first without an event may make a difference"
                        w.line(doubt(context, "t", [x.name], why))
            with w.block(f"if {condition}:"):
                w.line(f"f = without_event_{machines.index(machine)}(t, {instance})")
                with w.block(f"if f > {IGNORED}:"):
                    w.line("return f")
                w.line(f"quiet = f == {IGNORED}")
        with w.block("if quiet:"):
            w.line("break")
        w.line(f"if returned(t, count) or count >= {LONGEST_ROUND}:")
        w.line(f"    return {context.sites.one()}")
        w.line("count += 1")


def returned(context: Context) -> list[str]:
    """`returned`: has the round been in this very world before? Keeps the world."""
    layout = context.layout
    n, at = layout.kept, layout.history
    waited = [f"    t[{at} + count * {n} + {n - 1}] = t[{layout.waited}]"] if layout.waited is not None else []
    same = " and ".join(f"t[{at} + k * {n} + {i}] == t[{at} + count * {n} + {i}]" for i in range(n))
    return [
        "def returned(t, count):",
        '    """Has the round been in this world before?"""',
        f"    pack(t, t, {at} + count * {n})",
        *waited,
        "    for k in range(count):",
        f"        if {same}:",
        "            return True",
        "    return False",
    ]


# Crashes -------------------------------------------------------------------------------------------------------------


def crash(context: Context) -> list[str]:
    """`crash`: all choose, then what does not last is as in the beginning, then each takes its transition."""
    universe, layout = context.universe, context.layout
    functions: list[str] = []
    w = Writer()
    if context.cuts:
        w.line(f"t[{layout.cut}] = 0")
    if context.obligations:
        w.line(f"t[{layout.mark}] = 0")
    concerned = [x for x in kinds(universe) if _concerned(x)]
    for n, machine in enumerate(concerned):
        if not _foreseen(machine):
            functions += [*_crash_choice(context, machine, f"crash_choice_{n}"), ""]
    for machine, stretch in stretches(context, concerned):
        if not _foreseen(machine):
            with w.block(f"for at in {stretch}:"):
                w.line(f"f = crash_choice_{concerned.index(machine)}(t, at)")
                with w.block("if f < 0:"):
                    in_doubt_of_fault(context, [machine], w)
                    w.line("return -f")
                w.line(f"t[{layout.choice} + at] = f")
        elif fragile := _lost(context, machine):
            with w.block(f"for at in {stretch}:"):
                state = machine_scope(context, machine, w).at(context.column(machine.qualified, ""), "at")
                with w.block(f"if {is_one_of(state, fragile, len(machine.leaves))}:"):
                    lost_apart(context, machine, fragile, w)
                    w.line(f"return {context.sites.several(len(machine.leaves))} + {state}")
    _forget(context, w)
    moving = [x for x in concerned if any(isinstance(t.trigger, m.OnCrash) for t in x.transitions)]
    with apart_where_symmetric(context, moving, w) as functions_of_effects:
        for machine, stretch in stretches(context, moving):
            with w.block(f"for at in {stretch}:"):
                _crash_effects(context, machine, w)
    functions += functions_of_effects
    if layout.down is not None:
        w.line(f"t[{layout.down}] = 1")
    w.line("return 0")
    return [*functions, "def crash(t):", '    """All at once."""', *w.lines]


def _foreseen(machine: m.Machine) -> bool:
    """Does what an instance does in a crash depend on its own state alone?"""
    crashes = [t for t in machine.transitions if isinstance(t.trigger, m.OnCrash)]
    leaves = [leaf for t in crashes for leaf in machine.leaves_of(t.source)]
    return all(t.guard is None for t in crashes) and len(set(leaves)) == len(leaves)


def _lost(context: Context, machine: m.Machine) -> list[int]:
    """The leaves that do not last and have no crash transition."""
    instance = min(context.universe.instances_of(machine.qualified))
    fragile = [s.name for s in machine.leaves if flag(machine, s.name) in ("volatile", "transient")]
    return [leaf_number(machine, s) for s in fragile if not context.universe.candidates(instance, s, CRASH)]


def _concerned(machine: m.Machine) -> bool:
    fragile = any(flag(machine, s.name) in ("volatile", "transient") for s in machine.leaves)
    return fragile or any(isinstance(t.trigger, m.OnCrash) for t in machine.transitions)


def _crash_choice(context: Context, machine: m.Machine, name: str) -> list[str]:
    """The function that says which crash transition an instance takes: its index plus 1, or 0; a fault below 0."""
    w = Writer()
    scope = Scope(context, w, "t", "at", machine, lambda _: w.line(f"return -{context.sites.one()}"))
    w.line(f"state = {scope.at(context.column(machine.qualified, ''), 'at')}")
    universe = context.universe
    for s in machine.leaves:
        levels = universe.candidates(min(universe.instances_of(machine.qualified)), s.name, CRASH)
        lasting = flag(machine, s.name) not in ("volatile", "transient")
        if not levels and lasting:
            continue
        with w.block(f"if state == {leaf_number(machine, s.name)}:"):
            choose(scope, levels, s.name, {}, lambda _, t, leaf: w.line(f"return {t.index + 1}"))
            if not lasting:
                scope.fail("lost")
    w.line("return 0")
    return [f"def {name}(t, at):", f'    """{machine.name}: in a crash"""', *w.lines]


def _crash_effects(context: Context, machine: m.Machine, w: Writer) -> None:
    """What an instance does in a crash: by its state, or by what it has chosen."""
    scope = machine_scope(context, machine, w)
    state = scope.at(context.column(machine.qualified, ""), "at")
    foreseen = _foreseen(machine)
    w.line(f"chosen = {state if foreseen else f't[{context.layout.choice} + at]'}")
    for t in machine.transitions:
        if not isinstance(t.trigger, m.OnCrash):
            continue
        followed = context.followed.setdefault((machine.qualified, t.index), 0) or context.layout.reserve(1)
        context.followed[machine.qualified, t.index] = followed
        leaves = [leaf_number(machine, s) for s in machine.leaves_of(t.source)]
        chosen = is_one_of("chosen", leaves, len(machine.leaves)) if foreseen else f"chosen == {t.index + 1}"
        with w.block(f"if {chosen}:"):
            w.line(f"t[{followed}] = 1")
            mark(context, context.followed_bits(machine, t.index), w)
            perform(scope, t.effects)
            if t.target is not None:
                w.line(f"{state} = {leaf_number(machine, machine.entered(t.target))}")


def _forget(context: Context, w: Writer) -> None:
    """Pending actions and messages are gone; what is not durable is as it was in the beginning."""
    universe, layout = context.universe, context.layout
    first = layout.encode(universe.start)
    for n in range(layout.pending, layout.pending + layout.pending_places):
        w.line(f"t[{n}] = 0")
    for box in layout.boxes:
        for n in range(box.length, box.first + box.channel.bound):
            w.line(f"t[{n}] = 0")
    for machine in kinds(universe):
        of = sorted(universe.instances_of(machine.qualified))
        if awaitable(machine):
            column = context.column(machine.qualified, "wait")
            for n in of:
                w.line(f"t[{column + n}] = 0")
        for f in machine.fields:
            if not f.durable:
                column = context.column(machine.qualified, f.name)
                for n in of:
                    w.line(f"t[{column + n}] = {first[column + n]}")


def recovery(context: Context) -> list[str]:
    """`recover`: the system's block, as one step."""
    w = Writer()
    scope = Scope(context, w, "t", None, None, lambda _: w.line(f"return {context.sites.one()}"))
    w.line(f"t[{context.layout.down}] = 0")
    perform(scope, context.universe.system.recover or ())
    w.line("return 0")
    return ["def recover(t):", '    """What comes first after a crash."""', *w.lines]
