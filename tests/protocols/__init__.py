"""Protocols as transition systems, written from their papers: oracles for `benchmarks/models`.

Each module has the first state of a protocol, and for each state those after it, one for each step. None of them
knows anything of the language or of the models.
"""
