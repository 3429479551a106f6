"""Scenarios: what they begin with, and their steps."""
