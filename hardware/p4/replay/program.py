"""A P4_16 program: its declarations, and statements as functions of a scope."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from expressions import Expression, Reader, truth
from lexer import P4Error, preprocess
from values import Bits, BitType, StructType, coerce

Statement = Callable[["Scope"], None]


class Exit(Exception):
    """``exit``: nothing more of the control happens."""


class Return(Exception):
    """``return`` of a function."""


class Scope:
    """Names and what they stand for, in this block and those around it."""

    def __init__(self, around: "Scope | None" = None, names: dict[str, Any] | None = None) -> None:
        self.around = around
        self.names = {} if names is None else names

    def place(self, name: str) -> dict[str, Any]:
        """The names among which this one is."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names
            scope = scope.around
        raise P4Error(f"no name {name!r}")

    def read(self, name: str) -> Any:
        """What it stands for."""
        return self.place(name)[name]

    def write(self, name: str, value: Any) -> None:
        """Assigns."""
        names = self.place(name)
        names[name] = coerce(value, names[name])


class Register:
    """A register array."""

    def __init__(self, kind: BitType, size: int) -> None:
        self.kind, self.words = kind, [kind.zero()] * size

    def member(self, name: str) -> Callable[[Any], None]:
        """``read`` or ``write``."""
        return {"read": self.read, "write": self.write}[name]

    def read(self, arguments: Any) -> None:
        """``read(result, index)``."""
        (_, put), (index, _) = arguments
        put(self.words[index().value])

    def write(self, arguments: Any) -> None:
        """``write(index, value)``."""
        (index, _), (value, _) = arguments
        self.words[index().value] = coerce(value(), self.kind.zero())


@dataclass
class Action:
    """An action: its parameters, all from the control plane, and what it does."""

    parameters: list[tuple[str, Any]]
    body: Statement

    def run(self, scope: Scope, data: list[Bits]) -> None:
        """With these values."""
        if len(data) != len(self.parameters):
            raise P4Error(f"{len(data)} values for {len(self.parameters)} parameters")
        given = zip(self.parameters, data, strict=True)
        self.body(Scope(scope, {name: coerce(value, kind.zero()) for (name, kind), value in given}))


@dataclass
class Applied:
    """What a table's application gave."""

    hit: bool

    def member(self, name: str) -> Any:
        """``hit`` or ``miss``."""
        return {"hit": self.hit, "miss": not self.hit}[name]


@dataclass
class Table:
    """A table and its entries."""

    keys: list[tuple[Expression, str]] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    default: tuple[str, list[Bits]] = ("NoAction", [])
    entries: list[tuple[list[tuple[int, int]], str, list[Bits]]] = field(default_factory=list)
    size: int = 0

    def add(self, match: list[Any], action: str, data: list[int]) -> None:
        """An entry of the control plane, or, without keys, the default action."""
        if action not in self.actions:
            raise P4Error(f"no action {action!r} here; there are {', '.join(self.actions)}")
        values = [Bits(value) for value in data]
        if not match:
            self.default = (action, values)
            return
        if len(match) != len(self.keys):
            raise P4Error(f"{len(match)} keys for {len(self.keys)}")
        ranges = [(m, m) if isinstance(m, int) else (m[0], m[1]) for m in match]
        kinds = [kind for _, kind in self.keys]
        for (low, high), kind in zip(ranges, kinds, strict=True):
            if low != high and kind != "range":
                raise P4Error(f"a range for a key that matches {kind}")
        self.entries = [entry for entry in self.entries if entry[0] != ranges]
        self.entries.append((ranges, action, values))
        if len(self.entries) > self.size:
            raise P4Error(f"more than {self.size} entries")

    def apply(self, scope: Scope) -> Applied:
        """Looks the packet up and runs the action."""
        values = [key.get(scope) for key, _ in self.keys]
        numbers = [value.value for value in values]
        for ranges, action, data in self.entries:
            if all(low <= n <= high for n, (low, high) in zip(numbers, ranges, strict=True)):
                run(scope, action, data)
                return Applied(True)
        run(scope, *self.default)
        return Applied(False)


def run(scope: Scope, action: str, data: list[Bits]) -> None:
    """Runs an action by its name."""
    if action != "NoAction":
        scope.read(action).run(scope.read("this"), data)


@dataclass
class Bound:
    """A table in the scope that it is applied in."""

    table: Table
    scope: Scope

    def member(self, name: str) -> Any:
        """``apply``."""
        return {"apply": lambda _: self.table.apply(self.scope)}[name]


@dataclass
class Control:
    """A control or a parser: parameters, what is declared in it, and what it does."""

    name: str
    parameters: list[str]
    lasting: dict[str, Any] = field(default_factory=dict)
    """Registers, tables and actions."""
    variables: list[Statement] = field(default_factory=list)
    body: Statement = lambda _: None

    def run(self, around: Scope, arguments: list[Any]) -> None:
        """Once, for a packet."""
        scope = Scope(around, dict(zip(self.parameters, arguments, strict=True)))
        scope.names["this"] = scope
        for name, found in self.lasting.items():
            scope.names[name] = Bound(found, scope) if isinstance(found, Table) else found
        for variable in self.variables:
            variable(scope)
        with suppress(Exit):
            self.body(scope)


class Program:
    """A program that was read."""

    def __init__(self, file: Path, defines: dict[str, int]) -> None:
        from declarations import declarations

        self.names: dict[str, Any] = {}
        self.types: dict[str, Any] = {}
        self.controls: dict[str, Control] = {}
        self.main: list[str] = []
        declarations(Reader(preprocess(file, defines)), self)

    def table(self, name: str) -> Table:
        """A table by its name, in whichever control it is."""
        found = [
            c.lasting[name]
            for c in self.controls.values()
            if isinstance(c.lasting.get(name), Table)
        ]
        if len(found) != 1:
            raise P4Error(f"{len(found)} tables {name!r}")
        return found[0]

    def register(self, name: str) -> Register:
        """A register by its name."""
        places = [self.names, *(control.lasting for control in self.controls.values())]
        found = [place[name] for place in places if isinstance(place.get(name), Register)]
        if len(found) != 1:
            raise P4Error(f"{len(found)} registers {name!r}")
        return found[0]


def block(reader: Reader) -> Statement:
    """Reads statements in braces."""
    reader.want("{")
    inner: list[Statement] = []
    while not reader.take("}"):
        inner.append(statement(reader))

    def run_block(scope: Scope) -> None:
        own = Scope(scope)
        for each in inner:
            each(own)

    return run_block


def statement(reader: Reader) -> Statement:
    """Reads a statement."""
    if reader.peek() == "{":
        return block(reader)
    if reader.take("if"):
        return conditional(reader)
    if reader.take("exit"):
        reader.want(";")
        return leave
    if reader.take("return"):
        value = reader.expression()
        reader.want(";")

        def give(scope: Scope) -> None:
            raise Return(value.get(scope))

        return give
    if reader.starts_type():
        return variable(reader)
    target = reader.expression()
    if reader.take("="):
        value, put = reader.expression(), target.set
        reader.want(";")
        if put is None:
            raise P4Error("nothing that can be assigned to")
        return lambda scope: put(scope, value.get(scope))
    reader.want(";")
    return lambda scope: target.get(scope)


def leave(_: Scope) -> None:
    """``exit``."""
    raise Exit


def conditional(reader: Reader) -> Statement:
    """Reads what comes after ``if``."""
    reader.want("(")
    condition = reader.expression()
    reader.want(")")
    yes = statement(reader)
    no = statement(reader) if reader.take("else") else None

    def choose(scope: Scope) -> None:
        if truth(condition.get(scope)):
            yes(scope)
        elif no is not None:
            no(scope)

    return choose


def variable(reader: Reader) -> Statement:
    """Reads a declaration of a variable."""
    kind, name = reader.type(), reader.name()
    value = reader.expression() if reader.take("=") else None
    reader.want(";")

    def declare(scope: Scope) -> None:
        zero = kind.zero()
        scope.names[name] = zero if value is None else coerce(value.get(scope), zero)

    return declare


__all__ = ["Action", "Control", "Program", "Register", "Return", "Scope", "StructType", "Table"]
