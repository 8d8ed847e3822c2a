"""The Typer application: a table of commands, each imported only when it runs."""

from __future__ import annotations

import inspect
import sys
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from gpuadvise import __version__
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import SHOWN, and_list, quoted
from gpuadvise.cli.colour import Colour, choose_colour
from gpuadvise.cli.emit import emit, note, stream, terminal_columns
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.spellings import current
from gpuadvise.cli.typer_private import Command, completion_items, taken_as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpuadvise.cli.typer_private import CompletionItem, Context, HelpFormatter, Parameter


class CommandRow(NamedTuple):  # made at every start, in an eighth of a dataclass's time
    """One command: its module is ``cli/<name>/command.py`` unless another is named, below or beside cli."""

    name: str
    help: str
    module: str = ""


# The questions that people come with, and the commands that answer them; the help screen.
QUESTIONS = {
    "Which GPU is this, and is it well?": (
        CommandRow("device", "What a GPU is, and what it does now."),
        CommandRow("gpus", "GPUs of the catalogue: list, search, compare."),
        CommandRow("doctor", "What this machine's GPUs, driver and settings suffer from."),
        CommandRow("fleet", "Which of many machines is unwell, or differs from its equals."),
        CommandRow("measure", "Copies, access, overlap and rates on a live GPU."),
    ),
    "Will this file run there, and what is in it?": (
        CommandRow("compat", "Does the device code in a file run on a GPU, and why or why not."),
        CommandRow("kernels", "Resources and occupancy of every kernel in a file."),
        CommandRow("diff", "What changed for each kernel between two builds."),
        CommandRow("baseline", "Saved answers under names, which gates compare with.", "baseline"),
    ),
    "Why is my kernel slow?": (
        CommandRow("advise", "What to change first, what it can win, and who says so."),
        CommandRow("occupancy", "What limits a kernel's occupancy, and what would raise it."),
        CommandRow(
            "tui", "The occupancy calculator in a terminal.", "gpuadvise.servers.tui.command"
        ),
        CommandRow("whatif", "Which block size and register cap suit a kernel, before it runs."),
        CommandRow("roofline", "Memory- or compute-bound, and what is attainable."),
        CommandRow("latency", "Warps and bytes in flight that hide latency."),
        CommandRow("lint", "Faults that CUDA and PyTorch source files show, and their fixes."),
        CommandRow("lsp", "The same in an editor: a language server.", "gpuadvise.servers.lsp"),
    ),
    "Is this bandwidth normal, is this access good?": (
        CommandRow("bandwidth", "Theoretical and effective bandwidth, and what is normal."),
        CommandRow("access", "How a warp's global access is coalesced."),
        CommandRow("banks", "Shared-memory bank conflicts, and the padding that ends them."),
    ),
    "Where does the time go, do copies and kernels overlap?": (
        CommandRow("run", "Run a program, record some steps, and say where the time went."),
        CommandRow("timeline", "Where the time of a recorded run went: PyTorch, nsys, JAX."),
        CommandRow("overlap", "How much overlapping copies with kernels saves."),
        CommandRow("scaling", "What parallelising can win: Amdahl and Gustafson.", "scaling"),
    ),
    "What do the words mean, how do I use this?": (
        CommandRow("explain", "A word of the field in a few sentences."),
        CommandRow("rules", "The rules: list, or explain one with live examples."),
        CommandRow("learn", "Tutorials: a transpose, a reduction, a product, a loop."),
        CommandRow("demo", "Answers from recordings that it has with it, and their commands."),
        CommandRow("skill", "The page for agents that have a shell."),
        CommandRow("mcp", "The commands as tools for agents.", "gpuadvise.servers.mcp.command"),
        CommandRow("help", "The help of a command.", "help"),
        CommandRow("schema", "The JSON Schema of a command's output.", "schema"),
        CommandRow("completion", "The completion script of a shell.", "completion"),
    ),
}
COMMANDS = tuple(row for rows in QUESTIONS.values() for row in rows)


def names_command(word: str) -> bool:
    """Return whether *word* names a command, or is an option: a file of that name has no say."""
    return (word.startswith("-") and word != "-") or any(row.name == word for row in COMMANDS)


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _show_help(ctx: Context, _: Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        stream([ctx.get_help() + "\n"])
        ctx.exit()


class _TextCommand(Command):
    """A command that takes all values as text, and whose help leaves the process as answers do."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Return the parameters, and the option ``--help``."""
        params = super().get_params(ctx)
        for param in params:
            vars(param)["process_value"] = partial(taken_as_text, param)
        return params

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


class _Command(_TextCommand, TyperCommand):
    """One command, which understands short and older spellings of its options."""

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        """Return what stands behind the command's name in its usage line."""
        arguments = [param for param in self.params if param.param_type_name == "argument"]
        return ["[OPTIONS]", *map(_argument_name, arguments)]

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Return what is left of *args* once the options have taken theirs."""
        if not ctx.resilient_parsing and ctx.allow_interspersed_args:
            args, notes = current(self.name or "", args)
            note(*notes)
            lists = ("--get", "list") in pairwise(args) or "--get=list" in args
            if lists and any(p.name == "get" for p in self.params):
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

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the arguments, then the options by what they are about."""
        from gpuadvise.cli.options import OUTPUT, TOPICS

        topics: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                topic, record = "Arguments", (_argument_name(parameter), record[1])
            else:
                topic = getattr(parameter, "rich_help_panel", None) or OUTPUT
            topics.setdefault(topic, []).append(record)
        order = ["Arguments", *TOPICS]
        _write_columns(formatter, {name: topics[name] for name in order if name in topics})


def _argument_name(argument: Parameter) -> str:
    return argument.metavar or (argument.name or "").upper()


def _write_columns(formatter: HelpFormatter, sections: dict[str, list[tuple[str, str]]]) -> None:
    """Write *sections* of two columns, which begin at the same place in all of them."""
    names = [len(name) for rows in sections.values() for name, _ in rows]
    width = max([length for length in names if length <= _LONGEST_NAME], default=0)
    for title, rows in sections.items():
        formatter.write(f"\n{title}\n" if title.endswith("?") else f"\n{title}:\n")
        with formatter.indentation():
            formatter.write_dl([(name.ljust(width), text) for name, text in rows], _LONGEST_NAME)


_LONGEST_NAME = 30


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


class CommandTable(_TextCommand, TyperGroup):
    """The commands of the program by the table; the one that is called is imported."""

    def list_commands(self, ctx: Context) -> list[str]:
        """Return the names in the order of the table."""
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """Return the command *cmd_name*, imported now; raises BadInput."""
        for entry in COMMANDS:
            if entry.name == cmd_name:
                return _loaded(entry)
        if ctx.resilient_parsing:
            return None
        raise _unknown(cmd_name)

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        """Return what begins with *incomplete*, without importing any command."""
        if incomplete.startswith("-"):
            return Command.shell_complete(self, ctx, incomplete)
        return completion_items(
            (entry.name, entry.help) for entry in COMMANDS if entry.name.startswith(incomplete)
        )

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the table without importing any command."""
        _write_columns(
            formatter,
            {title: [(row.name, row.help) for row in rows] for title, rows in QUESTIONS.items()},
        )


def _unknown(name: str) -> BadInput:
    from difflib import get_close_matches

    from gpuadvise.cli.default_command import neither
    from gpuadvise.cli.explain.glossary import term_named

    if term_named(name[:SHOWN]):
        return BadInput(f"{quoted(name)} is not a command.", hint=f"gpuadvise explain {name}.")
    if name.lower() == "version":
        return BadInput(f"{quoted(name)} is not a command.", hint="gpuadvise --version.")
    if (missing := neither(name)) is not None:
        return missing
    names = [entry.name for entry in COMMANDS]
    near = [command for command in names if len(name) > 1 and command.startswith(name)]
    near = near or get_close_matches(name[:SHOWN], names)
    hint = f"Did you mean {and_list(near, 'or')}?" if near else "gpuadvise --help lists them."
    return BadInput(f"{quoted(name)} is not a command.", hint=hint)


def _loaded(entry: CommandRow) -> Command:
    beside = entry.module.startswith("gpuadvise.")
    name = entry.module if beside else f"gpuadvise.cli.{entry.module or entry.name + '.command'}"
    module = import_module(name)
    typer_app = typer.Typer(add_completion=False, rich_markup_mode=None)
    examples = getattr(module, "EXAMPLES", "")
    typer_app.command(
        entry.name,
        cls=_Command,
        help=entry.help,
        epilog=f"\b\nExamples:\n{examples}" if examples else None,
        context_settings=SETTINGS | getattr(module, "SETTINGS", {}),
    )(_with_shared_options(module.command))
    return typer.main.get_command(typer_app)


def _with_shared_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return *function* of a command with what all have: options as ``--color``, and printing.

    Typer reads its signature several times: it is evaluated here once.
    """
    from gpuadvise.cli.completion import words
    from gpuadvise.cli.options import OPTIONS, OUTPUT
    from gpuadvise.cli.parameters import call, options_of

    own, _, readers, returns = options_of(function)
    answers = "Answer" in str(returns)

    def without_shared(**values: Any) -> Any:
        said = call(function, {name: values[name] for name in own})
        if not answers or isinstance(said, Exit):  # rows that were printed as they came
            return said
        return emit(said, Output(format=values["format"], fields=tuple(values["get"] or ())))

    shared = _of_answers(own) if answers else []
    if answers or "format" in own:  # for help and completion: `current` spells it out before
        shared.append(_unseen("json", help="Short for --format json."))
    if "gpu" in own:  # of text on a terminal; all other formats have them
        sources = {"help": OPTIONS["sources"].help, "callback": _choose_sources}
        shared.append(_unseen("sources", **sources, rich_help_panel=OUTPUT))
    colour = {"metavar": "WHEN", "help": "Colour: auto, always or never."}
    offered = {"callback": choose_colour, "autocompletion": words(*Colour)}
    shared.append(_unseen("color", str | None, **colour, **offered))
    parameters = (_for_typer(one, read=one.name in readers) for one in [*own.values(), *shared])
    vars(without_shared)["__signature__"] = inspect.Signature([*parameters])
    without_shared.__annotations__ = {}
    return without_shared


def _of_answers(own: Mapping[str, Any]) -> list[inspect.Parameter]:
    """Return the options of every command with an answer that it does not list itself."""
    from gpuadvise.cli.options import FormatName, Get

    options = (("format", FormatName, Format.TEXT), ("get", Get, None))
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, kind, default in options
        if name not in own
    ]


def _for_typer(parameter: inspect.Parameter, *, read: bool) -> inspect.Parameter:
    """Return *parameter* with Typer's option or argument in place of what a command says of it.

    What is *read* after Typer is text to it.
    """
    from gpuadvise.cli.parameters import ArgumentSpec, OptionSpec

    kind, *described = get_args(parameter.annotation) or (None,)
    if read:
        kind = str if parameter.default is inspect.Parameter.empty else str | None
        if parameter.default not in (None, inspect.Parameter.empty):
            parameter = parameter.replace(default=str(parameter.default))
    match described:
        case [OptionSpec() as spec]:
            option = typer.Option(
                *spec.spellings,
                metavar=spec.metavar,
                help=spec.help,
                autocompletion=spec.complete,
                rich_help_panel=spec.topic,
                callback=spec.callback,
            )
        case [ArgumentSpec() as spec]:
            option = typer.Argument(
                metavar=spec.metavar, help=spec.help, autocompletion=spec.complete
            )
        case _:
            return parameter
    return parameter.replace(annotation=Annotated[kind, option])


def _unseen(name: str, kind: Any = bool, **said: Any) -> inspect.Parameter:
    """Return an option of which its callback alone gets the value."""
    kind_of_typer = Annotated[kind, typer.Option(f"--{name}", expose_value=False, **said)]
    default = False if kind is bool else None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=kind_of_typer, default=default
    )


def _choose_sources(ctx: typer.Context, wanted: bool) -> None:
    terminal = "gpuadvise.cli.render.terminal"
    if not ctx.resilient_parsing and (wanted or terminal in sys.modules):
        import_module(terminal).show_sources(wanted)


app = typer.Typer(
    cls=CommandTable,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    subcommand_metavar="COMMAND [ARGS]... | FILE...",
    context_settings=SETTINGS,
    epilog="\b\nExamples: a file needs no command, and demo no file\n"
    "  gpuadvise trace.json    gpuadvise report.ncu-rep a.cu\n"
    "  gpuadvise train.py      gpuadvise dist/app.whl\n"
    "  gpuadvise box.xml       gpuadvise demo\n"
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
    """Tell what limits a CUDA kernel or transfer, and what to change first."""
