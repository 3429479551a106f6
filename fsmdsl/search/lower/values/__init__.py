"""Expressions of a spec as nodes of a program."""
