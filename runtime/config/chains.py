"""Cell types, and the chains that they form."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.config.model import Chain
from runtime.config.reader import NOTHING, Reader, join, nearest
from runtime.config.source import Value

LEVELS = 32
MAX_LEAVES = 1 << 22
"""Maximum number of leaf cells in a cell: beyond any hardware, and small enough for the memory."""


@dataclass(frozen=True, slots=True)
class _Type:
    child: str
    number: int
    is_node: bool


def read_chains(reader: Reader, value: Value, path: str) -> dict[str, Chain]:
    """Every defined type, with the chain of which it could be the top. Types that are not defined are leaf types."""
    types: dict[str, _Type] = {}
    table = reader.table(value, path)
    for name, entry in table.items():
        here, before = join(path, name), len(reader.problems)
        fields = reader.table(entry, here, ("childCellType", "childCellNumber", "isNodeLevel"))
        child = reader.text(fields.get("childCellType", NOTHING), join(here, "childCellType"))
        if not child:
            reader.wrong(here, entry, "has no childCellType", "leaf types need no entry")
        if "childCellNumber" not in fields:
            reader.wrong(here, entry, "has no childCellNumber")
        types[name] = _Type(
            child,
            reader.number(fields.get("childCellNumber", NOTHING), join(here, "childCellNumber"), least=1, default=1),
            reader.flag(fields.get("isNodeLevel", NOTHING), join(here, "isNodeLevel"), default=False),
        )
        if len(reader.problems) > before:
            reader.faulty.add(name)
    chains = {name: _chain(reader, table[name], join(path, name), name, types) for name in types}
    return {name: chain for name, chain in chains.items() if chain is not None}


def _chain(reader: Reader, value: Value, path: str, name: str, types: dict[str, _Type]) -> Chain | None:
    """The chain below a type; none where it never ends, or nodes are inside of nodes."""
    down = [name]
    while (current := types.get(down[-1])) is not None:
        if not reader.faulty.isdisjoint(down):
            reader.faulty.add(name)
            return None
        if current.child in down:
            reader.wrong(path, value, f"contains itself: {' -> '.join([*down, current.child])}")
            reader.faulty.add(name)
            return None
        down.append(current.child)
        if len(down) > LEVELS:
            reader.wrong(path, value, f"has more than {LEVELS} levels")
            reader.faulty.add(name)
            return None
    nodes = [x for x in down if x in types and types[x].is_node]
    if len(nodes) > 1:
        reader.wrong(path, value, f"has several node levels: {', '.join(nodes)}", "only one may have isNodeLevel")
        reader.faulty.add(name)
        return None
    up = down[::-1]
    fanout = [0, 0, *(types[x].number for x in up[1:])]
    leaves = [0, 1]
    for count in fanout[2:]:
        leaves.append(leaves[-1] * count)
    if leaves[-1] > MAX_LEAVES:
        reader.wrong(path, value, f"would have {leaves[-1]} leaf cells, which is more than {MAX_LEAVES}")
        reader.faulty.add(name)
        return None
    # A type below the node level is no chain of its own, but may be part of one: its node level is 0.
    node = up.index(nodes[0]) + 1 if nodes else 0
    return Chain(name, ("", *up), tuple(fanout), tuple(leaves), node)


def known_chain(reader: Reader, value: Value, path: str, name: str, chains: dict[str, Chain]) -> Chain | None:
    """The chain of a top cell, if it can be one."""
    chain = chains.get(name)
    if chain is None:
        if name not in reader.faulty:
            reader.wrong(
                path, value, f"{name} is not a defined cell type", nearest(name, chains.keys() | reader.faulty)
            )
            reader.faulty.add(name)
    elif chain.node == 0:
        reader.wrong(path, value, f"{name} is smaller than a node", "a top cell is a node or contains nodes")
        reader.faulty.add(name)
        return None
    return chain
