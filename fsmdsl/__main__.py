"""`python -m fsmdsl` is the `fsm` command."""

import sys


def main() -> None:
    """Run the command. Ctrl-C while it is loaded ends it like Ctrl-C later on."""
    try:
        from fsmdsl.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
