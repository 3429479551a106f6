"""Whom a placement displaces, and who would rather be demoted."""
