"""`python -m fsmdsl` is the `fsm` command."""

from fsmdsl.cli import main

if __name__ == "__main__":
    main()
