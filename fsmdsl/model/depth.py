"""How far one step goes at most: what the definition, the searches and the classes have in common."""

LONGEST_ROUND = 1000
"""A round that follows more transitions than this does not end."""

DEEPEST_CASCADE = 64
"""Maximum depth of nested sends: each is part of the transition that the one before it has caused."""
