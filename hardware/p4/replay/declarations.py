"""The declarations of a P4_16 program."""

from typing import Any

from expressions import Expression, Reader
from lexer import P4Error
from program import (
    Action,
    Control,
    Program,
    Register,
    Return,
    Scope,
    Table,
    block,
    variable,
)
from states import states
from values import Bits, StructType, coerce


def declarations(reader: Reader, program: Program) -> None:
    """Reads all of them into ``program``."""
    reader.types = program.types
    readers = {
        "const": constant,
        "header": record,
        "struct": record,
        "parser": control,
        "control": control,
        "register": global_register,
    }
    while reader.tokens[reader.at].kind != "end":
        word = reader.peek()
        if word in readers:
            readers[word](reader, program)
        elif reader.starts_type():
            function(reader, program)
        else:
            instance(reader, program)


def constant(reader: Reader, program: Program) -> None:
    """``const bit<8> NAME = value;``"""
    reader.want("const")
    kind, name = reader.type(), reader.name()
    reader.want("=")
    program.names[name] = coerce(reader.expression().get(Scope(names=program.names)), kind.zero())
    reader.want(";")


def record(reader: Reader, program: Program) -> None:
    """A header or a struct."""
    is_header = reader.next().text == "header"
    found = StructType(reader.name(), is_header)
    reader.want("{")
    while not reader.take("}"):
        at = None
        if reader.take("@"):
            reader.want("field_list")
            reader.want("(")
            at = reader.expression().get(Scope(names=program.names)).value
            reader.want(")")
        kind, name = reader.type(), reader.name()
        reader.want(";")
        found.fields[name] = kind
        if at is not None:
            found.lists[name] = at
    program.types[found.name] = found


def parameters(reader: Reader, program: Program) -> list[tuple[str, Any]]:
    """Names and types of parameters; the direction of the target's own types is taken as it is."""
    found: list[tuple[str, Any]] = []
    reader.want("(")
    while not reader.take(")"):
        for direction in ("in", "out", "inout"):
            reader.take(direction)
        of_target = reader.peek() in ("packet_in", "packet_out", "standard_metadata_t")
        kind = reader.name() if of_target else reader.type()
        found.append((reader.name(), kind))
        if reader.peek() != ")":
            reader.want(",")
    return found


def function(reader: Reader, program: Program) -> None:
    """A function of numbers."""
    kind, name = reader.type(), reader.name()
    given = parameters(reader, program)
    body = block(reader)

    def call(arguments: Any) -> Any:
        if len(arguments) != len(given):
            raise P4Error(f"{name} takes {len(given)} arguments")
        pairs = zip(given, arguments, strict=True)
        names = {own: coerce(get(), its.zero()) for (own, its), (get, _) in pairs}
        try:
            body(Scope(Scope(names=program.names), names))
        except Return as found:
            return coerce(found.args[0], kind.zero())
        raise P4Error(f"{name} returns nothing")

    program.names[name] = call


def register(reader: Reader) -> tuple[str, Register]:
    """``register<bit<32>>(16) name;``"""
    reader.want("register")
    reader.want("<")
    kind = reader.type()
    reader.want(">")
    reader.want("(")
    size = int(reader.next().text)
    reader.want(")")
    name = reader.name()
    reader.want(";")
    return name, Register(kind, size)


def global_register(reader: Reader, program: Program) -> None:
    """One outside all controls."""
    name, found = register(reader)
    program.names[name] = found


def control(reader: Reader, program: Program) -> None:
    """A control or a parser."""
    is_parser = reader.next().text == "parser"
    name = reader.name()
    found = Control(name, [own for own, _ in parameters(reader, program)])
    reader.want("{")
    begins = reader.at
    if is_parser:
        found.body = states(reader)
        program.controls[name] = found
        return
    while not reader.take("}"):
        if reader.peek() == "register":
            own, made = register(reader)
            found.lasting[own] = made
        elif reader.take("action"):
            own = reader.name()
            given = parameters(reader, program)
            found.lasting[own] = Action(given, block(reader))
        elif reader.take("table"):
            own = reader.name()
            found.lasting[own] = table(reader)
        elif reader.take("apply"):
            found.body = block(reader)
        else:
            found.variables.append(variable(reader))
    text = [token.text for token in reader.tokens[begins : reader.at]]
    for own, each in found.lasting.items():
        if isinstance(each, Table):
            check(each, found)
            applied_once(own, text)
    program.controls[name] = found


def check(table: Table, control: Control) -> None:
    """That a table's actions are there."""
    for action in [*table.actions, table.default[0]]:
        if action != "NoAction" and not isinstance(control.lasting.get(action), Action):
            raise P4Error(f"no action {action!r} in {control.name}")
    if table.default[0] not in [*table.actions, "NoAction"]:
        raise P4Error(f"the default action {table.default[0]!r} is none of the table's")


def applied_once(table: str, control: list[str]) -> None:
    """That a table is applied: compilers remove it otherwise. BMv2 allows one place for it."""
    three = zip(control, control[1:], control[2:], strict=False)
    times = sum(words == (table, ".", "apply") for words in three)
    if times != 1:
        raise P4Error(f"table {table!r} is applied at {times} places")


def table(reader: Reader) -> Table:
    """What stands in a table's braces."""
    found = Table()
    reader.want("{")
    while not reader.take("}"):
        what = reader.name()
        reader.want("=")
        if what == "key":
            found.keys = keys(reader)
        elif what == "actions":
            reader.want("{")
            while not reader.take("}"):
                found.actions.append(reader.name())
                reader.want(";")
        elif what == "default_action":
            found.default = default(reader)
            reader.want(";")
        elif what == "size":
            found.size = int(reader.next().text)
            reader.want(";")
        else:
            raise P4Error(f"a table's {what!r}")
    return found


def keys(reader: Reader) -> list[tuple[Expression, str]]:
    """A table's keys and how each matches."""
    found: list[tuple[Expression, str]] = []
    reader.want("{")
    while not reader.take("}"):
        key = reader.expression()
        reader.want(":")
        kind = reader.name()
        if kind not in ("exact", "range"):
            raise P4Error(f"a key that matches {kind!r}")
        found.append((key, kind))
        reader.want(";")
    return found


def default(reader: Reader) -> tuple[str, list[Bits]]:
    """A default action with its values."""
    name = reader.name()
    reader.want("(")
    return name, [value.get(Scope()) for value in reader.listed(")")]


def instance(reader: Reader, program: Program) -> None:
    """``V1Switch(SwitchParser(), ...) main;``"""
    reader.want("V1Switch")
    reader.want("(")
    while not reader.take(")"):
        program.main.append(reader.name())
        reader.want("(")
        reader.want(")")
        if reader.peek() != ")":
            reader.want(",")
    reader.want("main")
    reader.want(";")
    missing = [name for name in program.main if name not in program.controls]
    if missing or len(program.main) != 6:
        raise P4Error(f"V1Switch of {program.main}: {missing} missing")
