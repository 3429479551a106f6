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
from fsmdsl.cli.without_option import without_option
from fsmdsl.text.budget import Budget
from fsmdsl.text.files import manifest

PURPOSE = "generate"


@usage.command("generate")
@paths_argument
@documented_option
@without_option
@usage.option(
    "--out", "-o", type=usage.path(path_type=Path), default="generated", show_default=True, help="Write to this folder."
)
@usage.option(
    "--target",
    type=usage.choice(list(emit.TARGETS)),
    default="python",
    show_default=True,
    help="Kind of code to generate.",
)
@usage.option("--check", "only_check", is_flag=True, help="Write nothing; exit with 1 if any file would change.")
@limit_options(MINUTES)
@force_option
@format_option
def command(
    paths: tuple[str, ...],
    as_documented: bool,
    without: tuple[str, ...],
    out: Path,
    target: str,
    only_check: bool,
    budget: Budget,
    force: bool,
    form: Form,
) -> None:
    """Generate a class for every machine and a package for every module.

    Constructs that a target other than Python does not support are listed on standard error.

    A manifest in the output folder lists the files. Files of modules that no longer exist are removed; other files are
    neither removed nor overwritten.
    """
    files: dict[str, str] = {}
    with within(budget, paths, form, before="the code was generated, so nothing was written"):
        model = model_or_exit(paths, form, as_documented=as_documented, without=without)
        for module in model.modules:
            files.update(emit.TARGETS[target](model, module.name))
        omissions = [x for module in model.modules for x in emit.left_out(target, model, module.name)]
    packages = {module.name: ".".join(emit.folder(module.name)) for module in model.modules}
    for name, package in packages.items():
        if package != name:
            say(f"note: module `{name}` is generated as package `{package}`, because Python uses that name", err=True)
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
