"""The physical cells, chain by chain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from runtime.config.chains import known_chain
from runtime.config.model import CellSpec, Chain, ForestSpec
from runtime.config.reader import NOTHING, Reader, join
from runtime.config.source import Value

KEYS = ("cellType", "cellAddress", "pinnedCellId", "cellChildren")


def read_forests(reader: Reader, value: Value, path: str, chains: dict[str, Chain]) -> dict[str, ForestSpec]:
    """The top cells by chain, in the order of the file."""
    tops: dict[str, list[tuple[int, CellSpec]]] = defaultdict(list)
    for number, (here, item) in enumerate(reader.items(value, path)):
        fields = reader.table(item, here, KEYS)
        name = reader.text(fields.get("cellType", NOTHING), join(here, "cellType"))
        if not name:
            reader.wrong(here, item, "has no cellType", "a top cell must say what it is")
            continue
        chain = known_chain(reader, fields["cellType"], join(here, "cellType"), name, chains)
        if chain is not None:
            tops[name].append((number, _cell(reader, item, here, chain, chain.top)))
    forests = {name: ForestSpec(chains[name], tuple(cells)) for name, cells in tops.items()}
    _check_pins(reader, path, forests)
    _check_nodes(reader, path, forests)
    return forests


def _cell(reader: Reader, value: Value, path: str, chain: Chain, level: int) -> CellSpec:
    fields = reader.table(value, path, KEYS)
    kind = reader.text(fields.get("cellType", NOTHING), join(path, "cellType"))
    if kind and kind != chain.types[level]:
        reader.wrong(join(path, "cellType"), fields["cellType"], f"is {kind}, but must be {chain.types[level]}")
    address = reader.text(fields.get("cellAddress", NOTHING), join(path, "cellAddress"))
    if level == 1 and address and not address.isdecimal():
        reader.wrong(join(path, "cellAddress"), fields["cellAddress"], f"must be the index of a device, not {address}")
    inside = fields.get("cellChildren", NOTHING)
    items = list(reader.items(inside, join(path, "cellChildren")))
    if items and len(items) != chain.fanout[level]:
        reader.wrong(
            join(path, "cellChildren"),
            inside,
            f"has {len(items)} cells, but a {chain.types[level]} has {chain.fanout[level]}",
            "omit cellChildren to use the defaults",
        )
        items = []
    return CellSpec(
        address,
        reader.text(fields.get("pinnedCellId", NOTHING), join(path, "pinnedCellId")),
        tuple(_cell(reader, item, here, chain, level - 1) for here, item in items),
        value.line,
    )


def pins(spec: ForestSpec) -> Iterator[tuple[str, int, CellSpec]]:
    """The pinned cells of a chain: identifier, level, cell."""
    open_cells = [(spec.chain.top, cell) for _, cell in reversed(spec.tops)]
    while open_cells:
        level, cell = open_cells.pop()
        if cell.pinned:
            yield cell.pinned, level, cell
        open_cells.extend((level - 1, child) for child in reversed(cell.children))


def _check_pins(reader: Reader, path: str, forests: dict[str, ForestSpec]) -> None:
    seen: dict[str, CellSpec] = {}
    for spec in forests.values():
        for name, _, cell in pins(spec):
            if name in seen:
                reader.wrong(path, Value(None, cell.line), f"pinnedCellId {name} is given twice")
            seen[name] = cell
            if any(inner.pinned for child in cell.children for inner in _all(child)):
                reader.wrong(path, Value(None, cell.line), f"pinned cell {name} contains another pinned cell")


def _all(cell: CellSpec) -> Iterator[CellSpec]:
    yield cell
    for child in cell.children:
        yield from _all(child)


def _check_nodes(reader: Reader, path: str, forests: dict[str, ForestSpec]) -> None:
    """No node twice in a chain, no device twice on a node."""
    owner: dict[tuple[str, str, int], str] = {}
    for name, spec in forests.items():
        chain = spec.chain
        names: set[str] = set()
        for node, cell in node_cells(spec):
            if node in names:
                reader.wrong(path, Value(None, cell.line), f"node {node} is twice in chain {name}")
                continue
            names.add(node)
            indices = device_indices(chain, cell)
            if len(set(indices)) < len(indices):
                reader.wrong(path, Value(None, cell.line), f"node {node} has two devices of the same index")
            for index in set(indices):
                other = owner.setdefault((node, chain.leaf_type, index), name)
                if other != name:
                    what = f"device {index} ({chain.leaf_type}) of node {node} is already in chain {other}"
                    reader.wrong(path, Value(None, cell.line), what, "give the devices their indices as cellAddress")
                    break


def node_cells(spec: ForestSpec) -> Iterator[tuple[str, CellSpec]]:
    """Node cells with their names, in order."""
    chain = spec.chain

    def walk(cell: CellSpec, level: int, number: int) -> Iterator[tuple[str, CellSpec]]:
        if level == chain.node:
            yield cell.address or str(number), cell
            return
        children = cell.children or (CellSpec(line=cell.line),) * chain.fanout[level]
        for i, child in enumerate(children):
            yield from walk(child, level - 1, number * chain.fanout[level] + i)

    for number, cell in spec.tops:
        yield from walk(cell, chain.top, number)


def device_indices(chain: Chain, node: CellSpec) -> list[int]:
    """The indices of a node's devices, by default counted from 0."""
    indices: list[int] = []

    def walk(cell: CellSpec | None, level: int, number: int) -> None:
        if level == 1:
            address = cell.address if cell is not None else ""
            indices.append(int(address) if address.isdecimal() else number)
            return
        for i in range(chain.fanout[level]):
            child = cell.children[i] if cell is not None and cell.children else None
            walk(child, level - 1, number * chain.fanout[level] + i)

    walk(node, chain.node, 0)
    return indices
