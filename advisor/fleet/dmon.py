"""The lines of ``nvidia-smi dmon``: what each GPU did over a while, reduced to its worst and its mean."""

from __future__ import annotations

import re
from statistics import fmean

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.fleet.machine import FleetFinding, FleetGpu, FleetMachine, MachinePart

_HEAD = 8192
_MIB = 1 << 20
_MOST_GPUS = 1024
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,6})?")
UNNAMED = "GPU without a name"
_HEAT = FleetFinding(
    rule="slowed-by-heat",
    title="Heat holds clocks back",
    category="performance",
    priority="medium",
    message="dmon saw thermal violations (tviol).",
    action="Look at fans, filters and the air that the machine gets; lower the power limit until then.",
)


def is_dmon(content: bytes) -> bool:
    """Return whether *content* begins with the titles of ``nvidia-smi dmon``."""
    lines = content[:_HEAD].decode("utf-8", "replace").strip().splitlines()[:2]
    words = [_titles(line) for line in lines]
    return len(words) == 2 and "gpu" in words[0] and "idx" in words[1] and len(words[0]) > 1


def _titles(line: str) -> list[str]:
    return line[1:].lower().split() if line.startswith("#") else []


def sampled_machine(host: str, content: bytes) -> FleetMachine:
    """Return what *content*, for which ``is_dmon`` holds, says of the machine *host*; raises BadInput."""
    titles: list[str] = []
    samples: dict[int, dict[str, list[float]]] = {}
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        words = line.split()
        if line.startswith("#"):
            if "gpu" in (new := _titles(line)):
                titles = new
            continue
        if not words:
            continue
        if len(words) != len(titles):
            raise BadInput(
                f"has {len(words)} values under {len(titles)} titles in line {number}.",
                hint="Save: nvidia-smi dmon -s pucvme -c 10",
            )
        row = dict(zip(titles, words, strict=True))
        if not row["gpu"].isdecimal() or int(row["gpu"][:9]) >= _MOST_GPUS:
            raise BadInput(f"has no number of a GPU in line {number}.")
        of_gpu = samples.setdefault(int(row["gpu"]), {})
        for title, word in row.items():
            if _NUMBER.fullmatch(word):
                of_gpu.setdefault(title, []).append(float(word))
    if not samples:
        raise BadInput("holds no line of a GPU.", hint="Save: nvidia-smi dmon -s pucvme -c 10")
    return FleetMachine(
        host=host,
        part=MachinePart.SAMPLES,
        gpus=tuple(_gpu(index, of_gpu) for index, of_gpu in sorted(samples.items())),
        findings=tuple(_hot(index) for index, of_gpu in samples.items() if any(of_gpu.get("tviol", ()))),
    )  # fmt: skip


def _hot(index: int) -> FleetFinding:
    return FleetFinding(
        rule=_HEAT.rule, title=_HEAT.title, category=_HEAT.category, priority=_HEAT.priority,
        message=_HEAT.message, action=_HEAT.action, gpu=index,
    )  # fmt: skip


def _gpu(index: int, samples: dict[str, list[float]]) -> FleetGpu:
    def most(*titles: str) -> int | None:
        return next((round(max(samples[t])) for t in titles if t in samples), None)

    power, busy = samples.get("pwr"), samples.get("sm")
    memory = most("fb")
    return FleetGpu(
        index=index,
        model=UNNAMED,
        temperature_celsius=most("gtemp", "temp"),
        power_watts=round(fmean(power), 2) if power else None,
        memory_used_bytes=None if memory is None else memory * _MIB,
        gpu_utilisation=round(fmean(busy) / 100, 4) if busy else None,
        ecc_corrected=most("sbecc"),
        ecc_uncorrected=most("dbecc"),
    )
