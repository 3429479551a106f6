"""A scheduler core for gangs of pods on cells, after HiveD; its life cycles are generated from `specs/hived`."""

from runtime.allocator import Allocator, Tenant
from runtime.answers import Answer, Bind, Demotion, GangStatus, LeafCell, Phase, Preempt, TopCell, Wait
from runtime.errors import ConfigurationError, Problem, SafetyBrokenError, UserError
from runtime.pods import OPPORTUNISTIC, BindInfo, GangSpec, Member, Pod, PodPlacement, PodSpec
from runtime.recovery import Recovered

__all__ = [
    "OPPORTUNISTIC",
    "Allocator",
    "Answer",
    "Bind",
    "BindInfo",
    "ConfigurationError",
    "Demotion",
    "GangSpec",
    "GangStatus",
    "LeafCell",
    "Member",
    "Phase",
    "Pod",
    "PodPlacement",
    "PodSpec",
    "Preempt",
    "Problem",
    "Recovered",
    "SafetyBrokenError",
    "Tenant",
    "TopCell",
    "UserError",
    "Wait",
]
