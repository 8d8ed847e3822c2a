"""The GPUs that pasted text names: lines of tools, labels of schedulers, lists of names."""

from __future__ import annotations

import re
from typing import NamedTuple

from gpuadvise.advisor.catalogue.names import NamedGpu

_LONGEST = 10_000  # of a text: a screen of nvidia-smi -L
_LONGEST_LINE = 500  # torch prints 250 characters of a GPU
_I = re.IGNORECASE
_CHIP = r"(?P<chip>(?:G[A-Z]?|AD|TU|NV|MCP|C)\d{2,3}[A-Z]{0,3})"
_BRAND = r"(?:nvidia|tesla|quadro|geforce|grid)"
# How tools write one GPU in a line; the first form that fits decides.
_FORMS = tuple(
    re.compile(form, _I)
    for form in (
        # torch.cuda.get_device_properties
        r"DeviceProperties\(name=(['\"])(?P<name>.+?)\1(?P<facts>[^()]*)",
        # TensorFlow's log: device: 0, name: Tesla T4, pci bus id: ...
        r"\bname: (?P<name>[^,\"]+), pci bus id",
        # The table of nvidia-smi: |   0  Tesla T4            On   | 00000000:00:04.0 Off | ...
        r"^\|\s*\d+\s+(?P<name>(?!N/A)[a-z].*?)\s+(?:On|Off|N/A|TCC|WDDM|MCDM)\s*\|",
        # lspci and inxi: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)
        rf"(?:^|\bNVIDIA (?:Corporation )?){_CHIP}\b[^\[\]]*\[(?P<name>[^\]]+)\]",
        # WebGL of a browser: ANGLE (NVIDIA, NVIDIA GeForce RTX 3060 (0x00002504) Direct3D11 ...
        r"\bANGLE \(NVIDIA[^,]*, (?P<name>.+?)(?: \(0x[0-9a-f]+\))? (?:Direct3D|D3D|OpenGL|Vulkan)",
        # Numba: id 0    b'Tesla T4'    [SUPPORTED]
        r"\bb(['\"])(?P<name>.+?)\1",
        # nvtop: Device 0 [NVIDIA GeForce RTX 3090] PCIe GEN 4@16x ...
        r"^Device \d+ \[(?P<name>[^\]]+)\]",
        # nvidia-smi -L, deviceQuery, llama.cpp, Warp, CuPy: a number, a colon and the name
        r"^\W*(?:gpu|device|cuda)?[ :#-]*\d{1,3}\W*?(?: name)?\s*:\W*(?P<name>[a-z].*)",
        # gpustat: a number and the name
        rf"^\W*(?:gpu|device|cuda)?[ :#-]*\d{{1,3}}\W+(?P<name>{_BRAND}\b.*)",
        # Slurm: --gres=gpu:a100:4, a100:4
        r"^(?:--?g(?:res|pus)[= ])?(?:gres/)?(?:gpu:)?(?P<name>[a-z][\w-]*\d[\w.-]*):\d{1,3}$",
        r"^(?:--?g(?:res|pus)[= ]|gres/|gpu:)+(?P<name>[a-z][\w-]*\d[\w.-]*)$",
        # nvidia-smi -q, labels of Kubernetes, vulkaninfo: a key and the name
        r"^[\w./\"' -]{0,80}(?:name|product|kind|accelerator|model|type|renderer string|gpu)[\"']?"
        r"\s*(?:[:=]\s*)+(?P<name>[^\s\d:=].*)",
    )
)
# Where the text of one GPU ends; a shell that joins lines leaves a blank.
_LINE_END = re.compile(r"[\r\n]+|\s+(?=GPU \d+: |MIG \S+\s+Device)|,\s*(?=_CudaDeviceProperties)")
# A MIG device below its GPU in nvidia-smi -L.
_SLICE = re.compile(r"^\s*MIG (?P<profile>\S+)\s+Device", _I)
# A name alone in a line, such as people write below one another.
_SHORT_NAME = re.compile(r"(?!.*(?:version|device|driver|cuda))(?=.*\d)[\w .,/()-]{2,50}", _I)
_QUERY_FIELDS = re.compile(r"[a-z_]+(?:\.[a-z_]+)*(?: \[[^\]]*\])?", _I)
_SEPARATOR = re.compile(
    r"\s*[,;|]\s*|\s+(?:and|vs\.?)\s+|\s/\s(?=(?:nvidia|geforce|quadro|tesla|rtx|gtx)\b)", _I
)
_TIMES = "[x\u00d7]"
# In brackets behind a name: what the machine adds.
_BRACKETS = re.compile(
    r"\s*\((?:uuid[^()]*|discrete[ _]gpu|0x[0-9a-f]+|rev\.? \w+|sm_\d+\w*,[^()]*|\d+ [gm]ib,[^()]*"
    r"|nvidia|nvgpu)(?:\)|$)",
    _I,
)
# What may stand around a name and tells no products apart.
_AROUND = tuple(
    re.compile(pattern, _I)
    for pattern in (
        r"^\W*?b?(?=['\"])|^(?:gpu_)?name\s+(?=nvidia|tesla|quadro)",
        r"\s*/pcie/sse2",
        r"(?<=[a-z\d])-shared$",
        r"\s+lite hash rate|\s+rev\. ?[a-z\d]$",
        # How many there are: 8x H100, 2xA100, H100 x8; but "Tegra X2" and "Titan X" are names
        rf"^[1-9]\d{{0,2}} ?{_TIMES} ?(?=[a-z\d]*\d{{2}})|^[1-9]\d{{0,2}} ?{_TIMES} (?=\S)",
        rf"(?<!tegra)(?<!titan)\s\(?{_TIMES} ?\d{{1,2}}\)?$|(?<=\d)x(?:2|4|8|16)$",
    )
)
_CHIP_BEHIND = re.compile(rf"\s*\((?:NVK )?{_CHIP}\)$", _I)
# Figures that tools print beside a name.
_FIGURE = re.compile(
    "|".join(
        (
            r"\W*",
            r"\d{1,2}|\d{5,}",  # an index, a memory in MiB; three or four digits may be a name
            r"[\d.,]+ ?(?:%|(?:mib|w|mhz|'?c|°c)\b).*|\d+ / \d+.*",
            r"(?:\d+\.){1,3}\d+(?: \w+)?",  # a version
            r"(?:compute[ _]cap\w*|cc|vmm|driver|cuda|vram)\b.*",
            r"(?:gpu|mig)-[0-9a-f-]{8,}|[0-9a-f]{4,8}:[0-9a-f]{2}:.*",
            r"(?:en|dis)abled|default|on|off|\[?(?:n/?a|not supported)\]?",
        )
    ),
    _I,
)
_MIB = re.compile(r"(\d+) ?(?:mib|mb)", _I)
_SIZE = re.compile(r"\d+ ?(?:gb|gib|g)|\d{2}", _I)
_TOTAL = re.compile(r"total_memory=(\d+)MB")
_SMS = re.compile(r"multi_processor_count=(\d+)")
_MEBIBYTE = 2**20


def gpus_in(text: str) -> tuple[NamedGpu, ...]:
    """Return the GPUs that *text* names, in its order and each as often as it does.

    Of text in no known form, the text itself is the name. What identifies one machine's GPU, as a
    UUID does, is in no name.
    """
    if len(text) > _LONGEST:
        return (NamedGpu(text),)
    gpus: list[NamedGpu] = []
    columns: _Columns | None = None
    screen = _is_screen(text)
    sliced = False
    for line in filter(str.strip, _LINE_END.split(text)):
        if len(line) > _LONGEST_LINE:
            return (NamedGpu(text),)
        if slice := _SLICE.match(line):
            whole = gpus[-1] if sliced else gpus.pop() if gpus else NamedGpu("")
            gpus.append(NamedGpu(f"{_whole_name(whole.name)} MIG {slice['profile']}".strip()))
            sliced = True
            continue
        sliced = False
        if header := _header(line):
            columns = header
        elif not (screen and _is_furniture(line.strip())):
            gpus += _in_line(line.strip(), columns)
    return tuple(gpus) or (NamedGpu(text),)


def _is_screen(text: str) -> bool:
    """Return whether *text* has lines of a tool, among which others are no names."""
    lines = [line.strip() for line in text.splitlines() if len(line) <= _LONGEST_LINE]
    return len(lines) > 1 and any(form.search(line) for line in lines for form in _FORMS)


def _is_furniture(line: str) -> bool:
    return not any(form.search(line) for form in _FORMS) and not _SHORT_NAME.fullmatch(line)


def _whole_name(name: str) -> str:
    return name.partition(" MIG ")[0]


class _Columns(NamedTuple):
    """Where ``nvidia-smi --query-gpu`` has the name and the whole memory of a GPU."""

    name: int
    memory: int | None


def _header(line: str) -> _Columns | None:
    cells = [cell.strip().lower() for cell in line.split(",")]
    if not all(_QUERY_FIELDS.fullmatch(cell) for cell in cells):
        return None
    fields = [cell.partition(" ")[0] for cell in cells]
    named = [i for i, field in enumerate(fields) if field in ("name", "gpu_name")]
    memory = fields.index("memory.total") if "memory.total" in fields else None
    return _Columns(named[0], memory) if named else None


def _in_line(line: str, columns: _Columns | None) -> list[NamedGpu]:
    cells = line.split(",")
    if columns and columns.name < len(cells):
        memory = columns.memory
        total = cells[memory] if memory is not None and memory < len(cells) else ""
        return [_cleaned(cells[columns.name], _memory(total))]
    for form in _FORMS:
        if match := form.search(line):
            return [_with_facts(named, match.groupdict()) for named in _listed(match["name"])]
    return _listed(line)


def _with_facts(named: NamedGpu, parts: dict[str, str | None]) -> NamedGpu:
    facts = parts.get("facts") or ""  # torch's, behind the name
    memory, sms = _TOTAL.search(facts), _SMS.search(facts)
    return NamedGpu(
        named.name,
        chip=parts.get("chip") or named.chip,
        sm_count=int(sms[1]) if sms else None,
        memory_bytes=int(memory[1]) * _MEBIBYTE if memory else named.memory_bytes,
    )


def _listed(text: str) -> list[NamedGpu]:
    """Return the names in *text*: several between commas, or one and figures beside it."""
    cells: list[str] = []
    for cell in _SEPARATOR.split(_BRACKETS.sub("", text)):
        if _SIZE.fullmatch(cell.strip()) and cells:  # A100, 40: a part of the name
            cells[-1] += f" {cell}"
        elif not _FIGURE.fullmatch(cell.strip()):
            cells.append(cell)
    memory = _memory(text)
    return [_cleaned(cell, memory) for cell in cells] or [NamedGpu(text)]


def _memory(text: str) -> int | None:
    """Return the memory of a row of ``--query-gpu=name,memory.total``; two sizes say nothing."""
    sizes = [match for match in map(_MIB.fullmatch, _SEPARATOR.split(text.strip())) if match]
    return int(sizes[0][1]) * _MEBIBYTE if len(sizes) == 1 else None


def _cleaned(name: str, memory: int | None = None) -> NamedGpu:
    for pattern in _AROUND:
        name = pattern.sub("", name.strip())
    name = name.strip(" \t'\"<>[]")
    chip = _CHIP_BEHIND.search(name)
    if chip:
        name = name[: chip.start()]
    return NamedGpu(name, chip=chip["chip"] if chip else None, memory_bytes=memory)
