"""Claims that their own paper rules out: arithmetic on numbers that the paper states.

A contradiction in ``claims.toml`` has the numbers (``stated``, each with the place where the paper
has it), steps that compute others from them, and a condition. It counts only if the condition comes
out true: nothing is taken on trust but the stated numbers.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from leafspine.reproduce.reading import Keys
from leafspine.reproduce.tolerances import tolerance

Numbers = Mapping[str, float]

OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
COMPARISONS: dict[type, Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
}
FUNCTIONS: dict[str, Callable[..., float]] = {
    "abs": abs,
    "log": math.log,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "min": min,
    "max": max,
    "tolerance": tolerance,
}


@dataclass(frozen=True)
class Contradiction:
    """What a claim cannot hold beside. ``stated``: numbers by name, with the paper's places."""

    says: str
    stated: Mapping[str, tuple[float, str]]
    steps: tuple[tuple[str, str], ...]
    rules_out: str

    def computed(self) -> dict[str, float]:
        """All numbers by name: the stated ones, then each step's."""
        numbers = {name: value for name, (value, _) in self.stated.items()}
        for name, formula in self.steps:
            numbers[name] = value_of(formula, numbers)
        return numbers

    @property
    def holds(self) -> bool:
        """Whether the numbers rule the claim out."""
        return condition(self.rules_out, self.computed())

    @property
    def found(self) -> str:
        """The arithmetic in one line."""
        numbers = self.computed()
        given = ", ".join(f"{n} = {v:g} ({where})" for n, (v, where) in self.stated.items())
        steps = "".join(f"; {n} = {formula} = {numbers[n]:.4g}" for n, formula in self.steps)
        return f"{self.says}: {given}{steps}; {self.rules_out}"


def read(keys: Keys) -> Contradiction:
    """One table ``contradiction``. Raises :class:`InputError`."""
    stated = {name: _stated(name, entry, keys) for name, entry in keys.need("stated", dict).items()}
    steps = tuple(_step(text, keys) for text in keys.texts("steps"))
    found = Contradiction(
        keys.need("says", str), stated, steps, " ".join(keys.need("rules_out", str).split())
    )
    keys.end()
    if not stated:
        raise keys.refuse("stated", "no number", "a number or more of the paper")
    try:
        found.computed()
        condition(found.rules_out, found.computed())
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise keys.wrong(str(error)) from None
    used = {name for _, formula in steps for name in _names(formula)} | _names(found.rules_out)
    idle = [name for name in (*stated, *(name for name, _ in steps)) if name not in used]
    if idle:
        raise keys.wrong(f"{', '.join(idle)}: of no use to the condition")
    return found


def _stated(name: str, entry: object, keys: Keys) -> tuple[float, str]:
    match entry:
        case [int() | float() as value, str() as where] if where.strip():
            return float(value), where
    raise keys.refuse(f"stated.{name}", repr(entry), "[number, its place in the paper]")


def _step(text: str, keys: Keys) -> tuple[str, str]:
    name, equals, formula = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise keys.refuse("steps", repr(text), "name = formula")
    return name.strip(), formula.strip()


def _names(formula: str) -> set[str]:
    nodes = ast.walk(ast.parse(formula, mode="eval"))
    return {node.id for node in nodes if isinstance(node, ast.Name)} - set(FUNCTIONS)


def value_of(formula: str, numbers: Numbers) -> float:
    """A formula's value. Raises :class:`ValueError` for what is not arithmetic on the numbers."""
    try:
        tree = ast.parse(formula, mode="eval")
    except SyntaxError:
        raise ValueError(f"{formula!r} is no formula") from None
    return _value(tree.body, numbers)


def condition(text: str, numbers: Numbers) -> bool:
    """Whether a comparison of two formulas is true."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        raise ValueError(f"{text!r} is no condition") from None
    if not isinstance(tree, ast.Compare) or type(tree.ops[0]) not in COMPARISONS or tree.ops[1:]:
        raise ValueError(f"{text!r} is no comparison of two formulas")
    compare = COMPARISONS[type(tree.ops[0])]
    return compare(_value(tree.left, numbers), _value(tree.comparators[0], numbers))


def _value(node: ast.expr, numbers: Numbers) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name) if name in numbers:
            return numbers[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, numbers)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(left, numbers), _value(right, numbers))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return float(FUNCTIONS[name](*(_value(entry, numbers) for entry in args)))
    raise ValueError(f"{ast.unparse(node)!r} is no number, name or formula known here")
