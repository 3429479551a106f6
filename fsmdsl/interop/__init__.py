"""Other tools: their machines, their checkers, their logs."""
