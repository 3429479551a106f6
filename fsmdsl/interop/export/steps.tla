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
