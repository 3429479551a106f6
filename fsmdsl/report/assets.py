"""What the page brings along: styles and scripts from `static/`, in one piece each."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./[\w-]+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function |const |class )", re.MULTILINE)


def asset(name: str) -> str:
    """A file of `static/`."""
    return (files("fsmdsl.report") / "static" / name).read_text("utf-8")


@cache
def script(*names: str) -> str:
    """ES modules as one, for a page that is a file by itself cannot import; a module before those that import it."""
    return "\n".join(_wrapped(asset(name)) for name in names)


def _wrapped(text: str) -> str:
    """A module without its imports, its own names its own; what it exports is seen by those behind it."""
    exported = re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", text, re.MULTILINE)
    body = _EXPORT.sub("", _IMPORT.sub("", text)).rstrip()
    names = ", ".join(exported)
    opening = f"const {{ {names} }} = " if exported else ""
    return f"{opening}(() => {{\n{body}\nreturn {{ {names} }};\n}})();"


@cache
def style(*names: str) -> str:
    """Style sheets, one after the other."""
    return "\n".join(map(asset, names))


def fingerprint(text: str) -> str:
    """What a content security policy calls a script that may run."""
    return f"sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}"
