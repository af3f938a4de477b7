"""The states of a P4_16 parser."""

from collections.abc import Callable
from typing import Any

from expressions import Expression, Reader
from lexer import P4Error
from program import Scope, Statement, statement
from values import Bits, binary

Case = tuple[list[Callable[[Scope, Bits], bool]], str]


class Reject(Exception):
    """The packet is dropped in v1model's way: with what was parsed, and parser_error set."""


def states(reader: Reader) -> Statement:
    """Reads states up to the closing brace; what they do with a packet."""
    found: dict[str, tuple[list[Statement], Callable[[Scope], str]]] = {}
    while not reader.take("}"):
        reader.want("state")
        name = reader.name()
        reader.want("{")
        body: list[Statement] = []
        while not reader.take("transition"):
            body.append(statement(reader))
        found[name] = (body, transition(reader))
        reader.want("}")

    def parse(scope: Scope) -> None:
        state = "start"
        while state not in ("accept", "reject"):
            if state not in found:
                raise P4Error(f"no state {state!r}")
            body, after = found[state]
            own = Scope(scope)
            for each in body:
                each(own)
            state = after(own)
        if state == "reject":
            raise Reject

    return parse


def transition(reader: Reader) -> Callable[[Scope], str]:
    """Reads where a state leads."""
    if not reader.take("select"):
        name = reader.name()
        reader.want(";")
        return lambda _: name
    reader.want("(")
    keys = reader.listed(")")
    cases: list[Case] = []
    reader.want("{")
    while not reader.take("}"):
        cases.append(case(reader, len(keys)))

    def select(scope: Scope) -> str:
        values = [key.get(scope) for key in keys]
        for tests, name in cases:
            if all(test(scope, value) for test, value in zip(tests, values, strict=True)):
                return name
        return "reject"

    return select


def case(reader: Reader, keys: int) -> Case:
    """One line of a select."""
    if reader.take("default"):
        tests: list[Callable[[Scope, Bits], bool]] = [lambda *_: True] * keys
    elif keys > 1:
        reader.want("(")
        tests = []
        while not reader.take(")"):
            tests.append(keyset(reader))
            if reader.peek() != ")":
                reader.want(",")
    else:
        tests = [keyset(reader)]
    if len(tests) != keys:
        raise P4Error(f"{len(tests)} values for {keys} keys")
    reader.want(":")
    name = reader.name()
    reader.want(";")
    return tests, name


def keyset(reader: Reader) -> Callable[[Scope, Bits], bool]:
    """A value, or a value under a mask."""
    wanted: Expression = reader.expression()
    if not reader.take("&&&"):
        return lambda scope, value: bool(binary("==", value, wanted.get(scope)))
    under: Expression = reader.expression()

    def matches(scope: Scope, value: Bits) -> bool:
        of: Any = under.get(scope)
        return bool(binary("==", binary("&", value, of), binary("&", wanted.get(scope), of)))

    return matches
