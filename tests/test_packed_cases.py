"""Systems on which the packed explorer once went wrong."""

from __future__ import annotations

import pytest
from campaign import by_definition, compare, found, packed
from packed_search import PLAIN, SWITCH, explored, own_objects
from stepping import compiled, only_system

from fsmdsl.runs.verdicts.verdict import Limits, Means
from fsmdsl.search.lower.library import basic

pytestmark = pytest.mark.usefixtures(own_objects.__name__)

CASES = {
    "a queue for each sender, of which there is none": """
channel mail: lossy duplicating fifo[2] from each Sender to each Inbox
channel form: waiting bag[2] from each Sender to each Inbox
machine Sender {
    initial state On
    event go from environment
    On on go
}
machine Inbox {
    initial state Waiting
    state Read
    event letter from mail
    event reply from form
    event look from environment
    Waiting -> Read on letter
    Waiting -> Read on look
    Read -> Waiting on reply
    Read -> Waiting on look
}
system X { a: Inbox  b: Inbox }
""",
    "a bag of sets, or none": """
channel box: bag[3] to Hub
machine Hub {
    last: set<0..2>?
    initial state On
    event say(x: 0..2), quiet from environment
    event told(what: set<0..2>?) from box
    On on say(x) when size(box) < 3 do send box.told({x})
    On on quiet when size(box) < 3 do send box.told(none)
    On on told(what) do last = what
}
system X { hub: Hub }
""",
    "a set with none in it in a place with room for more": """
machine A {
    few: set<2..4?>
    many: set<0..9?>
    initial state S
    event put(x: 2..4), nothing, copy from environment
    S on put(x) do add x to few
    S on nothing do add none to few
    S on copy do many = few
}
system X { a: A  reachable all_of_them: 2 in a.many and 3 in a.many and 4 in a.many and none in a.many }
""",
    "a set of what may be none in a place whose numbers begin higher": """
machine A {
    given: -1..1? = 1
    kept: set<1..3?>
    initial state S
    event keep, forget from environment
    S on keep do kept = {given, none}
    S on forget do kept = {}
}
system X { a: A  invariant at_most_one: 2 not in a.kept  reachable one: 1 in a.kept and none in a.kept }
""",
    "an event ignored twice": """
machine A {
    initial state P
    state Q
    event go from environment
    event never from B
    P -> Q, Q -> P on go
    ignore never in P
    ignore never in *
    P on never when false
}
machine B { a: A?  initial state S  event poke(x: A) from environment  S on poke(x) do x.never }
system X { a: A  bs: B[2] }
""",
    "a crash goes through instances in their order, not machine by machine": """
machine A { n: 0..3  initial volatile state P  event go from environment  P on go do n = 1  P -> P on crash do n = 2 }
machine B {
    param a: A
    durable m: 0..3
    initial volatile state P
    event go from environment
    P on go do m = 1
    P -> P on crash when m < 2 do m = a.n
}
system X {
    b: B { a = a }
    a: A
    c: B { a = a }
    environment { b.go  c.go  a.go  crash  crash between writes }
}
""",
    "an argument out of range, offered only where a guard lets it through": """
machine A {
    n: 0..5
    initial state S
    event set(x: 0..2), many(s: set<0..2>) from environment
    S on set(x) when x < 4 do n = x
    S on many(s) when size(s) < 2 do n = size(s)
}
system X { a: A  environment { some k in {1, 3, 5}: a.set(k)  some k in {0, 7}: a.many({k, k + 1})  a.many({9}) } }
""",
    "a condition of the environment without a value, behind a step that fails": """
machine A {
    other: A?
    n: 0..2
    initial state S
    event up, meet(x: A) from environment
    S on up do n = n + 1
    S on meet(x) do other = x
}
system X {
    as: A[2]
    environment { some a in as: a.up  some a in as: a.meet(a)  some a in as: a.up when a.other.n > 0 }
}
""",
    "an argument is looked at after whether the receiver is free": """
machine A {
    n: 0..2
    initial state S
    event go from environment
    event back(x: 0..2) from B
    param b: B
    S on go do b.hit(n)
    S on back(x) do n = x
    event up from environment
    S on up do n = n + 1
}
machine B {
    param a: A
    initial state S
    event hit(x: 0..3) from A
    S on hit(x) do a.back(x + 2)
    event poke from environment
    S on poke do a.back(3)
}
system X { a: A { b = b }  b: B { a = a } }
""",
    "a derived value is asked about numbers that it does not expect": """
let twice(n: 0..2) = n + n
let among(n: 0..2, s: set<0..2>) = n in s
machine A {
    n: 0..9
    s: set<0..9>
    initial state S
    event up from environment
    S on up when twice(n) < 15 do { n = n + 1  s = s + {n} }
    S -> T on up when not among(n, {n}) or among(n + 1, s)
    state T
    priority T > up
}
system X { a: A  reachable five: twice(a.n) == 10  invariant small: twice(a.n) in {0, 2, 4, 6, 8, 10} }
""",
    "a set of more than its place allows": """
machine A {
    n: 0..2
    s: set<0..2>
    l: list<0..2>[2]
    initial state S
    event up, put, list_, clear from environment
    S on up do n = n + 1
    S on put do s = {n, n + 1}
    S on list_ do l = [n, n - 1, n]
    S on clear do { s = s - {n + 2}  l = rest(l)  n = 0 }
}
system X { a: A }
""",
    "priorities that contradict one another": """
machine A {
    n: 0..3
    initial state S
    event go, up from environment
    a: S on go when n != 1 do n = 0
    b: S on go when n != 2 do n = 1
    c: S on go when n != 3 do n = 2
    S on up when n < 3 do n = n + 1
    priority a > b
    priority b > c
    priority c > a
}
system X { a: A }
""",
    "messages in a bag are sorted by what their sets hold": """
channel box: bag[3] to A
machine A {
    seen: list<set<0..2>>[1]
    last: 0..3
    initial state S
    event note(s: set<0..2>, l: list<0..1>[2], o: set<0..1>?) from box
    S on note(s, l, o) do last = size(s) + size(l)
    event send_ from environment
    S on send_ when size(box) < 3 do {
        send box.note({0, 2}, [1], none)
        send box.note({1}, [0, 1], {0})
        send box.note({0, 1}, [], {1})
    }
}
system X { a: A }
""",
    "values with gaps to choose among": """
machine A {
    n: -1..1?
    s: set<-1..1?>
    l: list<A?>[2]
    initial state S
    event set(x: -1..1?, l: list<A?>[1]), many(s: set<-1..1?>) from environment
    S on set(x, given) do { n = x  l = given + [] }
    S on many(given) when n in given do s = given - s
}
system X { b: Switch  as: A[2]  c: Switch }
""".replace("given + []", "given")
    + SWITCH,
    "few numbers out of many": """
machine A {
    n: 0..1000
    waits: duration = 5s
    initial state S
    event set(x: 0..1000), odd from environment
    S on set(x) when x not in {100, 300} do n = x
    S on odd when waits in {5s, 10s} or n in [250, 251] do { waits = 10s  for k in {7, 900} { n = k } }
}
system X { a: A  environment { some k in {0, 100, 250}: a.set(k)  a.odd }  reachable r: some k in {900, 5}: a.n == k }
""",
    "`wait` in an invariant": """
machine A { initial state S  event go from environment  S on go  invariant waits: wait }
system X { a: A }
""",
    "a round that comes back to where it was, but for who has waited": """
machine A {
    initial state S
    state T
    param b: B
    event go from environment
    S -> T on go do b.nudge
    T -> S when wait
}
machine B { n: 0..1  initial state S  event nudge from A  S on nudge  S -> S when wait do n = n }
system X { as: A[2] { b = b }  b: B }
""",
    "a crash that a fair label waits for": """
machine A {
    n: 0..2
    initial volatile state S
    persistent state T
    event go, on_ from environment
    S on go do n = 1
    T -> S on on_
    down: S -> T on crash
}
system X {
    as: A[2]
    environment { some a in as: a.go  some a in as: a.on_  crash  crash between writes }
    property falls: all a in as: a in S ~> a in T under strong fair down
    property goes: always eventually as[0].n == 1 under fair go and strong fair on_
}
""",
    "crashes between writes, in the order of the environment": """
machine A {
    durable n: 0..2
    durable m: 0..2
    initial state S
    event go from environment
    async action work -> ok | err
    S on go when n < 2 do { n = n + 1  m = n  work }
    S on work.ok do m = 0
    S on work.err do { n = 0  m = 0 }
}
system X {
    as: A[2]
    environment {
        crash between writes when as[0].n > 0
        some a in as: a.go
        crash when as[1].m > 0
        some a in as, k in [1, 1, 2]: a.go
        crash between writes
        crash
        crash during recovery
        crash during recovery when as[0].n == as[0].m
    }
    recover { for a in as { a.m = a.n  a.n = 0 } }
    property comes_back: recovers on n
}
""",
    "a crash between writes whose condition has no value, behind one that comes": """
machine A {
    durable n: 0..3
    durable m: 0..3
    initial state Idle
    event go from environment
    Idle -> Idle on go do { n = (n + 1) % 3  m = 2 }
}
system X { a: A  environment { a.go  crash between writes  crash between writes when 6 / a.n > 2 } }
""",
    "a crash during the recovery whose condition has no value, beside one that comes": """
machine A {
    durable n: 0..3
    durable m: 0..3
    initial state Idle
            state Busy
    event go from environment
    Idle -> Busy on go do { n = 1  m = 2 }
    Busy -> Idle on go when n > 0 do n = 0
}
system X {
    a: A
    environment {
        a.go
        crash between writes
        crash during recovery
        crash during recovery when 6 / a.n > 2
    }
    recover { a.m = 0  a.n = 3 }
}
""",
    "what can have one value only": """
machine A {
    param only: C
    one: 3..3
    all_: set<C>
    listed: list<C>[3]
    kind: Kind
    initial state S
    event go(x: C) from environment
    S on go(x) when x == only do { x.hit(one, self)  one = only.two + 1  add x to all_  send box.told(x, only_one) }
    event told(x: C, k: Kind) from box
    S on told(x, k) when k == kind and x.two == 2 do { if size(listed) < 3 { add x to listed } }
}
machine B { initial state S }
machine C {
    two: 2..2
    initial state S
    event hit(x: 3..3, a: A) from A
    S on hit(x, a) when a.only == self do two = x - 1
}
enum Kind { only_one }
channel box: fifo[1] to A
system X { b: B  a: A { only = c }  c: C }
""",
    "a list of sets": """
machine A {
    held: list<set<0..2>>[2]
    maybe: set<A>?
    initial state S
    event put(n: 0..2), turn from environment
    S on put(n) when {n} not in held do { add {n, 1} to held  maybe = {self} }
    S on turn when size(held) > 0 do { held = rest(held) maybe = none  remove {0, 1} from held }
}
system X { as: A[2] }
""",
    "a set whose numbers begin higher is taken out of a list of sets": """
machine A {
    held: list<set<0..3>>[2]
    left: 0..3
    initial state S
    event put(n: 1..2), take(n: 1..2) from environment
    S on put(n) when size(held) < 2 do add {n} to held
    S on take(n) do { remove {n} from held  left = size(held) + 1 }
}
system X { a: A }
""",
    "a set that may be none is put where numbers begin higher": """
machine A {
    low: set<0..1>?
    high: set<1..2>?
    kept: list<set<1..2>?>[1]
    initial state S
    event put(n: 0..1), empty, clear, copy, keep from environment
    S on put(n) do low = {n}
    S on empty do low = {}
    S on clear do low = none
    S on copy do high = low
    S on keep when size(kept) == 0 do add low to kept
    invariant alike: high == none or high == {} or high == {1}
}
system X { a: A }
""",
    "a set that is given is gone through twice, and kept": """
machine A {
    held: set<0..2>
    sum: 0..9
    initial state S
    event put(xs: set<0..2>), list(ys: list<0..1>[2]) from environment
    S on put(xs) when size(held) == 0 do {
        for x in xs { sum = min(sum + x, 9) }
        for x in xs { sum = min(sum + 1, 9) }
        held = xs
    }
    S on list(ys) when sum == 0 do {
        for y in ys { sum = min(sum + y, 9) }
        if size(ys) > 0 { held = held + {first(ys)} }
    }
}
system X { a: A }
""",
    "who is in a transition takes no event, whatever it carries": """
machine A {
    n: 0..2
    next: A?
    initial state S
    event go, tell from environment
    event put(x: 0..2) from A
    S on go do { n = 1  self.put(n + 2) }
    S on tell when next != none do next.put(n + 1)
    S on put(x) do { n = x  if next != none { next.put(x + 1) } }
}
system X { a: A { next = b }  b: A { next = a, n = 1 } }
""",
    "an answer that nothing takes": """
machine A {
    n: 0..2
    initial state S
    state T
    event go from environment
    async action ask -> yes | no
    S -> T on go do ask
    T -> S on ask.yes do n = min(n + 1, 2)
    T -> S on ask.no when n > 0
}
system X { as: A[2] }
""",
    "many events, of two lists": """
machine A {
    held: list<0..2>[3]
    sum: 0..6
    initial state S
    event grow, put(x: 0..2, y: 0..2) from environment
    S on grow when size(held) < 3 do add size(held) to held
    S on put(x, y) do sum = x + y + 2 * min(x, 1)
}
system X { a: A  environment { a.grow  some x in a.held, y in a.held: a.put(x, y) } }
""",
    "none, where numbers begin elsewhere or below 0": """
machine A {
    low: -3..2?
    high: 1..4?
    seen: set<-2..5?>
    next: A?
    ok: bool
    initial state S
    event put(x: 1..2?, a: A?), look from environment
    S on put(x, a) do { low = x  high = x  next = a  add x to seen }
    S on look do { ok = low == high and high in seen and (next in S => next.low == low)  remove low from seen }
}
system X { a: A[2] }
""",
    "subsets are taken from the first element on": """
machine A {
    held: list<B>[2]
    initial state S
    event take(s: set<B>) from environment
    S on take(s) do { held = []  for b in s { if size(held) < 2 { add b to held } } }
}
machine B { initial state S }
system X { a: A  bs: B[4]  environment { some s in subsets(bs, 2): a.take(s)  some s in subsets(bs, 3): a.take(s) } }
""",
    "rounds without an end by different rows": """
machine A { initial state S  state T  event go from environment  S -> T on go  T -> T when true }
machine B {
    n: 0..2
    initial state S  state T
    event go, spin from environment
    S on go when n < 2 do n = n + 1
    S -> T on spin
    T -> T when n == 0
    T when n > 0
}
system X { a: A  bs: B[2] }
""",
    "a crash in the middle of a round begins anew": """
machine A {
    other: B?
    durable n: 0..3
    initial persistent state S  persistent state T
    event go from environment
    S -> T on go do { if other != none { other.go } }
    T -> S when wait
    * -> S on crash do if wait { n = 3 }
}
machine B {
    durable n: 0..3
    initial persistent state S  persistent state T
    event go from A
    S -> T on go
    T -> S when wait do { n = 1  n = 2 }
}
system X { a: A { other = b }  b: B  environment { a.go  crash between writes } }
""",
    "a field that is called as a word of the language is": """
machine A {
    wait: 0..3
    initial state S  state T  state U
    event go from environment
    action ask -> yes | no
    S -> T on go when wait < 3 do { wait = wait + 1  ask }
    T -> U on ask.yes
    T -> S on ask.no
    U -> S when wait in {1, 2}
    U -> T on go do ask
}
system X { a: A }
""",
    "none is in no set of members of an enum": """
enum Kind { red | blue }
machine A {
    kind: Kind?
    initial state S
            state T
    event paint(x: Kind?) from environment
    event go from environment
    S on paint(x) do kind = x
    S -> T on go when kind in {blue}
    T -> S on go when kind in {red, blue}
}
system X { a: A }
""",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_what_once_went_wrong(text: str) -> None:
    model = compiled(f"module x\n{text}")
    assert compare(model, only_system(model)) == ("the same", [])


CHAIN = """module x
machine N {{
    param next: N?
    initial state S
    final state T
    event go from environment, N
    S -> T on go do if next != none {{ next.go }}
    ignore go in T
}}
system X {{ ns: N[{0}] {{ next = if index < {0} - 1 then ns[index + 1] else none }}  environment {{ ns[0].go }} }}
"""


@pytest.mark.parametrize(("instances", "kinds"), [(65, set()), (66, {"endless"})])
def test_sends_are_nested_64_deep_and_no_deeper(instances: int, kinds: set[str]) -> None:
    model = compiled(CHAIN.format(instances))
    system = only_system(model)
    search = by_definition(model, system, Limits())
    assert {x.fault.kind for x in search.faults.values() if x.fault is not None} == kinds
    assert compare(model, system, compiled=True) == ("the same", [])


FLAT = """module x
machine Hub {
    param ns: set<N>
    initial state S
    final state T
    event go from environment
    S -> T on go do { for n in ns { n.go } }
}
machine N {
    param sink: Sink
    initial state S
    final state T
    event go from Hub
    S -> T on go do sink.went
}
machine Sink { final initial state S  event went from N  S on went }
system X { hub: Hub { ns = ns }  ns: N[65] { sink = sink }  sink: Sink  environment { hub.go } }
"""


def test_sends_one_after_the_other_are_not_nested() -> None:
    model = compiled(FLAT)
    system = only_system(model)
    assert by_definition(model, system, Limits()).faults == {}
    assert compare(model, system, compiled=True) == ("the same", [])


AWAITING = """module x
machine M {
    initial state A
    state B
    event go from environment
    async action ask -> yes
    A -> B on go
    on entry(B) do ask
    B -> B on ask.yes do ask
}
machine T {
    n: 0..40
    initial state A
    event tick from environment
    A on tick when n < 40 do n = n + 1
}
system S { m: M  t: T }
"""


def test_a_limit_may_come_before_a_state_that_has_no_room() -> None:
    model = compiled(AWAITING)
    system = only_system(model)
    assert found(packed(model, system, Limits(28), PLAIN)) == found(by_definition(model, system, Limits(28)))


def test_which_instance_it_was_makes_no_difference_to_a_fault() -> None:
    text = """module x
machine A { initial state S  event go(b: B) from environment  S on go(b) do b.hit }
machine B {
    initial state reaches
    state c
    event hit from A
    event flip from environment
    reaches -> c on flip
    c on hit
}
system X { s: A  c: B  r: B  reach: B }
"""
    assert len(explored(text, PLAIN).violations) == 1


@pytest.mark.parametrize("means", [PLAIN, Means(compiled=True, symmetry=False)], ids=["plain", "compiled"])
def test_each_row_of_a_round_without_an_end_is_a_fault_of_its_own(means: Means) -> None:
    """Also where a number of instances takes more than one word."""
    text = """module x
machine A {
    n: 0..2
    initial state S  state T
    event go, spin from environment
    S on go when n < 2 do n = n + 1
    S -> T on spin
    T -> T when n == 0
    T -> T when n == 1
    T -> T when n == 2
}
machine Crowd { initial state Still }
system X { crowd: Crowd[70]  a: A }
"""
    found = {v.span.text for v in explored(text, means).violations if v.kind == "fault" and v.span is not None}
    assert found == {f"T -> T when n == {n}" for n in range(3)}


@pytest.mark.parametrize(
    "rows",
    [
        # An exit hook of one state divides the others into those with the hook and those without.
        "Down -> Leaving on crash  on exit(Leaving) do { }",
        # The transition of the composite is never chosen, for each state inside has its own.
        "Down -> Up on crash  Asking -> Leaving on crash  Leaving -> Asking on crash",
    ],
    ids=["exit hook", "never chosen"],
)
def test_a_composite_has_a_crash_transition(rows: str) -> None:
    text = f"""module x
machine Pod {{
    initial state Up
    state Down {{ initial state Asking  state Leaving }}
    event go, back from environment
    Up -> Down on go
    Down -> Up on back
    ignore go in Down
    ignore back in Up
    {rows}
    Up on crash
}}
system S {{ pods: Pod[4]  environment {{ some x in pods: x.go  some x in pods: x.back  some x in pods: crash of x }} }}
"""
    model = compiled(text)
    system = only_system(model)
    assert found(packed(model, system, Limits(), PLAIN)) == found(by_definition(model, system, Limits()))


@pytest.mark.parametrize("x", [0, 1, 2, 0b1010, (1 << 62) - 1, 1 << 61, 0b1001 << 40])
def test_what_processors_have_instructions_for_is_what_the_library_says(x: int) -> None:
    """Its text is not what runs: see `program.llvm_types.BITS`, and `packed.plain`."""
    assert basic.ones(x) == x.bit_count()
    if x:
        assert x >> basic.lowest(x) & 1
        assert x & (1 << basic.lowest(x)) - 1 == 0
