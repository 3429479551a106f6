"""Expressions: names, calls, records, queues, what variables run through, `let`s.

`expressions` tells them apart. Its parts ask for the expressions inside them with `places`, which has them from the
program: so `expressions` knows its parts, and they do not know it.
"""
