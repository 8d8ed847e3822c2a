"""Advice held against strangers' measurements: the search spaces of benchmark_hub, timed by auto-tuners.

    python benchmarks/search_spaces.py FOLDER [--compile 60]

FOLDER is a checkout of github.com/AutoTuningAssociation/benchmark_hub (MIT; nothing of it is part of this
project). Each of its cache files holds the times of one kernel's configurations on one GPU. The tables say what
each knob won there, which block sizes were best, and whether the rules agree. `--compile N` also compiles N
configurations per space, and as many that failed, with NVRTC: for occupancy and for launches that cannot succeed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.nvrtc import CompileError, Program, compiled
from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.read import read_stream
from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.access import Access, Space
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuadvise.advisor.device import Device

# Cache files beside the spaces of one GPU: another format, and other measurements of the same GPU.
_NOT_A_SPACE = ("_T4", "_original")
# A knob counts as a win or a loss from here on.
NOTABLE = 1.05
_SOURCES = {
    "convolution_milo": "kernels/convolution_milo.cu",
    "convolution": "currently_unused/kernels/convolution.cu",
    "pnpoly": "currently_unused/kernels/pnpoly.cu",
}
_KNOBS = ("read_only", "use_padding", "use_shmem")
_SAMPLE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpace:
    """The timed configurations of one kernel on one GPU; a time of None is a configuration that failed."""

    kernel: str
    device: Device
    rows: tuple[tuple[Mapping[str, int], float | None], ...]
    entry: str  # the name of the kernel in the source
    source: Path | None  # None: the one there is another version, or none is
    keys: tuple[str, ...]

    @property
    def times(self) -> list[float]:
        """The times of those that ran."""
        return [time for _, time in self.rows if time is not None]

    @property
    def name(self) -> str:
        """Kernel and GPU."""
        return f"{self.kernel} on {self.device.name}"


def spaces(folder: Path) -> Iterator[SearchSpace]:
    """Yield the search spaces under *folder* that were measured on GPUs of the catalogue."""
    for path in sorted(folder.glob("**/cachefiles/*/*.json.gz")):
        if "data" in str(path.parent.parent.name) or any(
            word in path.name for word in _NOT_A_SPACE
        ):
            continue
        try:
            found = json.loads(gzip.decompress(path.read_bytes()))
            device = find(found["device_name"].removeprefix("NVIDIA "))
        except (OSError, ValueError, KeyError, BadInput):
            continue  # a pointer to a file that is not there, or a GPU of another vendor
        kernel, keys = path.parent.name, tuple(found["tune_params_keys"])
        yield SearchSpace(
            kernel=kernel,
            device=device,
            rows=tuple(map(_row, found["cache"].values())),
            entry=found["kernel_name"],
            source=_source(folder / _SOURCES.get(kernel, ""), keys),
            keys=keys,
        )


def _source(path: Path, keys: Sequence[str]) -> Path | None:
    """Return *path* where it is a file that each of the tuned *keys* changes."""
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    return path if all(key in text for key in keys) else None


def _row(entry: Mapping[str, Any]) -> tuple[dict[str, int], float | None]:
    values = {key: value for key, value in entry.items() if isinstance(value, int)}
    times = entry.get("times")
    ran = isinstance(entry["time"], int | float) and entry["time"] < 1e10 and times
    return values, statistics.median(times) if ran else None


def threads(values: Mapping[str, int]) -> int:
    """Return the threads of a block."""
    return prod(values.get(f"block_size_{axis}", 1) for axis in "xyz")


def knob_pairs(space: SearchSpace, knob: str) -> list[float]:
    """Return time without / time with *knob* for all pairs that differ in nothing else."""
    others = [key for key in space.keys if key != knob]
    pairs: dict[tuple[int | None, ...], dict[int, float]] = defaultdict(dict)
    for values, time in space.rows:
        if time is not None and knob in values:
            pairs[tuple(values.get(key) for key in others)][values[knob]] = time
    return [pair[0] / pair[1] for pair in pairs.values() if len(pair) == 2]


def knobs(every: Sequence[SearchSpace]) -> None:
    """Print what each knob won."""
    print("| space | knob | pairs | median gain | more than 5 % better | worse |")
    for space in every:
        for knob in _KNOBS:
            if not (gains := knob_pairs(space, knob)):
                continue
            better = sum(gain > NOTABLE for gain in gains) / len(gains)
            worse = sum(gain < 1 / NOTABLE for gain in gains) / len(gains)
            print(
                f"| {space.name} | {knob} | {len(gains):,} | {statistics.median(gains):.2f} | {better:.0%} | {worse:.0%} |"
            )


def blocks(every: Sequence[SearchSpace]) -> None:
    """Print how far the best configuration of each block size is from the best of all."""
    sizes = {"128 to 256": range(128, 257), "512": range(512, 513), "1024": range(1024, 1025)}
    print(f"| space | {' | '.join(sizes)} | full warps / partial |")
    for space in every:
        best = min(space.times)
        cells = []
        for size in sizes.values():
            of_size = [time for values, time in space.rows if time and threads(values) in size]
            cells.append(f"{min(of_size) / best:.2f}" if of_size else "-")
        full, partial = (
            [t for values, t in space.rows if t and bool(threads(values) % 32) is odd]
            for odd in (False, True)
        )
        cells.append(f"{min(partial) / min(full):.2f}" if full and partial else "-")
        print(f"| {space.name} | {' | '.join(cells)} |")


def advised(device: Device, **facts: object) -> dict[str, str]:
    """Return the rules that speak of a launch or an access on *device*, with their priorities."""
    report = run(RULES, completed(Facts(device=device, **facts)))  # type: ignore[arg-type]
    return {finding.rule.id: str(finding.priority) for finding in report.findings}


def agreement(every: Sequence[SearchSpace]) -> None:
    """Print whether the rules say of each GPU what the tables do."""
    print("| GPU | 100 threads | 128 to 256 | a column of 16 words | coalesced reads |")
    devices = {space.device.name: space.device for space in every}
    for device in devices.values():
        partial = advised(device, launch=Launch(threads=100, registers=32))
        loud = [
            size
            for size in range(128, 257, 32)
            if "unusual-block-size" in advised(device, launch=Launch(threads=size, registers=32))
        ]
        column = Access(name="tile[i][k]", space=Space.SHARED, word_bytes=4, stride=2)
        tile = advised(device, accesses=(column,))
        reads = advised(device, accesses=(Access(name="in[i]", word_bytes=4),))
        print(
            f"| {device.name}, {device.capability} | {partial.get('partial-warp')} | {loud or 'silent'} | "
            f"bank-conflicts {tile.get('bank-conflicts', 'silent')} | {', '.join(sorted(reads)) or 'silent'} |"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """One configuration as a compiler and the occupancy model see it."""

    occupancy: float  # 0 where not a single block fits
    launchable: bool


def build(space: SearchSpace, values: Mapping[str, int]) -> Compiled | None:
    """Return what the configuration *values* of *space* becomes; None where it does not compile."""
    assert space.source is not None
    named = [f"-D{key}={value}" for key, value in values.items() if key in space.keys]
    text = space.source.read_bytes()
    program = Program(text=text, name=space.source.name, headers={"stdint.h": b"", "math.h": b""})
    capability = space.device.capability
    try:
        image = compiled(program, f"sm_{capability.major}{capability.minor}", named)
    except CompileError:
        return None
    kernels = [
        item
        for item in read_stream(BytesIO(image.cubin), "space.cubin")
        if isinstance(item, Kernel)
    ]
    mangled = f"{len(space.entry)}{space.entry}"  # not another one whose name begins so
    kernel = next(item for item in kernels if item.entry and mangled in item.name)
    launch = Launch(
        threads=threads(values),
        registers=kernel.registers,
        static_shared=kernel.static_smem or 0,
        block_dim=(values.get("block_size_x", 1), values.get("block_size_y", 1), 1),
    )
    facts = completed(Facts(device=space.device, launch=launch))
    refused = any(finding.rule.id == "impossible-launch" for finding in run(RULES, facts).findings)
    held = facts.occupancy.occupancy if facts.occupancy else 0.0
    return Compiled(occupancy=held, launchable=not refused)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Spearman's coefficient."""
    return statistics.correlation(_ranks(first), _ranks(second))


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value; equal ones share the mean of theirs."""
    places: dict[float, list[int]] = defaultdict(list)
    for place, value in enumerate(sorted(values)):
        places[value].append(place)
    return [statistics.fmean(places[value]) for value in values]


def built(space: SearchSpace, count: int) -> None:
    """Print what occupancy says of time, and whether launches that failed there are refused here."""
    chosen = random.Random(_SAMPLE)
    ran = [(values, time) for values, time in space.rows if time is not None]
    failed = [values for values, time in space.rows if time is None]
    pairs = [
        (answer, time)
        for values, time in chosen.sample(ran, min(count, len(ran)))
        if (answer := build(space, values)) is not None
    ]
    refused_wrongly = sum(not answer.launchable for answer, _ in pairs)
    full = [time for answer, time in pairs if answer.occupancy == 1]
    best = min(space.times)
    related = rank_correlation(
        [answer.occupancy for answer, _ in pairs], [time for _, time in pairs]
    )
    outcomes = Counter(
        "compiler" if answer is None else "runs" if answer.launchable else "impossible-launch"
        for answer in (
            build(space, values) for values in chosen.sample(failed, min(count, len(failed)))
        )
    )
    at_full = f"{statistics.median(full) / best:.2f}" if full else "-"
    print(
        f"| {space.name} | {len(pairs)} | {related:.2f} | {len(full)} at 100 %: {at_full} times the best | "
        f"{refused_wrongly} | {dict(outcomes)} of {len(failed)} |"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--compile", type=int, default=0, metavar="N")
    options = parser.parse_args()
    every = list(spaces(options.folder))
    if not every:
        parser.error(f"{options.folder}: no cache file of an NVIDIA GPU below it.")
    for space in every:
        print(
            f"{space.name}: {len(space.rows):,} configurations, {len(space.rows) - len(space.times):,} failed"
        )
    knobs(every)
    blocks(every)
    agreement(every)
    if options.compile:
        print(
            "| space | compiled | rank correlation of occupancy and time | full | refused, and ran | failed, and said by |"
        )
        for space in every:
            if space.source is not None:
                built(space, options.compile)


if __name__ == "__main__":
    main()
