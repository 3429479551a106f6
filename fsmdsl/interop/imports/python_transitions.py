"""Machines of the `transitions` library in Python source, which is read and never run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from fsmdsl.interop.imports.python_values import Called, Class, Function
from fsmdsl.interop.imports.python_walk import Program, program
from fsmdsl.interop.imports.rules import NOT_READ
from fsmdsl.interop.imports.table import Imported, ImportFailedError, LeftOut, Table, Unread
from fsmdsl.interop.imports.transitions_draft import Draft
from fsmdsl.interop.imports.transitions_objects import EVERYWHERE
from fsmdsl.text.source import Source, Span

_KIND = re.compile(r"(?:^|\.)\w*(?:[Mm]achine|machine_cls)$")
_FLAT = ("Machine", "GraphMachine", "LockedMachine", "LockedGraphMachine", "AsyncMachine", "AsyncGraphMachine")
_EMPTY_WORDS = (
    "make",
    "create",
    "build",
    "new",
    "get",
    "init",
    "setup",
    "state",
    "machine",
    "fsm",
    "main",
    "test",
    "a",
)
"""Words of functions that do not say what a machine is."""

_POSITIONS = ("model", "states", "initial", "transitions")


def read(source: Source) -> Imported:
    """All machines that a file makes, by `Machine(…)` or by a class derived from it.

    Raises `ImportFailedError` where the text is not Python, or makes no machine.
    """
    code = program(source)
    left_out: list[LeftOut] = []
    unread: list[Unread] = []
    tables: list[Table] = []
    makers = [call for call in code.calls if _makes(call, code)]
    titles = _titles(makers, code)
    for call in makers:
        draft = _draft(call, code, titles[id(call)])
        if draft.states and (len(draft.states) > 1 or draft.rows or draft.unread):
            tables.append(draft.table())
            left_out += draft.left_out
        else:
            unread += draft.unread
    if not tables:
        problem = NOT_READ.at(Span(source, 0, 0), "no machine of the `transitions` library is made here")
        raise ImportFailedError(problem.help("its states and transitions must be written as lists, dicts or calls"))
    return Imported(tuple(tables), tuple(left_out), tuple(unread))


def _makes(call: Called, code: Program) -> bool:
    """Does the call make a machine?"""
    if call.function in ("super().__init__",) or call.function.endswith(".__init__"):
        return call.owner is not None and _derived(call.owner, code)
    callee = code.names.get(call.function)
    if isinstance(callee, Class):
        # What makes a table of its own does so in its constructor.
        constructor = callee.methods.get("__init__")
        return _derived(callee, code) and (constructor is None or constructor.args.kwarg is not None)
    return _KIND.search(call.function) is not None


def _derived(declaration: Class, code: Program) -> bool:
    for base in declaration.bases:
        other = code.names.get(base)
        if _KIND.search(base) or (isinstance(other, Class) and other is not declaration and _derived(other, code)):
            return True
    return False


def _draft(call: Called, code: Program, title: str = "") -> Draft:
    """The machine as the library would make it."""
    span = code.span(call.node)
    own = call.function.endswith("__init__")
    separator = code.names["NestedState.separator"]
    nests = _nests(call, own)
    draft = Draft(title, span, code.span, separator if isinstance(separator, str) else "_", nests=nests)
    draft.others = lambda other: _draft(other, code) if other is not call else None
    inherited = [] if not own else list(_inherited(call, code))
    arguments: dict[str, object] = {}
    for one in (*inherited, call):
        arguments |= dict(zip(_POSITIONS, _positional(one, own), strict=False)) | one.keywords
        if one.unknown:
            draft.missed(f"arguments that are known only at run time: `{', '.join(one.unknown)}`", span)
            draft.incomplete = "states" not in arguments
    draft.models = list(_models(call, arguments.get("model"), own, code))
    for callbacks in EVERYWHERE:
        draft.note_callbacks(callbacks, arguments.get(callbacks), span)
    draft.add_states(arguments.get("states"))
    draft.begin(arguments.get("initial", "initial"))
    draft.add_transitions(arguments.get("transitions"))
    if arguments.get("ordered_transitions") is True:
        draft.add_ordered(Called("", [], {}, call.node))
    for one in (*inherited, call):
        for later in one.owner.calls if own and one.owner is not None else one.calls:
            if later is not one:
                draft.called(later)
    draft.add_model_callbacks()
    return draft


def _inherited(call: Called, code: Program) -> Iterator[Called]:
    """The constructors that a constructor of the file calls, from the outermost class on."""
    for base in call.owner.bases if call.owner is not None else ():
        outer = code.names.get(base)
        if isinstance(outer, Class) and outer is not call.owner:
            constructor = next((x for x in code.calls if x.owner is outer and x.function.endswith("__init__")), None)
            if constructor is not None and constructor is not call:
                yield from _inherited(constructor, code)
                yield constructor


def _nests(call: Called, own: bool) -> bool:
    """May the machine be hierarchical? Of the library's own classes, the name says so."""
    bases = call.owner.bases if own and call.owner is not None else (call.function,)
    return any(base.rpartition(".")[2] not in _FLAT for base in bases)


def _positional(call: Called, own: bool) -> list[object]:
    """The arguments by position, without the `self` of `Machine.__init__(self, …)`."""
    explicit = own and not call.function.startswith("super()")
    return call.arguments[1:] if explicit else call.arguments


def _models(call: Called, model: object, own: bool, code: Program) -> Iterator[Class]:
    """The classes whose methods the library calls by their names."""
    if own and call.owner is not None:
        yield call.owner
    for one in model if isinstance(model, list) else [model]:
        model_class = code.names.get(one.function) if isinstance(one, Called) else one
        if isinstance(model_class, Class):
            yield model_class


def _titles(makers: Sequence[Called], code: Program) -> dict[int, str]:
    """What the machines are called, by the `id` of their calls. Where a class has several, their attributes tell them
    apart."""
    titles = {id(x): _title(x, x.function.endswith("__init__"), code) for x in makers}
    counts = Counter(titles.values())
    for call in makers:
        title = titles[id(call)]
        if counts[title] > 1:
            attributes = [k for c in code.classes if c.name == title for k, x in c.names.items() if x is call]
            titles[id(call)] = f"{title} {attributes[0]}" if attributes else title
    return titles


def _title(call: Called, own: bool, code: Program) -> str:
    """What the machine is called: by its `name`, its class, the name that it is assigned to, the function that makes
    it, or the file."""
    name = call.keywords.get("name")
    if isinstance(name, str) and name:
        return name
    if own and call.owner is not None:
        return call.owner.name
    model = call.argument(0, "model")
    model_class = code.names.get(model.function) if isinstance(model, Called) else model
    if isinstance(model_class, Class):
        return model_class.name
    if call.function in code.names:
        return call.function
    variable = next((k for k, x in code.names.items() if x is call), None)
    if variable is not None and variable not in ("machine", "m"):
        return variable
    functions = [x.node for x in code.names.values() if isinstance(x, Function)]
    around = [x.name for x in functions if x.lineno <= call.node.lineno <= (x.end_lineno or x.lineno)]
    words = [x for name in around for x in name.split("_") if x and x.lower() not in _EMPTY_WORDS]
    return "_".join(words) or re.split(r"[/\\]", code.source.name)[-1].split(".")[0]
