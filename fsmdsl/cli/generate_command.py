"""`fsm generate`: Python classes, or another target."""

from __future__ import annotations

import sys
from pathlib import Path

from fsmdsl import classes as emit
from fsmdsl.cli import FINDINGS, usage
from fsmdsl.cli.common import (
    documented_option,
    format_option,
    has_left_out,
    model_or_exit,
    paint,
    paths_argument,
    say_json,
)
from fsmdsl.cli.limits import MINUTES, Form, limit_options, within
from fsmdsl.cli.messages import say
from fsmdsl.cli.output_files import force_option, generated, write_folder
from fsmdsl.text.budget import Budget
from fsmdsl.text.files import manifest

PURPOSE = "generate"


@usage.command("generate")
@paths_argument
@documented_option
@usage.option("--out", "-o", type=usage.path(path_type=Path), default="generated", show_default=True, help="Where to.")
@usage.option(
    "--target", type=usage.choice(list(emit.TARGETS)), default="python", show_default=True, help="What to write."
)
@usage.option("--check", "only_check", is_flag=True, help="Write nothing; exit with 1 if something would change.")
@limit_options(MINUTES)
@force_option
@format_option
def command(
    paths: tuple[str, ...],
    as_documented: bool,
    out: Path,
    target: str,
    only_check: bool,
    budget: Budget,
    force: bool,
    form: Form,
) -> None:
    """Write the classes of every machine: one package for each module, in a folder of its own.

    What another target cannot say is listed on standard error.

    A manifest in the folder lists what was written. Files of modules that are gone are removed; others are neither
    removed nor overwritten.
    """
    files: dict[str, str] = {}
    with within(budget, paths, form, before="the code was made, so nothing was written"):
        model = model_or_exit(paths, form, as_documented=as_documented)
        for module in model.modules:
            files.update(emit.TARGETS[target](model, module.name))
        omissions = [x for module in model.modules for x in emit.left_out(target, model, module.name)]
    for x in omissions:
        say(f"left out: {x.span}: {x.text}", err=True)
    prune = not has_left_out()  # a module with errors is not gone
    if only_check:
        plan = manifest.plan(out, PURPOSE, files, ours=generated, prune=prune)
    else:
        plan = write_folder(out, PURPOSE, files, ours=generated, force=force, prune=prune)
    changed = plan.changed
    if form == "json":
        written = sorted(str(out / name) for name in files)
        say_json("generate", {"out": str(out), "files": written, "changed": list(map(str, changed))})
    elif only_check:
        for path in changed:
            say(f"{paint('stale', 'error')} {path}")
    if form == "text":
        say(f"{len(files)} files in {out}, {len(changed)} {'stale' if only_check else 'changed'}")
    sys.exit(FINDINGS if only_check and changed else 0)
