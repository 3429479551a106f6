"""The virtual clusters: how many cells of which kind each has."""

from __future__ import annotations

from runtime.config.model import Chain, ForestSpec, Quota, TenantSpec
from runtime.config.physical import pins
from runtime.config.reader import NOTHING, Reader, join, nearest
from runtime.config.source import Value


def read_tenants(reader: Reader, value: Value, path: str, forests: dict[str, ForestSpec]) -> dict[str, TenantSpec]:
    """The virtual clusters by name."""
    pinned = {name for spec in forests.values() for name, _, _ in pins(spec)}
    owner: dict[str, str] = {}
    tenants: dict[str, TenantSpec] = {}
    for name, entry in reader.table(value, path).items():
        here = join(path, name)
        fields = reader.table(entry, here, ("virtualCells", "pinnedCells"))
        quotas = [
            _quota(reader, item, at, forests)
            for at, item in reader.items(fields.get("virtualCells", NOTHING), join(here, "virtualCells"))
        ]
        own: list[str] = []
        for at, item in reader.items(fields.get("pinnedCells", NOTHING), join(here, "pinnedCells")):
            pin_value = reader.table(item, at, ("pinnedCellId",)).get("pinnedCellId", NOTHING)
            pin = reader.text(pin_value, join(at, "pinnedCellId"))
            if pin not in pinned:
                reader.wrong(at, item, f"{pin or 'it'} is not a pinned cell of physicalCells", nearest(pin, pinned))
            elif owner.setdefault(pin, name) != name or pin in own:
                reader.wrong(at, item, f"{pin} already belongs to {owner[pin]}")
            else:
                own.append(pin)
        tenants[name] = TenantSpec(name, tuple(q for q in quotas if q is not None), tuple(own))
    return tenants


def _quota(reader: Reader, value: Value, path: str, forests: dict[str, ForestSpec]) -> Quota | None:
    fields = reader.table(value, path, ("cellType", "cellNumber"))
    written = fields.get("cellType", NOTHING)
    name = reader.text(written, join(path, "cellType"))
    if not name:
        reader.wrong(path, value, "has no cellType", "as in CHAIN.TYPE")
        return None
    if "cellNumber" not in fields:
        reader.wrong(path, value, "has no cellNumber")
    number = reader.number(fields.get("cellNumber", NOTHING), join(path, "cellNumber"), least=0, default=0)
    spec = _chain_of(name, forests)
    if spec is None:
        first = name.partition(".")[0]
        if first not in reader.faulty:
            what = f"there is no chain {first} in physicalCells"
            reader.wrong(join(path, "cellType"), written, what, nearest(first, forests))
        return None
    level = _level(reader, written, join(path, "cellType"), spec.chain, name)
    return None if level is None else Quota(spec.chain.name, level, number)


def _chain_of(path: str, forests: dict[str, ForestSpec]) -> ForestSpec | None:
    """The chain that a path begins with. Names of types may contain dots themselves: the longest counts."""
    fitting = [x for x in forests if path == x or path.startswith(f"{x}.")]
    return forests[max(fitting, key=len)] if fitting else None


def _level(reader: Reader, value: Value, path: str, chain: Chain, name: str) -> int | None:
    """The level at the end of a path through the types of a chain."""
    level, rest = chain.top, name[len(chain.name) :]
    while rest:
        if level == 1 or not (rest == f".{chain.types[level - 1]}" or rest.startswith(f".{chain.types[level - 1]}.")):
            inside = f"has {chain.types[level - 1]}" if level > 1 else "is a leaf"
            reader.wrong(path, value, f"{chain.types[level]} {inside}, not {rest[1:]}")
            return None
        level -= 1
        rest = rest[1 + len(chain.types[level]) :]
    return level
