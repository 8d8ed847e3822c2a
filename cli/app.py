"""The Typer application: a table of commands, each imported only when it runs."""

from __future__ import annotations

import sys
from importlib import import_module
from inspect import get_annotations
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from typer._click import Command as ClickCommand
from typer.core import TyperCommand, TyperGroup, TyperOption

from gpuadvise import __version__
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import SHOWN, and_list, quoted
from gpuadvise.cli.colour import Colour, choose_colour
from gpuadvise.cli.emit import note, stream, terminal_columns
from gpuadvise.cli.spellings import current

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter
    from typer._click.shell_completion import CompletionItem


class CommandRow(NamedTuple):  # made at every start, in an eighth of a dataclass's time
    """One command: its module is ``cli/<name>/command.py`` unless another is named."""

    name: str
    help: str
    module: str = ""


# The questions that people come with, and the commands that answer them; the help screen.
QUESTIONS = {
    "Which GPU is this, and is it well?": (
        CommandRow("device", "What a GPU is, and what it does now."),
        CommandRow("gpus", "GPUs of the catalogue: list, search, compare."),
        CommandRow("doctor", "What this machine's GPUs, driver and settings suffer from."),
        CommandRow("measure", "Copies, access, overlap and rates on a live GPU."),
    ),
    "Will this file run there, and what is in it?": (
        CommandRow("compat", "Does the device code in a file run on a GPU, and why or why not."),
        CommandRow("kernels", "Resources and occupancy of every kernel in a file."),
        CommandRow("diff", "What changed for each kernel between two builds."),
    ),
    "Why is my kernel slow?": (
        CommandRow("advise", "What to change first, what it can win, and who says so."),
        CommandRow("occupancy", "What limits a kernel's occupancy, and what would raise it."),
        CommandRow("whatif", "Which block size and register cap suit a kernel, before it runs."),
        CommandRow("roofline", "Memory- or compute-bound, and what is attainable."),
        CommandRow("latency", "Warps and bytes in flight that hide latency."),
        CommandRow("lint", "Faults that CUDA and PyTorch source files show, and their fixes."),
    ),
    "Is this bandwidth normal, is this access good?": (
        CommandRow("bandwidth", "Theoretical and effective bandwidth, and what is normal."),
        CommandRow("access", "How a warp's global access is coalesced."),
        CommandRow("banks", "Shared-memory bank conflicts, and the padding that ends them."),
    ),
    "Where does the time go, do copies and kernels overlap?": (
        CommandRow("timeline", "Where the time of a recorded run went: PyTorch, nsys, JAX."),
        CommandRow("overlap", "How much overlapping copies with kernels saves."),
        CommandRow("scaling", "What parallelising can win: Amdahl and Gustafson.", "scaling"),
    ),
    "What do the words mean, how do I use this?": (
        CommandRow("explain", "A word of the field in a few sentences."),
        CommandRow("rules", "The rules: list, or explain one with live examples."),
        CommandRow("help", "The help of a command.", "help"),
        CommandRow("schema", "The JSON Schema of a command's output.", "schema"),
        CommandRow("completion", "The completion script of a shell.", "completion"),
    ),
}
COMMANDS = tuple(row for rows in QUESTIONS.values() for row in rows)

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

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        """Return what may stand there; zsh would drop the apostrophes of the helps."""
        offered = super().shell_complete(ctx, incomplete)
        for item in offered:
            item.help = item.help and item.help.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")
        return offered


class _Command(_Helpful, TyperCommand):
    """One command, which understands short and older spellings of its options."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Return what is left of *args* once the options have taken theirs."""
        if not ctx.resilient_parsing:
            args, notes = current(self.name or "", args)
            note(*notes)
            if _asks_for_fields(args) and any(p.name == "get" for p in self.params):
                _show_fields(self.name or "")
                ctx.exit()
            self._note_second_gpu(args)
        return super().parse_args(ctx, args)

    def _note_second_gpu(self, args: list[str]) -> None:
        """Say that only the last GPU counts, where two answers may be hoped for.

        Other options are given again without a word: that is how scripts override a default.
        """
        count = sum(word == "--gpu" or word.startswith("--gpu=") for word in args)
        if count > 1 and any(p.name == "gpu" and not p.multiple for p in self.params):
            note(f"--gpu is given {count} times: the last counts.")

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Return the parameters, and what every command takes."""
        *own, help_option = super().get_params(ctx)
        return [*own, _color(), help_option]

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the arguments, then the options by what they are about."""
        from gpuadvise.cli.options import OUTPUT, TOPICS

        topics: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                topic = getattr(parameter, "rich_help_panel", None)
                argument = parameter.param_type_name == "argument"
                topics.setdefault("Arguments" if argument else topic or OUTPUT, []).append(record)
        order = ["Arguments", *TOPICS]
        _write_columns(formatter, {name: topics[name] for name in order if name in topics})


def _write_columns(formatter: HelpFormatter, sections: dict[str, list[tuple[str, str]]]) -> None:
    """Write *sections* of two columns, which begin at the same place in all of them."""
    names = [len(name) for rows in sections.values() for name, _ in rows]
    width = max([length for length in names if length <= _LONGEST_NAME], default=0)
    for title, rows in sections.items():
        formatter.write(f"\n{title}\n" if title.endswith("?") else f"\n{title}:\n")
        with formatter.indentation():
            formatter.write_dl([(name.ljust(width), text) for name, text in rows], _LONGEST_NAME)


_LONGEST_NAME = 30


def _asks_for_fields(args: list[str]) -> bool:
    return ("--get", "list") in pairwise(args) or "--get=list" in args


def _show_fields(name: str) -> None:
    from gpuadvise.cli.schemas import fields_of

    known = fields_of(name)
    columns = terminal_columns(sys.stdout)
    width = max((len(path) for path, _ in known), default=0) + 2
    if columns is None:
        stream(f"{path:{width}}{meaning}\n" for path, meaning in known)
        return
    from gpuadvise.cli.render.line_breaks import filled

    beside = columns >= width + _LEAST_MEANING
    indent = width if beside else 4
    for path, meaning in known:
        lines = filled(meaning, columns - indent)
        first = f"{path:{width}}{lines.pop(0)}" if beside else path
        stream([f"{first}\n", *(f"{'':{indent}}{line}\n" for line in lines)])


_LEAST_MEANING = 30  # columns beside the names


def _color() -> TyperOption:
    def offered(_ctx: Context, _args: list[str], begun: str) -> list[str]:
        from gpuadvise.cli.completion import words

        return list(words(*Colour)(begun))

    return TyperOption(
        param_decls=["color", "--color"],
        metavar="WHEN",
        help="Colour: auto, always or never.",
        expose_value=False,
        callback=lambda _ctx, _param, word: choose_colour(word),
        autocompletion=offered,
    )


class _Table(TyperGroup):
    """A group that knows its commands by the table and imports the one that is called."""

    def list_commands(self, ctx: Context) -> list[str]:
        """Return the names in the order of the table."""
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: Context, cmd_name: str) -> ClickCommand | None:
        """Return the command *cmd_name*, imported now; raises BadInput."""
        for entry in COMMANDS:
            if entry.name == cmd_name:
                return _loaded(entry)
        if ctx.resilient_parsing:
            return None
        raise _unknown(cmd_name)

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        """Return what begins with *incomplete*, without importing any command."""
        from typer._click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return ClickCommand.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(entry.name, help=entry.help)
            for entry in COMMANDS
            if entry.name.startswith(incomplete)
        ]

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the table without importing any command."""
        _write_columns(
            formatter,
            {title: [(row.name, row.help) for row in rows] for title, rows in QUESTIONS.items()},
        )


class LazyGroup(_Helpful, _Table):
    """All commands of the program."""


def _unknown(name: str) -> BadInput:
    from difflib import get_close_matches

    from gpuadvise.cli.explain.glossary import term_named

    if term_named(name[:SHOWN]):
        return BadInput(f"{quoted(name)} is not a command.", hint=f"gpuadvise explain {name}.")
    if name.lower() == "version":
        return BadInput(f"{quoted(name)} is not a command.", hint="gpuadvise --version.")
    near = get_close_matches(name[:SHOWN], [entry.name for entry in COMMANDS])
    hint = f"Did you mean {and_list(near, 'or')}?" if near else "gpuadvise --help lists them."
    return BadInput(f"{quoted(name)} is not a command.", hint=hint)


def _loaded(entry: CommandRow) -> ClickCommand:
    module = import_module(f"gpuadvise.cli.{entry.module or entry.name + '.command'}")
    # Evaluated here once: Typer would evaluate postponed annotations four times.
    module.command.__annotations__ = get_annotations(module.command, eval_str=True)
    typer_app = typer.Typer(add_completion=False, rich_markup_mode=None)
    examples = getattr(module, "EXAMPLES", "")
    typer_app.command(
        entry.name,
        cls=_Command,
        help=entry.help,
        epilog=f"\b\nExamples:\n{examples}" if examples else None,
        context_settings=SETTINGS,
    )(module.command)
    command = typer.main.get_command(typer_app)
    if any("--format" in option.opts for option in command.params):
        command.params.append(_json_option())
    if any("--gpu" in option.opts for option in command.params):
        command.params.append(_sources_option())
    return command


def _json_option() -> TyperOption:
    """Return the option ``--json`` for help and completion; `current` spells it out before."""
    return TyperOption(
        param_decls=["--json"], is_flag=True, expose_value=False, help="Short for --format json."
    )


def _sources_option() -> TyperOption:
    """Return the option ``--sources``: of text on a terminal; all other formats have them."""
    from gpuadvise.cli.options import OPTIONS, OUTPUT

    return TyperOption(
        param_decls=["--sources"],
        is_flag=True,
        expose_value=False,
        help=OPTIONS["sources"].help,
        callback=_choose_sources,
        rich_help_panel=OUTPUT,
    )


def _choose_sources(ctx: Context, _: Parameter, wanted: bool) -> None:
    terminal = "gpuadvise.cli.render.terminal"
    if not ctx.resilient_parsing and (wanted or terminal in sys.modules):
        import_module(terminal).show_sources(wanted)


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings=SETTINGS,
    epilog="\b\nExamples:\n"
    "  gpuadvise occupancy --regs 32 --block 256 --gpu h100\n"
    "  gpuadvise compat dist/*.whl --gpu rtx4090\n"
    "  gpuadvise advise --regs 72 --block 100 --grid 96 --gpu h200\n"
    "Exit codes: 0 ran, 1 threshold, 2 bad input, 3 not there.",
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
