"""Systems and scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from fsmdsl import syntax as s
from fsmdsl.syntax.build.builder import Builder, number, only
from fsmdsl.syntax.build.effects import block
from fsmdsl.syntax.build.expressions import EXPRESSIONS, binders, condition, expression, expressions, value
from fsmdsl.syntax.build.machines import any_value, invariant, let
from fsmdsl.syntax.build.types import parameters
from fsmdsl.syntax.tree import Node


def system(b: Builder, n: Node) -> s.SystemDecl:
    """`system Small { … }`."""
    members = tuple(_SYSTEM[m.rule](b, m) for m in n.every(*_SYSTEM))
    extends, refines = (next(iter(b.paths(n.one(x))), None) for x in ("extends", "refines"))
    return s.SystemDecl(b.name(only(n)), extends, refines, members, b.doc(n), b.span(n))


def scenario(b: Builder, n: Node) -> s.ScenarioDecl:
    """`scenario G1 "title" of Small { … }`."""
    of = b.paths(n.one("of"))
    instances = tuple(_instance(b, i) for i in n.every("instance"))
    steps = tuple(_STEPS[x.rule](b, x) for x in n.every(*_STEPS))
    system = of[0] if of else None
    return s.ScenarioDecl(
        b.name(only(n)), b.title(n), system, instances, _firsts(b, n), steps, b.doc(n), b.span(n)
    )  # fmt: skip


def _instance(b: Builder, n: Node) -> s.InstanceDecl:
    name, machine = n.nodes()[:2]
    count, initials = n.one("count"), n.one("initials")
    return s.InstanceDecl(
        b.name(name),
        b.path(machine),
        None if count is None else number(count),
        n.one("symmetric") is not None,
        _begins(b, n.one("in_state")),
        () if initials is None else tuple(_initial(b, i) for i in initials.nodes()),
        b.doc(n),
        b.span(n),
    )


def _begins(b: Builder, n: Node | None) -> s.Name | tuple[s.Name, ...] | s.AnyValue | None:
    """`in Busy`, `in {Idle, Busy}`, `in any`."""
    if n is None:
        return None
    several = n.one("in_states")
    return any_value(b, n) or (b.name(only(n)) if several is None else b.names(several))


def _initial(b: Builder, n: Node) -> s.Initial:
    return s.Initial(b.name(only(n)), any_value(b, n) or value(b, n), b.span(n))


def _start(b: Builder, n: Node) -> s.StartDecl:
    return s.StartDecl(value(b, n), b.doc(n), b.span(n))


def _rest(b: Builder, n: Node) -> s.RestDecl:
    return s.RestDecl(value(b, n), b.doc(n), b.span(n))


def _bound(b: Builder, n: Node) -> s.BoundDecl:
    return s.BoundDecl(value(b, n), b.doc(n), b.span(n))


def _firsts(b: Builder, n: Node) -> tuple[s.FirstValue | s.FirstState, ...]:
    """What stands behind `start with`."""
    return tuple(_first(b, x) for line in n.every("start_with") for x in line.nodes())


def _first(b: Builder, n: Node) -> s.FirstValue | s.FirstState:
    target = expression(b, n.nodes()[0])
    if n.rule == "first_state":
        return s.FirstState(target, b.name(n.nodes()[1]), b.span(n))
    return s.FirstValue(target, value(b, n), b.span(n))


def _environment(b: Builder, n: Node) -> s.EnvironmentDecl:
    return s.EnvironmentDecl(tuple(_offer(b, o) for o in n.nodes()), b.doc(n), b.span(n))


def shared_environment(b: Builder, n: Node) -> s.SharedEnvironment:
    """`environment Cluster(groups: set<Group>) { … }`."""
    offers = tuple(_offer(b, o) for o in n.every("offer"))
    return s.SharedEnvironment(b.name(only(n)), parameters(b, n), offers, b.doc(n), b.span(n))


def _environment_use(b: Builder, n: Node) -> s.EnvironmentUse:
    values = n.one("values")
    arguments = () if values is None else tuple(expression(b, x) for x in values.nodes())
    return s.EnvironmentUse(b.paths(n)[0], arguments, b.doc(n), b.span(n))


def _offer(b: Builder, n: Node) -> s.Offer | s.CrashOffer | s.ProcessCrash:
    some, of = n.one("some"), n.one("crash_of")
    kind = cast(Any, "anywhere" if (kind_node := n.one("crash_kind")) is None else kind_node.text())
    call = expression(b, next(n.every(*EXPRESSIONS)))
    guard = condition(b, n)
    variables = () if some is None else binders(b, some.nodes())
    if of is not None:
        return s.ProcessCrash(variables, call, kind, _struck(b, n), guard, b.doc(n), b.span(n))
    if isinstance(call, s.Name) and call.text == "crash" and some is None:
        return s.CrashOffer(kind, guard, b.doc(n), b.span(n))
    return s.Offer(variables, call, guard, b.doc(n), b.span(n))


def _struck(b: Builder, n: Node) -> tuple[s.Expr, ...]:
    """The instances behind `of`."""
    of = n.one("crash_of")
    return () if of is None else tuple(expression(b, x) for x in of.nodes())


def _recover(b: Builder, n: Node) -> s.RecoverDecl:
    return s.RecoverDecl(block(b, n), b.doc(n), b.span(n))


def _property(b: Builder, n: Node) -> s.PropertyDecl:
    recovers, under = n.one("recovers"), n.one("under")
    formula: s.Expr | s.Recovers
    if recovers is not None:
        formula = s.Recovers(b.paths(recovers), b.span(recovers))
    else:
        formula = expression(b, next(n.every(*EXPRESSIONS)))
    fair = () if under is None else tuple(_fairness(b, under))
    finite = None if under is None else under.one("finite")
    return s.PropertyDecl(b.label(n), formula, fair, finite is not None, b.doc(n), b.span(n))


def _fairness(b: Builder, under: Node) -> Iterator[s.Fairness]:
    """`strong fair a, b and fair c`: a name without a strength of its own has that of the one before it. Names behind
    `for each` are parameters."""
    groups: list[list[Node]] = []
    for n in under.nodes():
        if n.rule == "fairness":
            groups.append([n])
        elif n.rule != "finite":
            groups[-1].append(n)
    for first, *others in groups:
        strength = first.one("strength")
        nodes = [*first.every("path", "delivery"), *others]
        behind = next((k for k, n in enumerate(nodes) if n.rule == "for_each"), len(nodes))
        names = tuple(b.path(n) for n in nodes[:behind] if n.rule == "path")
        deliveries = tuple(path for n in nodes[:behind] if n.rule == "delivery" for path in b.paths(n))
        each = tuple(b.path(n if n.rule == "path" else only(n)) for n in nodes[behind:])
        span = b.span(first).to(b.span([first, *others][-1]))
        yield s.Fairness(cast(Any, "weak" if strength is None else strength.text()), names, deliveries, each, span)


def _reachable(b: Builder, n: Node) -> s.ReachableDecl:
    return s.ReachableDecl(b.label(n), value(b, n), b.doc(n), b.span(n))


def _mapped(b: Builder, n: Node) -> s.Mapped:
    mapped = only(n)
    element = mapped.one("element")
    name = b.name(only(mapped))
    at = None if element is None else number(element) if element.token("INT") else b.name(only(element))
    return s.Mapped(name, at, b.span(mapped))


def _map_state(b: Builder, n: Node) -> s.MapState:
    return s.MapState(_mapped(b, n), b.name(n.nodes()[1]), condition(b, n), b.doc(n), b.span(n))


def _map_field(b: Builder, n: Node) -> s.MapField:
    return s.MapField(_mapped(b, n), b.name(n.nodes()[1]), expression(b, n.nodes()[2]), b.doc(n), b.span(n))


def _do(b: Builder, n: Node) -> s.Do | s.Restart:
    call, of = expression(b, only(n)), _struck(b, n)
    if isinstance(call, s.Name) and (call.text == "crash" or (call.text == "recover" and not of)):
        return s.Restart(cast(Any, call.text), of, b.doc(n), b.span(n))
    return s.Do(call, of, b.doc(n), b.span(n))


def _fails(b: Builder, n: Node) -> s.Fails:
    step, *fault = n.nodes()
    return s.Fails(_TAKEN[step.rule](b, step), b.name(only(fault[0])) if fault else None, b.doc(n), b.span(n))


def _elapse(b: Builder, n: Node) -> s.Elapse:
    timer = b.names(n.one("timer_name"))
    return s.Elapse(expression(b, only(n)), timer[0] if timer else None, b.doc(n), b.span(n))


def _transmit(b: Builder, n: Node) -> s.Transmit:
    kind, channel, *ends = n.nodes()
    whose = expressions(b, ends[0].nodes()) if ends else ()
    return s.Transmit(cast(Any, kind.text()), b.path(channel), whose, b.doc(n), b.span(n))


def _expect(b: Builder, n: Node) -> s.Expect:
    return s.Expect(value(b, n), b.doc(n), b.span(n))


def _via(b: Builder, n: Node) -> s.Via:
    return s.Via(b.names(n), b.doc(n), b.span(n))


_SYSTEM: dict[str, Callable[[Builder, Node], s.SystemMember]] = {
    "instance": _instance, "let": let, "start_when": _start, "may_rest_when": _rest, "explore_while": _bound, "environment": _environment,
    "environment_use": _environment_use, "recover": _recover, "invariant": invariant, "property": _property,
    "reachable": _reachable, "map_state": _map_state, "map_field": _map_field,
}  # fmt: skip
_TAKEN: dict[str, Callable[[Builder, Node], s.Taken]] = {"do_step": _do, "elapse": _elapse, "transmit": _transmit}
_STEPS: dict[str, Callable[[Builder, Node], s.ScenarioStep]] = {
    **_TAKEN, "fails": _fails, "expect": _expect, "via": _via,
}  # fmt: skip
