"""Types: as they are written, as they are shown, and the values that fields begin with."""
