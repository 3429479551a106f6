"""The search itself, compiled: states, their table, their successors.

Whole numbers and flat arrays only. The functions of the system and the numbers in capitals are put in where a module is
compiled. An entry of the table is a state's number plus 1, in so many `bits`, and above it as many bits of the state's
hash as there is room for: most states that are not the one sought are told apart without looking at them. With several
owners, each has a table of his own behind the one before, and his states are told by their hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Array = Any

    def expand(s: Array, t: Array, out: Array, n: int, cap: int) -> int: ...
    def unpack(words: Array, at: int, s: Array) -> int: ...
    def note(s: Array, t: Array) -> int: ...
    def hold(s: Array, out: Array, at: int, apart: int) -> int: ...
    def stuck(s: Array) -> bool: ...

    WORDS = STRIDE = CURRENT = FIRED = LED = DEAD = FAULTS = NEXT = 0

# of the system -------------------------------------------------------------------------------------------------------


def expand_block(words: Array, first: int, last: int, out: Array, origins: Array, cap: int, s: Array, t: Array) -> int:
    """The successors of states, from the first one on until there is no room for more: how many, with the state that
    each comes from. `t[NEXT]` is the first state that has not been expanded."""
    n = 0
    i = first
    while i < last:
        unpack(words, i * WORDS, s)
        t[CURRENT] = i
        t[LED] = 0
        fired = t[FIRED]
        end = expand(s, t, out, n, cap)
        if end > cap:
            t[FIRED] = fired
            break
        if end < 0:
            t[FIRED] = fired
            if t[FAULTS - end] == 0:
                t[FAULTS - end] = i + 1
        else:
            if t[LED] == 0 and t[DEAD] == 0 and stuck(s):
                t[DEAD] = i + 1
            while n < end:
                origins[n] = i
                n += 1
        note(s, t)
        i += 1
    t[NEXT] = i
    return n


def note_block(words: Array, first: int, last: int, s: Array, t: Array) -> int:
    """Ask the questions of states that are not expanded."""
    for i in range(first, last):
        unpack(words, i * WORDS, s)
        t[CURRENT] = i
        note(s, t)
    return 0


def hold_block(words: Array, first: int, last: int, s: Array, columns: Array, apart: int) -> int:
    """Which atoms are true in states: a column for each group of them, so far apart."""
    for i in range(first, last):
        unpack(words, i * WORDS, s)
        hold(s, columns, i, apart)
    return 0


# of every system -----------------------------------------------------------------------------------------------------


def hashed(words: Array, at: int) -> int:
    """64 bits that depend on every bit of a state."""
    h = 0x51ED270B
    for i in range(WORDS):
        h = (h ^ words[at + i]) * -7046029254386353131
        h ^= h >> 32 & 0xFFFFFFFF
    h *= -4417276706812531889
    return h ^ (h >> 29 & 0x7FFFFFFFF)


def owner_of(h: int, owners: int) -> int:
    """Who keeps a state."""
    return (h >> 48 & 0x7FFF) * owners >> 15


def insert_block(
    out: Array, origins: Array, n: int, words: Array, preds: Array, table: Array, mask: int, bits: int, count: int
) -> int:
    """Keep those of the successors that are new: behind the states that there are. How many there are then."""
    low = (1 << bits) - 1
    for k in range(n):
        h = hashed(out, k * STRIDE)
        slot = h & mask
        tag = (h >> 32 & 0xFFFFFFFF) >> bits << bits
        while True:
            entry = table[slot]
            if entry == 0:
                table[slot] = tag | count + 1
                for i in range(WORDS):
                    words[count * WORDS + i] = out[k * STRIDE + i]
                preds[count] = origins[k]
                count += 1
                break
            if entry & ~low == tag:
                at = (entry & low) - 1
                same = True
                for i in range(WORDS):
                    if words[at * WORDS + i] != out[k * STRIDE + i]:
                        same = False
                if same:
                    break
            slot = slot + 1 & mask
    return count


def claim_block(
    out: Array,
    counts: Array,
    parts: int,
    cap: int,
    owner: int,
    owners: int,
    words: Array,
    table: Array,
    mask: int,
    bits: int,
    count: int,
    marks: Array,
) -> int:
    """The first half of `insert_block`, for the states of one owner among the successors that several workers found,
    part after part. An entry for a new state holds its place in `out`, counted from the number of states on; its slot
    plus 1 stands in `marks`. `counts[parts * (owner + 1) + part]` is the number of new ones."""
    low = (1 << bits) - 1
    base = owner * (mask + 1)
    found = 0
    for part in range(parts):
        new = 0
        for k in range(part * cap, part * cap + counts[part]):
            h = hashed(out, k * STRIDE)
            if owner_of(h, owners) != owner:
                continue
            slot = h & mask
            tag = (h >> 32 & 0xFFFFFFFF) >> bits << bits
            marks[k] = 0
            while True:
                entry = table[base + slot]
                if entry == 0:
                    table[base + slot] = tag | count + k + 1
                    marks[k] = base + slot + 1
                    new += 1
                    break
                if entry & ~low == tag:
                    at = (entry & low) - 1
                    same = True
                    if at >= count:
                        for i in range(WORDS):
                            if out[(at - count) * STRIDE + i] != out[k * STRIDE + i]:
                                same = False
                    else:
                        for i in range(WORDS):
                            if words[at * WORDS + i] != out[k * STRIDE + i]:
                                same = False
                    if same:
                        break
                slot = slot + 1 & mask
        counts[parts * (owner + 1) + part] = new
        found += new
    return found


def keep_block(
    out: Array,
    origins: Array,
    first: int,
    n: int,
    marks: Array,
    words: Array,
    preds: Array,
    table: Array,
    bits: int,
    count: int,
) -> int:
    """The second half, for the successors that one worker found: the new ones become states, in order."""
    low = (1 << bits) - 1
    for k in range(first, first + n):
        if marks[k] != 0:
            for i in range(WORDS):
                words[count * WORDS + i] = out[k * STRIDE + i]
            preds[count] = origins[k]
            slot = marks[k] - 1
            table[slot] = table[slot] & ~low | count + 1
            count += 1
    return count


def fill_table(words: Array, count: int, table: Array, mask: int, bits: int, owner: int, owners: int) -> int:
    """Enter all states of an owner into an empty table. How many he has."""
    base = owner * (mask + 1)
    found = 0
    for k in range(count):
        h = hashed(words, k * WORDS)
        if owner_of(h, owners) == owner:
            slot = h & mask
            while table[base + slot] != 0:
                slot = slot + 1 & mask
            table[base + slot] = (h >> 32 & 0xFFFFFFFF) >> bits << bits | k + 1
            found += 1
    return found


def find_block(
    out: Array, n: int, words: Array, table: Array, mask: int, bits: int, owners: int, targets: Array, at: int
) -> int:
    """The numbers of states that are in the table, from a place of `targets` on; -1 for those that are not. How many
    are."""
    low = (1 << bits) - 1
    found = 0
    for k in range(n):
        h = hashed(out, k * STRIDE)
        base = owner_of(h, owners) * (mask + 1)
        slot = h & mask
        tag = (h >> 32 & 0xFFFFFFFF) >> bits << bits
        targets[at + k] = -1
        while table[base + slot] != 0:
            entry = table[base + slot]
            if entry & ~low == tag:
                number = (entry & low) - 1
                same = True
                for i in range(WORDS):
                    if words[number * WORDS + i] != out[k * STRIDE + i]:
                        same = False
                if same:
                    targets[at + k] = number
                    found += 1
                    break
            slot = slot + 1 & mask
    return found


def link_block(out: Array, origins: Array, n: int, offsets: Array, marks: Array, at: int) -> int:
    """What edges to those successors have beside their targets: the marks of their steps, and how many a state has."""
    for k in range(n):
        offsets[origins[k] + 1] += 1
        marks[at + k] = out[k * STRIDE + WORDS] if STRIDE > WORDS else 0
    return 0
