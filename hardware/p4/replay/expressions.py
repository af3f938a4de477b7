"""Expressions of P4_16, as functions of the scope that they are evaluated in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lexer import P4Error, Token, tokens
from values import Bits, BitType, BoolType, Record, binary, coerce, mask

Scope = Any
"""Names and what they stand for: ``program.Scope``."""


@dataclass
class Expression:
    """How to read it, and for what can stand on the left of ``=``, how to write it."""

    get: Callable[[Scope], Any]
    set: Callable[[Scope, Any], None] | None = None


# The least binding first; all associate to the left.
LEVELS = (
    ("||",),
    ("&&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("+", "-", "++", "|+|", "|-|"),
    ("*",),
)


class Reader:
    """A position in a text, and what can be read there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = list(tokens(text))
        self.at = 0
        self.types: dict[str, Any] = {}

    def peek(self, ahead: int = 0) -> str:
        """What the next token says."""
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)].text

    def next(self) -> Token:
        """The next token, which is read."""
        token = self.tokens[self.at]
        self.at += 1
        return token

    def take(self, text: str) -> bool:
        """Reads the next token if it is that."""
        if self.peek() == text and self.tokens[self.at].kind != "end":
            self.at += 1
            return True
        return False

    def want(self, text: str) -> None:
        """Reads the next token, which must be that."""
        if not self.take(text):
            at = self.tokens[self.at].at
            raise P4Error(f"found {self.text[at : at + 60]!r}; wanted {text!r}")

    def name(self) -> str:
        """Reads a name."""
        token = self.next()
        if token.kind != "name":
            raise P4Error(f"found {self.text[token.at : token.at + 60]!r}; wanted a name")
        return token.text

    def type(self) -> Any:
        """Reads a type."""
        name = self.name()
        if name in ("bit", "varbit"):
            self.want("<")
            width = int(self.next().text)
            self.want(">")
            return BitType(width, name == "varbit")
        if name == "bool":
            return BoolType()
        if name not in self.types:
            raise P4Error(f"no type {name!r}")
        return self.types[name]

    def starts_type(self) -> bool:
        """Whether a type comes, and then a name: a declaration."""
        return self.peek() in ("bit", "bool") or (
            self.peek() in self.types and self.tokens[self.at + 1].kind == "name"
        )

    def expression(self) -> Expression:
        """Reads an expression."""
        condition = self.level(0)
        if not self.take("?"):
            return condition
        yes = self.expression()
        self.want(":")
        no = self.expression()
        return Expression(lambda s: yes.get(s) if truth(condition.get(s)) else no.get(s))

    def operator(self, level: int) -> str | None:
        """Reads an operator of that level, if one comes; ``>>`` is two tokens."""
        for op in LEVELS[level]:
            if op == ">>":
                first, second = (
                    self.tokens[self.at],
                    self.tokens[min(self.at + 1, len(self.tokens) - 1)],
                )
                if first.text == second.text == ">" and second.at == first.at + 1:
                    self.at += 2
                    return op
            elif op == ">" and self.peek() == self.peek(1) == ">":
                continue
            elif self.take(op):
                return op
        return None

    def level(self, level: int) -> Expression:
        """Reads operands and operators that bind as tightly as ``level``."""
        if level == len(LEVELS):
            return self.unary()
        left = self.level(level + 1)
        while (op := self.operator(level)) is not None:
            left = combine(op, left, self.level(level + 1))
        return left

    def unary(self) -> Expression:
        """Reads what has an operator before it, or none."""
        if self.take("!"):
            operand = self.unary()
            return Expression(lambda s: not truth(operand.get(s)))
        if self.take("~"):
            operand = self.unary()
            return Expression(lambda s: inverted(operand.get(s)))
        if self.peek() == "(" and self.peek(1) in ("bit", "bool"):
            self.want("(")
            kind = self.type()
            self.want(")")
            operand = self.unary()
            return Expression(lambda s: cast(operand.get(s), kind))
        return self.postfix(self.primary())

    def primary(self) -> Expression:
        """Reads what has no operator."""
        if self.take("("):
            inner = self.expression()
            self.want(")")
            return inner
        if self.take("{"):
            items = self.listed("}")
            return Expression(lambda s: [item.get(s) for item in items])
        token = self.next()
        if token.kind == "number":
            number = literal(token.text)
            return Expression(lambda s: number)
        if token.text in ("true", "false"):
            return Expression(lambda s: token.text == "true")
        if token.kind != "name":
            raise P4Error(f"found {self.text[token.at : token.at + 60]!r}; wanted an expression")
        name = token.text
        return Expression(lambda s: s.read(name), lambda s, value: s.write(name, value))

    def postfix(self, base: Expression) -> Expression:
        """Reads members, slices and calls behind an expression."""
        while True:
            if self.take("."):
                base = member(base, self.name())
            elif self.take("["):
                high = int(self.next().text)
                self.want(":")
                low = int(self.next().text)
                self.want("]")
                base = sliced(base, high, low)
            elif self.take("("):
                base = called(base, self.listed(")"))
            else:
                return base

    def listed(self, end: str) -> list[Expression]:
        """Reads expressions with commas between them."""
        items: list[Expression] = []
        while not self.take(end):
            items.append(self.expression())
            if self.peek() != end:
                self.want(",")
        return items


def truth(value: Any) -> bool:
    """A condition's value, which is no number in P4."""
    if not isinstance(value, bool):
        raise P4Error(f"{value!r} as a condition")
    return value


def combine(op: str, left: Expression, right: Expression) -> Expression:
    """``left op right``."""
    if op == "&&":
        return Expression(lambda s: truth(left.get(s)) and truth(right.get(s)))
    if op == "||":
        return Expression(lambda s: truth(left.get(s)) or truth(right.get(s)))
    return Expression(lambda s: binary(op, left.get(s), right.get(s)))


def inverted(value: Any) -> Bits:
    """``~value``."""
    if not isinstance(value, Bits) or value.width is None:
        raise P4Error(f"~ of {value!r}")
    return Bits(~value.value & mask(value.width), value.width)


def cast(value: Any, kind: Any) -> Any:
    """``(kind) value``."""
    if isinstance(kind, BitType):
        number = int(value) if isinstance(value, bool) else value.value
        return Bits(number & mask(kind.width), kind.width)
    return bool(value.value)


def literal(text: str) -> Bits:
    """A number as P4 writes it, such as ``7``, ``0x10`` or ``64w3``."""
    width, _, digits = text.rpartition("w")
    return Bits(int(digits, 0), int(width) if width else None)


def member(base: Expression, name: str) -> Expression:
    """``base.name``."""

    def get(scope: Scope) -> Any:
        value = base.get(scope)
        if isinstance(value, Record) and name in value.fields:
            return value.fields[name]
        return getattr_of(value, name)

    def set_(scope: Scope, found: Any) -> None:
        value = base.get(scope)
        if not isinstance(value, Record) or name not in value.fields:
            raise P4Error(f"no field {name!r}")
        value.fields[name] = coerce(found, value.fields[name])

    return Expression(get, set_)


def getattr_of(value: Any, name: str) -> Any:
    """A method, or what the call of one gave."""
    if isinstance(value, Record):
        return {
            "isValid": lambda _: value.valid,
            "setValid": lambda _: setattr(value, "valid", True),
            "setInvalid": lambda _: setattr(value, "valid", False),
        }[name]
    return value.member(name)


def sliced(base: Expression, high: int, low: int) -> Expression:
    """``base[high:low]``."""

    def get(scope: Scope) -> Bits:
        value = base.get(scope)
        if value.width is not None and high >= value.width:
            raise P4Error(f"[{high}:{low}] of bit<{value.width}>")
        return Bits(value.value >> low & mask(high - low + 1), high - low + 1)

    return Expression(get)


def called(base: Expression, arguments: list[Expression]) -> Expression:
    """``base(arguments)``. What is called reads and writes its arguments itself."""

    def call(scope: Scope) -> Any:
        given = [(lambda a=a: a.get(scope), lambda v, a=a: a.set(scope, v)) for a in arguments]
        function = base.get(scope)
        if hasattr(function, "run"):
            return function.run(scope.read("this"), [get() for get, _ in given])
        return function(given)

    return Expression(call)
