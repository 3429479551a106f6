"""The inside of a machine: states, transitions, effects."""
