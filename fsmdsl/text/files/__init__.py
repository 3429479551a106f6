"""The disk: how files of users are read and written, everywhere in fsmdsl.

`write` replaces a file whole or not at all, `manifest` owns folders of output, `read` takes regular files of a limited
size that lie where the user pointed, `private` decides which files may be believed.
"""

from __future__ import annotations


def reason(error: OSError | ValueError) -> str:
    """Why the system refused, as the end of a sentence: `no space left on device`."""
    text = error.strerror if isinstance(error, OSError) else "not a file name"
    text = text or "unknown error"
    return text[:1].lower() + text[1:]
