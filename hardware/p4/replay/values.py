"""Values of P4: words of a width, headers, structs. Widths are checked as p4c would check them."""

from dataclasses import dataclass, field
from typing import Any

from lexer import P4Error


@dataclass(frozen=True)
class Bits:
    """An unsigned number of a width; without one, a literal that takes its neighbour's."""

    value: int
    width: int | None = None

    def of_width(self, width: int | None) -> "Bits":
        """The same in a variable of that width."""
        if self.width not in (None, width):
            raise P4Error(f"bit<{self.width}> where bit<{width}> is wanted")
        if width is not None and not -(1 << (width - 1)) <= self.value < 1 << width:
            raise P4Error(f"{self.value} does not fit bit<{width}>")
        return Bits(self.value if width is None else self.value & mask(width), width)


def mask(width: int) -> int:
    """All ones."""
    return (1 << width) - 1


@dataclass(frozen=True)
class BitType:
    """``bit<width>``; ``varying``: a varbit of at most that width."""

    width: int
    varying: bool = False

    def zero(self) -> Bits:
        """What is not initialised."""
        return Bits(0, 0 if self.varying else self.width)


@dataclass(frozen=True)
class BoolType:
    """``bool``."""

    def zero(self) -> bool:
        """What is not initialised."""
        return False


@dataclass
class StructType:
    """A struct or a header: names and types of its fields, and the field lists that each is in."""

    name: str
    is_header: bool
    fields: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, int] = field(default_factory=dict)

    def zero(self) -> "Record":
        """What is not initialised."""
        return Record(self, {name: kind.zero() for name, kind in self.fields.items()})


@dataclass
class Record:
    """A struct, or a header with its validity."""

    type: StructType
    fields: dict[str, Any]
    valid: bool = False

    def copy(self) -> "Record":
        """One that changes by itself."""
        own = {k: v.copy() if isinstance(v, Record) else v for k, v in self.fields.items()}
        return Record(self.type, own, self.valid)


def coerce(value: Any, like: Any) -> Any:
    """``value`` in a variable that holds ``like``."""
    if isinstance(like, Bits) and isinstance(value, Bits):
        return value.of_width(like.width)
    if type(value) is not type(like):
        raise P4Error(f"{value!r} where a value like {like!r} is wanted")
    return value


def same_width(a: Bits, b: Bits) -> int | None:
    """The width of two operands, which must be one."""
    if a.width is not None and b.width is not None and a.width != b.width:
        raise P4Error(f"bit<{a.width}> and bit<{b.width}> in one operation")
    return a.width if a.width is not None else b.width


def binary(op: str, a: Any, b: Any) -> Any:
    """``a op b`` as P4 has it."""
    if isinstance(a, bool) or isinstance(b, bool):
        if not (isinstance(a, bool) and isinstance(b, bool)):
            raise P4Error(f"{op} of {a!r} and {b!r}")
        return a == b if op == "==" else a != b
    if op in ("<<", ">>"):
        shifted = a.value << b.value if op == "<<" else a.value >> b.value
        return Bits(shifted if a.width is None else shifted & mask(a.width), a.width)
    if op == "++":
        if a.width is None or b.width is None:
            raise P4Error("++ of a number without a width")
        return Bits(a.value << b.width | b.value, a.width + b.width)
    width = same_width(a, b)
    x, y = a.of_width(width).value, b.of_width(width).value
    if op in COMPARISONS:
        return COMPARISONS[op](x, y)
    if op in SATURATING:
        if width is None:
            raise P4Error(f"{op} of numbers without a width")
        return Bits(min(max(SATURATING[op](x, y), 0), mask(width)), width)
    found = ARITHMETIC[op](x, y)
    return Bits(found if width is None else found & mask(width), width)


COMPARISONS = {
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    ">": lambda x, y: x > y,
    "<=": lambda x, y: x <= y,
    ">=": lambda x, y: x >= y,
}
SATURATING = {"|+|": lambda x, y: x + y, "|-|": lambda x, y: x - y}
ARITHMETIC = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
}
