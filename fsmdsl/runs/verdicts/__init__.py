"""Verdicts: what is said of a system, how that follows from what a search has found, and the rules for it."""
