"""One container entry against one GPU and driver: runs, is compiled first, or fails."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, assert_never

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.compatibility.releases import (
    AFTER_NEWEST,
    NEWEST,
    cuda_for_ptx,
    show,
    show_driver,
)
from gpuadvise.advisor.compatibility.targets import (
    number,
    ptx_fits,
    sass_fits,
    virtual,
    why_ptx_fails,
    why_sass_fails,
)

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.releases import Version


# Release notes, "CUDA minor version compatibility": code of 13.x toolkits needs driver 580.
NEW_ABI_CUDA = (13, 0)
_FIRST_COMPATIBLE_MAJOR = 11
_NEW_ABI_MAJOR = 10  # from this capability on, older toolkits made images of the new ABI too


class Outcome(StrEnum):
    """What happens when the code meets the GPU."""

    RUNS = "runs"
    JIT = "jit"
    FAILS = "fails"


class Fit(NamedTuple):
    """What becomes of *entry*, and why."""

    entry: Entry
    outcome: Outcome
    reason: str


def fit(
    entry: Entry, gpu: Capability, driver: Driver | None = None, *, linking: bool = False
) -> Fit:
    """Return whether the driver can use *entry* on *gpu*; without *driver*, on a recent one.

    *linking* asks about inputs of a device link, which no driver loads as they are.
    """
    outcome, reason = _judge(entry, gpu, driver, linking=linking)
    return Fit(entry=entry, outcome=outcome, reason=reason)


def is_input(entry: Entry) -> bool:
    """Return whether *entry* waits for a device link; a lone relocatable cubin can be loaded."""
    return entry.link_input and entry.place.section is not None


def _judge(
    entry: Entry, gpu: Capability, driver: Driver | None, *, linking: bool
) -> tuple[Outcome, str]:
    if is_input(entry) and not linking:
        return Outcome.FAILS, "input of a device link: used only where the linked code does not fit"
    match entry.content:
        case Content.SASS:
            return _sass(entry, gpu, driver)
        case Content.PTX:
            return _ptx(entry, gpu, driver)
        case Content.STUB:
            return Outcome.FAILS, "an image without code"
        case Content.LTO | Content.RELOCATABLE_PTX:
            return Outcome.FAILS, "not loadable by itself: the program must link it at run time"
        case Content.TILE | Content.INDEX | Content.UNKNOWN:
            return Outcome.FAILS, "not code that a driver is known to load"
        case other:
            assert_never(other)


def _sass(entry: Entry, gpu: Capability, driver: Driver | None) -> tuple[Outcome, str]:
    target = entry.capability
    if target is None:
        return Outcome.FAILS, "its target is not recorded"
    if not sass_fits(target, gpu):
        return Outcome.FAILS, why_sass_fails(target, gpu)
    too_new = why_image_is_too_new(entry, driver)
    if too_new:
        return Outcome.FAILS, too_new
    if number(target) != (target.major, target.minor):
        return (
            Outcome.RUNS,
            f"machine code for {target.target}, its old number, should run on {gpu}",
        )
    return Outcome.RUNS, f"machine code for {target.target} runs on {gpu}"


def made_by_newer(entry: Entry) -> bool:
    """Return whether an image shows that a 13.x toolkit or later made it.

    Only the change to the new ABI shows in a container's header: before cc 10.0, 13.0 made it.
    """
    old_part = entry.capability is not None and entry.capability.major < _NEW_ABI_MAJOR
    return bool(entry.new_abi) and old_part


def why_image_is_too_new(entry: Entry, driver: Driver | None) -> str | None:
    """Return why *driver* is too old for the image of *entry*; None when it is not."""
    toolkit = entry.toolkit or (NEW_ABI_CUDA if made_by_newer(entry) else None)
    return why_toolkit_is_too_new(toolkit, driver) if toolkit else None


def first_driver(toolkit: Version) -> Version:
    """Return the CUDA version of the first driver for machine code of *toolkit*.

    One of its major version (release notes, "CUDA minor version compatibility", which began with
    11); before that its own.
    """
    return (toolkit[0], 0) if toolkit[0] >= _FIRST_COMPATIBLE_MAJOR else toolkit


def why_toolkit_is_too_new(toolkit: Version, driver: Driver | None) -> str | None:
    """Return why *driver* is too old for machine code of *toolkit*; None when it is not."""
    needs = first_driver(toolkit)
    if driver is None or driver.cuda >= needs:
        return None
    made = f"{toolkit[0]}.x" if toolkit[0] >= _FIRST_COMPATIBLE_MAJOR else show(toolkit)
    article = "an" if made.startswith(("8", "11")) else "a"
    return f"machine code of {article} {made} toolkit needs {show_driver(needs)}; this is {driver}"


def _ptx(entry: Entry, gpu: Capability, driver: Driver | None) -> tuple[Outcome, str]:
    target = entry.capability
    if target is None:
        return Outcome.FAILS, "its target is not recorded"
    if not ptx_fits(target, gpu):
        return Outcome.FAILS, why_ptx_fails(target, gpu)
    too_new = why_ptx_is_too_new(entry, driver)
    if too_new:
        return Outcome.FAILS, too_new
    return Outcome.JIT, f"the driver compiles {virtual(target)} PTX for {gpu} when it is loaded"


def why_ptx_is_too_new(entry: Entry, driver: Driver | None) -> str | None:
    """Return why *driver* cannot read the PTX of *entry*; None when it can or is not known."""
    if driver is None or entry.ptx_version is None:
        return None
    needs = cuda_for_ptx(entry.ptx_version)
    if driver.cuda >= (needs or AFTER_NEWEST):
        return None
    wanted = show_driver(needs) if needs else f"a driver after CUDA {show(NEWEST.cuda)}"
    return f"PTX {show(entry.ptx_version)} needs {wanted}; this is {driver}"
