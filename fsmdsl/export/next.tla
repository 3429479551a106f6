\* A guard of the environment without a value: nothing can come.
NoValue(w) == IF ~Inside(w) THEN 0
              ELSE IF w.down THEN RecoveryFault(w)
              ELSE LET f == IF StandsStill(w) THEN 0 ELSE OfferFault(w) IN IF f # 0 THEN f ELSE CrashFault(w)
Steps(w) ==
  IF ~Inside(w) \/ NoValue(w) # 0 THEN {}
  ELSE IF w.down THEN {<<"recover">>} \cup RecoveryCrashes(w)
  ELSE LET steps == Offers(w) IN steps \cup Crashes(w, steps)

VARIABLE world
Init == world = First
Next == \E s \in Steps(world) : LET x == Taken(world, s) IN x.stop = "" /\ world' = Settled(x)
Spec == Init /\ [][Next]_world

\* What is asked ----------------------------------------------------------------------------------------------------

NoStepFails == FirstFault = <<>> /\ NoValue(world) = 0 /\ \A s \in Steps(world) : Taken(world, s).stop = ""
NoDeadlock ==
  \/ ~Inside(world)
  \/ NoValue(world) # 0
  \/ \E s \in Steps(world) : s[1] # "crash"
  \/ /\ \A c \in DOMAIN Fifo : Held(world, c) = 0
     /\ \E i \in DOMAIN Final : Final[i] # {}
     /\ \A i \in DOMAIN Final : Final[i] = {} \/ world.state[i] \in Final[i]

\* For a run that tells everything that it finds, once, instead of ending with the first: `INVARIANT Watch`.
Found(x) == x \in TLCGet(1) \/ (PrintT(<<"found", x>>) /\ TLCSet(1, TLCGet(1) \cup {x}))
ASSUME TLCSet(1, {})
FaultsSeen ==
  /\ FirstFault = <<>> \/ Found(FirstFault)
  /\ IF NoValue(world) # 0 THEN Found(<<"fault", "none", NoValue(world)>>)
     ELSE \A s \in Steps(world) :
            LET x == Taken(world, s) IN x.stop = "" \/ Found(<<"fault", x.fault[1], x.fault[2]>>)
