"""Temporal properties, decided on the graph of all states, under weak and strong fairness.

An explorer makes a `Plan` with `ground.questions`, records a `Graph` (with a `Recorder`, or in its own way), and asks
for `answer.answers`; `answer.counterexample` turns a lasso into steps of the system, and `why.why` says what is wrong
with them. Who asks nothing of runs loads no more than `plan`.
"""
