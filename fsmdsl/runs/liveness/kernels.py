"""The loops that visit every state or edge: on flat sequences of integers, made by the caller.

Each function is whole in itself and uses nothing but indices, arithmetic and loops, so that it runs as it stands on
lists and, read as a program and compiled, on arrays (see `engine`). A graph is `offsets`, `targets` and whatever its
edges carry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsmdsl.program.source import Ints, Words

# Arrays --------------------------------------------------------------------------------------------------------------


def narrow(wide: Words, numbers: Ints, count: int) -> None:
    """Numbers with 64 bits as numbers with 32, which is enough for them."""
    for at in range(count):
        numbers[at] = wide[at]


# The state graph -----------------------------------------------------------------------------------------------------


def gather(offsets: Words, marks: Words, enabled: Words, states: int, behind: int) -> None:
    """For each state, the marks of all its edges together; of the marks in `behind`, the one behind each counts too."""
    for state in range(states):
        union = 0
        for edge in range(offsets[state], offsets[state + 1]):
            union |= marks[edge]
        enabled[state] = union | (union >> 1 & behind)


def levels(offsets: Words, targets: Ints, parents: Ints, order: Ints, starts: Ints, firsts: int) -> int:
    """Breadth first from the first states: the `order`, each state's parent (-1: none; -2 when handed in: not seen),
    where in the order each depth begins and the last one ends. Returns the number of depths."""
    for state in range(firsts):
        parents[state] = -1
        order[state] = state
    head, tail, depth = 0, firsts, 0
    while head < tail:
        starts[depth] = head
        depth += 1
        end = tail
        while head < end:
            state = order[head]
            head += 1
            for edge in range(offsets[state], offsets[state + 1]):
                target = targets[edge]
                if parents[target] == -2:
                    parents[target] = state
                    order[tail] = target
                    tail += 1
    starts[depth] = tail
    return depth


def spread(column: Words, bit: int, place: int, letters: Words, states: int) -> None:
    """Add one atom, a bit of a column, to the letters, as the bit `place`."""
    for state in range(states):
        letters[state] |= ((column[state] >> bit) & 1) << place


def reachable_obligations(offsets: Words, targets: Ints, ahead: Words, states: int) -> int:
    """Add to what is ahead of each state what is ahead of those that follow it. Returns how many states have more: 0
    when nothing is missing. States are mostly numbered after those that lead to them."""
    changed = 0
    state = states - 1
    while state >= 0:
        union = ahead[state]
        for edge in range(offsets[state], offsets[state + 1]):
            union |= ahead[targets[edge]]
        if union != ahead[state]:
            ahead[state] = union
            changed += 1
        state -= 1
    return changed


def exclude(condition: Words, bit: int, ahead: Words, mark: int, column: Words, place: int, states: int) -> None:
    """Set the bit `place` of a column where a bit is given and a mark is not ahead."""
    for state in range(states):
        if ((condition[state] >> bit) & 1) > ((ahead[state] >> mark) & 1):
            column[state] |= 1 << place


# The product with an automaton ---------------------------------------------------------------------------------------
# Node `s * size + q`: the run is in state s, the automaton in q. Transition t of the automaton goes from q, for t from
# `first[q]` to `first[q + 1]`, to `goal[t]`, where the letter of s and `must[t]` make `value[t]`.
# A letter below 0 is that of a state that has not been expanded: its successors are unknown.


def search(
    offsets: Words, targets: Ints, letters: Words,
    order: Ints, starts: Ints, depths: int,
    first: Ints, must: Words, value: Words, goal: Ints, size: int, start: int, firsts: int, truth: int,
    number: Ints, nodes: Words, parents: Ints, hit: Ints,
) -> int:  # fmt: skip
    """All nodes that can be reached, breadth first: `nodes` in that order, the `number` of each (-1 when handed in),
    its parent (a node's number; -1: none; -2 - s: state s while the automaton waited). Returns how many.

    With `depths` the automaton may wait in `start` for as long as it likes, without nodes of its own; `order` and
    `starts` (see `levels`) tell when it can be where. Ends early when the automaton gets to `truth`, where it accepts
    whatever comes: `hit` is the state that was read last, and its node as a parent; else -1.
    """
    count = head = depth = 0
    hit[0] = -1
    if depths == 0:
        while count < firsts:
            number[count * size + start] = count
            nodes[count] = count * size + start
            parents[count] = -1
            count += 1
    while head < count or depth < depths:
        tail = count
        seed = seeds = 0
        if depth < depths:
            seed, seeds = starts[depth], starts[depth + 1]
        depth += 1
        while seed < seeds or head < tail:
            if seed < seeds:
                state, q, me = order[seed], start, -2 - order[seed]
                seed += 1
            else:
                state, q, me = nodes[head] // size, nodes[head] % size, head
                head += 1
            for t in range(first[q], first[q + 1]):
                if letters[state] & must[t] == value[t]:
                    if goal[t] == truth:
                        hit[0] = state
                        hit[1] = me
                        return count
                    edge, end = offsets[state], offsets[state + 1]
                    stays = edge == end and letters[state] >= 0
                    while edge < end or stays:
                        target = state if stays else targets[edge]
                        stays = False
                        edge += 1
                        node = target * size + goal[t]
                        if number[node] < 0:
                            number[node] = count
                            nodes[count] = node
                            parents[count] = me
                            count += 1
    return count


def restrict(nodes: Words, count: int, size: int, useful: Ints, local: Ints, subset: Ints) -> int:
    """Number anew, in the same order, the nodes in which the automaton is in a useful state. Returns how many."""
    left = 0
    for node in range(count):
        local[node] = -1
        if useful[nodes[node] % size]:
            local[node] = left
            subset[left] = node
            left += 1
    return left


def degrees(
    offsets: Words, letters: Words, enabled: Words, used: int,
    first: Ints, must: Words, value: Words, goal: Ints, size: int, block: Ints,
    nodes: Words, subset: Ints, total: int, product_offsets: Words, product_enabled: Words,
) -> int:  # fmt: skip
    """Where the edges of each node kept begin, and what is enabled in it. Returns the number of edges."""
    edges = 0
    for node in range(total):
        product_offsets[node] = edges
        state, q = nodes[subset[node]] // size, nodes[subset[node]] % size
        product_enabled[node] = enabled[state] & used
        degree = offsets[state + 1] - offsets[state]
        if degree == 0 and letters[state] >= 0:
            degree = 1
        for t in range(first[q], first[q + 1]):
            if block[goal[t]] == block[q] and letters[state] & must[t] == value[t]:
                edges += degree
    product_offsets[total] = edges
    return edges


def connect(
    offsets: Words, targets: Ints, marks: Words, letters: Words, used: int,
    first: Ints, must: Words, value: Words, goal: Ints, accept: Words, size: int, block: Ints,
    number: Ints, nodes: Words, local: Ints, subset: Ints, total: int, product_targets: Ints, product_marks: Words,
) -> None:  # fmt: skip
    """The edges between nodes kept, where the automaton does not leave its block: what each fulfils and accepts."""
    at = 0
    for node in range(total):
        state, q = nodes[subset[node]] // size, nodes[subset[node]] % size
        for t in range(first[q], first[q + 1]):
            if block[goal[t]] == block[q] and letters[state] & must[t] == value[t]:
                begin, end = offsets[state], offsets[state + 1]
                if begin == end and letters[state] >= 0:
                    product_targets[at] = local[number[state * size + goal[t]]]
                    product_marks[at] = accept[t]
                    at += 1
                for edge in range(begin, end):
                    product_targets[at] = local[number[targets[edge] * size + goal[t]]]
                    product_marks[at] = (marks[edge] & used) | accept[t]
                    at += 1


# Strongly connected components ---------------------------------------------------------------------------------------


def components(
    offsets: Words, targets: Ints, alive: Ints, worklist: Ints, size: int,
    component: Ints, low: Ints, index: Ints, stack: Ints, trail: Ints, edge: Words,
) -> int:  # fmt: skip
    """The strongly connected components of the nodes listed, which are those alive: `component` of each, numbered from
    0. Returns how many. Tarjan's algorithm, with a stack of its own (SIAM Journal on Computing 1, 1972)."""
    for k in range(size):
        index[worklist[k]] = 0
        component[worklist[k]] = -1
    at = clock = count = height = 0
    while at < size:
        depth = -1
        w = worklist[at]
        at += 1
        while depth >= 0 or index[w] == 0:
            if index[w] == 0:
                clock += 1
                index[w] = low[w] = clock
                edge[w] = offsets[w]
                stack[height] = w
                height += 1
                depth += 1
                trail[depth] = w
            v = trail[depth]
            if edge[v] < offsets[v + 1]:
                x = targets[edge[v]]
                edge[v] += 1
                if alive[x]:
                    if index[x] == 0:
                        w = x
                    elif component[x] < 0 and index[x] < low[v]:
                        low[v] = index[x]
                continue
            depth -= 1
            if depth >= 0 and low[v] < low[trail[depth]]:
                low[trail[depth]] = low[v]
            if low[v] == index[v]:
                height -= 1
                component[stack[height]] = count
                while stack[height] != v:
                    height -= 1
                    component[stack[height]] = count
                count += 1
    return count


def weigh(
    offsets: Words, targets: Ints, marks: Words, enabled: Words, alive: Ints, worklist: Ints, size: int,
    component: Ints, count: int, inner: Ints, done: Words, all_along: Words, anywhere: Words, entry: Ints,
) -> None:  # fmt: skip
    """For each component: has it an edge inside (`inner`), what its edges fulfil, what is enabled all along and
    anywhere, and its first node."""
    for c in range(count):
        inner[c] = done[c] = anywhere[c] = 0
        all_along[c] = entry[c] = -1
    for at in range(size):
        node = worklist[at]
        c = component[node]
        if entry[c] < 0 or node < entry[c]:
            entry[c] = node
        all_along[c] &= enabled[node]
        anywhere[c] |= enabled[node]
        for edge in range(offsets[node], offsets[node + 1]):
            if alive[targets[edge]] and component[targets[edge]] == c:
                inner[c] = 1
                done[c] |= marks[edge]


def judge(
    count: int, needed: int, weak: int, strong: int,
    inner: Ints, done: Words, all_along: Words, anywhere: Words, entry: Ints, missing: Words,
) -> int:  # fmt: skip
    """The component with the smallest first node that a fair accepted run can fill; -1 if there is none.

    `missing` says what becomes of the others: 0, nothing can; else the strong obligations without which some part of
    it may be filled still.
    """
    best = -1
    for c in range(count):
        missing[c] = 0
        if inner[c] and needed & ~done[c] == 0 and weak & all_along[c] & ~done[c] == 0:
            missing[c] = strong & anywhere[c] & ~done[c]
            if missing[c] == 0 and (best < 0 or entry[c] < entry[best]):
                best = c
    return best


def cut(enabled: Words, alive: Ints, worklist: Ints, size: int, component: Ints, missing: Words) -> int:
    """Keep of each component the nodes in which nothing that is missing is enabled. Returns how many are left."""
    left = 0
    for at in range(size):
        node = worklist[at]
        lacks = missing[component[node]]
        if lacks != 0 and enabled[node] & lacks == 0:
            worklist[left] = node
            left += 1
        else:
            alive[node] = 0
    return left


def enclose(worklist: Ints, size: int, component: Ints, chosen: int, member: Ints, nodes: int) -> None:
    """Note which nodes are in a component."""
    for at in range(nodes):
        member[at] = 0
    for at in range(size):
        if component[worklist[at]] == chosen:
            member[worklist[at]] = 1


def approach(
    offsets: Words, targets: Ints, marks: Words, enabled: Words, member: Ints,
    start: int, aim: int, lacking: int, avoided: int,
    source: Ints, came: Words, queue: Ints, seen: Ints, turn: int, nodes: int,
) -> int:  # fmt: skip
    """The last edge of a shortest way inside a component that ends with an edge that fulfils some of `lacking`, or in a
    node where not all of `avoided` is enabled, or in `aim`. At least one edge long; -1: there is none.

    `came` is the edge by which a node was reached and `source` its other end, where `seen` is this `turn`."""
    queue[0] = start
    seen[start] = turn
    head, tail = 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        for edge in range(offsets[node], offsets[node + 1]):
            target = targets[edge]
            if member[target]:
                if marks[edge] & lacking or avoided & ~enabled[target] or target == aim:
                    source[nodes] = node
                    return edge
                if seen[target] != turn:
                    seen[target] = turn
                    came[target] = edge
                    source[target] = node
                    queue[tail] = target
                    tail += 1
    return -1
