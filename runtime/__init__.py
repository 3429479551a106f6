"""A scheduler core for gangs of pods on cells, after HiveD; its life cycles are generated from `specs/hived`.

A name is imported when it is first used: `python -m runtime` imports this package before its first line.
"""

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it; to import `typing` would take longer than all else here

if TYPE_CHECKING:
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

_HOMES = {
    "runtime.allocator": ("Allocator", "Tenant"),
    "runtime.answers": ("Answer", "Bind", "Demotion", "GangStatus", "LeafCell", "Phase", "Preempt", "TopCell", "Wait"),
    "runtime.errors": ("ConfigurationError", "Problem", "SafetyBrokenError", "UserError"),
    "runtime.pods": ("OPPORTUNISTIC", "BindInfo", "GangSpec", "Member", "Pod", "PodPlacement", "PodSpec"),
    "runtime.recovery": ("Recovered",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A name of `__all__`, from the module that declares it."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME[name]), name)
