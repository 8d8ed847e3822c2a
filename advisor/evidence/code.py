"""Compiled kernels as evidence: those of a file that a GPU would load, and the facts of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.user_files import is_kept, opened
from gpuadvise.advisor.binaries.kernel_occupancy import BlockFrom, Residencies
from gpuadvise.advisor.catalogue import by_capability
from gpuadvise.advisor.evidence.reading import Reading
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.occupancy.block_sizes import GUIDE_RANGE, best_block
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.profiles.launch_facts import of_code
from gpuadvise.advisor.prose import and_list, quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.kernel_occupancy import Residency
    from gpuadvise.advisor.binaries.model import Entry, Item, Kernel
    from gpuadvise.advisor.binaries.options import ReadOptions
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch


def kernels_in_code(path: str, device: Device | None, reading: Reading) -> Iterator[Kernel]:
    """Yield the kernels of the binary or build log *path* that *device* would load; None: all machine code.

    What could not be read, and that nothing is for this GPU or that there is no kernel, is kept in *reading*.
    """
    damaged, said, empty = len(reading.damage), len(reading.notes), True
    for kernel in _loaded_kernels(path, device, reading):
        empty = False
        yield kernel
    if empty and len(reading.damage) == damaged and len(reading.notes) == said:
        reading.note(f"{quoted_path(path)} holds no kernel: it says nothing here.")


def read_codes(
    device: Device | None, paths: Iterable[str]
) -> Iterator[tuple[list[Kernel], Reading]]:
    """Yield what ``kernels_in_code`` does of each of *paths*, and what was kept of it."""
    for path in paths:
        reading = Reading()
        yield list(kernels_in_code(path, device, reading)), reading


def _loaded_kernels(path: str, device: Device | None, reading: Reading) -> Iterator[Kernel]:
    from gpuadvise.advisor.binaries.model import Content, Damage, Kernel, Source
    from gpuadvise.advisor.binaries.options import ReadOptions
    from gpuadvise.advisor.compatibility.targets import sass_fits
    from gpuadvise.advisor.compatibility.verdict import loaded

    gpu = device.capability if device else None
    passed: set[str] = set()

    def select(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return what the GPU that was named would load; without one, all images."""
        if gpu is None:
            return tuple(e for e in entries if e.content is Content.SASS) or entries
        chosen = loaded(entries, gpu)
        if not chosen:
            passed.update(e.capability.target for e in entries if e.capability)
        return chosen

    any_kernel = False
    for item in _items_of(path, ReadOptions(instructions=True, select=select)):
        if isinstance(item, Damage):
            reading.damage.append(item)
        elif isinstance(item, Kernel) and item.entry:
            target = item.capability
            in_container = item.source in (Source.CUBIN, Source.PTX)
            if gpu and target and not in_container and not sass_fits(target, gpu):
                passed.add(target.target)  # a log names a target for each kernel
                continue
            any_kernel = True
            yield item
    if device and passed and not any_kernel:
        reading.note(
            f"{quoted_path(path)}: {device.name} would load none of its code, which is for "
            f"{and_list(sorted(passed))}; gpuadvise compat says why."
        )


def _items_of(path: str, options: ReadOptions) -> Iterator[Item]:
    """Yield what is in the binary or build log *path*, also where it came through a pipe."""
    from gpuadvise.advisor.binaries.read import read, read_stream

    if not is_kept(path):
        yield from read(path, options)
        return
    with opened(path) as file:
        yield from read_stream(file, "stdin" if path == "-" else path, options)


def kernel_facts(
    kernel: Kernel, device: Device | None, residency: Residency | None = None
) -> Facts | None:
    """Return what is known of *kernel* on *device*, or on its own target; None without a target."""
    if kernel.capability is None:
        return None
    target = device or by_capability(kernel.capability)
    resident = residency or Residencies(limits=target.limits).of(kernel)
    if resident.occupancy is None:
        return None
    launch = resident.occupancy.launch
    if resident.block_from is BlockFrom.BEST:
        launch = _usual_block(target.limits, resident.occupancy).but(assumed_threads=True)
    if kernel.triton and resident.occupancy.needs_optin:  # Triton sets it before it launches
        launch = launch.but(max_dynamic_shared=launch.dynamic_shared)
    facts = Facts(kernel=_name(kernel), device=target, launch=launch)
    return completed(of_code(facts, kernel))


def _usual_block(limits: Limits, best: Occupancy) -> Launch:
    """Return the launch of *best* with a block of the guide's range that is as good, if there is one.

    Nobody chose the block of *best*: there is nothing to advise on its size.
    """
    usual = occupancy(limits, best.launch.with_threads(GUIDE_RANGE[-1]))
    if usual.warps_per_sm >= best.warps_per_sm:
        return usual.launch
    return best.launch.with_threads(best_block(limits, best.launch))


def _name(kernel: Kernel) -> str:
    from gpuadvise.advisor.binaries.names import demangle

    return demangle(kernel.name) or kernel.name
