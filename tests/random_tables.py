"""Random tables of machines, as readers make them: nested states, guards, timers, odd names."""

from __future__ import annotations

from hypothesis import strategies as st

from fsmdsl.interop.imports import Condition, Row, State, Table

TITLES = [
    "New", "idle", "being preempted", "1", "2", "state", "on", "none", "Über", "a-b", "a b", "A", "a", "initial",
    "self", "End", "x.y", "", "\u202e", '"quoted"', "back\\slash", "Class", "lambda", "*", "[*]",
    "very long title " * 8,
]  # fmt: skip
EVENTS = [
    "go",
    "stop",
    "RunApplication",
    "done.state.x",
    "on",
    "after",
    "1",
    "try",
    "A",
    "a-b",
    "",
    "Ω",
    "entry",
    "go_",
    "crash",
]
CONDITIONS = [
    "ready",
    "x > 3",
    "self.is_hot",
    "lambda e: e.x",
    "A",
    "go",
    "not",
    "or",
    "len(x) == 0",
    "ctx.n >= 2 && ok",
]
ACTIONS = ["reset", "self.log", "go", "print('x')", "A", "lambda: 3", "action", "send x"]


@st.composite
def tables(draw: st.DrawFn, *, plain: bool = False, eventless: bool = True) -> Table:
    """A table of up to seven states. `plain`: only names that any format can hold, each once."""
    count = draw(st.integers(1, 7))
    states: list[State] = []
    titles = (
        [f"State{n}" for n in range(count)]
        if plain
        else draw(st.lists(st.sampled_from(TITLES), min_size=count, max_size=count))
    )
    for n, title in enumerate(titles):
        parent = draw(st.sampled_from([None, None, *(s.name for s in states)]))
        actions = () if plain else tuple(draw(st.lists(st.sampled_from(ACTIONS), max_size=2)))
        first = parent is not None and all(s.parent != parent for s in states)
        initial = first if plain else parent is not None and draw(st.booleans())
        states.append(State(f"State{n}" if plain else f"s{n}", title, parent, initial, entry=actions))
    ordered = _ordered(states)
    names = [s.name for s in ordered]
    rows = draw(st.lists(_rows(names, plain, eventless), max_size=10))
    if plain:
        # A diagram draws an arrow between a composite and what is in it as arrows from or to its leaves.
        whole = Table("", names[0], tuple(ordered), ())
        rows = [r for r in rows if r.target is None or not _inside(whole, r.source, r.target)]
    acts = False if plain else draw(st.booleans())
    tops = [s.name for s in ordered if s.parent is None]
    first_state = draw(st.sampled_from(tops if plain else names))
    return Table("Random", first_state, tuple(ordered), tuple(rows), acts)


def _ordered(states: list[State]) -> list[State]:
    out: list[State] = []

    def add(parent: str | None) -> None:
        for s in states:
            if s.parent == parent:
                out.append(s)
                add(s.name)

    add(None)
    return out


def _inside(table: Table, one: str, other: str) -> bool:
    if one == other:
        return one in table.children
    return one in table.around(other) or other in table.around(one)


def _rows(names: list[str], plain: bool, eventless: bool) -> st.SearchStrategy[Row]:
    events = [f"event{n}" for n in range(3)] if plain else EVENTS
    texts = ["ready", "hot", "full"] if plain else CONDITIONS
    parts = st.lists(st.builds(Condition, st.sampled_from(texts), st.booleans()), max_size=2)
    on_event = st.builds(
        Row,
        st.sampled_from(names),
        st.sampled_from([*names, None]),
        st.sampled_from(events),
        parts.map(tuple),
        st.just(()) if plain else st.lists(st.sampled_from(ACTIONS), max_size=2).map(tuple),
    )
    timed = st.builds(
        lambda source, target, after: Row(source, target, None, after=after),
        st.sampled_from(names),
        st.sampled_from(names),
        st.sampled_from(["5s", "24h"]),
    )
    by_itself = st.builds(
        lambda source, target, guard: Row(source, target, None, guard),
        st.sampled_from(names),
        st.sampled_from(names),
        parts.map(tuple),
    )
    return st.one_of(on_event, on_event, timed, *([by_itself] if eventless else []))
