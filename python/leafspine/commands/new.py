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

    `-` writes it to standard output.
    """
    from leafspine import arguments, starting
    from leafspine.errors import InputError, printable

    if example is None:
        text = starting.text(str(file), topology, workload, lb)
    else:
        text = starting.example(example)
    if str(file) == "-":
        click.echo(text, nl=False)
        return
    with arguments.writing(file):
        try:
            with file.open("w" if force else "x", encoding="utf-8") as stream:
                stream.write(text)
        except FileExistsError:
            raise InputError(f"{file}: is there already; choose another name, or --force") from None
    name = printable(str(file))
    click.echo(
        f"{name}: leafspine check {name} says what it would run, leafspine run {name} runs it"
    )
