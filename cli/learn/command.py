"""``gpuadvise learn``: the tutorials step by step, in the words of their pages."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, NamedTuple

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.cli import completion
from gpuadvise.cli.emit import stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.options import Text, pick, read
from gpuadvise.cli.parameters import argument

if TYPE_CHECKING:
    from collections.abc import Iterable

EXAMPLES = """\
  gpuadvise learn
  gpuadvise learn transpose            # Enter shows the next step
  gpuadvise learn reduction --step 2"""

TUTORIALS = ("transpose", "reduction", "matrix-product", "training-loop")
_HEADING = "\n## "


class Tutorial(NamedTuple):
    """A page: its title, what stands before the first step, and each step with its heading."""

    title: str
    steps: tuple[str, ...]


def command(
    name: Annotated[
        str | None,
        argument(
            "[TUTORIAL]", "Such as transpose; none: all.", complete=completion.words(*TUTORIALS)
        ),
    ] = None,
    step: Annotated[Text, pick("step")] = None,
) -> Exit:
    """List the tutorials, or walk through one: at a terminal step by step, else all of it."""
    if name is None:
        if step is not None:
            raise BadInput(
                "--step is of one tutorial.", hint=f"Name it: {and_list(TUTORIALS, 'or')}."
            )
        stream(
            f"{each:16}{told.title}; --step 1 to {len(told.steps) - 1}\n"
            for each in TUTORIALS
            for told in [read_tutorial(each)]
        )
        return Exit.RAN
    tutorial = read_tutorial(name)
    if step is not None:
        _show([_chosen(name, tutorial, read("step", step))])
    elif sys.stdin.isatty() and sys.stdout.isatty():
        _walk(tutorial)
    else:
        _show(tutorial.steps)
    return Exit.RAN


def read_tutorial(name: str) -> Tutorial:
    """Return the tutorial *name*; raises BadInput."""
    if name not in TUTORIALS:
        raise BadInput(f"{quoted(name)} is no tutorial.", hint=f"There are {and_list(TUTORIALS)}.")
    text = files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    first, *others = text.split(_HEADING)
    title = first.partition("\n")[0].removeprefix("# ")
    return Tutorial(title, (first, *(f"## {step}" for step in others)))


def _chosen(name: str, tutorial: Tutorial, number: int) -> str:
    if number >= len(tutorial.steps):
        last = len(tutorial.steps) - 1
        raise BadInput(
            f"--step: {name} has steps 0 to {last}.", hint="0 is what stands before the first."
        )
    return tutorial.steps[number]


def _show(steps: Iterable[str]) -> None:
    """Print *steps*: laid out for a terminal, as they are for all else."""
    if not sys.stdout.isatty():
        stream(f"{step.strip()}\n\n" for step in steps)
        return
    from gpuadvise.cli.colour import coloured
    from gpuadvise.cli.render.terminal import show_markdown

    for step in steps:
        show_markdown(step, coloured=coloured())


def _walk(tutorial: Tutorial) -> None:
    """Show a step after each Enter; q, the end of the input and Ctrl-C end it."""
    last = len(tutorial.steps) - 1
    for number, step in enumerate(tutorial.steps):
        _show([step])
        if number == last:
            return
        try:
            answer = input(f"[{number} of {last}] Enter: next step, q: end. ")
        except (EOFError, KeyboardInterrupt):
            stream(["\n"])
            return
        if answer.strip().lower() in ("q", "quit", "exit"):
            return
