"""``gpuadvise occupancy``: how many blocks of a kernel one SM holds, and what would change it."""

# No postponed annotations here: Typer would evaluate each of them twice at every start.

from typing import Annotated

from gpuadvise.cli import completion, options
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.occupancy.request import OccupancyRequest
from gpuadvise.cli.options import pick

EXAMPLES = """\
  gpuadvise occupancy --regs 32 --block 256 --gpu h100
  gpuadvise occupancy --regs 72 --block 16x16 --smem 16K --grid 4096
  gpuadvise occupancy --regs 64 --block 256 --gpu a100 --get occupancy
  gpuadvise occupancy --regs 64 --block 256 --sweep block --show
  gpuadvise occupancy --sweep regs=32:128:8 --sweep block=64:512:64 --gpu h100
  gpuadvise occupancy --batch kernels.csv --gpu l4 --fail-under 50%"""


Text = str | None


def command(
    regs: Annotated[Text, pick("regs")] = None,
    block: Annotated[Text, pick("block")] = None,
    smem: Annotated[Text, pick("smem")] = None,
    dynamic_smem: Annotated[Text, pick("dynamic_smem")] = None,
    smem_per_thread: Annotated[Text, pick("smem_per_thread")] = None,
    barriers: Annotated[Text, pick("barriers")] = None,
    cluster: Annotated[Text, pick("cluster")] = None,
    nonportable_cluster: Annotated[bool, pick("nonportable_cluster")] = False,
    grid: Annotated[Text, pick("grid")] = None,
    elements: Annotated[Text, pick("elements", "Elements: the grid has a thread for each.")] = None,
    carveout: Annotated[Text, pick("carveout")] = None,
    cache: Annotated[Text, pick("cache")] = None,
    launch_bounds: Annotated[Text, pick("launch_bounds")] = None,
    no_opt_in: Annotated[bool, pick("no_opt_in")] = False,
    gpu: options.Gpu = None,
    cc: options.Cc = None,
    device: options.Live = None,
    snapshot: options.Snapshot = None,
    sweep: Annotated[
        list[str] | None,
        pick(
            "sweep",
            "Vary block, regs, smem or barriers: regs=32:64:8.",
            complete=completion.words("block", "regs", "smem", "barriers"),
        ),
    ] = None,
    show: Annotated[
        bool, pick("show", "Draw the sweep in the terminal (default: of block sizes).")
    ] = False,
    plot: Annotated[Text, pick("plot")] = None,
    all_cc: Annotated[bool, pick("all_cc")] = False,
    batch: Annotated[Text, pick("batch")] = None,
    fail_under: Annotated[
        Text, pick("fail_under", "Exit 1 below this occupancy: 50% or 0.5.")
    ] = None,
    driver_check: Annotated[bool, pick("driver_check")] = False,
    format: options.FormatName = Format.TEXT,
    get: options.Get = None,
) -> Answer | Exit:
    """Answer for one launch, a sweep of it, every capability, or a batch."""
    if (show or plot is not None) and not sweep and not all_cc and batch is None:
        sweep = ["block"]
    request = OccupancyRequest(
        texts={
            "regs": regs,
            "block": block,
            "smem": smem,
            "dynamic_smem": dynamic_smem,
            "smem_per_thread": smem_per_thread,
            "barriers": barriers,
            "cluster": cluster,
            "nonportable_cluster": "true" if nonportable_cluster else None,
            "grid": grid,
            "elements": elements,
            "carveout": carveout,
            "cache": cache,
            "launch_bounds": launch_bounds,
            "no_opt_in": "true" if no_opt_in else None,
        },
        device={"gpu": gpu, "cc": cc, "device": device, "from": snapshot},
        sweep=tuple(sweep or ()),
        show=show,
        plot=plot,
        all_cc=all_cc,
        batch=batch,
        fail_under=fail_under,
        driver_check=driver_check,
        output=Output(format=format, fields=tuple(get or ())),
    )
    request.check()
    if request.batch is not None:
        from gpuadvise.cli.occupancy.batch import run

        return run(request, request.batch)
    if len(request.sweep) > 1:
        from gpuadvise.cli.occupancy.launch_grid import run as run_grid

        return run_grid(request)
    if request.all_cc:
        from gpuadvise.cli.occupancy.sweep import all_cc_answer as answer
    elif request.sweep:
        from gpuadvise.cli.occupancy.sweep import sweep_answer as answer
    else:
        from gpuadvise.cli.occupancy.answer import answer
    return answer(request)
