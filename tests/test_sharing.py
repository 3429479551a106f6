"""Environments that systems share, and systems that extend others: they mean what is written out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import random_specs
import random_systems
from in_process import fsm
from packed_search import COMPILED, PLAIN, needs_compiler
from stepping import compiled, only_system
from tiers import today

from fsmdsl import model as m
from fsmdsl.editor.editing import completions
from fsmdsl.editor.editing.declarations import declared
from fsmdsl.editor.editing.hover import hover
from fsmdsl.editor.editing.rename import changed, rename
from fsmdsl.editor.editing.session import OpenDocuments
from fsmdsl.graphs import states
from fsmdsl.model.resolve import Memory, resolve
from fsmdsl.search import Means, explore
from fsmdsl.syntax.parse import parse
from fsmdsl.syntax.settings import given_settings, with_settings
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Source

MACHINES = """
enum Colour { red | green }
let few(n: 0..9) = n < 2
machine Cell {
    param colour: Colour = red
    other: Cell?
    n: 0..2
    initial state Free
    state Bad
    event fail(by: Cell?), mend, count from environment
    Free -> Bad on fail(by) do other = by
    Bad -> Free on mend do other = none
    Free on count when n < 2 do n = n + 1
    Bad -> Free on crash
}
"""

CLUSTER = """
environment Cluster(cs: set<Cell>, most: 0..3, one: Cell?, c: Colour) {
    some x in cs: x.fail(one) when (count y in cs: y in Bad) < most and x.colour == c
    some i in 0..size(cs) - 1: cs[i].mend when cs[0] in Bad and few(i)
    some q in subsets(cs), x in q: x.count when one == none or one == x
    some cs in cs: crash of cs
}
"""


def models(texts: Sequence[str]) -> m.Model:
    """The model of several modules, which have nothing wrong."""
    resolved = resolve([parse(Source(f"{n}.fsm", x)).module for n, x in enumerate(texts)])
    assert resolved.diagnostics == (), resolved.diagnostics
    assert resolved.model is not None
    return resolved.model


def found_in(*texts: str) -> list[Diagnostic]:
    return list(resolve([parse(Source(f"{n}.fsm", x)).module for n, x in enumerate(texts)]).diagnostics)


def alike(one: m.System, other: m.System) -> bool:
    """Are two systems the same but for what they are made of, and called?"""
    lets = tuple(replace(x, owner=other.qualified) for x in one.lets)
    return replace(one, name=other.name, module=other.module, made_of=other.made_of, lets=lets, doc=other.doc) == other


# Written out ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", today(range(60)))
def test_random_systems_in_parts_are_those_in_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = (random_specs.spec(seed, newer=True), random_systems.text_of(seed, newer=True))
    for module in (random_specs, random_systems):
        monkeypatch.setattr(module, "in_parts", lambda lines, groups: lines)
    whole = (random_specs.spec(seed, newer=True), random_systems.text_of(seed, newer=True))
    for parts, one in zip(texts, whole, strict=True):
        assert alike(only_system(compiled(parts)), only_system(compiled(one)))


@pytest.mark.parametrize("means", [PLAIN, pytest.param(COMPILED, marks=needs_compiler)])
@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        ("cells, 2, none, red", ("cells", "2", "none", "red")),
        ("cells, size(cells) - 1, cells[1], Colour.red", ("cells", "(size(cells) - 1)", "cells[1]", "red")),
        ("cells, 2, cells[0].other, cells[0].colour", ("cells", "2", "cells[0].other", "cells[0].colour")),
    ],
)
def test_arguments_are_what_the_system_says(arguments: str, body: tuple[str, ...], means: Means) -> None:
    cs, most, one, c = body
    guard = "true" if one == "none" else f"{one} == none or {one} == x"
    written = f"""
        some x in {cs}: x.fail({one}) when (count y in {cs}: y in Bad) < {most} and x.colour == {c}
        some i in 0..size({cs}) - 1: {cs}[i].mend when {cs}[0] in Bad and few(i)
        some q in subsets({cs}), x in q: x.count when {guard}
        some x in {cs}: crash of x
    """
    shared = compiled(f"{MACHINES}{CLUSTER}system S {{ cells: Cell[3] environment Cluster({arguments}) }}")
    plain = compiled(f"{MACHINES}system S {{ cells: Cell[3] environment {{ {written} }} }}")
    ours, theirs = (explore(x, only_system(x), means=means) for x in (shared, plain))
    assert (ours.states, ours.transitions, ours.depth) == (theirs.states, theirs.transitions, theirs.depth)
    assert ours.states == len(states(shared, only_system(shared))) > 20


SMALL = """
/// The small one.
system Small {
    cells: Cell[2]
    extra: Cell
    let bad(c: Cell) = c in Bad
    let all_bad = all c in cells: bad(c)
    environment { some c in cells: c.fail(none) }
    recover { }
    start when all c in cells: c.n == 0
    invariant room: all c in cells: c.n < 3
    invariant all c in cells: c.n < 4
    property back: all_bad ~> not all_bad
    reachable some_bad: some c in cells: bad(c)
}
"""

LARGE = """
system Large extends Small {
    more: Cell[2]
    cells: Cell[3] { colour = green }
    let bad(c: Cell) = c in Bad and c.n == 0
    environment { some c in cells: c.mend }
    environment { crash }
    recover { for c in cells { c.mend } }
    start when extra.n == 0
    invariant extra.n < 3
    property room: always true
    invariant room: all c in cells: c.n < 2
    reachable all_of_it: all_bad
}
"""

WRITTEN = """
system Large {
    cells: Cell[3] { colour = green }
    extra: Cell
    more: Cell[2]
    let bad(c: Cell) = c in Bad and c.n == 0
    let all_bad = all c in cells: bad(c)
    environment { some c in cells: c.fail(none)  some c in cells: c.mend  crash }
    recover { for c in cells { c.mend } }
    start when all c in cells: c.n == 0
    start when extra.n == 0
    invariant room: all c in cells: c.n < 2
    invariant all c in cells: c.n < 4
    invariant extra.n < 3
    property back: all_bad ~> not all_bad
    property room: always true
    reachable some_bad: some c in cells: bad(c)
    reachable all_of_it: all_bad
}
"""


def test_what_a_system_has_that_extends_another() -> None:
    """The base's members first, in its order; what has the same name and kind in their place; the rest behind."""
    both = compiled(MACHINES + SMALL + LARGE)
    large = both.systems["test.Large"]
    assert large == replace(compiled(MACHINES + WRITTEN).systems["test.Large"], made_of=("test.Small",))
    assert both.systems["test.Small"] == compiled(MACHINES + SMALL).systems["test.Small"]


def test_the_order_of_the_text_does_not_matter() -> None:
    late, early = compiled(MACHINES + LARGE + SMALL), compiled(MACHINES + SMALL + LARGE)
    assert late.systems["test.Large"] == early.systems["test.Large"]
    assert list(late.systems) == ["test.Large", "test.Small"]


def test_a_chain() -> None:
    text = MACHINES + SMALL + "system Mid extends Small { cells: Cell[1] } system Top extends Mid { extra: Cell }"
    top = compiled(text).systems["test.Top"]
    assert [(g.name, g.count) for g in top.groups] == [("cells", 1), ("extra", 1)]
    assert top.made_of == ("test.Mid", "test.Small")


def test_without_an_environment_everything_may_be_sent_until_there_is_one() -> None:
    base = "system A { c: Cell } system B extends A { } system C extends A { environment { c.mend } }"
    systems = compiled(MACHINES + base).systems
    assert (systems["test.B"].offers, len(systems["test.C"].offers or ())) == (None, 1)


def test_bases_and_environments_of_other_modules() -> None:
    """Each line knows the names of the module that it is written in, not of the one that uses it."""
    third = "module third\nchannel wire: fifo[1] to Node\nlet limit = 1\n" + (
        "machine Node { n: 0..2 initial state Up event hear from wire event go from environment\n"
        "Up on hear do n = 1\nUp on go when n < limit and size(wire) == 0 do send wire.hear }"
    )
    middle = "module middle\nimport third\nlet twice(n: 0..9) = 2 * n\n" + (
        "environment Talk(ns: set<third.Node>) { some x in ns: x.go when twice(x.n) < third.limit + 2 }\n"
        "system Pair { node: third.Node let heard = twice(node.n) > 0\n environment Talk({node})\n"
        "invariant low: twice(node.n) < 3 or heard\n reachable node: heard }"
    )
    last = "module last\nimport middle { Pair, Talk }\nlet twice(n: 0..9) = n\nlet limit = 7\n" + (
        "system Mine extends Pair { environment Talk({node}) invariant one: twice(node.n) == node.n }"
    )
    model = models([last, middle, third])
    mine = model.systems["last.Mine"]
    assert mine.channels == ("third.wire",)
    assert [x.owner for x in mine.lets] == ["last.Mine"]
    found = explore(model, mine, means=PLAIN)
    assert (found.states, {v.outcome for v in found.verdicts if v.kind != "deadlock"}) == (3, {"holds"})


def test_names_in_a_shared_environment_are_those_of_its_module() -> None:
    """A set of the system that is called like a `let` of the module does not hide it, nor do names of instances."""
    text = MACHINES + "let cells = false environment E(cs: set<Cell>) { some c in cs: c.mend when cells }"
    offers = compiled(text + "system S { cells: Cell[2] environment E(cells) }").systems["test.S"].offers
    assert offers is not None
    assert isinstance(offers[0].guard, m.Derived)
    (wrong,) = found_in(MACHINES + "environment E { c0.mend } system S { cells: Cell[2] environment E }")
    assert wrong.message == "there is no name `c0`"


def test_a_system_that_extends_another_may_refine_a_third() -> None:
    """What it extends refines is not inherited: how many there are may have changed."""
    plan = "system Plan { cells: Cell[1] } system Built refines Plan { wide: Cell[2] map cells[i] in Free"
    text = f"{MACHINES}{plan} map cells[i].n = 0 map cells[i].other = none }}"
    systems = compiled(f"{text} system Wider extends Built {{ wide: Cell[3] }}").systems
    assert systems["test.Built"].refines is not None
    assert systems["test.Wider"].refines is None
    rows = "map cells[0] in Bad when wide[2] in Bad map cells[i] in Free map cells[i].n = 0 map cells[i].other = none"
    again = compiled(f"{text} system Wider extends Built refines Plan {{ wide: Cell[3] {rows} }}").systems["test.Wider"]
    assert again.refines is not None
    assert [len(x.states) for x in again.refines.mapped] == [2]
    found = found_in(f"{text} system Wider extends Built {{ map cells[0] in Bad }}")
    assert [d.message for d in found] == ["`Wider` refines no system, so there is nothing to map"]


# What is wrong -------------------------------------------------------------------------------------------------------


def test_what_is_wrong_for_one_use_says_for_which() -> None:
    text = MACHINES + "environment E(cs: set<Cell>) { cs[2].mend } system S { cells: Cell[3] environment E(cells) }"
    (found,) = found_in(text + " system T { few_cells: Cell[2] environment E(few_cells) }")
    assert found.message == "`few_cells` has instances 0 to 1"
    assert found.span.text == "cs[2]"
    assert [(x.span.text, x.text) for x in found.labels] == [("environment E(few_cells)", "for this use")]


def test_what_is_wrong_in_what_is_extended_is_said_once() -> None:
    text = MACHINES + "system S { cells: Cell[2] invariant a: cells[0].m == 0 } "
    (alone,) = found_in(text)
    (one,) = found_in(text + "system T extends S { } system U extends T { cells: Cell[1] }")
    assert (one.message, one.span.start, one.labels) == (alone.message, alone.span.start, ())
    (found,) = found_in(MACHINES + "system S { cells: Cell[2] let n = cells[1].n invariant a: n < 3 }"
                        "system T extends S { cells: Cell[1] }")  # fmt: skip
    assert [x.text for x in found.labels] == ["in `T`, which extends `S`"]


@pytest.mark.full(reason="size")
def test_a_long_chain_is_no_trouble() -> None:
    systems = "".join(f"system S{n + 1} extends S{n} {{ }}\n" for n in range(1500))
    assert len(compiled(f"{MACHINES}system S0 {{ c: Cell }}\n{systems}").systems) == 1501


def test_what_only_an_amendment_declares() -> None:
    """As documented, who needs it is left out: with the environment, with the base, but not what replaces it."""
    text = MACHINES.replace("initial", 'amends "why" event tick from environment\namends "why" Free on tick initial')
    text += "environment E(cs: set<Cell>) { some c in cs: c.tick } system S { cells: Cell[2] environment E(cells) }"
    text += "system T extends S { } system A { cells: Cell invariant a: cells in Free } system B extends A { }"
    assert list(compiled(text).systems) == ["test.S", "test.T", "test.A", "test.B"]
    documented = compiled(text, as_documented=True)
    assert list(documented.systems) == ["test.A", "test.B"]
    assert [x.name for x in documented.modules[0].systems_left_out] == ["S", "T"]


# Sizes, scenarios, unused names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        ("cells=4", {"Small": [4, 1], "Large": [4, 1, 2]}),
        ("more=4", {"Small": [2, 1], "Large": [3, 1, 4]}),
    ],
)
def test_sizes_from_outside(settings: str, sizes: dict[str, list[int]]) -> None:
    module = parse(Source("test.fsm", MACHINES + SMALL + LARGE)).module
    settled = with_settings([module], given_settings([settings]))
    model = resolve(settled.modules).model
    assert model is not None
    assert settled.unanswered == {}
    assert {x.name: [g.count for g in x.groups] for x in model.systems.values()} == sizes


def test_a_set_that_is_inherited_answers_to_its_name_before_a_parameter_does() -> None:
    machines = "machine Cell { param cells: 1..9 = 2 initial state Free }"
    text = f"{machines} system A {{ cells: Cell[2] }} system B extends A {{ one: Cell }}"
    model = resolve(with_settings([parse(Source("test.fsm", text)).module], given_settings(["cells=3"])).modules).model
    assert model is not None
    assert [(x.group, x.values) for x in model.systems["test.B"].instances] == [("cells", ())] * 3 + [("one", ())]


def test_scenarios_of_it(tmp_path: Path) -> None:
    steps = "cells[2].fail(none) expect bad(cells[2]) and not all_bad expect more[1] in Free"
    (tmp_path / "a.fsm").write_text(f'module a\n{MACHINES}{SMALL}{LARGE}scenario S "s" of Large {{ {steps} }}')
    (tmp_path / "b.fsm").write_text(f'module b\nimport a\nscenario T "t" of a.Large {{ {steps} }}')
    done = fsm("test", ".", cwd=tmp_path)
    assert "2 scenarios: all pass" in done.stdout, done.stdout
    done = fsm("verify", "--system", "Large", "a.fsm", cwd=tmp_path)
    assert "a.Large" in done.stdout
    assert "a.Small" not in done.stdout
    assert done.returncode == 1, done.stdout + done.stderr


def unused(tmp_path: Path, **texts: str) -> list[str]:
    for name, text in texts.items():
        (tmp_path / f"{name}.fsm").write_text(f"module {name}\n{text}")
    lines = fsm("check", ".", cwd=tmp_path).stdout.splitlines()
    return [x.partition(": ")[2] for x in lines if "[FSM223]" in x]


def test_what_is_used_by_those_who_extend_or_share_is_used(tmp_path: Path) -> None:
    lib = (
        "import base\nlet few(n: 0..9) = n < 2\nenvironment E(cs: set<base.Cell>) { some c in cs: c.mend when few(c.n)}"
    )
    base = "machine Cell { n: 0..9 initial state Up event mend from environment Up on mend when n < 9 do n = n + 1 }"
    system = (
        "system S { cells: Cell[2] let high(c: Cell) = c.n > 3 } system T extends S { reachable r: high(cells[0]) }"
    )
    user = "import base { S }\nimport lib\nsystem U extends S { environment lib.E(cells) }"
    assert unused(tmp_path, base=f"{base}\n{system}", lib=lib, user=user) == []
    assert unused(tmp_path, user="import base { S }\nimport lib\nsystem U extends S { }") == [
        "the environment `E` is never used",
        "the import `lib` is never used",
    ]


# Editors -------------------------------------------------------------------------------------------------------------


LIB = f"module lib\n{MACHINES}environment Care(cs: set<Cell>) {{ some c in cs: c.mend }}\n{SMALL}"
USER = """module user
import lib
import lib { Care }
system Wide extends lib.Small {
    cells: lib.Cell[4]
    environment Care(cells)
    environment lib.Care({extra})
    invariant room: all c in cells: bad(c) or not bad(c)
}
"""


def desk() -> OpenDocuments:
    found = OpenDocuments()
    found.open("lib.fsm", LIB)
    found.open("user.fsm", USER)
    return found


@pytest.mark.parametrize(
    ("file", "words", "texts"),
    [
        ("user.fsm", "Care(cells)", ["environment Care(cs: set<Cell>)"]),
        ("user.fsm", "Care }", ["environment Care(cs: set<Cell>)"]),
        ("user.fsm", "Small {", ["system Small"]),
        ("user.fsm", "extra})", ["extra: Cell"]),
        ("user.fsm", "bad(c) or", ["let bad(c: Cell) = c in Bad"]),
        ("user.fsm", "room: all", ["invariant room: all c in cells: c.n < 3"]),
    ],
)
def test_names_lead_to_their_declarations(file: str, words: str, texts: list[str]) -> None:
    analysis = desk().analysis("user.fsm")
    offset = analysis.documents[file].source.text.index(words) + 1
    (meaning,) = {u.meaning for u in analysis.uses_at(file, offset)}
    assert [x.text for x in declared(analysis, meaning)] == texts
    shown = hover(analysis, file, offset)
    assert shown is not None
    assert texts[0] in shown.text


@pytest.mark.parametrize(
    ("words", "name", "counts"),
    [
        ("Care(cs", "Repair", (1, 3)),
        ("cells: Cell[2]", "parts", (7, 3)),
        ("bad(c: Cell)", "broken", (3, 2)),
        ("room: all", "space", (1, 1)),
        ("Small {", "Little", (1, 1)),
        ("cs: set<Cell>)", "them", (2, 0)),
    ],
)
def test_a_name_is_changed_wherever_it_is_meant(words: str, name: str, counts: tuple[int, int]) -> None:
    analysis = desk().analysis("user.fsm")
    edits = rename(analysis, "lib.fsm", LIB.index(words) + 1, name)
    by_file = [[e for e in edits if e.span.source.name == x] for x in ("lib.fsm", "user.fsm")]
    assert tuple(map(len, by_file)) == counts
    texts = [changed(x, e) for x, e in zip((LIB, USER), by_file, strict=True)]
    assert [x.qualified for x in models(texts).systems.values()][1] == "user.Wide"


@pytest.mark.parametrize(
    ("typed", "listed"),
    [
        ("system T extends ", {"Small"}),
        ("system T { cells: Cell[2] environment ", {"Care"}),
        ("system T { cells: Cell[2] environment Care(", {"cells", "c0"}),
        ("environment E(cs: set<Cell>) { some c in ", {"cs"}),
        ("environment E(cs: set<Cell>) { some c in cs: ", {"c"}),
        ("environment E(cs: set<Cell>) { some c in cs: c.", {"mend", "fail"}),
        ("environment E(cs: set<Cell>, most: 0..3) { some c in cs: c.mend when c.n < ", {"most", "few"}),
        ("system T extends Small { invariant a: all c in ", {"cells", "extra"}),
        ("system T extends Small { invariant a: ", {"all_bad"}),
    ],
)
def test_completion(typed: str, listed: set[str]) -> None:
    text = LIB + typed
    assert listed <= {c.label for c in completions(text, len(text))}


def test_what_is_remembered_follows_what_is_shared_and_extended() -> None:
    """An edit of the base, or of the environment, changes who has it; and nothing else is resolved again."""
    found = desk()
    first = found.analysis("user.fsm").model
    found.open("lib.fsm", LIB.replace("c.n < 3", "c.n < 2").replace("some c in cs: c.mend", "some c in cs: c.count"))
    second = found.analysis("user.fsm").model
    assert first is not None
    assert second is not None
    before, after = (x.systems["user.Wide"] for x in (first, second))
    assert [x.event for x in before.offers or ()] == ["fail", "mend", "mend"]
    assert [x.event for x in after.offers or ()] == ["fail", "count", "count"]
    assert before.invariants == after.invariants  # `room` is Wide's own
    assert first.systems["lib.Small"].invariants != second.systems["lib.Small"].invariants


def test_an_environment_that_changes_is_followed() -> None:
    """Also where it is the only thing that was read again: what is offered stands where the new text says."""
    texts = [MACHINES, "environment Care(cs: set<Cell>) { some c in cs: c.mend }", "system S { cells: Cell[2]"]
    text = "\n".join(["module spec", *texts]) + " environment Care(cells) }\n"
    found = OpenDocuments()
    for edited, event in ((text, "mend"), (text.replace("c.mend", "c.count"), "count"), (text, "mend")):
        found.open("spec.fsm", edited)
        model = found.analysis("spec.fsm").model
        assert model is not None
        (offer,) = model.systems["spec.S"].offers or ()
        assert (offer.event, offer.span.text) == (event, f"some c in cs: c.{event}")


def test_a_base_that_changes_is_followed_through_a_chain() -> None:
    texts = [SMALL, "system Mid extends Small { }\n", "system Top extends Mid { }\n"]
    found = OpenDocuments()
    found.open("spec.fsm", "\n".join(["module spec", MACHINES, *texts]))
    assert found.analysis("spec.fsm").model is not None
    found.open("spec.fsm", "\n".join(["module spec", MACHINES, SMALL.replace("Cell[2]", "Cell[5]"), *texts[1:]]))
    model = found.analysis("spec.fsm").model
    assert model is not None
    assert {x.groups[0].count for x in model.systems.values()} == {5}


def test_memory_gives_what_no_memory_gives() -> None:
    """Names are noted once where they are, whether a system was resolved again or not."""
    modules = [parse(Source(f"{n}.fsm", x)).module for n, x in enumerate((LIB, USER))]
    memory = Memory()
    resolve(modules, memory=memory)
    again, fresh = resolve(modules, memory=memory), resolve(modules)
    assert again.model == fresh.model

    def order(uses: Sequence[object]) -> list[str]:
        return sorted(map(repr, uses))

    assert order(again.uses) == order(fresh.uses)
