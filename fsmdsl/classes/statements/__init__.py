"""Expressions and effects as Python."""
