"""Logs: which run of a system explains one, line by line.

`mapping` reads what lines mean from TOML, `meaning` binds that to the names of a system, `lines` turns the text of a
log into fields, `worlds` keeps every world that is possible after a line, `explanation` drives them over a log, and
`nearest` says which change would explain a line that nothing does.
"""

from fsmdsl.interop.logs.rules import RULES

__all__ = ["RULES"]
