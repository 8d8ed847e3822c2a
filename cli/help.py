"""``gpuadvise help COMMAND``: the help of a command, as ``--help`` prints it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer  # noqa: TC002

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.cli import completion
from gpuadvise.cli.emit import stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format
from gpuadvise.cli.options import pick
from gpuadvise.cli.parameters import argument

if TYPE_CHECKING:
    from typer.core import TyperCommand, TyperGroup

EXAMPLES = """\
  gpuadvise help occupancy
  gpuadvise help
  gpuadvise help --json      # every command, option, type and default, for programs"""


def _record(command: TyperCommand) -> dict[str, Any]:
    """Return a command's help as JSON values."""
    arguments, options = [], []
    for parameter in command.params:
        record = {
            "metavar": parameter.metavar,
            "help": getattr(parameter, "help", None),
            "required": parameter.required,
            "repeats": bool(parameter.multiple) or parameter.nargs == -1,
            "default": parameter.default if isinstance(parameter.default, _PLAIN) else None,
        }
        if parameter.param_type_name == "argument":
            arguments.append({"name": parameter.name, **record})
        else:
            switch = bool(getattr(parameter, "is_flag", False))
            topic = getattr(parameter, "rich_help_panel", None)
            options.append(
                {"names": list(parameter.opts), "switch": switch, "topic": topic, **record}
            )
    return {
        "name": command.name,
        "help": command.help,
        "arguments": arguments,
        "options": options,
        "examples": [
            line
            for line in map(str.strip, (command.epilog or "").splitlines())
            if line.startswith("gpuadvise ") or " | gpuadvise " in line
        ],
    }


_PLAIN = (str, int, float, bool)


def command(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        argument("[COMMAND]", "A command.", complete=completion.command_names),
    ] = None,
    format: Annotated[str, pick("format", "text or json.")] = Format.TEXT,
) -> Exit:
    """Print the help of COMMAND, or the list of commands."""
    root = ctx.find_root()
    group = cast("TyperGroup", root.command)
    if format not in (Format.TEXT, Format.JSON):
        raise BadInput(
            f"--format {quoted(format)} is not a format of help.", hint="Use text or json."
        )
    if format == Format.JSON:
        from gpuadvise.cli.app import COMMANDS

        names = [row.name for row in COMMANDS] if name is None else [name]
        commands = [cast("TyperCommand", group.get_command(root, each)) for each in names]
        stream([json.dumps({"commands": [_record(each) for each in commands]}, indent=2), "\n"])
        return Exit.RAN
    if name is None:
        stream([group.get_help(root) + "\n"])
        return Exit.RAN
    shown = cast("TyperCommand", group.get_command(root, name))
    with shown.make_context(name, [], parent=root, resilient_parsing=True) as inner:
        stream([shown.get_help(inner) + "\n"])
    return Exit.RAN
