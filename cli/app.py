"""The Typer application: a table of commands, each imported only when it runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from typer._click import Command as ClickCommand
from typer.core import TyperCommand, TyperGroup

from gpuadvise import __version__
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import SHOWN, and_list, quoted
from gpuadvise.cli.colour import choose_colour
from gpuadvise.cli.emit import note, stream
from gpuadvise.cli.spellings import current

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter
    from typer.core import TyperOption


class CommandRow(NamedTuple):  # made at every start, in an eighth of a dataclass's time
    """One command: its module is ``cli/<name>/command.py`` unless another is named."""

    name: str
    help: str
    module: str = ""


# In the order of the help screen: what a GPU is, kernels, memory, files, advice, the tool itself.
COMMANDS = (
    CommandRow("device", "What a GPU is, and what it does now."),
    CommandRow("doctor", "What this machine's GPUs, driver and settings suffer from."),
    CommandRow("gpus", "GPUs of the catalogue: list, search, compare."),
    CommandRow("occupancy", "What limits a kernel's occupancy, and what would raise it."),
    CommandRow("bandwidth", "Theoretical and effective bandwidth, and what is normal."),
    CommandRow("access", "How a warp's global access is coalesced."),
    CommandRow("banks", "Shared-memory bank conflicts, and the padding that ends them."),
    CommandRow("overlap", "How much overlapping copies with kernels saves."),
    CommandRow("roofline", "Memory- or compute-bound, and what is attainable."),
    CommandRow("scaling", "What parallelising can win: Amdahl and Gustafson.", "scaling"),
    CommandRow("latency", "Warps and bytes in flight that hide latency."),
    CommandRow("measure", "Copies, access, overlap and rates on a live GPU."),
    CommandRow("kernels", "Resources and occupancy of every kernel in a file."),
    CommandRow("whatif", "Which block size and register cap suit a kernel, before it runs."),
    CommandRow("compat", "Does the device code in a file run on a GPU, and why or why not."),
    CommandRow("timeline", "Where the time of a recorded run went: PyTorch, Nsight Systems, JAX."),
    CommandRow("diff", "What changed for each kernel between two builds."),
    CommandRow("lint", "Faults that CUDA and PyTorch source files show, and their fixes."),
    CommandRow("advise", "What to change first, what it can win, and who says so."),
    CommandRow("rules", "The rules: list, or explain one with live examples."),
    CommandRow("schema", "The JSON Schema of a command's output.", "schema"),
    CommandRow("completion", "The completion script of a shell.", "completion"),
)

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _show_help(ctx: Context, _: Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        stream([ctx.get_help() + "\n"])
        ctx.exit()


class _Helpful(ClickCommand):
    """A command whose help leaves the process as answers do, into closed pipes and full disks."""

    def get_help_option(self, ctx: Context) -> TyperOption | None:
        """Return the option ``--help``."""
        option = super().get_help_option(ctx)
        if option:
            option.callback = _show_help
        return option


class _Command(_Helpful, TyperCommand):
    """One command, which understands short and older spellings of its options."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Return what is left of *args* once the options have taken theirs."""
        if not ctx.resilient_parsing:
            args, notes = current(self.name or "", args)
            note(*notes)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Return the parameters, and what every command takes."""
        *own, help_option = super().get_params(ctx)
        return [*own, _color(), help_option]


def _color() -> TyperOption:
    from typer.core import TyperOption

    return TyperOption(
        param_decls=["color", "--color"],
        metavar="WHEN",
        help="Colour: auto, always or never.",
        expose_value=False,
        callback=lambda _ctx, _param, word: choose_colour(word),
    )


class LazyGroup(_Helpful, TyperGroup):
    """A group that knows its commands by the table and imports the one that is called."""

    def list_commands(self, ctx: Context) -> list[str]:
        """Return the names in the order of the table."""
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: Context, cmd_name: str) -> ClickCommand:
        """Return the command *cmd_name*, imported now; raises BadInput."""
        for entry in COMMANDS:
            if entry.name == cmd_name:
                return _loaded(entry)
        raise _unknown(cmd_name)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the table without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(entry.name, entry.help) for entry in COMMANDS])


def _unknown(name: str) -> BadInput:
    from difflib import get_close_matches

    near = get_close_matches(name[:SHOWN], [entry.name for entry in COMMANDS])
    hint = f"Did you mean {and_list(near, 'or')}?" if near else "gpuadvise --help lists them."
    return BadInput(f"{quoted(name)} is not a command.", hint=hint)


def _loaded(entry: CommandRow) -> ClickCommand:
    module = import_module(f"gpuadvise.cli.{entry.module or entry.name + '.command'}")
    lone = typer.Typer(add_completion=False, rich_markup_mode=None)
    examples = getattr(module, "EXAMPLES", "")
    lone.command(
        entry.name,
        cls=_Command,
        help=entry.help,
        epilog=f"\b\nExamples:\n{examples}" if examples else None,
        context_settings=SETTINGS,
    )(module.command)
    command = typer.main.get_command(lone)
    if any("--format" in option.opts for option in command.params):
        command.params.append(_json_option())
    return command


def _json_option() -> TyperOption:
    """Return the option ``--json`` for help and completion; `current` spells it out before."""
    from typer.core import TyperOption

    return TyperOption(
        param_decls=["--json"], is_flag=True, expose_value=False, help="Short for --format json."
    )


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings=SETTINGS,
    epilog="\b\nExamples:\n"
    "  gpuadvise occupancy --regs 32 --block 256 --gpu h100\n"
    "  gpuadvise device --telemetry\n"
    "  gpuadvise advise --regs 72 --block 100 --grid 96 --gpu h200\n"
    "Exit codes: 0 ran, 1 threshold met, 2 bad input, 3 not available.",
)


def _version(wanted: bool) -> None:
    if wanted:
        stream([f"gpuadvise {__version__}\n"])
        raise typer.Exit


@app.callback()
def gpuadvise(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Tell what limits a CUDA kernel or transfer, what to change first, and what it can win."""
