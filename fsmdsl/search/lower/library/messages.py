"""Functions for bags of messages with sets, lists or maps. Read as a program: see `program.source`."""

from __future__ import annotations

# In the order of their elements --------------------------------------------------------------------------------------


def set_order(a: int, b: int) -> int:
    """Which of two sets comes first, by their elements from the first?"""
    low = (a ^ b) & -(a ^ b)
    if a & low:
        return -1 if b >= low else 1
    if b & low:
        return 1 if a >= low else -1
    return 0


def map_order(a: int, b: int, keys: int, bits: int) -> int:
    """Which of two maps comes first, by their values from that of the first key?"""
    for i in range(keys):
        x = a >> i * bits & (1 << bits) - 1
        y = b >> i * bits & (1 << bits) - 1
        if x != y:
            return x - y
    return 0


def list_order(a: int, b: int, at: int, bits: int) -> int:
    """Which of two lists comes first, by their items from the first?"""
    n, k = a & (1 << at) - 1, b & (1 << at) - 1
    first = map_order(a >> at, b >> at, min(n, k), bits)
    return first if first != 0 else n - k
