"""``gpuadvise occupancy``: how many blocks of a kernel one SM holds, and what would change it."""

# No postponed annotations here: Typer would evaluate each of them twice at every start.

from typing import Annotated, Any

import typer

from gpuadvise.cli import options
from gpuadvise.cli.emit import emit
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.occupancy.request import OccupancyRequest

EXAMPLES = """\
  gpuadvise occupancy --regs 32 --block 256 --gpu h100
  gpuadvise occupancy --regs 72 --block 16x16 --smem 16K --grid 4096
  gpuadvise occupancy --regs 64 --block 256 --gpu a100 --get occupancy
  gpuadvise occupancy --regs 64 --block 256 --sweep block --plot
  gpuadvise occupancy --batch kernels.csv --gpu l4 --fail-under 50%"""


def _option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text)


Text = str | None


def command(
    regs: Annotated[Text, _option("--regs", "N", "Registers per thread.")] = None,
    block: Annotated[Text, _option("--block", "SIZE", "Block: 256 or 16x16.")] = None,
    smem: Annotated[Text, _option("--smem", "BYTES", "Static shared memory: 16K.")] = None,
    dynamic_smem: Annotated[
        Text, _option("--dynamic-smem", "BYTES", "Dynamic shared memory.")
    ] = None,
    barriers: Annotated[Text, _option("--barriers", "N", "Named barriers used.")] = None,
    cluster: Annotated[Text, _option("--cluster", "SIZE", "Blocks per cluster.")] = None,
    nonportable_cluster: Annotated[
        bool, typer.Option("--nonportable-cluster", help="More than 8 per cluster are allowed.")
    ] = False,
    grid: Annotated[Text, _option("--grid", "SIZE", "Grid in blocks, for waves.")] = None,
    carveout: Annotated[
        Text, _option("--carveout", "PERCENT", "Preferred shared-memory carveout.")
    ] = None,
    cache: Annotated[
        Text, _option("--cache", "PREFERENCE", "Before cc 7.0: shared, l1 or equal.")
    ] = None,
    launch_bounds: Annotated[
        Text, _option("--launch-bounds", "T,B", "__launch_bounds__(T, B) to check.")
    ] = None,
    no_opt_in: Annotated[
        bool, typer.Option("--no-opt-in", help="Dynamic memory beyond 48 KiB is not opted in.")
    ] = False,
    gpu: options.Gpu = None,
    cc: options.Cc = None,
    device: options.Live = None,
    snapshot: options.Snapshot = None,
    sweep: Annotated[Text, _option("--sweep", "WHAT", "Vary block, regs or smem.")] = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw the sweep (of block, unless told).")
    ] = False,
    all_cc: Annotated[
        bool, typer.Option("--all-cc", help="Answer for every compute capability.")
    ] = False,
    batch: Annotated[
        Text, _option("--batch", "FILE", "One answer per line of CSV or NDJSON; -: stdin.")
    ] = None,
    fail_under: Annotated[
        Text, _option("--fail-under", "SHARE", "Exit 1 below this occupancy: 50%.")
    ] = None,
    driver_check: Annotated[
        bool, typer.Option("--driver-check", help="Compare the limits with the live driver's.")
    ] = False,
    format: options.FormatName = Format.TEXT,
    get: options.Get = None,
) -> Exit:
    """Answer for one launch, a sweep of it, every capability, or a batch."""
    if plot and sweep is None and not all_cc and batch is None:
        sweep = "block"
    request = OccupancyRequest(
        texts={
            "regs": regs,
            "block": block,
            "smem": smem,
            "dynamic_smem": dynamic_smem,
            "barriers": barriers,
            "cluster": cluster,
            "nonportable_cluster": "true" if nonportable_cluster else None,
            "grid": grid,
            "carveout": carveout,
            "cache": cache,
            "launch_bounds": launch_bounds,
            "no_opt_in": "true" if no_opt_in else None,
        },
        device={"gpu": gpu, "cc": cc, "device": device, "from": snapshot},
        sweep=sweep,
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
    if request.all_cc:
        from gpuadvise.cli.occupancy.sweep import all_cc_answer as answer
    elif request.sweep is not None:
        from gpuadvise.cli.occupancy.sweep import sweep_answer as answer
    else:
        from gpuadvise.cli.occupancy.answer import answer
    return emit(answer(request), request.output)
