"""Texts and files: sources, diagnostics, reading and writing, limits of time and memory."""
