"""Modules import one another in one direction: there are no circles, not even for type checkers alone."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


@pytest.mark.parametrize("package", ["fsmdsl", "runtime"])
def test_there_are_no_import_circles(package: str) -> None:
    imports = grimp.build_graph(package, exclude_type_checking_imports=False, cache_dir=None)
    graph = {module: imports.find_modules_directly_imported_by(module) for module in imports.modules}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_every_module_is_in_a_package_that_the_linter_sees() -> None:
    """A folder without `__init__.py` would be left out of the layers without a word."""
    modules = grimp.build_graph("fsmdsl", cache_dir=None).modules
    assert {"fsmdsl.explore.packed.lower.expressions", "fsmdsl.explore.program.nodes"} <= modules
