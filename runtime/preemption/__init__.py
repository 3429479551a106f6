"""The gangs that a placement displaces, and those that prefer to be demoted."""
