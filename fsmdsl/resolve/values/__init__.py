"""Expressions: names, calls, records, sets, what variables run through."""
