"""Random systems whose symmetric members have queues of their own: see `random_crowds`.

Members write to one another, to clerks and to an office, of members and of clerks: so that who has which queue, and who
is spoken of in whose, must change together.
"""

from __future__ import annotations

import re
from random import Random

MEMBER = [
    "n = min(n + 1, 2)",
    "n = n + 1",
    "peer = self",
    "peer = about",
    "clerk = none",
    "if peer != none { send mail.letter(self) to peer }",
    "if peer != none and size(mail of peer) == 0 { send mail.letter(about) to peer }",
    "if about != none { send mail.letter(none) to about }",
    "if about != none { send mail.letter(self) to about }",
    "if about != none and size(mail of about) == 0 { send mail.letter(self) to about }",
    "send mail.letter(about) to self",
    "send mail.note(n) to self",
    "if about != none { send mail.note(size(mail of self)) to about }",
    "if clerk != none { send desk.file(self) to clerk }",
    "send desk.file(self) to clerk",
    "for x in all_clerks { send desk.file(self) to x }",
]
CLERK = [
    "last = who",
    "last = none",
    "send mail.given(self) to who; send mail.note(1) to who",
    "send mail.letter(last) to who",
    "if last != none { send mail.letter(who) to last }",
    "send mail.given(self) to who",
    "for x in members { send mail.note(0) to x }",
    "for x in members { if size(mail of x) == 0 { send mail.letter(who) to x } }",
    "add who to members",
    "remove who from members",
]
PAIRS = [
    "if about != none { send link.word(n) to about }",
    "if about != none and size(link from self to about) == 0 { send link.tell(about) to about }",
    "if about != none and size(link from about to self) > 0 { n = 0 }",
    "send link.tell(about) to self",
]
FORMS = ["send form.word(1) to who", "if size(form from self to who) == 0 { send form.tell(who) to who }"]
OFFERS = [
    "some m in members: m.go(none)",
    "some m in members, x in members: m.go(x)",
    "some m in members, x in members: m.go(x) when m != x and size(mail of x) == 0",
    "some c in clerks, m in members: c.ask(m)",
    "some c in clerks, m in members: c.ask(m) when size(desk of c) == 0",
    "some m in members: crash of m",
    "crash",
]
ASKED = [
    "invariant a: all m in members: size(mail of m) < 2",
    "invariant b: all m in members: m in B => m.peer != none or size(mail of m) > 0",
    "reachable c: some m in members, x in members: m != x and size(mail of m) > 0 and size(mail of x) > 0",
    "invariant d: (count m in members: m in B) < 2",
    "property e: always (all m in members: m.n < 2)",
    "property f: (some m in members: m in B) ~> (all m in members: m in A) under fair letter",
    "property h: (some m in members: m in B) ~> (all m in members: m in A) under fair deliver mail.note",
    "property i: eventually always (all c in clerks: size(desk of c) == 0) under strong fair file for each who",
    "property g: eventually always (all c in clerks: size(desk of c) == 0) under strong fair file",
]


def mail(seed: int) -> str:
    """The text of a module; the same for the same seed."""
    random = Random(seed)

    def chance(p: float) -> bool:
        return random.random() < p

    missing = [x for x in ("peer", "clerk", "last", "members") if chance(0.4)]

    def do(effects: list[str], least: int) -> str:
        known = [x for x in effects if not missing or not re.search(rf"\b({'|'.join(missing)})\b", x)]
        return f"do {{ {'; '.join(random.sample(known, min(len(known), random.choice([least, 1, 1, 2]))))} }}"

    def fields(*listed: str) -> list[str]:
        return [f"    {'durable ' * chance(0.3)}{x}" for x in listed if x.partition(":")[0] not in missing]

    def kind() -> str:
        flags = "lossy " * chance(0.2) + "duplicating " * chance(0.2) + "waiting " * chance(0.3)
        return f"{flags}{random.choice(['fifo', 'fifo', 'bag'])}[{random.choice([1, 2, 2])}]"

    pairs = chance(0.5)
    members, clerks = random.choice([(2, 1), (2, 2), (3, 1), (3, 1), (2, 2)])
    lines = [
        "module mail",
        f"channel mail: {kind()} to each Member",
        f"channel desk: {kind()} to each Clerk",
        *[f"channel link: {kind()} from each Member to each Member"] * pairs,
        *[f"channel form: {kind()} from each Clerk to each Member"] * pairs,
        "machine Member {",
        "    n: 0..2",
        *fields("peer: Member?", "clerk: Clerk?"),
        "    param all_clerks: set<Clerk>",
        "    initial state A",
        "    state B",
        "    event go(about: Member?) from environment",
        "    event letter(about: Member?), note(k: 0..2), given(by: Clerk) from mail",
        *["    event word(k: 0..2), tell(about: Member?) from link, form"] * pairs,
        *[f"    A, B on word(k) do n = k  A -> B on tell(about) {do([*MEMBER, *PAIRS], 1)}  ignore tell in B"] * pairs,
        f"    A -> {random.choice('AB')} on go(about) {do([*MEMBER, *PAIRS, *PAIRS] if pairs else MEMBER, 1)}",
        f"    A, B -> {random.choice('AB')} on letter(about) {do(MEMBER, 1)}",
        f"    {random.choice(['A, B', 'B'])} -> A on note(k) do n = k",
        f"    A, B on given(by) do {'n = 0' if 'clerk' in missing else 'clerk = by'}",
        "    ignore go, note in B",
        *["    B -> A on crash"] * chance(0.5),
        "}",
        "machine Clerk {",
        *fields("last: Member?", "members: set<Member>"),
        "    initial state On",
        "    event file(who: Member) from desk",
        "    event ask(who: Member) from environment",
        f"    On on file(who) {do(CLERK, 1)}",
        f"    On on ask(who) {do([*CLERK, *FORMS, *FORMS] if pairs else CLERK, 1)}",
        "}",
        "system Mail {",
    ]
    begun = " { members = members }" * ("members" not in missing and chance(0.6))
    groups = [
        f"    members: Member[{members}] symmetric {{ all_clerks = clerks }}",
        f"    clerks: Clerk[{clerks}]{' symmetric' * chance(0.6)}{begun}",
    ]
    random.shuffle(groups)
    offers = [f"        {x}" for x in random.sample(OFFERS[:5], random.choice([1, 2, 3]))]
    offers += [f"        {x}" for x in OFFERS[5:] if chance(0.2)]
    known = [x for x in ASKED if "peer" not in missing or ".peer" not in x]
    asked = [f"    {x}" for x in random.sample(known, 3) if not x.startswith("property") or chance(0.3)]
    return "\n".join([*lines, *groups, "    environment {", *offers, "    }", *asked, "}"]) + "\n"
