"""Fuzzing: inputs by the thousand, and what must be so of each.

`python -m tests.fuzz TARGET… --minutes 60` tries as many as it can in the time, in a process for each target; a target
is one of `TARGETS`, or `all`. A failing input is reduced and written to a file, with the command that replays it.

Inputs come from Hypothesis, which the tests use anyway. It makes structured inputs (edits of a text, requests, damages
of a file), reduces them, and needs no compiler and no particular Python. atheris was the alternative: it follows the
coverage, which matters where an input is bytes that a decoder takes apart; ours are texts of a grammar and JSON, for
which `tests/random_specs.py` and the corpus reach every branch that a mutation of bytes would take days to reach.

- `target`: what a target is, and the search for failing inputs
- `corpus`: the seeds, one JSON file each; a failing input is moved there when it is fixed
- `texts`: random specs, whole and broken; `bodies`: random JSON, valid and not
- `language`, `editor`, `page`, `service`, `journal`, `search`: the targets
"""
