---- MODULE One ----
\* system door.One, from random.fsm:11:1
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

\* Instances by number: 0 door
Instances == 1
Ordinal == [i \in {0} |-> CASE i = 0 -> 0]
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


First == [state |-> [i \in {0} |-> CASE i = 0 -> "Open"], waited |-> {}, channels |-> <<>>, pending |-> <<>>, down |-> FALSE, busy |-> {}, touched |-> {}, writes |-> 0, cut |-> 0, stop |-> "", fault |-> <<>>]
\* A first value that does not fit.
FirstFault == <<>>

RECURSIVE follow_Door(_, _, _, _), on_Door_push(_, _, _, _), on_Door_pull(_, _, _, _)

\* Open -> Shut on push, random.fsm:7:5
follow_Door_0(w, self, a) == (LET w1 == Begin(w, self) w2 == IF w1.stop # "" THEN w1 ELSE (w1) w3 == IF w2.stop # "" THEN w2 ELSE w2 w4 == IF w3.stop # "" THEN w3 ELSE Wrote([w3 EXCEPT !.state[self] = "Shut"]) w5 == IF w4.stop # "" THEN w4 ELSE End(w4, self, FALSE) IN w5)

\* Shut -> Open on pull, random.fsm:8:5
follow_Door_1(w, self, a) == (LET w6 == Begin(w, self) w7 == IF w6.stop # "" THEN w6 ELSE (w6) w8 == IF w7.stop # "" THEN w7 ELSE w7 w9 == IF w8.stop # "" THEN w8 ELSE Wrote([w8 EXCEPT !.state[self] = "Open"]) w10 == IF w9.stop # "" THEN w9 ELSE End(w9, self, FALSE) IN w10)

follow_Door(w, self, t, a) == CASE t = 0 -> follow_Door_0(w, self, a) [] t = 1 -> follow_Door_1(w, self, a) [] OTHER -> w

before_Door == {}
places_Door == <<1, 2>>

choose_Door_push(w, self, a) == CASE w.state[self] \in {"Open"} -> Pick(before_Door, places_Door, <<<<0, 1>>>>) [] OTHER -> <<"none", 0, 0>>

choose_Door_pull(w, self, a) == CASE w.state[self] \in {"Shut"} -> Pick(before_Door, places_Door, <<<<1, 1>>>>) [] OTHER -> <<"none", 0, 0>>

own_Door_crash(w, self, a) == <<"none", 0, 0>>

own_Door_next(w, self, a) == <<"none", 0, 0>>

accepts_Door_push(w, self, a) == ~Awaits(w, self) /\ (CASE w.state[self] = "Open" -> TRUE [] OTHER -> FALSE)

\* push, random.fsm:6:11
on_Door_push(w, self, a, place) == IF self \in w.busy THEN Fail(w, "reentrance", place) ELSE IF Awaits(w, self) THEN Fail(w, "busy", place) ELSE LET w15 == w p14 == choose_Door_push(w15, self, a) IN IF p14[1] = "fault" THEN Fail(w15, p14[2], p14[3]) ELSE IF p14[1] = "follow" THEN follow_Door(w15, self, p14[2], a) ELSE IF w15.state[self] \in {} THEN w15 ELSE Fail(w15, "unhandled", place)

accepts_Door_pull(w, self, a) == ~Awaits(w, self) /\ (CASE w.state[self] = "Shut" -> TRUE [] OTHER -> FALSE)

\* pull, random.fsm:6:17
on_Door_pull(w, self, a, place) == IF self \in w.busy THEN Fail(w, "reentrance", place) ELSE IF Awaits(w, self) THEN Fail(w, "busy", place) ELSE LET w18 == w p17 == choose_Door_pull(w18, self, a) IN IF p17[1] = "fault" THEN Fail(w18, p17[2], p17[3]) ELSE IF p17[1] = "follow" THEN follow_Door(w18, self, p17[2], a) ELSE IF w18.state[self] \in {} THEN w18 ELSE Fail(w18, "unhandled", place)

ChooseNext(w, i) == CASE i \in {0} -> own_Door_next(w, i, <<>>) [] OTHER -> <<"none", 0, 0>>

ChooseCrash(w, i) == CASE i \in {0} -> own_Door_crash(w, i, <<>>) [] OTHER -> <<"none", 0, 0>>

Follow(w, i, t, a) == CASE i \in {0} -> follow_Door(w, i, t, a) [] OTHER -> w

TransitionPlace(i, t) == CASE i \in {0} -> places_Door[t + 1] [] OTHER -> 0

Deliver(w, i, e, a) == CASE i \in {0} /\ e = "push" -> on_Door_push(w, i, a, 3) [] i \in {0} /\ e = "pull" -> on_Door_pull(w, i, a, 4) [] OTHER -> w

Answer(w, i, act, o) == w

Outcomes(p) == {}

Asynchronous(p) == FALSE

Receive(w, c, e, a) == w

Takes(w, c, e, a) == TRUE

Offered(w) ==
  {<<"event", 0, "push", a>> : a \in {a \in {<<>>} : accepts_Door_push(w, 0, a)}}
  \cup {<<"event", 0, "pull", a>> : a \in {a \in {<<>>} : accepts_Door_pull(w, 0, a)}}
 

OfferFaults(w) == {}

TimerGuard(w, i, t) == 1

Timers(w) == {s \in {} : TimerGuard(w, s[2], s[3]) # 0}

Recover(w) == w

Recovers == FALSE

Reset(w, of) == [w EXCEPT !.pending = <<>>, !.waited = {}, !.channels = <<>>]

Fleeting == [i \in {0} |-> CASE i = 0 -> {}]

Final == [i \in {0} |-> CASE i = 0 -> {}]

LeafPlace(i, s) == CASE i \in {0} /\ s = "Open" -> 5 [] i \in {0} /\ s = "Shut" -> 6 [] OTHER -> 0


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


Crashes(w, steps) == {}

RecoveryCrashes(w) == {}

CrashFaults(w) == {}

RecoveryFaults(w) == {}

\* reachable shut, random.fsm:13:5
question_0(w, self) == InStates(w, 0, {"Shut"})

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

question_0_holds == ~question_0(world, -1)
Watch == FaultsSeen /\ (NoDeadlock \/ Found(<<"deadlock">>)) /\ (question_0_holds \/ Found(<<"question", 0>>))
====

Places:
\* 1: random.fsm:7:5
\* 2: random.fsm:8:5
\* 3: random.fsm:6:11
\* 4: random.fsm:6:17
\* 5: random.fsm:4:5
\* 6: random.fsm:5:5

One.cfg, for `tlc2.TLC -deadlock`, as NoDeadlock looks for deadlocks:
CONSTANT none = none
INIT Init
NEXT Next
INVARIANT NoStepFails
INVARIANT NoDeadlock
