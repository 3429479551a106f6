"""Random effects of transitions, hooks and `recover`, and offers of an environment: see `random_expressions`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest

from random_expressions import Env, MachinePlan, Text, Writer, alike, bare

from fsmdsl import model as m


class EffectWriter(Writer):
    """Writes effects, at random."""

    def do(self, env: Env, count: int, depth: int, *, quiet: bool = False) -> str:
        """`do …`. `quiet`: nothing but assignments, as in a crash."""
        listed = self.effects(env, count, depth, quiet=quiet)
        if not listed:
            return ""
        if len(listed) == 1 and self.chance(0.7):
            return f" do {listed[0]}"
        return f" do {self.block(listed)}"

    def block(self, listed: list[str]) -> str:
        """Effects in braces, with and without `;` between them. Before an event `until`, an expression needs one."""

        def ended(x: str, following: str) -> str:
            until = following.startswith("until")
            wanted = self.chance(0.7) or until
            closed = x.endswith("}") and (not until or x.startswith(("if ", "for ")))  # by a block, not by a set
            return x + (";" if wanted and not closed else "")

        return "{ " + " ".join(ended(x, y) for x, y in zip_longest(listed, listed[1:], fillvalue="")) + " }"

    def effects(self, env: Env, count: int, depth: int, *, quiet: bool = False, last: bool = True) -> list[str]:
        """So many effects, as far as there are any; `last`: an action with outcomes may end them."""
        ways: list[Callable[[], str | None]] = [lambda: self._assign(env), lambda: self._assign(env)]
        if self.newer:
            ways.append(lambda: self._entry_of(env))
        if depth > 0:
            ways.append(lambda: self._if(env, depth - 1, quiet=quiet))
        if not quiet:
            ways += [lambda: self._change(env), lambda: self._request(env), lambda: self._post(env)]
            ways += [lambda: self._send(env)] * 4
            if depth > 0:
                ways.append(lambda: self._for(env, depth - 1))
        found = [x for _ in range(count) if (x := self.random.choice(ways)()) is not None]
        if last and not quiet and env.machine is not None and self.chance(0.2):
            asked = self._request(env, outcomes=True)
            found += [asked] if asked is not None else []
        return found

    # Fields

    def _fields(self, env: Env) -> list[tuple[str, m.Type]]:
        """Fields that may be written here."""
        if env.machine is not None:
            return list(env.machine.fields.items())
        listed = [(n, env.module.machines[t.machine]) for n, t in env.names.items() if isinstance(t, m.RefType)]
        return [(f"{name}.{n}", t) for name, machine in listed for n, t in machine.fields.items()]

    def _assign(self, env: Env) -> str | None:
        fields = [(n, t) for n, t in self._fields(env) if self.possible(env, t)]
        if not fields:
            return None
        name, t = self.random.choice(fields)
        hidden = env.machine is not None and name in env.bound
        if isinstance(t, m.RecordType) and not hidden and self.chance(0.6):
            part, of = self.random.choice(t.parts)
            return f"{name}.{part} = {self.value(env, of, 1, opened=True).text}"
        prefix = "self." if env.machine is not None and self.chance(0.05) else ""
        return f"{prefix}{name} = {self.value(env, t, 1, opened=True).text}"

    def _entry_of(self, env: Env) -> str | None:
        """`votes[n] = x`."""
        maps = [(n, t) for n, t in self._fields(env) if isinstance(t, m.MapType)]
        maps = [(n, t) for n, t in maps if self.possible(env, t.key) and self.possible(env, t.of)]
        if not maps:
            return self._assign(env)
        name, t = self.random.choice(maps)
        key, x = self.value(env, t.key, 0, True), self.value(env, t.of, 1, opened=True)
        own = "self." if name in ("add", "remove", "send") else ""  # words that open an effect, in front of a bracket
        return f"{own}{name}[{key.text}] = {x.text}"

    def _change(self, env: Env) -> str | None:
        found = [(n, t.of) for n, t in self._fields(env) if isinstance(t, m.SetType | m.ListType)]
        found = [(n, t) for n, t in found if self.possible(env, t)]
        if not found:
            return None
        lists = [(n, t) for n, t in found if isinstance(dict(self._fields(env))[n], m.ListType)]
        name, of = self.random.choice(lists if lists and self.chance(0.5) else found)
        kind = self.random.choice(["add {} to {}", "add {} to {}", "remove {} from {}"])
        item = self.value(env, of, 1, opened=True)
        while item.text.startswith("("):  # `add (` would be an action
            item = self.value(env, of, 0)
        return kind.format(item.text, name)

    # Others

    def _request(self, env: Env, outcomes: bool = False) -> str | None:
        if env.machine is None:
            return None
        found = [(n, p) for n, (p, o) in env.machine.actions.items() if bool(o) is outcomes]
        found = [(n, p) for n, p in found if all(self.possible(env, t) for t in p.values())]
        if not found:
            return None
        name, parameters = self.random.choice(found)
        return f"{name}({self.arguments(env, parameters, 1)})" if parameters or self.chance(0.1) else name

    def _send(self, env: Env) -> str | None:
        targets = [(n, t.machine) for n, x in env.paths() if isinstance(t := bare(x), m.RefType)]
        if env.machine is not None:
            itself = env.machine.name
            targets = [x for x in targets if x[1] != itself or self.chance(0.4)]
            targets = targets or [("self", itself)] * self.chance(0.03)
        if not targets:
            return None
        name, machine = self.random.choice(targets)
        call = self._call_event(env, env.module.machines[machine], env.machine.name if env.machine else None)
        if call is None or (isinstance(dict(env.paths()).get(name), m.RefType) or self.chance(0.1)):
            return None if call is None else f"{name}.{call}"
        return f"if {name} != none {{ {name}.{call} }}"

    def _post(self, env: Env) -> str | None:
        if not env.module.channels:
            return None
        channel = self.random.choice(list(env.module.channels))
        if env.holds(channel) or env.module.senders.get(channel) not in (None, env.machine and env.machine.name):
            return None
        receiver = env.module.channels[channel]
        call = self._call_event(env, env.module.machines[receiver], channel, named=True)
        if call is None or channel not in env.module.each:
            return None if call is None else f"send {channel}.{call}"
        found = [(n, t) for n, t in env.paths() if bare(t) == m.RefType(receiver)]
        found += [("self", m.RefType(receiver))] if env.machine is not None and env.machine.name == receiver else []
        if not found:
            return None
        name, t = self.random.choice(found)
        sent = f"send {channel}.{call} to {name}"
        if channel in env.module.senders and len(sent) % 2:  # without a draw
            sent = f"if size({channel} from self to {name}) == 0 {{ {sent} }}"
        return sent if isinstance(t, m.RefType) or self.chance(0.1) else f"if {name} != none {{ {sent} }}"

    def _call_event(self, env: Env, machine: MachinePlan, sender: str | None, named: bool = False) -> str | None:
        """An event of a machine that a sender may send, with arguments."""
        found = []
        for event, parameters in machine.events.items():
            senders = machine.senders[event]
            allowed = sender is None or sender in senders or (not senders and not named)
            if allowed and all(self.possible(env, t) for t in parameters.values()):
                found.append(event)
        if not found:
            return None
        event = self.random.choice(found)
        parameters = machine.events[event]
        settled = sender == "environment"
        return f"{event}({self.arguments(env, parameters, 1, settled)})" if parameters or self.chance(0.1) else event

    # Blocks

    def _for(self, env: Env, depth: int) -> str | None:
        over, of = self.source(env, 1)
        name = self.local(env)
        inner = env.bind({name: of})
        body = self.effects(inner, self.random.choice([1, 1, 2]), depth, last=False)
        told = self._in_turn(inner, name, of)
        if told is not None and self.chance(0.5):
            body.insert(self.random.randint(0, len(body)), told)
        return f"for {name} in {over.text} {self.block(body)}" if body else None

    def _in_turn(self, env: Env, name: str, of: m.Type) -> str | None:
        """An effect that shows in which order a loop goes through its items: the last one stays, or all in a row."""
        fields = [(n, t) for n, t in self._fields(env) if n != name]
        places = [f"{n} = {name}" for n, t in fields if alike(bare(t), of)]
        places += [f"add {name} to {n}" for n, t in fields if isinstance(t, m.ListType) and alike(t.of, of)]
        if isinstance(of, m.RefType):
            data = env.module.machines[of.machine].data
            known = [(n, t, x) for n, t in fields for x, u in data.items() if alike(t, u)]
            places += [f"{n} = {name}.{x}" for n, _, x in known]
        return self.random.choice(places) if places else None

    def _if(self, env: Env, depth: int, *, quiet: bool) -> str | None:
        then = self.effects(env, self.random.choice([1, 1, 2]), depth, quiet=quiet, last=False)
        if not then:
            return None
        text = f"if {self.condition(env, 1).text} {self.block(then)}"
        if self.chance(0.4):
            other = self._if(env, depth - 1, quiet=quiet) if depth > 0 and self.chance(0.4) else None
            text += f" else {other or self.block(self.effects(env, 1, depth, quiet=quiet, last=False))}"
        return text

    # Environment

    def offer(self, env: Env) -> str | None:
        """A line of an environment: some instance, some arguments, perhaps a guard."""
        groups = [(n, t) for n, t in env.names.items() if isinstance(bare(t), m.RefType | m.SetType)]
        name, t = self.random.choice(groups)
        binders: list[str] = []
        if isinstance(t, m.SetType):
            target = self.local(env)
            binders.append(f"{target} in {name}")
            name, t = target, t.of
            env = env.bind({name: t})
        assert isinstance(t, m.RefType)
        machine = env.module.machines[t.machine]
        for number in range(self.random.choice([0, 0, 1, 2])):
            over, of = self.source(env, 0)
            sets = [n for n, x in env.paths() if x == m.SetType(of)]
            if sets and self.chance(0.4):
                over, of = Text(f"subsets({self.random.choice(sets)}, {self.random.randint(0, 2)})"), m.SetType(of)
            binders.append(f"arg{number} in {over.text}")
            env = env.bind({f"arg{number}": of})
        call = self._call_event(env, machine, "environment")
        if call is None:
            return None
        some = f"some {', '.join(binders)}: " if binders else ""
        when = f" when {self.condition(env, 1).text}" if self.chance(0.3) else ""
        return f"{some}{name}.{call}{when}"

    def process_crash(self, env: Env) -> str:
        """The crash of an instance or two, perhaps chosen, perhaps with a guard."""
        targets: list[str] = []
        binders: list[str] = []
        for _ in range(self.random.choice([1, 1, 2])):
            found = [(n, t) for n, t in env.names.items() if isinstance(bare(t), m.RefType | m.SetType)]
            name, t = self.random.choice(found)
            if isinstance(t, m.SetType):
                target = self.local(env)
                binders.append(f"{target} in {name}")
                name, env = target, env.bind({target: t.of})
            targets.append(name)
        some = f"some {', '.join(binders)}: " if binders else ""
        when = f" when {self.condition(env, 1).text}" if self.chance(0.4) else ""
        return f"{some}crash of {', '.join(dict.fromkeys(targets))}{when}"
