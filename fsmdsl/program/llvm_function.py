"""One function of a program in LLVM's language, statement by statement.

Operations with a processor instruction of their own (`ones`, `lowest`, a loop that copies) are printed as such. This
makes unoptimized code twice as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from fsmdsl.dataclasses import NamedTuple
from fsmdsl.program import nodes as ir
from fsmdsl.program.arithmetic import Operator
from fsmdsl.program.llvm_types import BITS, COPY, ELEMENTS, EXTREMES, NARROW, Called, Widths, symbol, type_of
from fsmdsl.program.queries import assigned

BINARY: Mapping[Operator, str] = {
    "+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor", "<<": "shl", ">>": "ashr",
}  # fmt: skip

COMPARED: Mapping[ir.Comparison, str] = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}


class Number(NamedTuple):
    """A value: its text, and whether it is one bit and not a number."""

    text: str
    bit: bool = False


class Printer:
    """One function, statement by statement."""

    def __init__(self, function: ir.Function, types: Sequence[ir.Type], widths: Widths) -> None:
        self.function = function
        self.widths = widths
        self.width = widths.of(function.name)
        self.i = f"i{self.width}"
        """The type of a number."""
        self.calls: dict[Called, None] = {}
        """Functions, in the order in which they are called first."""
        self.types: dict[str, ir.Type] = {p.name: of for p, of in zip(function.parameters, types, strict=True)}
        self.numbers = [p.name for p in function.parameters if p.type == "number"]
        """The numbers among the parameters."""
        self.lines: list[str] = []
        self.places: list[str] = []
        self.here = "entry"
        self.name_count = 0
        self.loops: list[tuple[str, str]] = []
        """Where `continue` and `break` lead."""

    def text(self) -> str:
        """The function."""
        parameters = ", ".join(f"{type_of(of, self.width)} %{x}.given" for x, of in self.types.items())
        variables = (*self.numbers, *sorted(assigned(self.function.body) - set(self.numbers)))
        # Variables are in memory: LLVM moves them into registers, which is simpler than writing phi nodes.
        self.places = [f"  %{x}.kept = alloca {self.i}" for x in variables]
        for x in self.numbers:
            self.emit(f"store {self.i} %{x}.given, ptr %{x}.kept")
        self.block(self.function.body)
        self.emit(f"ret {self.i} 0")
        name = symbol(self.function.name, tuple(self.types.values()))
        head = f"define internal {self.i} @{name}({parameters}) nounwind {{"
        return "\n".join([head, "entry:", *self.places, *self.lines, "}", ""])

    # Writing

    def emit(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def fresh(self, what: str = "v") -> str:
        self.name_count += 1
        return f"{what}.{self.name_count}"

    def result(self, line: str) -> str:
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {line}")
        return name

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.here = name

    def go(self, to: str) -> None:
        self.emit(f"br label %{to}")

    def place(self) -> str:
        name = f"%{self.fresh('place')}"
        self.places.append(f"  {name} = alloca {self.i}")
        return name

    # Statements

    def block(self, statements: ir.Block) -> None:
        for x in statements:
            self.statement(x)

    def statement(self, x: ir.Statement) -> None:
        match x:
            case ir.Assign(target, value):
                self.store(target, self.number(value))
            case ir.Update(target, operator, value):
                self.store(target, self.number(ir.Binary(operator, target, value)))
            case ir.Do(value):
                self.value(value)
            case ir.If(condition, then, otherwise):
                self.either(condition, then, otherwise)
            case ir.While(condition, body):
                self.repeat(lambda: self.bit(condition), lambda: self.block(body), lambda: None)
            case ir.Count():
                if not self.copied(x):
                    self.count(x)
            case ir.Through():
                self.through(x)
            case ir.Return(value):
                self.emit(f"ret {self.i} {self.number(value)}")
                self.label(self.fresh("behind"))
            case ir.Break() | ir.Continue():
                self.go(self.loops[-1][isinstance(x, ir.Break)])
                self.label(self.fresh("behind"))
            case ir.Comment():
                pass
            case _:
                assert_never(x)

    def store(self, target: ir.Var | ir.Element, number: str) -> None:
        if isinstance(target, ir.Var):
            self.emit(f"store {self.i} {number}, ptr %{target.name}.kept")
            return
        bits, at = self.element(target)
        self.emit(f"store i{bits} {self.converted(number, self.width, bits)}, ptr {at}")

    def converted(self, number: str, bits: int, target: int, extended: str = "sext") -> str:
        """A number with other bits; it fits in fewer where they are wanted."""
        if bits == target:
            return number
        return self.result(f"{'trunc' if target < bits else extended} i{bits} {number} to i{target}")

    def either(self, condition: ir.Expr, then: ir.Block, otherwise: ir.Block) -> None:
        yes, no, end = self.fresh("yes"), self.fresh("no"), self.fresh("end")
        self.emit(f"br i1 {self.bit(condition)}, label %{yes}, label %{no}")
        for label, statements in ((yes, then), (no, otherwise)):
            self.label(label)
            self.block(statements)
            self.go(end)
        self.label(end)

    def repeat(self, test: Callable[[], str], body: Callable[[], None], step: Callable[[], None]) -> None:
        again, inside, next_one, end = (self.fresh(x) for x in ("again", "inside", "next", "end"))
        self.go(again)
        self.label(again)
        self.emit(f"br i1 {test()}, label %{inside}, label %{end}")
        self.label(inside)
        self.loops.append((next_one, end))
        body()
        self.loops.pop()
        self.go(next_one)
        self.label(next_one)
        step()
        self.go(again)
        self.label(end)

    def count(self, x: ir.Count) -> None:
        at, last = self.place(), self.number(x.end)
        self.emit(f"store {self.i} {self.number(x.first)}, ptr {at}")

        def now() -> str:
            return self.result(f"load {self.i}, ptr {at}")

        def inside() -> None:
            self.store(x.variable, now())
            self.block(x.body)

        def step() -> None:
            self.emit(f"store {self.i} {self.result(f'add {self.i} {now()}, 1')}, ptr {at}")

        self.repeat(lambda: self.result(f"icmp slt {self.i} {now()}, {last}"), inside, step)

    def copied(self, x: ir.Count) -> bool:
        """`for i in range(20): a[i] = b[i]`, if it is that, all at once."""
        match x:
            case ir.Count(i, ir.Int(0), ir.Int(count), (ir.Assign(ir.Element(to, j), ir.Element(source, k)),)) if (
                i == j == k
            ):
                kinds = {self.types[to.name], self.types[source.name]}
                if count > 0 and kinds in ({"row"}, {"words"}):
                    places = f"{self.argument(to)}, {self.argument(source)}"
                    self.emit(f"call void @{COPY}({places}, i64 {self.bits(to) // 8 * count}, i1 false)")
                    self.store(i, str(count - 1))
                    return True
        return False

    def through(self, x: ir.Through) -> None:
        end = self.fresh("end")
        for value in x.values:
            next_one = self.fresh("next")
            self.store(x.variable, self.number(value))
            self.loops.append((next_one, end))
            self.block(x.body)
            self.loops.pop()
            self.go(next_one)
            self.label(next_one)
        self.go(end)
        self.label(end)

    # Expressions

    def number(self, x: ir.Expr) -> str:
        """As a number."""
        value = self.value(x)
        return self.result(f"zext i1 {value.text} to {self.i}") if value.bit else value.text

    def bit(self, x: ir.Expr) -> str:
        """Is it other than 0?"""
        value = self.value(x)
        return value.text if value.bit else self.result(f"icmp ne {self.i} {value.text}, 0")

    def value(self, x: ir.Expr) -> Number:
        match x:
            case ir.Bool(value):
                return Number("true" if value else "false", True)
            case ir.Int(value):
                return Number(str(value))
            case ir.Var(name):
                return Number(self.result(f"load {self.i}, ptr %{name}.kept"))
            case ir.Element():
                bits, at = self.element(x)
                element = self.result(f"load i{bits}, ptr {at}")
                extended = "zext" if self.types[x.array.name] == "halves" else "sext"
                return Number(self.converted(element, bits, self.width, extended))
            case ir.Binary(operator, left, right):
                return Number(self.computed(operator, self.number(left), self.number(right)))
            case ir.Not(operand):
                return Number(self.result(f"xor i1 {self.bit(operand)}, true"), True)
            case ir.Compare():
                return Number(self.compared(x), True)
            case ir.Logic(operator, operands):
                return self.in_turn(operands, operator == "and")
            case ir.Choice(condition, yes, no):
                return self.chosen(condition, yes, no)
            case ir.Call(name, arguments):
                return Number(self.called(name, arguments))
            case _:
                assert_never(x)

    def element(self, x: ir.Element) -> tuple[int, str]:
        """The bits of an element, and its address."""
        bits, array, index = self.bits(x.array), self.argument(x.array), self.number(x.index)
        return bits, self.result(f"getelementptr inbounds i{bits}, {array}, {self.i} {index}")

    def bits(self, array: ir.Var) -> int:
        """Of an element."""
        return ELEMENTS.get(self.types[array.name], self.widths.row)

    def argument(self, x: ir.Expr, width: int | None = None) -> str:
        """A value with its type, for a function whose numbers may be wider; arrays too."""
        if isinstance(x, ir.Var) and self.types.get(x.name, "number") != "number":
            return f"ptr %{x.name}.given"
        target = width or self.width
        return f"i{target} {self.converted(self.number(x), self.width, target)}"

    def computed(self, operator: Operator, left: str, right: str) -> str:
        if operator not in ("*", "//", "%"):
            return self.result(f"{BINARY[operator]} {self.i} {left}, {right}")
        left, right = (self.converted(x, self.width, NARROW) for x in (left, right))
        if operator == "*":
            value = self.result(f"mul i64 {left}, {right}")
        else:
            value = self.divided(left, right)[operator == "%"]
        return self.converted(value, NARROW, self.width)

    def divided(self, left: str, right: str) -> tuple[str, str]:
        """Quotient and rest, which has the sign of the divisor, as in Python."""
        # `srem` has the sign of the dividend. Adding the divisor and dividing again gives that of the divisor.
        rest = self.result(f"srem i64 {left}, {right}")
        rest = self.result(f"srem i64 {self.result(f'add i64 {rest}, {right}')}, {right}")
        return self.result(f"sdiv i64 {self.result(f'sub i64 {left}, {rest}')}, {right}"), rest

    def compared(self, x: ir.Compare) -> str:
        numbers = [self.number(y) for y in (x.first, *(y for _, y in x.others))]
        pairs = zip((c for c, _ in x.others), numbers, numbers[1:], strict=False)
        bits = [self.result(f"icmp {COMPARED[c]} {self.i} {a}, {b}") for c, a, b in pairs]
        every = bits[0]
        for bit in bits[1:]:
            every = self.result(f"and i1 {every}, {bit}")
        return every

    def in_turn(self, operands: Sequence[ir.Expr], conjunction: bool) -> Number:
        """The first that decides, or the last."""
        bits = all(map(is_bit, operands))
        end, arriving = self.fresh("end"), []
        for n, x in enumerate(operands):
            value = self.bit(x) if bits else self.number(x)
            arriving.append(f"[ {value}, %{self.here} ]")
            if n < len(operands) - 1:
                decides = value if bits else self.result(f"icmp ne {self.i} {value}, 0")
                following = self.fresh("then")
                ways = (following, end) if conjunction else (end, following)
                self.emit(f"br i1 {decides}, label %{ways[0]}, label %{ways[1]}")
                self.label(following)
        self.go(end)
        self.label(end)
        return Number(self.result(f"phi {'i1' if bits else self.i} {', '.join(arriving)}"), bits)

    def chosen(self, condition: ir.Expr, yes: ir.Expr, no: ir.Expr) -> Number:
        labels, end, arriving = (self.fresh("yes"), self.fresh("no")), self.fresh("end"), []
        self.emit(f"br i1 {self.bit(condition)}, label %{labels[0]}, label %{labels[1]}")
        for label, x in zip(labels, (yes, no), strict=True):
            self.label(label)
            arriving.append(f"[ {self.number(x)}, %{self.here} ]")
            self.go(end)
        self.label(end)
        return Number(self.result(f"phi {self.i} {', '.join(arriving)}"))

    def called(self, name: str, arguments: Sequence[ir.Expr]) -> str:
        if name in EXTREMES:
            best, *others = [self.number(x) for x in arguments]
            for x in others:
                best = self.result(f"call {self.i} @{EXTREMES[name]}.{self.i}({self.i} {best}, {self.i} {x})")
            return best
        if name in BITS:
            instruction, how = BITS[name]
            operands = ", ".join([self.argument(x) for x in arguments])
            return self.result(f"call {self.i} @{instruction}.{self.i}({operands}{how})")
        types = tuple(self.types.get(x.name, "number") if isinstance(x, ir.Var) else "number" for x in arguments)
        self.calls[name, types] = None
        width = self.widths.of(name)
        operands = ", ".join([self.argument(x, width) for x in arguments])
        return self.converted(self.result(f"call i{width} @{symbol(name, types)}({operands})"), width, self.width)


def is_bit(x: ir.Expr) -> bool:
    """Is an expression worth 1 or 0, kept as one bit?"""
    match x:
        case ir.Compare() | ir.Not() | ir.Bool():
            return True
        case ir.Logic(_, operands):
            return all(map(is_bit, operands))
        case _:
            return False
