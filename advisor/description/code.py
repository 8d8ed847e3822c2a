"""Code, driver, number types and launch bounds as a description writes them."""

from __future__ import annotations

from gpuadvise.advisor.binaries.model import Content, Entry, Place
from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.compatibility.drivers import Driver, parse_driver
from gpuadvise.advisor.compatibility.survey import Survey, survey
from gpuadvise.advisor.description.lists import texts
from gpuadvise.advisor.description.values import text, whole
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.code import LaunchBounds
from gpuadvise.advisor.memory.number_types import parse_number_type
from gpuadvise.advisor.peaks import TENSOR


def code_images(value: object) -> Survey:
    """Return the images that ``["sm_80", "compute_90"]`` lists, as one module; raises BadInput."""
    return survey(_image(target) for target in texts(value))


def _image(target: str) -> Entry:
    ptx = target.lower().startswith("compute_")
    return Entry(
        content=Content.PTX if ptx else Content.SASS,
        place=Place(path="description"),
        capability=parse_capability(target),
        size=0,
        module=0,
    )


def driver(value: object) -> Driver:
    """Return the driver that ``"12.4"`` or ``"550.54.14"`` names; raises BadInput."""
    return parse_driver(text(value))


def number_type(value: object) -> str:
    """Return the type that ``"fp32"``, ``"double"`` or ``"fp16_tensor"`` names; raises BadInput."""
    name = text(value)
    suffix = TENSOR if name.endswith(TENSOR) else ""
    return parse_number_type(name.removesuffix(TENSOR)) + suffix


def launch_bounds(value: object) -> LaunchBounds:
    """Return launch bounds from ``256`` or ``[256, 4]``; raises BadInput."""
    parts = value if isinstance(value, list) else [value]
    if not 1 <= len(parts) <= 2:
        raise BadInput("Launch bounds are a number of threads, or threads and blocks.")
    read = whole(1, 2**31 - 1)
    return LaunchBounds(threads=read(parts[0]), blocks=read(parts[1]) if parts[1:] else None)
