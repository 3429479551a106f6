"""How far one step goes at most: what the definition, the searches and the classes have in common."""

LONGEST_ROUND = 1000
"""A round that follows more transitions than this does not end."""

DEEPEST_CASCADE = 64
"""So many instances can be in the middle of a transition at once, each waiting for the next to handle an event."""
