"""Systems in the languages of other checkers."""
