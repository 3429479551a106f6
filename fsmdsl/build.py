"""From the parser's tree to syntax nodes. Knows the tree by shape alone: `data`, `children`, positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from fsmdsl import syntax as s
from fsmdsl.source import Source, Span

Tree = Any
"""A node of the parser: `.data` names the rule, `.children` are nodes and tokens, `.meta` has offsets."""

MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True, slots=True)
class Comment:
    """`// …` or, when `doc`, `/// …`; `previous` is where the token before it ends (-1: none)."""

    doc: bool
    text: str
    start: int
    end: int
    previous: int


class Builder:
    """Turns the trees of one source into syntax, and gives every declaration its doc comment."""

    def __init__(self, source: Source, comments: Sequence[Comment], tokens: Sequence[Any]) -> None:
        self.source = source
        self.trailing: dict[int, str] = {}
        self.leading: dict[int, str] = {}
        self._collect(comments, [t.start_pos for t in tokens])

    def _collect(self, comments: Sequence[Comment], starts: list[int]) -> None:
        """File each doc comment under the token before it on its line, else under the token after it."""
        from bisect import bisect_left

        text = self.source.text
        for c in (c for c in comments if c.doc):
            words = c.text.removeprefix("///").strip()
            if c.previous >= 0 and "\n" not in text[c.previous : c.start]:
                self.trailing[c.previous] = f"{self.trailing.get(c.previous, '')} {words}".strip()
            elif (i := bisect_left(starts, c.end)) < len(starts):
                before = self.leading.get(starts[i])
                self.leading[starts[i]] = words if before is None else f"{before}\n{words}"

    # Pieces

    def span(self, tree: Tree) -> Span:
        if hasattr(tree, "meta"):
            meta = tree.meta
            return Span(self.source, getattr(meta, "start_pos", 0), getattr(meta, "end_pos", 0))
        return Span(self.source, tree.start_pos or 0, tree.end_pos or 0)

    def doc(self, tree: Tree) -> str:
        """The comment before the declaration, after its last token, or after its opening brace."""
        span = self.span(tree)
        before = self.leading.get(span.start, "")
        after = self.trailing.get(span.end, "")
        brace = self.source.text.find("{", span.start, span.end)
        if not after and brace >= 0:
            after = self.trailing.get(brace + 1, "")
        return "\n".join(filter(None, (before, after)))

    def one(self, tree: Tree, *kinds: str) -> Tree | None:
        """The first child of one of these kinds."""
        return next(self.every(tree, *kinds), None)

    def every(self, tree: Tree, *kinds: str) -> Iterator[Tree]:
        return (c for c in tree.children if getattr(c, "data", getattr(c, "type", None)) in kinds)

    def word(self, tree: Tree) -> str:
        return " ".join(str(c) for c in tree.children)

    def name(self, tree: Tree | None) -> s.Name:
        if tree is None:
            return s.Name("")
        return s.Name(self.word(tree), self.span(tree))

    def names(self, tree: Tree) -> tuple[s.Name, ...]:
        return tuple(self.name(c) for c in self.every(tree, "name", "anything"))

    def path(self, tree: Tree) -> s.Path:
        return s.Path(self.names(tree), self.span(tree))

    def text(self, token: Tree | None) -> s.Text | None:
        if token is None:
            return None
        plain = str(token)[1:-1]
        return s.Text(plain.replace('\\"', '"').replace("\\\\", "\\"), self.span(token))

    def label(self, tree: Tree) -> s.Name | None:
        label = self.one(tree, "label")
        return None if label is None else self.name(self.one(label, "name"))

    # Expressions

    def expr(self, tree: Tree) -> s.Expr:
        data, span = tree.data, self.span(tree)
        if data in ("implies", "leads_to", "until_"):
            operator = {"implies": "=>", "leads_to": "~>", "until_": "until"}[data]
            left, right = tree.children
            return s.Binary(cast(s.BinaryOperator, operator), self.expr(left), self.expr(right), span)
        build = _EXPRESSIONS.get(data)
        assert build is not None, f"no expression is called {data}"
        return build(self, tree, span)

    def exprs(self, trees: Sequence[Tree]) -> tuple[s.Expr, ...]:
        return tuple(self.expr(t) for t in trees)

    def optional(self, tree: Tree, *skip: str) -> s.Expr | None:
        """The child that is an expression, if there is one."""
        found = [c for c in tree.children if getattr(c, "data", None) in EXPRESSIONS and c.data not in skip]
        return self.expr(found[-1]) if found else None

    def binder(self, tree: Tree) -> s.Binder:
        name, over = tree.children
        return s.Binder(self.name(name), self.expr(over), self.span(tree))

    # Types

    def type(self, tree: Tree) -> s.TypeExpr:
        span = self.span(tree)
        match tree.data:
            case "named_type":
                return s.NamedType(self.path(tree.children[0]), span)
            case "range_type":
                low, high = (int("".join(map(str, b.children))) for b in tree.children)
                return s.RangeType(low, high, span)
            case "set_type":
                return s.SetType(self.type(tree.children[0]), span)
            case "list_type":
                return s.ListType(self.type(tree.children[0]), int(tree.children[1]), span)
            case _:
                return s.OptionalType(self.type(tree.children[0]), span)

    def type_of(self, tree: Tree) -> s.TypeExpr:
        kinds = ("named_type", "range_type", "set_type", "list_type", "optional_type")
        found = self.one(tree, *kinds)
        assert found is not None
        return self.type(found)

    def parameters(self, tree: Tree) -> tuple[s.Parameter, ...]:
        found = self.one(tree, "parameters")
        listed = found.children if found is not None else ()
        return tuple(s.Parameter(self.name(p.children[0]), self.type_of(p), self.span(p)) for p in listed)

    # Effects

    def effects(self, tree: Tree | None) -> tuple[s.Effect, ...]:
        """The effects of a `do`, a `block` or an `else`."""
        if tree is None:
            return ()
        out: list[s.Effect] = []
        for child in tree.children:
            out.extend(self.effects(child) if child.data == "block" else [self.effect(child)])
        return tuple(out)

    def effect(self, tree: Tree) -> s.Effect:
        span, kids = self.span(tree), tree.children
        match tree.data:
            case "assign":
                return s.Assign(self.expr(kids[0]), self.expr(kids[1]), span)
            case "add" | "remove" as kind:
                return s.Change(kind, self.expr(kids[0]), self.expr(kids[1]), span)
            case "post":
                return s.Post(self.expr(kids[0]), span)
            case "for_":
                return s.ForEach(self.binder(kids[0]), self.effects(kids[1]), span)
            case "if_":
                return s.If(self.expr(kids[0]), self.effects(kids[1]), self.effects(self.one(tree, "else_")), span)
            case _:
                return s.Perform(self.expr(kids[0]), span)

    # Modules

    def module(self, tree: Tree) -> s.Module:
        from fsmdsl.build_declarations import declarations

        return declarations(self, tree)


def _chain(b: Builder, tree: Tree, span: Span) -> s.Expr:
    """`a + b - c`, from the left."""
    kids = tree.children
    left = b.expr(kids[0])
    for operator, right in zip(kids[1::2], kids[2::2], strict=True):
        value = b.expr(right)
        left = s.Binary(cast(s.BinaryOperator, b.word(operator)), left, value, b.span(kids[0]).to(value.span))
    return left


def _call(b: Builder, tree: Tree, span: Span) -> s.Expr:
    return s.Call(b.expr(tree.children[0]), b.exprs(tree.children[1:]), span)


def _compare(b: Builder, tree: Tree, span: Span) -> s.Expr:
    left, operator, right = tree.children
    return s.Binary(cast(s.BinaryOperator, b.word(operator)), b.expr(left), b.expr(right), span)


def _quantified(b: Builder, tree: Tree, span: Span) -> s.Expr:
    kind, *binders, body = tree.children
    bound = tuple(b.binder(t) for t in binders)
    return s.Quantified(cast(Any, b.word(kind)), bound, b.expr(body), span)


def _conditional(b: Builder, tree: Tree, span: Span) -> s.Expr:
    return s.Conditional(*b.exprs(tree.children), span)


def _duration(b: Builder, tree: Tree, span: Span) -> s.Expr:
    text = str(tree.children[0])
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return s.Duration(int(digits) * MILLISECONDS[text[len(digits) :]], span)


_EXPRESSIONS: dict[str, Callable[[Builder, Tree, Span], s.Expr]] = {
    "or_": lambda b, t, span: s.Logic("or", b.exprs(t.children), span),
    "and_": lambda b, t, span: s.Logic("and", b.exprs(t.children), span),
    "not_": lambda b, t, span: s.Unary("not", b.expr(t.children[0]), span),
    "always": lambda b, t, span: s.Unary("always", b.expr(t.children[0]), span),
    "eventually": lambda b, t, span: s.Unary("eventually", b.expr(t.children[0]), span),
    "next": lambda b, t, span: s.Unary("next", b.expr(t.children[0]), span),
    "negative": lambda b, t, span: s.Unary("-", b.expr(t.children[0]), span),
    "quantified": _quantified,
    "conditional": _conditional,
    "compare": _compare,
    "sum": _chain,
    "number": lambda b, t, span: s.Number(int(t.children[0]), span),
    "duration": _duration,
    "truth": lambda b, t, span: s.Word(cast(Any, b.word(t)), span),
    "self": lambda b, t, span: s.Word("self", span),
    "name": lambda b, t, span: s.Name(b.word(t), span),
    "member": lambda b, t, span: s.Member(b.expr(t.children[0]), b.name(t.children[1]), span),
    "index": lambda b, t, span: s.Index(b.expr(t.children[0]), int(t.children[1]), span),
    "call": _call,
    "set": lambda b, t, span: s.Collection("set", b.exprs(t.children), span),
    "list": lambda b, t, span: s.Collection("list", b.exprs(t.children), span),
}

EXPRESSIONS = frozenset({*_EXPRESSIONS, "implies", "leads_to", "until_"})
