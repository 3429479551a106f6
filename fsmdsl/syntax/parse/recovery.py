"""What a mistake is, and how to go on after it.

NOTE(recovery): one mistake is to give one message and to cost as little of the text as possible. The ways of `WAYS` are
tried in order. Most of them guess the token that was meant, and go on as if it stood there. The last one drops the
declaration: it skips to where a declaration, a statement or a clause can begin, or a block can end, and takes the
innermost stack below the mistake for which that holds, closing blocks if need be. What was read before is kept.

A guess holds only if the next tokens fit it too, so no way can begin a chain of consequences easily.

NOTE(layout): line breaks mean nothing, and declarations have no ends. So where a sign is missing or a word is too much,
the next name is read as the beginning of another declaration, and only what follows it is unexpected: in
`let free = 2 - count p in pods: …` that is `in`. People write declarations on lines of their own. A name in the middle
of a line that begins a declaration which comes to nothing is the mistake, then (`_stray`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fsmdsl.dataclasses import NamedTuple, dataclass, replace
from fsmdsl.syntax.parse import soft_keywords as words
from fsmdsl.syntax.parse.automaton import HIGHEST, Frame, advance, chain, probe
from fsmdsl.syntax.parse.common_mistakes import MistakeContext, common_mistake
from fsmdsl.syntax.parse.equivalents import ALTERNATIVES, CONFUSED, WORDS
from fsmdsl.syntax.parse.expected import listing
from fsmdsl.syntax.parse.rules import TOO_DEEP, UNEXPECTED
from fsmdsl.syntax.parse.table import Table, is_made
from fsmdsl.syntax.tree import Token
from fsmdsl.syntax.words import RESERVED
from fsmdsl.text.diagnostics import Diagnostic, Fix
from fsmdsl.text.source import Source, Span, breaks

CLOSABLE = 3
"""From how many of the stacks below a mistake blocks are closed to go on."""

LATE = 3
"""How many tokens behind the beginning of a declaration the one before it may turn out not to be finished. As many
tokens have to fit then."""

CLAUSES = frozenset({"on", "when", "do", "after", "under"})
"""Words at which reading can go on inside a declaration."""

FREQUENT = frozenset({("if", "when"), ("=", "==")})
"""Confusions that one fitting token is enough to recognize: in `if n = 2 on e` one follows another."""

TOPMOST = frozenset({"machine", "system", "scenario", "enum", "locks", "import"})
"""Words that begin a declaration of the module if they stand at the very start of a line, whatever is open."""


class Mistake(NamedTuple):
    """A message, and the stack and token to go on with."""

    diagnostic: Diagnostic
    top: Frame
    at: int


@dataclass(frozen=True, slots=True)
class Place:
    """The token `at` is unexpected on the stack `top`. `recent` are the stacks before each of the last tokens, as far
    as they are known."""

    table: Table
    source: Source
    tokens: list[Token]
    at: int
    top: Frame
    recent: Sequence[Frame]

    @property
    def before(self) -> Frame | None:
        """The stack without the token before, if known."""
        return self.recent[-1] if self.recent else None

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def suspects(self, count: int = 1) -> Iterator[tuple[int, Frame]]:
        """The tokens that may be wrong, each with the stack before it: this one, and some before it."""
        yield self.at, self.top
        yield from ((self.at - n, self.recent[-n]) for n in range(1, min(count, len(self.recent)) + 1))

    def span(self, i: int) -> Span:
        return Span(self.source, self.tokens[i].start, self.tokens[i].end)

    def begins_line(self, i: int) -> bool:
        """Whether a token is the first of its line."""
        return i == 0 or breaks(self.source.text, self.tokens[i - 1].end, self.tokens[i].start) > 0

    def begins_part(self, i: int, top: Frame) -> bool:
        """Whether a part of a file may begin with a token (see `parts`): what is before it is not looked at then."""
        token = self.tokens[i]
        if token.text not in words.opening() or self.source.text[token.start - 1 : token.start] not in ("", "\n"):
            return False
        return words.opens(self.table, top, token.text)

    def fits(self, top: Frame | None, i: int, reach: int) -> bool:
        """Whether the tokens from `i` on can stand on a stack."""
        return top is not None and words.goes_on(self.table, top, self.tokens, i, reach)

    def unexpected(self, i: int, advice: str | None = None, replacement: str | None = None) -> Diagnostic:
        """The message for a token that is not expected where it is."""
        text = self.tokens[i].text
        fix = None if replacement is None else Fix(self.span(i), replacement, f"write `{replacement}`")
        diagnostic = UNEXPECTED.at(
            self.span(i), f"unexpected `{text if len(text) <= 40 else text[:39] + '…'}` here", fix=fix
        )
        return diagnostic if advice is None else diagnostic.help(advice)


def recover(place: Place) -> Mistake:
    """The message for a mistake, and how to go on."""
    mistakes = (way(place) for way in WAYS)
    mistake = next(x for x in mistakes if x is not None)
    for i in range(mistake.at, place.at):
        place.tokens[i] = words.undecided(place.table, place.tokens[i])
    return mistake


# Guesses -------------------------------------------------------------------------------------------------------------


def _too_deep(place: Place) -> Mistake | None:
    if place.top.height < HIGHEST:
        return None
    diagnostic = TOO_DEEP.at(place.span(place.at), "this is nested too deeply").help("name the inner parts with `let`")
    return _skipped(place, diagnostic)


def _common_mistake(place: Place) -> Mistake | None:
    """What another language writes there."""
    explanation = common_mistake(
        MistakeContext(place.table, place.source, place.tokens, place.at, place.top, place.recent)
    )
    if explanation is None:
        return None
    start, end = place.tokens[explanation.at].start, place.tokens[explanation.at + explanation.width - 1].end
    span, text = Span(place.source, start, end), explanation.replacement
    fix = None if text is None else Fix(span, text, f"write `{text}`")
    diagnostic = UNEXPECTED.at(span, explanation.message, fix=fix).help(explanation.advice)
    if explanation.top is None:
        return _skipped(place, diagnostic)
    return Mistake(diagnostic, explanation.top, explanation.resume)


def _foreign_word(place: Place) -> Mistake | None:
    """A word of another language for which one of this language fits: this token, or one before it, since what follows
    such a word may be read as the beginning of another declaration."""
    for i, top in place.suspects(LATE):
        token = place.tokens[i]
        words_here = (table.get(token.text.lower()) for table in (WORDS, ALTERNATIVES)) if token.kind == "NAME" else ()
        for word in filter(None, words_here):
            after: Frame | None = top
            for part in word.tokens(token.start, token.end):
                after = after and advance(place.table, after, part)
            if after is not None and place.fits(after, i + 1, place.at - i + 1):
                advice = word.advice or f"did you mean `{word.text}`?"
                return Mistake(place.unexpected(i, advice, word.replacement), after, i + 1)
    return None


def _misspelt(place: Place) -> Mistake | None:
    """A name that is nearly a keyword which fits: this token, or the one before it, which could be a name so far."""
    for i, top in place.suspects():
        if place.tokens[i].kind != "NAME":
            continue
        word = _nearest_keyword(place, i, top)
        after = word and advance(place.table, top, replace(place.tokens[i], kind=word, text=word))
        if word and after:
            return Mistake(place.unexpected(i, f"did you mean `{word}`?", word), after, i + 1)
    return None


def _nearest_keyword(place: Place, i: int, top: Frame) -> str | None:
    from difflib import get_close_matches

    keywords = [k for k in place.table.moves[top.state] if k in place.table.words]
    alike = 0.6 if i == place.at else 0.75  # what was read as a name is one, as a rule
    close = get_close_matches(place.tokens[i].text.lower(), keywords, n=3, cutoff=alike)
    return next((k for k in close if place.fits(probe(place.table, top, k), i + 1, 2)), None)


def _confused(place: Place) -> Mistake | None:
    """A sign or word for which another would fit."""
    for sign in CONFUSED.get(place.token.kind, ()):
        reach = 1 if (place.token.kind, sign) in FREQUENT else 2
        if place.fits(probe(place.table, place.top, sign), place.at + 1, reach):
            after = advance(place.table, place.top, replace(place.token, kind=sign, text=sign))
            if after is not None:
                return Mistake(place.unexpected(place.at, f"did you mean `{sign}`?", sign), after, place.at + 1)
    return None


def _stray(place: Place) -> Mistake | None:
    """A name in the middle of a line that was read as the beginning of a declaration. See NOTE(layout)."""
    start = _begun_in_line(place)
    if start is None:
        return None
    i, top = start
    here = place.tokens[i].start
    fixed = (kind for kind in place.table.moves[top.state] if not is_made(kind) and not kind.isupper())
    missing = [kind for kind in fixed if place.fits(probe(place.table, top, kind), i, place.at - i + 2)]
    if len(missing) == 1:
        after = advance(place.table, top, Token(missing[0], missing[0], here, here))
        assert after is not None
        return Mistake(place.unexpected(i, f"`{missing[0]}` may be missing before it"), after, i)
    alternatives = listing(place.table, top, going_on=True)
    diagnostic = place.unexpected(i, None if alternatives is None else f"expected {alternatives}")
    if not place.fits(top, place.at, 2):
        return _skipped(replace(place, at=i, top=top, recent=()), diagnostic) if missing else None
    if _can_begin(place, top, place.at, 1) and not place.begins_line(place.at):
        return None  # it may as well be the beginning of the next declaration in this line
    return Mistake(diagnostic, top, place.at)


def _begun_in_line(place: Place) -> tuple[int, Frame] | None:
    """The last name before the mistake with which a declaration begins in the middle of a line, and the stack before
    it, if nothing but names has followed."""
    for i, top in zip(range(place.at - 1, 0, -1), reversed(place.recent), strict=False):
        if place.tokens[i].kind not in ("NAME", ",", "."):
            return None
        if place.tokens[i].kind == "NAME" and _begins(place, top, i):
            before = place.tokens[i - 1]
            apart = place.begins_line(i) or before.kind in ("}", ";") or place.table.items[top.state]
            keyword = before.kind == "NAME" and before.text in place.table.words and place.begins_line(i - 1)
            return None if apart or keyword else (i, top)
    return None


def _begins(place: Place, top: Frame, i: int) -> bool:
    """Whether a declaration begins with a token on a stack on which the one before it is complete."""
    complete = any(probe(place.table, top, kind) is not None for kind in ("}", "END"))
    return complete and _can_begin(place, top, i, 0)


def _unfinished(place: Place) -> Mistake | None:
    """A declaration begins on a line of its own while the one before it is not complete, or its block not closed.

    It may be noticed some tokens late, when the first names could still belong to the declaration before.
    """
    for i, top in place.suspects(LATE):
        if i == 0 or not place.begins_line(i) or place.tokens[i].kind in ("END", "}") or place.begins_part(i, top):
            continue
        if i < place.at - 1 and place.tokens[i - 1].kind == "}":
            continue  # a declaration has begun after the block
        after = _restarted(place, top, i, 1 if i == place.at else LATE)
        if after is not None and (i == place.at or not words.opens(place.table, after, place.tokens[i].text)):
            return Mistake(_unfinished_message(place, top, i), after, i)
    return None


def _unfinished_message(place: Place, top: Frame, i: int) -> Diagnostic:
    if place.tokens[i - 1].kind == "}":
        diagnostic = place.unexpected(i, "the block that ends before it may be closed too early")
        return diagnostic.label(place.span(i - 1), "closed here")
    opening = _open_brace(place, top)
    begins = f"`{place.tokens[i].text}` begins the next one"
    if opening is not None and probe(place.table, top, "}") is not None:
        return UNEXPECTED.at(place.span(i), f"a `}}` is missing before `{place.tokens[i].text}`").label(
            opening, "opened here"
        )
    diagnostic = UNEXPECTED.at(place.span(i - 1), "this declaration is not finished").label(place.span(i), begins)
    alternatives = listing(place.table, top)
    return diagnostic if alternatives is None else diagnostic.help(f"expected {alternatives}")


def _without_self(place: Place) -> Mistake | None:
    """`in S` where an expression begins: the machine itself is meant."""
    here = place.token.start
    itself = advance(place.table, place.top, Token("self", "self", here, here)) if place.token.kind == "in" else None
    if itself is None or not place.fits(itself, place.at, 2):
        return None
    after = advance(place.table, itself, place.token)
    if after is None:
        return None
    diagnostic = place.unexpected(
        place.at, "did you mean `self in`? A state name alone has the same meaning", "self in"
    )
    return Mistake(diagnostic, after, place.at + 1)


def _reserved(place: Place) -> Mistake | None:
    """A reserved word where a name fits."""
    if place.token.kind not in RESERVED:
        return None
    if place.token.kind == place.tokens[place.at - 1].kind and place.fits(place.top, place.at + 1, 3):
        return None  # written twice
    if place.token.kind in CLAUSES and place.fits(probe(place.table, place.top, "NAME"), place.at, 3):
        return None  # the name is missing
    after = advance(place.table, place.top, replace(place.token, kind="NAME"))
    if after is None or not place.fits(after, place.at + 1, 1):
        return None
    return Mistake(_is_reserved(place, place.at), after, place.at + 1)


def _reserved_label(place: Place) -> Mistake | None:
    """A reserved word before a colon where a label fits: `reachable all: …`."""
    i, before = place.at - 1, place.before
    if place.token.kind != ":" or before is None or place.tokens[i].kind not in RESERVED - CLAUSES:
        return None
    if _begins(place, before, i):
        return None  # it does begin a declaration, whose name is missing
    after = advance(place.table, before, replace(place.tokens[i], kind="NAME"))
    if after is None or not place.fits(after, place.at, 2):
        return None
    return Mistake(_is_reserved(place, i), after, place.at)


def _is_reserved(place: Place, i: int) -> Diagnostic:
    message = f"`{place.tokens[i].text}` is a reserved word and cannot be used as a name"
    return UNEXPECTED.at(place.span(i), message).help("choose another name")


def _superfluous(place: Place) -> Mistake | None:
    """A token without which all fits."""
    if place.token.kind in ("END", "{", "(", "["):
        return None
    reach = 3 if place.tokens[place.at + 1].kind in RESERVED else 2
    if not place.fits(place.top, place.at + 1, reach):
        return None
    return Mistake(_general(place), place.top, place.at + 1)


# Going on elsewhere --------------------------------------------------------------------------------------------------


def _ended(place: Place) -> Mistake | None:
    """The file ends too early: close what is open."""
    if place.token.kind != "END":
        return None
    last = place.span(max(place.at - 1, 0))
    opening = _open_brace(place, place.top)
    if opening is not None and probe(place.table, place.top, "}") is not None:
        diagnostic = (
            UNEXPECTED.at(last, "the file ends before a `}`").label(opening, "opened here").help("close it with `}`")
        )
    else:
        alternatives = listing(place.table, place.top)
        diagnostic = UNEXPECTED.at(last, "the file ends in the middle of a declaration")
        diagnostic = diagnostic if alternatives is None else diagnostic.help(f"expected {alternatives}")
    return Mistake(diagnostic, closed(place), place.at)


def closed(place: Place) -> Frame:
    """A stack on which the file may end: with all blocks closed that can be, the rest dropped."""
    for frame in chain(place.top):
        top: Frame | None = frame
        while top is not None:
            if probe(place.table, top, "END") is not None:
                return top
            top = _close(place, top, place.at)
    raise AssertionError("an empty file is a module")


def _skip(place: Place) -> Mistake:
    """Nothing fits: drop the declaration."""
    return _skipped(place, _general(place))


def _general(place: Place) -> Diagnostic:
    if place.token.kind == ";" and _can_begin(place, place.top, place.at + 1, 1):
        return place.unexpected(place.at, "remove it: `;` can only separate effects, and it is optional even there")
    if (quantifier := _in_parentheses(place)) is not None:
        return place.unexpected(
            place.at, f"put the parentheses around the whole expression: `({quantifier} x in xs: …)`"
        )
    alternatives = listing(place.table, place.top)
    return place.unexpected(place.at, None if alternatives is None else f"expected {alternatives}")


def _in_parentheses(place: Place) -> str | None:
    """The `all`, `some` or `count` whose binder stands in parentheses, as in other languages: `count(x in xs: …)`."""
    kinds = [token.kind for token in place.tokens[: place.at + 3]]
    opening = place.at
    if place.token.kind == ":":  # `count` may be the name of a function until the colon comes
        opening = max((i for i in range(place.at) if kinds[i] == "("), default=0)
    before = place.tokens[opening - 1].text if opening else ""
    if kinds[opening : opening + 3] != ["(", "NAME", "in"] or before not in ("all", "some", "count"):
        return None
    return before


def _skipped(place: Place, diagnostic: Diagnostic) -> Mistake:
    """Go on at the next token at which something begins or ends. See NOTE(recovery)."""
    failed: set[tuple[str, str, bool]] = set()
    for i in _candidates(place):
        token = place.tokens[i]
        if token.kind == "END":
            return Mistake(diagnostic, closed(place), i)
        key = (token.kind, place.tokens[i + 1].kind, place.begins_line(i))
        top = None if key in failed else _resumed(place, i)
        if top is not None:
            return Mistake(diagnostic, top, i)
        failed.add(key)
    raise AssertionError("the last token is END")


def _candidates(place: Place) -> Iterator[int]:
    """The tokens from here on that are not inside braces which open behind the mistake."""
    depth = 0
    for i in range(place.at, len(place.tokens)):
        token = place.tokens[i]
        topmost = token.kind in TOPMOST and place.source.text[token.start - 1 : token.start] in ("", "\n", "\r")
        if depth == 0 or token.kind == "END" or topmost:
            depth = 0 if topmost else depth
            yield i
        depth += (token.kind == "{") - (token.kind == "}" and depth > 0)


def _resumed(place: Place, i: int) -> Frame | None:
    """The innermost stack on which reading can go on with a token, if it is one to go on with."""
    kind = place.tokens[i].kind
    if kind == "}":
        return next((frame for frame in chain(place.top) if probe(place.table, frame, kind) is not None), None)
    if kind in CLAUSES and i > place.at:
        return next((frame for frame in chain(place.top) if place.fits(frame, i, 2)), None)
    alone = place.begins_line(i) or (i > place.at and place.tokens[i - 1].kind == ";")
    return _restarted(place, place.top, i, 1 if alone else 2) if alone or kind in RESERVED else None


def _restarted(place: Place, top: Frame, i: int, reach: int = 1) -> Frame | None:
    """The innermost stack on which a declaration, statement or step can begin with a token, blocks closed as needed."""
    tries = CLOSABLE
    for frame in chain(top):
        if _can_begin(place, frame, i, reach):
            return frame
        if tries and probe(place.table, frame, "}") is not None:
            tries -= 1
            after = _restarted_behind(place, frame, i, reach)
            if after is not None:
                return after
    return None


def _restarted_behind(place: Place, frame: Frame, i: int, reach: int) -> Frame | None:
    """The stack with as many blocks closed as it takes before something can begin with a token."""
    closings = 0
    at: Frame | None = frame
    while at is not None and not _can_begin(place, at, i, reach):
        at = probe(place.table, at, "}")
        closings += 1
    if at is None:
        return None
    whole: Frame | None = frame
    for _ in range(closings):
        whole = whole and _close(place, whole, i)
    return whole


def _can_begin(place: Place, top: Frame, i: int, reach: int) -> bool:
    if place.tokens[i].kind == "module" and place.top.below is not None:
        return False  # it begins a file, and nothing that was read is given up for it
    for reading in words.readings(place.table, place.tokens[i]):
        after = probe(place.table, top, reading)
        if after is not None and after.below is not None and place.table.items[after.below.state]:
            return place.fits(after, i + 1, reach)
    return False


def _close(place: Place, top: Frame, i: int) -> Frame | None:
    """The stack with one more block closed just before a token."""
    here = place.tokens[i].start
    return advance(place.table, top, Token("}", "}", here, here))


def _open_brace(place: Place, top: Frame) -> Span | None:
    """The innermost brace that is open."""
    braces = (f.value for f in chain(top) if isinstance(f.value, Token) and f.value.kind == "{")
    brace = next(braces, None)
    return None if brace is None else Span(place.source, brace.start, brace.end)


WAYS: tuple[Callable[[Place], Mistake | None], ...] = (
    _too_deep, _ended, _common_mistake, _foreign_word, _misspelt, _confused, _stray, _unfinished, _without_self,
    _reserved, _reserved_label, _superfluous, _skip,
)  # fmt: skip
