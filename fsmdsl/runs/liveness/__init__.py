"""Temporal properties, decided on the graph of all states, under weak and strong fairness.

An explorer makes a `Plan` with `grounding.questions`, records a `Graph` (with a `Recorder`, or in its own way), and
calls `answer.answers`. `answer.counterexample` turns a lasso into steps of the system, and `explanation.why` says what
is wrong with them. A search without properties of runs loads no more than `plan`.
"""
