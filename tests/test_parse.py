"""Reading: the table, words that are names, mistakes and what is kept in spite of them, doc comments, the limits."""

from __future__ import annotations

import marshal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from counting import grows_with
from tiers import today

from fsmdsl import syntax as s
from fsmdsl.syntax.parse import Parsed, parse
from fsmdsl.syntax.parse.equivalents import ALTERNATIVES, PREFIXES, SIGNS, VALUES, WORDS
from fsmdsl.syntax.parse.table import load
from fsmdsl.syntax.parse.tokens import lex
from fsmdsl.syntax.words import RESERVED
from fsmdsl.text.diagnostics import Diagnostic, Severity
from fsmdsl.text.source import Source

DOOR = """machine Door {
    initial state Open
    state Shut
    event push, pull from environment
    action ring, bolt -> ok | err
    n: 0..9
    %s
    Shut -> Open on pull
}
system S {
    door: Door
    doors: Door[3]
}
"""


def read(text: str) -> Parsed:
    return parse(Source("x.fsm", text))


def good(text: str) -> s.Module:
    parsed = read(text)
    assert [d.message for d in parsed.diagnostics] == []
    return parsed.module


def member(line: str) -> Any:
    """The machine member that a line declares."""
    machine = good(f"machine Z {{ {line} }}").members[0]
    assert isinstance(machine, s.MachineDecl)
    return machine.members[0]


@pytest.mark.parametrize(
    "before", ["A -> B on e do n = n", "A on e when n == n", "A -> B on e do n = 2 invariant n < n"]
)
@pytest.mark.parametrize("between", ["", " ", "\n", " // any /* state\n\n  ", " //\n// two\n"])
@pytest.mark.parametrize("after", ["-> B on e", ", A -> B on e", "on e", "after 3s", "when n == 1"])
def test_a_star_after_an_expression_is_any_state_before_what_follows_a_state(
    before: str, between: str, after: str
) -> None:
    text = f"machine Z {{ n: 0..9\n {before}\n *{between}{after} }}"
    module = good(text)
    machine = module.members[0]
    assert isinstance(machine, s.MachineDecl)
    last = machine.members[-1]
    assert isinstance(last, s.TransitionDecl)
    assert "*" in [source.text for edge in last.edges for source in edge.sources]


def test_an_arrow_of_mathematics_after_any_state_is_one_mistake() -> None:
    (found,) = said("machine Z { n: 0..9\n A on e do n = n\n * → B on e }")
    assert found.startswith("3:4 `→` is not an operator")


@pytest.mark.parametrize("factor", ["n", "3", "-3", "(n)", "self.n", "size({n})", "if_x", "ons", "// any\n n"])
def test_a_star_between_values_is_a_product(factor: str) -> None:
    machine = good(f"machine Z {{ n: 0..9\n A on e do n = n\n * {factor} B -> A on e }}").members[0]
    assert isinstance(machine, s.MachineDecl)
    _, first, second = machine.members
    assert isinstance(first, s.TransitionDecl)
    assert isinstance(second, s.TransitionDecl)
    (effect,) = first.effects
    assert isinstance(effect, s.Assign)
    assert isinstance(effect.value, s.Binary)
    assert effect.value.operator == "*"


def said(text: str) -> list[str]:
    """Errors as `line:column message | advice`."""
    return [":".join(map(str, d.span.source.position(d.span.start))) + " " + shown(d) for d in read(text).diagnostics]


def shown(d: Diagnostic) -> str:
    return d.message if d.advice is None else f"{d.message} | {d.advice}"


@pytest.mark.parametrize("sign", SIGNS)
def test_signs_of_other_languages_are_read_as_those_of_this_one(sign: str) -> None:
    lexed = lex(load(), Source("x.fsm", f"a {sign} b"))
    assert [t.kind for t in lexed.tokens] == ["NAME", *SIGNS[sign].kinds, "NAME", "END"]
    assert [d.rule.code for d in lexed.diagnostics] == ["FSM002"]
    assert set(SIGNS[sign].kinds) <= set().union(*load().moves)


def test_words_of_other_languages_are_in_lower_case_and_none_of_this_one() -> None:
    assert ALTERNATIVES.keys() <= WORDS.keys()
    assert PREFIXES.keys() <= SIGNS.keys()
    assert {x for x in (*WORDS, *VALUES) if x != x.lower()} == set()
    assert WORDS.keys() & load().words == set()
    assert {kind for word in WORDS.values() for kind in word.kinds} <= set().union(*load().moves)


# The table -----------------------------------------------------------------------------------------------------------


def test_the_table_is_that_of_the_grammar() -> None:
    """If not: `python -m fsmdsl.syntax.parse.tabulate`."""
    from fsmdsl.syntax.parse.tabulate import READY, TABLE, ready, table

    assert TABLE.read_text("utf-8") == table()
    assert marshal.loads(READY.read_bytes()) == ready(table())


def test_reading_needs_neither_lark_nor_anything_that_takes_long_to_import() -> None:
    code = (
        "import sys; from fsmdsl.syntax.parse import parse; from fsmdsl.text.source import Source; "
        "parse(Source('x', 'machine M { initial state A }')); "
        "sys.exit(not {'lark', 'pickle', 'importlib.resources', 'rich', 'click', 'jinja2'}.isdisjoint(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_text_that_does_not_need_them_finds_no_followers_in_the_grammar() -> None:
    """They take as long as all else that a small file takes to be read."""
    code = (
        "import sys; from fsmdsl.syntax.parse import parse, table; from fsmdsl.text.source import Source; "
        "parse(Source('x', 'machine M { initial state A  event next  A -> A on next }')); "
        "sys.exit(table.followers.cache_info().currsize)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Words that are names ------------------------------------------------------------------------------------------------

NAMES = [*sorted(load().words - RESERVED), "index", "start", "stop", "wait", "min", "entry", "exit", "self_", "class"]

PLACES = {
    "%s": """
        module m.{w}
        import {w} {{ {w}, {w} }}
        enum {w} {{ {w} < other }}
        opaque {w}, {w}
        let {w} = {w}
        let {w}({w}: {w}, b: set<{w}>) = {w} and {w}
        channel {w}: lossy fifo[2] to {w}
    """,
    "machine Z {{\n%s\nx: 0..3 }}": """
        {w}: 0..9 = {w}
        {w}: {w}
        param {w}: {w} = {w}
        durable {w}: set<{w}>
        let {w} = {w} + {w} - {w}
        initial state {w}
        state {w} "shown" {{ state {w} }}
        event {w}({w}: {w}), {w} from {w}
        event {w}
        action {w}({w}: bool), {w} -> {w} | {w}
        async action {w}
        {w}: {w} -> {w} on {w}({w}) when {w} do {w}
        {w}: {w}, {w} -> {w} on {w}.{w} when {w} > 3 and {w} do {w}.{w}({w})
        {w} -> {w} on {w}
        {w} -> {w} when {w} == {w}
        {w} on {w} do {w}
        {w} when {w} do {{ {w} }}
        {w} after {w}
        {w} -> {w}, {w} -> {w} on {w}
        * -> {w} on {w}
        on entry({w}, {w}) do {w}
        ignore {w}, {w}.{w} in {w}, {w}
        A -> B on x do {{ add {w} to {w}; remove {w} from {w}; send {w}.{w}({w}); {w}; {w}({w}); {w} = {w} }}
        A -> B on x do {{ a = {w} b = {w} {w} = a }}
        A -> B on x do {{ if {w} {{ {w} = 1 }} else {{ {w}.{w} }} }}
        A -> B on x do {{ for {w} in {w} {{ {w}.{w} }} }}
        priority {w} > {w} > *
        layout rows {w} | {w}, {w}
        layout columns {w}
        invariant {w}: {w} in {w} => not {w}
        invariant {w}
        invariant {w} < {w} or {w} has {w}
        invariant all {w} in {w}: {w}.{w}
        invariant (count {w} in {w}: {w}) == {w}
        invariant {w} not in {{ {w}, {w} }}
        invariant [{w}] == [{w}, {w}]
        invariant if {w} then {w} else {w}
        invariant -{w} < {w}
        invariant {w} * {w} - 2 * {w} < 3 * -{w}
        invariant {w}[0] == {w}
        amends "why" {w} -> {w} on {w}
        amends "why" replaces {w}: {w} -> {w} on {w}
    """,
    "system Z {{\n%s\nx: Y }}": """
        {w}: {w}[2] {{ {w} = {w}, a = {w} }}
        {w}: {w} symmetric
        environment {{ some {w} in {w}: {w}.{w}({w}) when {w} }}
        property {w}: {w} ~> {w} under fair {w} and strong fair {w}
        property {w}: recovers on {w}, {w}
        reachable {w}: some {w} in {w}: {w} in {w}
        recover {{ {w} = {w} }}
    """,
    "scenario Z {{\n%s\n}}": """
        {w}: {w} in {w} {{ {w} = {w} }}
        {w}.{w}({w})
        expect {w} in {w}
        expect {w}
        via {w}, {w}
        fails {w}.{w} with {w}
        timeout {w} of {w}
        deliver {w}
    """,
    "locks {{\n%s\nX > Y }}": """
        write({w}) > read(child {w})
        operation {w} {{ {w} {{ {w} }} read({w}) }}
    """,
}
"""Lines in which `{w}` stands for a name, in what they have to be in."""


BEGIN = ("{w}: 0..9 = {w}", "{w}: {w}[2] {{ {w} = {w}, a = {w} }}", "{w}: {w} in {w} {{ {w} = {w} }}")
"""Lines in which a name is all that something begins with: there, `any` is a word."""


def renamed(part: Any, word: str) -> Any:
    """Syntax in which every name that is a word is another one."""
    match part:
        case s.Name(text):
            return replace(part, text="plain") if text == word else part
        case tuple():
            return tuple(renamed(x, word) for x in part)
        case _ if is_dataclass(part) and not isinstance(part, type):
            kept = {f.name: renamed(getattr(part, f.name), word) for f in fields(part) if f.name not in ("span", "doc")}
            return replace(part, **kept)
        case _:
            return part


@pytest.mark.parametrize("word", today([*NAMES]))
def test_words_are_names_wherever_a_name_stands(word: str) -> None:
    for around, lines in PLACES.items():
        for line in filter(None, map(str.strip, lines.splitlines())):
            template = around % line
            if word == "any" and line in BEGIN:
                continue
            assert renamed(good(template.format(w=word)), word) == good(template.format(w="plain")), line


@pytest.mark.parametrize("word", sorted(RESERVED - {"true", "false", "none", "self"}))
def test_a_reserved_word_as_a_name_is_called_one(word: str) -> None:
    found = said(f"machine M {{\n    param {word}: 0..3\n    initial state A\n}}")
    assert found == [f"2:11 `{word}` is a reserved word and cannot be used as a name | choose another name"]


def test_words_are_keywords_where_both_readings_fit() -> None:
    assert isinstance(member("invariant next (a)").condition, s.Unary)
    assert isinstance(member("invariant (count c in cells: c in A) == 1").condition.left, s.Quantified)
    assert isinstance(member("A -> B on x do { add x to s }").effects[0], s.Change)


def test_names_that_are_nearly_calls_or_signed_numbers() -> None:
    difference = s.Binary("-", s.Name("next"), s.Number(1))
    assert member("invariant next - 1 == 0").condition == s.Binary("==", difference, s.Number(0))
    assert member("A -> B on x do { add(x) }").effects == (s.Perform(s.Call(s.Name("add"), (s.Name("x"),))),)


@pytest.mark.parametrize("word", ["add", "remove"])
@pytest.mark.parametrize(
    "rest", ["}", "; y }", "y = 2 }", "to = 1 }", "from(1) }", "; to x }", "} to -> C on y", "} from: B -> C on y"]
)
def test_an_action_may_be_called_like_an_effect(word: str, rest: str) -> None:
    called = s.Perform(s.Call(s.Name(word), (s.Name("x"),)))
    assert member(f"A -> B on x do {{ {word}(x) {rest}").effects[0] == called
    assert member(f"A -> B on x do {{ {word}(x) }}").effects == (called,)


def test_an_action_without_braces_is_read_up_to_the_next_declaration() -> None:
    machine = good("machine M { A -> B on x do add(x)  to -> C on y  B -> C on y do remove(x)  from, B -> C on z }")
    decl = machine.members[0]
    assert isinstance(decl, s.MachineDecl)
    assert [type(m).__name__ for m in decl.members] == ["TransitionDecl"] * 4


def test_temporal_words_before_a_sign_are_names_but_in_a_property() -> None:
    assert member("invariant next[0] == 0").condition.left == s.Index(s.Name("next"), s.Number(0))
    system = good("system S { property a: always -x < 3  property b: p => next [x] == y }").members[0]
    assert isinstance(system, s.SystemDecl)
    always, implied = system.members
    assert isinstance(always, s.PropertyDecl)
    assert isinstance(implied, s.PropertyDecl)
    assert isinstance(always.formula, s.Unary)
    assert always.formula.operator == "always"
    assert isinstance(implied.formula, s.Binary)
    assert isinstance(implied.formula.right, s.Unary)


def test_an_event_may_be_called_exit_and_a_hook_is_still_a_hook() -> None:
    machine = good(
        "machine M { A -> B on exit  A -> B on entry(x) when x > 1  on exit(A, B) do ring  on entry(A) do ring }"
    )
    decl = machine.members[0]
    assert isinstance(decl, s.MachineDecl)
    assert [type(m).__name__ for m in decl.members] == ["TransitionDecl", "TransitionDecl", "HookDecl", "HookDecl"]


# Expressions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a => b => c", "a => (b => c)"),
        ("a or b and c", "a or (b and c)"),
        ("not a and b", "(not a) and b"),
        ("not a == b", "not (a == b)"),
        ("a - b - c", "(a - b) - c"),
        ("a - b + c & d", "((a - b) + c) & d"),
        ("all c in s: p => q", "all c in s: (p => q)"),
        ("a ~> b => c", "a ~> (b => c)"),
        ("if a then b else c or d", "if a then b else (c or d)"),
        ("x not in s", "x not in (s)"),
        ("-a + b", "(-a) + b"),
        ("not all c in s: p and q", "not (all c in s: (p and q))"),
    ],
)
def test_how_far_operators_reach(text: str, same: str) -> None:
    assert member(f"invariant {text}") == member(f"invariant {same}")


def test_texts_and_their_escapes() -> None:
    assert member(r'state A "a \"b\" \\ \n"').display == s.Text('a "b" \\ \\n')


def test_line_ends_tabs_and_a_byte_order_mark_mean_nothing() -> None:
    plain = "/// A door.\nmachine M {\n    initial state A /// open\n    state B // shut\n}\n"
    for text in (
        plain.replace("\n", "\r\n"),
        plain.replace("    ", "\t"),
        "\ufeff" + plain,
        plain.replace("\n", "\n\f\n"),
    ):
        assert good(text) == good(plain)
    assert read("\ufeff?").diagnostics[0].span.start == 1


# Mistakes ------------------------------------------------------------------------------------------------------------

RESERVED_WORD = "is a reserved word and cannot be used as a name | choose another name"

UNFINISHED = "this declaration is not finished"

MISTAKES = {
    # A word misspelt, a sign taken for another.
    "stat Ajar": ["7:5 unexpected `stat` here | did you mean `state`?"],
    "inital state Ajar": ["7:5 unexpected `inital` here | did you mean `initial`?"],
    "Event knock": ["7:5 unexpected `Event` here | did you mean `event`?"],
    "Open -> Shut onn push": ["7:18 unexpected `onn` here | did you mean `on`?"],
    "Open -> Shut on push wen n == 1 do ring": ["7:26 unexpected `wen` here | did you mean `when`?"],
    "Open -> Shut on push when n = 3 do ring": ["7:33 unexpected `=` here | did you mean `==`?"],
    "Open -> Shut on push do n == 3": ["7:31 unexpected `==` here | did you mean `=`?"],
    "Open -> Shut on push when in Open": [
        "7:31 unexpected `in` here | did you mean `self in`? A state name alone has the same meaning"
    ],
    "invariant in Open": [
        "7:15 unexpected `in` here | did you mean `self in`? A state name alone has the same meaning"
    ],
    "invariant all(x in ns: x in Open)": [
        "7:18 unexpected `(` here | put the parentheses around the whole expression: `(all x in xs: …)`"
    ],
    "invariant count(x in ns: x in Open) <= 1": [
        "7:28 unexpected `:` here | put the parentheses around the whole expression: `(count x in xs: …)`"
    ],
    "Open => Shut on push": ["7:10 unexpected `=>` here | did you mean `->`?"],
    "Open -> Shut on push do { ring, ring }": ["7:35 unexpected `,` here | did you mean `;`?"],
    "Open -> Shut on bolt..ok": ["7:25 unexpected `..` here | did you mean `.`?"],
    # Signs of other languages.
    "Open → Shut on push": ["7:10 `→` is not an operator | write `->`"],
    "invariant !Open || n ≥ 3 && Shut": [
        "7:15 `!` is not an operator | write `not`",
        "7:21 `||` is not an operator | write `or`",
        "7:26 `≥` is not an operator | write `>=`",
        "7:30 `&&` is not an operator | write `and`",
    ],
    "state Ajar 'half open'": ['7:16 strings need straight double quotes | write `"half open"`'],
    "# a comment: with = signs": ["7:5 a comment does not begin with `#` | write `//`"],
    "/* a comment\n of { two lines */": ["7:5 a comment does not begin with `/*` | write `//`"],
    "größe: 0..3": ["7:5 `ö` cannot be part of a name | names have letters a to z, digits and `_`"],
    'state Ajar "half open': ['7:16 unterminated string | close it with `"` on the same line'],
    "n2: 0..5\u00a0= 3": ["7:13 the character U+00A0 is not a plain space | write a space"],
    "Open -> Shut after 5m": ["7:24 `5m` is neither a number nor a duration nor a name | did you mean `5min`?"],
    "n2: 0..1" + "0" * 15: [
        "7:12 this number is too large | numbers have at most 15 digits, and durations end before thirty thousand years"
    ],
    # Something too much, something missing.
    "Open -> -> Shut on push": ["7:13 unexpected `->` here | expected a state"],
    "Open -> Shut on push;": [
        "7:25 unexpected `;` here | remove it: `;` can only separate effects, and it is optional even there"
    ],
    "Open -> Shut on push do { n = ; ring }": ["7:35 unexpected `;` here | expected an expression"],
    "invariant n + == 3": ["7:19 unexpected `==` here | expected a value"],
    "Open -> on push": ["7:13 unexpected `on` here | expected a state"],
    "n2 0..3": ["7:8 unexpected `0` here | expected `,`, `->`, `:`, `after`, `on` or `when`"],
    "param n2 0..3": ["7:14 unexpected `0` here | expected `:`"],
    "ignore push Open": ["7:17 unexpected `Open` here | expected `,`, `.` or `in`"],
    "param param n2: 0..3": ["7:11 unexpected `param` here | expected a name"],
    "}": ["8:5 unexpected `Shut` here | the block that ends before it may be closed too early"],
    # A name that was read as the beginning of another declaration.
    "invariant 2 - count x in ns: x in Open == 1": [
        "7:19 unexpected `count` here | put it in parentheses: `(count x in ns: …)`"
    ],
    "invariant (2 - count x in ns: x in Open) == 1": [
        "7:20 unexpected `count` here | put it in parentheses: `(count x in ns: …)`"
    ],
    "invariant n == all x in {1, 2}: x > 0": ["7:20 unexpected `all` here | put it in parentheses: `(all x in xs: …)`"],
    "invariant n == not Open": ["7:20 unexpected `not` here | put it in parentheses: `(not …)`"],
    "invariant n == 1 + if Open then 1 else 2": [
        "7:24 unexpected `if` here | put it in parentheses: `(if … then … else …)`"
    ],
    "invariant n == always true": ["7:20 unexpected `always` here | put it in parentheses: `(always …)`"],
    "Open -> Shut after 6 hours": ["7:26 unexpected `hours` here | a duration must be written without a space: `6h`"],
    "Open -> Shut after 6 min do ring": [
        "7:26 unexpected `min` here | a duration must be written without a space: `6min`"
    ],
    "Open -> Shut on push n > 1": ["7:26 unexpected `n` here | expected `(`, `.`, `do` or `when`"],
    "event knock visitor from environment": ["7:17 unexpected `visitor` here | expected `(`, `,` or `from`"],
    "Open -> Shut on push when Open Shut and n == 1": ["7:36 unexpected `Shut` here | expected `do` or an operator"],
    "on entry(Open Shut) do ring": ["7:19 unexpected `Shut` here | expected `)` or `,`"],
    "invariant all: n > 1": [f"7:15 `all` {RESERVED_WORD}"],
    "invariant not: n > 1": [f"7:15 `not` {RESERVED_WORD}"],
    "some: Open -> Shut": [f"7:5 `some` {RESERVED_WORD}"],
    # A declaration that is not finished when the next one begins.
    "Open -> Shut on": [f"7:18 {UNFINISHED} | expected an event"],
    "Open -> Shut on push when": [f"7:26 {UNFINISHED} | expected a condition"],
    "Open -> Shut on push when (n == 3": [f"7:37 {UNFINISHED} | expected `)` or an operator"],
    "Open -> Shut on push do": [f"7:26 {UNFINISHED} | expected `{{` or an effect"],
    "Open -> Shut on push do { n =": [f"7:33 {UNFINISHED} | expected an expression"],
    "Open -> Shut on push do { ring": ["8:5 a `}` is missing before `Shut`"],
    "Open -> Shut on push do { if n == 1 { ring": ["8:5 a `}` is missing before `Shut`"],
    "invariant Open or\n    param limit: 1..5 = 3": [f"7:20 {UNFINISHED} | expected an expression"],
    "param n2:": [f"7:13 {UNFINISHED} | expected a type"],
    "event knock(": [f"7:16 {UNFINISHED} | expected a parameter or `)`"],
}


@pytest.mark.parametrize("line", MISTAKES)
def test_one_mistake_is_one_message(line: str) -> None:
    assert said(DOOR % line) == MISTAKES[line]


@pytest.mark.parametrize("line", MISTAKES)
def test_what_is_around_a_mistake_is_kept(line: str) -> None:
    door, system = read(DOOR % line).module.members[:2]
    assert isinstance(door, s.MachineDecl)
    assert isinstance(system, s.SystemDecl)
    assert len(door.members) >= 6
    last = door.members[-1]
    assert isinstance(last, s.TransitionDecl)
    assert last.edges[0].sources == (s.Name("Shut"),)
    assert len(system.members) == 2


def test_what_was_read_as_a_name_is_hardly_a_misspelt_keyword() -> None:
    assert said("machine M { initial state Waiting  Waiting Over -> on stop }")[0].startswith("1:44 unexpected `Over`")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("reachable all: door in Open", f"4:15 `all` {RESERVED_WORD}"),
        ("property some: always door in Open", f"4:14 `some` {RESERVED_WORD}"),
        ("reachable if: door in Open", f"4:15 `if` {RESERVED_WORD}"),
        ("property p: true under strong push", "4:35 unexpected `push` here | write `strong fair push`"),
        ("property p: true under fair pull, weak push", "4:44 unexpected `push` here | write `weak fair push`"),
        (
            "property p: true under fair pull fair push",
            "4:38 unexpected `fair` here | expected `,`, `.`, `and` or `for`",
        ),
        ("property p: true fair push", "4:22 unexpected `fair` here | `under` may be missing before it"),
    ],
)
def test_a_mistake_in_a_property_is_one_message(line: str, error: str) -> None:
    text = (
        f"machine M {{ initial state Open }}\nsystem S {{\n    door: M\n    {line}\n    property q: door in Open\n}}\n"
    )
    assert said(text) == [error]


def test_an_event_may_be_called_like_a_word_that_a_channel_follows() -> None:
    """`deliver property` could be what is fair, and `b: always` an instance: until the formula goes on."""
    system = good(
        "system S { property a: done under fair deliver  property b: always (count x in xs: x in Done) == 2 }"
    ).members[0]
    assert isinstance(system, s.SystemDecl)
    assert [type(x) for x in system.members] == [s.PropertyDecl] * 2


def test_several_mistakes_are_several_messages() -> None:
    text = DOOR % "Open -> -> Shut on push\n    invariant n + == 3\n    stat Ajar\n    Shut -> Open on pull when (n +"
    assert said(text) == [
        "7:13 unexpected `->` here | expected a state",
        "8:19 unexpected `==` here | expected a value",
        "9:5 unexpected `stat` here | did you mean `state`?",
        f"10:34 {UNFINISHED} | expected a value",
    ]


def test_a_declaration_of_the_module() -> None:
    assert said("mchine C { initial state A }\nmachine D { initial state A }") == [
        "1:1 unexpected `mchine` here | did you mean `machine`?"
    ]
    assert said("\nfoo\nmachine D { initial state A }") == [
        "2:1 unexpected `foo` here | expected `module` or a declaration"
    ]


def test_a_machine_that_is_not_closed_ends_where_the_next_begins() -> None:
    parsed = read("machine C {\n    initial state A\n\nmachine D {\n    initial state B\n}\n")
    assert said(parsed.source.text) == ["4:1 a `}` is missing before `machine`"]
    assert [label.span.source.position(label.span.start) for label in parsed.diagnostics[0].labels] == [(1, 11)]
    assert [type(m) for m in parsed.module.members] == [s.MachineDecl, s.MachineDecl]


@pytest.mark.parametrize("line", ["x y ] [ {", "x y { a { b } ] ", ") ) ) )", "A -> B do { x = { y = ("])
def test_a_machine_of_nonsense_does_not_cost_the_next(line: str) -> None:
    module = read(f"machine C {{\n    initial state A\n    {line}\n\nmachine D {{\n    initial state B\n}}\n").module
    assert s.MachineDecl(s.Name("D"), None, (state("B", "initial"),), "") in module.members


def state(name: str, *flags: s.StateFlag) -> s.StateDecl:
    return s.StateDecl(s.Name(name), None, flags, (), "")


def test_the_end_of_the_file_comes_too_early() -> None:
    assert said("machine D {\n    initial state A") == ["2:19 the file ends before a `}` | close it with `}`"]
    assert said("machine D {\n    param n:") == ["2:12 the file ends in the middle of a declaration | expected a type"]
    module = read("machine D {\n    initial state A\n    A -> B on x do { y = 1").module
    assert len(module.members) == 1


def test_messages_name_a_few_things_in_the_words_of_the_author() -> None:
    assert said("system S { x: M in }") == ["1:20 unexpected `}` here | expected a state, `any` or `{`"]
    assert said("system S { property p: recovers on }") == ["1:36 unexpected `}` here | expected a field"]
    assert said("machine M { event a from }") == ["1:26 unexpected `}` here | expected who sends it"]
    assert said("machine M { A -> B after }") == ["1:26 unexpected `}` here | expected a duration"]
    assert said("locks { A > }") == ["1:13 unexpected `}` here | expected a lock"]


def test_a_correction_is_offered_for_what_was_probably_meant() -> None:
    (found,) = read(DOOR % "Open -> Shut on push when n = 3").diagnostics
    assert found.fix is not None
    assert (found.fix.span.text, found.fix.replacement) == ("=", "==")


@pytest.mark.parametrize(
    ("guard", "replacement"), [("not a&&b", " and "), ("not a && b", "and"), ("!a", "not "), ("!(a)", "not")]
)
def test_the_correction_of_a_sign_is_a_word_of_its_own(guard: str, replacement: str) -> None:
    (diagnostic,) = read(DOOR % f"Open -> Shut on push when {guard}").diagnostics
    assert diagnostic.fix is not None
    assert diagnostic.fix.replacement == replacement
    assert diagnostic.fix.title == f"write `{replacement.strip()}`"


def test_what_was_meant_is_what_is_read() -> None:
    sloppy = read("machine M { invariant n ≥ 1 && n inn s invariant a => b inital state A  f: bool == true }").module
    meant = "machine M { invariant n >= 1 and n in s invariant a => b initial state A  f: bool = true }"
    assert sloppy == good(meant)


def test_no_more_than_a_hundred_errors_and_a_note() -> None:
    found = read("machine M {\n" + "    A -> -> B on x\n" * 500 + "}\n").diagnostics
    assert [d.rule.code for d in found] == ["FSM001"] * 100 + ["FSM005"]
    assert found[-1].severity is Severity.NOTE
    assert said("$ 1 " * 500)[-1].endswith("this file has more errors; the first 100 are shown")


# Doc comments --------------------------------------------------------------------------------------------------------


def docs(text: str) -> dict[str, str]:
    """What is documented, by name."""
    found: dict[str, str] = {}

    def collect(part: Any) -> None:
        if isinstance(part, tuple):
            for x in part:
                collect(x)
        elif is_dataclass(part) and not isinstance(part, type):
            doc = getattr(part, "doc", "")
            if doc:
                name = getattr(part, "name", None) or getattr(part, "label", None)
                found[f"{type(part).__name__} {'' if name is None else getattr(name, 'text', str(name))}".strip()] = doc
            for f in fields(part):
                if f.name != "span":
                    collect(getattr(part, f.name))

    collect(good(text))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/// of the module\n/// in two lines\nmodule m\nopaque X", {"Module m": "of the module\nin two lines"}),
        ("module m /// behind\nopaque X", {"Module m": "behind"}),
        ("/// of the enum\nenum E { a }", {"EnumDecl E": "of the enum"}),
        ("enum E { /// of the enum\n a }", {"EnumDecl E": "of the enum"}),
        ("enum E { a } /// of the enum", {"EnumDecl E": "of the enum"}),
        ("enum E {\n a /// first\n | b /// second\n}", {"EnumMember a": "first", "EnumMember b": "second"}),
        ("enum E {\n a | /// first\n b /// second\n}", {"EnumMember a": "first", "EnumMember b": "second"}),
        ("enum E {\n /// first\n a\n /// second\n < b\n}", {"EnumMember a": "first", "EnumMember b": "second"}),
        ("machine M { /// of the machine\n state A }", {"MachineDecl M": "of the machine"}),
        ('machine M "{" { /// of the machine\n state A }', {"MachineDecl M": "of the machine"}),
        ("/// a\nmachine M { /// b\n}\n/// c\nopaque X", {"MachineDecl M": "a\nb", "OpaqueDecl": "c"}),
        ("machine M { f: set<M> = {} /// of f\n}", {"FieldDecl f": "of f"}),
        ("machine M { state A { /// of A\n state B /// of B\n } }", {"StateDecl A": "of A", "StateDecl B": "of B"}),
        ("machine M { state A {\n state B\n } /// of A\n }", {"StateDecl A": "of A"}),
        ("machine M { event a, b from X /// of both\n }", {"EventDecl": "of both"}),
        ("machine M { event a, b /// of both\n }", {"EventDecl": "of both"}),
        ("machine M { event a /// of a\n }", {"EventDecl": "of a"}),
        ("machine M { event a, /// of a\n b /// of b\n from X }", {"Signature a": "of a", "Signature b": "of b"}),
        ("machine M { event a, /// of a\n b from X /// of both\n }", {"Signature a": "of a", "EventDecl": "of both"}),
        ("machine M { event\n /// of a\n a,\n /// of b\n b }", {"Signature a": "of a", "Signature b": "of b"}),
        ("machine M { action a, b -> ok | err /// of both\n }", {"ActionDecl": "of both"}),
        ("machine M { e: A -> B on x /// of e\n when p\n do q }", {"TransitionDecl e": "of e"}),
        ("machine M { e: A -> B on x\n when p\n do q /// of e\n }", {"TransitionDecl e": "of e"}),
        ("machine M { e: A -> B on x do { /// of e\n q } }", {"TransitionDecl e": "of e"}),
        ("machine M { e: A -> B when c in {A, B} do { q; /// of e\n } }", {"TransitionDecl e": "of e"}),
        ("machine M {\n e: A -> B on x\n /// of f\n f: A -> B on y\n}", {"TransitionDecl f": "of f"}),
        ('machine M { /// of M\n amends "why" { /// of it\n state A /// of A\n } }',
         {"MachineDecl M": "of M", "AmendDecl": "of it", "StateDecl A": "of A"}),
        ("system S {\n a: M /// of a\n invariant i: x /// of i\n}",
         {"InstanceDecl a": "of a", "InvariantDecl i": "of i"}),
        ("scenario S { a.b /// a step\n expect c /// a look\n }", {"Do": "a step", "Expect": "a look"}),
        ("locks { A > B /// why\n operation o { /// of o\n A } }", {"LockOrder": "why", "OperationDecl o": "of o"}),
        ("machine M { state A // plain\n //// also plain\n state B }", {}),
        ("machine M { state A\n /// of nothing\n }", {}),
        ("///\n///  spaced  \n///\nmachine M { }", {"MachineDecl M": "\nspaced\n"}),
    ],
)  # fmt: skip
def test_what_a_doc_comment_belongs_to(text: str, expected: dict[str, str]) -> None:
    assert docs(text) == expected


# Growth --------------------------------------------------------------------------------------------------------------


def large(rows: int) -> str:
    states = "".join(f"    state S{i}\n" for i in range(1, 100))
    line = "    e{}: S{} -> S{} on go(x) when x < {} do release\n"
    moves = "".join(line.format(i, i % 100, (i * 7 + 1) % 100, i % 9) for i in range(rows))
    return f"machine M {{\n    initial state S0\n{states}    event go(x: 0..9)\n    action release\n{moves}}}\n"


def test_reading_takes_time_in_proportion_to_the_text() -> None:
    def reading(rows: int) -> Callable[[], object]:
        text = large(rows)
        return lambda: good(text)

    assert grows_with(reading, 500)


@pytest.mark.parametrize(
    "line",
    ["A -> -> B{} on x", "state S{} ] foo bar ( baz", "S{} }} {{ ;", "e{}: A -> B on x do {{ y =", '"S{}', "stat S{}"],
)
def test_so_does_reading_broken_lines(line: str) -> None:
    def reading(count: int) -> Callable[[], object]:
        text = "machine M {\n" + "".join(f"    {line.format(i)}\n" for i in range(count)) + "}\n"
        return lambda: read(text)

    assert len(read("machine M {\n" + "".join(f"    {line.format(i)}\n" for i in range(1000)) + "}\n").diagnostics) > 0
    assert grows_with(reading, 1000)
