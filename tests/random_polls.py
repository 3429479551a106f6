"""Random systems whose symmetric members are keys and values of maps: see `random_crowds`.

Members keep count of one another, clerks keep count of members, and maps of both are sent to an office: so that an
entry must move when its key is called otherwise, and change when its value is.
"""

from __future__ import annotations

import re
from random import Random

MEMBER = [
    "votes[about] = min(votes[about] + 1, 2)",
    "votes[about] = votes[about] + 1",
    "votes[self] = votes[about]",
    "votes = 1",
    "if votes[about] > votes[self] { n = votes[about] }",
    "flags[about] = not flags[about]",
    "flags = true",
    "choice[n > 0] = about",
    "choice[false] = self",
    "if choice[true] != none { votes[choice[true]] = 2 }",
    "votes[choice[false]] = 0",
    "pair[about] = self",
    "clerks[true] = by",
    "by.told(self, flags)",
    "n = min(n + 1, 2)",
    "send office.poll(votes)",
    "send office.names(choice)",
]
CLERK = [
    "seen[who] = min(seen[who] + 1, 2)",
    "seen[who] = 0",
    "seen = 0",
    "for x in members { seen[x] = 1 }",
    "for x in members { if seen[x] == 0 { last[0] = x } }",
    "last[1] = who",
    "last[seen[who]] = who",
    "last = who",
    "marks = given",
    "if marks == given { seen[who] = 2 }",
    "if last[0] != none { seen[last[0]] = 1 }",
    "add who to members",
]
OFFERS = [
    "some m in members, x in members, c in clerks: m.go(x, c)",
    "some m in members, x in members, c in clerks: m.go(x, c) when m != x",
    "some m in members, x in members, c in clerks: m.go(x, c) when m.votes[x] < 2",
    "some m in members, c in clerks: c.ask(m)",
    "some m in members, c in clerks: c.ask(m) when c.seen[m] < 2",
    "some m in members: crash of m",
    "crash",
]
ASKED = [
    "invariant a: all m in members, x in members: m.votes[x] < 2",
    "invariant b: all m in members: m.votes == (if m.n == 0 then m.votes else m.votes)",
    "reachable c: some m in members, x in members: m != x and m.votes == x.votes and m.votes[m] > 0",
    "reachable d: some m in members, x in members: m != x and m.flags[x] and not x.flags[m]",
    "invariant e: (count m in members: m.choice[true] == m) < 2",
    "invariant f: all c in clerks: (count m in members: c.seen[m] == 2) < 2",
    "reachable g: some c in clerks: c.last[0] != none and c.last[0] != c.last[1]",
    "property h: always (all m in members: m.n < 2)",
]


def poll(seed: int) -> str:
    """The text of a module; the same for the same seed."""
    random = Random(seed)

    def chance(p: float) -> bool:
        return random.random() < p

    parts = ("votes", "flags", "choice", "seen", "last", "marks")
    missing = [x for x in parts if chance(0.45)] + ["pair"] * chance(0.85) + ["clerks[true]"] * chance(0.7)

    def known(listed: list[str]) -> list[str]:
        return [x for x in listed if not any(re.search(rf"\b{re.escape(y)}", x) for y in missing)]

    def do(effects: list[str]) -> str:
        found = known(effects)
        return f"do {{ {'; '.join(random.sample(found, min(len(found), random.choice([1, 1, 2]))))} }}" if found else ""

    def fields(*listed: str) -> list[str]:
        return [f"    {'durable ' * chance(0.3)}{x}" for x in listed if x.partition(":")[0] not in missing]

    members, clerks = random.choice([(2, 1), (2, 2), (3, 1), (3, 1), (2, 2)])
    lines = [
        "module poll",
        f"channel office: {random.choice(['fifo', 'bag'])}[{random.choice([1, 2])}] to Office",
        "machine Member {",
        "    n: 0..2",
        *fields("votes: map<Member, 0..2>", "flags: map<Member, bool>", "choice: map<bool, Member?>"),
        *fields("pair: map<Member, Member?>"),
        *(["    clerks: map<bool, Clerk?>"] if "clerks[true]" not in missing else []),
        "    initial state A",
        "    state B",
        "    event go(about: Member, by: Clerk) from environment",
        f"    A -> {random.choice('AB')} on go(about, by) {do(MEMBER)}",
        f"    B -> {random.choice('AB')} on go(about, by) {do(MEMBER)}",
        *["    B -> A on crash"] * chance(0.5),
        "}",
        "machine Clerk {",
        *fields("seen: map<Member, 0..2>", "last: map<0..1, Member?>", "marks: map<Member, bool>"),
        "    members: set<Member>",
        "    initial state On",
        "    event told(who: Member, given: map<Member, bool>) from Member",
        "    event ask(who: Member) from environment",
        f"    On on told(who, given) {do(CLERK)}",
        f"    On on ask(who) {do([x for x in CLERK if 'given' not in x])}",
        "}",
        "machine Office {",
        "    most: map<Member, 0..2> = 2",
        "    names: map<bool, Member?>",
        "    initial state On",
        "    event poll(m: map<Member, 0..2>), names(m: map<bool, Member?>) from office",
        "    On on poll(m) do most = m",
        "    On on names(m) do names = m",
        "}",
        "system Poll {",
    ]
    begun = random.choice(["", " { members = members }", " { members = members }"])
    groups = [
        f"    members: Member[{members}] symmetric",
        f"    clerks: Clerk[{clerks}]{' symmetric' * chance(0.6)}{begun}",
    ]
    groups.append("    office: Office")
    random.shuffle(groups)
    offers = [f"        {x}" for x in random.sample(known(OFFERS[:5]), min(2, len(known(OFFERS[:5]))))]
    offers += [f"        {x}" for x in OFFERS[5:] if chance(0.2)]
    asked = known(ASKED)
    listed = [f"    {x}" for x in random.sample(asked, min(3, len(asked))) if "property" not in x or chance(0.5)]
    return "\n".join([*lines, *groups, "    environment {", *offers, "    }", *listed, "}"]) + "\n"
