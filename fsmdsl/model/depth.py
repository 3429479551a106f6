"""How far one step goes at most: what the definition, the searches and the classes have in common."""

LONGEST_ROUND = 1000
"""Maximum number of transitions in a round. A longer round is reported as endless."""

DEEPEST_CASCADE = 64
"""Maximum depth of nested sends: each is part of the transition that the one before it has caused."""
