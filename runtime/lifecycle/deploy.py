"""The node side of a pod: its sliver is brought up and taken down.

The document's node runs the machine itself, and knows at once how an action went. Here the cluster says so later; until
then the sliver stands still in the middle of its round.
"""

from __future__ import annotations

from contextlib import suppress
from enum import Enum

from generated.confine import Config, SetState, SliverState, System
from runtime.lifecycle.registry import Part, Slot


class Act(Enum):
    """What happens to a pod on its node."""

    DEPLOY = "deploy"
    """It is bound to the node."""
    START = "start"
    """Its containers are started."""


AWAITED = {SliverState.DEPLOYING: Act.DEPLOY, SliverState.STARTING: Act.START}


class UnderwayError(Exception):
    """Raised by an action whose answer comes later: its machine waits for it."""


def awaited(slot: Slot) -> Act | None:
    """What has begun with a pod, and is not done."""
    return AWAITED.get(slot.part.state) if slot.part is not None else None


def deploy(slot: Slot) -> None:
    """A pod has its place: its sliver begins."""
    part = slot.part = Part(System(), slot.application.registry.actions.part)
    part.slot = slot
    with suppress(UnderwayError):
        part.fetched(slot.application.work.visible, None, SetState.START, Config.C1, 0, 0)


def answer(slot: Slot, act: Act, *, ok: bool) -> None:
    """What was awaited has been done, or never will be."""
    part = slot.part
    assert part is not None, "something is awaited of it"
    slot.application.touched()
    with suppress(UnderwayError):
        if act is Act.DEPLOY:
            (part.deploy_ok if ok else part.deploy_err)()
        else:
            (part.start_ok if ok else part.start_err)()


def undeploy(slot: Slot) -> None:
    """Nothing is left of a pod on its node."""
    part, act = slot.part, awaited(slot)
    if part is None:
        return
    if act is not None:
        answer(slot, act, ok=False)
    if part.state is not SliverState.ABSENT:
        part.not_found()
    slot.part = None
