"""The occupancy calculator of ``gpuadvise tui``: what is typed on the left, the answer of ``occupancy`` on the right.

It asks the commands ``occupancy`` and ``device`` themselves, so that it can say nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import App
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Footer, Input, Label, Select, Static

from gpuadvise.advisor.catalogue import entries
from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.errors import GpuAdviseError
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.options import GpuOptions
from gpuadvise.cli.parameters import call
from gpuadvise.cli.render.plain import render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from gpuadvise.cli.answer import Answer

LIVE = "live"  # of the picker: the first GPU of this machine
_FIRST_GPU = "h100-sxm"
_REFRESH = 3.0  # seconds between two looks at a live GPU
# What is asked, by option of `occupancy`: its label and what stands there first.
FIELDS: dict[str, tuple[str, str]] = {
    "regs": ("Registers per thread", "32"),
    "block": ("Threads per block", "256"),
    "smem": ("Static shared memory", ""),
    "dynamic_smem": ("Dynamic shared memory", ""),
    "grid": ("Blocks in the grid", ""),
}


def answer_text(gpu: str, values: Mapping[str, str]) -> str:
    """Return what ``occupancy`` says of *values* on *gpu*, or why it cannot."""
    from gpuadvise.cli.occupancy.command import command

    place = {"device": "0"} if gpu == LIVE else {"gpu": gpu}
    try:
        said: Answer | Exit = call(command, {**_given(values), **place})
    except GpuAdviseError as error:
        return "\n".join(filter(None, (error.message, error.hint)))
    return "" if isinstance(said, Exit) else render(said.blocks())


def command_line(gpu: str, values: Mapping[str, str]) -> str:
    """Return the command that says the same."""
    options = [f"--{name.replace('_', '-')} {value}" for name, value in _given(values).items()]
    return " ".join(
        ["gpuadvise occupancy", *options, "--device 0" if gpu == LIVE else f"--gpu {gpu}"]
    )


def _given(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value.strip() for name, value in values.items() if value.strip()}


def live_text() -> str | None:
    """Return what the first GPU of this machine does now, None where there is none."""
    from gpuadvise.cli.device.command import command

    try:
        return render(command(GpuOptions(device="0"), telemetry=True).blocks())
    except GpuAdviseError:
        return None


class Calculator(App[None]):
    """Fields and a picker of GPUs; each change is answered at once."""

    TITLE = "gpuadvise: occupancy"
    BINDINGS: ClassVar = [("escape", "quit", "Quit"), ("ctrl+q", "quit", "Quit")]
    CSS = """
    #asked { width: 34; padding: 0 1; }
    #said { padding: 0 1; }
    #line { color: $text-muted; }
    #live { color: $text-muted; padding: 1 0 0 0; }
    """

    def __init__(self, gpu: str | None) -> None:
        super().__init__()
        if gpu is not None:
            find(gpu)  # raises BadInput before the screen is taken
        self.chosen = gpu or _FIRST_GPU
        self.has_live = False

    def compose(self) -> ComposeResult:
        """Yield the fields, the answer and the command that says the same."""
        with Horizontal():
            with Vertical(id="asked"):
                yield Label("GPU")
                yield Select(self.choices(), value=self.chosen, allow_blank=False, id="gpu")
                for name, (label, first) in FIELDS.items():
                    yield Label(label)
                    yield Input(first, id=name, compact=True)
            with VerticalScroll(id="said"):
                yield Static(id="line", markup=False)
                yield Static(id="answer", markup=False)
                yield Static(id="live", markup=False)
        yield Footer()

    def choices(self) -> list[tuple[str, str]]:
        """Return names and ids: the live GPU first where there is one, and the one that was named."""
        names = dict.fromkeys((self.chosen, *(entry.id for entry in entries())))
        known = [(name, name) for name in names]
        return [("this machine's", LIVE), *known] if self.has_live else known

    def on_mount(self) -> None:
        """Answer what stands in the fields, and look for a live GPU meanwhile."""
        self.answer()
        self.look()
        self.set_interval(_REFRESH, self.look_again)

    def on_input_changed(self) -> None:
        """Answer anew."""
        self.answer()

    def on_select_changed(self) -> None:
        """Answer for another GPU."""
        self.answer()

    def answer(self) -> None:
        """Show the answer to what is typed."""
        values = {name: self.query_one(f"#{name}", Input).value for name in FIELDS}
        gpu = str(self.query_one("#gpu", Select).value)
        self.query_one("#line", Static).update(command_line(gpu, values))
        self.query_one("#answer", Static).update(answer_text(gpu, values))

    def look_again(self) -> None:
        """Ask the live GPU again, if there was one."""
        if self.has_live:
            self.look()

    @work(thread=True, exclusive=True)
    def look(self) -> None:
        """Ask the live GPU beside the calculator: drivers may take a while."""
        said = live_text()
        if said is not None:
            self.call_from_thread(self.show_live, said)

    def show_live(self, said: str) -> None:
        """Show what the live GPU does, and offer it in the picker."""
        if not self.has_live:
            self.has_live = True
            picker = self.query_one("#gpu", Select)
            chosen = picker.value
            picker.set_options(self.choices())
            picker.value = chosen
        self.query_one("#live", Static).update(said)
