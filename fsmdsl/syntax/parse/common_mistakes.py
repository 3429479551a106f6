"""Habits from other languages: what a beginner writes, and what to write instead.

Each habit recognizes a few tokens around the mistake and says how to go on, see NOTE(recovery).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

from fsmdsl.dataclasses import NamedTuple, dataclass, replace
from fsmdsl.syntax.build.expressions import MILLISECONDS
from fsmdsl.syntax.operators import Written
from fsmdsl.syntax.parse.automaton import Frame, advance, chain, probe
from fsmdsl.syntax.parse.soft_keywords import goes_on, in_property
from fsmdsl.syntax.parse.table import Table
from fsmdsl.syntax.parse.tokens import ALIKE
from fsmdsl.syntax.tree import Token
from fsmdsl.text.source import Source, breaks

DECLARATORS = frozenset({"var", "val", "field", "variable", "const", "int", "bool", "mut"})
"""Keywords with which other languages declare a variable."""

BINARY = frozenset({*get_args(Written), "==", "!=", "<", "<=", ">", ">=", "in", "has"})
"""Operators behind which a quantifier, a conditional and `not` need parentheses."""

BEFORE_OPERAND = frozenset({"count", "always", "eventually", "next"})
"""Words that are names where no such operator can stand."""

BEGIN_OPERAND = frozenset({"true", "false", "none", "self", "not", "all", "some", "INT"})
"""Tokens that begin an operand, and nothing that follows a name."""

COMPARATORS = frozenset({"==", "!=", "<", "<=", ">", ">=", "in", "has"})

STRENGTHS = ("weak", "strong")

CLAUSES = {"on": "the trigger", "after": "the timer", "when": "the guard"}
"""The clauses of a row before its effects, in order, and what they are."""

SECTIONS = {
    "instances": "`a: A`", "fields": "`n: 0..3`", "variables": "`n: 0..3`", "states": "`state A`",
    "events": "`event a from environment`", "actions": "`action a`", "transitions": "`A -> B on e`",
    "invariants": "`invariant p`", "properties": "`property p`",
}  # fmt: skip
"""Sections of other languages, and a declaration that would be in each."""

UNITS = {
    **{unit: unit for unit in MILLISECONDS}, **ALIKE, "minute": "min", "minutes": "min", "second": "s", "seconds": "s",
    "millis": "ms", "millisecond": "ms", "milliseconds": "ms",
}  # fmt: skip
"""Units of durations, and what one might write instead."""


@dataclass(frozen=True, slots=True)
class MistakeContext:
    """The tokens around the mistake `at`, the stack below it, and those below the tokens before it, as far as known."""

    table: Table
    source: Source
    tokens: list[Token]
    at: int
    top: Frame
    recent: Sequence[Frame]

    def kinds(self, start: int, count: int) -> list[str]:
        """The kinds of `count` tokens from `start` tokens behind the mistake on (negative: before it)."""
        first = self.at + start
        return [token.kind for token in self.tokens[max(first, 0) : first + count]]

    def text(self, offset: int) -> str:
        """The text of a token near the mistake."""
        return self.tokens[self.at + offset].text if 0 <= self.at + offset < len(self.tokens) else ""

    def begins_line(self, i: int) -> bool:
        """Whether a token is the first of its line."""
        return i == 0 or breaks(self.source.text, self.tokens[i - 1].end, self.tokens[i].start) > 0

    def back_to(self, *kinds: str) -> int | None:
        """The nearest token of one of the kinds before the mistake, in the same declaration (as far as is known)."""
        for i in range(self.at - 1, max(self.at - 40, -1), -1):
            if self.tokens[i].kind in kinds:
                return i
            if self.tokens[i].kind in ("{", "}"):
                return None
        return None

    def instead(self, kind: str) -> Frame | None:
        """The stack after a token of another kind in the place of the mistake."""
        return advance(self.table, self.top, replace(self.tokens[self.at], kind=kind, text=kind))


class CommonMistake(NamedTuple):
    """What is wrong and what to write; the stack and the token to go on with. Without a stack, the declaration is
    skipped. `at` is the first of `width` tokens at fault, which a quick fix replaces."""

    message: str
    advice: str
    at: int
    top: Frame | None = None
    resume: int = 0
    width: int = 1
    replacement: str | None = None


def common_mistake(around: MistakeContext) -> CommonMistake | None:
    """The habit that explains a mistake, if one does."""
    explanations = (recognize(around) for recognize in COMMON_MISTAKES)
    return next((x for x in explanations if x is not None), None)


def _declared_with_keyword(x: MistakeContext) -> CommonMistake | None:
    """`var n: 0..3`"""
    word = x.text(-1)
    if word not in DECLARATORS or x.kinds(0, 2) != ["NAME", ":"] or not x.recent:
        return None
    top = advance(x.table, x.recent[-1], x.tokens[x.at])
    advice = f"a field is declared without a keyword: remove `{word}`"
    return CommonMistake(f"unexpected `{word}` here", advice, x.at - 1, top, x.at + 1)


def _assigned_by_operator(x: MistakeContext) -> CommonMistake | None:
    """`n++`, `n += 1`"""
    sign = x.text(0)
    if (
        sign not in ("+", "-")
        or x.text(1) not in (sign, "=")
        or (x.back_to("do") is None and not _is_inside(x.top, "do"))
    ):
        return None
    name = x.text(-1)
    operator = sign + x.text(1)
    value = x.text(2) if operator.endswith("=") else "1"
    advice = f"write `{name} = {name} {sign} {value}`"
    if operator.endswith("="):
        return CommonMistake(f"`{operator}` is not an operator", advice, x.at, x.instead("="), x.at + 2, 2)
    return CommonMistake(f"`{operator}` is not an operator", advice, x.at, x.top, x.at + 2, 2)


def _effects_with_comma(x: MistakeContext) -> CommonMistake | None:
    """`do n = 1, k = 2`"""
    if x.text(0) != "," or x.kinds(1, 1) != ["NAME"]:
        return None
    do = x.back_to("do")
    if do is None or x.tokens[do + 1].kind == "{" or (x.text(2) not in ("=", ",", ".", "(") and not _ends(x)):
        return None
    effects = " ".join(token.text for token in x.tokens[do + 1 : x.at])
    return CommonMistake("unexpected `,` here", f"several effects must be in braces: `do {{ {effects}; … }}`", x.at)


def _ends(x: MistakeContext) -> bool:
    """Does the declaration end behind the name that follows?"""
    return x.text(2) in ("", "}") or x.kinds(2, 1) == ["NAME"]


def _event_behind_colon(x: MistakeContext) -> CommonMistake | None:
    """`A -> B: open`"""
    if x.text(0) != ":" or x.kinds(-2, 2) != ["->", "NAME"] or x.kinds(1, 1) != ["NAME"]:
        return None
    advice = f"an event follows `on`: `{x.text(-3)} -> {x.text(-1)} on {x.text(1)}`"
    return CommonMistake("unexpected `:` here", advice, x.at, x.instead("on"), x.at + 1)


def _clause_too_late(x: MistakeContext) -> CommonMistake | None:
    """`A -> B when n > 1 on open`, `A -> B on open do n = 1 when n < 3`"""
    clause, later = x.tokens[x.at].kind, _last_clause(x.top)
    if clause not in CLAUSES or later is None or not _is_inside(x.top, "machine"):
        return None
    advice = f"write {CLAUSES[clause]} before `{later}`: `A -> B on e when p do …`"
    return CommonMistake(f"unexpected `{clause}` here", advice, x.at)


def _last_clause(top: Frame) -> str | None:
    """The `when` or `do` that is not complete below the mistake."""
    depth = 0
    for kind in (frame.value.kind for frame in chain(top) if isinstance(frame.value, Token)):
        depth += (kind == "}") - (kind == "{")
        if depth < 0:
            return None
        if depth == 0 and kind in ("when", "do"):
            return kind
    return None


def _section(x: MistakeContext) -> CommonMistake | None:
    """`instances { a: A }`"""
    example = SECTIONS.get(x.text(-1))
    if example is None or x.text(0) != "{":
        return None
    advice = f"there are no sections; write each declaration by itself: {example}"
    return CommonMistake(f"unexpected `{x.text(-1)}` here", advice, x.at - 1)


def _misplaced_channel(x: MistakeContext) -> CommonMistake | None:
    """`system S { channel inbox: fifo[3] to Job }`"""
    if x.text(-1) != "channel" or x.kinds(0, 1) != ["NAME"]:
        return None
    if not _is_inside(x.top, "system") and not (_is_inside(x.top, "machine") and x.begins_line(x.at - 1)):
        return None
    advice = "channels are declared in the module, outside of machines and systems"
    next_line = next((i for i in range(x.at, len(x.tokens)) if x.begins_line(i)), None)
    if next_line is None or not x.recent:
        return CommonMistake("unexpected `channel` here", advice, x.at - 1)
    return CommonMistake("unexpected `channel` here", advice, x.at - 1, x.recent[-1], next_line)


def _ignored_nowhere(x: MistakeContext) -> CommonMistake | None:
    """`ignore go, stop`, without states"""
    at = x.back_to("ignore")
    if at is None or not (x.text(0) == "}" or x.begins_line(x.at)):
        return None
    if set(x.kinds(at + 1 - x.at, x.at - at - 1)) - {"NAME", ".", ","} or x.text(-1) == ",":
        return None
    events = ", ".join(token.text for token in x.tokens[at + 1 : x.at] if token.kind == "NAME")
    advice = f"name the states: `ignore {events} in A, B`, or `in *` for all of them"
    return CommonMistake("this `ignore` names no states", advice, x.at - 1)


def _states_in_one(x: MistakeContext) -> CommonMistake | None:
    """`states A, B`, `state A, B`"""
    plural = x.text(-1).lower() == "states" and x.kinds(0, 1) == ["NAME"]
    has_comma = x.text(0) == "," and x.kinds(-2, 2) == ["state", "NAME"]
    if not plural and not has_comma:
        return None
    first, at = (x.text(0), x.at - 1) if plural else (x.text(-1), x.at)
    second = x.text(2 if plural else 1) or "B"
    advice = f"each state must be declared separately: `initial state {first}  state {second}`"
    return CommonMistake(f"unexpected `{x.tokens[at].text}` here", advice, at)


def _else_of_a_row(x: MistakeContext) -> CommonMistake | None:
    """`A -> B on open when n > 1 else C`"""
    arrow, when = x.back_to("->"), x.back_to("when")
    if x.text(0) != "else" or arrow is None or when is None or x.kinds(1, 1) != ["NAME"]:
        return None
    head = " ".join(token.text for token in x.tokens[arrow + 2 : when])
    guard = " ".join(token.text for token in x.tokens[when + 1 : x.at])
    row = f"{x.tokens[arrow - 1].text} -> {x.text(1)} {head} when not ({guard})"
    advice = f"a transition can have only one target; write a second one: `{row}`"
    return CommonMistake("unexpected `else` here", advice, x.at, x.top, x.at + 2)


def _guard_in_brackets(x: MistakeContext) -> CommonMistake | None:
    """`A -> B on open [n > 1]`"""
    if x.text(0) != "[" or x.back_to("on") is None or x.back_to("do", "when") is not None:
        return None
    end = next((i for i in range(x.at, min(x.at + 40, len(x.tokens))) if x.tokens[i].kind == "]"), None)
    if end is None:
        return None
    guard = " ".join(token.text for token in x.tokens[x.at + 1 : end])
    return CommonMistake("unexpected `[` here", f"a guard follows `when`: `when {guard}`", x.at)


def _operand_without_parentheses(x: MistakeContext) -> CommonMistake | None:
    """`2 - count p in pods: …`, `n == not a`, `3 + if a then 1 else 2`: these reach as far as they can to the right."""
    kind = x.tokens[x.at].kind
    if x.text(-2) == "count" and x.kinds(-1, 2) == ["NAME", "in"]:
        at = x.at - 2
    elif x.text(-1) in BEFORE_OPERAND and (kind in BEGIN_OPERAND or x.kinds(0, 2) == ["NAME", "in"]):
        at = x.at - 1
    elif kind in ("all", "some", "not", "if"):
        at = x.at
    else:
        return None
    word = x.tokens[at].text
    if at == 0 or x.tokens[at - 1].kind not in BINARY:
        return None
    return CommonMistake(f"unexpected `{word}` here", f"put it in parentheses: `({word} {_reach(x.tokens, at)})`", at)


def _reach(tokens: Sequence[Token], at: int) -> str:
    """What follows a word that reaches as far to the right as it can, in short."""
    word = tokens[at].text
    if word == "if":
        return "… then … else …"
    if word not in ("all", "some", "count"):
        return "…"
    binder = tokens[at + 1 : at + 5]
    if [t.kind for t in binder] == ["NAME", "in", "NAME", ":"]:
        return f"{binder[0].text} in {binder[2].text}: …"
    return "x in xs: …"


def _duration_in_words(x: MistakeContext) -> CommonMistake | None:
    """`after 6 hours`"""
    behind = 0 if x.kinds(-1, 1) == ["INT"] else 1  # the unit may have been read as the beginning of the next row
    unit = UNITS.get(x.text(-behind))
    if unit is None or x.kinds(-behind - 1, 1) != ["INT"] or len(x.recent) <= behind:
        return None
    number, at = x.tokens[x.at - behind - 1], x.at - behind
    duration = f"{number.text}{unit}"
    top = advance(x.table, x.recent[-behind - 1], Token("DURATION", duration, number.start, x.tokens[at].end))
    if top is None:
        return None
    message = f"unexpected `{x.tokens[at].text}` here"
    return CommonMistake(message, f"a duration must be written without a space: `{duration}`", at, top, at + 1)


def _strength_without_fair(x: MistakeContext) -> CommonMistake | None:
    """`under fair a, strong b`, `under strong a`, `under weak fairness a`"""
    behind = 0 if x.text(-1) in STRENGTHS else 1  # the event may have been read as the beginning of an instance
    at, strength = x.at - behind, x.text(-behind - 1)
    if strength not in STRENGTHS or x.kinds(-behind, 1) != ["NAME"] or len(x.recent) <= behind:
        return None
    top: Frame | None = x.recent[-behind - 1] if x.back_to("under") is not None else None
    for word in (strength, "fair"):
        top = top and advance(x.table, top, replace(x.tokens[at - 1], kind=word, text=word))
    if top is None:
        return None
    name, resume = x.tokens[at].text, at
    if name == "fairness" and x.kinds(1 - behind, 1) == ["NAME"]:
        name, resume = x.tokens[at + 1].text, at + 1
    advice = f"write `{strength} fair {name}`"
    return CommonMistake(f"unexpected `{x.tokens[at].text}` here", advice, at, top, resume)


def _fairness_of_system(x: MistakeContext) -> CommonMistake | None:
    """`fair go` and `weak fair go` on a line of a system"""
    word = x.text(-1)
    is_assumption = word in ("fair", "fairness") or (word in STRENGTHS and x.text(0) in ("fair", "fairness"))
    if not is_assumption or x.text(0) in (":", "{") or not x.begins_line(x.at - 1) or not x.recent:
        return None
    if probe(x.table, x.recent[-1], "property") is None:
        return None
    strength, event = (f"{word} ", x.text(1)) if word in STRENGTHS else ("", x.text(0))
    advice = f"a property assumes fairness: `property p: … under {strength}fair {event}`"
    return CommonMistake(f"unexpected `{word}` here", advice, x.at - 1)


def _leads_to(x: MistakeContext) -> CommonMistake | None:
    """`p leads to q`"""
    if (x.text(-1), x.text(0)) != ("leads", "to") or not x.recent:
        return None
    start, end = x.tokens[x.at - 1].start, x.tokens[x.at].end
    top = advance(x.table, x.recent[-1], Token("~>", "~>", start, end))
    if top is None:
        return None
    return CommonMistake("unexpected `leads to` here", "did you mean `~>`?", x.at - 1, top, x.at + 1, 2, "~>")


def _always_in_brackets(x: MistakeContext) -> CommonMistake | None:
    """`[](p)`, `[] p` as in TLA+: an empty list until something follows it"""
    for behind in range(2, min(len(x.recent), 5) + 1):
        if x.kinds(-behind, 2) != ["[", "]"]:
            continue
        at = x.at - behind
        always = Token("always", "always", x.tokens[at].start, x.tokens[at + 1].end)
        top = advance(x.table, x.recent[-behind], always)
        if top is not None and goes_on(x.table, top, x.tokens, at + 2, behind - 1):
            return CommonMistake("`[]` is not an operator", "write `always`", at, top, at + 2, 2)
    return None


def _range_as_set(x: MistakeContext) -> CommonMistake | None:
    """`n in 1..2`, `n in {1..2}`"""
    bracket = 1 if x.text(-2) in ("(", "{", "[") else 0
    if x.text(0) != ".." or x.text(-2 - bracket) != "in" or x.kinds(-1, 3) != ["INT", "..", "INT"]:
        return None
    negated = x.text(-3 - bracket) == "not"
    end = x.at - 2 - bracket - negated
    name = "".join(token.text for token in x.tokens[_path_start(x, end) : end]) or "n"
    low, high = x.text(-1), x.text(1)
    test = f"{name} < {low} or {name} > {high}" if negated else f"{name} >= {low} and {name} <= {high}"
    return CommonMistake("unexpected `..` here", f"a range is not a set; write `{test}`", x.at, x.top, x.at + 2)


def _comparisons_in_a_row(x: MistakeContext) -> CommonMistake | None:
    """`1 <= n <= 2`"""
    signs = COMPARATORS - {"in", "has"}
    second, start = x.text(0), _path_start(x, x.at)
    first = x.tokens[start - 1].kind if 0 < start < x.at else ""
    if first not in signs or second not in signs or x.kinds(1, 1) not in (["INT"], ["NAME"]):
        return None
    middle = "".join(token.text for token in x.tokens[start : x.at])
    advice = f"write `… {first} {middle} and {middle} {second} {x.text(1)}`"
    return CommonMistake(f"unexpected `{second}` here", advice, x.at, x.top, x.at + 2)


def _path_start(x: MistakeContext, end: int) -> int:
    """Where `a.b`, which ends before a token, begins."""
    start = end
    while start > 0 and x.tokens[start - 1].kind in (
        ("NAME", "self") if start == end or x.text(start - x.at) == "." else (".",)
    ):
        start -= 1
    return start


def _and_of_sets(x: MistakeContext) -> CommonMistake | None:
    """`a in Y & b in Y`: `Y & b` is a set"""
    kind = x.tokens[x.at].kind
    sign = _path_start(x, x.at) - 1
    behind = x.at - sign
    if kind not in (*COMPARATORS, "not", "=") or behind < 2 or x.text(-behind) != "&" or len(x.recent) < behind:
        return None
    top = advance(x.table, x.recent[-behind], replace(x.tokens[sign], kind="and", text="and"))
    if top is None:
        return None
    advice = "did you mean `and`? `&` is the intersection of sets"
    return CommonMistake("unexpected `&` here", advice, sign, top, sign + 1, 1, "and")


def _timer_in_words(x: MistakeContext) -> CommonMistake | None:
    """`A -> B timeout 5s`, `A -> B on after 5s`"""
    if x.text(-1) == "on" and x.text(0) == "after" and x.recent:
        after = advance(x.table, x.recent[-1], x.tokens[x.at])
        if after is not None:
            return CommonMistake("unexpected `on` here", "a timer is `after` without `on`", x.at - 1, after, x.at + 1)
    if x.text(-1) != "timeout" or x.kinds(0, 1) not in (["DURATION"], ["INT"]) or not x.recent:
        return None
    top = advance(x.table, x.recent[-1], replace(x.tokens[x.at - 1], kind="after", text="after"))
    if top is None:
        return None
    return CommonMistake("unexpected `timeout` here", "did you mean `after`?", x.at - 1, top, x.at, 1, "after")


def _arrow(x: MistakeContext) -> CommonMistake | None:
    """`p -> q` and `p --> q` in a property, `A --> B on open`"""
    if x.text(0) == "-" and x.text(1) == "->":
        at, top, end = x.at, x.top, x.at + 2
    elif x.text(-1) == "-" and x.text(0) == "->" and x.recent:  # the first sign was read as an operator
        at, top, end = x.at - 1, x.recent[-1], x.at + 1
    elif x.text(0) == "->":
        at, top, end = x.at, x.top, x.at + 1
    else:
        return None
    arrow = "".join(token.text for token in x.tokens[at:end])
    message = f"unexpected `{arrow}` here"
    for kind in ("->", "~>"):
        after = advance(x.table, top, Token(kind, kind, x.tokens[at].start, x.tokens[end - 1].end))
        if after is None:
            continue
        if kind == "->":
            return CommonMistake(message, "did you mean `->`?", at, after, end, end - at, "->")
        if in_property(x.table, top):
            advice = "write `p ~> q` (`q` follows, now or later) or `p => q` (in the same state)"
            return CommonMistake(message, advice, at, after, end, end - at)
    return None


def _effects_without_do(x: MistakeContext) -> CommonMistake | None:
    """`A -> B on open { n = 1 }`"""
    if x.text(0) != "{" or x.back_to("on", "after", "when") is None:
        return None
    here = x.tokens[x.at].start
    top = advance(x.table, x.top, Token("do", "do", here, here))
    if top is None or advance(x.table, top, x.tokens[x.at]) is None:
        return None
    return CommonMistake("unexpected `{` here", "effects follow `do`: `do { … }`", x.at, top, x.at)


def _state_as_field(x: MistakeContext) -> CommonMistake | None:
    """`lease.state == Free`, `lease.state == Lease.Free`"""
    if x.text(0) != "state" or x.text(-1) != "." or x.kinds(-2, 1) not in (["NAME"], ["self"]):
        return None
    instance, state = x.text(-2), "S"
    if x.text(1) in ("==", "!="):
        state = x.text(4 if x.text(3) == "." else 2)
    test = "not in" if x.text(1) == "!=" else "in"
    advice = f"test it with `{instance} {test} {state}`; as a value, it is `state({instance})`"
    name = advance(x.table, x.top, replace(x.tokens[x.at], kind="NAME"))
    return CommonMistake("`state` is not a field", advice, x.at, name, x.at + 1)


def _states_in_parentheses(x: MistakeContext) -> CommonMistake | None:
    """`lease in (Free, Taken)`"""
    if x.kinds(-3, 4) != ["in", "(", "NAME", ","]:
        return None
    return CommonMistake("unexpected `,` here", f"a set is in braces: `in {{{x.text(-1)}, …}}`", x.at)


def _parameters_in_parentheses(x: MistakeContext) -> CommonMistake | None:
    """`worker: Worker(lease)` in a system"""
    if x.kinds(-3, 4) != ["NAME", ":", "NAME", "("] or x.instead("{") is None:
        return None
    parameter = x.text(1) if x.text(2) == "=" else "name"
    advice = f"parameters are set in braces: `{x.text(-3)}: {x.text(-1)} {{ {parameter} = … }}`"
    return CommonMistake("unexpected `(` here", advice, x.at)


def _text_as_value(x: MistakeContext) -> CommonMistake | None:
    """`name: string = ""`"""
    if x.kinds(0, 1) != ["STRING"] or x.text(-1) != "=":
        return None
    advice = "there are no string values; declare an enum instead: `enum Color { Red | Green }`"
    return CommonMistake("unexpected string here", advice, x.at)


def _amendment_outside_machine(x: MistakeContext) -> CommonMistake | None:
    """`amends "…" …` in a system, an environment or a scenario"""
    if x.tokens[x.at].kind != "amends" or _is_inside(x.top, "machine", "locks"):
        return None
    advice = (
        "only machines and `locks` have amendments; an event that only an amendment declares is offered by a system "
        "of its own, which `--as-documented` omits: `system Amended extends S { environment { … } }`"
    )
    return CommonMistake("unexpected `amends` here", advice, x.at)


def _is_inside(top: Frame, *kinds: str) -> bool:
    """Whether a block of one of the kinds is open."""
    return any(isinstance(frame.value, Token) and frame.value.kind in kinds for frame in chain(top))


COMMON_MISTAKES: tuple[Callable[[MistakeContext], CommonMistake | None], ...] = (
    _declared_with_keyword, _assigned_by_operator, _effects_with_comma, _event_behind_colon, _states_in_one,
    _clause_too_late, _section, _misplaced_channel, _ignored_nowhere, _else_of_a_row, _guard_in_brackets,
    _operand_without_parentheses, _duration_in_words,
    _timer_in_words, _strength_without_fair, _fairness_of_system, _arrow, _effects_without_do, _state_as_field,
    _states_in_parentheses, _parameters_in_parentheses, _text_as_value, _leads_to, _always_in_brackets, _range_as_set,
    _comparisons_in_a_row, _and_of_sets, _amendment_outside_machine,
)  # fmt: skip
