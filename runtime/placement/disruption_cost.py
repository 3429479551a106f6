"""What a placement costs those who use its devices now."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from runtime.gangs import Gang


@dataclass(frozen=True, slots=True, order=True)
class DisruptionCost:
    """In devices of whole gangs, as a gang that loses one pod has to go. Lower is better, from first to last."""

    killed: int
    """Of guaranteed gangs."""
    displaced: int
    """Of opportunistic gangs."""
    demoted: int
    """Of gangs that lose their guarantee, and go on."""


def disruption_cost(displaced: Iterable[Gang], demoted: Collection[Gang]) -> DisruptionCost:
    """Of gangs as they are before; one that is demoted and displaced all the same counts as killed alone."""
    victims = list(displaced)
    return DisruptionCost(
        weight(gang for gang in victims if gang.priority >= 0),
        weight(gang for gang in victims if gang.priority < 0),
        weight(gang for gang in demoted if gang not in victims),
    )


def weight(gangs: Iterable[Gang]) -> int:
    """Their devices."""
    return sum(len(gang.virtual) for gang in gangs)
