"""Forges certificates of invariants that do not hold, and presents them to `fsmdsl.recheck`. None may be confirmed.

    python tests/forger.py --tries 100000

A liar explores a system by the definition, and writes values of one part of the states as others that Python takes for
equal (`1`, `1.0` or `-0.0` for a truth value, a truth value for a number), where an invariant then seems to hold. The
set of states is closed, and the number and the digest are right. A vandal changes the text of honest certificates: it
drops, doubles and exchanges states, and replaces values in one state or in all, with the digest over what comes out.

The exit code is 1 if a certificate was confirmed that should not have been, or if something other than a refusal ended
the check; a line names each.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, islice
from random import Random
from typing import Any

from campaign import model_of, systems
from random_systems import text_of

from fsmdsl import model as m
from fsmdsl import recheck
from fsmdsl.interop.certificate import Certificate, CertifiedSystem, RefusedError, digest, parse, rendered
from fsmdsl.interop.certificate.states import encoded
from fsmdsl.recheck import invariants
from fsmdsl.step import FaultError, Message, RecordValue, TooManyValuesError, Universe, World, holds
from fsmdsl.step.data import Table

MOST = 40
"""States of a system that certificates are forged for: more would only take longer."""

# Who is lied about ---------------------------------------------------------------------------------------------------

TYPES = "enum Color { red | blue }\nrecord Entry { term: 0..1  value: bool }\n"

FIELDS = {
    "bool": "b: bool = true  A on go do b = not b  invariant b and b",
    "not": "b: bool  A on go do b = not b  invariant not b",
    "large": "n: 0..999999999999999 = 999999999999999  A on go  invariant n * 1000 + 1 == n * 1000",
    "number": "n: 0..2  A on go when n < 2 do n = n + 1  A on go when n == 2  invariant n < 2",
    "enum": "c: Color  A on go do c = blue  invariant c == red",
    "option": "o: bool? = true  A on go do o = false  invariant o != none and o",
    "optional number": "o: 0..2? = 0  A on go when o != none do o = if o < 2 then o + 1 else 2  invariant o != 2",
    "list": "l: list<bool>[2]  A on go when size(l) < 2 do add false to l  ignore go in A  invariant all x in l: x",
    "numbers": "l: list<0..2>[2] = [1]  A on go do l = [l[0] + 1, 0]  invariant size(l) == 1",
    "set": "s: set<bool>  A on go do add false to s  invariant all x in s: x",
    "map": "t: map<bool, bool> = true  A on go do t[true] = false  invariant t[false] and t[true]",
    "record": "e: Entry = Entry(1, true)  A on go do e.value = false  invariant e.term == 1 and e.value",
    "records": "l: list<Entry>[1]  A on go when size(l) == 0 do add Entry(1, false) to l  ignore go in A"
    "\ninvariant all e in l: e.value",
    "reference": "r: M?  A on go do r = self  invariant r == none",
    "duration": "d: duration  b: bool = true  A on go do { d = 5s; b = false }  invariant b and b",
    "state": "s: state of M  b: bool = true  state B  A -> B on go do { s = B; b = false }  ignore go in B"
    "\ninvariant b and b",
    "answer": "b: bool = true  action ask -> yes | no  A on go do ask  A on ask.yes do b = true"
    "\nA on ask.no do b = false  invariant b and b",
    "round": "a: bool  b: bool = true  action ask -> yes  A on go do { a = true; ask }  A on ask.yes"
    "\nA -> A when a and not wait do { a = false; b = false; ask }  invariant b and b",
}
"""What a machine has beside a state `A` and an event `go`, and an invariant of it that does not hold."""

SYSTEMS = {
    "message": """channel c: fifo[2] to M
        machine M {
            b: bool = true  initial state A  event go from environment  event put(x: bool) from c
            A on go when size(c) < 2 do send c.put(false)  ignore go in A  A on put(x) do b = x
        }
        system S { one: M  invariant one.b and one.b }""",
    "bag": """channel c: lossy bag[2] to M
        machine M {
            b: bool = true  initial state A  event go(x: bool) from environment  event put(x: bool) from c
            A on go(x) when size(c) < 2 do send c.put(x)  ignore go in A  A on put(x) do b = x
        }
        system S { one: M  invariant one.b and one.b }""",
    "crash": """machine M { durable b: bool = true  initial state A  event go from environment  A on go do b = false }
        system S { one: M  environment { one.go  crash }  recover { one.b = true }  invariant one.b and one.b }""",
    "start": """machine M { b: bool = any  initial state A  event go from environment  A on go do b = not b }
        system S { ones: M[2]  invariant all x in ones: x.b }""",
    "bound": """machine M {
            n: 0..3  b: bool = true  initial state A  event go from environment
            A on go when n < 3 do { n = n + 1; b = false }  ignore go in A
        }
        system S { one: M  explore while one.n < 2  invariant one.b and one.n < 2 }""",
}
"""Systems that break an invariant, of what is not a field alone."""


@dataclass(frozen=True)
class Victim:
    """A system, and what can be said of it honestly."""

    name: str
    universe: Universe
    lines: tuple[str, ...]
    """All states that it reaches."""
    broken: bool
    """Is there an invariant that does not hold in all of them?"""


@cache
def handwritten() -> tuple[Victim, ...]:
    """Systems that break an invariant, one for each kind of value."""
    texts = {
        name: f"{TYPES}machine M {{ {body}\ninitial state A  event go from environment }}\nsystem S {{ one: M }}"
        for name, body in FIELDS.items()
    }
    victims = []
    for name, text in {**texts, **SYSTEMS}.items():
        model = model_of(f"module v\n{text}")
        victim = _victim(name, Universe(model, model.systems["v.S"]))
        assert victim is not None, name
        assert victim.broken, name
        victims.append(victim)
    return tuple(victims)


def random_victims(seed: int) -> Iterator[Victim]:
    """Systems of random specs, with their invariants; and once more for each of their other conditions, as the only
    invariant, if it does not hold."""
    for model, system in systems(text_of(seed)):
        victim = _victim(f"seed {seed}", Universe(model, system))
        if victim is None:
            continue
        yield victim
        for n, condition in enumerate(_conditions(system)):
            invariant = m.Invariant(f"forged {n}", condition, "", None)
            other = _victim(victim.name, Universe(model, replace(system, invariants=(invariant,))))
            if other is not None and other.broken:
                yield other


def _conditions(system: m.System) -> Iterator[m.Expr]:
    for x in system.reachables:
        yield x.condition
        yield m.Not(x.condition)


def _victim(name: str, universe: Universe) -> Victim | None:
    """None if there are too many states, or none."""
    if universe.fault is not None:
        return None
    try:
        worlds, _ = recheck._reached(universe, MOST)
    except (RefusedError, TooManyValuesError):
        return None
    return Victim(name, universe, tuple(worlds), any(not _good(universe, x) for x in worlds.values()))


def _good(universe: Universe, world: World) -> bool:
    """Does every invariant hold?"""
    try:
        return all(holds(universe, world, x.condition, instance=n) for _, x, n in invariants(universe))
    except FaultError:
        return False


# The liar ------------------------------------------------------------------------------------------------------------

LIES: dict[str, Callable[[Any], Any]] = {
    "truth as number": lambda x: int(x) if type(x) is bool else x,
    "truth as fraction": lambda x: float(x) if type(x) is bool else x,
    "number as fraction": lambda x: float(x) if type(x) is int and float(x) == x else x,
    "number as truth": lambda x: bool(x) if type(x) is int and x in (0, 1) else x,
    "nothing as minus nothing": lambda x: -0.0 if type(x) in (bool, int) and x == 0 else x,
    "none as false": lambda x: False if x is None else x,
    "false as none": lambda x: None if x is False else x,
    "true as text": lambda x: "true" if x is True else x,
    "number as text": lambda x: str(x) if type(x) is int else x,
}


@dataclass(frozen=True)
class Lie:
    """Which atoms are written otherwise, and how."""

    part: int
    """Of a world."""
    places: tuple[int, ...]
    """An instance and a field, or a queue, or nothing: everything in the part."""
    kind: str
    always: bool
    """Or only where an invariant does not hold otherwise."""

    def of(self, world: World) -> World:
        """The world as it is presented."""
        parts = list(world)
        parts[self.part] = _changed(parts[self.part], self.places, LIES[self.kind])
        return World(*parts)


def _changed(value: Any, places: tuple[int, ...], change: Callable[[Any], Any]) -> Any:
    if places:
        first, *rest = places
        return (*value[:first], _changed(value[first], tuple(rest), change), *value[first + 1 :])
    match value:
        case Message(event, arguments):
            return Message(event, _changed(arguments, (), change))
        case frozenset():
            return frozenset(_changed(x, (), change) for x in value)
        case RecordValue(parts):
            return RecordValue(_changed(parts, (), change))
        case Table(entries):
            return Table(_changed(entries, (), change))
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*(_changed(x, (), change) for x in value))
        case tuple():
            return tuple(_changed(x, (), change) for x in value)
        case _:
            return change(value)


def lies(universe: Universe) -> list[Lie]:
    """All lies about a system."""
    fields = [(n, slot) for n, x in enumerate(universe.machines) for slot in range(len(x.fields))]
    whole: list[tuple[int, tuple[int, ...]]] = [(part, ()) for part in range(1, 6)]
    places = [*whole, *((1, x) for x in fields), *((3, (n,)) for n in range(len(universe.queues)))]
    return [Lie(part, x, kind, always) for part, x in places for kind in LIES for always in (True, False)]


def closed(universe: Universe, chosen: Sequence[Lie]) -> list[str] | None:
    """The lines of states that seem to be closed, each written as the lies have it. None: they have no end."""
    worlds: dict[World, None] = {}
    waiting: list[World] = []

    def meet(world: World) -> None:
        presented = world if world in worlds else _presented(universe, world, chosen)
        if presented not in worlds:
            worlds[presented] = None
            waiting.append(presented)

    for start in universe.starts:
        meet(start)
    while waiting:
        if len(worlds) > 2 * MOST:
            return None
        for world in _after(universe, waiting.pop()):
            meet(world)
    return [encoded(x) for x in worlds]


def _presented(universe: Universe, world: World, chosen: Sequence[Lie]) -> World:
    for lie in chosen:
        if lie.always or not _seems_good(universe, world):
            world = lie.of(world)
    return world


def _seems_good(universe: Universe, world: World) -> bool:
    try:
        return _good(universe, world)
    except Exception:  # the definition makes nothing of what it cannot meet
        return False


def _after(universe: Universe, world: World) -> set[World]:
    try:
        return recheck._next(universe, world)[0]
    except Exception:
        return set()


# The vandal ----------------------------------------------------------------------------------------------------------

TOKEN = re.compile(r'true|false|null|-?\d+|"[^"]*"')

SPELLINGS: dict[str, tuple[str, ...]] = {
    "true": ("1", "1.0", "1e0", '"true"', "True", "[true]", "null", "false"),
    "false": ("0", "-0", "0.0", "-0.0", "0e5", '""', "[]", "{}", "null", "true"),
    "null": ("false", "0", "[]", '""', "[null]", "NaN"),
}

LOOK_ALIKES = str.maketrans(
    "aeopcxABEHKMOPTX",
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0410\u0412\u0415\u041d\u041a\u041c\u041e\u0420\u0422\u0425",
)


def spellings(token: str) -> tuple[str, ...]:
    """What a reader could take for a value, and what it could not."""
    if token in SPELLINGS:
        return SPELLINGS[token]
    if token.startswith('"'):
        name = token[1:-1]
        escaped = "".join(f"\\u{ord(x):04x}" for x in name)
        return (f'"{name.translate(LOOK_ALIKES)}"', f'"{escaped}"', f'"{name}\\u0000"', f'" {name}"', name, "0", "null")
    return (f"{token}.0", f"{token}e0", f"-{token}", f"0{token}", f'"{token}"', f"{token}.5", "true", "false", "NaN",
            "Infinity", "9" * 5000, f"[{token}]")  # fmt: skip


def vandalised(lines: Sequence[str], random: Random) -> list[str]:
    """The lines of a certificate after some changes."""
    lines = list(lines)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if lines:
            lines = random.choice(CHANGES)(lines, random)
    return lines


def _one_dropped(lines: list[str], random: Random) -> list[str]:
    gone = random.randrange(len(lines))
    return lines[:gone] + lines[gone + 1 :]


def _one_twice(lines: list[str], random: Random) -> list[str]:
    return [*lines, random.choice(lines)]


def _one_spaced(lines: list[str], random: Random) -> list[str]:
    return [*lines, random.choice(lines).replace(",", random.choice((", ", " ,", ",\n", ",,")), 1)]


def _all_of_a_token(lines: list[str], random: Random) -> list[str]:
    """The same value, wherever it is, in the same other spelling."""
    token = random.choice(TOKEN.findall(random.choice(lines)) or [""])
    spelling = random.choice(spellings(token)) if token else ""
    return [TOKEN.sub(lambda x: spelling if x[0] == token else x[0], line) for line in lines]


def _one_place(lines: list[str], random: Random) -> list[str]:
    """The value in one place of every state, or of one state, in another spelling."""
    place, chance = random.randrange(12), random.random()
    only = None if random.random() < 0.7 else random.randrange(len(lines))

    def changed(n: int, line: str) -> str:
        tokens = list(TOKEN.finditer(line))
        if place >= len(tokens) or (only is not None and n != only):
            return line
        token = tokens[place]
        others = spellings(token[0])
        return f"{line[: token.start()]}{others[int(chance * len(others))]}{line[token.end() :]}"

    return [changed(n, line) for n, line in enumerate(lines)]


def _one_as_object(lines: list[str], random: Random) -> list[str]:
    name = random.choice(("set", "map", "record", ""))
    return [re.sub(r"\[([^\[\]]*)\]", rf'{{"{name}":[\1]}}', line, count=random.choice((1, 0))) for line in lines]


def _values_twice(lines: list[str], random: Random) -> list[str]:
    return [re.sub(r"\[([^\[\]]+)\]", r"[\1,\1]", line, count=random.choice((1, 2, 0))) for line in lines]


def _exchanged(lines: list[str], random: Random) -> list[str]:
    """Two values of a state."""
    n = random.randrange(len(lines))
    tokens = list(TOKEN.finditer(lines[n]))
    if len(tokens) < 2:
        return lines
    a, b = sorted(random.sample(tokens, 2), key=lambda x: x.start())
    line = lines[n]
    line = f"{line[: a.start()]}{b[0]}{line[a.end() : b.start()]}{a[0]}{line[b.end() :]}"
    return [*lines[:n], line, *lines[n + 1 :]]


CHANGES = (
    _one_dropped, _one_twice, _one_spaced, _all_of_a_token, _all_of_a_token, _one_place, _one_place, _one_as_object,
    _values_twice, _exchanged,
)  # fmt: skip

ENVELOPE: tuple[tuple[str, str], ...] = (
    (r'"states": (\d+)', r'"states": \1.0'),
    (r'"states": (\d+)', r'"states": "\1"'),
    (r'"states": \d+', '"states": true'),
    (r'"states": \d+', '"states": NaN'),
    (r'"states": (\d+)', r'"states": 0, "states": \1'),
    (r'"as_documented": false', '"as_documented": 0'),
    (r'"as_documented": false', '"as_documented": null'),
    (r'"as_documented": false', '"as_documented": false, "without": ["amendment"]'),
    (r'"settings": \[\]', '"settings": {}'),
    (r'"settings": \[\]', '"settings": [""]'),
    (r'"settings": \[\]', '"settings": ["n=1", "n=1"]'),
    (r'"digest": "(.)', r'"digest": " \1'),
    (r'"invariants": \[', '"invariants": [], "invariants": ['),
    (r'"systems": \[', '"systems": [], "systems": ['),
    (r'"format": "fsmdsl certificate 2"', '"format": "fsmdsl certificate 1"'),
    (r'"format": "fsmdsl certificate 2"', '"format": ["fsmdsl certificate 2"]'),
    (r"^\{", "[" * 100_000 + "{"),
)
"""Changes of the rest of a certificate."""

# Presenting ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forgery:
    """What was presented."""

    victim: Victim
    how: str
    lines: tuple[str, ...]

    @property
    def about(self) -> CertifiedSystem:
        """The certificate, with the number and the digest that belong to its lines."""
        names = tuple(name for name, _, _ in invariants(self.victim.universe))
        system = self.victim.universe.system.qualified
        return CertifiedSystem(system, names, len(self.lines), digest(self.lines), self.lines)

    @property
    def false(self) -> bool:
        """Would it be wrong to confirm it?"""
        return self.victim.broken or not {*self.victim.lines} <= {*self.lines}


def forgeries(victim: Victim, random: Random) -> Iterator[Forgery]:
    """All lies, then some together, and in turns with them what a vandal leaves, without end."""
    alone = lies(victim.universe)
    random.shuffle(alone)
    queue: list[Sequence[Lie]] = [[x] for x in alone]
    while True:
        chosen = queue.pop() if queue else random.sample(alone, min(len(alone), random.randint(2, 3)))
        lines = closed(victim.universe, chosen)
        if lines is not None:
            yield Forgery(victim, "; ".join(map(str, chosen)), tuple(lines))
        yield Forgery(victim, "vandal", tuple(vandalised(victim.lines, random)))


def confirmed(forgery: Forgery) -> bool:
    """Is it taken for true?"""
    try:
        recheck.confirm(forgery.victim.universe, forgery.about)
    except RefusedError:
        return False
    return True


def unread(forgery: Forgery, random: Random) -> bool:
    """Is the certificate refused before its states are looked at, once something else in it is wrong?"""
    text = rendered(Certificate({"v": "0" * 64}, False, (), (forgery.about,)))
    pattern, other = random.choice(ENVELOPE)
    changed, times = re.subn(pattern, lambda x: x.expand(other), text, count=1)
    assert times == 1
    try:
        parse(changed.encode("utf-8", "surrogatepass"))
    except RefusedError:
        return True
    return False


@dataclass
class Campaign:
    """What came of many forgeries."""

    counts: Counter[str]
    failures: list[str]


def campaign(tries: int, seed: int, victims: Sequence[Victim], told: Callable[[str], None] = print) -> Campaign:
    """So many forgeries, of each victim in turn."""
    random, made = Random(seed), Campaign(Counter(), [])
    makers = [forgeries(x, random) for x in victims]
    for n in range(tries):
        forgery = next(makers[n % len(makers)])
        try:
            wrong = "confirmed" if confirmed(forgery) and forgery.false else None
            if n % 16 == 0 and not unread(forgery, random):
                wrong = "read though it is malformed"
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        made.counts["vandal" if forgery.how == "vandal" else "liar"] += 1
        if wrong is not None:
            made.failures.append(f"{wrong}: {forgery.victim.name}: {forgery.how}: {json.dumps(forgery.lines)}")
            told(made.failures[-1])
    return made


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description="Forges certificates.")
    parser.add_argument("--tries", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--systems", type=int, default=200, help="random systems, beside those written by hand")
    given = parser.parse_args()
    begun = time.monotonic()
    random_ones = (x for seed in count(given.seed) for x in random_victims(seed))
    victims = [*handwritten(), *islice(random_ones, given.systems)]
    made = campaign(given.tries, given.seed, victims)
    print(
        f"{dict(made.counts)} of {len(victims)} systems, {sum(x.broken for x in victims)} of which break an invariant"
    )
    print(f"{len(made.failures)} should not have been confirmed, after {time.monotonic() - begun:.0f} s")
    return 1 if made.failures else 0


if __name__ == "__main__":
    sys.exit(main())
