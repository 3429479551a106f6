"""Which names the grammar awaits at a place, as candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fsmdsl.editor.editing.analysis import Analysis
from fsmdsl.editor.editing.candidates import Candidate, Finder
from fsmdsl.editor.editing.context_at import CursorContext
from fsmdsl.model.resolve.scenarios.steps import FAULTS
from fsmdsl.syntax.build.expressions import CHAINS
from fsmdsl.syntax.parse.table import symbols_of

Find = Callable[[Finder], Iterator[Candidate]]

_BY_RULE: dict[tuple[str, str], Find] = {
    ("senders", "<path>"): lambda f: _senders(f),
    ("edge", "<name>"): lambda f: f.states(f.machine),
    ("ignore", "<name>"): lambda f: f.states(f.machine),
    ("hook", "<name>"): lambda f: f.states(f.machine),
    ("layout_rank", "<name>"): lambda f: f.states(f.machine),
    ("in_state", "<name>"): lambda f: f.states(f.instance()),
    ("in_states", "<name>"): lambda f: f.states(f.instance()),
    ("first_state", "<name>"): lambda f: f.states(f.tested()),
    ("channel", "<path>"): lambda f: f.machines(),
    ("instance", "<path>"): lambda f: f.machines(),
    ("of", "<path>"): lambda f: f.systems(),
    ("import_", "<path>"): lambda f: f.modules(),
    ("import_names", "<name>"): lambda f: f.import_names(),
    ("via", "<name>"): lambda f: f.of_all(f.labels),
    ("fault", "<name>"): lambda f: (Candidate(x, "member", "fault") for x in FAULTS),
    ("timer_name", "<name>"): lambda f: f.timers(),
    ("transmit", "<path>"): lambda f: f.channels(),
    ("fairness", "<path>"): lambda f: f.fair(),
    ("_promised", "<path>"): lambda f: f.fair(),
    ("for_each", "<path>"): lambda f: f.each(),
    ("_each_of", "<path>"): lambda f: f.each(),
    ("delivery", "<path>"): lambda f: f.channels(),
    ("extends", "<path>"): lambda f: f.systems(),
    ("environment_use", "<path>"): lambda f: f.environments(),
    ("refines", "<path>"): lambda f: f.systems(),
    ("map_state", "<name>"): lambda f: f.states(f.mapped()),
    ("map_field", "<name>"): lambda f: f.mapped_fields(),
    ("recovers", "<path>"): lambda f: f.of_all(lambda x: f.of("field", x.qualified, x.fields)),
    ("event_path", "<name>"): lambda f: f.of_event_path(),
    ("member", "<name>"): lambda f: f.members(),
    ("arguments", "<name>"): lambda f: f.parameters(),
    ("add", "<reference>"): lambda f: f.fields(),
    ("remove", "<reference>"): lambda f: f.fields(),
    ("post", "<reference>"): lambda f: f.channels(),
    ("to", "<reference>"): lambda f: f.values(),
    ("state_type", "<path>"): lambda f: f.machines(),
    ("queue_of", "<reference>"): lambda f: f.values(),
    ("queue_between", "<reference>"): lambda f: f.values(),
}
"""By the rule that awaits a name, and by what it awaits."""

_BY_SYMBOL: dict[str, Find] = {
    "<event_path>": lambda f: f.triggers(),
    "<edge>": lambda f: f.states(f.machine),
    "<_source>": lambda f: f.states(f.machine),
    "<_moves>": lambda f: f.states(f.machine),
    "<_machine_member>": lambda f: f.states(f.machine, 2),
    "<type>": lambda f: f.types(),
    "<_ranked>": lambda f: f.ranked(),
    "<_effect>": lambda f: f.effects(),
    "<reference>": lambda f: f.targets(),
    "<mapped>": lambda f: f.groups(0, f.refined()),
    "<offer>": lambda f: f.targets(),
    "<_step>": lambda f: f.groups(0),
    "<initial>": lambda f: f.initials(),
    "<first_value>": lambda f: f.groups(0),
}

_VALUES = frozenset({
    "<expr>", "<implication>", "<until>", "<disjunction>", "<conjunction>", "<negation>", "<comparison>",
    *symbols_of(CHAINS), "<term>", "<atom>",
})  # fmt: skip

_REPEATED = {
    "<_machine_member>": "machine", "<_effect>": "block", "<offer>": "environment", "<_step>": "scenario",
}  # fmt: skip
"""What is repeated directly inside the braces of something."""


def names(analysis: Analysis, place: CursorContext) -> Iterator[Candidate]:
    """The names that would mean something at a place."""
    finder = Finder(analysis, place)
    for rule, symbol in sorted(place.accepted.awaiting):
        owner = _owner(rule)
        find = _BY_RULE.get((owner, symbol)) or _BY_SYMBOL.get(symbol)
        if find is not None:
            yield from find(finder)
        elif symbol in _VALUES:
            yield from finder.values()
        elif symbol.startswith("<__"):
            yield from (x for s, inside in _REPEATED.items() if inside == rule for x in _BY_SYMBOL[s](finder))
        elif (symbol == "<path>" and owner == "path") or owner == "path":
            yield from finder.of_path()


def _owner(rule: str) -> str:
    """The rule in which something repeated stands: `via` of `__via_star_3`."""
    return rule.removeprefix("__").rsplit("_", 2)[0] if rule.startswith("__") else rule


def _senders(f: Finder) -> Iterator[Candidate]:
    yield Candidate("environment", "keyword", "everything outside the spec", "", 0)
    yield from f.machines()
    yield from f.channels(2)
