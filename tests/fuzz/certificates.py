"""Damages of certificates: each is refused or confirmed with all of its states, and nothing else ends `recheck`."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from forger import TOKEN, spellings
from hypothesis import strategies as st

from fsmdsl import recheck
from fsmdsl.interop.certificate import Certificate, CertifiedSystem, digest, rendered
from fuzz.target import Target

SPEC = """\
module crowd
record Entry { term: 0..1  value: bool }
channel c: lossy bag[1] to each Person
machine Person {
    b: bool  e: Entry  s: set<0..1>  o: 0..1?  t: map<bool, bool>
    initial state Out
    state In
    event go, leave from environment
    event put(x: bool) from c
    action ask -> yes
    Out -> In on go do { b = true; ask }
    In on ask.yes do e.value = not e.value
    In -> Out on leave
    In on go do send c.put(e.value) to self
    * on put(x) do { t[x] = true; add 1 to s; o = 1 }
}
system Crowd { people: Person[1]  invariant few: all p in people: p in Out or p.b }
"""


@cache
def _honest() -> tuple[bytes, frozenset[str]]:
    """The certificate of the spec, and its states."""
    folder = Path(mkdtemp(prefix="fuzz-certificates-"))
    try:
        (folder / "crowd.fsm").write_text(SPEC, "utf-8")
        model = recheck.load([folder / "crowd.fsm"]).model
        assert model is not None
    finally:
        shutil.rmtree(folder)
    universe = recheck.Universe(model, model.systems["crowd.Crowd"])
    lines = tuple(recheck._reached(universe, 1000)[0])
    names = tuple(name for name, _, _ in recheck.invariants(universe))
    about = CertifiedSystem("crowd.Crowd", names, len(lines), digest(lines), lines)
    return rendered(Certificate(recheck.texts(model), False, (), (about,))).encode(), frozenset(lines)


def _damaged(damage: dict[str, Any]) -> bytes:
    """Values in other spellings, everywhere or in one place; bytes that are others; and, if somebody has forged it, the
    number and the digest of what came out."""
    text = _honest()[0].decode()
    for place, spelling, everywhere in damage["values"]:
        tokens = list(TOKEN.finditer(text))
        token = tokens[place % len(tokens)]
        other = spellings(token[0])[spelling % len(spellings(token[0]))]
        if everywhere:
            text = TOKEN.sub(lambda x, token=token, other=other: other if x[0] == token[0] else x[0], text)  # type: ignore[misc]
        else:
            text = f"{text[: token.start()]}{other}{text[token.end() :]}"
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for place, other in damage["bytes"]:
        data[place % len(data)] = other
    return _forged(bytes(data)) if damage["forged"] else bytes(data)


def _forged(data: bytes) -> bytes:
    try:
        content = json.loads(data)
        for x in content["systems"]:
            x["states"], x["digest"] = len(x["worlds"]), digest(x["worlds"])
        return json.dumps(content).encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return data


def _check(damage: dict[str, Any]) -> None:
    folder, output = Path(mkdtemp(prefix="fuzz-certificates-")), StringIO()
    data = damage["text"].encode("utf-8", "surrogatepass") if damage["text"] else _damaged(damage)
    try:
        (folder / "crowd.fsm").write_text(SPEC, "utf-8")
        (folder / "crowd.json").write_bytes(data)
        with redirect_stdout(output), redirect_stderr(output):
            code = recheck.main([str(folder / "crowd.json"), str(folder / "crowd.fsm")])
    finally:
        shutil.rmtree(folder)
    assert re.fullmatch("[ -~\n]+", output.getvalue())
    assert code in (0, 1), output.getvalue()
    if code == 0:
        worlds = json.loads(data)["systems"][0].get("worlds")
        assert worlds is None or {*worlds} >= _honest()[1], "a state is missing"


certificates = Target(
    "certificates",
    st.fixed_dictionaries({
        "values": st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 20), st.booleans()).map(list), max_size=3),
        "bytes": st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)).map(list), max_size=2),
        "forged": st.booleans(),
        "text": st.one_of(st.just(""), st.just(""), st.just(""), st.text(max_size=20)),
    }),
    _check,
)  # fmt: skip
