"""Functions that every module has, written by hand in typed Python."""
