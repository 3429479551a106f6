"""Results about a model, pickled for another process that has the same model.

Systems are sent by name and sources by number, since the other process has them. Universes are made anew there, once
for each system.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from fsmdsl import model as m
from fsmdsl.step import Universe
from fsmdsl.step.instances import Roster
from fsmdsl.text.source import Source

Reference = tuple[str, int | str]


class ModelPickle:
    """Pickles objects that refer to a model, without the model."""

    def __init__(self, model: m.Model) -> None:
        self._model = model
        spans = [*(x.span for x in model.modules), *(x.span for x in model.machines.values())]
        spans += [x.span for x in model.systems.values()]
        self._sources: list[Source] = list({id(x.source): x.source for x in spans}.values())
        self._numbers = {id(x): n for n, x in enumerate(self._sources)}
        self._rosters: dict[Reference, Roster] = {}

    def dumps(self, x: object) -> bytes:
        """An object as bytes, for `loads` in a process with the same model."""
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
                return "source", self._numbers[id(x)]
            case m.System() if self._model.systems.get(x.qualified) is x:
                return "system", x.qualified
            case m.Model() if x is self._model:
                return "model", 0
            case Roster() if x.model is self._model and self._model.systems.get(x.system.qualified) is x.system:
                return type(x).__name__, x.system.qualified
            case _:
                return None

    def referent(self, reference: Reference) -> object:
        """The object that a reference stands for."""
        match reference:
            case "source", int(number):
                return self._sources[number]
            case "system", str(name):
                return self._model.systems[name]
            case "model", _:
                return self._model
            case kind, str(name):
                if reference not in self._rosters:
                    kind_of = Universe if kind == Universe.__name__ else Roster
                    self._rosters[reference] = kind_of(self._model, self._model.systems[name])
                return self._rosters[reference]
            case _:
                raise pickle.UnpicklingError(f"{reference} stands for nothing")


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
