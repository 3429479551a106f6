"""Core statements: what each step of a system does, with order, checks and faults written out.

A back end translates these nodes one by one and decides nothing about the language. It supplies primitives: where it
stores a state, a field, a queue, a flag.

Expressions are *sure*: each has a value wherever it is reached, and no effect. What an expression of the model needs to
have a value (an instance that is not none, a divisor that is not 0) is a `Require` before it. `Logic`, `Conditional`
and `Quantifier` evaluate their operands lazily, from left to right, so an operand may rely on those before it.

Each expression has a `type` that is as wide as its values (see `elaborate`). A value can be used where a narrower type
is expected, such as a field or a parameter: a `Require` has ensured that it fits.

Variables are unique within a procedure. An instance that is not none has the type `RefType`, which names its machine;
`INSTANCE` is the type of an instance of any machine.
"""

from __future__ import annotations

from fsmdsl.core.statements.expressions import *
from fsmdsl.core.statements.faults import *
from fsmdsl.core.statements.happenings import *
from fsmdsl.core.statements.statements import *
