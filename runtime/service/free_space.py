"""What would free space for a waiting gang, by trial on a copy of the allocator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.allocator import Allocator
from runtime.answers import Bind, Phase, Preempt
from runtime.errors import UserError
from runtime.pods import Pod

MAX_GANGS = 50
"""Maximum number of gangs that are removed, one after the other."""
MAX_TRIED = 6
"""Maximum number of removed gangs that are each checked for being necessary."""


@dataclass(frozen=True, slots=True)
class Question:
    """The input of a trial, which can run in any thread."""

    copy: Callable[[Mapping[str, str]], Allocator]
    images: Mapping[str, str]
    """The contents of the journal."""
    pod: Pod
    """A pod of the gang that waits."""
    in_the_way: tuple[str, ...]
    """Gangs that it cannot displace, those to take away first at the beginning."""


def what_would_free_space(question: Question) -> dict[str, Any]:
    """Either of these would do: that the gangs end, or that the nodes become healthy. Empty where it would not.

    The gangs are enough together; of up to `MAX_TRIED` gangs, each is needed. Costs a few starts of an allocator, and a
    decision for each gang that is taken away.
    """
    return {"gangsEnd": _ends(question), "nodesHealthy": _heals(question)}


def _fits(allocator: Allocator, pod: Pod) -> bool:
    try:
        return isinstance(allocator.schedule(pod, None, Phase.FILTERING), Bind | Preempt)
    except UserError:
        return False


def _ends(question: Question) -> list[str]:
    allocator = question.copy(question.images)
    ended: list[tuple[str, tuple[Pod, ...]]] = []
    for name in question.in_the_way[:MAX_GANGS]:
        gang = allocator.gangs.get(name)
        if gang is None:
            continue
        pods = gang.pods
        ended.append((name, pods))
        for pod in pods:
            allocator.delete(pod)
        if _fits(allocator, question.pod):
            return _needed(question, ended)
    return []


def _needed(question: Question, ended: list[tuple[str, tuple[Pod, ...]]]) -> list[str]:
    """Without those that need not end. The last one is needed, for without it there was no room."""
    names = [name for name, _ in ended]
    for name in names[:-1] if len(names) <= MAX_TRIED else []:
        rest = [x for x in names if x != name]
        allocator = question.copy(question.images)
        for other, pods in ended:
            if other in rest:
                for pod in pods:
                    allocator.delete(pod)
        if _fits(allocator, question.pod):
            names = rest
    return names


def _heals(question: Question) -> list[str]:
    allocator = question.copy(question.images)
    bad = [name for name, cells in allocator.cluster.nodes.items() if not cells[0].healthy]
    for name in bad:
        allocator.node_healthy(name)
    return sorted(bad) if bad and _fits(allocator, question.pod) else []
