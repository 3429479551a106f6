"""Ctrl-C at a chosen moment of a command's start, which no clock can hit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MOMENTS = [1, 2, 5, 20, 50, 100, 200, 400]
"""How many modules are imported before; a command may need fewer."""

_CODE = """\
import os, runpy, signal, sys
module, count = sys.argv[1], int(sys.argv[2])
sys.argv[:3] = [module]
class Counter:
    left = None
    def find_spec(self, name, path=None, target=None):
        if name == module:
            self.left = count
        elif self.left and name != module + ".__main__":
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Counter())
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def interrupted(module: str, count: int, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`python -m MODULE ARGUMENTS`, with SIGINT at the import of the module of that number after `MODULE` itself."""
    command = [sys.executable, "-c", _CODE, module, str(count), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
