"""Answers of the API server that say no, with Kubernetes' reasons and words."""

from __future__ import annotations

from typing import Any

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
}


class RefusedError(Exception):
    """A request that is refused. `details` is that field of the Status."""

    def __init__(self, code: int, message: str, reason: str = "", details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason or REASONS[code],
            **({} if details is None else {"details": details}),
            "code": code,
        }


def invalid(kind: str, name: str, *problems: str) -> RefusedError:
    """The object is not as it must be."""
    several = f"[{', '.join(problems)}]" if len(problems) > 1 else problems[0]
    return RefusedError(422, f'{kind} "{name}" is invalid: {several}')


def conflict(resource: str, name: str, why: str) -> RefusedError:
    """The object is not in the state that the request presumes."""
    return RefusedError(409, f'Operation cannot be fulfilled on {resource} "{name}": {why}')


def uid_conflict(resource: str, name: str, asked: str, found: str) -> RefusedError:
    """Another object has the name."""
    why = f"Precondition failed: UID in precondition: {asked}, UID in object meta: {found}"
    return conflict(resource, name, why)


def missing(resource: str, name: str) -> RefusedError:
    """There is no such object."""
    return RefusedError(404, f'{resource} "{name}" not found')
