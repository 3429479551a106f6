"""Instances said to be interchangeable, and told apart all the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from fsmdsl import model as m
from fsmdsl.check.subject import Subject
from fsmdsl.model.walk import expressions, first_values, offered, recovery, required
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

ASYMMETRIC = Rule(
    "FSM227",
    "not-symmetric",
    Severity.WARNING,
    "a symmetric set whose instances are not interchangeable",
    """
`symmetric` declares instances to be interchangeable. Worlds that differ only in an exchange of such instances are then
explored only once. Instances are not interchangeable if they begin with different values, or if the system refers to
one of them individually. In that case, they are distinguished during exploration. The result is still complete, but
`symmetric` has no benefit.

```fsm
machine Cell {
    param weight: 0..9
    total: 0..9
    initial state Free
    state Used
    event take, free from environment
    Free -> Used on take when weight > total
    Used -> Free on free
}
system Three {
    cells: Cell[3] symmetric { weight = index }
}
```

Remove `symmetric`, or treat the instances alike.
""",
)

RULES = (ASYMMETRIC,)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Different first values, and instances spoken of one by one."""
    for system in subject.model.systems.values():
        for group in system.groups:
            if group.symmetric and group.count > 1:
                yield from _values(system, group)
                yield from _singled_out(system, group)


def _values(system: m.System, group: m.InstanceGroup) -> Iterator[Diagnostic]:
    instances = [i for i in system.instances if i.group == group.name]
    first = dict(instances[0].values)
    for instance in instances[1:]:
        for name, value in instance.values:
            if value != first[name]:
                diagnostic = ASYMMETRIC.at(value.span, f"`{name}` differs between the instances of `{group.name}`")
                yield diagnostic.label(group.span, "declared symmetric here").help("remove `symmetric`")
                return


def _singled_out(system: m.System, group: m.InstanceGroup) -> Iterator[Diagnostic]:
    roots = chain(first_values(system), offered(system), required(system), (x.value for x in system.lets))
    for x in (x for e in chain(roots, recovery(system)) for x in expressions(e)):
        match x:
            case m.InstanceRef(name=group.name) | m.Apply(function="item", arguments=(m.Instances(name=group.name), _)):
                diagnostic = ASYMMETRIC.at(
                    x.span, f"this refers to a single instance of the symmetric set `{group.name}`"
                )
                yield diagnostic.label(group.span, "declared symmetric here").help("remove `symmetric`")
                return
