"""`fsm explain`: what a rule means."""

from __future__ import annotations

import click

from fsmdsl.cli.common import format_option, paint, say_json
from fsmdsl.cli.completing import rule_names
from fsmdsl.cli.messages import misuse, say
from fsmdsl.diagnostics import Rule, did_you_mean


@click.command("explain")
@click.argument("code", required=False, shell_complete=rule_names)
@format_option
def command(code: str | None, form: str) -> None:
    """Explain a rule by its code (FSM201) or name; without one, list all rules."""
    from fsmdsl.rules import all_rules

    rules = all_rules()
    shown = list(rules.values()) if code is None else [_find(rules, code)]
    if form == "json":
        say_json("rules", {"rules": [_data(r) for r in shown]})
    elif code is None:
        width = max(len(r.name) for r in shown)
        for r in shown:
            say(f"{paint(r.code, 'strong')}  {r.name.ljust(width)}  {r.summary}")
    else:
        r = shown[0]
        say(f"{paint(f'{r.code} {r.name}', 'strong')} ({r.severity}): {r.summary}\n\n{r.explanation.strip()}")


def _find(rules: dict[str, Rule], wanted: str) -> Rule:
    found = next((r for r in rules.values() if wanted.upper() == r.code or wanted.lower() == r.name), None)
    if found is None:
        advice = did_you_mean(wanted, [*rules, *(r.name for r in rules.values())])
        misuse(f"there is no rule `{wanted}`; {advice or '`fsm explain` lists them'}")
    return found


def _data(r: Rule) -> dict[str, str]:
    return {
        "code": r.code,
        "name": r.name,
        "severity": str(r.severity),
        "summary": r.summary,
        "explanation": r.explanation.strip(),
    }
