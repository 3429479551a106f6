"""A machine as SCXML (https://www.w3.org/TR/scxml/). Conditions and values are expressions of the spec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from fsmdsl import model as m
from fsmdsl.core.unsupported import Lost, line, written
from fsmdsl.interop.export.chart import Chart, Row, assigned, chart, delay, first_value
from fsmdsl.interop.export.escape import xml_comment, xml_text

DATAMODEL = "fsmdsl"
"""The language of conditions and values. It is none of the standard's, so that no processor takes them for its own."""


def scxml(model: m.Model, machine: m.Machine) -> tuple[str, tuple[Lost, ...]]:
    """The document, and what it does not say."""
    state_chart = chart(model, machine, "SCXML")
    about = {"version": "1.0", "datamodel": DATAMODEL, "name": machine.name, "initial": state_chart.first(None)}
    root = ET.Element("scxml", {"xmlns": "http://www.w3.org/2005/07/scxml", **about})
    root.extend(_comments(line(machine.doc)))
    if machine.fields or machine.params:
        data = ET.SubElement(root, "datamodel")
        for p in machine.params:
            ET.SubElement(
                data, "data", {"id": p.name} | ({} if p.default is None else {"expr": first_value(p.default)})
            )
        for f in machine.fields:
            ET.SubElement(data, "data", {"id": f.name} | ({} if f.any else {"expr": first_value(f.default)}))
    root.extend(x for s in machine.states if s.parent is None for x in _state(state_chart, s))
    ET.indent(root)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{xml_text(ET.tostring(root, encoding="unicode"))}\n',
        state_chart.lost,
    )


def _comments(text: str) -> list[Any]:
    """A comment; none where there is nothing to say."""
    return [ET.Comment(xml_comment(text))] if text else []


def _state(state_chart: Chart, s: m.State) -> Iterator[ET.Element]:
    yield from _comments(state_chart.description(s))
    element = ET.Element("final" if s.name in state_chart.finals else "state", {"id": s.name})
    if s.children:
        element.set("initial", state_chart.first(s))
    entry, exit = (list(_content(state_chart, x)) for x in state_chart.hooks(s.name))
    rows = state_chart.rows[s.name]
    timers = {timer_event(x): x.transition.trigger for x in rows if isinstance(x.transition.trigger, m.OnTimer)}
    starts = [ET.Element("send", {"id": event, "event": event, **_delay(x)}) for event, x in timers.items()]
    stops = [ET.Element("cancel", {"sendid": event}) for event in timers]
    for tag, content in (("onentry", [*starts, *entry]), ("onexit", [*stops, *exit])):
        if content:
            ET.SubElement(element, tag).extend(content)
    for row in rows:
        element.extend(_comments(row.description))
        element.append(_row(state_chart, row))
    element.extend(y for x in s.children for y in _state(state_chart, state_chart.machine.state_named[x]))
    yield element


def timer_event(row: Row) -> str:
    """The event of a timer. No event of a spec begins with the reserved word `after`."""
    trigger = row.transition.trigger
    assert isinstance(trigger, m.OnTimer)
    return f"after.{row.transition.source}.{line(trigger.duration_text).replace(' ', '')}"


def _delay(timer: m.OnTimer) -> dict[str, str]:
    """CSS knows seconds and milliseconds."""
    match delay(timer):
        case int() as milliseconds if milliseconds % 1000 == 0:
            return {"delay": f"{milliseconds // 1000}s"}
        case int() as milliseconds:
            return {"delay": f"{milliseconds}ms"}
        case name:
            return {"delayexpr": name}


def _row(state_chart: Chart, row: Row) -> ET.Element:
    t = row.transition
    match t.trigger:
        case m.OnTimer():
            event: str | None = timer_event(row)
        case m.Eventless():
            event = None
        case _:
            event = t.shown_trigger
    attributes = (("event", event), ("cond", row.guard), ("target", t.target))
    element = ET.Element("transition", {key: x for key, x in attributes if x is not None})
    element.extend(_content(state_chart, t.effects))
    return element


# Effects -------------------------------------------------------------------------------------------------------------


def _content(state_chart: Chart, effects: Iterable[m.Effect]) -> Iterator[ET.Element]:
    return (_effect(state_chart, x) for x in effects)


def _effect(state_chart: Chart, x: m.Effect) -> ET.Element:
    match x:
        case m.Assign(target=target):
            place, value = assigned(x)
            return ET.Element("assign", {"location": _location(target, place), "expr": written(value)})
        case m.Change(kind, name, target, item, of) if kind == "add" or not isinstance(of, m.ListType):
            place = _location(target, name)
            items = f"[{written(item)}]" if isinstance(of, m.ListType) else f"{{{written(item)}}}"
            return ET.Element("assign", {"location": place, "expr": f"{place} {'+' if kind == 'add' else '-'} {items}"})
        case m.Send(target, machine, event, arguments):
            where = {"targetexpr": written(target), "event": event}
            return _send(where, state_chart.model.machines[machine].event_named[event].parameters, arguments)
        case m.Post(channel, event, arguments):
            receiver = state_chart.model.machines[state_chart.model.channels[channel].receiver]
            where = {"target": f"#_{state_chart.model.channels[channel].name}", "event": event}
            return _send(where, receiver.event_named[event].parameters, arguments)
        case m.Request(action, arguments):
            about = {"type": "action", "event": action}
            return _send(about, state_chart.machine.action_named[action].parameters, arguments)
        case m.ForEach(variable, over, body):
            element = ET.Element("foreach", {"array": written(over), "item": variable})
            element.extend(_content(state_chart, body))
            return element
        case m.If(condition, then, otherwise):
            element = ET.Element("if", {"cond": written(condition)})
            element.extend(_content(state_chart, then))
            if otherwise:
                ET.SubElement(element, "else")
                element.extend(_content(state_chart, otherwise))
            return element
        case _:
            element = ET.Element("script")
            element.text = written(x)
            return element


def _location(target: m.Expr | None, name: str) -> str:
    return name if target is None else f"{written(target)}.{name}"


def _send(about: dict[str, str], parameters: Sequence[m.Variable], arguments: Sequence[m.Expr]) -> ET.Element:
    element = ET.Element("send", about)
    for p, value in zip(parameters, arguments, strict=True):
        ET.SubElement(element, "param", {"name": p.name, "expr": written(value)})
    return element
