"""``leafspine new``: a scenario to start from."""

from pathlib import Path

import click


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
    beside it, to put one's own in its place.
    """
    from leafspine import arguments, starting
    from leafspine.errors import InputError, printable

    if example is None:
        text = starting.text(str(file), topology, workload, lb)
    else:
        text = starting.example(example)
    if str(file) == "-" and example is None and topology == starting.FILE:
        raise InputError("--topology file writes a list of links beside FILE: give it a name")
    if str(file) == "-":
        click.echo(text, nl=False)
        return
    made = {file: text}
    if example is None and topology == starting.FILE:
        made[file.with_name(starting.links_name(str(file)))] = starting.LINKS_OF_FILE
    for path in made:
        if path.exists() and not force:
            raise InputError(f"{path}: is there already; choose another name, or --force")
    for path, contents in made.items():
        with arguments.writing(path):
            path.write_text(contents, encoding="utf-8")
    if len(made) > 1:
        click.echo(f"{printable(str(path))}: the links; put yours in their place")
    name = printable(str(file))
    click.echo(
        f"{name}: leafspine check {name} says what it would run, leafspine run {name} runs it"
    )
