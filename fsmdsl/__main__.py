"""`python -m fsmdsl` is the `fsm` command."""

import sys
from time import monotonic

INTERRUPTED = 128 + 2


def main() -> None:
    """Run the command and exit; no traceback follows from Ctrl-C. Limits of time count from here.

    While the command is loaded, and when it has ended, the signal ends the process by itself: an exception would pass
    through import hooks and callbacks, which print it.
    """
    begun = monotonic()
    try:
        from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal

        interruptible = getsignal(SIGINT) is default_int_handler
        if interruptible:
            signal(SIGINT, SIG_DFL)
        import gc

        # What a command makes, it mostly keeps to its end: looking for garbage often would only cost time.
        gc.set_threshold(100_000, 50, 100)
        from fsmdsl.cli.run import main as run

        if interruptible:
            signal(SIGINT, default_int_handler)
        try:
            run(begun=begun)
        finally:
            if interruptible:
                signal(SIGINT, SIG_DFL)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
