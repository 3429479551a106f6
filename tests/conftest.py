"""What every test can rely on."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

# Who is started in the background ignores interrupts, and so do all whom it starts; the tests of interrupts need them.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Searches are sealed with a key of the tests' own; the processes that they start have it too.
os.environ.setdefault("FSMDSL_KEY", str(Path(tempfile.mkdtemp(prefix="fsm-key-")) / "key"))
