"""Damages of a saved search: it goes on to the verdicts that are right, or it is refused; one that
somebody has forged does no other harm than to be wrong."""

from __future__ import annotations

import json
import shutil
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hypothesis import strategies as st

from fsmdsl import model as m
from fsmdsl.model.resolve import resolve
from fsmdsl.runs.verdicts.verdict import Exploration, Keeping, Means
from fsmdsl.search import Limits, explore
from fsmdsl.search.errors import FullError, SavedError, UnavailableError
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source
from fuzz.target import Target

SPEC = """\
module crowd

machine Person {
    seen: 0..3
    initial state Out
    state In
    event go from environment
    enter: Out -> In on go when seen < 3 do seen = seen + 1
    leave: In -> Out on go
    ignore go in Out
}

system Crowd {
    people: Person[4]
    invariant few: some p in people: p in Out
    invariant counted: all p in people: p in In => p.seen > 0
    reachable tired: all p in people: p.seen == 3
}
"""
MEANS = Means(workers=1, symmetry=False)


@cache
def _model() -> m.Model:
    resolved = resolve([parse(Source("crowd.fsm", SPEC)).module])
    assert resolved.model is not None, [str(d) for d in resolved.diagnostics]
    return resolved.model


def _explored(folder: Path | None = None, resume: Path | None = None, most: int | None = None) -> Exploration:
    model = _model()
    keeping = None if folder is None and resume is None else Keeping(folder, resume, 0.0)
    return explore(model, model.systems["crowd.Crowd"], Limits(states=most), None, MEANS, keeping)


def _told(x: Exploration) -> list[tuple[str, str, str]]:
    return [(v.kind, v.name, str(v.outcome)) for v in x.verdicts]


@cache
def _saved() -> dict[str, bytes]:
    """The files of a search that was stopped on its way."""
    folder = Path(mkdtemp(prefix="fuzz-search-"))
    try:
        _explored(folder, most=300)
        return {x.name: x.read_bytes() for x in (folder / "crowd.Crowd").iterdir()}
    finally:
        shutil.rmtree(folder)


@cache
def _right() -> list[tuple[str, str, str]]:
    return _told(_explored())


def _check(damage: dict[str, Any]) -> None:
    folder = Path(mkdtemp(prefix="fuzz-search-"))
    try:
        (folder / "crowd.Crowd").mkdir()
        for name, content in _damaged(_saved(), damage).items():
            (folder / "crowd.Crowd" / name).write_bytes(content)
        try:
            found = _explored(resume=folder)
        except (SavedError, UnavailableError, FullError):
            return
        if not damage["forged"]:  # with the check sum over it, which nobody can tell from one that was saved
            assert _told(found) == _right(), (found.stopped, found.note, _told(found), damage)
    finally:
        shutil.rmtree(folder)


def _damaged(files: dict[str, bytes], damage: dict[str, Any]) -> dict[str, bytes]:
    """Bytes that were changed; and numbers of the manifest that somebody has forged, with the check sum over them."""
    found = {name: bytearray(content) for name, content in sorted(files.items())}
    for name, at, byte in damage["bytes"]:
        content = found[sorted(found)[name % len(found)]]
        content[at % len(content)] ^= byte
    for name, at in damage["cuts"]:
        content = found[sorted(found)[name % len(found)]]
        del content[at % len(content) :]
    if damage["forged"]:
        manifest = json.loads(files["manifest.json"])
        del manifest["sha256"]
        for key, value in damage["forged"]:
            manifest[sorted(manifest)[key % len(manifest)]] = value
        manifest["sha256"] = sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
        found["manifest.json"] = bytearray(json.dumps(manifest).encode())
    return {name: bytes(content) for name, content in found.items()}


_value = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 2000), st.sampled_from((2**31, 2**63, 10**30)), st.text(max_size=4)
    ),
    lambda x: st.lists(x, max_size=4),
    max_leaves=8,
)
_file = st.integers(0, 8)
_damage = st.fixed_dictionaries({
    "bytes": st.lists(st.tuples(_file, st.integers(0, 2**16), st.integers(1, 255)).map(list), max_size=3),
    "cuts": st.lists(st.tuples(_file, st.integers(0, 2**16)).map(list), max_size=1),
    "forged": st.lists(st.tuples(st.integers(0, 20), _value).map(list), max_size=3),
})  # fmt: skip

search = Target("search", _damage, _check)
