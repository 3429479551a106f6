"""A search that goes on later: what is written while it runs, and read when it is resumed."""
