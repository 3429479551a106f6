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
