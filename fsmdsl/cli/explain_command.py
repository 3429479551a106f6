"""`fsm explain`: what a rule means, or which run of a system explains a log."""

from __future__ import annotations

from pathlib import Path

from fsmdsl.cli import usage
from fsmdsl.cli.common import documented_option, format_option, links_option, paint, say_json
from fsmdsl.cli.completions import rule_names, system_names
from fsmdsl.cli.explain_log import Output, Request, explain_log
from fsmdsl.cli.explain_watch import Watch
from fsmdsl.cli.limits import Form, limit_options
from fsmdsl.cli.messages import misuse, say, say_text
from fsmdsl.text.budget import Budget
from fsmdsl.text.diagnostics import Rule, did_you_mean


@usage.command("explain")
@usage.argument("what", metavar="[CODE|LOG]", required=False, shell_complete=rule_names)
@usage.option("--mapping", type=usage.path(path_type=Path), metavar="FILE", help="What the lines of LOG mean (TOML).")
@usage.option(
    "--spec", "specs", type=usage.path(), multiple=True, help="Specs to explain LOG by (default: the mapping's)."
)
@usage.option("--system", metavar="NAME", shell_complete=system_names, help="The system (default: the mapping's).")
@usage.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="The size of a set, or a parameter.")
@usage.option("--hidden", type=usage.integer(0), metavar="N", help="Steps that nobody logged between two lines.")
@usage.option("--show", is_flag=True, help="Show the whole run.")
@usage.option("--coverage", is_flag=True, help="Show how often each row was followed.")
@usage.option(
    "--counts", type=usage.path(path_type=Path), metavar="FILE", help="Write it here, for `draw` and `report`."
)
@usage.option("--follow", is_flag=True, help="Continue as LOG grows, until Ctrl-C or a line that nothing explains.")
@usage.option("--keep-going", is_flag=True, help="Report each line that nothing explains, and continue.")
@usage.option("--metrics", type=usage.path(path_type=Path), metavar="FILE", help="Write metrics for Prometheus here.")
@usage.option("--metrics-port", type=usage.integer(0, 65535), metavar="PORT", help="Serve them to this machine.")
@limit_options(each="specs and LOG")
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
    """Explain a rule by its code (FSM201) or name; without one, list all rules.

    With --mapping, find the run of a system that explains LOG, a file or `-`, or the first line that no run explains
    and the nearest miss.

    Exit codes: 0 explained, 1 not explained, 2 misuse, 3 (logs) it cannot be decided.
    """
    if mapping is not None:
        watch = Watch(follow, keep_going, metrics, metrics_port)
        output = Output(show, coverage, counts)
        request = Request(what or "-", mapping, specs, system, settings, hidden, as_documented, output, watch, budget)
        explain_log(request, form)
        return
    others = (specs, system, settings, show, coverage, counts, follow, keep_going, metrics, as_documented)
    if any(others) or not (hidden is metrics_port is budget.seconds is None):
        misuse("a log is explained by a mapping: name it with `--mapping FILE`")
    _explain_rules(what, form)


def _explain_rules(code: str | None, form: str) -> None:
    from fsmdsl.check.all_rules import all_rules

    rules = all_rules()
    selection = list(rules.values()) if code is None else [_find(rules, code)]
    if form == "json":
        say_json("rules", {"rules": [_data(r) for r in selection]})
    elif code is None:
        width = max(len(r.name) for r in selection)
        for r in selection:
            say(f"{paint(r.code, 'strong')}  {r.name.ljust(width)}  {r.summary}")
    else:
        r = selection[0]
        say_text(f"{paint(f'{r.code} {r.name}', 'strong')} ({r.severity}): {r.summary}\n\n{r.explanation.strip()}")


def _find(rules: dict[str, Rule], name: str) -> Rule:
    rule = next((r for r in rules.values() if name.upper() == r.code or name.lower() == r.name), None)
    if rule is None:
        if Path(name).exists():
            misuse(f"`{name}` is a file; to explain a log, name its mapping with `--mapping FILE`")
        advice = did_you_mean(name, [*rules, *(r.name for r in rules.values())])
        misuse(f"there is no rule `{name}`; {advice or '`fsm explain` lists them'}")
    return rule


def _data(r: Rule) -> dict[str, str]:
    return {
        "code": r.code,
        "name": r.name,
        "severity": str(r.severity),
        "summary": r.summary,
        "explanation": r.explanation.strip(),
    }
