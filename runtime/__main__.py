"""`python -m runtime`: the process around the commands of `runtime.command`."""

import sys

INTERRUPTED = 128 + 2
"""The exit code after Ctrl-C, as of a program that the signal SIGINT has ended."""


def main() -> None:
    """Run a command and exit; no traceback follows from Ctrl-C.

    While the command is loaded, and when it has ended, the signal ends the process by itself: an exception would pass
    through import hooks and callbacks, which print it.
    """
    try:
        from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal

        interruptible = getsignal(SIGINT) is default_int_handler
        if interruptible:
            signal(SIGINT, SIG_DFL)
        from runtime.command import run

        if interruptible:
            signal(SIGINT, default_int_handler)
        try:
            sys.exit(run())
        finally:
            if interruptible:
                signal(SIGINT, SIG_DFL)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
