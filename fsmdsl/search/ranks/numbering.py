"""What a search over several ranks adds to the kernels of one: successors go to their owners, new states get numbers.

The same kind of text as `kernels`, whose functions it uses. A successor travels as its words and a key: which state of
the block it comes from, and in the lowest 24 bits the how many-th of its successors it is. Of several ways to a state
the one with the least key is the one that a single process would have found first, and states in the order of their
keys are in the order in which it would have numbered them. Of numbers that grow from state to state, the lower 32 bits
are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsmdsl.program.source import Halves, Words
    from fsmdsl.search.kernels import hashed, owner_of, slot_of, tagged

    WORDS = STRIDE = 0

# of several ranks ----------------------------------------------------------------------------------------------------


def address_block(
    out: Words, hashes: Words, origins: Halves, n: int, numbers: Halves, first: int, seen: Words, mask: int, owners:
    int, counts: Words, marks: Words, sent: Words,
) -> int:  # fmt: skip
    """Successors by their owners, with their keys: in `sent`, `counts` for each. `first` is the number of the block's
    first state. `seen` holds states sent before, one for each slot: they are not sent again. -1 where a state has more
    successors than keys can tell."""
    for r in range(2 * owners):
        counts[r] = 0
    for k in range(n):
        h = hashes[k]
        at = (h & mask) * (WORDS + 1)
        was_sent = seen[at + WORDS] != 0
        for i in range(WORDS):
            if seen[at + i] != out[k * STRIDE + i]:
                was_sent = False
        marks[k] = -1
        if not was_sent:
            for i in range(WORDS):
                seen[at + i] = out[k * STRIDE + i]
            seen[at + WORDS] = 1
            r = owner_of(h, owners)
            marks[k] = r
            counts[r] += 1
    total = 0
    for r in range(owners):
        counts[owners + r] = total
        total += counts[r]
    nth = 0
    for k in range(n):
        nth = nth + 1 if k > 0 and origins[k] == origins[k - 1] else 0
        if nth >> 24 != 0:
            return -1
        if marks[k] >= 0:
            at = counts[owners + marks[k]] * (WORDS + 1)
            counts[owners + marks[k]] += 1
            for i in range(WORDS):
                sent[at + i] = out[k * STRIDE + i]
            sent[at + WORDS] = (numbers[origins[k]] - first & 0xFFFFFFFF) << 24 | nth
    return total


def admit_block(
    received: Words, n: int, words: Words, count: int, start: int, table: Halves, mask: int, bits: int, keys: Words,
    slots: Words,
) -> int:  # fmt: skip
    """Keep those states that are new, as they come, from number `start` on; their least keys, and their slots in the
    table. How many states there are then."""
    low = (1 << bits) - 1
    for k in range(n):
        here = k * (WORDS + 1)
        h = hashed(received, here)
        slot = slot_of(received, here, h, words, count, words, table, 0, mask, bits)
        at = (table[slot] & low) - 1
        if at < 0:
            table[slot] = tagged(h, bits) | count + 1
            for i in range(WORDS):
                words[count * WORDS + i] = received[here + i]
            keys[count - start] = received[here + WORDS]
            slots[count - start] = slot
            count += 1
        elif at >= start and received[here + WORDS] < keys[at - start]:
            keys[at - start] = received[here + WORDS]
    return count


def deal_keys(
    keys: Words, order: Words, n: int, shift: int, dealt: Words, moved: Words, counts: Words
) -> None:  # fmt: skip
    """Keys in the order of the 11 bits from `shift` on; those with the same stay in their order."""
    for d in range(2048):
        counts[d] = 0
    for k in range(n):
        counts[keys[k] >> shift & 2047] += 1
    total = 0
    for d in range(2048):
        total += counts[d]
        counts[d] = total - counts[d]
    for k in range(n):
        d = keys[k] >> shift & 2047
        dealt[counts[d]] = keys[k]
        moved[counts[d]] = order[k]
        counts[d] += 1


def sort_keys(keys: Words, order: Words, n: int, spare: Words, spared: Words, counts: Words) -> int:
    """Sort keys that are not below 0, by 11 bits at a time; `order` says where each has stood. `counts` has room for
    2048 numbers."""
    bits = 0
    sorted_before = True
    for k in range(n):
        order[k] = k
        bits |= keys[k] ^ keys[0]
        if k > 0 and keys[k] < keys[k - 1]:
            sorted_before = False
    if sorted_before:
        return 0
    shift = 0
    turned = False
    while bits >> shift != 0:
        if bits >> shift & 2047 != 0:
            if turned:
                deal_keys(spare, spared, n, shift, keys, order, counts)
            else:
                deal_keys(keys, order, n, shift, spare, spared, counts)
            turned = not turned
        shift += 11
    if turned:
        for k in range(n):
            keys[k] = spare[k]
            order[k] = spared[k]
    return 0


def share_keys(keys: Words, n: int, width: int, owners: int, counts: Words) -> None:
    """How many of the sorted keys are of states in each part of the block; the parts are of so many states."""
    for r in range(owners):
        counts[r] = 0
    for k in range(n):
        counts[(keys[k] >> 24) // width] += 1


def number_keys(order: Words, n: int, first: int, numbers: Words) -> None:
    """Numbers from the first one on, for keys in the places in which they stood before they were sorted."""
    for k in range(n):
        numbers[order[k]] = first + k


def arrange_block(
    keys: Words, order: Words, n: int, new_numbers: Words, start: int, first: int, words: Words, numbers: Halves, preds:
    Halves, table: Halves, slots: Words, bits: int, spare: Words,
) -> None:  # fmt: skip
    """Bring new states into the order of their keys, and write down their numbers and where they came from."""
    low = (1 << bits) - 1
    for k in range(n * WORDS):
        spare[k] = words[start * WORDS + k]
    for k in range(n):
        for i in range(WORDS):
            words[(start + k) * WORDS + i] = spare[order[k] * WORDS + i]
        numbers[start + k] = new_numbers[k] & 0xFFFFFFFF
        preds[start + k] = first + (keys[k] >> 24) & 0xFFFFFFFF
        slot = slots[order[k]]
        table[slot] = table[slot] & ~low | start + k + 1


def choose_block(
    words: Words, numbers: Halves, preds: Halves, n: int, base: int, origin: int, owner: int, owners: int, chosen:
    Words, count: int,
) -> int:  # fmt: skip
    """Append those states that an owner keeps, or all where there is one: words, full number, full number of the
    origin. How many there are then. `base` and `origin` are not above the numbers of which the lower halves are given.
    """
    for k in range(n):
        if owner_of(hashed(words, k * WORDS), owners) == owner:
            at = count * (WORDS + 2)
            for i in range(WORDS):
                chosen[at + i] = words[k * WORDS + i]
            chosen[at + WORDS] = base + (numbers[k] - base & 0xFFFFFFFF)
            chosen[at + WORDS + 1] = origin + (preds[k] - origin & 0xFFFFFFFF)
            count += 1
    return count


def take_keys(chosen: Words, n: int, keys: Words) -> None:
    """The numbers of chosen states."""
    for k in range(n):
        keys[k] = chosen[k * (WORDS + 2) + WORDS]


def place_block(chosen: Words, order: Words, n: int, words: Words, numbers: Halves, preds: Halves, count: int) -> int:
    """Append chosen states in an order."""
    for k in range(n):
        at = order[k] * (WORDS + 2)
        for i in range(WORDS):
            words[(count + k) * WORDS + i] = chosen[at + i]
        numbers[count + k] = chosen[at + WORDS] & 0xFFFFFFFF
        preds[count + k] = chosen[at + WORDS + 1] & 0xFFFFFFFF
    return count + n
