"""Machines without a system."""

from __future__ import annotations

from .errors import StepRefused
from .machine import Followed, Named, title
from .snapshots import converted, fitting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .machine import Listener, State
    from .snapshots import Data, Migrations


class Alone(Named):
    """A machine without a system."""

    __slots__ = ("_listeners",)

    _listeners: tuple[Listener, ...]

    def __repr__(self) -> str:
        return f"<{title(self)}: {self.state.display}>"

    def listen(self, listener: Listener) -> None:
        """Calls a listener after every transition from now on."""
        self._listeners = (*self._listeners, listener)

    def unlisten(self, listener: Listener) -> None:
        """Calls a listener no more."""
        if listener not in self._listeners:
            raise ValueError(f"{listener!r} does not listen to this machine")
        self._listeners = tuple(x for x in self._listeners if x != listener)

    def can(self, event: Callable[..., object], *arguments: object) -> bool:
        """Would a transition happen? It is tried and undone; no listener is called."""
        saved, listeners = self._save(), self._listeners
        self._listeners = ()
        try:
            event(*arguments)
        except StepRefused:
            return False
        finally:
            self._load(saved)
            self._listeners = listeners
        return True

    def restore(self, data: Data, migrate: Migrations | None = None) -> None:
        """Restores a snapshot.

        `migrate` has, by the version of a snapshot, a function that converts it to this version. Without `migrate`, and
        if the snapshot has no version, it is taken as it is. Raises `ForeignSnapshot`, and changes nothing, if the
        snapshot does not fit, or `migrate` does not have its version.
        """
        self._load(fitting(self, self._decode, converted(data, self._version(), migrate), {}))

    def _version(self) -> str:
        raise NotImplementedError

    def _tell(self, label: str, event: str, source: State) -> None:
        followed = (Followed(self, label, event, source, self.state),)
        for listener in self._listeners:
            listener(followed)
