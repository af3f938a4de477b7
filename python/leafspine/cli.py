"""The command line. Results go to standard output, progress and errors to standard error.

Exit codes: 0 done; 1 failed, interrupted, or nowhere to write; 2 bad input, also a result that is
not what was written; 3 a fault of leafspine itself.
"""

import contextlib
import os
import sys
import traceback

import click

from leafspine.commands import (
    bench,
    check,
    compare,
    fit,
    listing,
    merge,
    new,
    p4,
    plot,
    reproduce,
    run,
    schema,
    tune,
)
from leafspine.errors import EngineError, InputError, LeafspineError, printable
from leafspine.interrupts import Interruption, interruptible
from leafspine.keywords import BY_COMMAND

DEBUG = "LEAFSPINE_DEBUG"
INTERRUPTED = "interrupted; results of runs that had finished are kept"


def invoke(arguments: list[str]) -> int:
    """Run the command line; every error becomes one line on standard error and an exit code."""
    with interruptible() as interruption:
        code = _invoke(arguments, interruption)
        return _flush() if code == 0 else code


def _flush() -> int:
    if sys.stdout is None:
        # It was closed before the start: nobody reads.
        return 0
    try:
        sys.stdout.flush()
    except OSError as error:
        return _no_output(error)
    return 0


def _no_output(error: OSError) -> int:
    """Standard output cannot be written."""
    _discard_stdout()
    if isinstance(error, BrokenPipeError):
        # The reader (head, less) has gone: not an error, and nothing more can be written.
        return 0
    return _report(f"cannot write standard output: {error.strerror or error}", 1)


def _invoke(arguments: list[str], interruption: Interruption) -> int:
    mark = BY_COMMAND.set(True)
    try:
        cli.main(args=arguments, prog_name="leafspine", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        return 0
    except click.ClickException as error:
        return _report(error.format_message(), 2)
    except InputError as error:
        return _report(str(error), 2)
    except EngineError as error:
        return _report(str(error), 3)
    except LeafspineError as error:
        return _report(str(error), 1)
    except (KeyboardInterrupt, click.Abort):
        return _report(INTERRUPTED, 1)
    except Exception as error:
        if interruption.came:
            # A library whose import was cut off fails when it is asked for again.
            return _report(INTERRUPTED, 1)
        if isinstance(error, OSError) and error.filename is None:
            # Files have WriteError.
            return _no_output(error)
        text = " ".join(str(error).split()) or "no message"
        return _report(f"{type(error).__name__}: {text}", 1)
    finally:
        BY_COMMAND.reset(mark)
    return 0


def _discard_stdout() -> None:
    """Redirect standard output to nowhere, so that flushing it at exit cannot fail."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(message: str, code: int) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exc()
    click.echo(f"leafspine: {printable(' '.join(message.split()))}", err=True)
    return code


def _show_version(context: click.Context, _option: click.Parameter, given: bool) -> None:
    if given:
        from leafspine import engine

        click.echo(f"leafspine {engine.version()}")
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """A laboratory for load balancing and queue management in datacentre networks."""


for verb in (
    new.new,
    check.check,
    run.run,
    compare.compare,
    merge.merge,
    tune.tune,
    plot.plot,
    fit.fit_qall,
    listing.schemes,
    listing.workloads,
    reproduce.reproduce,
    bench.bench,
    schema.schema,
    p4.p4,
):
    cli.add_command(verb)
