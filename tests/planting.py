"""Bugs planted in functions, as a slip of a maintainer would make them, to see that tests notice."""

from __future__ import annotations
import __future__

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from textwrap import dedent
from unittest.mock import patch


@contextmanager
def planted(function: Callable[..., object], old: str, new: str) -> Iterator[None]:
    """The function with `new` for `old`, wherever it is imported; or the method, in its class."""
    source, name = dedent(inspect.getsource(function)), function.__name__
    assert old in source, f"{name} has changed: plant the bug in what it is now"
    module, namespace = sys.modules[function.__module__], dict[str, Callable[..., object]]()
    exec(compile(source.replace(old, new), name, "exec", __future__.annotations.compiler_flag), vars(module), namespace)
    owner, _, _ = function.__qualname__.rpartition(".")
    owners = [getattr(module, owner)] if owner else list(sys.modules.values())
    with ExitStack() as patches:
        for other in [x for x in owners if getattr(x, name, None) is function]:
            patches.enter_context(patch.object(other, name, namespace[name]))
        yield
