"""The search itself, compiled: states, their table, their successors.

Whole numbers and flat arrays only. The functions of the system and the numbers in capitals are put in where a module is
compiled. An entry of the table is a state's number plus 1, in so many `bits`, and above it as many bits of the state's
hash as there is room for: most states that are not the one sought are told apart without looking at them. With several
owners, each has its own table after the one before; the hash of a state decides its owner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsmdsl.program.source import Halves, Row, Words

    def expand(s: Row, t: Row, out: Words, n: int, cap: int) -> int: ...
    def unpack(words: Words, at: int, s: Row) -> int: ...
    def note(s: Row, t: Row) -> int: ...
    def hold(s: Row, out: Words, at: int, apart: int) -> int: ...
    def stuck(s: Row) -> bool: ...
    def waiting(s: Row) -> bool: ...

    WORDS = STRIDE = CURRENT = CHANGE = LEADS_ON = DEAD = WAITING = WAITS = NEXT = 0

# of both -------------------------------------------------------------------------------------------------------------


def hashed(words: Words, at: int) -> int:
    """64 bits that depend on every bit of a state."""
    h = 0x51ED270B
    for i in range(WORDS):
        h = (h ^ words[at + i]) * -7046029254386353131
        h ^= h >> 32 & 0xFFFFFFFF
    h *= -4417276706812531889
    return h ^ (h >> 29 & 0x7FFFFFFFF)


# of the system -------------------------------------------------------------------------------------------------------


def expand_block(
    words: Words, first: int, last: int, out: Words, origins: Halves, hashes: Words, cap: int, s: Row, t: Row
) -> int:
    """The successors of states, from the first one on until there is no room for more: how many, with the state that
    each comes from, and their hashes. `t[NEXT]` is the first state that has not been expanded."""
    n = 0
    i = first
    while i < last:
        unpack(words, i * WORDS, s)
        t[CURRENT] = i
        t[LEADS_ON] = 0
        end = expand(s, t, out, n, cap)
        if end > cap:
            t[CHANGE] = -1
            expand(s, t, out, n, n)
            t[CHANGE] = 1
            break
        if t[LEADS_ON] == 0:
            if stuck(s):
                t[DEAD] = t[DEAD] if t[DEAD] != 0 else i + 1
            elif waiting(s):
                t[WAITING] = t[WAITING] if t[WAITING] != 0 else i + 1
                t[WAITS] += 1
        while n < end:
            origins[n] = i
            hashes[n] = hashed(out, n * STRIDE)
            n += 1
        note(s, t)
        i += 1
    t[NEXT] = i
    return n


def note_block(words: Words, first: int, last: int, s: Row, t: Row) -> None:
    """Ask the questions of states that are not expanded."""
    for i in range(first, last):
        unpack(words, i * WORDS, s)
        t[CURRENT] = i
        note(s, t)


def hold_block(words: Words, first: int, last: int, s: Row, columns: Words, apart: int) -> None:
    """Which atoms are true in states: a column for each group of them, so far apart."""
    for i in range(first, last):
        unpack(words, i * WORDS, s)
        hold(s, columns, i, apart)


# of every system -----------------------------------------------------------------------------------------------------


def owner_of(h: int, owners: int) -> int:
    """The owner of a state."""
    return (h >> 48 & 0x7FFF) * owners >> 15


def drop_repeated(out: Words, origins: Halves, hashes: Words, n: int, recent: Words, places: int) -> int:
    """Leave out successors that were found a short while ago: how many are left, in order.

    `recent` remembers one state for each of so many `places`, a power of two, by its hash. It begins with what no state
    has. Without jumps, which the processor could not foresee.
    """
    left = 0
    for k in range(n):
        slot = (hashes[k] & places - 1) * WORDS
        other = 0
        for i in range(WORDS):
            word = out[k * STRIDE + i]
            other |= recent[slot + i] ^ word
            recent[slot + i] = word
        for i in range(STRIDE):
            out[left * STRIDE + i] = out[k * STRIDE + i]
        origins[left] = origins[k]
        hashes[left] = hashes[k]
        left += 1 if other != 0 else 0
    return left


def fetch(table: Halves, base: int, mask: int, hashes: Words, first: int, last: int) -> int:
    """Touch the places of a table that are looked at next, all at once: the processor waits for them together."""
    touched = 0
    for k in range(first, last):
        touched += table[base + (hashes[k] & mask)]
    return touched


def tagged(h: int, bits: int) -> int:
    """What an entry of the table has of a hash, above so many bits for the state's number."""
    return (h >> 32 & 0xFFFFFFFF) >> bits << bits


def slot_of(
    source: Words, at: int, h: int, words: Words, count: int, coming: Words, table: Halves, base: int, mask: int, bits:
    int,
) -> int:  # fmt: skip
    """Where a state stands in an owner's table, which begins at `base`, or would stand: there the entry is 0. Numbers
    from `count` on are of successors: see `claim_block`."""
    low = (1 << bits) - 1
    tag = tagged(h, bits)
    slot = h & mask
    while table[base + slot] != 0:
        entry = table[base + slot]
        if entry & ~low == tag:
            n = (entry & low) - 1
            other = 0
            if n < count:
                for i in range(WORDS):
                    other |= words[n * WORDS + i] ^ source[at + i]
            else:
                for i in range(WORDS):
                    other |= coming[(n - count) * STRIDE + i] ^ source[at + i]
            if other == 0:
                break
        slot = slot + 1 & mask
    return base + slot


def insert_block(
    out: Words, origins: Halves, hashes: Words, n: int, words: Words, preds: Halves, table: Halves, mask: int, bits:
    int, count: int,
) -> int:  # fmt: skip
    """Keep those of the successors that are new: behind the states that there are. How many there are then."""
    touched = 0
    for k in range(n):
        if k % 32 == 0:
            touched += fetch(table, 0, mask, hashes, k, min(k + 32, n))
        slot = slot_of(out, k * STRIDE, hashes[k], words, count, out, table, 0, mask, bits)
        if table[slot] == 0:
            table[slot] = tagged(hashes[k], bits) | count + 1
            for i in range(WORDS):
                words[count * WORDS + i] = out[k * STRIDE + i]
            preds[count] = origins[k]
            count += 1
    return count if touched >= 0 else -1  # it always is; nothing that is fetched may be left out as useless


def share_block(hashes: Words, part: int, n: int, cap: int, owners: int, lists: Halves, lengths: Words) -> None:
    """Sort the successors that one worker found by owner: for each a list of their places, in order."""
    first = part * owners
    for owner in range(owners):
        lengths[first + owner] = 0
    for k in range(part * cap, part * cap + n):
        mine = first + owner_of(hashes[k], owners)
        lists[mine * cap + lengths[mine]] = k
        lengths[mine] += 1


def claim_block(
    out: Words, hashes: Words, lists: Halves, lengths: Words, parts: int, cap: int, owner: int, words: Words, table:
    Halves, mask: int, bits: int, count: int, marks: Words, counts: Words,
) -> int:  # fmt: skip
    """The first half of `insert_block`, for the states of one owner among the successors that several workers found,
    part after part. An entry for a new state holds its place in `out`, counted from the number of states on; its slot
    plus 1 stands in `marks`. `counts[owner * parts + part]` is the number of new ones."""
    base = owner * (mask + 1)
    total = 0
    touched = 0
    for part in range(parts):
        begin = (part * parts + owner) * cap
        owned = lengths[part * parts + owner]
        new = 0
        for j in range(owned):
            if j % 32 == 0:
                for i in range(j, min(j + 32, owned)):
                    touched += table[base + (hashes[lists[begin + i]] & mask)]
            k = lists[begin + j]
            marks[k] = 0
            slot = slot_of(out, k * STRIDE, hashes[k], words, count, out, table, base, mask, bits)
            if table[slot] == 0:
                table[slot] = tagged(hashes[k], bits) | count + k + 1
                marks[k] = slot + 1
                new += 1
        counts[owner * parts + part] = new
        total += new
    return total if touched >= 0 else -1


def keep_block(
    out: Words, origins: Halves, first: int, n: int, marks: Words, words: Words, preds: Halves, table: Halves, bits:
    int, count: int,
) -> int:  # fmt: skip
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


def fill_table(words: Words, count: int, table: Halves, mask: int, bits: int, owner: int, owners: int) -> int:
    """Enter all states of an owner into an empty table. Returns their number."""
    base = owner * (mask + 1)
    total = 0
    for k in range(count):
        h = hashed(words, k * WORDS)
        if owner_of(h, owners) == owner:
            slot = h & mask
            while table[base + slot] != 0:
                slot = slot + 1 & mask
            table[base + slot] = tagged(h, bits) | k + 1
            total += 1
    return total


def find_block(
    out: Words, n: int, words: Words, table: Halves, mask: int, bits: int, owners: int, targets: Words, at: int
) -> None:  # fmt: skip
    """The numbers of states that are in the table, from a place of `targets` on; -1 for those that are not."""
    low = (1 << bits) - 1
    for k in range(n):
        h = hashed(out, k * STRIDE)
        base = owner_of(h, owners) * (mask + 1)
        slot = slot_of(out, k * STRIDE, h, words, low, out, table, base, mask, bits)
        targets[at + k] = (table[slot] & low) - 1


def link_block(out: Words, origins: Halves, n: int, offsets: Words, marks: Words, at: int) -> None:
    """What edges to those successors have beside their targets: the marks of their steps, and how many a state has."""
    for k in range(n):
        offsets[origins[k] + 1] += 1
        marks[at + k] = out[k * STRIDE + WORDS] if STRIDE > WORDS else 0
