"""`fsm verify --second-opinion`: another checker beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from fsmdsl import model as m
from fsmdsl.cli import BOUNDED, FINDINGS, usage
from fsmdsl.cli.common import paint
from fsmdsl.cli.messages import misuse
from fsmdsl.cli.printing import Printing
from fsmdsl.cli.ranks import several
from fsmdsl.search import Exploration
from fsmdsl.text.budget import Budget

if TYPE_CHECKING:
    from fsmdsl.interop.second_opinion import SecondOpinion
    from fsmdsl.interop.second_opinion.tools import Tool

F = TypeVar("F", bound=Callable[..., Any])

CHECKERS = ("spin", "tlc", "graph")
"""As `interop.second_opinion.tools` names them; what they need is imported when they are asked for."""

SECONDS = 600.0
"""For a system, unless `--max-seconds` says otherwise."""


def second_opinion_options(command: F) -> F:
    """`--second-opinion` and `--tool`."""
    about = (
        "Run another checker on the same systems, and compare state counts and verdicts. Implies --no-symmetry --all."
    )
    other = usage.option("--second-opinion", "other", type=usage.choice(CHECKERS), help=about)
    path = usage.option(
        "--tool", type=usage.path(), metavar="PATH", help="Path to the other checker (default: search $PATH)."
    )
    return other(path(command))


def installed(other: str | None, tool: str | None, *, stutters: bool) -> Tool | None:
    """The checker that was asked for. One that is missing ends the command with 2, and so does one that knows no
    `--stutter`."""
    if other is None:
        if tool is not None:
            misuse("`--tool` requires `--second-opinion`")
        return None
    if several():
        misuse("`--second-opinion` cannot be used with several processes")
    if stutters and other != "graph":
        misuse("`--stutter` is supported by `--second-opinion graph` only")
    from fsmdsl.interop.second_opinion import MissingError
    from fsmdsl.interop.second_opinion.judge import Judge
    from fsmdsl.interop.second_opinion.tools import TOOLS

    try:
        if other == "graph":
            return Judge.installed(tool, stutters=stutters)
        return TOOLS[other](tool)
    except MissingError as error:
        misuse(str(error))


def second_opinions(
    tool: Tool | None, model: m.Model, explorations: Sequence[Exploration], budget: Budget, out: Printing
) -> list[SecondOpinion]:
    """What the other checker says of each system, told as it comes."""
    if tool is None:
        return []
    from fsmdsl.interop.second_opinion import Budgeted, compare

    opinions: list[SecondOpinion] = []
    for x in explorations:
        memory = budget.memory or 4 << 30
        opinion = tool.opinion(model, x.system, x.states, Budgeted(budget.seconds or SECONDS, memory))
        opinions.append(compare(x, opinion))
        for line in lines(opinions[-1]):
            out.say(line, wrap=True)
    return opinions


_ROLES = {"confirmed": "good", "different": "error", "not confirmed": "warning"}


def lines(x: SecondOpinion) -> list[str]:
    """For people: one line where all is confirmed, else a line for each verdict that is not."""
    counts = ", ".join(f"{n} {a}" for a in _ROLES if (n := x.count(a)))  # type: ignore[arg-type]
    first = f"{paint(x.agreement, _ROLES[x.agreement])}  {x.system} by {x.tool}: {counts}"
    rest = [
        f"    {paint(r.agreement, _ROLES[r.agreement])}  {r.what}: {r.ours}; {x.tool}: {r.theirs}"
        for r in x.rows
        if r.agreement != "confirmed"
    ]
    return [first, *rest]


def data(opinions: Sequence[SecondOpinion]) -> dict[str, object]:
    """For JSON."""

    def row(r: Any) -> Mapping[str, str]:
        return {"what": r.what, "ours": r.ours, "theirs": r.theirs, "agreement": r.agreement}

    rows = [
        {"system": x.system, "tool": x.tool, "agreement": x.agreement, "rows": [row(r) for r in x.rows]}
        for x in opinions
    ]
    return {"second_opinions": rows} if rows else {}


def code(opinions: Sequence[SecondOpinion], otherwise: int) -> int:
    """The exit code: a difference is a finding; a checker that did not end is a limit."""
    if any(x.agreement == "different" for x in opinions):
        return FINDINGS
    unseen = any(x.rows[0].agreement == "not confirmed" for x in opinions)
    return otherwise or (BOUNDED if unseen else 0)
