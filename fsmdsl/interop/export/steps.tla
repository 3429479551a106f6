
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
