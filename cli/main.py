"""The entry point: run a command, turn errors into one sentence and an exit code."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

from gpuadvise.advisor.errors import BadInput, GpuAdviseError
from gpuadvise.advisor.prose import SHOWN, inert, quoted_path
from gpuadvise.cli.emit import ClosedPipe, asks_for_json, complain, complain_as_json, note, stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.head_start import start_drivers
from gpuadvise.cli.streams import prepare

if TYPE_CHECKING:
    from gpuadvise.cli.typer_private import ClickException

PROGRAM = "gpuadvise"
# Longest message of the option parser that is repeated whole; it may quote a huge argument.
_LONGEST_MESSAGE = 300
# Objects beyond those freed: more than imports leave behind, far fewer than fill a memory.
_FIRST_COLLECTION = 100_000
_SHOW_FAULTS = "GPUADVISE_TRACEBACK"


def run() -> int:
    """Run the process's command line and return its exit code.

    Nearly all that a short run allocates lives to its end, so the collector only costs time:
    it starts late, and does not walk what the end of the process frees anyway.
    """
    gc.set_threshold(_FIRST_COLLECTION)
    prepare()
    try:
        start_drivers(sys.argv[1:])
        return main()
    except Exception as fault:  # ours, or the system's: one sentence, and no threshold's exit code
        if os.environ.get(_SHOW_FAULTS):
            raise
        message = f"gpuadvise itself failed ({type(fault).__name__}: {fault})."
        if isinstance(fault, OSError):
            message = f"The system refused: {fault.strerror or fault}."
        complain(_shortened(message), f"{_SHOW_FAULTS}=1 shows where; please report it.")
        return Exit.UNAVAILABLE
    finally:
        gc.freeze()


def program() -> NoReturn:
    """Run the process's command line and end the process with its exit code; what the console script calls.

    Python would take every module apart first, which takes 10 ms, and frees what the system frees anyway. Where
    a thread still runs, or what was written cannot leave, it ends the process as always.
    """
    code = run()
    threads = sys.modules.get("threading")
    if threads is None or threads.active_count() == 1:
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)


def main(args: list[str] | None = None) -> int:
    """Run the command line *args* (default: the process's own) and return its exit code."""
    args = sys.argv[1:] if args is None else args
    try:
        return _run_with_any_names(args)
    except GpuAdviseError as error:
        own = args[: args.index("--")] if "--" in args else args  # the rest is of another program
        if asks_for_json(own):
            complain_as_json(error.message, error.hint, error.exit_code)
        else:
            complain(error.message, error.hint, log=error.log)
        return error.exit_code if _annotated(own, error) else Exit.UNAVAILABLE
    except ClosedPipe:
        return Exit.CLOSED_PIPE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except MemoryError:
        complain("No memory is left.", "Free some, or raise its limit (ulimit -v).")
        return Exit.UNAVAILABLE


def _run_with_any_names(args: list[str]) -> int:
    """Run *args*; a name that is longer than the system takes is bad input, wherever it is met."""
    try:
        return _run(args)
    except OSError as fault:
        if fault.errno != errno.ENAMETOOLONG or not isinstance(fault.filename, str):
            raise
        message = f"{quoted_path(fault.filename)} is longer than the system lets a name be."
        raise BadInput(_shortened(message)) from None


def _annotated(args: list[str], error: GpuAdviseError) -> bool:
    """Write *error* where a workflow shows it, if *args* ask for that; False: it cannot be."""
    if not any(pair in _ANNOTATIONS for pair in pairwise([*args, ""])):
        return True
    from gpuadvise.cli.render import github

    try:
        stream([github.annotation("error", PROGRAM, error.message)])
    except (GpuAdviseError, ClosedPipe):
        return False
    return True


# What the option parser would say, had it come so far.
_ANNOTATIONS = {("--format", "github"), ("-f", "github")}


def _run(args: list[str]) -> int:
    if args[:2] == ["device", "--get"]:
        from gpuadvise.cli.device.one_field import answered

        if (field := answered(args)) is not None:
            stream([field])
            return Exit.RAN
    import typer

    from gpuadvise.cli.app import app, names_command
    from gpuadvise.cli.typer_private import ClickException, NoArgsIsHelpError, listen_to_shells

    completing = f"_{PROGRAM.upper()}_COMPLETE" in os.environ
    if completing:
        from gpuadvise.cli.completion import without_equals

        listen_to_shells()
        if "COMP_CWORD" in os.environ:  # bash
            without_equals(os.environ)
    closing: str | None = None
    following: tuple[list[str], ...] = ()
    if args and not completing and not names_command(args[0]):
        from gpuadvise.cli.default_command import default_command

        if (meant := default_command(args)) is not None:
            note(*meant.notes)
            args, closing, following = meant.args, f"Same as: {meant.words}", meant.following
    try:
        if following:
            stream([f"{inert(args[-1])}\n"])
        code = typer.main.get_command(app).main(args, prog_name=PROGRAM, standalone_mode=False)
        for more in following:
            stream([f"\n{inert(more[-1])}\n"])
            code = max(int(code or Exit.RAN), main(more))
        if closing:
            _close(closing, args)
    except NoArgsIsHelpError as error:
        from gpuadvise.cli.default_command import offer

        stream([error.format_message() + "\n", *(f"{line}\n" for line in [offer()] if line)])
        return Exit.RAN
    except ClickException as error:
        message, hint = _refused(error, args)
        if asks_for_json(args):
            complain_as_json(message, hint, Exit.BAD_INPUT)
        else:
            complain(message, hint)
        return Exit.BAD_INPUT
    return int(code or Exit.RAN)


def _close(sentence: str, args: list[str]) -> None:
    """Say *sentence* last: on stdout behind a text, beside any other answer."""
    options = [arg.partition("=")[0] for arg in args]
    if {"--format", "-f", "--get", "--json", "--report", "--csv"}.isdisjoint(options):
        stream([f"\n{sentence}\n"])
    else:
        note(sentence)


def _refused(error: ClickException, args: list[str]) -> tuple[str, str]:
    """Return what the option parser says against *args*, and what to write instead."""
    from gpuadvise.cli.spellings import also_meant, meant
    from gpuadvise.cli.typer_private import NoSuchOption

    message, context = _shortened(error.format_message()), getattr(error, "ctx", None)
    if context is None or context.parent is None:
        command = args[0] if args and not args[0].startswith("-") else "COMMAND"
        return message, f"{PROGRAM} {_shortened(command)} --help shows the options."
    options = {name: param for param in context.command.params for name in param.opts}
    if isinstance(error, NoSuchOption):
        foreign = [word for word in args if word.startswith("-") and word not in options]
        name = next(filter(None, (meant(word, options) for word in foreign)), None)
        if name is not None:
            said = vars(options[name])["help"]
            return _shortened(error.message), f"The option is {name} here: {said}{also_meant(name)}"
    if "extra argument" in message and "--gpu" in options:
        message = f"{message}; each value stands behind an option, as in --gpu h200"
    elif "extra argument" in message and "--from" in options:
        message = f"{message}; a saved answer stands behind --from, as in --from box.json"
    return f"{message.rstrip('.')}.", f"{PROGRAM} {context.info_name} --help shows the options."


def _shortened(message: str) -> str:
    if len(message) <= _LONGEST_MESSAGE:
        return message
    return f"{message[:SHOWN]} … {message[-SHOWN:]}"
