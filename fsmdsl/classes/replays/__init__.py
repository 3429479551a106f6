"""Tests that take the steps of a run on the generated classes."""
