"""The class of a machine."""
