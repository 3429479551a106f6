"""Sequence diagrams of runs."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from test_draw import HOSTILE, XML

from fsmdsl.draw.sequence import (
    Change,
    Failure,
    Message,
    Note,
    Participant,
    Sequence,
    Step,
    as_mermaid,
    as_plantuml,
)
from fsmdsl.draw.sequence_svg import as_svg

# Sequences -----------------------------------------------------------------------------------------------------------


def chart(text: str = "") -> Sequence:
    """All that a sequence can show."""
    return Sequence(
        f"A story{text}",
        (
            Participant(f"environment{text}", "environment"),
            Participant(f"g0{text}", state=f"Pending{text}"),
            Participant(f"c0{text}", state="Free"),
            Participant(f"to_cache{text}", "channel"),
        ),
        (
            Step(f"g0.schedule({{c0}}){text}"),
            Message(0, 1, f"schedule({{c0}}){text}"),
            Message(1, 2, "take(g0)"),
            Change(2, "Free", f"Used{text}", "e0"),
            Note(2, f"user = g0{text}"),
            Change(1, "Pending", "Allocated"),
            Step("g0 again"),
            Message(None, 1, "proceed"),
            Message(1, 1, f"retry{text}"),
            Message(2, 3, "release(g0)", posted=True),
            Message(2, None, "log"),
            Note(None, f"everything changes{text}"),
            Failure(1, f"unhandled: g0 is Allocated{text}"),
            Failure(None, "deadlock"),
        ),
    )


def test_sequence_svg_is_well_formed_whatever_it_says() -> None:
    root = ElementTree.fromstring(as_svg(chart(HOSTILE), prefix="x-"))
    ids = [y.get("id") for y in root.iter() if y.get("id")]
    assert {"x-step-1", "x-step-2", "x-item-1", "x-item-13"} <= set(ids)
    assert len(ids) == len(set(ids))
    shown = "".join(root.itertext())
    assert "</svg><script>" in shown
    assert {y.tag.removeprefix(XML) for y in root.iter()} <= {
        "svg", "style", "g", "text", "rect", "line", "path", "polygon", "polyline",
    }  # fmt: skip


def test_sequence_texts_do_not_overlap_their_neighbours() -> None:
    """What stands on a lifeline ends before the next one, and all is inside the picture."""
    root = ElementTree.fromstring(as_svg(chart()))
    width = float(root.get("width", "0"))
    for box in root.iter(f"{XML}rect"):
        x = float(box.get("x", "0"))
        assert x >= 0
        assert x + float(box.get("width", "0")) <= width
    lifelines = sorted({float(y.get("x1", "0")) for y in root.iter(f"{XML}line")})
    assert len(lifelines) == 4
    assert all(b - a >= 40 for a, b in pairwise(lifelines))


def test_heads_of_a_sequence_stand_side_by_side() -> None:
    """Also where nothing is sent between neighbours."""
    names = ("environment", "proposals", "s0", "SchedulerAllocationUpdates")
    root = ElementTree.fromstring(as_svg(Sequence("heads", tuple(map(Participant, names)), (Message(0, 2, "go"),))))
    places = [(float(y.get("x", "0")), float(y.get("width", "0"))) for y in root.iter(f"{XML}rect")]
    assert len(places) == len(names)
    assert all(left + wide < right for (left, wide), (right, _) in pairwise(places))


def test_a_sequence_of_nothing() -> None:
    empty = Sequence("nothing", (), (Step("only this"), Note(None, "and this"), Failure(None, "and that")))
    ElementTree.fromstring(as_svg(empty))
    assert as_mermaid(empty).startswith("sequenceDiagram")
    assert as_plantuml(empty).endswith("@enduml\n")


def test_hostile_sequences_stay_on_their_lines() -> None:
    assert len(as_mermaid(chart(HOSTILE)).splitlines()) == len(as_mermaid(chart()).splitlines())
    text = as_plantuml(chart(HOSTILE))
    assert len(text.splitlines()) == len(as_plantuml(chart()).splitlines())
    assert text.count("@enduml") == 1


def test_an_answer_from_outside_has_an_edge_to_come_from() -> None:
    text = as_plantuml(chart())
    assert "[-> p1 : proceed" in text
    assert "p2 ->] : log" in text
