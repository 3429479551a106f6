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

\* Instances by number: 0 door
Blocking == {}
Fifo == <<>>
Resting == [i \in {0} |-> CASE i = 0 -> {}]

First ==
  [state |-> [i \in {0} |-> CASE i = 0 -> "Open"],
   channels |-> <<>>,
   waited |-> {},
   pending |-> <<>>,
   down |-> FALSE,
   busy |-> {},
   touched |-> {},
   chosen |-> {},
   seen |-> {},
   writes |-> 0,
   cut |-> 0,
   stop |-> "",
   fault |-> <<>>,
   result |-> none,
   offers |-> {},
   unoffered |-> {}]
\* A first value that does not fit.
FirstFault == <<>>

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

RECURSIVE
  round(_),
  offer_events_of(_, _),
  choose_crash_of(_, _),
  forget_of(_, _),
  follow_crash_of(_, _)

offer_events_Door(w, self) ==
  LET v_accepted == FALSE IN
  LET v_accepted_2 ==
      IF (w.state[self] \in {"Open"}) THEN
        LET v_accepted_3 == TRUE IN
        v_accepted_3
      ELSE
      v_accepted IN
  LET w_2 ==
      IF v_accepted_2 THEN
        [w EXCEPT !.offers = @ \cup {<<"event", self, "push", <<>>>>}]
      ELSE
      w IN
  LET v_accepted_2_2 == FALSE IN
  LET v_accepted_2_3 ==
      IF (w_2.state[self] \in {"Shut"}) THEN
        LET v_accepted_2_4 == TRUE IN
        v_accepted_2_4
      ELSE
      v_accepted_2_2 IN
  IF v_accepted_2_3 THEN
    [w_2 EXCEPT !.offers = @ \cup {<<"event", self, "pull", <<>>>>}]
  ELSE
  w_2

offer_timers_Door(w, self) ==
  w

offer_steps(w) ==
  IF (Blocker(w) = none) THEN
    LET RECURSIVE each(_, _)
        each(w_2, rest) ==
          IF rest = <<>> THEN w_2 ELSE
          LET v_instance == Head(rest) IN
          LET w_3 == offer_events_of(w_2, v_instance) IN
          IF w_3.stop # "" THEN w_3 ELSE
          each(w_3, Tail(rest)) IN
    each(w, <<0>>)
  ELSE
  w

admit_Door_push(w, self, v_location) ==
  IF (self \in w.busy) THEN Fail(w, "reentrance", v_location) ELSE
  IF (Cardinality(w.busy) > 64) THEN Fail(w, "endless", v_location) ELSE
  w

\* Open -> Shut on push, random.fsm:7:5
follow_Door_0(w, self) ==
  LET w_2 == [w EXCEPT !.touched = @ \cup {self}] IN
  LET w_3 == [w_2 EXCEPT !.busy = @ \cup {self}] IN
  LET w_4 == [w_3 EXCEPT !.state[self] = "Shut"] IN
  LET w_5 == Cut(w_4) IN
  IF w_5.stop # "" THEN w_5 ELSE
  [w_5 EXCEPT !.busy = @ \ {self}]

handle_Door_push(w, self, v_location) ==
  IF (w.state[self] \in {"Open"}) THEN
    follow_Door_0(w, self)
  ELSE
  Fail(w, "unhandled", v_location)

\* push, random.fsm:6:11
event_Door_push(w, self) ==
  IF w.down THEN Fail(w, "busy", 1) ELSE
  LET w_2 == admit_Door_push(w, self, 2) IN
  IF w_2.stop # "" THEN w_2 ELSE
  LET w_3 == handle_Door_push(w_2, self, 2) IN
  IF w_3.stop # "" THEN w_3 ELSE
  round(w_3)

admit_Door_pull(w, self, v_location) ==
  IF (self \in w.busy) THEN Fail(w, "reentrance", v_location) ELSE
  IF (Cardinality(w.busy) > 64) THEN Fail(w, "endless", v_location) ELSE
  w

\* Shut -> Open on pull, random.fsm:8:5
follow_Door_1(w, self) ==
  LET w_2 == [w EXCEPT !.touched = @ \cup {self}] IN
  LET w_3 == [w_2 EXCEPT !.busy = @ \cup {self}] IN
  LET w_4 == [w_3 EXCEPT !.state[self] = "Open"] IN
  LET w_5 == Cut(w_4) IN
  IF w_5.stop # "" THEN w_5 ELSE
  [w_5 EXCEPT !.busy = @ \ {self}]

handle_Door_pull(w, self, v_location) ==
  IF (w.state[self] \in {"Shut"}) THEN
    follow_Door_1(w, self)
  ELSE
  Fail(w, "unhandled", v_location)

\* pull, random.fsm:6:17
event_Door_pull(w, self) ==
  IF w.down THEN Fail(w, "busy", 1) ELSE
  LET w_2 == admit_Door_pull(w, self, 3) IN
  IF w_2.stop # "" THEN w_2 ELSE
  LET w_3 == handle_Door_pull(w_2, self, 3) IN
  IF w_3.stop # "" THEN w_3 ELSE
  round(w_3)

eventless_Door(w, self) ==
  [w EXCEPT !.result = FALSE]

choose_crash_Door(w, self) ==
  Choose(w, self, none)

forget_Door(w, self) ==
  w

follow_crash_Door(w, self) ==
  w

round(w) ==
  LET RECURSIVE each(_, _)
      each(w_2, rest) ==
        IF rest = <<>> THEN w_2 ELSE
        LET v_instance == Head(rest) IN
        IF (~Waits(w_2, v_instance)) THEN
          LET w_3 == [w_2 EXCEPT !.waited = @ \ {v_instance}] IN
          each(w_3, Tail(rest))
        ELSE
        each(w_2, Tail(rest)) IN
  each(w, Ascending(w.waited))

crash(w) ==
  LET w_2 ==
      LET RECURSIVE each(_, _)
          each(w_3, rest) ==
            IF rest = <<>> THEN w_3 ELSE
            LET v_instance == Head(rest) IN
            LET w_4 == [w_3 EXCEPT !.busy = @ \ {v_instance}] IN
            each(w_4, Tail(rest)) IN
      each(w, Ascending(w.busy)) IN
  LET w_5 ==
      LET RECURSIVE each_2(_, _)
          each_2(w_6, rest_2) ==
            IF rest_2 = <<>> THEN w_6 ELSE
            LET v_instance_2 == Head(rest_2) IN
            LET w_7 == choose_crash_of(w_6, v_instance_2) IN
            IF w_7.stop # "" THEN w_7 ELSE
            each_2(w_7, Tail(rest_2)) IN
      each_2(w_2, <<0>>) IN
  IF w_5.stop # "" THEN w_5 ELSE
  LET w_8 ==
      LET RECURSIVE each_3(_, _)
          each_3(w_9, rest_3) ==
            IF rest_3 = <<>> THEN w_9 ELSE
            LET v_instance_3 == Head(rest_3) IN
            LET w_10 == Forget(w_9, v_instance_3) IN
            LET w_11 == [w_10 EXCEPT !.waited = @ \ {v_instance_3}] IN
            each_3(w_11, Tail(rest_3)) IN
      each_3(w_5, <<0>>) IN
  LET w_12 == [w_8 EXCEPT !.channels = First.channels] IN
  LET w_13 ==
      LET RECURSIVE each_4(_, _)
          each_4(w_14, rest_4) ==
            IF rest_4 = <<>> THEN w_14 ELSE
            LET v_instance_4 == Head(rest_4) IN
            LET w_15 == forget_of(w_14, v_instance_4) IN
            IF w_15.stop # "" THEN w_15 ELSE
            each_4(w_15, Tail(rest_4)) IN
      each_4(w_12, <<0>>) IN
  IF w_13.stop # "" THEN w_13 ELSE
  LET RECURSIVE each_5(_, _)
      each_5(w_16, rest_5) ==
        IF rest_5 = <<>> THEN w_16 ELSE
        LET v_instance_5 == Head(rest_5) IN
        LET w_17 == follow_crash_of(w_16, v_instance_5) IN
        IF w_17.stop # "" THEN w_17 ELSE
        each_5(w_17, Tail(rest_5)) IN
  each_5(w_13, <<0>>)

crash_alone(w, v_instances) ==
  IF w.down THEN Fail(w, "busy", 1) ELSE
  LET w_2 ==
      LET RECURSIVE each(_, _)
          each(w_3, rest) ==
            IF rest = <<>> THEN w_3 ELSE
            LET v_instance == Head(rest) IN
            LET w_4 == choose_crash_of(w_3, v_instance) IN
            IF w_4.stop # "" THEN w_4 ELSE
            each(w_4, Tail(rest)) IN
      each(w, Ascending(v_instances)) IN
  IF w_2.stop # "" THEN w_2 ELSE
  LET w_5 ==
      LET RECURSIVE each_2(_, _)
          each_2(w_6, rest_2) ==
            IF rest_2 = <<>> THEN w_6 ELSE
            LET v_instance_2 == Head(rest_2) IN
            LET w_7 == Forget(w_6, v_instance_2) IN
            LET w_8 == [w_7 EXCEPT !.waited = @ \ {v_instance_2}] IN
            each_2(w_8, Tail(rest_2)) IN
      each_2(w_2, Ascending(v_instances)) IN
  LET w_9 ==
      LET RECURSIVE each_3(_, _)
          each_3(w_10, rest_3) ==
            IF rest_3 = <<>> THEN w_10 ELSE
            LET v_instance_3 == Head(rest_3) IN
            LET w_11 == forget_of(w_10, v_instance_3) IN
            IF w_11.stop # "" THEN w_11 ELSE
            each_3(w_11, Tail(rest_3)) IN
      each_3(w_5, Ascending(v_instances)) IN
  IF w_9.stop # "" THEN w_9 ELSE
  LET RECURSIVE each_4(_, _)
      each_4(w_12, rest_4) ==
        IF rest_4 = <<>> THEN w_12 ELSE
        LET v_instance_4 == Head(rest_4) IN
        LET w_13 == follow_crash_of(w_12, v_instance_4) IN
        IF w_13.stop # "" THEN w_13 ELSE
        each_4(w_13, Tail(rest_4)) IN
  each_4(w_9, Ascending(v_instances))

recover(w) ==
  IF (~w.down) THEN Fail(w, "unhandled", 1) ELSE
  LET w_2 == [w EXCEPT !.down = FALSE] IN
  round(w_2)

offer_events_of(w, i) ==
  CASE i \in {0} -> offer_events_Door(w, i)

choose_crash_of(w, i) ==
  CASE i \in {0} -> choose_crash_Door(w, i)

forget_of(w, i) ==
  CASE i \in {0} -> forget_Door(w, i)

follow_crash_of(w, i) ==
  CASE i \in {0} -> follow_crash_Door(w, i)

Run(w, s) ==
  CASE s[1] = "event" /\ s[2] \in {0} /\ s[3] = "push" -> event_Door_push(w, s[2])
    [] s[1] = "event" /\ s[2] \in {0} /\ s[3] = "pull" -> event_Door_pull(w, s[2])
    [] s[1] = "crash alone" -> crash_alone(w, s[2])
    [] s[1] = "recover" -> recover(w)

\* Crashes inside steps ----------------------------------------------------------------------------------------------

CrashAfter(x) == IF x.stop = "fault" THEN x ELSE crash([x EXCEPT !.stop = "", !.cut = 0])
Taken(w, s) ==
  CASE s[1] = "crash" -> crash(w)
    [] s[1] = "crash inside" -> IF s[3] = 0 THEN crash(w) ELSE CrashAfter(Run([w EXCEPT !.cut = s[3]], s[2]))
    [] OTHER -> Run(w, s)
Writes(w, s) == LET x == Run(Settled(w), s) IN IF x.stop = "fault" THEN 0 ELSE x.writes
OfferCrash(w) == [w EXCEPT !.offers = @ \cup {<<"crash">>}]
OfferCrashInside(w) ==
  LET steps == {s \in w.offers : s[1] \notin {"crash", "crash inside"}}
  IN [w EXCEPT !.offers = @ \cup UNION {{<<"crash inside", s, n>> : n \in 1..(Writes(w, s) - 1)} : s \in steps}]
OfferCrashInRecovery(w) ==
  LET n == Writes(w, <<"recover">>)
  IN [w EXCEPT !.offers = @ \cup {<<"crash inside", <<"recover">>, k>> : k \in 0..(IF n > 1 THEN n - 1 ELSE 0)}]

\* reachable shut, random.fsm:13:5
holds_0(w) ==
  (w.state[0] \in {"Shut"})

offers(w) ==
  IF w.down THEN
    [w EXCEPT !.offers = @ \cup {<<"recover">>}]
  ELSE
  offer_steps(w)

\* Does the system say that it may rest here?
MayRest(w) == FALSE

\* Are steps explored from here?
Inside(w) == TRUE

\* Nothing is explored from a world that is not inside the bounds.
Offers(w) == IF Inside(w) THEN offers(w) ELSE w
Steps(w) == Offers(w).offers

VARIABLE world
Init == world = First
Next == \E s \in Steps(world) : LET x == Taken(world, s) IN x.stop = "" /\ world' = Settled(x)
Spec == Init /\ [][Next]_world

\* What is asked ----------------------------------------------------------------------------------------------------

\* What has no value in the environment is not offered, and counts as a step that fails.
NoStepFails ==
  /\ FirstFault = <<>>
  /\ Offers(world).unoffered = {}
  /\ \A s \in Steps(world) : Taken(world, s).stop = ""
NoDeadlock ==
  \/ ~Inside(world)
  \/ world.down
  \/ LET x == offer_steps(world) IN x.offers # {} \/ x.unoffered # {}
  \/ /\ \A c \in DOMAIN Fifo : world.channels[c] = <<>>
     /\ \/ MayRest(world)
        \/ /\ DOMAIN Resting # {}
           /\ \A i \in DOMAIN Resting : world.state[i] \in Resting[i]

\* For a run that tells everything that it finds, once, instead of ending with the first: `INVARIANT Watch`.
Found(x) == x \in TLCGet(1) \/ (PrintT(<<"found", x>>) /\ TLCSet(1, TLCGet(1) \cup {x}))
ASSUME TLCSet(1, {})
FaultsSeen ==
  /\ FirstFault = <<>> \/ Found(FirstFault)
  /\ \A f \in Offers(world).unoffered : Found(<<"fault", f[1], f[2]>>)
  /\ \A s \in Steps(world) :
       LET x == Taken(world, s) IN x.stop = "" \/ Found(<<"fault", x.fault[1], x.fault[2]>>)

question_0_holds == ~holds_0(world)
Watch == FaultsSeen /\ (NoDeadlock \/ Found(<<"deadlock">>)) /\ (question_0_holds \/ Found(<<"question", 0>>))
====

Places:
\* 1: random.fsm:11:1
\* 2: random.fsm:6:11
\* 3: random.fsm:6:17

One.cfg, for `tlc2.TLC -deadlock`, as NoDeadlock looks for deadlocks:
CONSTANT none = none
INIT Init
NEXT Next
INVARIANT NoStepFails
INVARIANT NoDeadlock
