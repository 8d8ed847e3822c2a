"""``gpuadvise help COMMAND``: the help of a command, as ``--help`` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from gpuadvise.cli import completion
from gpuadvise.cli.emit import stream
from gpuadvise.cli.exits import Exit

if TYPE_CHECKING:
    from typer.core import TyperCommand, TyperGroup

EXAMPLES = """\
  gpuadvise help occupancy
  gpuadvise help"""


def command(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[COMMAND]", help="A command.", autocompletion=completion.command_names
        ),
    ] = None,
) -> Exit:
    """Print the help of COMMAND, or the list of commands."""
    root = ctx.find_root()
    group = cast("TyperGroup", root.command)
    if name is None:
        stream([group.get_help(root) + "\n"])
        return Exit.RAN
    shown = cast("TyperCommand", group.get_command(root, name))
    with shown.make_context(name, [], parent=root, resilient_parsing=True) as inner:
        stream([shown.get_help(inner) + "\n"])
    return Exit.RAN
