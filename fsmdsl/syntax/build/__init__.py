"""From the parser's tree to syntax: what the author wrote, without the signs it took to write it."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import syntax as s
from fsmdsl.syntax.build.builder import Builder
from fsmdsl.syntax.build.docs import Docs
from fsmdsl.syntax.build.modules import module
from fsmdsl.text.source import Source
from fsmdsl.syntax.tree import Comment, Node, Token

__all__ = ["build"]


def build(source: Source, tree: Node, tokens: Sequence[Token], comments: Sequence[Comment]) -> s.Module:
    """The module of a whole file, from its tree, tokens and comments."""
    return module(Builder(source, Docs(source, tokens, comments)), tree)
