"""``gpuadvise demo``: answers from small recordings that the program has with it, and their commands."""

from __future__ import annotations

import shlex
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Annotated, NamedTuple

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.cli import completion
from gpuadvise.cli.emit import stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.parameters import argument

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = """\
  gpuadvise demo            # a recorded run of PyTorch
  gpuadvise demo profile    # two kernels: what Nsight Compute counted, and their source
  gpuadvise demo source     # a notebook"""


class Demonstration(NamedTuple):
    """What one demonstration shows: a command and files of this folder."""

    command: str
    files: tuple[str, ...]
    words: str


RECORDINGS = {
    "trace": Demonstration("advise", ("copies.trace.json.gz",), "a run of PyTorch on an H200"),
    "profile": Demonstration(
        "advise", ("report.csv", "kernels.cu"), "two kernels on an H200, and their source"
    ),
    "source": Demonstration("lint", ("train.ipynb",), "a notebook that trains a model"),
}


def command(
    name: Annotated[
        str,
        argument(
            "[NAME]",
            "trace, profile or source.",
            complete=completion.words(*RECORDINGS),
        ),
    ] = "trace",
) -> Exit:
    """Answer from the recording NAME, and say the command for files of your own."""
    recording = RECORDINGS.get(name)
    if recording is None:
        raise BadInput(
            f"{quoted(name)} is not a recording.", hint=f"Use {and_list([*RECORDINGS], 'or')}."
        )
    from gpuadvise.cli.main import main

    with as_file(files("gpuadvise.cli.demo")) as folder:
        paths = [str(folder / file) for file in recording.files]
        stream([f"The recording is {recording.words}.\n\n"])
        code = main([recording.command, *paths])
        stream(f"{line}\n" for line in ["", *_closing(name, recording, paths)])
    return Exit(code)


def _closing(name: str, recording: Demonstration, paths: list[str]) -> Iterator[str]:
    yield f"Same as: {shlex.join(['gpuadvise', recording.command, *paths])}"
    others = [f"gpuadvise demo {other}" for other in RECORDINGS if other != name]
    yield f"With a file of your own: gpuadvise FILE. More: {and_list(others)}."
