"""Editors: what they ask about a text, the language server, the live page."""
