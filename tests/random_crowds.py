"""Random systems with symmetric sets.

`crowd`: items that bosses hold, in sets, in lists and one at a time, and that hold one another. Small, and made so that
it often matters which item comes first: loops over items, items that go on without an event, lost in crashes, or looked
at by conditions that may have no value. `alike`: a random spec in which instances are interchangeable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random

from random_expressions import Env
from random_specs import _Specs

from fsmdsl import model as m

ITEM_EFFECTS = [
    "n = min(n + 1, 2)",
    "n = n + 1",
    "n = max(n - 1, 0)",
    "flag = not flag",
    "owner = none",
    "owner = by",
    "if by != none { by.told(self) }",
    "if owner != none { owner.told(self) }",
    "if owner != none and owner != by { owner.told(self) }",
    "owner.told(self)",
    "if owner != none { n = owner.n }",
    "if owner != none { peer = owner.last }",
    "peer = none",
    "peer = self",
    "if peer != none and peer != self { peer.drop }",
    "add self to seen",
    "if peer != none { add peer to seen }",
    "for i in seen - {self} { i.drop }",
    "for i in seen { flag = i.flag }",
    "send box.note(self)",
    "if size(box) < 2 { send box.note(self) }",
    "work",
]

BOSS_EFFECTS = [
    "for i in items { i.poke(self) }",
    "for i in items { i.poke(none) }",
    "for i in items { i.drop }",
    "for i in items { if i in A { i.poke(self) } else { remove i from items } }",
    "for i in items { if i.n == 0 { i.poke(self) } }",
    "for i in items { n = min(n + i.n, 3) }",
    "for i in items { n = i.n }",
    "for i in items { last = i }",
    "for i in items { if n == 0 { i.poke(self); n = 1 } }",
    "for i in items { if size(queue) < 2 { add i to queue } }",
    "for i in items { add i to queue }",
    "for i in items { for j in items - {i} { if j in A { i.poke(self) } } }",
    "for i in items { send box.note(i) }",
    "for i in items { if i.owner == none { i.poke(self); add i to held } }",
    "for i in held { remove i from items }",
    "if size(queue) > 0 { last = first(queue); queue = rest(queue) }",
    "if last != none { last.poke(self) }",
    "last = none",
    "last = given",
    "if given != none { add given to items }",
    "if given != none { remove given from items; given.drop }",
    "items = {}",
    "items = items + held",
    "held = items",
    "n = min(n + 1, 3)",
    "n = 0",
    "n = size(items)",
]

ITEM_GUARDS = ["n > 0", "n < 2", "flag", "owner == none", "owner != none", "peer == self", "self in seen"]
OWN_GUARDS = ["n > 0", "n == 1", "flag", "not flag"]
BOSS_GUARDS = [
    "n > 0",
    "n == 0",
    "all i in items: i in A",
    "some i in items: i.n > 0",
    "some i in items: i.owner.n == n",
    "all i in items: i.owner.n == n",
    "(count i in items: i.peer.flag) > 0",
    "last == none",
    "size(queue) == 0",
    "some p in subsets(items, 2): all i in p: i in B",
    "items == held",
]
CONDITIONS = [
    "all i in items: i.n < 2",
    "all i in items: i in C => i.owner != none",
    "some i in items: i.owner.n == 3",
    "all b in bosses: b.n < 3",
    "all b in bosses: all i in b.items: i.owner == b or i.owner == none",
    "some b in bosses: b.last != none and b.last in b.items",
    "all b in bosses: size(b.queue) < 2",
    "some i in items, j in items: i.peer == j and j.peer == i and i != j",
    "(count i in items: i in B) < 2",
    "hub.last == none",
    "some b in bosses: some p in subsets(items, 2): p == b.held",
]
OFFERS = [
    "some i in items: i.go",
    "some b in bosses: b.tick",
    "some b in bosses, i in items: b.give(i)",
    "some b in bosses: b.give(none)",
    "some b in bosses, i in b.items: b.give(i) when i in A",
    "some b in bosses, i in items: b.give(i) when b.last != i and i.n < 2",
    "some b in bosses, i in items: b.give(i) when i.owner.n > 0",
    "some b in bosses, p in subsets(items, 2): b.start(p)",
    "some b in bosses, p in subsets(items, 2): b.start(p) when all i in p: i.owner == none",
    "some i in items, j in items: i.meet(j) when i != j",
]


CRASHES = [
    "some i in items: crash of i",
    "some i in items: crash of i when i in B",
    "some b in bosses: crash of b",
    "some b in bosses, i in b.items: crash of i, b",
    "some i in items, j in items: crash of i, j when i != j",
    "crash of hub",
]

RUNS = [
    "all b in bosses: b in Busy ~> b in Idle under fair tick",
    "all b in bosses: b in Idle ~> b in Busy under strong fair tick and fair give",
    "some b in bosses: eventually always b.n == 3",
    "always ((all b in bosses: b.n == 0) => next (all b in bosses: b.n < 2))",
    "eventually always (some i in items: i in C)",
    "always eventually (all i in items: i not in B) under fair tick and strong fair Boss.give",
    "(some i in items: i in B) ~> (all i in items: i not in B) under fair note",
    "(hub.last == none) until (some b in bosses: b in Busy) under fair tick",
    "always eventually (all b in bosses: b in Idle) under strong fair give for each given, fair tick",
    "(some b in bosses: b.n > 0) ~> (all b in bosses: b in Idle) under strong fair tick, finitely many crashes",
    "eventually always (all i in items: i.n == 0) under finitely many crashes",
    "always ((count i in items: i in C) < 2)",
    "all i in items: i in B ~> i not in B under fair tick",
    "always eventually (some i in items: i in A) under fair go",
]


def crowd(seed: int, *, runs: bool = False) -> str:
    """The text of a module; the same for the same seed. With `runs`, it is asked about runs as well."""
    text = _Crowd(Random(seed)).text()
    if not runs:
        return text
    random = Random(seed)
    known = [x for x in RUNS if "B ~>" not in x or random.random() < 0.3]
    asked = "".join(f"    property p{n}: {x}\n" for n, x in enumerate(random.sample(known, 2)))
    return f"{text.removesuffix('}' + chr(10))}{asked}}}\n"


class _Crowd:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.linked = self.chance(0.4)
        """Do items refer to one another?"""
        self.lonely = self.chance(0.3)
        """Or to nobody at all?"""

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def text(self) -> str:
        pick = self.random.choice
        lines = [f"module crowd\nchannel box: {pick(['fifo', 'bag'])}[{pick([1, 2, 2])}] to Hub", *self._item()]
        lines += [*self._boss(), *self._hub(), *self._system()]
        return "\n".join(lines) + "\n"

    # Machines

    def _do(self, effects: list[str], least: int = 0) -> str:
        listed = self.random.sample(effects, self.random.choice([least, 1, 1, 2]))
        return f" do {{ {' '.join(x if x.endswith('}') else x + ';' for x in listed)} }}" if listed else ""

    def _effects(self, *bound: str) -> list[str]:
        """Those that an item can have, where these names are bound."""
        known = [x for x in ITEM_EFFECTS if self.linked or not any(y in x for y in ("peer", "seen"))]
        known = [x for x in known if not self.lonely or "owner" not in x]
        return [x for x in known if "by" in bound or ("by" not in x.split() and "by." not in x)]

    def _when(self, guards: list[str], p: float) -> str:
        known = [x for x in guards if self.linked or not any(y in x for y in ("peer", "seen"))]
        known = [x for x in known if not self.lonely or "owner" not in x]
        return f" when {self.random.choice(known)}" if self.chance(p) else ""

    def _item(self) -> list[str]:
        lines = ["machine Item {", "    n: 0..2", f"    {'durable ' * self.chance(0.5)}flag: bool"]
        lines += [] if self.lonely else ["    owner: Boss?"]
        lines += ["    peer: Item?", "    seen: set<Item>"] if self.linked else []
        lines += [
            "    initial state A",
            f"    {self.random.choice(['', '', 'volatile '])}state B",
            f"    {self.random.choice(['', '', 'volatile ', 'final '])}state C",
            "    event go, meet(other: Item) from environment",
            "    event poke(by: Boss?) from Boss",
            "    event drop",
            "    action work",
        ]
        for source in ("A", "B"):
            lines += [
                f"    {source} -> {self._state()} on go{self._when(ITEM_GUARDS, 0.4)}{self._do(self._effects())}"
                for _ in range(self.chance(0.8))
            ]
            lines.append(f"    {source} -> {self._state()} on poke(by){self._do(self._effects('by'))}")
        if self.linked:
            lines.append(f"    A -> {self._state()} on meet(other) do {{ peer = other }}")
        elif self.chance(0.3):
            lines.append(f"    A, B -> {self._state()} on meet do n = min(n + 1, 2)")
        lines.append(f"    A, B -> {self._state()} on drop{self._do(self._effects())}")
        if self.chance(0.4):
            lines.append(f"    B -> C when wait and {self.random.choice(OWN_GUARDS)}{self._do(self._effects())}")
        lines += ["    B -> A on crash do n = min(n + 1, 2)"] * self.chance(0.5)
        lines += ["    C -> A on crash when flag"] * self.chance(0.4)
        lines += [f"    ignore {x} in C" for x in ("drop", "poke") if self.chance(0.6)]
        lines += ["    invariant n < 2 or flag"] * self.chance(0.3)
        return [*lines, "}"]

    def _state(self) -> str:
        return self.random.choice(["A", "B", "B", "C"])

    def _boss(self) -> list[str]:
        effects = [x for x in BOSS_EFFECTS if not self.lonely or "owner" not in x]
        bare = [x for x in effects if "given" not in x]
        guards = [x for x in BOSS_GUARDS if self.linked or "peer" not in x]
        durable = "durable " * self.chance(0.5)
        lines = ["machine Boss {", f"    {durable}items: set<Item>", "    held: set<Item>", "    last: Item?"]
        lines += ["    queue: list<Item>[2]", "    n: 0..3", "    initial state Idle", "    state Busy"]
        lines += ["    event tick, give(given: Item?), start(chosen: set<Item>) from environment"]
        lines += ["    event told(who: Item) from Item"]
        lines.append(f"    Idle -> Busy on tick{self._when(guards, 0.4)}{self._do(bare, 1)}")
        lines.append(f"    Busy -> Idle on tick{self._when(guards, 0.4)}{self._do(bare, 1)}")
        lines.append(f"    Idle -> {self.random.choice(['Idle', 'Busy'])} on give(given){self._do(effects, 1)}")
        lines.append(f"    Idle -> Busy on start(chosen){self._when(guards, 0.2)} do {{")
        lines.append(
            f"        items = chosen for i in chosen {{ {self.random.choice(['i.poke(self)', 'i.drop'])} }} }}"
        )
        told = self.random.sample(["n = min(n + 1, 3)", "remove who from items", "last = who", "held = {}"], 1)[0]
        lines.append(f"    {self.random.choice(['Idle, Busy', 'Idle', 'Busy'])} -> Idle on told(who) do {told}")
        lines += ["    ignore told in *"] * self.chance(0.4)
        lines += ["    Busy -> Idle on crash"] * self.chance(0.4)
        return [*lines, "}"]

    def _hub(self) -> list[str]:
        effects = ["last = who", "last = none", "who.drop", "if last == none { last = who }"]
        return [
            "machine Hub {",
            "    last: Item?",
            "    initial state On",
            "    event note(who: Item) from box",
            f"    On on note(who) do {self.random.choice(effects)}",
            "}",
        ]

    # The system

    def _system(self) -> list[str]:
        random = self.random
        items, bosses = random.choice([(2, 1), (3, 1), (3, 1), (2, 2), (3, 2), (4, 1)])
        begins = random.choice(["items = items", "items = items", "held = items", "items = items, held = items"])
        lines = ["system Crowd {", f"    items: Item[{items}] symmetric"]
        lines.append(f"    bosses: Boss[{bosses}]{' symmetric' * self.chance(0.5)} {{ {begins} }}")
        lines += ["    hub: Hub", "    environment {"]
        offers = [x for x in OFFERS if not self.lonely or "owner" not in x]
        lines += [f"        {x}" for x in random.sample(offers, random.choice([2, 3, 3, 4]))]
        kinds = {"crash": 0.3, "crash between writes": 0.1, "crash during recovery": 0.1}
        lines += [f"        {kind}" for kind, p in kinds.items() if self.chance(p)]
        lines += [f"        {random.choice(CRASHES)}"] * self.chance(0.4)
        lines.append("    }")
        if self.chance(0.15):
            body = random.choice(["i.n = 0", "i.drop", "if i in B { i.drop }", "for b in bosses { b.last = i }"])
            lines.append(f"    recover {{ for i in items {{ {body} }} }}")
        known = [x for x in CONDITIONS if self.linked or "peer" not in x]
        known = [x for x in known if not self.lonely or "owner" not in x]
        asked = random.sample(known, 3)
        lines += [
            f"    invariant one: {asked[0]}",
            f"    reachable two: {asked[1]}",
            f"    reachable three: {asked[2]}",
        ]
        return [*lines, "}"]


def alike(seed: int) -> str:
    """A spec as of `random_specs`, whose system names no member of a set by itself; the same for the same seed."""
    text = _Alike(Random(seed)).text(f"random_{seed}")
    return re.sub(r"^    property .*\n", "", text, flags=re.MULTILINE)


class _Alike(_Specs):
    def _system_env(self, groups: Mapping[str, tuple[str, int | None]], lets: Mapping[str, m.Type]) -> Env:
        names: dict[str, m.Type] = dict(lets)
        for group, (machine, count) in groups.items():
            t = m.RefType(machine)
            names[group] = t if count is None else m.SetType(t)
        return Env(self.plan, names, self.plan.functions)

    def _instances(self, env: Env, group: str, machine: str, count: int | None) -> str:
        text = super()._instances(env, group, machine, count)
        if count is None:
            return text
        text = re.sub(r"\[\d\]( symmetric)?", f"[{self.random.choice([2, 2, 2, 3])}] symmetric", text, count=1)
        return re.sub(r" \{.*\}$", "", text) if "index" in text and self.chance(0.9) else text
