---- MODULE Two ----
\* system lease.Two, from random.fsm:39:1
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

\* Instances by number: 0 n0, 1 n1, 2 j0, 3 j1
Instances == 4
Ordinal == [i \in {0, 1, 2, 3} |-> CASE i = 0 -> 0 [] i = 1 -> 1 [] i = 2 -> 0 [] i = 3 -> 1]
Fifo == <<>>
Bound == <<>>
Lossy == <<>>
Duplicating == <<>>
Patient == <<>>
Receiver == <<>>

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


First == [state |-> [i \in {0, 1, 2, 3} |-> CASE i = 0 -> "Up" [] i = 1 -> "Up" [] i = 2 -> "Waiting" [] i = 3 -> "Waiting"], Node_holders |-> [i \in {0, 1} |-> CASE i = 0 -> {} [] i = 1 -> {}], Job_node |-> [i \in {2, 3} |-> CASE i = 2 -> none [] i = 3 -> none], Job_left |-> [i \in {2, 3} |-> CASE i = 2 -> 2 [] i = 3 -> 2], Job_kind |-> [i \in {2, 3} |-> CASE i = 2 -> "spot" [] i = 3 -> "spot"], waited |-> {}, channels |-> <<>>, pending |-> <<>>, down |-> FALSE, busy |-> {}, touched |-> {}, writes |-> 0, cut |-> 0, stop |-> "", fault |-> <<>>]
\* A first value that does not fit.
FirstFault == <<>>

RECURSIVE follow_Node(_, _, _, _), on_Node_take(_, _, _, _), on_Node_give(_, _, _, _), on_Node_fail(_, _, _, _), on_Node_heal(_, _, _, _), follow_Job(_, _, _, _), on_Job_start(_, _, _, _), on_Job_refused(_, _, _, _), on_Job_lost(_, _, _, _), on_Job_finish(_, _, _, _), loop_23(_, _, _)

\* Up -> (internal) on take, random.fsm:13:5
guard_Node_0(w, self, a) == LET v_job == a[1] IN IF (Cardinality(w.Node_holders[self]) < 1) THEN 1 ELSE 0

\* Up -> (internal) on busy, random.fsm:14:5
guard_Node_1(w, self, a) == LET v_job == a[1] IN IF (Cardinality(w.Node_holders[self]) = 1) THEN 1 ELSE 0

\* Up -> (internal) on take, random.fsm:13:5
follow_Node_0(w, self, a) == LET v_job == a[1] IN (LET w1 == Begin(w, self) w2 == IF w1.stop # "" THEN w1 ELSE (w1) w4 == IF w2.stop # "" THEN w2 ELSE (LET x3 == (w2.Node_holders[self] \cup {v_job}) IN Wrote([w2 EXCEPT !.Node_holders[self] = x3])) w5 == IF w4.stop # "" THEN w4 ELSE End(w4, self, FALSE) IN w5)

\* Up -> (internal) on busy, random.fsm:14:5
follow_Node_1(w, self, a) == LET v_job == a[1] IN (LET w6 == Begin(w, self) w7 == IF w6.stop # "" THEN w6 ELSE (w6) w9 == IF w7.stop # "" THEN w7 ELSE (LET f8 == (IF v_job = none THEN 1 ELSE 0) IN IF f8 # 0 THEN Fail(w7, "none", f8) ELSE on_Job_refused(w7, v_job, <<self>>, 2)) w10 == IF w9.stop # "" THEN w9 ELSE End(w9, self, FALSE) IN w10)

\* Up -> (internal) on give, random.fsm:15:5
follow_Node_2(w, self, a) == LET v_job == a[1] IN (LET w11 == Begin(w, self) w12 == IF w11.stop # "" THEN w11 ELSE (w11) w14 == IF w12.stop # "" THEN w12 ELSE (LET x13 == (w12.Node_holders[self] \ {v_job}) IN Wrote([w12 EXCEPT !.Node_holders[self] = x13])) w15 == IF w14.stop # "" THEN w14 ELSE End(w14, self, FALSE) IN w15)

\* Down -> (internal) on give, random.fsm:15:5
follow_Node_3(w, self, a) == LET v_job == a[1] IN (LET w16 == Begin(w, self) w17 == IF w16.stop # "" THEN w16 ELSE (w16) w19 == IF w17.stop # "" THEN w17 ELSE (LET x18 == (w17.Node_holders[self] \ {v_job}) IN Wrote([w17 EXCEPT !.Node_holders[self] = x18])) w20 == IF w19.stop # "" THEN w19 ELSE End(w19, self, FALSE) IN w20)

loop_23(w, self, s) == IF s = <<>> \/ w.stop # "" THEN w ELSE LET v_j == Head(s) IN loop_23((LET f24 == (IF v_j = none THEN 3 ELSE 0) IN IF f24 # 0 THEN Fail(w, "none", f24) ELSE on_Job_lost(w, v_j, <<>>, 4)), self, Tail(s))

\* Up -> Down on fail, random.fsm:16:5
follow_Node_4(w, self, a) == (LET w21 == Begin(w, self) w22 == IF w21.stop # "" THEN w21 ELSE (w21) w25 == IF w22.stop # "" THEN w22 ELSE loop_23(w22, self, Ascending(w22.Node_holders[self])) w26 == IF w25.stop # "" THEN w25 ELSE Wrote([w25 EXCEPT !.state[self] = "Down"]) w27 == IF w26.stop # "" THEN w26 ELSE End(w26, self, FALSE) IN w27)

\* Down -> Up on heal, random.fsm:17:5
follow_Node_5(w, self, a) == (LET w28 == Begin(w, self) w29 == IF w28.stop # "" THEN w28 ELSE (w28) w30 == IF w29.stop # "" THEN w29 ELSE w29 w31 == IF w30.stop # "" THEN w30 ELSE Wrote([w30 EXCEPT !.state[self] = "Up"]) w32 == IF w31.stop # "" THEN w31 ELSE End(w31, self, FALSE) IN w32)

follow_Node(w, self, t, a) == CASE t = 0 -> follow_Node_0(w, self, a) [] t = 1 -> follow_Node_1(w, self, a) [] t = 2 -> follow_Node_2(w, self, a) [] t = 3 -> follow_Node_3(w, self, a) [] t = 4 -> follow_Node_4(w, self, a) [] t = 5 -> follow_Node_5(w, self, a) [] OTHER -> w

before_Node == {}
places_Node == <<5, 6, 7, 7, 8, 9>>

choose_Node_take(w, self, a) == CASE w.state[self] \in {"Up"} -> Pick(before_Node, places_Node, <<<<0, guard_Node_0(w, self, a)>>, <<1, guard_Node_1(w, self, a)>>>>) [] OTHER -> <<"none", 0, 0>>

choose_Node_give(w, self, a) == CASE w.state[self] \in {"Up"} -> Pick(before_Node, places_Node, <<<<2, 1>>>>) [] w.state[self] \in {"Down"} -> Pick(before_Node, places_Node, <<<<3, 1>>>>) [] OTHER -> <<"none", 0, 0>>

choose_Node_fail(w, self, a) == CASE w.state[self] \in {"Up"} -> Pick(before_Node, places_Node, <<<<4, 1>>>>) [] OTHER -> <<"none", 0, 0>>

choose_Node_heal(w, self, a) == CASE w.state[self] \in {"Down"} -> Pick(before_Node, places_Node, <<<<5, 1>>>>) [] OTHER -> <<"none", 0, 0>>

own_Node_crash(w, self, a) == <<"none", 0, 0>>

own_Node_next(w, self, a) == <<"none", 0, 0>>

accepts_Node_take(w, self, a) == ~Awaits(w, self) /\ (CASE w.state[self] = "Up" -> guard_Node_0(w, self, a) # 0 \/ guard_Node_1(w, self, a) # 0 [] OTHER -> FALSE)

\* take, random.fsm:9:11
on_Node_take(w, self, a, place) == IF self \in w.busy THEN Fail(w, "reentrance", place) ELSE IF Awaits(w, self) THEN Fail(w, "busy", place) ELSE LET m38 == (IF a[1] = none THEN "none" ELSE "") IN IF m38 # "" THEN Fail(w, m38, place) ELSE LET w40 == w p39 == choose_Node_take(w40, self, a) IN IF p39[1] = "fault" THEN Fail(w40, p39[2], p39[3]) ELSE IF p39[1] = "follow" THEN follow_Node(w40, self, p39[2], a) ELSE IF w40.state[self] \in {"Down"} THEN w40 ELSE Fail(w40, "unhandled", place)

accepts_Node_give(w, self, a) == ~Awaits(w, self) /\ (CASE w.state[self] = "Up" -> TRUE [] w.state[self] = "Down" -> TRUE [] OTHER -> FALSE)

\* give, random.fsm:10:11
on_Node_give(w, self, a, place) == IF self \in w.busy THEN Fail(w, "reentrance", place) ELSE IF Awaits(w, self) THEN Fail(w, "busy", place) ELSE LET m41 == (IF a[1] = none THEN "none" ELSE "") IN IF m41 # "" THEN Fail(w, m41, place) ELSE LET w43 == w p42 == choose_Node_give(w43, self, a) IN IF p42[1] = "fault" THEN Fail(w43, p42[2], p42[3]) ELSE IF p42[1] = "follow" THEN follow_Node(w43, self, p42[2], a) ELSE IF w43.state[self] \in {} THEN w43 ELSE Fail(w43, "unhandled", place)

accepts_Node_fail(w, self, a) == ~Awaits(w, self) /\ (CASE w.state[self] = "Up" -> TRUE [] OTHER -> FALSE)

\* fail, random.fsm:11:11
on_Node_fail(w, self, a, place) == IF self \in w.busy THEN Fail(w, "reentrance", place) ELSE IF Awaits(w, self) THEN Fail(w, "busy", place) ELSE LET w46 == w p45 == choose_Node_fail(w46, self, a) IN IF p45[1] = "fault" THEN Fail(w46, p45[2], p45[3]) ELSE IF p45[1] = "follow" THEN follow_Node(w46, self, p45[2], a) ELSE IF w46.state[self] \in {} THEN w46 ELSE Fail(w46, "unhandled", place)

accepts_Node_heal(w, self, a) == ~Awaits(w, self) /\ (CASE w.state[self] = "Down" -> TRUE [] OTHER -> FALSE)

\* heal, random.fsm:12:11
on_Node_heal(w, self, a, place) == IF self \in w.busy THEN Fail(w, "reentrance", place) ELSE IF Awaits(w, self) THEN Fail(w, "busy", place) ELSE LET w49 == w p48 == choose_Node_heal(w49, self, a) IN IF p48[1] = "fault" THEN Fail(w49, p48[2], p48[3]) ELSE IF p48[1] = "follow" THEN follow_Node(w49, self, p48[2], a) ELSE IF w49.state[self] \in {} THEN w49 ELSE Fail(w49, "unhandled", place)

\* Waiting -> Running on start, random.fsm:32:5
guard_Job_0(w, self, a) == LET v_n == a[1] IN IF (w.Job_left[self] > 0) THEN 1 ELSE 0

\* Running -> Done on finish, random.fsm:34:5
guard_Job_2(w, self, a) == IF (w.Job_node[self] # none) THEN 1 ELSE 0

\* Waiting -> Running on start, random.fsm:32:5
follow_Job_0(w, self, a) == LET v_n == a[1] IN (LET w50 == Begin(w, self) w51 == IF w50.stop # "" THEN w50 ELSE (w50) w59 == IF w51.stop # "" THEN w51 ELSE (LET w53 == (LET x52 == v_n IN Wrote([w51 EXCEPT !.Job_node[self] = x52])) w56 == IF w53.stop # "" THEN w53 ELSE (LET x54 == (w53.Job_left[self] - 1) IN (LET m55 == (IF x54 \in (0)..(2) THEN "" ELSE "range") IN IF m55 # "" THEN Fail(w53, m55, 10) ELSE [w53 EXCEPT !.Job_left[self] = x54])) w58 == IF w56.stop # "" THEN w56 ELSE (LET f57 == (IF v_n = none THEN 11 ELSE 0) IN IF f57 # 0 THEN Fail(w56, "none", f57) ELSE on_Node_take(w56, v_n, <<self>>, 12)) IN w58) w60 == IF w59.stop # "" THEN w59 ELSE Wrote([w59 EXCEPT !.state[self] = "Running"]) w61 == IF w60.stop # "" THEN w60 ELSE End(w60, self, FALSE) IN w61)

\* Running -> Waiting on lost, random.fsm:33:5
follow_Job_1(w, self, a) == (LET w62 == Begin(w, self) w63 == IF w62.stop # "" THEN w62 ELSE (w62) w65 == IF w63.stop # "" THEN w63 ELSE (LET x64 == none IN Wrote([w63 EXCEPT !.Job_node[self] = x64])) w66 == IF w65.stop # "" THEN w65 ELSE Wrote([w65 EXCEPT !.state[self] = "Waiting"]) w67 == IF w66.stop # "" THEN w66 ELSE End(w66, self, FALSE) IN w67)

\* Running -> Done on finish, random.fsm:34:5
follow_Job_2(w, self, a) == (LET w68 == Begin(w, self) w69 == IF w68.stop # "" THEN w68 ELSE (w68) w72 == IF w69.stop # "" THEN w69 ELSE (LET f71 == (LET f70 == (IF w69.Job_node[self] = none THEN 13 ELSE 0) IN IF f70 # 0 THEN f70 ELSE (IF w69.Job_node[self] = none THEN 13 ELSE 0)) IN IF f71 # 0 THEN Fail(w69, "none", f71) ELSE on_Node_give(w69, w69.Job_node[self], <<self>>, 14)) w73 == IF w72.stop # "" THEN w72 ELSE Wrote([w72 EXCEPT !.state[self] = "Done"]) w74 == IF w73.stop # "" THEN w73 ELSE End(w73, self, FALSE) IN w74)

follow_Job(w, self, t, a) == CASE t = 0 -> follow_Job_0(w, self, a) [] t = 1 -> follow_Job_1(w, self, a) [] t = 2 -> follow_Job_2(w, self, a) [] OTHER -> w

before_Job == {}
places_Job == <<15, 16, 17>>

choose_Job_start(w, self, a) == CASE w.state[self] \in {"Waiting"} -> Pick(before_Job, places_Job, <<<<0, guard_Job_0(w, self, a)>>>>) [] OTHER -> <<"none", 0, 0>>

choose_Job_refused(w, self, a) == <<"none", 0, 0>>

choose_Job_lost(w, self, a) == CASE w.state[self] \in {"Running"} -> Pick(before_Job, places_Job, <<<<1, 1>>>>) [] OTHER -> <<"none", 0, 0>>

choose_Job_finish(w, self, a) == CASE w.state[self] \in {"Running"} -> Pick(before_Job, places_Job, <<<<2, guard_Job_2(w, self, a)>>>>) [] OTHER -> <<"none", 0, 0>>

own_Job_crash(w, self, a) == <<"none", 0, 0>>

own_Job_next(w, self, a) == <<"none", 0, 0>>

accepts_Job_start(w, self, a) == ~Awaits(w, self) /\ (CASE w.state[self] = "Waiting" -> guard_Job_0(w, self, a) # 0 [] OTHER -> FALSE)

\* start, random.fsm:28:11
on_Job_start(w, self, a, place) == IF self \in w.busy THEN Fail(w, "reentrance", place) ELSE IF Awaits(w, self) THEN Fail(w, "busy", place) ELSE LET m78 == (IF a[1] = none THEN "none" ELSE "") IN IF m78 # "" THEN Fail(w, m78, place) ELSE LET w80 == w p79 == choose_Job_start(w80, self, a) IN IF p79[1] = "fault" THEN Fail(w80, p79[2], p79[3]) ELSE IF p79[1] = "follow" THEN follow_Job(w80, self, p79[2], a) ELSE IF w80.state[self] \in {} THEN w80 ELSE Fail(w80, "unhandled", place)

accepts_Job_refused(w, self, a) == ~Awaits(w, self) /\ (FALSE)

\* refused, random.fsm:29:11
on_Job_refused(w, self, a, place) == IF self \in w.busy THEN Fail(w, "reentrance", place) ELSE IF Awaits(w, self) THEN Fail(w, "busy", place) ELSE LET m81 == (IF a[1] = none THEN "none" ELSE "") IN IF m81 # "" THEN Fail(w, m81, place) ELSE LET w83 == w p82 == choose_Job_refused(w83, self, a) IN IF p82[1] = "fault" THEN Fail(w83, p82[2], p82[3]) ELSE IF p82[1] = "follow" THEN follow_Job(w83, self, p82[2], a) ELSE IF w83.state[self] \in {"Done", "Running", "Waiting"} THEN w83 ELSE Fail(w83, "unhandled", place)

accepts_Job_lost(w, self, a) == ~Awaits(w, self) /\ (CASE w.state[self] = "Running" -> TRUE [] OTHER -> FALSE)

\* lost, random.fsm:30:11
on_Job_lost(w, self, a, place) == IF self \in w.busy THEN Fail(w, "reentrance", place) ELSE IF Awaits(w, self) THEN Fail(w, "busy", place) ELSE LET w86 == w p85 == choose_Job_lost(w86, self, a) IN IF p85[1] = "fault" THEN Fail(w86, p85[2], p85[3]) ELSE IF p85[1] = "follow" THEN follow_Job(w86, self, p85[2], a) ELSE IF w86.state[self] \in {"Done", "Running", "Waiting"} THEN w86 ELSE Fail(w86, "unhandled", place)

accepts_Job_finish(w, self, a) == ~Awaits(w, self) /\ (CASE w.state[self] = "Running" -> guard_Job_2(w, self, a) # 0 [] OTHER -> FALSE)

\* finish, random.fsm:31:11
on_Job_finish(w, self, a, place) == IF self \in w.busy THEN Fail(w, "reentrance", place) ELSE IF Awaits(w, self) THEN Fail(w, "busy", place) ELSE LET w89 == w p88 == choose_Job_finish(w89, self, a) IN IF p88[1] = "fault" THEN Fail(w89, p88[2], p88[3]) ELSE IF p88[1] = "follow" THEN follow_Job(w89, self, p88[2], a) ELSE IF w89.state[self] \in {} THEN w89 ELSE Fail(w89, "unhandled", place)

ChooseNext(w, i) == CASE i \in {0, 1} -> own_Node_next(w, i, <<>>) [] i \in {2, 3} -> own_Job_next(w, i, <<>>) [] OTHER -> <<"none", 0, 0>>

ChooseCrash(w, i) == CASE i \in {0, 1} -> own_Node_crash(w, i, <<>>) [] i \in {2, 3} -> own_Job_crash(w, i, <<>>) [] OTHER -> <<"none", 0, 0>>

Follow(w, i, t, a) == CASE i \in {0, 1} -> follow_Node(w, i, t, a) [] i \in {2, 3} -> follow_Job(w, i, t, a) [] OTHER -> w

TransitionPlace(i, t) == CASE i \in {0, 1} -> places_Node[t + 1] [] i \in {2, 3} -> places_Job[t + 1] [] OTHER -> 0

Deliver(w, i, e, a) == CASE i \in {0, 1} /\ e = "take" -> on_Node_take(w, i, a, 18) [] i \in {0, 1} /\ e = "give" -> on_Node_give(w, i, a, 19) [] i \in {0, 1} /\ e = "fail" -> on_Node_fail(w, i, a, 20) [] i \in {0, 1} /\ e = "heal" -> on_Node_heal(w, i, a, 21) [] i \in {2, 3} /\ e = "start" -> on_Job_start(w, i, a, 22) [] i \in {2, 3} /\ e = "refused" -> on_Job_refused(w, i, a, 23) [] i \in {2, 3} /\ e = "lost" -> on_Job_lost(w, i, a, 24) [] i \in {2, 3} /\ e = "finish" -> on_Job_finish(w, i, a, 25) [] OTHER -> w

Answer(w, i, act, o) == w

Outcomes(p) == {}

Asynchronous(p) == FALSE

Receive(w, c, e, a) == w

Takes(w, c, e, a) == TRUE

Offered(w) ==
  UNION {UNION {(IF ((IF v_j = none THEN 26 ELSE 0) = 0 /\ accepts_Job_start(w, v_j, <<v_n>>)) THEN {<<"event", v_j, "start", <<v_n>>>>} ELSE {}) : v_n \in {0, 1}} : v_j \in {2, 3}}
  \cup UNION {(IF ((IF v_j = none THEN 27 ELSE 0) = 0 /\ accepts_Job_finish(w, v_j, <<>>)) THEN {<<"event", v_j, "finish", <<>>>>} ELSE {}) : v_j \in {2, 3}}
  \cup (IF accepts_Node_fail(w, 0, <<>>) THEN {<<"event", 0, "fail", <<>>>>} ELSE {})
  \cup (IF accepts_Node_heal(w, 0, <<>>) THEN {<<"event", 0, "heal", <<>>>>} ELSE {})
 

OfferFaults(w) == (UNION {UNION {{(IF v_j = none THEN 26 ELSE 0)} : v_n \in {0, 1}} : v_j \in {2, 3}} \cup UNION {{(IF v_j = none THEN 27 ELSE 0)} : v_j \in {2, 3}}) \ {0}

TimerGuard(w, i, t) == 1

Timers(w) == {s \in {} : TimerGuard(w, s[2], s[3]) # 0}

Recover(w) == w

Recovers == FALSE

Reset(w, of) == [w EXCEPT !.pending = <<>>, !.waited = {}, !.channels = <<>>, !.Job_left = [i \in {2, 3} |-> CASE i = 2 -> 2 [] i = 3 -> 2], !.Job_kind = [i \in {2, 3} |-> CASE i = 2 -> "spot" [] i = 3 -> "spot"]]

Fleeting == [i \in {0, 1, 2, 3} |-> CASE i = 0 -> {} [] i = 1 -> {} [] i = 2 -> {} [] i = 3 -> {}]

Final == [i \in {0, 1, 2, 3} |-> CASE i = 0 -> {} [] i = 1 -> {} [] i = 2 -> {"Done"} [] i = 3 -> {"Done"}]

LeafPlace(i, s) == CASE i \in {0, 1} /\ s = "Up" -> 28 [] i \in {0, 1} /\ s = "Down" -> 29 [] i \in {2, 3} /\ s = "Waiting" -> 30 [] i \in {2, 3} /\ s = "Running" -> 31 [] i \in {2, 3} /\ s = "Done" -> 32 [] OTHER -> 0


\* Rounds ------------------------------------------------------------------------------------------------------------

RECURSIVE NextOwn(_, _), Round(_, _)
NextOwn(w, i) ==
  IF i = Instances THEN <<0, <<"none", 0, 0>>>>
  ELSE LET p == IF i \in w.touched /\ ~Awaits(w, i) THEN ChooseNext(w, i) ELSE <<"none", 0, 0>>
       IN IF p[1] = "none" THEN NextOwn(w, i + 1) ELSE <<i, p>>
Round(w, seen) ==
  IF w.stop # "" THEN w
  ELSE LET n == NextOwn(w, 0)
           p == n[2]
       IN IF p[1] = "fault" THEN Fail(w, p[2], p[3])
          ELSE IF p[1] = "none" THEN [w EXCEPT !.waited = @ \cap {w.pending[i][1] : i \in DOMAIN w.pending}]
          ELSE LET x == Follow(w, n[1], p[2], <<>>)
               IN IF x.stop # "" THEN x
                  ELSE IF Settled(x) \in seen \/ Cardinality(seen) >= 1000
                  THEN Fail(x, "endless", TransitionPlace(n[1], p[2]))
                  ELSE Round(x, seen \cup {Settled(x)})

\* Crashes -----------------------------------------------------------------------------------------------------------

RECURSIVE FollowCrashes(_, _, _)
FollowCrashes(w, chosen, i) ==
  IF i = Instances \/ w.stop # "" THEN w
  ELSE FollowCrashes(IF chosen[i][1] = "follow" THEN Follow(w, i, chosen[i][2], <<>>) ELSE w, chosen, i + 1)
Crash(old, of) ==
  LET w == [old EXCEPT !.busy = {}, !.stop = "", !.cut = 0, !.writes = 0]
      struck == IF of = {} THEN 0..(Instances - 1) ELSE of
      chosen == [i \in 0..(Instances - 1) |-> IF i \in struck THEN ChooseCrash(w, i) ELSE <<"spared", 0, 0>>]
      bad == {i \in DOMAIN chosen :
                chosen[i][1] = "fault" \/ (chosen[i][1] = "none" /\ w.state[i] \in Fleeting[i])}
      worst == Least(bad)
  IN IF bad # {}
     THEN IF chosen[worst][1] = "fault" THEN Fail(w, chosen[worst][2], chosen[worst][3])
          ELSE Fail(w, "lost", LeafPlace(worst, w.state[worst]))
     ELSE LET x == FollowCrashes(Reset(w, of), chosen, 0)
          IN IF x.stop # "" \/ of # {} THEN x ELSE [x EXCEPT !.down = Recovers]

\* Steps -------------------------------------------------------------------------------------------------------------

Begun(w, step) ==
  CASE step[1] = "event" -> Deliver(w, step[2], step[3], step[4])
    [] step[1] = "answer" ->
         LET at == Least({i \in DOMAIN w.pending : w.pending[i] = <<step[2], step[3]>>})
         IN Answer([w EXCEPT !.pending = SubSeq(@, 1, at - 1) \o SubSeq(@, at + 1, Len(@))], step[2], step[3], step[4])
    [] step[1] = "timer" ->
         LET g == TimerGuard(w, step[2], step[3])
         IN IF g < 0 THEN Fail(w, "none", -g) ELSE Follow(w, step[2], step[3], <<>>)
    [] step[1] = "deliver" ->
         LET x == Message(w, step[2], step[3])
         IN Receive(Drop(w, step[2], step[3]), step[2], x[1], x[2])
    [] step[1] = "lose" -> Drop(w, step[2], step[3])
    [] step[1] = "duplicate" -> Twice(w, step[2], step[3])
    [] step[1] = "recover" -> Recover([w EXCEPT !.down = FALSE])
Whole(w, step) == Round(Begun(w, step), {})
Taken(w, step) ==
  IF step[1] # "crash" THEN Whole(w, step)
  ELSE IF step[3] = 0 THEN Crash(w, step[4])
  ELSE LET x == Whole([w EXCEPT !.cut = step[3]], step[2])
       IN IF x.stop = "fault" THEN x ELSE Crash(x, {})
Writes(w, step) == LET x == Whole(w, step) IN IF x.stop = "fault" THEN 0 ELSE x.writes

StandsStill(w) == \E i \in DOMAIN w.pending : ~Asynchronous(w.pending[i])
Answers(w) ==
  LET now == IF StandsStill(w) THEN {w.pending[Least({i \in DOMAIN w.pending : ~Asynchronous(w.pending[i])})]}
             ELSE {w.pending[i] : i \in DOMAIN w.pending}
  IN UNION {{<<"answer", p[1], p[2], o>> : o \in Outcomes(p)} : p \in now}
Takeable(w, c, places) ==
  IF Patient[c] THEN {x \in places : LET y == Message(w, c, x) IN Takes(w, c, y[1], y[2])} ELSE places
Transmissions(w) ==
  UNION {
    (IF Awaits(w, Receiver[c]) THEN {}
     ELSE {<<"deliver", c, x>> : x \in Takeable(w, c, IF Fifo[c] THEN Places(w, c) \cap {1} ELSE Places(w, c))})
    \cup (IF Lossy[c] THEN {<<"lose", c, x>> : x \in Places(w, c)} ELSE {})
    \cup (IF Duplicating[c] /\ Held(w, c) < Bound[c] THEN {<<"duplicate", c, x>> : x \in Places(w, c)} ELSE {})
    : c \in DOMAIN Fifo}
Offers(w) ==
  Answers(w) \cup (IF StandsStill(w) THEN {} ELSE Offered(w) \cup Timers(w) \cup Transmissions(w))
Anytime == {<<"crash", <<"none">>, 0, {}>>}
Cuts(w, steps) == UNION {{<<"crash", s, n, {}>> : n \in 1..(Writes(w, s) - 1)} : s \in steps}
CutRecovery(w) ==
  LET n == Writes(w, <<"recover">>) IN {<<"crash", <<"recover">>, k, {}>> : k \in 0..(IF n > 1 THEN n - 1 ELSE 0)}


Crashes(w, steps) == (IF (\A v_j \in {2, 3} : InStates(w, v_j, {"Waiting"})) THEN Anytime ELSE {})

RecoveryCrashes(w) == {}

CrashFaults(w) == {}

RecoveryFaults(w) == {}

\* invariant apart, random.fsm:49:5
question_0(w, self) == IF (LET seq91 == Ascending({0, 1})  bad90 == {i92 \in DOMAIN seq91 : LET v_n == seq91[i92] IN IF (IF v_n = none THEN 33 ELSE 0) # 0 THEN TRUE ELSE ~(Cardinality(w.Node_holders[v_n]) <= 1)} IN IF bad90 = {} THEN 0 ELSE LET v_n == seq91[Least(bad90)] IN (IF v_n = none THEN 33 ELSE 0)) # 0 THEN FALSE ELSE (\A v_n \in {0, 1} : (Cardinality(w.Node_holders[v_n]) <= 1))

\* invariant Job: invariant 1, random.fsm:36:5
question_1(w, self) == ((w.Job_node[self] # none) \/ (~InStates(w, self, {"Running"})))

\* reachable done, random.fsm:50:5
question_2(w, self) == (\A v_j \in {2, 3} : InStates(w, v_j, {"Done"}))

\* Are steps explored from here?
Inside(w) == TRUE

\* What has no value in the environment is not offered: the places of the faults. An event counts as a step that fails.
EventFaults(w) == IF ~Inside(w) \/ w.down \/ StandsStill(w) THEN {} ELSE OfferFaults(w)
Faults(w) == EventFaults(w) \cup (IF ~Inside(w) THEN {} ELSE IF w.down THEN RecoveryFaults(w) ELSE CrashFaults(w))
Steps(w) ==
  IF ~Inside(w) THEN {}
  ELSE IF w.down THEN {<<"recover">>} \cup RecoveryCrashes(w)
  ELSE LET steps == Offers(w) IN steps \cup Crashes(w, steps)

VARIABLE world
Init == world = First
Next == \E s \in Steps(world) : LET x == Taken(world, s) IN x.stop = "" /\ world' = Settled(x)
Spec == Init /\ [][Next]_world

\* What is asked ----------------------------------------------------------------------------------------------------

NoStepFails == FirstFault = <<>> /\ Faults(world) = {} /\ \A s \in Steps(world) : Taken(world, s).stop = ""
NoDeadlock ==
  \/ ~Inside(world)
  \/ EventFaults(world) # {}
  \/ \E s \in Steps(world) : s[1] # "crash"
  \/ /\ \A c \in DOMAIN Fifo : Held(world, c) = 0
     /\ \E i \in DOMAIN Final : Final[i] # {}
     /\ \A i \in DOMAIN Final : Final[i] = {} \/ world.state[i] \in Final[i]

\* For a run that tells everything that it finds, once, instead of ending with the first: `INVARIANT Watch`.
Found(x) == x \in TLCGet(1) \/ (PrintT(<<"found", x>>) /\ TLCSet(1, TLCGet(1) \cup {x}))
ASSUME TLCSet(1, {})
FaultsSeen ==
  /\ FirstFault = <<>> \/ Found(FirstFault)
  /\ \A f \in Faults(world) : Found(<<"fault", "none", f>>)
  /\ \A s \in Steps(world) :
       LET x == Taken(world, s) IN x.stop = "" \/ Found(<<"fault", x.fault[1], x.fault[2]>>)

question_0_holds == \A self \in {-1} : question_0(world, self)
question_1_holds == \A self \in {2, 3} : question_1(world, self)
question_2_holds == ~question_2(world, -1)
Watch == FaultsSeen /\ (NoDeadlock \/ Found(<<"deadlock">>)) /\ (question_0_holds \/ Found(<<"question", 0>>)) /\ (question_1_holds \/ Found(<<"question", 1>>)) /\ (question_2_holds \/ Found(<<"question", 2>>))
====

Places:
\* 1: random.fsm:14:54
\* 2: random.fsm:14:54
\* 3: random.fsm:16:52
\* 4: random.fsm:16:52
\* 5: random.fsm:13:5
\* 6: random.fsm:14:5
\* 7: random.fsm:15:5
\* 8: random.fsm:16:5
\* 9: random.fsm:17:5
\* 10: random.fsm:32:72
\* 11: random.fsm:32:89
\* 12: random.fsm:32:89
\* 13: random.fsm:34:60
\* 14: random.fsm:34:60
\* 15: random.fsm:32:5
\* 16: random.fsm:33:5
\* 17: random.fsm:34:5
\* 18: random.fsm:9:11
\* 19: random.fsm:10:11
\* 20: random.fsm:11:11
\* 21: random.fsm:12:11
\* 22: random.fsm:28:11
\* 23: random.fsm:29:11
\* 24: random.fsm:30:11
\* 25: random.fsm:31:11
\* 26: random.fsm:43:37
\* 27: random.fsm:44:25
\* 28: random.fsm:7:5
\* 29: random.fsm:8:5
\* 30: random.fsm:25:5
\* 31: random.fsm:26:5
\* 32: random.fsm:27:5
\* 33: random.fsm:49:43

Two.cfg, for `tlc2.TLC -deadlock`, as NoDeadlock looks for deadlocks:
CONSTANT none = none
INIT Init
NEXT Next
INVARIANT NoStepFails
INVARIANT NoDeadlock
INVARIANT question_0_holds
INVARIANT question_1_holds
