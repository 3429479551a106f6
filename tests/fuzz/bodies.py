"""Random bodies of requests: JSON that is meant, JSON that nobody means, and what is none."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

ODD = (
    "null", "true", "0", "-1", "1e400", "-1e400", "NaN", "Infinity", "-Infinity", "1" + "0" * 400, "-" + "9" * 400,
    "1.5", "1e-400", '""', '"\\ud800"', '"\\udc00\\ud800"', '"a\\nb"', '"a\\r\\nINFO forged"', '"\\u0000"',
    '"\\u2028"', '"../../etc/passwd"', '"\U0001f512"', "[]", "{}", "[" * 3000 + "]" * 3000,
    '{"a":' * 3000 + "1" + "}" * 3000, "[" * 100_000, '"' + "x" * 70_000 + '"', '{"__proto__": {"a": 1}}',
    "[[], {}, [null]]", "2147483648", "-9223372036854775809", "9" * 5000,
)  # fmt: skip
"""Values, as they stand in JSON."""

NONE = ("", "{", "[1,", "\x00", "nul", "{'a': 1}", '{"a" 1}', "\ufeff{}", '"\ud800"', "{} {}", "1" * 90_000)
"""Bodies that are no JSON."""

value = st.one_of(
    st.sampled_from(ODD),
    st.integers(-5, 100).map(str),
    st.text(max_size=8).map(lambda x: json.dumps(x)),
)


def written(fields: dict[str, str]) -> str:
    """A JSON object of values that are written already."""
    return "{" + ", ".join(f"{json.dumps(key)}: {x}" for key, x in fields.items()) + "}"


def objects(known: dict[str, st.SearchStrategy[str]]) -> st.SearchStrategy[str]:
    """Objects with these fields: as they are meant, odd, or missing; now and then something else altogether."""
    fields = {key: st.one_of(x, x, x, x, value) for key, x in known.items()}
    meant = st.fixed_dictionaries({}, optional=fields).map(written)
    whole = st.fixed_dictionaries(fields).map(written)
    return st.one_of(whole, whole, whole, meant, value, st.sampled_from(NONE))


def constant(*choices: Any) -> st.SearchStrategy[str]:
    """One of these, written."""
    return st.sampled_from([json.dumps(x) for x in choices])
