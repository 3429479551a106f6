"""Saved searches that somebody has forged: they are refused with a reason, and never believed."""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hived_lite import hived_lite
from stepping import compiled
from tiers import today

from fsmdsl import model as m
from fsmdsl.search import Keeping, Limits, Means, explore, resumable
from fsmdsl.search.checkpoint import read
from fsmdsl.search.errors import SavedError

MAKERS = [Means(compiled=False), Means(compiled=True, workers=1)]
Content = dict[str, Any]


def search() -> tuple[m.Model, m.System]:
    model = compiled(hived_lite(3, 4, 2))
    return model, next(iter(model.systems.values()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a search that was ended in the middle."""
    model, system = search()
    explore(model, system, Limits(300), means=MAKERS[0], keeping=Keeping(tmp_path))
    (found,) = (x for x in tmp_path.iterdir() if x.is_dir())
    return found


@pytest.fixture(params=[0, 20_000], ids=["machine code", "plain"])
def little(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Who takes the states up."""
    if request.param == 0:
        pytest.importorskip("llvmlite")
    monkeypatch.setattr(resumable, "LITTLE", request.param)
    return int(request.param)


def resumed(folder: Path) -> object:
    model, system = search()
    return explore(model, system, keeping=Keeping(None, folder.parent))


def content_of(folder: Path) -> Content:
    content: Content = json.loads((folder / read.MANIFEST).read_text())
    return content


def forge(folder: Path, content: Content, *, sealed: bool) -> None:
    """Write a manifest whose check sum fits; `sealed`: as if the key were known."""
    for name in ("sha256", "seal"):
        content.pop(name, None)
    text = read._text_of(content)
    seal = read.seal(text) if sealed else "00" * 32
    (folder / read.MANIFEST).write_text(json.dumps({**content, "sha256": sha256(text).hexdigest(), "seal": seal}))


def forge_part(folder: Path, change: Callable[[bytearray], None]) -> None:
    """Change the states, and let every check sum and the seal fit."""
    content = content_of(folder)
    listed = content["parts"][0][0]
    path = folder / listed[0]
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
    listed[2:] = [len(data), sha256(data).hexdigest()]
    forge(folder, content, sealed=True)


def test_what_was_saved_here_is_believed(folder: Path, little: int) -> None:
    assert "not trusted" not in str(resumed(folder))
    forge(folder, content_of(folder), sealed=True)
    resumed(folder)


def test_a_search_that_says_it_is_done_is_not_believed(folder: Path, little: int) -> None:
    """The states that break an invariant left out, the rest consistent."""
    content = content_of(folder)
    content.update(expanded=content["states"], level_end=content["states"])
    forge(folder, content, sealed=False)
    with pytest.raises(SavedError, match="is not trusted: it was not saved by this user"):
        resumed(folder)


def test_the_search_of_another_user_is_not_believed(
    folder: Path, little: int, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSMDSL_KEY", str(tmp_path_factory.mktemp("other") / "key"))
    with pytest.raises(SavedError, match="it was not saved by this user"):
        resumed(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="needs modes")
def test_a_folder_that_others_can_write_to_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = next(folder.glob("*.states"))
    for path, mode in ((folder, 0o777), (folder / read.MANIFEST, 0o666), (part, 0o620)):
        before = path.stat().st_mode
        path.chmod(mode)
        with pytest.raises(SavedError, match="is not trusted: other users can write to it"):
            resumed(folder)
        path.chmod(before)
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(SavedError, match="belongs to another user"):
            resumed(folder)
    whole = part.read_bytes()
    part.unlink()
    (folder / "elsewhere").write_bytes(whole)
    part.symlink_to("elsewhere")
    with pytest.raises(SavedError, match="cannot read"):
        resumed(folder)
    part.unlink()
    os.mkfifo(part)
    with pytest.raises(SavedError, match="not a regular file"):
        resumed(folder)


MANIFESTS: dict[str, Callable[[Content], object]] = {
    "no states": lambda x: x.update(states=0),
    "negative states": lambda x: x.update(states=-1),
    "states as text": lambda x: x.update(states="many"),
    "states as a truth": lambda x: x.update(states=True),
    "far too many states": lambda x: x.update(states=1 << 61),
    "expanded beyond": lambda x: x.update(expanded=x["states"] + 1),
    "level behind": lambda x: x.update(level_end=0),
    "no levels": lambda x: x.update(levels=[]),
    "levels that fall": lambda x: x.update(levels=[0, 7, 3]),
    "levels from elsewhere": lambda x: x.update(levels=[1]),
    "no board": lambda x: x.update(board=[]),
    "a short board": lambda x: x["board"].pop(),
    "a huge number": lambda x: x["board"].__setitem__(0, 1 << 70),
    "findings out of reach": lambda x: x.update(board=[1 << 40] * len(x["board"])),
    "findings below zero": lambda x: x.update(board=[-5] * len(x["board"])),
    "wide words": lambda x: x.update(words=1 << 15),
    "no words": lambda x: x.update(words=0),
    "a path": lambda x: x["parts"][0][0].__setitem__(0, "../../etc/passwd"),
    "a device": lambda x: x["parts"][0][0].__setitem__(0, "/dev/zero"),
    "a length": lambda x: x["parts"][0][0].__setitem__(2, 1 << 50),
    "a negative length": lambda x: x["parts"][0][0].__setitem__(2, -8),
    "no length": lambda x: x["parts"][0][0].__setitem__(2, 0),
    "no parts": lambda x: x.update(parts=[]),
    "the same part twice": lambda x: x["parts"].append(x["parts"][0]),
    "nothing": lambda x: x.clear(),
    "reasons that are none": lambda x: x.update(not_reduced={"a": 3}),
}


@pytest.mark.parametrize("name", today(list(MANIFESTS)))
def test_manifests_that_no_search_has_written(name: str, folder: Path, little: int) -> None:
    content = content_of(folder)
    MANIFESTS[name](content)
    forge(folder, content, sealed=True)
    with pytest.raises(SavedError, match=r"damaged|not trusted"):
        resumed(folder)


def head(place: int, number: int) -> Callable[[bytearray], None]:
    return lambda data: struct.pack_into("q", data, 8 * place, number)


def word(number: int) -> Callable[[bytearray], None]:
    """In the words of a state; there is one span."""
    return lambda data: struct.pack_into("q", data, 8 * (4 + 3 + 20), number)


def origin(number: int) -> Callable[[bytearray], None]:
    """Of a state; the origins are at the end."""
    return lambda data: struct.pack_into("I", data, len(data) - 40, number)


PARTS: dict[str, Callable[[bytearray], None]] = {
    "a width": head(0, 1 << 40),
    "a count": head(1, 1 << 40),
    "spans": head(2, 1 << 40),
    "fewer than no spans": head(2, -1),
    "no spans": head(2, 0),
    "numbers that are not there": head(3, 1),
    "neither with numbers nor without": head(3, 2),
    "a span that begins later": head(4, 5),
    "a span before the first": head(4, -1),
    "numbers below zero": head(5, -1),
    "numbers beyond": head(5, 290),
    "numbers far beyond": head(5, 1 << 62),
    "origins below zero": head(6, -1),
    "origins beyond": head(6, 1 << 61),
    "all bits": word(-1),
    "the sign": word(-(1 << 63)),
    "instances that there are not": word((1 << 62) - 1),
    "a state that comes from itself": origin(1 << 20),
    "an origin that comes later": origin(0xFFFFFFFF),
    "cut off": lambda data: data.__delitem__(slice(len(data) - 8, None)),
    "with more behind": lambda data: data.extend(b"\0" * 8),
    "empty": lambda data: data.clear(),
}


@pytest.mark.parametrize("name", today(list(PARTS)))
def test_states_that_no_search_has_found(name: str, folder: Path, little: int) -> None:
    forge_part(folder, PARTS[name])
    with pytest.raises(SavedError, match="damaged"):
        resumed(folder)


@pytest.mark.parametrize("seed", today(range(8)))
def test_random_damage_that_every_check_sum_fits(seed: int, folder: Path, little: int) -> None:
    """It is refused, or taken for states that a search could have found; nothing crashes."""
    chance = Random(seed)

    def damage(data: bytearray) -> None:
        for _ in range(chance.randrange(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)

    forge_part(folder, damage)
    with suppress(SavedError, ValueError):
        resumed(folder)
