"""The disk: how files of users are read and written, everywhere in fsmdsl.

`write` replaces a file whole or not at all, `manifest` owns folders of output, `read` takes regular files of a limited
size that lie where the user pointed, `private` decides which files may be believed.
"""

from __future__ import annotations

import re

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What could end a line, or change how a terminal shows it."""


def one_line(name: str) -> str:
    """A file's name as part of a line, whatever it is."""
    return CONTROL.sub(lambda x: repr(x[0])[1:-1], name)


def reason(error: OSError | ValueError) -> str:
    """Why the system refused, as the end of a sentence: `no space left on device`."""
    text = error.strerror if isinstance(error, OSError) else "not a file name"
    text = text or "unknown error"
    return text[:1].lower() + text[1:]
