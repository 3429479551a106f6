"""Functions about a system as a whole: the end of a round, a crash, recovery."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import awaitable, kinds, leaf_number
from fsmdsl.explore.packed.lower.context import Context, Scope
from fsmdsl.explore.packed.lower.effects import perform
from fsmdsl.explore.packed.lower.handlers import choose, eventless, machine_scope, numbers
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
    n, at = layout.words, layout.history
    same = " and ".join(f"t[{at} + k * {n} + {i}] == t[{at} + count * {n} + {i}]" for i in range(n))
    return [
        "def returned(t, count):",
        '    """Has the round been in this world before?"""',
        f"    pack(t, t, {at} + count * {n})",
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
    choosing = [x for x in kinds(universe) if _concerned(x)]
    for n, machine in enumerate(choosing):
        functions += [*_crash_choice(context, machine, f"crash_choice_{n}"), ""]
        with w.block(f"for at in {numbers(context, machine)}:"):
            w.line(f"f = crash_choice_{n}(t, at)")
            with w.block("if f < 0:"):
                w.line("return -f")
            w.line(f"t[{layout.choice} + at] = f")
    _forget(context, w)
    for n, machine in enumerate(choosing):
        if any(isinstance(t.trigger, m.OnCrash) for t in machine.transitions):
            functions += [*_crash_effects(context, machine, f"crash_effects_{n}"), ""]
            with w.block(f"for at in {numbers(context, machine)}:"):
                w.line(f"f = crash_effects_{n}(t, at, t[{layout.choice} + at])")
                with w.block("if f != 0:"):
                    w.line("return f")
    if layout.down is not None:
        w.line(f"t[{layout.down}] = 1")
    w.line("return 0")
    return [*functions, "def crash(t):", '    """All at once."""', *w.lines]


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


def _crash_effects(context: Context, machine: m.Machine, name: str) -> list[str]:
    w = Writer()
    scope = machine_scope(context, machine, w)
    state = scope.at(context.column(machine.qualified, ""), "at")
    for t in machine.transitions:
        if isinstance(t.trigger, m.OnCrash):
            followed = context.followed.setdefault((machine.qualified, t.index), 0) or context.layout.reserve(1)
            context.followed[machine.qualified, t.index] = followed
            with w.block(f"if chosen == {t.index + 1}:"):
                w.line(f"t[{followed}] = 1")
                perform(scope, t.effects)
                if t.target is not None:
                    w.line(f"{state} = {leaf_number(machine, machine.entered(t.target))}")
    w.line("return 0")
    return [f"def {name}(t, at, chosen):", f'    """{machine.name}: its crash transition"""', *w.lines]


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
