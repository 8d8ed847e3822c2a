"""The lines of ``nvidia-smi dmon`` and ``dcgmi dmon``: what each GPU did over a while, as its worst and its mean."""

from __future__ import annotations

import re
from statistics import fmean

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.fleet.machine import FleetFinding, FleetGpu, FleetMachine, MachinePart

_HEAD = 8192
_MIB = 1 << 20
_MOST_GPUS = 1024
_INDEX = re.compile(r"[0-9]{1,4}")
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,6})?")
# What DCGM calls the same columns, and a GPU.
_OF_DCGM = {
    "#entity": "gpu", "tmptr": "gtemp", "power": "pwr", "gputl": "sm", "fbusd": "fb", "esvtl": "sbecc",
    "edvtl": "dbecc",
}  # fmt: skip
_DCGM_GPU = re.compile(r"GPU\s+(?=\d)")
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
    """Return whether *content* begins with the titles of ``nvidia-smi dmon``, or of ``dcgmi dmon``."""
    lines = content[:_HEAD].decode("utf-8", "replace").strip().splitlines()[:2]
    if len(lines) < 2:
        return False
    words = _titles(lines[0])
    below = _titles(lines[1]) if lines[1].startswith("#") else lines[1].lower().split()
    return "gpu" in words and len(words) > 1 and ("idx" in below or below[:1] == ["id"])


def _titles(line: str) -> list[str]:
    words = line.lower().split()
    if words[:1] == ["#entity"]:
        return [_OF_DCGM.get(word, word) for word in words]
    return line[1:].lower().split() if line.startswith("#") else []


def sampled_machine(host: str, content: bytes) -> FleetMachine:
    """Return what *content*, for which ``is_dmon`` holds, says of the machine *host*; raises BadInput."""
    titles: list[str] = []
    of_dcgm = False
    samples: dict[int, dict[str, list[float]]] = {}
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if line.startswith("#"):
            if "gpu" in (new := _titles(line)):
                titles, of_dcgm = new, line[:7].lower() == "#entity"
            continue
        row_text = line.strip()
        if of_dcgm:  # beside GPUs it lists slices, switches and units
            of_a_gpu = _DCGM_GPU.match(row_text)
            row_text = row_text[of_a_gpu.end() :] if of_a_gpu else ""
        words = row_text.split()
        if not words:
            continue
        if len(words) != len(titles):
            raise BadInput(
                f"has {len(words)} values under {len(titles)} titles in line {number}.",
                hint="Save: nvidia-smi dmon -s pucvme -c 10",
            )
        row = dict(zip(titles, words, strict=True))
        if not _INDEX.fullmatch(row["gpu"]) or int(row["gpu"]) >= _MOST_GPUS:
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
