EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANT none  \* a model value

\* Sets and sequences ----------------------------------------------------------------------------------------------

Least(S) == CHOOSE x \in S : \A y \in S : x <= y
Most(S) == CHOOSE x \in S : \A y \in S : x >= y
Holds(s, x) == \E i \in DOMAIN s : s[i] = x
Rest(s) == IF s = <<>> THEN <<>> ELSE Tail(s)
Among(s, S) == SelectSeq(s, LAMBDA x : x \in S)
Subsets(S, n) == {x \in SUBSET S : Cardinality(x) = n}
Quotient(a, b) == IF b > 0 THEN a \div b ELSE (-a) \div (-b)
Remainder(a, b) == IF b > 0 THEN a % b ELSE -((-a) % (-b))
Rank(s, x) == CHOOSE i \in DOMAIN s : s[i] = x
RECURSIVE AnyOrder(_)
AnyOrder(S) == IF S = {} THEN <<>> ELSE LET x == CHOOSE x \in S : TRUE IN <<x>> \o AnyOrder(S \ {x})
Ascending(S) == SortSeq(AnyOrder(S), LAMBDA x, y : x < y)
RECURSIVE Before(_, _), Joined(_), Distinct(_)
Before(s, t) ==
  IF t = <<>> THEN FALSE
  ELSE IF s = <<>> THEN TRUE ELSE IF Head(s) # Head(t) THEN Head(s) < Head(t) ELSE Before(Tail(s), Tail(t))
\* Sequences as one, so that a shorter one is before those that it begins.
Joined(s) == IF s = <<>> THEN <<0>> ELSE <<1>> \o Head(s) \o Joined(Tail(s))
Distinct(s) == IF s = <<>> THEN <<>> ELSE <<Head(s)>> \o Distinct(SelectSeq(Tail(s), LAMBDA x : x # Head(s)))
Removed(s, at) == SubSeq(s, 1, at - 1) \o SubSeq(s, at + 1, Len(s))
Without(s, x) == IF ~Holds(s, x) THEN s ELSE Removed(s, Least({i \in DOMAIN s : s[i] = x}))

\* Worlds ------------------------------------------------------------------------------------------------------------
\* A world is a record. While a step is under way it also says who is in the middle of a transition (`busy`), who took
\* part (`touched`), which crash transitions are chosen, which worlds the round has been in (`seen`), how many writes
\* there were, after which the step is cut (0: none), and why it has ended (`stop`). A procedure leaves its `result`
\* there, and the steps that can come next (`offers`), or the faults by which some cannot (`unoffered`).

Settled(w) ==
  [w EXCEPT !.busy = {}, !.touched = {}, !.chosen = {}, !.seen = {}, !.writes = 0, !.cut = 0, !.stop = "",
            !.fault = <<>>, !.result = none, !.offers = {}, !.unoffered = {}]
InStates(w, i, S) == IF i = none THEN FALSE ELSE w.state[i] \in S
Fail(w, kind, place) == [w EXCEPT !.stop = "fault", !.fault = <<kind, place>>]
Cut(w) == [w EXCEPT !.writes = @ + 1, !.stop = IF w.cut = w.writes + 1 THEN "cut" ELSE @]
Progress(w, limit, kind, place) ==
  IF Settled(w) \in w.seen \/ Cardinality(w.seen) >= limit THEN Fail(w, kind, place)
  ELSE [w EXCEPT !.seen = @ \cup {Settled(w)}]
Choose(w, i, t) == [w EXCEPT !.chosen = {x \in @ : x[1] # i} \cup {<<i, t>>}]

\* Pending actions ---------------------------------------------------------------------------------------------------

Places(w, i) == {k \in DOMAIN w.pending : w.pending[k][1] = i}
Waits(w, i) == Places(w, i) # {}
Awaited(w, i) == w.pending[Least(Places(w, i))][2]
IsPending(w, i, action) == Holds(w.pending, <<i, action>>)
Blocks(w, i, action) == LET s == Among(w.pending, Blocking) IN s # <<>> /\ Head(s) = <<i, action>>
Blocker(w) == LET s == Among(w.pending, Blocking) IN IF s = <<>> THEN none ELSE Head(s)[1]
Answerable(w) == LET s == Among(w.pending, Blocking) IN IF s = <<>> THEN Distinct(w.pending) ELSE <<Head(s)>>
Forget(w, i) == [w EXCEPT !.pending = SelectSeq(@, LAMBDA p : p[1] # i)]

\* Channels ----------------------------------------------------------------------------------------------------------
\* A queue is a sequence of messages, one without order in any that is the same for the same messages.

RECURSIVE Arranged(_)
Arranged(s) ==
  IF s = <<>> THEN <<>>
  ELSE LET x == CHOOSE x \in {s[i] : i \in DOMAIN s} : TRUE
       IN SelectSeq(s, LAMBDA y : y = x) \o Arranged(SelectSeq(s, LAMBDA y : y # x))
Put(w, c, m) == [w EXCEPT !.channels[c] = IF Fifo[c] THEN Append(@, m) ELSE Arranged(Append(@, m))]
Drop(w, c, at) == [w EXCEPT !.channels[c] = Removed(@, at)]
Duplicate(w, c, at) == [w EXCEPT !.channels[c] = SubSeq(@, 1, at) \o SubSeq(@, at, Len(@))]
IsRepeated(queue, at) == at > 1 /\ queue[at - 1] = queue[at]
