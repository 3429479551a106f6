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
