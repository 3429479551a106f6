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
RECURSIVE Ascending(_), AnyOrder(_)
Ascending(S) == IF S = {} THEN <<>> ELSE LET x == Least(S) IN <<x>> \o Ascending(S \ {x})
AnyOrder(S) == IF S = {} THEN <<>> ELSE LET x == CHOOSE x \in S : TRUE IN <<x>> \o AnyOrder(S \ {x})
RECURSIVE Before(_, _), AscendingSets(_)
Before(s, t) ==
  IF t = <<>> THEN FALSE
  ELSE IF s = <<>> THEN TRUE ELSE IF Head(s) # Head(t) THEN Head(s) < Head(t) ELSE Before(Tail(s), Tail(t))
AscendingSets(S) ==
  IF S = {} THEN <<>>
  ELSE LET x == CHOOSE x \in S : \A y \in S : ~Before(Ascending(y), Ascending(x))
       IN <<x>> \o AscendingSets(S \ {x})
Without(s, x) ==
  IF ~Holds(s, x) THEN s
  ELSE LET at == Least({i \in DOMAIN s : s[i] = x}) IN SubSeq(s, 1, at - 1) \o SubSeq(s, at + 1, Len(s))

\* Worlds ------------------------------------------------------------------------------------------------------------
\* A world is a record. While a step is under way it also says who is in the middle of a transition (`busy`), who took
\* part (`touched`), how many writes there were, after which the step is cut (0: none), and why it has ended (`stop`).

InStates(w, x, S) == IF x = none THEN FALSE ELSE w.state[x] \in S
Fail(w, kind, place) == [w EXCEPT !.stop = "fault", !.fault = <<kind, place>>]
Wrote(w) == [w EXCEPT !.writes = @ + 1, !.stop = IF w.cut = w.writes + 1 THEN "cut" ELSE @]
Awaits(w, self) == \E i \in DOMAIN w.pending : w.pending[i][1] = self
Begin(w, self) == [w EXCEPT !.busy = @ \cup {self}, !.touched = @ \cup {self}]
End(w, self, waits) ==
  IF w.stop # "" THEN w
  ELSE [w EXCEPT !.busy = @ \ {self}, !.waited = IF waits THEN @ \cup {self} ELSE @]
Settled(w) == [w EXCEPT !.busy = {}, !.touched = {}, !.writes = 0, !.cut = 0, !.stop = "", !.fault = <<>>]

\* The transition to follow, of one level: `seen` are pairs of a transition and the value of its guard (1, 0, or the
\* place where it has none, negative).
Pick(before, places, seen) ==
  LET bad == {i \in DOMAIN seen : seen[i][2] < 0}
      found == {seen[i][1] : i \in {i \in DOMAIN seen : seen[i][2] = 1}}
      first == {t \in found : \A u \in found : <<u, t>> \notin before}
      best == IF first = {} THEN found ELSE first
  IN IF bad # {} THEN <<"fault", "none", -seen[Least(bad)][2]>>
     ELSE IF found = {} THEN <<"none", 0, 0>>
     ELSE IF Cardinality(best) > 1 THEN <<"fault", "overlap", places[Most(best) + 1]>>
     ELSE <<"follow", Least(best), 0>>

\* Channels ----------------------------------------------------------------------------------------------------------
\* A fifo is a sequence of messages, a bag a set of pairs of a message and how often it is there.

RECURSIVE Sum(_)
Sum(S) == IF S = {} THEN 0 ELSE LET x == CHOOSE x \in S : TRUE IN x[2] + Sum(S \ {x})
Held(w, c) == IF Fifo[c] THEN Len(w.channels[c]) ELSE Sum(w.channels[c])
Count(bag, m) == IF \E x \in bag : x[1] = m THEN (CHOOSE x \in bag : x[1] = m)[2] ELSE 0
With(bag, m, n) == {x \in bag : x[1] # m} \cup (IF n = 0 THEN {} ELSE {<<m, n>>})
Put(held, c, m) == IF Fifo[c] THEN Append(held, m) ELSE With(held, m, Count(held, m) + 1)
Post(w, c, m, place) ==
  IF Held(w, c) >= Bound[c] THEN Fail(w, "overflow", place) ELSE [w EXCEPT !.channels[c] = Put(@, c, m)]
\* `at`: in a fifo the place of a message, in a bag the message.
Message(w, c, at) == IF Fifo[c] THEN w.channels[c][at] ELSE at
Drop(w, c, at) ==
  [w EXCEPT !.channels[c] =
     IF Fifo[c] THEN SubSeq(@, 1, at - 1) \o SubSeq(@, at + 1, Len(@)) ELSE With(@, at, Count(@, at) - 1)]
Twice(w, c, at) ==
  [w EXCEPT !.channels[c] =
     IF Fifo[c] THEN SubSeq(@, 1, at) \o SubSeq(@, at, Len(@)) ELSE With(@, at, Count(@, at) + 1)]
Places(w, c) == IF Fifo[c] THEN DOMAIN w.channels[c] ELSE {x[1] : x \in w.channels[c]}
