"""Random systems, each from a seed: specs as in `random_specs`, but made to be explored.

Machines ignore what they do not handle, so that a run comes far before it fails; there are more of everything that a
packed search has to get right: several groups of a machine, crashes in every place, recovery, channels, answers,
properties of runs with fairness.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from random import Random

from random_expressions import Env, MachinePlan
from random_sharing import in_parts
from random_specs import OPENS_EFFECT, _Specs

from fsmdsl import model as m

MOST = 64
"""An event from the environment has no more arguments than this to choose among."""


def text_of(seed: int, newer: bool = False) -> str:
    """The text of a module; the same for the same seed. `newer`: see `Writer`."""
    return _Systems(Random(seed), newer).text(f"system_{seed}")


class _Systems(_Specs):
    """Writes modules, at random."""

    def __init__(self, random: Random, newer: bool = False) -> None:
        super().__init__(random, newer)
        self.knobs: dict[str, list[str]] = {}
        """Fields that the environment sets, by machine."""
        self.known: dict[str, list[str]] = {}
        """Labels, by machine."""
        self.ignored: list[str] = []
        """Events that machines ignore wherever they do not handle them, behind the machine's name."""

    # Machines that go on

    def _plan_module(self) -> None:
        super()._plan_module()
        for channel in self.plan.channels:  # more than one message is worth a channel
            receiver = self.plan.machines[self.plan.channels[channel]]
            for event in receiver.events:
                if self.chance(0.3) and channel not in receiver.senders[event]:
                    receiver.senders[event].append(channel)

    def _plan_machine(self, machine: MachinePlan) -> None:
        super()._plan_machine(machine)
        self.knobs[machine.name] = []
        for name, t in machine.fields.items():
            if self.chance(0.6) and self._values(t) <= 4 and self.possible(Env(self.plan, {}, {}), t):
                self.knobs[machine.name].append(name)
                machine.events[f"turn_{name}"] = {"x": t} if self.chance(0.5) else {}

    def _on_event(self, machine: MachinePlan, event: str, parameters: Mapping[str, m.Type]) -> str:
        name = event.removeprefix("turn_")
        if name == event or name not in self.knobs[machine.name]:
            return super()._on_event(machine, event, parameters)
        env = self._machine_env(machine)
        guard = f" when {self.condition(env, 1).text}" if self.chance(0.2) else ""
        if parameters:
            return f"{self._label()}: * on {event}(x){guard} do {name} = x"
        return f"{self._label()}: * on {event}{guard} do {name} = {self.value(env, machine.fields[name], 1).text}"

    def _plan_senders(self, machine: MachinePlan) -> None:
        super()._plan_senders(machine)
        for knob in self.knobs[machine.name]:
            machine.senders[f"turn_{knob}"] = ["environment"]
        for event, senders in machine.senders.items():
            if senders and self.chance(0.6) and self._choices(machine.events[event]) <= MOST:
                machine.senders[event] = sorted({*senders, "environment"})

    def _choices(self, parameters: Mapping[str, m.Type]) -> int:
        found = 1
        for t in parameters.values():
            found *= self._values(t)
        return found

    def _values(self, t: m.Type) -> int:
        """How many there are of a type, about."""
        match t:
            case m.RangeType(low, high):
                return high - low + 1
            case m.EnumType(members=members):
                return len(members)
            case m.SetType(of) | m.ListType(of=of):
                return 1 << self._values(of)
            case m.MapType(key, of):
                return self._values(of) ** self._values(key)
            case m.OptionalType(of):
                return 1 + self._values(of)
            case m.RecordType(parts=parts):
                return prod(self._values(of) for _, of in parts)
            case m.RefType():
                return 3
            case _:
                return 2

    def _sources(self, machine: MachinePlan, wild: bool) -> str:
        return super()._sources(machine, wild or self.chance(0.1))

    def _eventless(self, machine: MachinePlan) -> str:
        return super()._eventless(machine) if self.chance(0.6) else ""

    def _rules(self, machine: MachinePlan) -> Iterator[str]:
        chains = 0.2  # two that contradict each other make overlaps
        yield from (x for x in super()._rules(machine) if not x.startswith("priority") or self.chance(chains))
        for event in machine.events:
            if self.chance(0.85):
                self.ignored.append(f"{machine.name}.{event}")
                yield f"ignore {event} in *"
        for action, (_, outcomes) in machine.actions.items():
            for outcome in outcomes:
                if self.chance(0.8):
                    yield f"ignore {action}.{outcome} in *"
        yield f"priority {' > '.join(self._ranked(machine))}"

    def _transitions(self, machine: MachinePlan) -> Iterator[str]:
        yield from super()._transitions(machine)
        self.known[machine.name] = [x for x in self.labels if x != "class"]

    def _ranked(self, machine: MachinePlan) -> list[str]:
        """All labels, or nearly."""
        names = list(dict.fromkeys([*self.labels, *machine.events]))
        self.random.shuffle(names)
        return [*names[: max(1, len(names) - self.random.choice([0, 0, 1]))], "*"]

    # Systems

    def _system(self) -> Iterator[str]:
        groups = self._groups()
        env = self._system_env(groups, self.plan.lets)
        lines = [f"system {self.capitals.pop()} {{"]
        for group, (machine, count) in groups.items():
            lines.append(f"    {self._instances(env, group, machine, count)}")
        if self.chance(0.45):
            lines += self._environment(env)
        if self.chance(0.6):
            lines.append(f"    recover {self.block(self.effects(env, self.random.choice([1, 2, 3]), 1))}")
        lines += [*self._asked(env), "}"]
        yield from ["", *(in_parts(lines, groups) if self.newer else lines)]

    def _groups(self) -> dict[str, tuple[str, int | None]]:
        """Of every machine one group, of some two, in any order; one instance where a channel leads."""
        listed: list[tuple[str, int | None]] = []
        for name in self.plan.machines:
            alone = self.plan.must_be_alone(name)
            listed.append((name, None if alone or self.chance(0.4) else self.random.choice([1, 2, 2, 3])))
            if not alone and self.chance(0.25):
                listed.append((name, None if self.chance(0.5) else 1))
        self.random.shuffle(listed)
        names = [x for x in self.lower if x not in OPENS_EFFECT][-len(listed) :]
        self.lower = [x for x in self.lower if x not in names]
        return dict(zip(names, listed, strict=True))

    def _environment(self, env: Env) -> Iterator[str]:
        lines = [x for _ in range(self.random.randint(6, 14)) if (x := self.offer(env)) is not None]
        kinds = ["crash", "crash between writes", "crash during recovery", "crash"]
        self.random.shuffle(kinds)
        for kind in kinds:
            if self.chance(0.35):
                lines.append(f"{kind} when {self.condition(env, 1).text}" if self.chance(0.3) else kind)
        lines += [self.process_crash(env) for _ in range(self.random.choice([0, 0, 0, 1, 1, 2]))]
        return iter(["    environment {", *(f"        {x}" for x in lines), "    }"])

    def _asked(self, env: Env) -> Iterator[str]:
        yield from self._start(env)
        yield from self._rests(env)
        yield from self._bounded(env)
        for n in range(self.random.choice([0, 1, 1, 2])):
            yield f"    invariant i{n}: {self.condition(env, 2).text}"
        for n in range(self.random.choice([0, 1, 1])):
            yield f"    reachable r{n}: {self.condition(env, 2).text}"
        for n in range(self.random.choice([0, 1, 1, 2])):
            yield f"    property p{n}: {self._formula(env)}{self._under()}"
        if self.newer and self.chance(0.2):
            yield f"    property again: {self.recovers()}"

    def _formula(self, env: Env) -> str:
        a, b = (f"({self.condition(env, 1).text})" for _ in range(2))
        refs = [n for n, t in env.names.items() if isinstance(t, m.RefType)]
        if self.newer and refs and self.chance(0.4):
            stuck = f"stuck({self.random.choice(refs)})"
            return self.random.choice([f"always not {stuck}", f"{a} ~> {b} or {stuck}", f"eventually {stuck} or {a}"])
        ever = [f"always eventually {a}", f"eventually always {a}"]
        return self.random.choice([f"{a} ~> {b}", *ever, f"{a} until {b}", f"always ({a} => next {b})"])

    def _under(self) -> str:
        """Fairness, and that crashes come to an end."""
        promised = self._fairness()
        if not self.newer or self.chance(0.6):
            return promised
        finite = "finitely many crashes"
        if not promised:
            return f" under {finite}"
        return f"{promised} and {finite}" if self.chance(0.5) else promised.replace("under", f"under {finite},", 1)

    def _fairness(self) -> str:
        """Events, labels and answers that are not put off for ever."""
        names: list[str] = []
        for machine in self.plan.machines.values():
            # `fair deliver` in front of another word speaks of a channel.
            names += [*(e for e in machine.events if e != "deliver"), *(f"{machine.name}.{e}" for e in machine.events)]
            names += [f"{a}.{o}" for a, (_, outcomes) in machine.actions.items() for o in outcomes]
            names += [x for x in self.known[machine.name] if x != self.split.get(machine.name)]
        if self.newer:
            for channel, receiver in self.plan.channels.items():
                senders = self.plan.machines[receiver].senders
                some = [f"deliver {channel}", *(f"deliver {channel}.{e}" for e in senders if channel in senders[e])]
                names += some * 4  # else the many others would hardly leave one
        picked = list(dict.fromkeys(self.random.sample(names, min(len(names), self.random.choice([0, 1, 1, 2, 3])))))
        if picked:
            picked += [x for x in self._sent_and_ignored() if x not in picked]
        each = self._each() if self.newer and self.chance(0.6) else []
        if not picked:
            return f" under {' and '.join(each)}" if each else ""
        weak, strong = (
            # Behind a comma, `fair` would begin what follows.
            ", ".join(sorted(x, key=lambda name: name != "fair"))
            for x in (picked[: len(picked) // 2], picked[len(picked) // 2 :])
        )
        kind = "weak fair" if self.newer and self.chance(0.5) else "fair"
        promised = [f"{kind} {weak}"] * bool(weak) + [f"strong fair {strong}"]
        return f" under {' and '.join([*each, *promised])}"

    def _sent_and_ignored(self) -> list[str]:
        """An event that happens where it is ignored, as others than the environment send it: then there is a step.
        Chosen without a draw, so that seeds that are known stay what they are."""
        sent = {
            f"{machine.name}.{event}"
            for machine in self.plan.machines.values()
            for event, senders in machine.senders.items()
            if set(senders) != {"environment"}
        }
        found = [x for x in self.ignored if x in sent]
        return found[len(self.ignored) % len(found) :][:1] if found else []

    def _each(self) -> list[str]:
        """An event that is not put off for ever with any of the values of some parameters, if there are few."""
        events = [(x.name, e, p) for x in self.plan.machines.values() for e, p in x.events.items() if p]
        events = [(machine, e, p) for machine, e, p in events if self._choices(p) <= 12]
        if not events:
            return []
        machine, event, parameters = self.random.choice([x for x in events if len(x[2]) > 1] or events)
        count = self.random.choice([1, len(parameters), len(parameters)])
        names = ", ".join(self.random.sample(list(parameters), count))
        return [f"{self.random.choice(['fair', 'strong fair'])} {machine}.{event} for each {names}"]
