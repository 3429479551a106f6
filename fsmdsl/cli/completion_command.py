"""`fsm completion`: what a shell needs to complete commands, options and names."""

from __future__ import annotations

from fsmdsl.cli import usage
from fsmdsl.cli.messages import say_text

VARIABLE = "_FSM_COMPLETE"
"""Set by the script when it asks `fsm` what could stand in a line."""


@usage.command("completion")
@usage.argument("shell", type=usage.choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that adds completion for `fsm` to a shell.

    \b
    bash:  echo 'eval "$(fsm completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(fsm completion zsh)"' >> ~/.zshrc
    fish:  fsm completion fish > ~/.config/fish/completions/fsm.fish
    """
    from click.shell_completion import get_completion_class

    from fsmdsl.cli.parser import cli

    completion_class = get_completion_class(shell)
    assert completion_class is not None
    # The script alone: click's own way to print it asks for the version of a bash that may not be there.
    maker = completion_class(cli, {}, "fsm", VARIABLE)
    say_text(maker.source_template % maker.source_vars())
