"""What every test can rely on."""

from __future__ import annotations

import signal

# Who is started in the background ignores interrupts, and so do all whom it starts; the tests of interrupts need them.
signal.signal(signal.SIGINT, signal.default_int_handler)
