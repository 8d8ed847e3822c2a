"""``gpuadvise occupancy``: how many blocks of a kernel one SM holds, and what would change it."""

# No postponed annotations here: Typer would evaluate each of them twice at every start.

from typing import TYPE_CHECKING, Annotated, NamedTuple

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list
from gpuadvise.cli import completion, options
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.exits import Exit, fails_under
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.occupancy.request import KEYS
from gpuadvise.cli.options import GpuOptions, Share, Text, pick

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.advisor.occupancy.answer import Occupancy

EXAMPLES = """\
  gpuadvise occupancy --regs 32 --block 256 --gpu h100
  gpuadvise occupancy --regs 72 --block 16x16 --smem 16K --grid 4096
  gpuadvise occupancy --regs 64 --block 256 --gpu a100 --get occupancy
  gpuadvise occupancy --regs 64 --block 256 --sweep block --show
  gpuadvise occupancy --sweep regs=32:128:8 --sweep block=64:512:64 --gpu h100
  gpuadvise occupancy --batch kernels.csv --gpu l4 --fail-under 50%"""


class OccupancyRequest(NamedTuple):
    """The options of one call; what describes the launch is text, as in the columns of a batch."""

    regs: Annotated[Text, pick("regs")] = None
    block: Annotated[Text, pick("block")] = None
    smem: Annotated[Text, pick("smem")] = None
    dynamic_smem: Annotated[Text, pick("dynamic_smem")] = None
    smem_per_thread: Annotated[Text, pick("smem_per_thread")] = None
    barriers: Annotated[Text, pick("barriers")] = None
    cluster: Annotated[Text, pick("cluster")] = None
    nonportable_cluster: Annotated[bool, pick("nonportable_cluster")] = False
    grid: Annotated[Text, pick("grid")] = None
    elements: Annotated[Text, pick("elements", "Elements: the grid has a thread for each.")] = None
    carveout: Annotated[Text, pick("carveout")] = None
    cache: Annotated[Text, pick("cache")] = None
    launch_bounds: Annotated[Text, pick("launch_bounds")] = None
    no_opt_in: Annotated[bool, pick("no_opt_in")] = False
    gpu: GpuOptions = GpuOptions()
    sweep: Annotated[
        list[str] | None,
        pick(
            "sweep",
            "Vary block, regs, smem or barriers: regs=32:64:8.",
            complete=completion.words("block", "regs", "smem", "barriers"),
        ),
    ] = None
    show: Annotated[
        bool, pick("show", "Draw the sweep in the terminal (default: of block sizes).")
    ] = False
    plot: Annotated[Text, pick("plot")] = None
    all_cc: Annotated[bool, pick("all_cc")] = False
    batch: Annotated[Text, pick("batch")] = None
    least: Annotated[Share, pick("fail_under", "Exit 1 below this occupancy: 50% or 0.5.")] = None
    driver_check: Annotated[bool, pick("driver_check")] = False
    format: options.FormatName = Format.TEXT
    get: options.Get = None

    @property
    def texts(self) -> dict[str, str | None]:
        """What describes the launch, by the names of columns."""
        given = {name: value for name, value in self._asdict().items() if name in KEYS}
        return {name: "true" if value is True else value or None for name, value in given.items()}

    @property
    def output(self) -> Output:
        """How the answer leaves."""
        return Output(format=self.format, fields=tuple(self.get or ()))

    def many(self) -> list[str]:
        """Return which options ask for several answers."""
        several = {
            "--sweep": self.sweep,
            "--all-cc": self.all_cc,
            "--batch": self.batch is not None,
        }
        return [name for name, given in several.items() if given]

    def check(self) -> None:
        """Refuse options that do not go together; raises BadInput."""
        wanted = self.many()
        if len(wanted) > 1:
            raise BadInput(f"{and_list(wanted)} do not go together.")
        single = {
            "--driver-check": self.driver_check,
            "--show": self.show,
            "--plot": self.plot is not None,
        }
        for name, given in single.items():
            drawn = name in ("--show", "--plot") and wanted == ["--sweep"]
            if given and wanted and not drawn:
                raise BadInput(f"{name} and {wanted[0]} do not go together.")
        if self.show and self.format not in (Format.TEXT, Format.MARKDOWN, Format.HTML):
            raise BadInput("--show draws text; a table of the sweep needs no --show.")
        if self.least is not None and self.sweep:
            raise BadInput("--fail-under judges one launch, not a --sweep.")
        if self.batch is not None and self.get:
            raise BadInput("--get takes a field of one answer, not of a --batch.")
        if self.all_cc and any(self.gpu):
            raise BadInput("--all-cc is about every capability; name no device with it.")

    def verdict(self, occupancies: "Iterable[Occupancy]") -> "tuple[Exit, Sequence[str]]":
        """Return the exit code for *occupancies*, and a note if one is below the threshold."""
        lowest = min(answer.occupancy for answer in occupancies)
        return fails_under("occupancy", lowest, self.least)


def command(request: OccupancyRequest) -> Answer | Exit:
    """Answer for one launch, a sweep of it, every capability, or a batch."""
    if (request.show or request.plot is not None) and not request.many():
        request = request._replace(sweep=["block"])
    request.check()
    if request.batch is not None:
        from gpuadvise.cli.occupancy.batch import run

        return run(request, request.batch)
    if len(request.sweep or ()) > 1:
        from gpuadvise.cli.occupancy.launch_grid import run as run_grid

        return run_grid(request)
    if request.all_cc:
        from gpuadvise.cli.occupancy.sweep import all_cc_answer as answer
    elif request.sweep:
        from gpuadvise.cli.occupancy.sweep import sweep_answer as answer
    else:
        from gpuadvise.cli.occupancy.answer import answer
    return answer(request)
