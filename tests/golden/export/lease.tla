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

\* Instances by number: 0 n0, 1 n1, 2 j0, 3 j1
Blocking == {}
Fifo == <<>>
Resting == [i \in {0, 1, 2, 3} |-> CASE i = 0 -> {"Up", "Down"} [] i = 1 -> {"Up", "Down"} [] i = 2 -> {"Done"} [] i = 3 -> {"Done"}]

First ==
  [state |-> [i \in {0, 1, 2, 3} |-> CASE i = 0 -> "Up" [] i = 1 -> "Up" [] i = 2 -> "Waiting" [] i = 3 -> "Waiting"],
   Node_holders |-> [i \in {0, 1} |-> CASE i = 0 -> {} [] i = 1 -> {}],
   Job_node |-> [i \in {2, 3} |-> CASE i = 2 -> none [] i = 3 -> none],
   Job_left |-> [i \in {2, 3} |-> CASE i = 2 -> 2 [] i = 3 -> 2],
   Job_kind |-> [i \in {2, 3} |-> CASE i = 2 -> "spot" [] i = 3 -> "spot"],
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
  admit_Job_refused(_, _, _),
  handle_Job_refused(_, _, _, _),
  round(_),
  admit_Job_lost(_, _, _),
  handle_Job_lost(_, _, _),
  choose_crash_of(_, _),
  forget_of(_, _),
  follow_crash_of(_, _)

offer_line_0(w) ==
  LET each(v_j) ==
      IF (w.state[v_j] \in {"Waiting"}) THEN
        LET each_2(v_n) ==
            LET v_accepted == FALSE IN
            LET v_accepted_2 ==
                IF (w.state[v_j] \in {"Waiting"}) THEN
                  LET v_guard == (w.Job_left[v_j] > 0) IN
                  LET v_accepted_3 == v_guard IN
                  v_accepted_3
                ELSE
                v_accepted IN
            IF v_accepted_2 THEN
              [w EXCEPT !.offers = @ \cup {<<"event", v_j, "start", <<v_n>>>>}]
            ELSE
            w IN
        LET w_3 == [w EXCEPT !.offers = @ \cup UNION {each_2(v_n_2).offers : v_n_2 \in {0, 1}}] IN
        w_3
      ELSE
      w IN
  LET w_2 == [w EXCEPT !.offers = @ \cup UNION {each(v_j_2).offers : v_j_2 \in {2, 3}}] IN
  w_2

offer_line_1(w) ==
  LET each(v_j) ==
      LET v_accepted == FALSE IN
      LET v_accepted_2 ==
          IF (w.state[v_j] \in {"Running"}) THEN
            LET v_guard == (w.Job_node[v_j] # none) IN
            LET v_accepted_3 == v_guard IN
            v_accepted_3
          ELSE
          v_accepted IN
      IF v_accepted_2 THEN
        [w EXCEPT !.offers = @ \cup {<<"event", v_j, "finish", <<>>>>}]
      ELSE
      w IN
  LET w_2 == [w EXCEPT !.offers = @ \cup UNION {each(v_j_2).offers : v_j_2 \in {2, 3}}] IN
  w_2

offer_line_2(w) ==
  LET v_accepted == FALSE IN
  LET v_accepted_2 ==
      IF (w.state[0] \in {"Up"}) THEN
        LET v_accepted_3 == TRUE IN
        v_accepted_3
      ELSE
      v_accepted IN
  IF v_accepted_2 THEN
    [w EXCEPT !.offers = @ \cup {<<"event", 0, "fail", <<>>>>}]
  ELSE
  w

offer_line_3(w) ==
  LET v_accepted == FALSE IN
  LET v_accepted_2 ==
      IF (w.state[0] \in {"Down"}) THEN
        LET v_accepted_3 == TRUE IN
        v_accepted_3
      ELSE
      v_accepted IN
  IF v_accepted_2 THEN
    [w EXCEPT !.offers = @ \cup {<<"event", 0, "heal", <<>>>>}]
  ELSE
  w

offer_timers_Node(w, self) ==
  w

offer_timers_Job(w, self) ==
  w

offer_steps(w) ==
  IF (Blocker(w) = none) THEN
    LET w_2 == offer_line_0(w) IN
    IF w_2.stop # "" THEN w_2 ELSE
    LET w_3 == offer_line_1(w_2) IN
    IF w_3.stop # "" THEN w_3 ELSE
    LET w_4 == offer_line_2(w_3) IN
    IF w_4.stop # "" THEN w_4 ELSE
    offer_line_3(w_4)
  ELSE
  w

admit_Node_take(w, self, v_location) ==
  IF (self \in w.busy) THEN Fail(w, "reentrance", v_location) ELSE
  IF (Cardinality(w.busy) > 64) THEN Fail(w, "endless", v_location) ELSE
  w

\* Up -> (internal) on take, random.fsm:13:5
follow_Node_0(w, self, v_job) ==
  LET w_2 == [w EXCEPT !.touched = @ \cup {self}] IN
  LET w_3 == [w_2 EXCEPT !.busy = @ \cup {self}] IN
  LET w_4 == [w_3 EXCEPT !.Node_holders[self] = (w_3.Node_holders[self] \cup {v_job})] IN
  LET w_5 == Cut(w_4) IN
  IF w_5.stop # "" THEN w_5 ELSE
  [w_5 EXCEPT !.busy = @ \ {self}]

\* Up -> (internal) on busy, random.fsm:14:5
follow_Node_1(w, self, v_job) ==
  LET w_2 == [w EXCEPT !.touched = @ \cup {self}] IN
  LET w_3 == [w_2 EXCEPT !.busy = @ \cup {self}] IN
  LET w_4 == admit_Job_refused(w_3, v_job, 1) IN
  IF w_4.stop # "" THEN w_4 ELSE
  LET w_5 == handle_Job_refused(w_4, v_job, self, 1) IN
  IF w_5.stop # "" THEN w_5 ELSE
  [w_5 EXCEPT !.busy = @ \ {self}]

handle_Node_take(w, self, v_job, v_location) ==
  LET then(w_2) ==
      IF (w_2.state[self] \in {"Down"}) THEN
        w_2
      ELSE
      Fail(w_2, "unhandled", v_location) IN
  IF (w.state[self] \in {"Up"}) THEN
    LET v_guard == (Cardinality(w.Node_holders[self]) < 1) IN
    LET v_guard_2 == (Cardinality(w.Node_holders[self]) = 1) IN
    IF (v_guard_2 /\ v_guard) THEN Fail(w, "overlap", 2) ELSE
    IF v_guard THEN
      follow_Node_0(w, self, v_job)
    ELSE
    IF v_guard_2 THEN
      follow_Node_1(w, self, v_job)
    ELSE
    then(w)
  ELSE
  then(w)

\* take, random.fsm:9:11
event_Node_take(w, self, v_job) ==
  IF w.down THEN Fail(w, "busy", 3) ELSE
  LET w_2 == admit_Node_take(w, self, 4) IN
  IF w_2.stop # "" THEN w_2 ELSE
  IF (v_job = none) THEN Fail(w_2, "none", 4) ELSE
  LET w_3 == handle_Node_take(w_2, self, v_job, 4) IN
  IF w_3.stop # "" THEN w_3 ELSE
  round(w_3)

admit_Node_give(w, self, v_location) ==
  IF (self \in w.busy) THEN Fail(w, "reentrance", v_location) ELSE
  IF (Cardinality(w.busy) > 64) THEN Fail(w, "endless", v_location) ELSE
  w

\* Up -> (internal) on give, random.fsm:15:5
follow_Node_2(w, self, v_job) ==
  LET w_2 == [w EXCEPT !.touched = @ \cup {self}] IN
  LET w_3 == [w_2 EXCEPT !.busy = @ \cup {self}] IN
  LET w_4 == [w_3 EXCEPT !.Node_holders[self] = (w_3.Node_holders[self] \ {v_job})] IN
  LET w_5 == Cut(w_4) IN
  IF w_5.stop # "" THEN w_5 ELSE
  [w_5 EXCEPT !.busy = @ \ {self}]

\* Down -> (internal) on give, random.fsm:15:5
follow_Node_3(w, self, v_job) ==
  LET w_2 == [w EXCEPT !.touched = @ \cup {self}] IN
  LET w_3 == [w_2 EXCEPT !.busy = @ \cup {self}] IN
  LET w_4 == [w_3 EXCEPT !.Node_holders[self] = (w_3.Node_holders[self] \ {v_job})] IN
  LET w_5 == Cut(w_4) IN
  IF w_5.stop # "" THEN w_5 ELSE
  [w_5 EXCEPT !.busy = @ \ {self}]

handle_Node_give(w, self, v_job, v_location) ==
  IF (w.state[self] \in {"Up"}) THEN
    follow_Node_2(w, self, v_job)
  ELSE
  IF (w.state[self] \in {"Down"}) THEN
    follow_Node_3(w, self, v_job)
  ELSE
  Fail(w, "unhandled", v_location)

\* give, random.fsm:10:11
event_Node_give(w, self, v_job) ==
  IF w.down THEN Fail(w, "busy", 3) ELSE
  LET w_2 == admit_Node_give(w, self, 5) IN
  IF w_2.stop # "" THEN w_2 ELSE
  IF (v_job = none) THEN Fail(w_2, "none", 5) ELSE
  LET w_3 == handle_Node_give(w_2, self, v_job, 5) IN
  IF w_3.stop # "" THEN w_3 ELSE
  round(w_3)

admit_Node_fail(w, self, v_location) ==
  IF (self \in w.busy) THEN Fail(w, "reentrance", v_location) ELSE
  IF (Cardinality(w.busy) > 64) THEN Fail(w, "endless", v_location) ELSE
  w

\* Up -> Down on fail, random.fsm:16:5
follow_Node_4(w, self) ==
  LET w_2 == [w EXCEPT !.touched = @ \cup {self}] IN
  LET w_3 == [w_2 EXCEPT !.busy = @ \cup {self}] IN
  LET w_4 ==
      LET RECURSIVE each(_, _)
          each(w_5, rest) ==
            IF rest = <<>> THEN w_5 ELSE
            LET v_j == Head(rest) IN
            LET w_6 == admit_Job_lost(w_5, v_j, 6) IN
            IF w_6.stop # "" THEN w_6 ELSE
            LET w_7 == handle_Job_lost(w_6, v_j, 6) IN
            IF w_7.stop # "" THEN w_7 ELSE
            each(w_7, Tail(rest)) IN
      each(w_3, Ascending(w_3.Node_holders[self])) IN
  IF w_4.stop # "" THEN w_4 ELSE
  LET w_8 == [w_4 EXCEPT !.state[self] = "Down"] IN
  LET w_9 == Cut(w_8) IN
  IF w_9.stop # "" THEN w_9 ELSE
  [w_9 EXCEPT !.busy = @ \ {self}]

handle_Node_fail(w, self, v_location) ==
  IF (w.state[self] \in {"Up"}) THEN
    follow_Node_4(w, self)
  ELSE
  Fail(w, "unhandled", v_location)

\* fail, random.fsm:11:11
event_Node_fail(w, self) ==
  IF w.down THEN Fail(w, "busy", 3) ELSE
  LET w_2 == admit_Node_fail(w, self, 7) IN
  IF w_2.stop # "" THEN w_2 ELSE
  LET w_3 == handle_Node_fail(w_2, self, 7) IN
  IF w_3.stop # "" THEN w_3 ELSE
  round(w_3)

admit_Node_heal(w, self, v_location) ==
  IF (self \in w.busy) THEN Fail(w, "reentrance", v_location) ELSE
  IF (Cardinality(w.busy) > 64) THEN Fail(w, "endless", v_location) ELSE
  w

\* Down -> Up on heal, random.fsm:17:5
follow_Node_5(w, self) ==
  LET w_2 == [w EXCEPT !.touched = @ \cup {self}] IN
  LET w_3 == [w_2 EXCEPT !.busy = @ \cup {self}] IN
  LET w_4 == [w_3 EXCEPT !.state[self] = "Up"] IN
  LET w_5 == Cut(w_4) IN
  IF w_5.stop # "" THEN w_5 ELSE
  [w_5 EXCEPT !.busy = @ \ {self}]

handle_Node_heal(w, self, v_location) ==
  IF (w.state[self] \in {"Down"}) THEN
    follow_Node_5(w, self)
  ELSE
  Fail(w, "unhandled", v_location)

\* heal, random.fsm:12:11
event_Node_heal(w, self) ==
  IF w.down THEN Fail(w, "busy", 3) ELSE
  LET w_2 == admit_Node_heal(w, self, 8) IN
  IF w_2.stop # "" THEN w_2 ELSE
  LET w_3 == handle_Node_heal(w_2, self, 8) IN
  IF w_3.stop # "" THEN w_3 ELSE
  round(w_3)

eventless_Node(w, self) ==
  [w EXCEPT !.result = FALSE]

choose_crash_Node(w, self) ==
  Choose(w, self, none)

forget_Node(w, self) ==
  w

follow_crash_Node(w, self) ==
  w

admit_Job_start(w, self, v_location) ==
  IF (self \in w.busy) THEN Fail(w, "reentrance", v_location) ELSE
  IF (Cardinality(w.busy) > 64) THEN Fail(w, "endless", v_location) ELSE
  w

\* Waiting -> Running on start, random.fsm:32:5
follow_Job_0(w, self, v_n) ==
  LET w_2 == [w EXCEPT !.touched = @ \cup {self}] IN
  LET w_3 == [w_2 EXCEPT !.busy = @ \cup {self}] IN
  LET w_4 == [w_3 EXCEPT !.Job_node[self] = v_n] IN
  LET w_5 == Cut(w_4) IN
  IF w_5.stop # "" THEN w_5 ELSE
  LET v_left == (w_5.Job_left[self] - 1) IN
  IF (v_left < 0) THEN Fail(w_5, "range", 9) ELSE
  LET w_6 == [w_5 EXCEPT !.Job_left[self] = v_left] IN
  LET w_7 == admit_Node_take(w_6, v_n, 10) IN
  IF w_7.stop # "" THEN w_7 ELSE
  LET w_8 == handle_Node_take(w_7, v_n, self, 10) IN
  IF w_8.stop # "" THEN w_8 ELSE
  LET w_9 == [w_8 EXCEPT !.state[self] = "Running"] IN
  LET w_10 == Cut(w_9) IN
  IF w_10.stop # "" THEN w_10 ELSE
  [w_10 EXCEPT !.busy = @ \ {self}]

handle_Job_start(w, self, v_n, v_location) ==
  IF (w.state[self] \in {"Waiting"}) THEN
    LET v_guard == (w.Job_left[self] > 0) IN
    IF v_guard THEN
      follow_Job_0(w, self, v_n)
    ELSE
    Fail(w, "unhandled", v_location)
  ELSE
  Fail(w, "unhandled", v_location)

\* start, random.fsm:28:11
event_Job_start(w, self, v_n) ==
  IF w.down THEN Fail(w, "busy", 3) ELSE
  LET w_2 == admit_Job_start(w, self, 11) IN
  IF w_2.stop # "" THEN w_2 ELSE
  IF (v_n = none) THEN Fail(w_2, "none", 11) ELSE
  LET w_3 == handle_Job_start(w_2, self, v_n, 11) IN
  IF w_3.stop # "" THEN w_3 ELSE
  round(w_3)

admit_Job_refused(w, self, v_location) ==
  IF (self \in w.busy) THEN Fail(w, "reentrance", v_location) ELSE
  IF (Cardinality(w.busy) > 64) THEN Fail(w, "endless", v_location) ELSE
  w

handle_Job_refused(w, self, v_n, v_location) ==
  IF (w.state[self] \in {"Done", "Running", "Waiting"}) THEN
    w
  ELSE
  Fail(w, "unhandled", v_location)

\* refused, random.fsm:29:11
event_Job_refused(w, self, v_n) ==
  IF w.down THEN Fail(w, "busy", 3) ELSE
  LET w_2 == admit_Job_refused(w, self, 12) IN
  IF w_2.stop # "" THEN w_2 ELSE
  IF (v_n = none) THEN Fail(w_2, "none", 12) ELSE
  LET w_3 == handle_Job_refused(w_2, self, v_n, 12) IN
  IF w_3.stop # "" THEN w_3 ELSE
  round(w_3)

admit_Job_lost(w, self, v_location) ==
  IF (self \in w.busy) THEN Fail(w, "reentrance", v_location) ELSE
  IF (Cardinality(w.busy) > 64) THEN Fail(w, "endless", v_location) ELSE
  w

\* Running -> Waiting on lost, random.fsm:33:5
follow_Job_1(w, self) ==
  LET w_2 == [w EXCEPT !.touched = @ \cup {self}] IN
  LET w_3 == [w_2 EXCEPT !.busy = @ \cup {self}] IN
  LET w_4 == [w_3 EXCEPT !.Job_node[self] = none] IN
  LET w_5 == Cut(w_4) IN
  IF w_5.stop # "" THEN w_5 ELSE
  LET w_6 == [w_5 EXCEPT !.state[self] = "Waiting"] IN
  LET w_7 == Cut(w_6) IN
  IF w_7.stop # "" THEN w_7 ELSE
  [w_7 EXCEPT !.busy = @ \ {self}]

handle_Job_lost(w, self, v_location) ==
  IF (w.state[self] \in {"Running"}) THEN
    follow_Job_1(w, self)
  ELSE
  IF (w.state[self] \in {"Done", "Running", "Waiting"}) THEN
    w
  ELSE
  Fail(w, "unhandled", v_location)

\* lost, random.fsm:30:11
event_Job_lost(w, self) ==
  IF w.down THEN Fail(w, "busy", 3) ELSE
  LET w_2 == admit_Job_lost(w, self, 13) IN
  IF w_2.stop # "" THEN w_2 ELSE
  LET w_3 == handle_Job_lost(w_2, self, 13) IN
  IF w_3.stop # "" THEN w_3 ELSE
  round(w_3)

admit_Job_finish(w, self, v_location) ==
  IF (self \in w.busy) THEN Fail(w, "reentrance", v_location) ELSE
  IF (Cardinality(w.busy) > 64) THEN Fail(w, "endless", v_location) ELSE
  w

\* Running -> Done on finish, random.fsm:34:5
follow_Job_2(w, self) ==
  LET w_2 == [w EXCEPT !.touched = @ \cup {self}] IN
  LET w_3 == [w_2 EXCEPT !.busy = @ \cup {self}] IN
  LET v_optional == w_3.Job_node[self] IN
  IF (v_optional = none) THEN Fail(w_3, "none", 14) ELSE
  LET v_receiver == v_optional IN
  LET w_4 == admit_Node_give(w_3, v_receiver, 15) IN
  IF w_4.stop # "" THEN w_4 ELSE
  LET w_5 == handle_Node_give(w_4, v_receiver, self, 15) IN
  IF w_5.stop # "" THEN w_5 ELSE
  LET w_6 == [w_5 EXCEPT !.state[self] = "Done"] IN
  LET w_7 == Cut(w_6) IN
  IF w_7.stop # "" THEN w_7 ELSE
  [w_7 EXCEPT !.busy = @ \ {self}]

handle_Job_finish(w, self, v_location) ==
  IF (w.state[self] \in {"Running"}) THEN
    LET v_guard == (w.Job_node[self] # none) IN
    IF v_guard THEN
      follow_Job_2(w, self)
    ELSE
    Fail(w, "unhandled", v_location)
  ELSE
  Fail(w, "unhandled", v_location)

\* finish, random.fsm:31:11
event_Job_finish(w, self) ==
  IF w.down THEN Fail(w, "busy", 3) ELSE
  LET w_2 == admit_Job_finish(w, self, 16) IN
  IF w_2.stop # "" THEN w_2 ELSE
  LET w_3 == handle_Job_finish(w_2, self, 16) IN
  IF w_3.stop # "" THEN w_3 ELSE
  round(w_3)

eventless_Job(w, self) ==
  [w EXCEPT !.result = FALSE]

choose_crash_Job(w, self) ==
  Choose(w, self, none)

forget_Job(w, self) ==
  LET w_2 == [w EXCEPT !.Job_left[self] = First.Job_left[self]] IN
  [w_2 EXCEPT !.Job_kind[self] = First.Job_kind[self]]

follow_crash_Job(w, self) ==
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
      each_2(w_2, <<0, 1, 2, 3>>) IN
  IF w_5.stop # "" THEN w_5 ELSE
  LET w_8 ==
      LET RECURSIVE each_3(_, _)
          each_3(w_9, rest_3) ==
            IF rest_3 = <<>> THEN w_9 ELSE
            LET v_instance_3 == Head(rest_3) IN
            LET w_10 == Forget(w_9, v_instance_3) IN
            LET w_11 == [w_10 EXCEPT !.waited = @ \ {v_instance_3}] IN
            each_3(w_11, Tail(rest_3)) IN
      each_3(w_5, <<0, 1, 2, 3>>) IN
  LET w_12 == [w_8 EXCEPT !.channels = First.channels] IN
  LET w_13 ==
      LET RECURSIVE each_4(_, _)
          each_4(w_14, rest_4) ==
            IF rest_4 = <<>> THEN w_14 ELSE
            LET v_instance_4 == Head(rest_4) IN
            LET w_15 == forget_of(w_14, v_instance_4) IN
            IF w_15.stop # "" THEN w_15 ELSE
            each_4(w_15, Tail(rest_4)) IN
      each_4(w_12, <<0, 1, 2, 3>>) IN
  IF w_13.stop # "" THEN w_13 ELSE
  LET RECURSIVE each_5(_, _)
      each_5(w_16, rest_5) ==
        IF rest_5 = <<>> THEN w_16 ELSE
        LET v_instance_5 == Head(rest_5) IN
        LET w_17 == follow_crash_of(w_16, v_instance_5) IN
        IF w_17.stop # "" THEN w_17 ELSE
        each_5(w_17, Tail(rest_5)) IN
  each_5(w_13, <<0, 1, 2, 3>>)

crash_alone(w, v_instances) ==
  IF w.down THEN Fail(w, "busy", 3) ELSE
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
  IF (~w.down) THEN Fail(w, "unhandled", 3) ELSE
  LET w_2 == [w EXCEPT !.down = FALSE] IN
  round(w_2)

choose_crash_of(w, i) ==
  CASE i \in {0, 1} -> choose_crash_Node(w, i)
    [] i \in {2, 3} -> choose_crash_Job(w, i)

forget_of(w, i) ==
  CASE i \in {0, 1} -> forget_Node(w, i)
    [] i \in {2, 3} -> forget_Job(w, i)

follow_crash_of(w, i) ==
  CASE i \in {0, 1} -> follow_crash_Node(w, i)
    [] i \in {2, 3} -> follow_crash_Job(w, i)

Run(w, s) ==
  CASE s[1] = "event" /\ s[2] \in {0, 1} /\ s[3] = "take" -> event_Node_take(w, s[2], s[4][1])
    [] s[1] = "event" /\ s[2] \in {0, 1} /\ s[3] = "give" -> event_Node_give(w, s[2], s[4][1])
    [] s[1] = "event" /\ s[2] \in {0, 1} /\ s[3] = "fail" -> event_Node_fail(w, s[2])
    [] s[1] = "event" /\ s[2] \in {0, 1} /\ s[3] = "heal" -> event_Node_heal(w, s[2])
    [] s[1] = "event" /\ s[2] \in {2, 3} /\ s[3] = "start" -> event_Job_start(w, s[2], s[4][1])
    [] s[1] = "event" /\ s[2] \in {2, 3} /\ s[3] = "refused" -> event_Job_refused(w, s[2], s[4][1])
    [] s[1] = "event" /\ s[2] \in {2, 3} /\ s[3] = "lost" -> event_Job_lost(w, s[2])
    [] s[1] = "event" /\ s[2] \in {2, 3} /\ s[3] = "finish" -> event_Job_finish(w, s[2])
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

\* invariant apart, random.fsm:49:5
holds_0(w) ==
  (\A v_n \in {0, 1} : (Cardinality(w.Node_holders[v_n]) <= 1))

\* invariant Job: invariant 1, random.fsm:36:5
holds_Job_1(w, self) ==
  ((w.Job_node[self] # none) \/ (~(w.state[self] \in {"Running"})))

\* reachable done, random.fsm:50:5
holds_2(w) ==
  (\A v_j \in {2, 3} : (w.state[v_j] \in {"Done"}))

offers(w) ==
  IF w.down THEN
    [w EXCEPT !.offers = @ \cup {<<"recover">>}]
  ELSE
  LET w_2 == offer_steps(w) IN
  IF w_2.stop # "" THEN w_2 ELSE
  IF (\A v_j \in {2, 3} : (w_2.state[v_j] \in {"Waiting"})) THEN
    OfferCrash(w_2)
  ELSE
  w_2

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

question_0_holds == holds_0(world)
question_1_holds == \A self \in {2, 3} : holds_Job_1(world, self)
question_2_holds == ~holds_2(world)
Watch == FaultsSeen /\ (NoDeadlock \/ Found(<<"deadlock">>)) /\ (question_0_holds \/ Found(<<"question", 0>>)) /\ (question_1_holds \/ Found(<<"question", 1>>)) /\ (question_2_holds \/ Found(<<"question", 2>>))
====

Places:
\* 1: random.fsm:14:54
\* 2: random.fsm:14:5
\* 3: random.fsm:39:1
\* 4: random.fsm:9:11
\* 5: random.fsm:10:11
\* 6: random.fsm:16:52
\* 7: random.fsm:11:11
\* 8: random.fsm:12:11
\* 9: random.fsm:32:72
\* 10: random.fsm:32:89
\* 11: random.fsm:28:11
\* 12: random.fsm:29:11
\* 13: random.fsm:30:11
\* 14: random.fsm:34:60
\* 15: random.fsm:34:60
\* 16: random.fsm:31:11

Two.cfg, for `tlc2.TLC -deadlock`, as NoDeadlock looks for deadlocks:
CONSTANT none = none
INIT Init
NEXT Next
INVARIANT NoStepFails
INVARIANT NoDeadlock
INVARIANT question_0_holds
INVARIANT question_1_holds
