"""Text of generated files that is the same for every spec, but for what a spec makes use of."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("fsmdsl.classes"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def rendered(template: str, **values: object) -> str:
    """A template as text, with no more than two empty lines at once."""
    text = _environment().get_template(template).render(values)
    return re.sub(r"\n{4,}", "\n\n\n", text).rstrip("\n") + "\n"
