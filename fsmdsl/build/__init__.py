"""From the parser's tree to syntax: what the author wrote, without the signs it took to write it."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import syntax as s
from fsmdsl.build.builder import Builder
from fsmdsl.build.docs import Docs
from fsmdsl.build.modules import module
from fsmdsl.source import Source
from fsmdsl.tree import Comment, Node, Token

__all__ = ["build"]


def build(source: Source, tree: Node, tokens: Sequence[Token], comments: Sequence[Comment]) -> s.Module:
    """The module of a whole file, from its tree, tokens and comments."""
    return module(Builder(source, Docs(source, tokens, comments)), tree)
