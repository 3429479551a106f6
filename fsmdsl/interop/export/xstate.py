"""A machine as the config of XState 5: the argument of `createMachine`, as JSON.

Guards and effects are named by their text in the spec; `setup({ guards, actions })` says in code what they do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fsmdsl import model as m
from fsmdsl.core.unsupported import Lost, line, written
from fsmdsl.interop.export.chart import Chart, Row, chart, delay


def xstate(model: m.Model, machine: m.Machine) -> tuple[str, tuple[Lost, ...]]:
    """The config, and what it does not say."""
    state_chart = chart(model, machine, "XState")
    context = {f.name: _value(f.default) for f in machine.fields if _is_plain(f.default) and not f.any}
    config: dict[str, Any] = {"id": machine.name}
    if machine.doc:
        config["description"] = line(machine.doc)
    config["initial"] = state_chart.first(None)
    if context:
        config["context"] = context
    config["states"] = {s.name: _state(state_chart, s) for s in machine.states if s.parent is None}
    return json.dumps(config, indent=2, ensure_ascii=False) + "\n", (*state_chart.lost, *_without_value(machine))


def _without_value(machine: m.Machine) -> Iterator[Lost]:
    for p in machine.params:
        yield Lost(f"the parameter `{p.name}`: it is not part of the context", p.span)
    for f in machine.fields:
        if not _is_plain(f.default):
            yield Lost(f"the field `{f.name}`: its initial value is computed", f.span)


def _is_plain(value: m.Expr) -> bool:
    match value:
        case m.Constant():
            return True
        case m.Collection(_, items) | m.Construction(items):
            return all(map(_is_plain, items))
        case _:
            return False


def _value(value: m.Expr) -> Any:
    match value:
        case m.Constant(constant):
            return constant
        case m.Collection(_, items):
            return [_value(x) for x in items]
        case m.Construction(parts, t):
            return {name: _value(x) for (name, _), x in zip(t.parts, parts, strict=True)}
        case _:
            raise AssertionError(f"{value} is not plain")


def _state(state_chart: Chart, s: m.State) -> dict[str, Any]:
    entry, exit = state_chart.hooks(s.name)
    children = [state_chart.machine.state_named[x] for x in s.children]
    node: dict[str, Any] = {
        "description": state_chart.description(s),
        "type": "final" if s.name in state_chart.finals else None,
        "tags": ["error"] if s.error else None,
        "entry": _actions(state_chart.machine, entry),
        "exit": _actions(state_chart.machine, exit),
        **_rows(state_chart, s.name),
        "initial": state_chart.first(s) if children else None,
        "states": {x.name: _state(state_chart, x) for x in children},
    }
    return {key: x for key, x in node.items() if x}


def _rows(state_chart: Chart, state: str) -> dict[str, Any]:
    on: dict[str, list[Any]] = {}
    after: dict[str, list[Any]] = {}
    always: list[Any] = []
    for row in state_chart.rows[state]:
        spec = _row(state_chart, row)
        match row.transition.trigger:
            case m.OnTimer() as timer:
                after.setdefault(str(delay(timer)), []).append(spec)
            case m.Eventless():
                always.append(spec)
            case _:
                on.setdefault(row.transition.shown_trigger, []).append(spec)
    return {"on": _short(on), "after": _short(after), "always": always}


def _short(rows_by_event: dict[str, list[Any]]) -> dict[str, Any]:
    """One row stands by itself, and a row that has only a target is that target."""
    for event, rows in rows_by_event.items():
        rows_by_event[event] = [x["target"] if x.keys() == {"target"} else x for x in rows]
    return {event: rows[0] if len(rows) == 1 else rows for event, rows in rows_by_event.items()}


def _row(state_chart: Chart, row: Row) -> dict[str, Any]:
    t = row.transition
    spec: dict[str, Any] = {}
    if t.target is not None:
        spec["target"] = _target(state_chart.machine, t.source, t.target)
        # A row from a state to itself or into it leaves the state in the spec; in XState only if it says so.
        spec["reenter"] = t.source in state_chart.selection.hierarchy.around[t.target]
    spec |= {"guard": row.guard, "actions": _actions(state_chart.machine, t.effects), "description": row.description}
    return {key: x for key, x in spec.items() if x}


def _target(machine: m.Machine, source: str, target: str) -> str:
    """A state beside the source by its name, any other one by its path."""
    states = machine.state_named
    if states[target].parent == states[source].parent:
        return target
    return "#" + ".".join([machine.name, *reversed(list(machine.ancestors(target)))])


def _actions(machine: m.Machine, effects: tuple[m.Effect, ...]) -> list[Any]:
    return [_action(machine, x) for x in effects]


def _action(machine: m.Machine, x: m.Effect) -> Any:
    match x:
        case m.Request(name, ()):
            return name
        case m.Request(name, arguments):
            names = (p.name for p in machine.action_named[name].parameters)
            return {"type": name, "params": dict(zip(names, map(written, arguments), strict=True))}
        case _:
            return written(x)
