"""Random environments in which conditions, arguments and ranges may have no value: a small system, from a seed.

Fields may be none, lists empty, numbers 0; so an offer may lack a value in one state and have one in another, for one
value of its variables and not for the other.
"""

from __future__ import annotations

from random import Random

CONDITIONS = (
    "m.o.n < 2", "m.o == none or m.o.n == 1", "m.o in B", "first(m.l) == 0", "6 / m.n > 2", "m.l[m.n] > 0", "m.n < 2",
    "all k in ms: k.o.n == m.n", "some k in ms: k.l[0] == 1", "all i in 0..size(m.l): m.l[i] < 2", "m in A",
    "m.o.o == m and m.n < 2", "not (first(m.l) == m.o.n)", "m.votes[m.l[0]]", "(count k in ms: k.o.n > 0) < 2",
)  # fmt: skip
"""Of an instance `m` of the set `ms`."""
TARGETS = ("m", "m", "m", "m.o", "ms[m.n]", "m.o.o", "ms[0]")
ARGUMENTS = ("m.n", "first(m.l)", "2 / m.n", "m.o.n", "m.l[m.n]", "1")
RANGES = ("ms", "ms", "ms", "others", "{ms[0].o}", "{ms[1], ms[ms[0].n]}", "{ms[0].o.o, ms[0]}")
PLAIN = (
    "some m in ms: m.go", "some m in ms: m.back", "some m in ms: m.drop", "some m in ms, k in {0, 1}: m.set(k)",
    "some m in ms, k in ms: m.meet(k)",
)  # fmt: skip
"""Lines that always have a value, which lead somewhere."""
MACHINE = """
module environment_{seed}
machine M {{
    o: M?
    n: 0..2
    l: list<0..2>[2]
    votes: map<0..2, bool>
    initial state A
    {final}state B
    event go, back, drop from environment
    event set(k: 0..2) from environment
    event meet(k: M) from environment
    A -> B  on go    when n < 2  do {{ n = n + 1; o = {first} }}
    B -> A  on back  do {{ l = rest(l); n = 0 }}
    * on drop  do o = none
    A on set(k)  when size(l) < 2 {guard} do {{ add k to l; votes[k] = true }}
    B on meet(k)  do o = k
    * -> A  on crash  do n = {crashed}
}}
"""


def text_of(seed: int) -> str:
    """The text of a module with one system."""
    random = Random(f"environment {seed}")
    head = MACHINE.format(
        seed=seed,
        final=random.choice(["", "final ", "resting "]),
        first=random.choice(["self", "none", "o"]),
        guard=random.choice(["", "and first(l) == 0", "and o.n < 2"]),
        crashed=random.choice(["0", "0", "n", "o.n"]),
    )
    lines = [_line(random) for _ in range(random.randint(1, 4))]
    lines += random.sample(PLAIN, random.randint(1, 4))
    random.shuffle(lines)
    symmetric = " symmetric" if random.random() < 0.4 else ""
    if symmetric:
        lines = [x for x in lines if "[0]" not in x and "[1]" not in x and "ms[" not in x] or ["some m in ms: m.go"]
    recover = "    recover { for k in ms { k.o = none } }\n" if random.random() < 0.2 else ""
    asked = [
        "    invariant few: (count k in ms: k in B) < 2 or (all k in ms: k.n < 2)",
        "    reachable both: all k in ms: k in B",
        "    property moves: all k in ms: k in A ~> k in B under strong fair go" if not symmetric else "",
    ]
    body = "\n".join(f"        {x}" for x in lines)
    others = "    let others = ms - {ms[0]}\n" if not symmetric else "    let others = ms\n"
    rest = random.choice(["", "", "    may rest when ms[0].o.n == 2 or all k in ms: k in A\n"]) if not symmetric else ""
    bound = rest + "    explore while (count k in ms: size(k.l) > 1) < 1\n"
    text = (
        f"{head}system S {{\n    ms: M[2]{symmetric}\n{others}{bound}    environment {{\n{body}\n    }}\n{recover}"
        + "\n".join(x for x in asked if x)
        + "\n}\n"
    )
    return text if random.random() < 0.4 else _without_maps(text)


def _without_maps(text: str) -> str:
    """The same with a set, for exports that have no maps."""
    text = text.replace("votes: map<0..2, bool>", "votes: set<0..2>").replace("votes[k] = true", "add k to votes")
    return text.replace("m.votes[m.l[0]]", "m.votes has m.l[0]")


def _line(random: Random) -> str:
    kind = random.random()
    over = random.choice(RANGES)
    variables = f"some m in {over}"
    if random.random() < 0.25:
        variables += f", k in {random.choice(['ms', '{m.o}', 'ms - {m.o}'])}"
    when = f" when {' and '.join(random.sample(CONDITIONS, random.choice([1, 1, 2])))}"
    when = when if random.random() < 0.8 else ""
    if kind < 0.1:
        return f"crash when all m in ms: {random.choice(CONDITIONS)}"
    if kind < 0.15:
        return f"crash between writes when some m in ms: {random.choice(CONDITIONS)}"
    if kind < 0.2:
        return f"crash during recovery when some m in ms: {random.choice(CONDITIONS)}"
    target = random.choice(TARGETS)
    if kind < 0.35:
        return f"{variables}: crash of {target}{when}"
    if kind < 0.6:
        return f"{variables}: {target}.set({random.choice(ARGUMENTS)}){when}"
    if kind < 0.75:
        return f"{variables}: {target}.meet({random.choice(['m', 'm.o', 'ms[m.n]'])}){when}"
    return f"{variables}: {target}.{random.choice(['go', 'back', 'drop'])}{when}"
