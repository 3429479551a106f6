"""The fsmdsl toolkit: state machines written once, as text, then checked, explored, generated and drawn."""
