"""Random specs: modules that use the whole language and resolve without errors, each from a seed.

A plan of what is declared comes first, so that machines can refer to one another; then every line is written from what
the plan has. Types are small, so that a system of them is soon explored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from random import Random

from random_effects import EffectWriter
from random_expressions import Env, MachinePlan, ModulePlan
from random_sharing import in_parts

from fsmdsl import model as m
from fsmdsl.model.typing import is_structured
from fsmdsl.syntax.words import HOOKS, of_role

CAPITALS = [
    "Cell", "Group", "Job", "Node", "Queue", "Slice", "Pod", "None_", "True_", "Machine", "System", "State",
    "Event", "Enum", "Any", "Protocol", "Timer", "Clock", "Type", "Channel", "World", "Step", "Self", "Value",
    "Message", "Exception", "str_", "Int", "List_", "Set", "Waiting", "Busy", "Idle", "Used", "Free", "Done",
    "Lost", "Failed", "Up", "Down", "Running", "Deploying", "Pending", "Reserved", "Deleted", "Starting",
    "Stopped", "Open", "Closed", "A", "B", "C", "D_1", "Overlap", "Full", "Lent", "X9",
]  # fmt: skip
LOWER = [
    "class", "class_", "lambda", "def", "is_", "print", "type", "id", "name", "value", "values", "items",
    "keys", "priority", "count", "size", "initial", "final", "error", "source", "title", "status", "first_",
    "rest_", "min_", "level", "user", "cells", "ready", "load", "owner", "other", "peers", "limit", "period",
    "beats", "kind", "color", "mode", "start", "stop", "take", "free", "lend", "back", "go", "tick", "tock",
    "reset", "open_", "close", "yield", "return", "try", "with_", "assert_", "global", "del", "pass", "async_",
    "await_", "raise", "from_", "while", "break", "continue", "nonlocal", "except", "finally", "state_",
    "event_", "machine_", "system_", "clock", "now", "transition", "handler", "guard", "effects", "entry",
    "exit", "symmetric", "fair", "weak", "strong", "write", "read", "child", "operation", "locks", "fifo",
    "bag", "crash_", "recover", "environment_", "property_", "reachable", "deliver", "lose", "duplicate",
    "expect", "via", "timeout", "fails", "index_", "send", "add", "remove", "to", "durable_", "persistent",
    "volatile", "transient", "mro", "__init__", "__class__", "_private", "label_", "snapshot", "restore",
    "connect", "match", "case", "str", "int", "bool_", "list_", "set_", "dict_", "range_", "len_", "self_",
    "cls", "object_", "super_", "copy", "deepcopy",
]  # fmt: skip

INTERNAL = [
    "accepts", "actions", "again", "answer", "arguments", "arrive", "asked", "atoms", "awaited", "awaits",
    "begin", "behind", "beyond", "board", "bound", "broken", "busy", "canonical", "cascade", "cell", "changes",
    "channels", "children", "choices", "choose", "chosen", "code", "conditions", "context", "crashed", "cut",
    "data", "deadlock", "decode", "delivered", "delivery", "depth", "derived", "done", "doubt", "down", "due",
    "effect", "elements", "enabled", "encode", "end", "enter", "entries", "evaluate", "expand", "expr", "fault",
    "field", "fields", "filled", "fire", "flags", "follow", "forget", "found", "frame", "fresh",
    "guards", "held", "here", "highest", "history", "hold", "holds", "identity", "ignored", "in_range", "inner",
    "inside", "instance", "instances", "iterate", "it", "it_1", "keeps", "key", "keys_", "left",
    "let_0", "let_1", "levels", "library", "limits", "lines", "loop", "lost", "low", "lowest", "high",
    "machinery", "mark", "marked", "members", "message", "messages", "misfit", "named", "new", "note", "number",
    "offered", "offers", "old", "ones", "order", "orders", "out", "outcome", "over", "own", "owner_", "pack",
    "pairs", "params", "parent", "part", "parts", "peaceful", "pending", "performed", "place", "premise",
    "present", "problem", "put", "queue", "quiet", "random", "rank", "receiver", "reentrance", "refused",
    "result", "returned", "roster", "row", "row_", "run", "save", "seed", "sender", "settle",
    "shape", "sort", "stack", "states", "step", "steps", "struck", "sub", "subject", "systems",
    "target", "tell", "ticket", "tied", "timer", "timers", "touch", "touched", "trace", "transitions",
    "trigger", "truth", "turn", "unasked", "unhandled", "unpack", "version", "view", "violated", "waited",
    "width", "without", "word", "words", "world", "worlds",
]  # fmt: skip
"""What the searches, the classes and the exports call things of their own: a spec may call its own so, too."""

OPENS_EFFECT = set(of_role("effect", soft=True))
OPENS_HOOK = set(HOOKS)
OPERATORS = [*of_role("temporal")]
"""Where a value may stand these are operators, so that only events are called so."""
TEXTS = [
    "plain", "with \\\"quotes\\\"", "braces { } and % and {0}",
    "ünïcödé → ∀", "back\\\\slash", "tick ' tock", "*/ #",
]  # fmt: skip


def spec(seed: int, newer: bool = False) -> str:
    """The text of a module; the same for the same seed. `newer`: see `Writer`."""
    return _Specs(Random(seed), newer).text(f"random_{seed}")


class _Specs(EffectWriter):
    """Writes modules, at random."""

    def __init__(self, random: Random, newer: bool = False) -> None:
        super().__init__(random, newer)
        self.reasons = 0
        self.plan = ModulePlan()
        self.capitals = random.sample(CAPITALS, len(CAPITALS))
        self.lower = random.sample(LOWER, len(LOWER))
        at = len(INTERNAL) * LOWER.index(self.lower[0]) // len(LOWER)  # without a draw
        self.lower[1::3] = [INTERNAL[n % len(INTERNAL)] for n in range(at, at + len(self.lower[1::3]))]
        self.leaves: dict[str, list[str]] = {}
        self.state_lines: dict[str, list[str]] = {}
        self.final: dict[str, set[str]] = {}
        self.labels: list[str] = []
        self.split: dict[str, str] = {}
        """By machine, the label whose rows are amended to have other labels."""

    def text(self, name: str) -> str:
        """The whole module."""
        self._plan_module()
        lines = [f"module {name}", ""]
        if self.chance(0.3):
            lines.append(f'source "{self._words()}" at "§{self.random.randint(1, 9)}"')
        lines += self._declarations()
        for machine in self.plan.machines.values():
            lines += ["", *self._doc(""), f"machine {machine.name}{self._display()} {{"]
            lines += [f"    {x}" for x in self._machine(machine)]
            lines.append("}")
        lines += self._locks()
        lines += self._system()
        return "\n".join(lines) + "\n"

    def _words(self) -> str:
        return self.random.choice(TEXTS)

    def _display(self) -> str:
        return f' "{self._words()}"' if self.chance(0.15) else ""

    def _doc(self, indent: str) -> list[str]:
        return [f'{indent}/// {self._words()} """'] if self.chance(0.1) else []

    # Planning

    def _plan_module(self) -> None:
        pick = self.random.randint
        for n in range(pick(0, 2)):
            members = [self.lower.pop() for _ in range(pick(1, 3))]
            if n == 1 and self.chance(0.3):
                shared = self.random.choice(self.plan.enums[0].members)
                self.plan.shared.add(shared)
                members.append(shared)
            ordered = len(members) > 1 and self.chance(0.5)
            self.plan.enums.append(m.EnumType(self.capitals.pop(), tuple(members), ordered))
        self.plan.records = [self._record_type() for _ in range(self.random.choice([0, 1, 1, 2]))] if self.newer else []
        self.plan.opaques = [m.OpaqueType(self.capitals.pop()) for _ in range(pick(0, 1))]
        for _ in range(self.random.choice([1, 2, 2, 2, 3])):
            name = self.capitals.pop()
            self.plan.machines[name] = MachinePlan(name)
        for _ in range(self.random.choice([0, 0, 1, 2])):
            self.plan.channels[self.lower.pop()] = self.random.choice(list(self.plan.machines))
        self.plan.each = {x for x in self.plan.channels if self.newer and self.chance(0.6)}
        known = list(self.plan.machines)  # without a draw, as in `any_value`
        some = (x for x in self.plan.channels if x in self.plan.each and sum(map(ord, x)) % 2)
        self.plan.senders = {x: known[sum(map(ord, x)) % len(known)] for x in some}
        self.plan.let_names = [x for x in self.lower[: pick(0, 2)] if x != "size"]
        self.lower = self.lower[2:]
        for machine in self.plan.machines.values():
            self._plan_machine(machine)
        if self.newer:
            self._plan_state_types()
        for machine in self.plan.machines.values():
            self._plan_senders(machine)

    def _record_type(self) -> m.RecordType:
        """With one to three parts, and few values."""
        plain: list[m.Type] = [m.BOOL, m.RangeType(0, 2), m.RangeType(-1, 1), *self.plan.enums, *self.plan.records]
        inner: m.Type = self.random.choice(plain)
        options = [*plain, *plain, m.OptionalType(inner), m.SetType(m.BOOL), m.ListType(m.RangeType(1, 2), 2)]
        names = self.random.sample(["term", "value", "is_", "b"], self.random.choice([1, 2, 2, 3]))
        return m.RecordType(self.capitals.pop(), tuple((name, self.random.choice(options)) for name in names))

    def _plan_state_types(self) -> None:
        """Some fields, and arguments of events, have states for values."""
        for name, machine in self.plan.machines.items():
            self.state_lines[name] = list(self._states(machine))
            self.plan.state_types.append(m.EnumType(f"state of {name}", tuple(self.leaves[name]), False, name))
        for machine in self.plan.machines.values():
            if self.chance(0.5):
                t = self.random.choice(self.plan.state_types)
                kinds: list[m.Type] = [t, t, m.OptionalType(t), m.SetType(t), m.ListType(t, 2)]
                machine.fields["seen"] = self.random.choice(kinds)
                if self.chance(0.5):  # not in those by which `random_systems` sets a field
                    events = [p for name, p in machine.events.items() if not name.startswith("turn_")]
                    self.random.choice(events)["phase_"] = t

    def _plan_machine(self, machine: MachinePlan) -> None:
        pick = self.random.randint
        names = self.random.sample(self.lower, len(self.lower))
        machine.params = {names.pop(): self._type("param") for _ in range(pick(0, 2))}
        machine.fields = {names.pop(): self._type("field") for _ in range(pick(1, 4))}
        machine.let_names = [x for x in (names.pop() for _ in range(pick(0, 3))) if x != "size"]
        machine.states = self.random.sample([*self.capitals, *names[:8]], pick(2, 5))
        others = [x for x in names if x not in machine.states and x not in OPENS_HOOK] + self.random.sample(
            OPERATORS, 1
        )
        self.random.shuffle(others)
        if self.chance(0.2):  # events and actions may be called like anything else
            others += [x for x in (*machine.fields, *machine.states) if x not in OPENS_HOOK]
        for _ in range(pick(2, 4)):
            machine.events[others.pop()] = self._parameters(others, "event")
        for _ in range(pick(0, 2)):
            name = next(x for x in reversed(others) if x not in OPENS_EFFECT)
            others.remove(name)
            outcomes = self.random.choice([[], ["ok", "err"], ["ok"], ["raise", "None_", "ok"]])
            machine.actions[name] = (self._parameters(others, "action"), outcomes)

    def _plan_senders(self, machine: MachinePlan) -> None:
        for event in machine.events:
            known = ["environment", "environment", "environment", *self.plan.machines]
            senders = self.random.choices(known, k=self.random.choice([0, 1, 2, 3]))
            machine.senders[event] = sorted(set(senders))
        for channel, receiver in self.plan.channels.items():
            if receiver == machine.name:
                for event in self.random.sample(list(machine.events), self.random.choice([1, 1, 2])):
                    machine.senders[event].append(channel)

    def _type(self, place: str) -> m.Type:
        """A small type; what stands in a parameter of an event is smaller still."""
        plain: list[m.Type] = [m.BOOL, m.RangeType(0, 2), m.RangeType(-1, 1), m.RangeType(1, 3), *self.plan.enums]
        refs: list[m.Type] = [m.RefType(x) for x in self.plan.machines]
        plain += [*self.plan.records, *self.plan.records]
        inner: m.Type = self.random.choice([*plain, *refs, *refs])
        options: list[m.Type] = [*plain, *(m.OptionalType(x) for x in refs), *(m.SetType(x) for x in refs)]
        flat = m.BOOL if is_structured(inner) else inner  # there are no sets of lists
        options += [m.OptionalType(inner), m.SetType(flat), m.ListType(inner, self.random.choice([1, 2, 2, 3]))]
        if self.newer:
            keys = [m.BOOL, m.RangeType(0, 2), m.RangeType(-1, 1), *self.plan.enums, *refs, *refs]
            held = [m.BOOL, m.RangeType(0, 2), m.RangeType(1, 3), *self.plan.enums, *map(m.OptionalType, refs)]
            options += [m.MapType(self.random.choice(keys), self.random.choice(held)) for _ in range(2)]
        if place == "field":
            options += [m.DurationType(), m.ListType(m.OptionalType(inner), 1), m.SetType(m.OptionalType(flat))]
        else:
            options += [*refs, *refs]
        if place == "param":
            options += [m.DurationType()]
        if place != "param" or not self.plan.opaques:
            options += self.plan.opaques
        return self.random.choice(options)

    def _parameters(self, names: list[str], place: str) -> dict[str, m.Type]:
        count = self.random.choice([0, 0, 1, 1, 2])
        return {x + "_" * (x in OPERATORS): self._type(place) for x in self.random.sample(names, count)}

    # Declarations

    def _declarations(self) -> Iterator[str]:
        for e in self.plan.enums:
            yield from self._doc("")
            yield f"enum {e.name} {{ {(' < ' if e.ordered else ' | ').join(e.members)} }}"
        for r in self.plan.records:
            yield from self._doc("")
            yield f"record {r.name} {{ {'  '.join(f'{name}: {shown(of)}' for name, of in r.parts)} }}"
        if self.plan.opaques:
            yield f"opaque {', '.join(x.name for x in self.plan.opaques)}"
        for name, receiver in self.plan.channels.items():
            flags = "".join(x for x in ("lossy ", "duplicating ") if self.chance(0.3))
            flags += "waiting " * (self.newer and sum(map(ord, name + receiver)) % 3 == 0)
            kind = f"{flags}{self.random.choice(['fifo', 'bag'])}[{self.random.randint(1, 2)}]"
            origin = f"from each {self.plan.senders[name]} " if name in self.plan.senders else ""
            yield f"channel {name}: {kind} {origin}to {'each ' if name in self.plan.each else ''}{receiver}"
        for name in self.plan.let_names:
            yield self._module_let(name)

    def _module_let(self, name: str) -> str:
        parameters = self._parameters(["a", "b", "c"], "event")
        t = self._result()
        env = self._module_env().bind(parameters)
        text = f"let {name}{_listed(parameters)} = {self.value(env, t, 2).text}"
        if parameters:
            self.plan.functions[name] = (parameters, t)
        else:
            self.plan.lets[name] = t
        return text

    def _result(self) -> m.Type:
        results: list[m.Type] = [m.BOOL, m.BOOL, m.RangeType(0, 3), *self.plan.enums]
        return self.random.choice(results)

    def _module_env(self) -> Env:
        return Env(self.plan, self.plan.lets, self.plan.functions, reserved=frozenset(self.plan.let_names))

    # Machines

    def _machine_env(self, machine: MachinePlan, own_only: bool = False) -> Env:
        names = {**machine.params, **machine.fields, **machine.lets}
        functions = {**self.plan.functions, **machine.functions}
        if own_only:
            names = {n: t for n, t in names.items() if n not in machine.lets or n in machine.own}
            functions = {n: s for n, s in machine.functions.items() if n in machine.own}
        else:
            names = {**self.plan.lets, **names}
        known = {*self.plan.let_names, *machine.let_names}
        return Env(self.plan, names, functions, machine, frozenset(known), own_only)

    def _machine(self, machine: MachinePlan) -> Iterator[str]:
        for name, t in machine.params.items():
            default = self._default(t, 0.3)
            yield f"param {name}: {shown(t)}{default}"
        for name, t in machine.fields.items():
            yield from self._doc("")
            durable = "durable " if self.chance(0.4) else ""
            begins = self._default(t, 0.4)
            begins = " = any" if durable and self.any_value(name, t) else begins
            yield f"{durable}{name}: {shown(t)}{begins}"
        yield from self.state_lines.get(machine.name) or self._states(machine)
        yield from self._events(machine)
        for name, (parameters, outcomes) in machine.actions.items():
            kind = "async action" if outcomes and self.chance(0.35) else "action"
            yield f"{kind} {name}{_listed(parameters)}{' -> ' if outcomes else ''}{' | '.join(outcomes)}"
        for name in machine.let_names:
            yield self._let(machine, name)
        plain: list[str] = []
        for line in [*self._transitions(machine), *self._rules(machine)]:
            yield from self._doc("")
            amends = self.chance(0.08) and (line != "" or not self.newer)  # else it amends the next row
            yield f'amends "{self._words()}" {line}' if amends else line
            plain += [line] if line and not amends else []
        if self.newer:
            yield from self._amendments(machine.name, plain)
        if len(machine.states) % 2:  # without a draw: seeds that are known stay what they are
            half = len(machine.states) // 2 + 1
            ranks = (", ".join(x) for x in (machine.states[:half], machine.states[half:]) if x)
            yield f"layout {'rows' if half % 2 else 'columns'} {' | '.join(ranks)}"

    def _events(self, machine: MachinePlan) -> Iterator[str]:
        """Each by itself; `newer`, those with the same senders together."""
        together: dict[tuple[str, ...], list[str]] = {}
        for name, parameters in machine.events.items():
            key = tuple(machine.senders[name]) if self.newer else (name,)
            together.setdefault(key, []).append(f"{name}{_listed(parameters)}")
        for key, signatures in together.items():
            senders = key if self.newer else machine.senders[key[0]]
            yield f"event {', '.join(signatures)}" + (f" from {', '.join(senders)}" if senders else "")

    def _reason_name(self) -> str:
        """Of an amendment, or nothing."""
        self.reasons += 1
        return f"reason{self.reasons} " if self.chance(0.5) else ""

    def _amendments(self, name: str, rows: list[str]) -> Iterator[str]:
        """Two rows in braces; and in the place of a row, the same again, alone or in braces."""
        labelled = [x for x in rows if re.match(r"\w+: ", x) and not re.match(r"(invariant|ignore)\b", x)]
        unlabelled = [x for x in rows if x.startswith(("ignore ", "invariant ", "on "))]
        if unlabelled and self.chance(0.3):
            two = "  ".join(self.random.choices(unlabelled, k=2))
            yield f'amends {self._reason_name()}"{self._words()}" {{ {two} }}'
        if labelled and self.chance(0.3):
            row = self.random.choice(labelled)
            label, _, moves = row.partition(": ")
            split = f"{label}: {{ {label}_split: {moves} }}"
            reason, replaced = self._words(), self.random.choice([row, f"{{ {row} }}", split])
            if replaced is split:
                self.split[name] = label
            yield f'amends "{reason}" replaces {replaced}'

    def _default(self, t: m.Type, p: float) -> str:
        if isinstance(t, m.RefType | m.OpaqueType) or not self.chance(p):
            return ""
        return f" = {self.literal(self._module_env(), t).text}"

    def _let(self, machine: MachinePlan, name: str) -> str:
        own = self.chance(0.5)
        parameters = self._parameters(["a", "b", "c"], "event") if self.chance(0.4) else {}
        t = self._result()
        env = self._machine_env(machine, own).bind(parameters)
        text = f"let {name}{_listed(parameters)} = {self.value(env, t, 2).text}"
        if own:
            machine.own.add(name)
        if parameters:
            machine.functions[name] = (parameters, t)
        else:
            machine.lets[name] = t
        return text

    # States

    def _states(self, machine: MachinePlan) -> Iterator[str]:
        """Some of the states inside others, at most two deep."""
        names = list(machine.states)
        self.leaves[machine.name], self.final[machine.name] = [], set()
        top = True
        while names:
            yield self._state(machine, names, top, 0)
            top = False

    def _state(self, machine: MachinePlan, names: list[str], initial: bool, depth: int) -> str:
        name = names.pop(0)
        inner = len(names) >= 2 and depth < 2 and self.chance(0.25)
        words = ["initial"] if initial else []
        words += self.random.choice([[], [], ["persistent"], ["volatile"]])
        if not initial and not inner and self.chance(0.12):
            words.append(self.random.choice(["final", "transient"]))
        words += ["error"] if self.chance(0.05) else []
        self.random.shuffle(words)
        # Without a draw: other words stay where they are.
        if self.newer and not inner and not {"final", "transient"} & {*words} and sum(map(ord, name)) % 3 == 0:
            words.insert(len(words) // 2, "resting")
        text = f"{' '.join([*words, 'state'])} {name}{self._display()}"
        if not inner:
            self.leaves[machine.name].append(name)
            if "final" in words:
                self.final[machine.name].add(name)
            return text
        children = [self._state(machine, names, n == 0, depth + 1) for n in range(2) if names]
        return f"{text} {{ {'  '.join(children)} }}"

    # Transitions

    def _transitions(self, machine: MachinePlan) -> Iterator[str]:
        self.labels = []
        for event, parameters in machine.events.items():
            for _ in range(self.random.choice([1, 2, 2, 3])):
                yield self._on_event(machine, event, parameters)
        for name, (_, outcomes) in machine.actions.items():
            for outcome in outcomes:
                env = self._machine_env(machine)
                wild = self.chance(0.7)
                yield self._transition(machine, env, f" on {name}.{outcome}", 0.2, wild=wild)
        for _ in range(self.random.choice([0, 0, 1, 2])):
            durations = [n for n, t in machine.params.items() if isinstance(t, m.DurationType)]
            period = self.random.choice([*durations, "5s", "(2min)", "100ms"])
            yield self._transition(machine, self._machine_env(machine), f" after {period}", 0.4)
        for _ in range(self.random.choice([0, 1, 2])):
            yield self._eventless(machine)
        if self.chance(0.7):
            env, wild = self._machine_env(machine), self.chance(0.8)
            yield self._transition(machine, env, " on crash", 0.2, quiet=True, wild=wild)

    def _on_event(self, machine: MachinePlan, event: str, parameters: Mapping[str, m.Type]) -> str:
        env, given = self._machine_env(machine), ""
        if parameters and self.chance(0.85):
            fresh = self.random.sample(["x", "y", "by_", "n_"], len(parameters))
            names = list(parameters) if self.chance(0.5) and not set(parameters) & self._spoken() else fresh
            env, given = env.bind(dict(zip(names, parameters.values(), strict=True))), f"({', '.join(names)})"
        elif not parameters and self.chance(0.1):
            given = "()"
        channels = [c for c in self.plan.channels if c in machine.senders[event]]
        prefix = f"{channels[0]}." if channels and channels[0] not in machine.actions and self.chance(0.3) else ""
        return self._transition(machine, env, f" on {prefix}{event}{given}", 0.4)

    def _spoken(self) -> set[str]:
        """Names that an argument had better not hide."""
        return {*self.plan.channels, *(x for e in self.plan.enums for x in e.members)}

    def _eventless(self, machine: MachinePlan) -> str:
        env = self._machine_env(machine, own_only=True)
        guard = self.condition(env, 2)
        wait = "wait and " if self.chance(0.85) else ""
        text = f"({guard.text})" if wait else guard.text
        body = self.do(self._machine_env(machine), self.random.choice([0, 1]), 1)
        return f"{self._arrow(machine, False)} when {wait}{text}{body}"

    def _transition(
        self, machine: MachinePlan, env: Env, trigger: str, guarded: float, *, quiet: bool = False, wild: bool = False
    ) -> str:
        label = f"{self._label()}: " if self.chance(0.9) else ""
        guard = f" when {self.condition(env, 2).text}" if self.chance(guarded) else ""
        body = self.do(env, self.random.choice([0, 1, 1, 2, 3]), 2, quiet=quiet)
        return f"{label}{self._arrow(machine, wild)}{trigger}{guard}{body}"

    def _label(self) -> str:
        """A new label, or, now and then, one that is there."""
        if not self.labels or self.chance(0.9):
            self.labels.append(self.random.choice(["e", "R", "class", "_"]) + str(len(self.labels) + 1))
            return self.labels[-1]
        return self.random.choice(self.labels)

    def _arrow(self, machine: MachinePlan, wild: bool) -> str:
        """Sources and targets: several of both, `*`, or none to go to."""
        sources = self._sources(machine, wild)
        if self.chance(0.15):
            return sources
        edges = [f"{sources} -> {self.random.choice(machine.states)}"]
        others = [s for s in machine.states if s not in sources.split(", ") and s not in self.final[machine.name]]
        if others and self.chance(0.15) and "*" not in sources:
            edges.append(f"{self.random.choice(others)} -> {self.random.choice(machine.states)}")
        return ", ".join(edges)

    def _sources(self, machine: MachinePlan, wild: bool) -> str:
        if wild or self.chance(0.1):
            return "*"
        lasting = [s for s in machine.states if s not in self.final[machine.name]] or machine.states
        return ", ".join(self.random.sample(lasting, min(len(lasting), self.random.choice([1, 1, 2, 3]))))

    def _rules(self, machine: MachinePlan) -> Iterator[str]:
        """Hooks, ignored events, priorities, invariants."""
        env = self._machine_env(machine)
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            body = self.do(env, self.random.choice([1, 1, 2]), 1)
            if body:
                states = ", ".join(self.random.sample(machine.states, self.random.choice([1, 1, 2])))
                yield f"on {self.random.choice(['entry', 'exit'])}({states}){body}"
        names = [*machine.events, *(f"{a}.{o}" for a, (_, listed) in machine.actions.items() for o in listed)]
        for _ in range(self.random.choice([0, 1, 2])):
            listed = ", ".join(self.random.sample(names, min(len(names), self.random.choice([1, 2]))))
            states = "*" if self.chance(0.3) else ", ".join(self.random.sample(machine.states, 1))
            yield f"ignore {listed} in {states}"
        if self.chance(0.85):
            some = self.random.sample([*machine.events, *machine.lets], self.random.choice([0, 0, 1]))
            ranked = list(dict.fromkeys([*some, *self.labels]))
            self.random.shuffle(ranked)
            if self.chance(0.8):
                ranked.append("*")
            yield f"priority {' > '.join(ranked)}" if ranked else ""
        if self.chance(0.3):
            yield f"invariant {self.random.choice(['', 'same: ', 'class: '])}{self.condition(env, 2).text}"

    # Locks and systems

    def _locks(self) -> list[str]:
        if self.chance(0.8):
            return []
        a, b, c = (self.capitals.pop() for _ in range(3))
        operation = f"operation {self.lower.pop()} {{ {a} {{ {b} }} }}"
        if not self.newer:
            return ["", f"locks {{ {a} > {b} > write({c})  {c} > child {c}", f"    {operation} }}"]
        held = f"operation {self.lower.pop()} {{ {a} {{ {b}; read({c}) }} }}"
        return [
            "",
            f"locks {self.capitals.pop()} {{ {a} > {b} > write({c})  {c} > child {c}",
            f"    {operation}",
            f'    amends {self._reason_name()}"{self._words()}" {a} > read({c})',
            f'    amends "{self._words()}" {held}',
            f'    amends "{self._words()}" {{ {b} > read({c})  operation {self.lower.pop()} {{ {b} }} }} }}',
        ]

    def _system(self) -> Iterator[str]:
        groups: dict[str, tuple[str, int | None]] = {}
        for name in self.plan.machines:
            single = self.plan.must_be_alone(name) or self.chance(0.4)
            group = next(x for x in reversed(self.lower) if x not in OPENS_EFFECT)
            self.lower.remove(group)
            groups[group] = (name, None if single else self.random.choice([1, 2, 2, 2]))
        env = self._system_env(groups, self.plan.lets)
        lines = [f"system {self.capitals.pop()} {{"]
        for group, (machine, count) in groups.items():
            lines.append(f"    {self._instances(env, group, machine, count)}")
        let = next(x for x in reversed(self.lower) if x != "size")
        self.lower.remove(let)
        if self.chance(0.4):
            env = Env(env.module, env.names, env.functions, None, frozenset({let}))
            lines.append(f"    let {let} = {self.value(env, m.BOOL, 2).text}")
            env = env.bind({let: m.BOOL})
        if self.chance(0.45):
            lines += self._environment(env)
        if self.chance(0.3):
            lines.append(f"    recover {self.block(self.effects(env, self.random.choice([1, 2]), 1))}")
        lines += [*self._asked(env), "}"]
        yield from ["", *(in_parts(lines, groups) if self.newer else lines)]

    def _system_env(self, groups: Mapping[str, tuple[str, int | None]], lets: Mapping[str, m.Type]) -> Env:
        names: dict[str, m.Type] = dict(lets)
        for group, (machine, count) in groups.items():
            t = m.RefType(machine)
            names[group] = t if count is None else m.SetType(t)
            for n in range(count or 0):
                names[f"{group}[{n}]"] = t
        return Env(self.plan, names, self.plan.functions)

    def _instances(self, env: Env, group: str, machine: str, count: int | None) -> str:
        plan = self.plan.machines[machine]
        text = f"{group}: {machine}" + ("" if count is None else f"[{count}]")
        has_queues = any(self.plan.channels[x] == machine for x in self.plan.each)
        text += " symmetric" if count is not None and self.chance(0.6 if has_queues else 0.2) else ""
        text += f" in {self._begins(machine)}" if self.chance(0.2) else ""
        instances = {n: x for n, x in env.names.items() if n not in self.plan.lets}
        env = Env(env.module, instances, {}, own_only=True)
        values = {n: self._initial(env, t) for n, t in plan.params.items() if self.possible(env, t)}
        some = [n for n, t in plan.fields.items() if self.chance(0.3) and self.possible(env, t)]
        values |= {n: self._initial(env, plan.fields[n]) for n in some}
        values |= {n: "any" for n in some if self.any_value(f"{group}{n}", plan.fields[n])}
        return f"{text} {{ {', '.join(f'{n} = {x}' for n, x in values.items())} }}" if values else text

    def _begins(self, machine: str) -> str:
        """Where an instance begins: in a leaf, or in any of several states."""
        kind = self.random.choice(["leaf", "leaf", "some", "any"]) if self.newer else "leaf"
        if kind == "some":
            states = self.plan.machines[machine].states
            return f"{{{', '.join(self.random.sample(states, self.random.randint(1, len(states))))}}}"
        return self.random.choice(self.leaves[machine]) if kind == "leaf" else "any"

    def _initial(self, env: Env, t: m.Type) -> str:
        if isinstance(t, m.RangeType) and self.chance(0.3):
            return self.random.choice([f"max({t.low}, min(index, {t.high}))", f"{t.low} + index"])
        groups = [n for n, x in env.names.items() if x == m.SetType(t) and self.newer]
        if groups and self.chance(0.5):
            group = self.random.choice(groups)
            return f"{group}[(index + {self.random.randint(0, 2)}) % size({group})]"
        return self.value(env, t, 0, opened=isinstance(t, m.MapType)).text

    def _environment(self, env: Env) -> Iterator[str]:
        lines = [x for _ in range(self.random.randint(4, 9)) if (x := self.offer(env)) is not None]
        when = f" when {self.condition(env, 1).text}" if self.chance(0.3) else ""
        kinds = ["crash", "crash between writes", "crash during recovery"]
        lines += [f"{kind}{when}" for kind in kinds if self.chance(0.3)]
        if self.newer and self.chance(0.4):
            lines.append(self.process_crash(env))
        return iter(["    environment {", *(f"        {x}" for x in lines), "    }"])

    def any_value(self, name: str, t: m.Type) -> bool:
        """Does a field begin with any value? It has few then. Without a draw: other words stay where they are."""
        few = isinstance(t, m.BoolType | m.EnumType) or (isinstance(t, m.RangeType) and t.high - t.low < 3)
        return self.newer and few and sum(map(ord, name)) % 3 == 0

    def _start(self, env: Env) -> Iterator[str]:
        """By draws of its own, for the same reason."""
        drawn, self.random = self.random, Random(len(env.names))
        if self.newer and self.chance(0.4):
            yield f"    start when {self.condition(env, 1).text}"
        self.random = drawn

    def _rests(self, env: Env) -> Iterator[str]:
        """By draws of its own, for the same reason."""
        drawn, self.random = self.random, Random(5 * len(env.names) + len(env.module.machines))
        for _ in range(self.random.choice([0, 1, 1, 2]) if self.newer else 0):
            yield f"    may rest when {self.condition(env, 1).text}"
        self.random = drawn

    def _bounded(self, env: Env) -> Iterator[str]:
        """By draws of its own, for the same reason. Rather wide: what is behind a narrow bound is not tested."""
        drawn, self.random = self.random, Random(3 * len(env.names) + len(env.module.machines))
        if self.newer and self.chance(0.4):
            yield f"    explore while {self.condition(env, 1).text} or {self.condition(env, 2).text}"
        self.random = drawn

    def _asked(self, env: Env) -> Iterator[str]:
        yield from self._start(env)
        yield from self._rests(env)
        yield from self._bounded(env)
        for kind in ("invariant", "reachable"):
            if self.chance(0.4):
                yield f"    {kind} {self.random.choice(['', 'n: '])}{self.condition(env, 2).text}"
        if self.chance(0.2):
            yield f"    property ({self.condition(env, 1).text}) ~> ({self.condition(env, 1).text})"
        if self.newer and self.chance(0.2):
            yield f"    property {self.recovers()}"

    def recovers(self) -> str:
        """`recovers`, of everything or of some fields."""
        fields = [f"{x.name}.{f}" if self.chance(0.5) else f for x in self.plan.machines.values() for f in x.fields]
        picked = self.random.sample(fields, min(len(fields), self.random.choice([0, 1, 2])))
        return f"recovers on {', '.join(picked)}" if picked else "recovers"


# Types as text -------------------------------------------------------------------------------------------------------


def shown(t: m.Type) -> str:
    """A type as it is written."""
    match t:
        case m.BoolType():
            return "bool"
        case m.RangeType(low, high):
            return f"{low}..{high}"
        case m.DurationType():
            return "duration"
        case m.EnumType(name=name) | m.RecordType(name=name) | m.RefType(machine=name) | m.OpaqueType(name=name):
            return name
        case m.SetType(of):
            return f"set<{shown(of)}>"
        case m.ListType(of, bound):
            return f"list<{shown(of)}>[{bound}]"
        case m.MapType(key, of):
            return f"map<{shown(key)}, {shown(of)}>"
        case m.OptionalType(of):
            return f"{shown(of)}?"
        case _:
            raise TypeError(t)


def _listed(parameters: Mapping[str, m.Type]) -> str:
    return f"({', '.join(f'{n}: {shown(t)}' for n, t in parameters.items())})" if parameters else ""
