"""Random systems whose members are interchangeable, with records that refer to them: in fields, lists and messages."""

from __future__ import annotations

from random import Random

DATA = {
    "pair": "pair: Pair",
    "two": "two: Two",
    "pairs": "pairs: list<Pair>[2]",
    "nest": "nest: Nest",
    "maybe": "maybe: Pair?",
    "seen": "seen: set<Pair>",
    "plain": "plain: set<Plain>",
}
"""What the hub may hold."""

EFFECTS = {
    "pair": ["pair = p", "pair.who = none", "pair.n = 1 - pair.n", "if p != pair { pair = p }"],
    "two": ["two.a = p.who", "two = Two(p.who, two.a)", "two = Two(b = p.who, a = none)"],
    "pairs": ["pairs = if size(pairs) < 2 then pairs + [p] else rest(pairs) + [p]", "remove p from pairs"],
    "nest": ["nest.p = p", "nest.p.n = 1 - nest.p.n", "nest.of = nest.of + {p.who}"],
    "maybe": ["maybe = p", "maybe = none", "if maybe != none and maybe.who == p.who { maybe = Pair(none, p.n) }"],
    "seen": ["add p to seen", "remove p from seen"],
    "plain": ["add Plain(p.n, p.who != none) to plain", "plain = {}"],
}
"""What the hub may do with a pair `p`, which a field makes possible."""

ASKED = {
    "pair": "some n in nodes: hub.pair == Pair(n, 1)",
    "two": "hub.two.a != none and hub.two.a == hub.two.b",
    "pairs": "size(hub.pairs) == 2 and hub.pairs[0] == last(hub.pairs)",
    "nest": "size(hub.nest.of) == 2",
    "maybe": "hub.maybe != none and hub.maybe.n == 1",
    "seen": "some p in hub.seen: p.n == 1",
    "plain": "size(hub.plain) == 2",
}


def members(seed: int) -> str:
    """The text of a module; the same for the same seed."""
    random = Random(seed)
    held = random.sample(sorted(DATA), random.choice([1, 1, 2]))
    if "seen" in held and random.random() < 0.7:
        held = ["pair"]
    effects = [x for name in held for x in EFFECTS[name]]

    def some() -> str:
        return "; ".join(random.sample(effects, min(len(effects), random.choice([1, 1, 2]))))

    kind = f"{random.choice(['', '', 'lossy '])}{random.choice(['fifo', 'bag'])}[{random.choice([1, 2])}]"
    own = random.choice(["own: Pair", "own: bool", "own: Pair?"])
    writes = "own = Pair(o, 1)" if "Pair" in own else "own = o == self"
    told = random.choice(["send mail.note(Pair(self, 1))", "hub.tell(Pair(self, 0))", "send mail.note(Pair(none, 0))"])
    met = random.choice([writes, "hub.tell(Pair(o, 0))", "send mail.note(Pair(o, 1))"])
    return f"""module members_{seed}
record Pair {{ who: Node?  n: 0..1 }}
record Two {{ a: Node?  b: Node? }}
record Nest {{ of: set<Node?>  p: Pair }}
record Plain {{ n: 0..1  b: bool }}
channel mail: {kind} to Hub
machine Hub {{
    {"  ".join(DATA[name] for name in held)}
    initial state H
    event note(p: Pair) from mail
    event tell(p: Pair) from Node
    H on note(p) do {{ {some()} }}
    H on tell(p) do {{ {some()} }}
}}
machine Node {{
    param hub: Hub
    {own}
    initial state A
    state B
    event go, meet(o: Node) from environment
    A -> B on go      when size(mail) == 0 do {told}
    {random.choice(["B", "A", "A -> B"])} on meet(o) when size(mail) == 0 do {met}
    ignore go, meet in *
}}
system S {{
    hub: Hub
    nodes: Node[{random.choice([2, 3])}] symmetric {{ hub = hub }}
    reachable {ASKED[held[0]]}
    invariant not ({ASKED[held[-1]]})
}}
"""
