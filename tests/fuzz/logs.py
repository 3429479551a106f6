"""Mappings and logs for `fsm explain`: whatever they are, there is an answer or a diagnostic, and the answer is that of
the definition, which remembers nothing."""

from __future__ import annotations

import io
import json
from functools import cache
from typing import Any

import test_explain
from hypothesis import strategies as st

from fsmdsl.interop.logs.binding import bind
from fsmdsl.interop.logs.explanation import explain as explained
from fsmdsl.interop.logs.lines import lines
from fsmdsl.interop.logs.mapping import read
from fsmdsl.interop.logs.render_text import coverage, details, summary
from fsmdsl.interop.logs.rules import LogError
from fsmdsl.interop.logs.successor_cache import UndecidedError
from fsmdsl.interop.logs.to_json import data
from fsmdsl.interop.logs.worlds import TooManyWorldsError
from fsmdsl.step import Universe
from fsmdsl.text.source import Source
from fuzz.target import Target

WORDS = (
    "p0",
    "p1",
    "n0",
    "a",
    "b",
    "c",
    "none",
    "",
    "bind",
    "leave",
    "poke",
    "state",
    "Bound",
    "Waiting",
    "0",
    "é\ud800",
)
VALUES = st.one_of(
    st.sampled_from(WORDS), st.integers(-1, 2), st.booleans(), st.none(), st.lists(st.sampled_from(WORDS), max_size=3)
)
FIELDS = ("msg", "id", "at", "over", "turn", "state", "t")


@cache
def _universe() -> Universe:
    return test_explain.universe(test_explain.PODS)


def _rule() -> st.SearchStrategy[str]:
    """A `[[line]]`, most often one that makes sense."""
    sense = st.sampled_from(
        (
            'when = { msg = "bind" }\nof = "pods"\ninstance = "{id}"\nevent = "bind"\narguments = { at = "{at}" }',
            'when = { msg = "bind" }\nof = "pods"\ninstance = "{id}"\nevent = "bind"\narguments = { over = "{over}" }',
            'when = { msg = "leave" }\nof = "pods"\ninstance = "{id}"\nevent = "leave"\nends = true',
            'when = { msg = ["leave", "poke"] }\nof = "pods"\ninstance = "{id}"\nevent = "leave"\nlost = true',
            'when = { msg = "poke" }\nof = "Pod"\ninstance = "{id}"\nevent = "poke"\nfields = { turn = "{turn}" }',
            'when = { state = "Bound" }\nof = "pods"\ninstance = "{id}"\nstate = "Bound"\nfields = { node = "{at}" }',
            'when = { state = ["Waiting", 1] }\ninstance = "{id}"\nstate = "Waiting"',
            'instance = "p0"\nfields = { rivals = "{over}" }',
        )
    )
    return st.one_of(sense, sense, st.text(max_size=60)).map(lambda x: f"[[line]]\n{x}\n")


HEADS = st.sampled_from(
    ("", "", "in_order = true\n", "strict = true\n", 'time = "t"\nwindow = "1s"\n', 'format = "logfmt"\n',
     "format = \"text\"\npattern = '(?P<msg>\\w+) (?P<id>\\w+)'\n", '[names]\na = "p1"\n', "hidden = 1\n")
)  # fmt: skip
LINE = st.one_of(
    st.fixed_dictionaries({"msg": st.sampled_from(("bind", "leave", "poke")), "id": st.sampled_from(("a", "b", "p0"))},
                          optional=dict.fromkeys(FIELDS[2:], VALUES)).map(json.dumps),
    st.dictionaries(st.sampled_from(FIELDS), VALUES).map(json.dumps),
    st.text(max_size=30),
)  # fmt: skip
INPUTS = st.fixed_dictionaries(
    {
        "mapping": st.tuples(HEADS, st.lists(_rule(), min_size=1, max_size=5)).map(lambda x: x[0] + "".join(x[1])),
        "log": st.lists(LINE, max_size=12).map("\n".join),
        "hidden": st.integers(0, 2),
    }
)


def check(given: dict[str, Any]) -> None:
    text = given["log"].encode("utf-8", "surrogatepass")
    try:
        reading = bind(read(Source("mapping.toml", given["mapping"])), _universe())
        x = explained(reading, "run.log", lines(io.BytesIO(text)), depth=given["hidden"], whole=True)
    except LogError:
        return
    told = [summary(x), *details(x, "run.log", whole=True), *coverage(x)]
    assert told
    json.dumps(data(x, "run.log"))
    try:
        outcome, steps, names = test_explain.reference(reading, text, given["hidden"])
    except (TooManyWorldsError, UndecidedError):
        assert x.outcome == "undecided"
        return
    assert x.outcome == outcome or (x.outcome, outcome) == ("nothing to explain", "explained")
    assert [(t.entry.step, list(t.lines)) for t in x.summary.steps] == steps
    assert x.summary.names == names


explain = Target("explain", INPUTS, check)
