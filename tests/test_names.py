"""What names and values stand for once they are resolved, and what is said of those that stand for nothing."""

from __future__ import annotations

import pytest
from stepping import Run, compiled, only_system

from fsmdsl import model as m
from fsmdsl.model.resolve import resolve
from fsmdsl.model.walk import expressions
from fsmdsl.search import play
from fsmdsl.step import Universe, Value
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Source

# The values of instances ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("index", [0, 1, 2]),
        ("index + 1", [1, 2, 3]),
        ("3 - index", [3, 2, 1]),
        ("-index + 5", [5, 4, 3]),
        ("min(index, 1)", [0, 1, 1]),
        ("max(1, index, 0)", [1, 1, 2]),
        ("if index == 1 then 5 else 4", [4, 5, 4]),
        ("if not (index == 1) then 5 else 4", [5, 4, 5]),
        ("if index > 0 and index < 2 then 5 else index", [0, 5, 2]),
        ("if index == 0 or index == 2 then 5 else 4", [5, 4, 5]),
        ("if index in {0, 2} then 5 else 4", [5, 4, 5]),
    ],
)
def test_each_instance_has_the_value_of_its_own_number(value: str, wanted: list[Value]) -> None:
    run = Run(
        f"""
        machine Cell {{ n: 0..9  initial state Free }}
        system S {{ cells: Cell[3] {{ n = {value} }} }}
        """
    )
    assert [x[0] for x in run.world.fields] == wanted


def test_an_instance_begins_in_the_initial_leaf_of_the_state_that_it_is_given() -> None:
    run = Run(
        """
        machine Cell {
            initial state Free
            state Taken {
                state Late
                initial state Early { initial state First }
            }
            event take, late from environment
            Free -> Taken on take
            Taken -> Late on late
        }
        system S { a: Cell  b: Cell in Taken  c: Cell in Late }
        """
    )
    assert run.world.states == ("Free", "First", "Late")


def test_a_state_comes_before_a_member_of_the_same_name_where_a_condition_is_wanted() -> None:
    run = Run(
        """
        enum Sign { Open | Shut }
        enum Other { Open | Ajar }
        machine Door {
            sign: Sign = Shut
            initial state Shut
            state Open
            event pull from environment
            Shut -> Open on pull
            invariant Open => sign == Shut
        }
        system S { d: Door  invariant d in Open => d.sign == Shut }
        """
    )
    assert run.states() == "Shut"


def test_a_group_is_called_by_its_letter_where_no_other_has_it() -> None:
    model = compiled(
        """
        machine M { initial state S }
        system T { cells: M[2]  cups: M[1]  doors: M[2]  lamp: M }
        """
    )
    named = [x.name for x in only_system(model).instances]
    assert named == ["cells0", "cells1", "cups0", "d0", "d1", "lamp"]


# Types of what is counted --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("size(users)", m.RangeType(0, 1 << 16)),
        ("size(Box)", m.RangeType(0, 1 << 16)),
        ("count u in users: true", m.RangeType(0, 1 << 16)),
        ("some u in users: true", m.BOOL),
        ("all u in users: true", m.BOOL),
        ("subsets(users, 1)", m.SetType(m.SetType(m.RefType("numbers.User")))),
    ],
)
def test_what_is_counted_is_a_number_that_is_not_negative(expression: str, wanted: m.Type) -> None:
    model = compiled(
        f"""module numbers
        machine User {{ initial state S }}
        channel Box: bag[2] to User
        machine M {{
            users: set<User>
            initial state S
            let x = {expression}
        }}
        """
    )
    assert model.machines["numbers.M"].let_named["x"].type == wanted


# Where a part of an expression stands --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "guard",
    ["not lit", "Idle", "self in Idle", "user in Used", "wait", "lit == (n > 1)", "some x in {1, 2}: x > n", "-n < 0"],
)
def test_every_part_of_a_guard_is_found_in_the_text(guard: str) -> None:
    """Reports show a formula part by part, with what each part is; each is a piece of the text of the whole."""
    model = compiled(
        f"""
        machine User {{ initial state Idle  state Used }}
        machine M {{
            lit: bool
            n: 0..3
            user: User?
            initial state Idle
            event go from environment
            Idle on go when {guard}
        }}
        """
    )
    (transition,) = next(x for x in model.machines.values() if x.name == "M").transitions
    assert transition.guard is not None
    assert transition.guard.span.text == guard
    for part in expressions(transition.guard):
        assert part.span.text
        assert part.span.text in guard


# What is said --------------------------------------------------------------------------------------------------------


def said(text: str) -> Diagnostic:
    """The only thing that is wrong with a text."""
    parsed = parse(Source("test.fsm", text))
    (found,) = [*parsed.diagnostics, *resolve([parsed.module]).diagnostics]
    return found


@pytest.mark.parametrize(
    ("guard", "message"),
    [
        ("size() > 0", "`size` takes 1 argument, not 0"),
        ("size(all_, all_) > 0", "`size` takes 1 argument, not 2"),
        ("first() > 0", "`first` takes 1 argument, not 0"),
        ("first(all_, 1) > 0", "`first` takes 1 argument, not 2"),
        ("size(rest()) > 0", "`rest` takes 1 argument, not 0"),
        ("size(rest(all_, 1)) > 0", "`rest` takes 1 argument, not 2"),
        ("min(n) > 0", "`min` takes 2 arguments, not 1"),
        ("max(n) > 0", "`max` takes 2 arguments, not 1"),
        ("size(subsets(some_)) > 0", "`subsets` takes 2 arguments, not 1"),
        ("size(subsets(some_, 1, 2)) > 0", "`subsets` takes 2 arguments, not 3"),
    ],
)
def test_a_function_says_how_many_arguments_it_takes(guard: str, message: str) -> None:
    found = said(
        f"""
        machine M {{
            n: 0..3
            all_: list<0..3>[2]
            some_: set<0..3>
            initial state S
            event go from environment
            S on go when {guard}
        }}
        """
    )
    assert (found.rule.code, found.message) == ("FSM104", message)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("S on go do log = log - log", "`-` needs two numbers or two sets, not `list<0..3>[4]` and `list<0..3>[4]`"),
        ("S on go do log = log & log", "`&` needs two sets, not `list<0..3>[4]` and `list<0..3>[4]`"),
        ("S on go do log = [] & log", "`&` needs two sets, not `list<nothing>[1]` and `list<0..3>[4]`"),
        ("ignore fly in S", "there is no event `fly`"),
        ("ignore move.bad in S", "`move` has no outcome `bad`"),
        ("ignore move in S", "there is no event `move`"),
    ],
)
def test_what_a_row_says_must_be_there(row: str, message: str) -> None:
    found = said(
        f"""
        machine M {{
            log: list<0..3>[4]
            initial state S
            event go from environment
            action move -> ok
            S on go do move
            S on move.ok
            {row}
        }}
        """
    )
    assert found.message == message


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ("invariant x: nobody", "there is no name `nobody`"),
        ("invariant x: a in S  invariant x: a in S", "`x` is already declared"),
        ("reachable y: a in S  invariant a in S  invariant a in S  reachable y: a in S", "`y` is already declared"),
    ],
)
def test_names_of_a_system(members: str, message: str) -> None:
    assert said(f"machine M {{ initial state S }}\nsystem T {{ a: M  {members} }}\n").message == message


@pytest.mark.parametrize(
    ("guard", "message", "advice"),
    [
        ("go", "`go` is an event, not a value", "send it with `self.go`"),
        ("ring", "`ring` is an action, not a value", "call it in an effect"),
        ("Box > 0", "`Box` is a channel, which has no value", "`size(Box)` tells how many messages it holds"),
    ],
)
def test_a_name_that_is_no_value_says_what_it_is_for(guard: str, message: str, advice: str) -> None:
    found = said(
        f"""
        channel Box: bag[2] to M
        machine M {{
            initial state S
            event go from environment
            action ring
            S on go when {guard}
        }}
        """
    )
    assert (found.message, found.advice) == (message, advice)


# Names of other modules, and of systems in scenarios -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("x.y.limit", 3), ("x.y.limit - limit", 1), ("if x.y.Colour.red in x.y.Colour then 7 else 0", 7), ("q.limit", 5)],
)
def test_what_other_modules_declare_goes_by_its_full_name(value: str, wanted: Value) -> None:
    texts = {
        "x/y.fsm": "module x.y  let limit = 3  enum Colour { green | red }",
        "q.fsm": "module q  let limit = 5",
        "m.fsm": f"""
            module m  import x.y  import q  let limit = 2
            machine M {{ n: 0..9 = {value}  initial state S }}
            system T {{ a: M }}
        """,
    }
    resolved = resolve([parse(Source(name, text)).module for name, text in texts.items()])
    assert resolved.diagnostics == ()
    assert resolved.model is not None
    universe = Universe(resolved.model, only_system(resolved.model))
    assert universe.start.fields == ((wanted,),)


def test_all_members_of_another_module_s_enum_stand_where_they_are_written() -> None:
    texts = {
        "x/y.fsm": "module x.y  enum Colour { green | red }",
        "m.fsm": """
            module m  import x.y
            machine M { initial state S  event go from environment  S on go when x.y.Colour.red in x.y.Colour }
        """,
    }
    resolved = resolve([parse(Source(name, text)).module for name, text in texts.items()])
    assert resolved.model is not None
    (row,) = resolved.model.machines["m.M"].transitions
    assert isinstance(row.guard, m.Binary)
    assert (row.guard.left.span.text, row.guard.right.span.text) == ("x.y.Colour.red", "x.y.Colour")


PAIR = """
machine M { n: 0..9  initial state S  event go from environment  S on go do n = n + 1 }
system Pair { ms: M[2]  let total = ms[0].n + ms[1].n  let over(limit: 0..9) = total > limit }
"""


def test_a_scenario_of_a_system_knows_its_derived_values() -> None:
    model = compiled(f"{PAIR} scenario X of Pair {{ m0.go m1.go expect total == 2 and over(1) and not over(2) }}")
    assert play(model, *model.scenarios.values()).passed
    model = compiled(f"{PAIR} scenario X of Pair {{ m0.go expect total == 2 }}")
    assert not play(model, *model.scenarios.values()).passed


def test_a_crash_of_nobody_is_an_error_and_no_more() -> None:
    found = resolve([parse(Source("m.fsm", f"{PAIR} scenario X of Pair {{ crash of nobody }}")).module]).diagnostics
    assert [d.message for d in found] == ["there is no name `nobody`"]


def test_a_wrong_member_is_said_to_be_none_of_its_enum() -> None:
    text = "enum Colour { red | green }  machine M { c: Colour  initial state S  invariant c != gren }"
    (found,) = resolve([parse(Source("m.fsm", text)).module]).diagnostics
    assert (found.message, found.advice) == ("`Colour` has no member `gren`", "did you mean `green`?")


# What has a name, and what has none ----------------------------------------------------------------------------------

NAMED = """
machine Door {
    opened: 0..9
    initial state Open
    event push from environment
    go: Open on push when opened < 9 do opened = opened + 1
    invariant few: opened < 10
    invariant opened >= 0
}
system One {
    door: Door
    invariant open: door in Open
    invariant door.opened < 10
    reachable door.opened == 1
    reachable pushed: door.opened == 2
    reachable door.opened == 3
    property first: eventually door.opened == 1 under fair push
    property eventually door.opened == 2 under fair push
}
"""


def test_what_has_no_name_is_called_by_its_number() -> None:
    system = only_system(compiled(NAMED))
    assert [x.name for x in system.invariants] == ["open", "invariant 2"]
    assert [x.name for x in system.reachables] == ["reachable 1", "pushed", "reachable 3"]
    assert [x.name for x in system.properties] == ["first", "property 2"]


def test_each_name_is_declared_once() -> None:
    uses = resolve([parse(Source("t.fsm", NAMED)).module]).uses
    named = {(x.meaning.kind, x.span.text) for x in uses if x.declares}
    assert {
        ("label", "go"),
        ("invariant", "few"),
        ("invariant", "open"),
        ("reachable", "pushed"),
        ("property", "first"),
    } <= named
    assert len([x for x in uses if x.declares]) == len(named)
