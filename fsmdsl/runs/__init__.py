"""Runs: step by step, told in full, the simplest of them, and why something is false at their end."""
