"""`fsm explain`: what a rule, a kind of fault, a keyword or a term means, or which run of a system explains a log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Literal

from fsmdsl.cli import usage
from fsmdsl.cli.common import documented_option, format_option, links_option, paint, say_json, settings_option
from fsmdsl.cli.completions import rule_names, system_names
from fsmdsl.cli.explain_log import Output, Request, explain_log
from fsmdsl.cli.explain_watch import Watch
from fsmdsl.cli.limits import Form, limit_options
from fsmdsl.cli.messages import misuse, say, say_text
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.text.budget import Budget
from fsmdsl.text.diagnostics import Rule, did_you_mean

if TYPE_CHECKING:
    from fsmdsl.check.faults import FaultPage
    from fsmdsl.syntax.topics import Topic


@usage.command("explain")
@usage.argument("what", metavar="[RULE|FAULT|WORD|LOG]", required=False, shell_complete=rule_names)
@usage.option(
    "--mapping", type=usage.path(path_type=Path), metavar="FILE", help="Mapping from lines of LOG to a spec (TOML)."
)
@usage.option(
    "--spec",
    "specs",
    type=usage.path(),
    multiple=True,
    help="Explain LOG with these specs (may be repeated; default: those of the mapping).",
)
@usage.option(
    "--system",
    metavar="NAME",
    shell_complete=system_names,
    help="Explain LOG with this system (default: that of the mapping).",
)
@settings_option
@usage.option("--hidden", type=usage.integer(0), metavar="N", help="Allow at most N unlogged steps between two lines.")
@usage.option("--show", is_flag=True, help="Show the whole run.")
@usage.option("--coverage", is_flag=True, help="Show how often each row was taken.")
@usage.option(
    "--counts",
    type=usage.path(path_type=Path),
    metavar="FILE",
    help="Write these counts to FILE, for `fsm draw` and `fsm report`.",
)
@usage.option("--follow", is_flag=True, help="Keep reading as LOG grows, until Ctrl-C or an unexplained line.")
@usage.option("--keep-going", is_flag=True, help="Report each unexplained line, and continue.")
@usage.option("--metrics", type=usage.path(path_type=Path), metavar="FILE", help="Write Prometheus metrics to FILE.")
@usage.option(
    "--metrics-port",
    type=usage.integer(0, 65535),
    metavar="PORT",
    help="Serve Prometheus metrics on PORT, to this machine only.",
)
@limit_options()
@documented_option
@links_option
@format_option
def command(
    what: str | None,
    mapping: Path | None,
    specs: tuple[str, ...],
    system: str | None,
    settings: tuple[str, ...],
    hidden: int | None,
    show: bool,
    coverage: bool,
    counts: Path | None,
    follow: bool,
    keep_going: bool,
    metrics: Path | None,
    metrics_port: int | None,
    budget: Budget,
    as_documented: bool,
    form: Form,
) -> None:
    """Explain a rule (FSM201, or its name), a kind of fault (reentrance), a keyword or a term of the glossary (fair,
    fairness), or a log. Without an argument, list all rules and kinds of faults.

    With --mapping, find a run of a system that explains LOG (a file or `-`), or report the first line that no run
    explains and the nearest miss.

    Exit codes: 0 explained, 1 not explained, 2 usage error, 3 undecided (logs only).
    """
    if mapping is not None:
        watch = Watch(follow, keep_going, metrics, metrics_port)
        output = Output(show, coverage, counts)
        request = Request(what or "-", mapping, specs, system, settings, hidden, as_documented, output, watch, budget)
        explain_log(request, form)
        return
    others = (specs, system, settings, show, coverage, counts, follow, keep_going, metrics, as_documented)
    if any(others) or not (hidden is metrics_port is budget.seconds is None):
        misuse("explaining a log requires a mapping: pass it with `--mapping FILE`")
    _explain_pages(what, form)


@dataclass(frozen=True, slots=True)
class Entry:
    """A keyword or a term of the glossary."""

    names: tuple[str, ...]
    kind: Literal["keyword", "term"]
    meaning: str
    page: str
    """The section of the documentation that explains it: `docs/language.md#states`."""
    context: str = ""
    """What the example is a part of: `machine`."""
    example: str = ""
    """Lines of a spec that show it; empty where none helps."""


def entries() -> list[Entry]:
    """All keywords and terms. A term that is a keyword as well leaves the example to it."""
    from fsmdsl.syntax.glossary import GLOSSARY
    from fsmdsl.syntax.topics import TOPIC_OF
    from fsmdsl.syntax.words import MEANINGS

    keywords = [_entry((word,), "keyword", meaning, TOPIC_OF[word]) for word, meaning in MEANINGS.items()]
    terms = (_entry(x.names, "term", x.meaning, x.topic) for x in GLOSSARY)
    repeated = {x.names for x in GLOSSARY if x.is_keyword}
    return keywords + [replace(x, context="", example="") if x.names in repeated else x for x in terms]


def _entry(names: tuple[str, ...], kind: Literal["keyword", "term"], meaning: str, topic: Topic | None) -> Entry:
    if topic is None:
        return Entry(names, kind, meaning, "docs/glossary.md")
    return Entry(names, kind, meaning, f"docs/{topic.section}", topic.context, topic.example)


def _explain_pages(code: str | None, form: str) -> None:
    from fsmdsl.check.all_rules import all_rules
    from fsmdsl.check.faults import FAULTS

    pages: list[Rule | FaultPage] = [*all_rules().values(), *FAULTS]
    selection = pages if code is None else _find([*pages, *entries()], code)
    if form == "json":
        of_rules = [_data(x) for x in selection if isinstance(x, Rule)]
        of_words = [_word_data(x) for x in selection if isinstance(x, Entry)]
        of_faults = [_fault_data(x) for x in selection if not isinstance(x, Rule | Entry)]
        say_json("rules", {"rules": of_rules, "faults": of_faults, "words": of_words})
    elif code is None:
        width = max(len(_name(x)) for x in pages)
        for x in pages:
            say(f"{paint(_code(x).ljust(6), 'strong')}  {_name(x).ljust(width)}  {x.summary}")
    else:
        say_text("\n\n\n".join(map(_page, selection)))


def _page(x: Rule | FaultPage | Entry) -> str:
    if isinstance(x, Entry):
        example = f"In a {x.context}:\n\n{indent(x.example, '    ')}\n\n" if x.example else ""
        return f"{paint(x.names[0], 'strong')} ({x.kind}): {x.meaning}\n\n{example}See `{x.page}`."
    severity = f" ({x.severity})" if isinstance(x, Rule) else ""
    return f"{paint(f'{_code(x)} {_name(x)}', 'strong')}{severity}: {x.summary}\n\n{x.explanation.strip()}"


def _code(x: Rule | FaultPage) -> str:
    return x.code if isinstance(x, Rule) else "fault"


def _name(x: Rule | FaultPage) -> str:
    return x.name if isinstance(x, Rule) else x.kind


def _names(x: Rule | FaultPage | Entry) -> tuple[str, ...]:
    if isinstance(x, Entry):
        return x.names
    return (x.code, x.name) if isinstance(x, Rule) else (x.kind,)


def _find(pages: Sequence[Rule | FaultPage | Entry], name: str) -> list[Rule | FaultPage | Entry]:
    """All that the name means: `overlap` is found by a check and by exploration, `deadlock` is a rule and a term."""
    selection = [x for x in pages if name.lower() in (y.lower() for y in _names(x))]
    if not selection:
        if Path(name).exists():
            misuse(f"`{name}` is a file; to explain a log, name its mapping with `--mapping FILE`")
        advice = did_you_mean(name, [y for x in pages for y in _names(x)])
        lists = "`fsm explain` lists the rules and faults, `docs/keywords.md` and `docs/glossary.md` the words"
        misuse(f"there is no rule, fault, keyword or term `{name}`; {advice or lists}")
    return selection


def _word_data(x: Entry) -> dict[str, str]:
    of_example = {"context": x.context, "example": x.example} if x.example else {}
    return {"word": x.names[0], "kind": x.kind, "meaning": x.meaning, "page": x.page, **of_example}


def _fault_data(x: FaultPage) -> dict[str, str]:
    return {"kind": x.kind, "summary": x.summary, "remedy": x.remedy, "explanation": x.explanation.strip()}


def _data(r: Rule) -> dict[str, str]:
    return {
        "code": r.code,
        "name": r.name,
        "severity": str(r.severity),
        "summary": r.summary,
        "explanation": r.explanation.strip(),
    }
