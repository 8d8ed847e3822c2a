"""``--driver-check``: our numbers of each kernel beside those of the live driver."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.loaded_image import DriverKernel, Launching, driver_kernels
from gpuadvise.advisor.binaries.read import MAX_LOADED, whole_image
from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.occupancy.model import blocks_without_clusters
from gpuadvise.advisor.prose import plural, quoted_path
from gpuadvise.cli.blocks import Block, Heading, Line, Tone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.binaries.kernel_order import ListedKernel

_SHOWN = 20
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Checked:
    """The driver's answers, and where ours are others: (kernel, field, ours, the driver's)."""

    kernels: list[DriverKernel]
    differences: list[tuple[str, str, int | None, int | None]]

    def fields(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return {
            "compared": sum(kernel.problem is None for kernel in self.kernels),
            "kernels": [asdict(kernel) for kernel in self.kernels],
            "differences": [
                {"kernel": name, "field": field, "ours": ours, "driver": theirs}
                for name, field, ours, theirs in self.differences
            ],
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the outcome in a sentence, and every difference."""
        compared = self.fields()["compared"]
        yield Heading("Beside the driver")
        if compared and not self.differences:
            yield Line(f"The driver says the same of {plural(compared, 'kernel')}.", Tone.GOOD)
        for name, field, ours, theirs in self.differences[:_SHOWN]:
            yield Line(f"{name[:_LONGEST_NAME]}: {field} {ours}, the driver {theirs}", Tone.BAD)
        problems = dict.fromkeys(kernel.problem for kernel in self.kernels if kernel.problem)
        yield from (Line(problem, Tone.BAD) for problem in problems)


def driver_check(listed: list[ListedKernel], choice: Choice | None, dynamic_smem: int) -> Checked:
    """Return the comparison of *listed* with a live GPU's driver; raises Unavailable."""
    if choice is None or choice.gpu is None or choice.device.origin is not Origin.LIVE:
        raise Unavailable(
            "--driver-check needs a live GPU, and none was chosen.",
            hint="Leave --gpu, --cc and --from away, or name the GPU with --device.",
        )
    ordinal = choice.gpu.identity.cuda_index or 0
    kernels: list[DriverKernel] = []
    differences: list[tuple[str, str, int | None, int | None]] = []
    for path in dict.fromkeys(row.kernel.place.path for row in listed):
        own = [row for row in listed if row.kernel.place.path == path and row.kernel.entry]
        image = whole_image(path)
        if image is None:
            raise Unavailable(
                f"--driver-check: {quoted_path(path)} is nothing that a driver loads as it is.",
                hint=f"Give a cubin, fatbin or PTX file of up to {MAX_LOADED >> 20} MiB.",
            )
        launchings = [
            Launching(name=row.kernel.name, threads=threads, dynamic_smem=dynamic_smem)
            for row in own
            for threads in [row.residency.block_threads]
        ]
        for row, kernel in zip(own, driver_kernels(image, launchings, ordinal), strict=True):
            kernels.append(kernel)
            differences += _differences(row, kernel)
    return Checked(kernels, differences)


def _differences(
    listed: ListedKernel, driver: DriverKernel
) -> Iterator[tuple[str, str, int | None, int | None]]:
    if driver.problem is not None:
        return
    occupancy = listed.residency.occupancy
    # The driver counts blocks of a launch that it would refuse for the kernel's launch bounds.
    refused = (listed.residency.block_threads or 0) > (driver.max_threads or 0)
    blocks = blocks_without_clusters(occupancy) if occupancy and not refused else None
    for field, ours, theirs in (
        ("registers", listed.kernel.registers, driver.registers),
        ("static_smem", listed.kernel.static_smem, driver.static_smem),
        ("blocks_per_sm", blocks, driver.blocks_per_sm),
    ):
        if ours is not None and theirs is not None and ours != theirs:
            yield listed.kernel.name, field, ours, theirs
