"""The three kinds of patches: JSON merge, JSON patch, and as much of strategic merge as clients of pods use."""

from __future__ import annotations

from typing import Any

MERGE_KEYS = {
    "conditions": "type",
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "schedulingGates": "name",
    "ownerReferences": "uid",
    "taints": "key",
    "env": "name",
    "ports": "containerPort",
}
"""From its sources: the lists that a strategic merge patch merges by a key; all others it replaces."""


class PatchError(Exception):
    """It cannot be applied."""


class TestFailedError(PatchError):
    """A `test` of a JSON patch has failed."""


def merge(thing: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(thing) if isinstance(thing, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def strategic(thing: Any, patch: Any, name: str = "") -> Any:
    """As `merge`, but that lists with a merge key are merged, with `$patch: delete` and `$retainKeys` ignored."""
    if isinstance(patch, list) and name in MERGE_KEYS:
        return _merge_lists(thing if isinstance(thing, list) else [], patch, MERGE_KEYS[name])
    if isinstance(patch, list) and name == "finalizers":
        return [*(thing or ()), *(x for x in patch if x not in (thing or ()))]
    if not isinstance(patch, dict):
        return patch
    result = dict(thing) if isinstance(thing, dict) else {}
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            result.pop(key, None)
        else:
            result[key] = strategic(result.get(key), value, key)
    return result


def _merge_lists(items: list[Any], patch: list[Any], key: str) -> list[Any]:
    result = [dict(x) for x in items]
    for one in patch:
        place = next((n for n, x in enumerate(result) if x.get(key) == one.get(key)), None)
        if one.get("$patch") == "delete":
            result = [x for x in result if x.get(key) != one.get(key)]
        elif place is None:
            result.append(one)
        else:
            result[place] = strategic(result[place], one)
    return result


def json_patch(thing: Any, operations: Any) -> Any:
    """RFC 6902, on an object that may be changed. Raises `PatchError`."""
    if not isinstance(operations, list):
        raise PatchError("a JSON patch must be a list")
    root = {"": thing}
    for number, operation in enumerate(operations):
        try:
            _apply(root, operation)
        except PatchError:
            raise
        except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
            raise PatchError(f"operation {number} cannot be applied: {error!r}") from error
    return root[""]


def _apply(root: dict[str, Any], operation: dict[str, Any]) -> None:
    parent, last = _find(root, operation["path"])
    match operation["op"]:
        case "test":
            if _get(parent, last) != operation["value"]:
                raise TestFailedError(f"testing value {operation['path']} failed")
        case "add":
            _add(parent, last, operation["value"])
        case "replace":
            _get(parent, last, must=True)
            if isinstance(parent, list):
                parent[int(last)] = operation["value"]
            else:
                parent[last] = operation["value"]
        case "remove":
            _remove(parent, last)
        case "move" | "copy" as kind:
            source, name = _find(root, operation["from"])
            value = _get(source, name, must=True)
            if kind == "move":
                _remove(source, name)
            parent, last = _find(root, operation["path"])
            _add(parent, last, value)
        case other:
            raise PatchError(f"unexpected kind: {other}")


def _find(root: dict[str, Any], pointer: str) -> tuple[Any, str]:
    """The container of what a pointer names, and its key there."""
    if pointer and not pointer.startswith("/"):
        raise PatchError(f"{pointer} is no JSON pointer")
    *way, last = [x.replace("~1", "/").replace("~0", "~") for x in pointer.split("/")]
    found: Any = root
    for key in way:
        found = found[int(key)] if isinstance(found, list) else found[key]
        if not isinstance(found, (dict, list)):
            raise PatchError(f"{pointer} leads through a plain value")
    return found, last


def _get(parent: Any, key: str, *, must: bool = False) -> Any:
    """A `test` of what is not there compares with null (from its sources: github.com/evanphx/json-patch)."""
    if isinstance(parent, list):
        return parent[int(key)]
    if must and key not in parent:
        raise PatchError(f"{key} is missing")
    return parent.get(key)


def _add(parent: Any, key: str, value: Any) -> None:
    if isinstance(parent, dict):
        parent[key] = value
    elif key == "-":
        parent.append(value)
    elif int(key) > len(parent):
        raise PatchError(f"index {key} is out of range")
    else:
        parent.insert(int(key), value)


def _remove(parent: Any, key: str) -> None:
    if isinstance(parent, list):
        del parent[int(key)]
    elif key in parent:
        del parent[key]
    else:
        raise PatchError(f"{key} is missing")
