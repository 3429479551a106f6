"""Tables of `looplab/fsm` in Go sources: the events and callbacks that are given to `fsm.NewFSM`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fsmdsl.dataclasses import replace
from fsmdsl.interop.imports.go_package import Declared, GoFile, Package, package, receiver, statements
from fsmdsl.interop.imports.go_values import Env, Evaluator, GoList, Many, Struct, Unknown, may_return, text_of
from fsmdsl.interop.imports.name_words import words_of
from fsmdsl.interop.imports.rules import NEVER_FOLLOWED, NOT_READ, TOO_DEEP
from fsmdsl.interop.imports.syntax_tree import Node, span, text, walk
from fsmdsl.interop.imports.table import Imported, ImportFailedError, LeftOut, Row, State, Table, Unread
from fsmdsl.text.source import Source, Span

LOOPLAB = "github.com/looplab/fsm"
_EMPTY_WORDS = frozenset(
    {"new", "create", "init", "make", "build", "setup", "state", "states", "machine", "fsm", "internal", "get", "sm"}
)
_LOGGING = frozenset({"log", "zap", "fmt", "klog", "logger", "slog"})


def read(packages: Mapping[str, Sequence[Source]], main: str) -> Imported:
    """The tables of the package `main`. The others are those that it imports, as far as they are known.

    Raises `ImportFailedError`: where a file is not Go, no table is made, or `tree-sitter` is not installed.
    """
    try:
        by_path = {path: package(path, sources) for path, sources in packages.items()}
        return _Reader(by_path, by_path[main]).all()
    except RecursionError as error:
        place = Span(next(iter(packages[main]), Source(main, "")), 0, 0)
        raise ImportFailedError(TOO_DEEP.at(place, "this is nested too deeply to be read")) from error


class _Reader:
    def __init__(self, packages: Mapping[str, Package], main: Package) -> None:
        self.evaluator = Evaluator(packages)
        self.main = main
        self.left_out: list[LeftOut] = []
        self.unread: list[Unread] = []
        """The parts of the table at hand that were not read."""

    def all(self) -> Imported:
        tables = [table for function in self.main.functions.values() for table in self.tables(function)]
        tables += [table for variable in self.main.variables.values() for table in self.of_variable(variable)]
        if not tables:
            first = self.main.files[0].source if self.main.files else Source(self.main.path, "")
            if self.main.unread:
                raise ImportFailedError(NOT_READ.at(self.main.unread[0].place, "this is not Go"))
            problem = NOT_READ.at(Span(first, 0, 0), "no table is given to `fsm.NewFSM` in this package")
            for node, place in self.aliases():
                problem = NOT_READ.at(place, f"the machines that `{text(node)}` makes under another name are not read")
                raise ImportFailedError(problem.help("call `fsm.NewFSM` itself"))
            raise ImportFailedError(problem.help("name the folder of the package that calls `fsm.NewFSM`"))
        unread = [x for y in self.evaluator.packages.values() for x in y.unread]
        aliases = [
            Unread(f"the machines that `{text(node)}` makes under another name", place)
            for node, place in self.aliases()
        ]
        return Imported(tuple(tables), tuple(self.left_out), (*unread, *aliases))

    def aliases(self) -> Iterator[tuple[Node, Span]]:
        """Where `fsm.NewFSM` is not called but handed on, other than as a variable that stands for nothing else."""
        for file, root in self.main.trees:
            name = _maker(file)
            for node in walk(root) if name is not None else ():
                called = node.parent is not None and node == node.parent.child_by_field_name("function")
                whole = node.type == "selector_expression" or (node.type == "identifier" and "." not in str(name))
                if whole and not called and text(node) == name and not self.is_read(node):
                    yield node, span(file.source, node)

    def is_read(self, node: Node) -> bool:
        """Is it given to a variable, the calls of which are read?"""
        here = node.parent
        while here is not None and here.type in ("expression_list", "var_spec", "short_var_declaration"):
            if here.type != "expression_list":
                variable = text(next(iter(here.children_by_field_name("name")), here.child_by_field_name("left")))
                around = next((x for x in self.declared() if _is_inside(here, x.node)), None)
                return variable in (_makers(around) if around is not None else _variables_of_maker(self.main))
            here = here.parent
        return False

    def declared(self) -> Iterator[Declared]:
        """The functions of the package."""
        return iter(self.main.functions.values())

    def tables(self, function: Declared) -> Iterator[Table]:
        """The tables that a function makes, with what its statements assign before."""
        calls = _calls_of_maker(function)
        if not calls:
            return
        env = self.evaluator.inside(function, [], 0)
        for statement in statements(function.node.child_by_field_name("body")):
            while calls and calls[0].start_byte < statement.end_byte and statement.type not in _COMPOUND:
                yield self.table(function, calls.pop(0), env, alone=False)
            self.evaluator.statement(statement, env)
            while calls and calls[0].start_byte < statement.end_byte:
                yield self.table(function, calls.pop(0), env, alone=False)

    def of_variable(self, variable: Declared) -> Iterator[Table]:
        """The tables of a variable of the package."""
        for call in _calls_of_maker(variable):
            yield self.table(variable, call, Env(variable.package, variable.file, {}))

    def table(self, function: Declared, call: Node, env: Env, *, alone: bool = True) -> Table:
        arguments = [self.evaluator.value(x, env) for x in call.child_by_field_name("arguments").named_children]
        if len(arguments) == 1 and isinstance(arguments[0], Many):
            arguments = arguments[0].items
        self.unread = []
        place = span(function.file.source, call)
        first, events, callbacks = (*arguments, None, None, None)[:3]
        initial = text_of(self.evaluator, first, env)
        all_rows = [replace(r, target=None) if r.target == r.source else r for r in self.rows(events, env, place)]
        rows = tuple({(r.source, r.event): r for r in all_rows}.values())
        self.left_out += _replaced(all_rows)
        mentions = [initial, *(x for r in rows for x in (r.source, r.target))]
        names = list(dict.fromkeys(x for x in mentions if x is not None)) or ["Unknown"]
        if initial is None:
            self.missed("the initial state is not a constant: the first state of the table is taken", place)
        places = {x: r.place for r in reversed(all_rows) for x in (r.target, r.source)}
        states = tuple(State(name, name, place=places.get(name, place)) for name in names)
        table = Table(_title(function, call, self.main), names[0], states, rows, place=place)
        return replace(self.with_callbacks(table, callbacks, env), unread=tuple(self.unread))

    def missed(self, message: str, place: Span) -> None:
        self.unread.append(Unread(message, place))

    def note(self, message: str, place: Span) -> None:
        self.left_out.append(LeftOut(message, place))

    def rows(self, events: Any, env: Env, place: Span) -> Iterator[Row]:
        """The rows of each event, in the order of its sources."""
        if not isinstance(events, GoList):
            self.missed("the events are not a list that the source spells out", place)
            return
        for event in events.items:
            if not isinstance(event, Struct):
                self.missed("an event of the table is not spelled out in the source", place)
                continue
            here = span(event.file.source, event.node)
            values = _fields(event)
            name, target = (text_of(self.evaluator, x, env) for x in (values["Name"], values["Dst"]))
            sources = values["Src"].items if isinstance(values["Src"], GoList) else []
            names = [text_of(self.evaluator, x, env) for x in sources]
            if name is None or target is None or not names or None in names:
                self.missed(f"a row that is known only at run time: `{_line(event.node)}`", here)
            if name is not None and target is not None:
                yield from (Row(source, target, name, place=here) for source in names if source is not None)

    # Callbacks -------------------------------------------------------------------------------------------------------

    def with_callbacks(self, table: Table, callbacks: Any, env: Env) -> Table:
        """The table with what its callbacks call, as actions of rows and states."""
        if isinstance(callbacks, Unknown) and callbacks.text != "nil":
            self.note(f"callbacks that are known only at run time: `{callbacks.text[:80]}`", table.place)
        if not isinstance(callbacks, Struct):
            return table
        for key, node in callbacks.nodes.items():
            name = text_of(self.evaluator, key, env)
            place = span(callbacks.file.source, node)
            if name is None:
                self.note(f"a callback whose name is known only at run time: `{_line(node)}`", place)
                continue
            if re.search(r"\.Cancel\(", text(node)):
                self.note(f"the callback `{name}` may cancel the event", place)
            table = self.with_callback(table, name, tuple(_actions(node, name)), place)
        return table

    def with_callback(self, table: Table, name: str, actions: tuple[str, ...], place: Span) -> Table:
        """`enter_A`, `leave_A`, `before_e`, `after_e`; a state's name alone means entering, an event's after it."""
        events = {r.event for r in table.rows}
        moment, _, rest = name.partition("_")
        if moment not in ("enter", "leave", "before", "after") or name in table.state_by_name or name in events:
            moment, rest = ("enter", name) if name in table.state_by_name else ("after", name)
        if moment in ("enter", "leave") and rest in table.state_by_name:
            state = table.state_by_name[rest]
            more = {"entry": (*state.entry, *actions)} if moment == "enter" else {"exit": (*state.exit, *actions)}
            states = tuple(replace(s, **more) if s is state else s for s in table.states)  # type: ignore[arg-type]
            return replace(table, states=states)
        if moment in ("before", "after") and rest in events:
            rows = tuple(_acting(r, moment, actions) if r.event == rest else r for r in table.rows)
            return replace(table, rows=rows)
        general = rest in ("state", "event")
        why = "for every row" if general else "of a state or event that the table does not have"
        self.note(f"the callback `{name}`, {why}: {', '.join(f'`{x}`' for x in actions)}", place)
        return table


def _replaced(rows: Sequence[Row]) -> Iterator[LeftOut]:
    """The rows that a later one of the same event and state replaces."""
    last = {(r.source, r.event): n for n, r in enumerate(rows)}
    for n, r in enumerate(rows):
        later = rows[last[r.source, r.event]]
        if last[r.source, r.event] == n:
            continue
        way = f"the row from `{r.source}` to `{r.source if r.target is None else r.target}` on `{r.event}`"
        line = later.place.source.position(later.place.start)[0]
        reason = "it is listed twice" if later.place == r.place else f"that of line {line} replaces it"
        yield LeftOut(f"{way} is never followed: {reason}", r.place, NEVER_FOLLOWED)


def _acting(row: Row, moment: str, actions: tuple[str, ...]) -> Row:
    return replace(row, actions=(*actions, *row.actions) if moment == "before" else (*row.actions, *actions))


def _is_call(node: Node, name: str) -> bool:
    return node.type == "call_expression" and text(node.child_by_field_name("function")) == name


def _fields(event: Struct) -> dict[str, Any]:
    """The fields of an `EventDesc`."""
    return {name: event.fields.get(name) for name in ("Name", "Src", "Dst")}


def _actions(node: Node, name: str) -> Iterator[str]:
    """What a callback calls whatever happens, without logging; its own name where that is nothing."""
    function = next((x for x in walk(node) if x.type == "func_literal"), None)
    if function is None:
        yield text(node)
        return
    called: list[str] = []
    for statement in statements(function.child_by_field_name("body")):
        called += _calls(statement)
        if may_return(statement):
            break  # what follows is done only if it does not
    yield from dict.fromkeys(called or [name])


def _calls(statement: Node) -> Iterator[str]:
    """The method that a statement calls whatever happens, if it does nothing else."""
    expression: Node | None = None
    match statement.type:
        case "expression_statement" | "go_statement" | "defer_statement":
            expression = statement.named_children[0]
        case "assignment_statement" | "short_var_declaration":
            values = statement.child_by_field_name("right").named_children
            expression = values[0] if len(values) == 1 else None
        case "if_statement" if (initializer := statement.child_by_field_name("initializer")) is not None:
            yield from _calls(initializer)
    if expression is None or expression.type != "call_expression":
        return
    function = expression.child_by_field_name("function")
    root = re.match(r"\w*", text(function))
    field = function.child_by_field_name("field")
    if field is not None and (root is None or root[0].lower() not in _LOGGING) and text(function) != "time.Now":
        yield text(field)


def _line(node: Node) -> str:
    return " ".join(text(node).split())[:80]


def _title(function: Declared, call: Node, main: Package) -> str:
    """The words of the function that makes the table, without those that say no more than that.

    Of a function that makes several tables, the words of what each is assigned to.
    """
    several = len(_calls_of_maker(function)) > 1
    method = receiver(function.node) if function.node.type == "method_declaration" else ""
    whole = main.path.rpartition("/")[2]
    names = [text(function.node.child_by_field_name("name")), method, whole]
    for name in [_target(call), *names] if several or function.node.type.endswith("expression") else names:
        words = [x for x in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name) if x.lower() not in _EMPTY_WORDS]
        if words:
            return "".join(x[0].upper() + x[1:] for x in words)
    return "".join(x[0].upper() + x[1:] for x in words_of(whole) or ["Machine"])


def _target(call: Node) -> str:
    """The variable or the field that a call is assigned to."""
    here = call
    while here.parent is not None and here.parent.type in ("expression_list", "literal_element", "unary_expression"):
        here = here.parent
    if here.parent is None:
        return ""
    match here.parent.type:
        case "short_var_declaration" | "assignment_statement":
            return text(here.parent.child_by_field_name("left")).rpartition(".")[2]
        case "var_spec":
            return text(here.parent.child_by_field_name("name"))
        case "keyed_element":
            return text(here.parent.named_children[0])
    return ""


_COMPOUND = ("if_statement", "for_statement", "block", "expression_switch_statement")
"""Statements with others in them: what they assign counts for the calls in them."""


def _maker(file: GoFile) -> str | None:
    """What `NewFSM` is called in a file; None where it does not import the library."""
    name = next((k for k, path in file.imports.items() if path.startswith(LOOPLAB)), None)
    return None if name is None else "NewFSM" if name == "." else f"{name}.NewFSM"


def _calls_of_maker(declared: Declared) -> list[Node]:
    names = _makers(declared)
    return [x for x in walk(declared.node) if any(_is_call(x, name) for name in names)] if names else []


def _makers(declared: Declared) -> list[str]:
    """What `NewFSM` is called in a function: its own name, and variables that stand for nothing else."""
    name = _maker(declared.file)
    own = [] if name is None else [name]
    assigned = dict(_assigned(declared.node))
    local = [x for x, values in assigned.items() if values == own and x.isidentifier()]
    return [*own, *local, *(x for x in _variables_of_maker(declared.package) if x not in assigned)]


def _variables_of_maker(go_package: Package) -> list[str]:
    """The variables of a package that stand for `NewFSM` and nothing else."""
    changed = {x for function in go_package.functions.values() for x, _ in _assigned(function.node)}
    return [
        name
        for name, x in go_package.variables.items()
        if x.node.type != "call_expression" and text(x.node) == _maker(x.file) and name not in changed
    ]


def _assigned(node: Node) -> Iterator[tuple[str, list[str]]]:
    """Each name that is given values inside of a node, with these."""
    values: dict[str, list[str]] = {}
    for x in walk(node):
        if x.type not in ("short_var_declaration", "assignment_statement", "var_spec", "parameter_declaration"):
            continue
        left = x.child_by_field_name("left")
        names = left.named_children if left is not None else x.children_by_field_name("name")
        right = x.child_by_field_name("right") or x.child_by_field_name("value")
        rights = [text(y) for y in right.named_children] if right is not None else []
        for n, name in enumerate(names):
            values.setdefault(text(name), []).append(rights[n] if len(rights) == len(names) else "")
    yield from values.items()


def _is_inside(inner: Node, outer: Node) -> bool:
    return bool(outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte and inner != outer)
