"""The search on numbers: worlds as words, the system as a program."""
