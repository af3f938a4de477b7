"""``leafspine schema``: the scenario file's JSON Schema."""

import click


@click.command("schema")
def schema() -> None:
    """Print the JSON Schema of the scenario file, for editors and scripts.

    With schemes from outside, if there are any. Editors find it by a first line such as
    `#:schema ./scenario.schema.json` (docs/scenario.md).
    """
    from leafspine import schema as schemas

    click.echo(schemas.text(), nl=False)
