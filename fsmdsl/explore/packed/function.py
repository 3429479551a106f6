"""One function of whole numbers in LLVM's language, statement by statement. See `translate`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

ELEMENTS = {"q": "i64", "u": "i32"}

BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}

COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "slt",
    ast.LtE: "sle",
    ast.Gt: "sgt",
    ast.GtE: "sge",
}

EXTREMES = {"min": "llvm.smin.i64", "max": "llvm.smax.i64"}

BITS = {"ones": ("llvm.ctpop.i64", ""), "lowest": ("llvm.cttz.i64", ", i1 false")}
"""Functions of `helpers` that are one instruction."""

COPY = "llvm.memcpy.p0.p0.i64"

HEAD = "".join(
    [
        *(f"declare i64 @{name}(i64, i64)\n" for name in EXTREMES.values()),
        "declare i64 @llvm.ctpop.i64(i64)\n",
        "declare i64 @llvm.cttz.i64(i64, i1)\n",
        f"declare void @{COPY}(ptr, ptr, i64, i1)\n",
    ]
)


def symbol(name: str, kinds: str) -> str:
    """A function is made once for each kinds of arguments."""
    return f"{name}.{kinds}"


class Number(NamedTuple):
    """A value: its text, and whether it is one bit and not 64."""

    text: str
    bit: bool = False


class Function:
    """One function, statement by statement."""

    def __init__(self, definition: ast.FunctionDef, kinds: str, numbers: Mapping[str, int]) -> None:
        self.definition = definition
        self.numbers = numbers
        self.called_ones: dict[tuple[str, str], None] = {}
        """Functions with the kinds of their arguments, in the order in which they are called first."""
        names = [x.arg for x in definition.args.args]
        self.kinds = dict(zip(names, kinds, strict=True))
        self.name = symbol(definition.name, kinds)
        stored = {x.id for x in ast.walk(definition) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        numbered = (x for x in names if self.kinds[x] == "i")
        self.variables = {x: "ptr" if self.kinds.get(x, "i") != "i" else "i64" for x in (*numbered, *sorted(stored))}
        """Those that may change, with their types."""
        self.lines: list[str] = []
        self.places: list[str] = []
        self.here = "entry"
        self.made = 0
        self.loops: list[tuple[str, str]] = []
        """Where `continue` and `break` lead."""

    def text(self) -> str:
        """The function."""
        parameters = [f"{'i64' if k == 'i' else 'ptr'} %{x}.given" for x, k in self.kinds.items()]
        self.places = [f"  %{x}.kept = alloca {of}" for x, of in self.variables.items()]
        for x, of in self.variables.items():
            if x in self.kinds:
                self.emit(f"store {of} %{x}.given, ptr %{x}.kept")
        self.block(self.definition.body)
        self.emit("ret i64 0")
        head = f"define internal i64 @{self.name}({', '.join(parameters)}) nounwind {{"
        return "\n".join([head, "entry:", *self.places, *self.lines, "}", ""])

    # Writing

    def emit(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def fresh(self, what: str = "v") -> str:
        self.made += 1
        return f"{what}.{self.made}"

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
        self.places.append(f"  {name} = alloca i64")
        return name

    # Statements

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for x in statements:
            self.statement(x)

    def statement(self, x: ast.stmt) -> None:
        match x:
            case ast.Assign(targets=[ast.Tuple(targets)], value=ast.Tuple(values)):
                for target, found in zip(targets, [self.argument(x) for x in values], strict=True):
                    assert isinstance(target, ast.Name)
                    self.emit(f"store {found}, ptr %{target.id}.kept")
            case ast.Assign(targets=[target], value=value):
                self.store(target, self.number(value))
            case ast.AugAssign(target=ast.Name() | ast.Subscript() as target, op=op, value=value):
                self.store(target, self.number(ast.BinOp(target, op, value)))
            case ast.If(test, body, orelse):
                self.either(test, body, orelse)
            case ast.While(test, body, []):
                self.repeat(lambda: self.bit(test), lambda: self.block(body), lambda: None)
            case ast.For(ast.Name() as target, ast.Call(ast.Name("range"), bounds), body, []):
                if not self.copied(target, bounds, body):
                    self.count(target, bounds, body)
            case ast.For(target, ast.Tuple(elements), body, []):
                self.through(target, elements, body)
            case ast.Return(value) if value is not None:
                self.emit(f"ret i64 {self.number(value)}")
                self.label(self.fresh("behind"))
            case ast.Break() | ast.Continue():
                self.go(self.loops[-1][isinstance(x, ast.Break)])
                self.label(self.fresh("behind"))
            case ast.Expr(value):
                if not isinstance(value, ast.Constant):
                    self.value(value)
            case ast.Pass():
                pass
            case _:
                raise TypeError(f"not a statement of whole numbers: {ast.unparse(x)}")

    def store(self, target: ast.expr, number: str) -> None:
        if isinstance(target, ast.Name):
            self.emit(f"store i64 {number}, ptr %{target.id}.kept")
            return
        assert isinstance(target, ast.Subscript)
        kind, at = self.element(target)
        if kind == "u":
            number = self.result(f"trunc i64 {number} to i32")
        self.emit(f"store {ELEMENTS[kind]} {number}, ptr {at}")

    def either(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        yes, no, end = self.fresh("yes"), self.fresh("no"), self.fresh("end")
        self.emit(f"br i1 {self.bit(test)}, label %{yes}, label %{no}")
        for label, statements in ((yes, body), (no, orelse)):
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

    def count(self, target: ast.Name, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        first, end = [ast.Constant(0), *bounds][-2:]
        at, last = self.place(), self.number(end)
        self.emit(f"store i64 {self.number(first)}, ptr {at}")

        def now() -> str:
            return self.result(f"load i64, ptr {at}")

        def inside() -> None:
            self.emit(f"store i64 {now()}, ptr %{target.id}.kept")
            self.block(body)

        def step() -> None:
            self.emit(f"store i64 {self.result(f'add i64 {now()}, 1')}, ptr {at}")

        self.repeat(lambda: self.result(f"icmp slt i64 {now()}, {last}"), inside, step)

    def copied(self, target: ast.Name, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> bool:
        """`for i in range(20): a[i] = b[i]`, if it is that, all at once."""
        match bounds, body:
            case (
                [ast.Constant(int() as count)],
                [
                    ast.Assign(
                        [ast.Subscript(ast.Name(to), ast.Name(i))], ast.Subscript(ast.Name() as source, ast.Name(j))
                    )
                ],
            ) if i == j == target.id and count > 0 and self.kinds[to] == self.kinds[source.id] == "q":
                places = f"{self.argument(ast.Name(to))}, {self.argument(source)}"
                self.emit(f"call void @{COPY}({places}, i64 {8 * count}, i1 false)")
                self.emit(f"store i64 {count - 1}, ptr %{target.id}.kept")
                return True
            case _:
                return False

    def through(self, target: ast.expr, elements: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        end = self.fresh("end")
        for element in elements:
            next_one = self.fresh("next")
            self.store(target, self.number(element))
            self.loops.append((next_one, end))
            self.block(body)
            self.loops.pop()
            self.go(next_one)
            self.label(next_one)
        self.go(end)
        self.label(end)

    # Expressions

    def number(self, x: ast.expr) -> str:
        """With 64 bits."""
        found = self.value(x)
        return self.result(f"zext i1 {found.text} to i64") if found.bit else found.text

    def bit(self, x: ast.expr) -> str:
        """Is it other than 0?"""
        found = self.value(x)
        return found.text if found.bit else self.result(f"icmp ne i64 {found.text}, 0")

    def value(self, x: ast.expr) -> Number:
        match x:
            case ast.Constant(bool() as value):
                return Number("true" if value else "false", True)
            case ast.Constant(int() as value):
                return Number(str(value))
            case ast.Name(name):
                if name in self.variables:
                    return Number(self.result(f"load i64, ptr %{name}.kept"))
                return Number(str(self.numbers[name]))
            case ast.Subscript():
                kind, at = self.element(x)
                found = self.result(f"load {ELEMENTS[kind]}, ptr {at}")
                return Number(self.result(f"zext i32 {found} to i64") if kind == "u" else found)
            case ast.BinOp(left, op, right):
                return Number(self.computed(op, self.number(left), self.number(right)))
            case ast.UnaryOp(ast.Not(), of):
                return Number(self.result(f"xor i1 {self.bit(of)}, true"), True)
            case ast.UnaryOp(ast.USub(), of):
                return Number(self.result(f"sub i64 0, {self.number(of)}"))
            case ast.UnaryOp(ast.Invert(), of):
                return Number(self.result(f"xor i64 {self.number(of)}, -1"))
            case ast.Compare(left, ops, others):
                return Number(self.compared([left, *others], ops), True)
            case ast.BoolOp(op, values):
                return self.in_turn(values, isinstance(op, ast.And))
            case ast.IfExp(test, yes, no):
                return self.chosen(test, yes, no)
            case ast.Call(ast.Name(name), arguments):
                return Number(self.called(name, arguments))
            case _:
                raise TypeError(f"not an expression of whole numbers: {ast.unparse(x)}")

    def element(self, x: ast.Subscript) -> tuple[str, str]:
        """The kind of an array, and the address of its element."""
        assert isinstance(x.value, ast.Name)
        kind = self.kinds[x.value.id]
        at = self.number(x.slice)
        return kind, self.result(f"getelementptr inbounds {ELEMENTS[kind]}, {self.argument(x.value)}, i64 {at}")

    def argument(self, x: ast.expr) -> str:
        """A value with its type; arrays too."""
        if not isinstance(x, ast.Name) or self.kinds.get(x.id, "i") == "i":
            return f"i64 {self.number(x)}"
        return f"ptr {self.result(f'load ptr, ptr %{x.id}.kept') if x.id in self.variables else f'%{x.id}.given'}"

    def computed(self, op: ast.operator, left: str, right: str) -> str:
        if isinstance(op, ast.Mod | ast.FloorDiv):
            return self.divided(left, right)[isinstance(op, ast.Mod)]
        if type(op) not in BINARY:
            raise TypeError(f"not of whole numbers: {type(op).__name__}")
        return self.result(f"{BINARY[type(op)]} i64 {left}, {right}")

    def divided(self, left: str, right: str) -> tuple[str, str]:
        """Quotient and rest, which has the sign of the divisor, as in Python."""
        rest = self.result(f"srem i64 {left}, {right}")
        rest = self.result(f"srem i64 {self.result(f'add i64 {rest}, {right}')}, {right}")
        return self.result(f"sdiv i64 {self.result(f'sub i64 {left}, {rest}')}, {right}"), rest

    def compared(self, values: Sequence[ast.expr], ops: Sequence[ast.cmpop]) -> str:
        numbers = [self.number(x) for x in values]
        pairs = zip(ops, numbers, numbers[1:], strict=False)
        found = [self.result(f"icmp {COMPARED[type(op)]} i64 {a}, {b}") for op, a, b in pairs]
        all_of = found[0]
        for x in found[1:]:
            all_of = self.result(f"and i1 {all_of}, {x}")
        return all_of

    def in_turn(self, values: Sequence[ast.expr], conjunction: bool) -> Number:
        """The first that decides, or the last."""
        bits = all(map(_is_bit, values))
        end, arriving = self.fresh("end"), []
        for n, x in enumerate(values):
            found = self.bit(x) if bits else self.number(x)
            if n < len(values) - 1:
                decides = found if bits else self.result(f"icmp ne i64 {found}, 0")
                arriving.append(f"[ {found}, %{self.here} ]")
                following = self.fresh("then")
                ways = (following, end) if conjunction else (end, following)
                self.emit(f"br i1 {decides}, label %{ways[0]}, label %{ways[1]}")
                self.label(following)
        arriving.append(f"[ {found}, %{self.here} ]")
        self.go(end)
        self.label(end)
        return Number(self.result(f"phi {'i1' if bits else 'i64'} {', '.join(arriving)}"), bits)

    def chosen(self, test: ast.expr, yes: ast.expr, no: ast.expr) -> Number:
        labels, end, arriving = (self.fresh("yes"), self.fresh("no")), self.fresh("end"), []
        self.emit(f"br i1 {self.bit(test)}, label %{labels[0]}, label %{labels[1]}")
        for label, x in zip(labels, (yes, no), strict=True):
            self.label(label)
            arriving.append(f"[ {self.number(x)}, %{self.here} ]")
            self.go(end)
        self.label(end)
        return Number(self.result(f"phi i64 {', '.join(arriving)}"))

    def called(self, name: str, arguments: Sequence[ast.expr]) -> str:
        if name in EXTREMES:
            found, *others = [self.number(x) for x in arguments]
            for x in others:
                found = self.result(f"call i64 @{EXTREMES[name]}(i64 {found}, i64 {x})")
            return found
        given = ", ".join([self.argument(x) for x in arguments])
        if name in BITS:
            instruction, how = BITS[name]
            return self.result(f"call i64 @{instruction}({given}{how})")
        kinds = "".join(self.kinds.get(x.id, "i") if isinstance(x, ast.Name) else "i" for x in arguments)
        self.called_ones[name, kinds] = None
        return self.result(f"call i64 @{symbol(name, kinds)}({given})")


def _is_bit(x: ast.expr) -> bool:
    match x:
        case ast.Compare() | ast.UnaryOp(ast.Not()) | ast.Constant(bool()):
            return True
        case ast.BoolOp(_, values):
            return all(map(_is_bit, values))
        case _:
            return False
