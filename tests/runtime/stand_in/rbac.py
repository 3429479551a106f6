"""Who may do what: the roles that were applied are enforced, as RBAC does it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stand_in.store import Store, Thing

ADMINISTRATORS = "system:masters"
BUILT_IN = ("system:kube-scheduler",)
"""Accounts whose roles a real API server brings along; here they may do anything (assumed)."""


@dataclass(frozen=True, slots=True)
class User:
    """Who asks."""

    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Action:
    """What somebody wants to do. Without a namespace, in the whole cluster."""

    verb: str
    group: str
    resource: str
    """With a subresource after a slash."""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        return f'cannot {self.verb} resource "{self.resource}" in API group "{self.group}" {where}'


def allowed(store: Store, user: User, action: Action) -> bool:
    """From its sources: the union of all rules that a binding gives to the user or to a group of theirs."""
    if ADMINISTRATORS in user.groups or user.name in BUILT_IN:
        return True
    return any(_covers(rule, action) for rule in _rules(store, user, action.namespace))


def _rules(store: Store, user: User, namespace: str) -> Iterator[Thing]:
    for binding in store.objects["clusterrolebindings"].values():
        if _binds(binding.thing, user):
            role = store.get("clusterroles", binding.thing["roleRef"]["name"])
            yield from (role.thing.get("rules") or ()) if role else ()
    for binding in store.objects["rolebindings"].values() if namespace else ():
        if binding.thing["metadata"]["namespace"] != namespace or not _binds(binding.thing, user):
            continue
        reference = binding.thing["roleRef"]
        role = (
            store.get("clusterroles", reference["name"])
            if reference["kind"] == "ClusterRole"
            else store.get("roles", f"{namespace}/{reference['name']}")
        )
        yield from (role.thing.get("rules") or ()) if role else ()


def _binds(binding: Thing, user: User) -> bool:
    for subject in binding.get("subjects") or ():
        match subject["kind"]:
            case "User" if subject["name"] == user.name:
                return True
            case "Group" if subject["name"] in user.groups:
                return True
            case "ServiceAccount":
                if user.name == f"system:serviceaccount:{subject['namespace']}:{subject['name']}":
                    return True
    return False


def _covers(rule: Thing, action: Action) -> bool:
    _, slash, part = action.resource.partition("/")
    resources = ("*", action.resource, *((f"*/{part}",) if slash else ()))
    names = rule.get("resourceNames") or ()
    return (
        any(x in ("*", action.verb) for x in rule.get("verbs") or ())
        and any(x in ("*", action.group) for x in rule.get("apiGroups") or ())
        and any(x in resources for x in rule.get("resources") or ())
        and (not names or action.name in names)
    )
