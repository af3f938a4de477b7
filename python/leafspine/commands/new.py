"""``leafspine new``: a scenario to start from."""

from pathlib import Path

import click

from leafspine.commands.options import given


@click.command("new")
@click.argument("file", metavar="[FILE]", default="scenario.toml", type=click.Path(path_type=Path))
@click.option("--topology", default="leaf-spine", metavar="KIND", show_default=True)
@click.option("--workload", default="poisson", metavar="KIND", show_default=True)
@click.option(
    "--lb", default="ecmp", metavar="NAME", show_default=True, help="A load balancer or a bundle."
)
@click.option("--example", metavar="NAME", help="One of the examples that ship, instead.")
@click.option("--force", is_flag=True, help="Replace the file, if there is one.")
def new(
    file: Path, topology: str, workload: str, lb: str, example: str | None, force: bool
) -> None:
    """Write a commented scenario that runs as it is, and says what could be set. [scenario.toml]

    `-` writes it to standard output. With `--topology file` a small list of links is written
    beside it, to put one's own in its place; with `--example` what files that needs.
    """
    from leafspine import arguments, starting
    from leafspine.errors import InputError, printable, refused

    for option in ("topology", "workload", "lb"):
        if example is not None and given(option):
            raise refused(f"--{option}", "an example as it is", file="--example")

    others: dict[str, bytes] = {}
    if example is None:
        text = starting.text(str(file), topology, workload, lb)
    else:
        text = starting.example(example)
        others = starting.beside(example)
    if str(file) == "-" and example is None and topology == starting.FILE:
        raise InputError("--topology file writes a list of links beside FILE: give it a name")
    if str(file) == "-":
        click.echo(text, nl=False)
        if others:
            names = ", ".join(others)
            click.echo(f"warning: it needs {names}: give it a name to have them beside", err=True)
        return
    made = {file: text.encode()}
    if example is None and topology == starting.FILE:
        links = file.with_name(starting.links_name(str(file)))
        made[links] = starting.LINKS_OF_FILE.encode()
    needs = {file.parent / name: contents for name, contents in others.items()}
    if file in needs:
        found = f"{printable(str(file))}, which the example reads"
        raise refused(found, "another name", key="FILE")
    made |= needs
    for path in made:
        if path.exists() and not force:
            raise InputError(f"{path}: is there already; choose another name, or --force")
    for path, contents in made.items():
        with arguments.writing(path):
            if path.parent != file.parent:
                path.parent.mkdir(exist_ok=True)
            path.write_bytes(contents)
    for path in list(made)[1:]:
        what = "what it needs" if others else "the links; put yours in their place"
        click.echo(f"{printable(str(path))}: {what}")
    name = printable(str(file))
    click.echo(
        f"{name}: leafspine check {name} says what it would run, leafspine run {name} runs it"
    )
