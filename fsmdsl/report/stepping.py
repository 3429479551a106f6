"""A run as the data of a stepper: what `static/stepper.js` shows, in the shape that is described at its top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsmdsl.report.data import Data
from fsmdsl.report.formula import Part, parts, shortened
from fsmdsl.runs.causality_tree import caused
from fsmdsl.runs.trace import world_data
from fsmdsl.search import Entry, Trace, Verdict
from fsmdsl.step import Followed, Universe, World
from fsmdsl.step.describe import fault_message, value_text
from fsmdsl.step.instances import Roster

Place = tuple[str, str]
"""An owner and its field. The field `""` is the owner's state, the owner `""` the system itself."""


def stepping(
    trace: Trace, name: str, title: str = "", outcome: str = "", why: Sequence[str] = (), formula: Sequence[Part] = ()
) -> Data:
    """A run step by step. `name` is what links to its steps begin with (`#name/step/4`). Takes time and space in
    proportion to what changes in the run."""
    roster = trace.roster
    worlds = [trace.start, *(x.world for x in trace.entries)]
    value_maps = [dict(values_of(roster, x)) for x in worlds]
    places = list(dict.fromkeys(place for values in value_maps for place in values))
    instances = zip(roster.system.instances, roster.machines, strict=True)
    return {
        "id": name,
        "title": title,
        "outcome": outcome,
        "why": list(why),
        "instances": [{"name": x.name, "machine": machine.qualified} for x, machine in instances],
        "places": [list(x) for x in places],
        "start": [value_maps[0].get(x, "") for x in places],
        "steps": [
            {
                **_step(roster, entry, before),
                "changes": [[n, b.get(x, "")] for n, x in enumerate(places) if a.get(x, "") != b.get(x, "")],
            }
            for (before, entry), a, b in zip(trace.befores(), value_maps, value_maps[1:], strict=False)
        ],
        "loop": trace.loop,
        "formula": [x.data() for x in shortened(formula)],
    }


def of_verdict(universe: Universe, v: Verdict, name: str) -> Data:
    """The run of a verdict, with the formula that it is about."""
    assert v.trace is not None
    return stepping(v.trace, name, v.label, v.outcome, v.explanation, parts(universe, v))


def _step(roster: Roster, entry: Entry, before: World) -> Data:
    fault = entry.fault
    tree = caused(roster, entry.step, entry.cascade, before, entry.cut_short)
    return {
        "text": tree.what,
        "then": tree.data(),
        "followed": [[h.instance, h.transition] for h in entry.cascade if isinstance(h, Followed)],
        "fault": None if fault is None else f"{fault_message(roster, fault)} ({fault.kind})",
    }


def values_of(roster: Roster, world: World) -> Iterator[tuple[Place, str]]:
    """Everything that can change, as the author would write it."""
    for n, machine in enumerate(roster.machines):
        name = roster.name(n)
        yield (name, ""), world.states[n]
        for f, value in zip(machine.fields, world.fields[n], strict=True):
            yield (name, f.name), value_text(roster, f.type, value)
    if not (roster.queues or world.pending or world.down):
        return
    data = world_data(roster, world)
    for channel, messages in data["channels"].items():
        yield ("", channel), f"[{', '.join(messages)}]"
    if data["pending"]:
        yield ("", "waits for the answer to"), ", ".join(data["pending"])
    if data["down"]:
        yield ("", "down"), "after a crash"
