"""Results about models, pickled for another process that has the same models.

Systems are sent by name and sources by number, since the other process has them. Universes are made anew there, once
for each system.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any, assert_never

from fsmdsl import model as m
from fsmdsl.step import Universe
from fsmdsl.step.instances import Roster
from fsmdsl.text.source import Source

Reference = tuple[str, int, str]
"""A kind, the number of a model or a source, and the name of a system, if it is about one."""


class ModelPickle:
    """Pickles objects that refer to models, without the models."""

    def __init__(self, models: Sequence[m.Model]) -> None:
        self._models = models
        spans = [y.span for x in models for y in x.modules]
        spans += [y.span for x in models for y in x.machines.values()]
        spans += [y.span for x in models for y in x.systems.values()]
        self._sources: list[Source] = list({id(x.source): x.source for x in spans}.values())
        self._numbers = {id(x): n for n, x in enumerate(self._sources)}
        self._rosters: dict[Reference, Roster] = {}

    def dumps(self, x: object) -> bytes:
        """An object as bytes, for `loads` in a process with the same models."""
        packed = io.BytesIO()
        _Packer(packed, self).dump(x)
        return packed.getvalue()

    def loads(self, packed: bytes) -> Any:
        """The object."""
        return _Unpacker(io.BytesIO(packed), self).load()

    def reference(self, x: object) -> Reference | None:
        """What stands for an object that the other process has; None if it has not."""
        match x:
            case Source() if id(x) in self._numbers:
                return "source", self._numbers[id(x)], ""
            case m.System() if (number := self._home(x)) is not None:
                return "system", number, x.qualified
            case m.Model() if (number := self._number(x)) is not None:
                return "model", number, ""
            case Roster() if (number := self._number(x.model)) is not None and self._home(x.system) == number:
                return type(x).__name__, number, x.system.qualified
            case _:
                return None

    def _number(self, model: m.Model) -> int | None:
        return next((n for n, x in enumerate(self._models) if x is model), None)

    def _home(self, system: m.System) -> int | None:
        """The number of the model that has a system."""
        return next((n for n, x in enumerate(self._models) if x.systems.get(system.qualified) is system), None)

    def referent(self, reference: Reference) -> object:
        """The object that a reference stands for."""
        match reference:
            case "source", number, _:
                return self._sources[number]
            case "system", number, name:
                return self._models[number].systems[name]
            case "model", number, _:
                return self._models[number]
            case kind, number, name:
                if reference not in self._rosters:
                    kind_of = Universe if kind == Universe.__name__ else Roster
                    self._rosters[reference] = kind_of(self._models[number], self._models[number].systems[name])
                return self._rosters[reference]
            case _:
                assert_never(reference)


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, model_pickle: ModelPickle) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._pickle = model_pickle

    def persistent_id(self, x: object) -> Reference | None:
        return self._pickle.reference(x)


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, model_pickle: ModelPickle) -> None:
        super().__init__(file)
        self._pickle = model_pickle

    def persistent_load(self, reference: Reference) -> object:
        return self._pickle.referent(reference)
