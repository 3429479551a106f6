"""What machines do with events, answers and time: one function for each, as in `step.cascade.handle` and `choose`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import awaitable, leaf_number, span
from fsmdsl.explore.packed.lower.context import Context, Scope
from fsmdsl.explore.packed.lower.effects import perform, wrote
from fsmdsl.explore.packed.lower.expressions import is_one_of, value
from fsmdsl.explore.packed.lower.sites import BUSY, IGNORED, REENTRANCE, UNHANDLED
from fsmdsl.explore.packed.lower.widen import widened
from fsmdsl.explore.packed.lower.writer import Writer
from fsmdsl.step.universe import EVENTLESS, Levels

Follow = Callable[[Scope, m.Transition, str], None]
"""Writes what following a transition from a leaf does."""


def machine_scope(context: Context, machine: m.Machine, writer: Writer) -> Scope:
    """Inside a function about the instance `at` of a machine: a fault is its result."""
    return Scope(context, writer, "t", "at", machine, lambda _: writer.line(f"return {context.sites.one()}"))


def handler(context: Context, machine: m.Machine, trigger: str, name: str) -> list[str]:
    """The function for an event (`take`) or an answer (`deploy.ok`)."""
    w = Writer()
    scope = machine_scope(context, machine, w)
    event = machine.event_named.get(trigger)
    parameters = () if event is None else event.parameters
    arguments = [f"a{n}" for n in range(len(parameters))]
    if event is not None:
        _check_free(context, machine, w)
    w.line(f"state = {scope.at(context.column(machine.qualified, ''), 'at')}")

    def follow(inner: Scope, t: m.Transition, leaf: str) -> None:
        follow_transition(inner, t, leaf)
        w.line("return 0")

    for leaves, levels in _by_leaf(context, machine, trigger):
        with w.block(f"if {_in(machine, leaves)}:"):
            choose(scope, levels, leaves[0], dict(zip(arguments, parameters, strict=True)), follow)
    ignored = [i.state for i in machine.ignores if i.event == trigger]
    if ignored:
        with w.block(f"if {_in(machine, ignored)}:"):
            mark(context, context.ignored_bits(machine, trigger), w)
            w.line(f"return {IGNORED}")
    if event is None:
        # The answer was asked for; nobody can be blamed but the machine itself.
        w.line(f"return {context.sites.several(len(machine.leaves))} + state")
    else:
        w.line(f"return -{UNHANDLED} - state")
    return [f"def {name}({', '.join(['t', 'at', *arguments])}):", f'    """{machine.name}: {trigger}"""', *w.lines]


def mark(context: Context, bits: dict[int, int], w: Writer) -> None:
    """Note in the step's mark what an instance fulfils."""
    for n, bit in bits.items():
        with w.block(f"if at == {n}:"):
            w.line(f"t[{context.layout.mark}] |= {bit}")


def _check_free(context: Context, machine: m.Machine, w: Writer) -> None:
    """In the middle of its own transition, or waiting for an answer, an instance takes no event."""
    with w.block(f"if t[{context.layout.busy}] >> at & 1:"):
        w.line(f"return -{REENTRANCE}")
    if awaitable(machine):
        with w.block("if awaits(t, at):"):
            w.line(f"return -{BUSY}")


def _in(machine: m.Machine, leaves: Sequence[str]) -> str:
    return is_one_of("state", [leaf_number(machine, s) for s in leaves], len(machine.leaves))


def _by_leaf(context: Context, machine: m.Machine, trigger: str) -> list[tuple[list[str], Levels]]:
    """The leaves in which a trigger has transitions, those together in which it does the same."""
    universe = context.universe
    instance = min(universe.instances_of(machine.qualified))
    grouped: dict[tuple[object, ...], tuple[list[str], Levels]] = {}
    for s in machine.leaves:
        levels = universe.candidates(instance, s.name, trigger)
        if levels:
            external = [t for level in levels for t in level if t.target is not None]
            moves = [universe.move(instance, s.name, t) for t in external]
            hooks = tuple((move.after, *(id(e) for e in (*move.exits, *move.entries))) for move in moves)
            key = (tuple(tuple(t.index for t in level) for level in levels), hooks)
            grouped.setdefault(key, ([], levels))[0].append(s.name)
    return list(grouped.values())


# Choosing ------------------------------------------------------------------------------------------------------------


def choose(scope: Scope, levels: Levels, leaf: str, arguments: dict[str, m.Variable], follow: Follow) -> None:
    """Follows the transition that has priority on the innermost level with an enabled one; two that have are a fault.
    Where none is enabled, what stands behind goes on."""
    for level in levels:
        guards = [_guard(scope, t, arguments) for t in level]
        if len(level) == 1:
            _alone(scope, level[0], guards[0], leaf, arguments, follow)
        else:
            _ranked(scope, level, guards, leaf, arguments, follow)
        if "True" in guards:
            return


def _bound(t: m.Transition, arguments: dict[str, m.Variable]) -> dict[str, tuple[str, m.Type]]:
    match t.trigger:
        case m.OnEvent(arguments=names) if names:
            pairs = zip(names, arguments.items(), strict=True)
            return {name: (text, p.type) for name, (text, p) in pairs}
        case _:
            return {}


def _guard(scope: Scope, t: m.Transition, arguments: dict[str, m.Variable]) -> str:
    """The guard's value in a name, and a note of what it was."""
    if t.guard is None:
        return "True"
    assert scope.machine is not None
    context, w = scope.context, scope.writer
    inner = scope.inner(scope.instance, scope.machine)
    inner.locals = _bound(t, arguments)
    types = {name: of for name, (_, of) in inner.locals.items()}
    held = w.named(value(inner, widened(context.universe, t.guard, types)))
    seen = context.guards.setdefault((scope.machine.qualified, t.index), 0) or context.layout.reserve(2)
    context.guards[scope.machine.qualified, t.index] = seen
    w.line(f"t[{seen + 1} if {held} else {seen}] = 1")
    return held


def _alone(
    scope: Scope, t: m.Transition, guard: str, leaf: str, arguments: dict[str, m.Variable], follow: Follow
) -> None:
    if guard == "True":
        _follow(scope, t, leaf, arguments, follow)
        return
    with scope.writer.block(f"if {guard}:"):
        _follow(scope, t, leaf, arguments, follow)


def _follow(scope: Scope, t: m.Transition, leaf: str, arguments: dict[str, m.Variable], follow: Follow) -> None:
    inner = scope.inner(scope.instance, scope.machine)
    inner.locals = _bound(t, arguments)
    follow(inner, t, leaf)


def _ranked(
    scope: Scope,
    level: Sequence[m.Transition],
    guards: Sequence[str],
    leaf: str,
    arguments: dict[str, m.Variable],
    follow: Follow,
) -> None:
    """A transition is in question if it is enabled and none that has priority over it is."""
    w, universe = scope.writer, scope.context.universe
    assert scope.machine is not None
    instance = min(universe.instances_of(scope.machine.qualified))
    best = []
    for t, g in zip(level, guards, strict=True):
        pairs = zip(level, guards, strict=True)
        beaten = [h for other, h in pairs if universe.before(instance, other, t)]
        text = " and ".join([g, *(["not (" + " or ".join(beaten) + ")"] if beaten else [])])
        best.append(w.named(text) if text != "True" else "True")
    if _in_circles(scope, level):
        # Where each gives way to another, all of them are left.
        with w.block(f"if not ({' or '.join(best)}):"):
            for g in reversed(guards):
                with w.block(f"if {g}:"):
                    scope.fail("overlap")
    for n in range(len(level) - 1, 0, -1):
        with w.block(f"if {best[n]} and ({' or '.join(best[:n])}):"):
            scope.fail("overlap")
    for t, text in zip(level, best, strict=True):
        if text == "True":
            _follow(scope, t, leaf, arguments, follow)
            return
        with w.block(f"if {text}:"):
            _follow(scope, t, leaf, arguments, follow)


def _in_circles(scope: Scope, level: Sequence[m.Transition]) -> bool:
    """Do chains of priority contradict one another?"""
    universe, left = scope.context.universe, list(level)
    assert scope.machine is not None
    instance = min(universe.instances_of(scope.machine.qualified))
    while first := [t for t in left if not any(universe.before(instance, other, t) for other in left)]:
        left = [t for t in left if t not in first]
    return bool(left)


def refuser(context: Context, machine: m.Machine, event: str, parameters: Sequence[m.Variable], name: str) -> list[str]:
    """The function for an event with an argument that its parameter cannot hold: the fault `f` if a transition for it
    is enabled all the same, for then it is offered."""
    w = Writer()
    scope = Scope(context, w, "t", "at", machine, lambda _: w.line("return f"))
    w.line(f"state = {scope.at(context.column(machine.qualified, ''), 'at')}")
    arguments = {f"a{n}": p for n, p in enumerate(parameters)}
    for leaves, levels in _by_leaf(context, machine, event):
        with w.block(f"if {_in(machine, leaves)}:"):
            for t in (t for level in levels for t in level):
                with w.block(f"if {_guard(scope, t, arguments)}:"):
                    w.line("return f")
    w.line(f"return {IGNORED}")
    return [f"def {name}({', '.join(['t', 'at', 'f', *arguments])}):", *w.lines]


# Following -----------------------------------------------------------------------------------------------------------


def follow_transition(scope: Scope, t: m.Transition, leaf: str) -> None:
    """Exit hooks, the effects, the change of state, entry hooks; see `step.cascade.follow`."""
    assert scope.machine is not None
    context, w, machine = scope.context, scope.writer, scope.machine
    layout = context.layout
    w.line(f"# {_shown(t)}")
    followed = context.followed.setdefault((machine.qualified, t.index), 0) or layout.reserve(1)
    context.followed[machine.qualified, t.index] = followed
    w.line(f"t[{followed}] = 1")
    mark(context, context.followed_bits(machine, t.index), w)
    if context.rounds:
        w.line(f"t[{layout.touched}] |= 1 << at")
    with w.aside() as body:
        _body(scope, t, leaf)
    sends = any("= on_" in line or "= loop_" in line for line in body)
    if sends:
        w.line(f"t[{layout.busy}] |= 1 << at")
    w.put(body)
    if sends:
        w.line(f"t[{layout.busy}] &= ~(1 << at)")
    if not isinstance(t.trigger, m.OnEvent | m.OnTimer):
        if awaitable(machine):
            w.line(f"{scope.at(context.column(machine.qualified, 'wait'), 'at')} = 1")
        elif layout.waited is not None:
            w.line(f"t[{layout.waited}] |= 1 << at")


def _body(scope: Scope, t: m.Transition, leaf: str) -> None:
    assert scope.machine is not None
    context, machine = scope.context, scope.machine
    if t.target is None:
        perform(scope, t.effects)
        return
    move = context.universe.move(min(context.universe.instances_of(machine.qualified)), leaf, t)
    bare = scope.inner("at", machine)
    perform(bare, move.exits)
    perform(scope, t.effects)
    state = scope.at(context.column(machine.qualified, ""), "at")
    scope.writer.line(f"{state} = {leaf_number(machine, move.after)}  # {move.after}")
    wrote(scope)
    perform(bare, move.entries)


def _shown(t: m.Transition) -> str:
    """The transition, in words that are the author's names alone."""
    return f"{t.label or t.index}: {t.source} -> {t.target or t.source}"


# Time and rounds -----------------------------------------------------------------------------------------------------


def timer(context: Context, machine: m.Machine, t: m.Transition, name: str) -> list[str]:
    """The function for a timer: it does nothing where its guard does not hold."""
    w = Writer()
    scope = machine_scope(context, machine, w)

    def follow(inner: Scope, t: m.Transition, leaf: str) -> None:
        follow_transition(inner, t, leaf)
        w.line("return 0")

    w.line(f"state = {scope.at(context.column(machine.qualified, ''), 'at')}")
    for leaf in machine.leaves_of(t.source):
        with w.block(f"if {_in(machine, [leaf])}:"):
            choose(scope, ((t,),), leaf, {}, follow)
    w.line(f"return {IGNORED}")
    return [f"def {name}(t, at):", f'    """{machine.name}: time is up for transition {t.index}"""', *w.lines]


def eventless(context: Context, machine: m.Machine, name: str, *, only_asked: bool = False) -> list[str]:
    """The function that follows one transition without event, or would: 0 if it has, 1 if none is enabled."""
    w = Writer()
    scope = machine_scope(context, machine, w)
    w.line(f"state = {scope.at(context.column(machine.qualified, ''), 'at')}")

    def follow(inner: Scope, t: m.Transition, leaf: str) -> None:
        if not only_asked:
            follow_transition(inner, t, leaf)
        w.line("return 0")

    for leaves, levels in _by_leaf(context, machine, EVENTLESS):
        with w.block(f"if {_in(machine, leaves)}:"):
            choose(scope, levels, leaves[0], {}, follow)
    w.line(f"return {IGNORED}")
    return [f"def {name}(t, at):", f'    """{machine.name}: without event"""', *w.lines]


def stretches(context: Context, machines: Sequence[m.Machine]) -> list[tuple[m.Machine, str]]:
    """All instances of some machines in the order in which they were made: stretches of one machine, as `range(…)`."""
    found: list[tuple[m.Machine, int, int]] = []
    for n, machine in enumerate(context.universe.machines):
        if machine not in machines:
            continue
        if found and found[-1][0] is machine and found[-1][2] == n:
            found[-1] = (machine, found[-1][1], n + 1)
        else:
            found.append((machine, n, n + 1))
    return [(machine, f"range({first}, {end})") for machine, first, end in found]


def numbers(context: Context, machine: m.Machine) -> str:
    """`range(…)` or a tuple: the instances of a machine."""
    of = sorted(context.universe.instances_of(machine.qualified))
    gapless = span(context.universe, machine.qualified)
    return f"range({gapless.start}, {gapless.stop})" if len(of) == len(gapless) else f"({', '.join(map(str, of))},)"
