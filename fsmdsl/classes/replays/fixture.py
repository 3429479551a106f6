"""A system of the spec as statements that make its instances from the generated classes, for tests that drive them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fsmdsl import model as m
from fsmdsl.classes.context import Context
from fsmdsl.classes.imports import import_statement
from fsmdsl.classes.machines.members import begins_with_any, is_constant
from fsmdsl.classes.names import RESERVED, Namespace, camel, module_of, own_name, snake
from fsmdsl.classes.naming import MachineNames
from fsmdsl.classes.statements.text import WIDTH, literal, tuple_of
from fsmdsl.classes.systems import attribute_names, with_code
from fsmdsl.classes.traits import connected, stored
from fsmdsl.step import Universe, Value, World
from fsmdsl.step.data import RecordValue, Table
from fsmdsl.step.evaluate import Frame, evaluate
from fsmdsl.step.values import default, elements

TAKEN = ("system", "clock", "actions", "checked", "broken", "pytest", "Actions", "NoAnswer")
"""Names that the test uses itself."""


class Imports:
    """What a test takes from the generated packages, and by what name."""

    def __init__(self, package: str) -> None:
        self.package = package
        self._local: dict[tuple[str, str], str] = {}

    def name(self, path: Iterable[str], name: str) -> str:
        """The name of something of a module, given by its path below the package."""
        key = (".".join((self.package, *path)), name)
        if key not in self._local:
            local = name
            while local in self._local.values():
                local = f"{camel(own_name(key[0]))}{local}"
            self._local[key] = local
        return self._local[key]

    def lines(self) -> list[str]:
        """The import statements."""
        by_path: dict[str, list[str]] = {}
        for (path, name), local in sorted(self._local.items()):
            by_path.setdefault(path, []).append(name if local == name else f"{name} as {local}")
        return [import_statement(path, names, WIDTH) for path, names in by_path.items()]


class Fixture:
    """What the instances, channels and values of a system are in the text of a test."""

    def __init__(self, universe: Universe, package: str, checked: bool = True) -> None:
        self.universe, self.model = universe, universe.model
        self.checked = checked
        """Does anything ask for the invariants of the system?"""
        self.context = Context(universe.model)
        self.imports = Imports(package)
        space = Namespace([*RESERVED, *TAKEN])
        self.variables = [space.claim(snake(i.name)) for i in universe.system.instances]
        self.queues = [space.claim(snake(universe.queue_name(n))) for n in range(len(universe.queues))]
        self._space = space
        self._order: tuple[int, ...] = ()
        self._actions: dict[str, str] = {}

    # Names

    def names(self, instance: int) -> MachineNames:
        """The names of an instance's machine."""
        return self.context.machine(self.universe.machines[instance].qualified)

    def machinery(self, name: str) -> str:
        """Something of the support file."""
        return self.imports.name((*self.context.home(self.universe.system.module), "machinery"), name)

    def public(self, qualified: str, name: str) -> str:
        """Something that the package of a module shows to its users."""
        return self.imports.name(self.context.packages[module_of(qualified)].folder, name)

    def state(self, instance: int, state: str) -> str:
        """A state of an instance's machine."""
        return self._state_of(self.universe.machines[instance].qualified, state)

    def _state_of(self, machine: str, state: str) -> str:
        names = self.context.machine(machine)
        return f"{self.public(machine, names.states_class)}.{names.states[state]}"

    def field(self, instance: int, f: m.Field) -> str:
        """A field of an instance."""
        return f"{self.variables[instance]}.{self.names(instance).values[f.name]}"

    def value(self, t: m.Type, value: Value) -> str:
        """A value of a type."""
        match t, value:
            case _, None:
                return "None"
            case m.OptionalType(of), _:
                return self.value(of, value)
            case m.RefType(), int():
                return self.variables[value]
            case m.DurationType(), int():
                return repr(value / 1000)
            case m.EnumType(machine=machine), str() if machine:
                return self._state_of(machine, value)
            case m.EnumType(name=name), str():
                names = self.context.packages[module_of(name)]
                return f"{self.public(name, names.types[name])}.{names.members[(name, value)]}"
            case m.RecordType(name=name) as t, RecordValue(values):
                names = self.context.packages[module_of(name)]
                pairs = zip(t.parts, values, strict=True)
                arguments = (f"{names.parts[name, part]}={self.value(of, x)}" for (part, of), x in pairs)
                return f"{self.public(name, names.types[name])}({', '.join(arguments)})"
            case m.SetType(of), frozenset():
                items = ", ".join(self.value(of, x) for x in elements(t, value))
                return f"frozenset({{{items}}})" if value else "frozenset()"
            case m.ListType(of=of), tuple():
                return tuple_of([self.value(of, x) for x in value])
            case m.MapType(key, of), Table(entries):
                return self._table(key, of, entries)
            case _, str():
                return literal(value)
            case _:
                return repr(value)

    def _table(self, key: m.Type, of: m.Type, entries: Sequence[tuple[Value, Value]]) -> str:
        """A map: what most of its keys have, and the others."""
        values = [x for _, x in entries]
        rest = max(values, key=values.count) if values else default(of, self.universe)
        others = ", ".join(f"{self.value(key, k)}: {self.value(of, x)}" for k, x in entries if x != rest)
        table = self.public(f"{self.universe.system.module}.", "Table")
        return f"{table}({self.value(of, rest)}{f', {{{others}}}' if others else ''})"

    # Making

    def has_system(self) -> bool:
        """Is there anything that needs a system around it?"""
        return self.context.traits(self.universe.system.module).systems

    def construction(self, world: World) -> Iterator[str]:
        """Statements that make everything as it is in a world in which nothing is pending or on its way."""
        module = self.universe.system.module
        self._order = construction_order(self.universe, world)
        if self.context.traits(module).timers:
            yield f"clock = {self.public(f'{module}.', 'VirtualClock')}()"
        if self.has_system():
            argument = "clock" if self.context.traits(module).timers else ""
            yield f"system = {self.public(f'{module}.', 'System')}({argument})"
        yield from self._actions_objects()
        for n in self._order:
            yield self._constructed(n, world)
        numbered = [n for n, x in enumerate(self.universe.machines) if not self.context.standalone(x)]
        if [n for n in self._order if n in numbered] != numbered:
            yield f"system._renumber({', '.join(self.variables[n] for n in numbered)})"
        for n in range(len(self.variables)):
            yield from self._completed(n, world)
        for name, x in zip(self.queues, self.universe.queues, strict=True):
            channels = self.context.packages[x.channel.module].channels
            class_ = self.public(x.channel.qualified, channels[x.channel.qualified])
            ends = ", ".join(self.variables[n] for n in x.ends or (x.receiver,))
            yield f"{name} = {class_}(system, {ends})"
        if self.checked or self.universe.system.recover is not None:
            yield from self._view(world)

    def actions(self, machine: m.Machine) -> str:
        """The object that stands for the hand-written code of a machine. Machines that await no answers share one."""
        if not any(a.outcomes for a in machine.actions):
            return "actions"
        if machine.qualified not in self._actions:
            self._actions[machine.qualified] = self._space.claim(f"{snake(machine.name)}_actions")
        return self._actions[machine.qualified]

    def ticketed(self) -> list[str]:
        """The objects that keep tickets of `async` actions."""
        machines = (x for x in self.universe.machines if any(a.asynchronous for a in x.actions))
        return list(dict.fromkeys(map(self.actions, machines)))

    def _actions_objects(self) -> Iterator[str]:
        statements: dict[str, str] = {}
        for machine in (x for x in self.universe.machines if x.actions):
            names = self.context.machine(machine.qualified).actions
            methods = {
                "awaited": [literal(names[a.name]) for a in machine.actions if a.outcomes and not a.asynchronous],
                "ticketed": [literal(names[a.name]) for a in machine.actions if a.asynchronous],
            }
            arguments = (f"{key}=({', '.join(literals)},)" for key, literals in methods.items() if literals)
            statements[self.actions(machine)] = f"{self.actions(machine)} = Actions({', '.join(arguments)})"
        yield from statements.values()

    def _constructed(self, n: int, world: World) -> str:
        machine = self.universe.machines[n]
        names = self.context.machine(machine.qualified)
        arguments: list[str] = []
        if not self.context.standalone(machine):
            arguments = ["system", *([self.actions(machine)] if machine.actions else [])]
        for x in stored(machine):
            text = self._keyword(n, x, world)
            arguments += [] if text is None else [f"{names.values[x.name]}={text}"]
        if world.states[n] != machine.initial.name:
            arguments.append(f"state={self.state(n, world.states[n])}")
        return f"{self.variables[n]} = {self.public(machine.qualified, names.class_)}({', '.join(arguments)})"

    def _keyword(self, n: int, x: m.Param | m.Field, world: World) -> str | None:
        """What to give for a parameter or field; None where it may be left out, or cannot be given yet."""
        value = self._value_in(n, x, world)
        if x in self._connecting(n, world):
            return None
        if x.default is None or begins_with_any(x):
            return self.value(x.type, default(x.type, self.universe) if self._later(n, x, world) else value)
        if self._later(n, x, world) or value == self._default(n, x):
            return None
        return self.value(x.type, value)

    def _value_in(self, n: int, x: m.Param | m.Field, world: World) -> Value:
        if isinstance(x, m.Param):
            return self.universe.params[n][x.name]
        return world.fields[n][self.universe.slots[n][x.name]]

    def _default(self, n: int, x: m.Param | m.Field) -> object:
        """The value that an instance has without being given one, if it is the same for all."""
        if x.default is None or begins_with_any(x) or not is_constant(x.default):
            return _UNKNOWN
        return evaluate(Frame(self.universe, self.universe.start, n), x.default)

    def _later(self, n: int, x: m.Param | m.Field, world: World) -> bool:
        """Can a value not be given when the instance is made? It has another that is made later, or no keyword."""
        hidden = x.default is not None and not is_constant(x.default) and isinstance(x.type, m.OptionalType)
        place = self._order.index
        return hidden or any(place(other) >= place(n) for other in mentioned(x.type, self._value_in(n, x, world)))

    def _connecting(self, n: int, world: World) -> tuple[m.Param, ...]:
        """The parameters that are given by `connect`, all together."""
        together = connected(self.model, self.universe.machines[n])
        is_late = (self._later(n, p, world) or self._value_in(n, p, world) is None for p in together)
        return together if any(is_late) else ()

    def _completed(self, n: int, world: World) -> Iterator[str]:
        """What could not be given when the instance was made."""
        machine = self.universe.machines[n]
        names = self.context.machine(machine.qualified)
        late = [x for x in stored(machine) if self._later(n, x, world)]
        connecting = self._connecting(n, world)
        arguments = (f"{names.values[p.name]}={self.value(p.type, self._value_in(n, p, world))}" for p in connecting)
        if connecting:
            yield f"{self.variables[n]}.connect({', '.join(arguments)})"
        for x in late:
            if x not in connecting:
                yield f"{self.variables[n]}.{names.slot(x.name)} = {self.value(x.type, self._value_in(n, x, world))}"
        reset = [f for f in machine.fields if not f.durable] if self.context.crashes(machine) else []
        start = self.universe.start
        if any(f in late or self._value_in(n, f, world) != self._value_in(n, f, start) for f in reset):
            values = tuple_of([self.value(f.type, self._value_in(n, f, start)) for f in reset])
            yield f"{self.variables[n]}._first = {values}"

    def _view(self, world: World) -> Iterator[str]:
        """The system's own class: what must hold of all together, and how they recover."""
        system = self.universe.system
        if system.qualified not in {s.qualified for x in self.model.modules for s in with_code(x)}:
            return
        class_ = self.context.packages[system.module].systems[system.qualified]
        called = attribute_names(system)
        groups = [f"{called[g.name]}={self._group(g)}" for g in system.groups]
        yield f"checked = {self.public(system.qualified, class_)}({', '.join(['system', *groups])})"
        if world.down:
            yield "system.down = True"

    def _group(self, g: m.InstanceGroup) -> str:
        members = [v for v, i in zip(self.variables, self.universe.system.instances, strict=True) if i.group == g.name]
        return members[0] if g.single else f"[{', '.join(members)}]"


_UNKNOWN = object()


def construction_order(universe: Universe, world: World) -> tuple[int, ...]:
    """The instances, each behind those that its constructor has to be given, as far as they do not need it."""
    order: list[int] = []

    def visit(n: int, around: frozenset[int]) -> None:
        if n in order or n in around:
            return
        for other in _required(universe, world, n):
            visit(other, around | {n})
        order.append(n)

    for n in range(len(universe.machines)):
        visit(n, frozenset())
    return tuple(order)


def _required(universe: Universe, world: World, n: int) -> Iterator[int]:
    """The instances that the constructor of another has to be given."""
    machine = universe.machines[n]
    late = connected(universe.model, machine)
    for p in machine.params:
        if p.default is None and p not in late and isinstance(p.type, m.RefType | m.RecordType):
            yield from mentioned(p.type, universe.params[n][p.name])
    for f in machine.fields:
        if f.any and isinstance(f.type, m.RefType | m.RecordType):
            yield from mentioned(f.type, world.fields[n][universe.slots[n][f.name]])


def mentioned(t: m.Type, value: Value) -> Iterator[int]:
    """The instances that a value has in it."""
    match t, value:
        case m.RefType(), int():
            yield value
        case m.OptionalType(of), _ if value is not None:
            yield from mentioned(of, value)
        case ((m.SetType(of) | m.ListType(of=of)), (frozenset() | tuple())):
            for x in value:
                yield from mentioned(of, x)
        case m.RecordType(parts=parts), RecordValue(values):
            for (_, of), x in zip(parts, values, strict=True):
                yield from mentioned(of, x)
        case m.MapType(key, of), Table(entries):
            for k, x in entries:
                yield from mentioned(key, k)
                yield from mentioned(of, x)
        case _:
            return
