"""How GPUs are connected, in words and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_rate
from gpuadvise.advisor.topology import Peer, Topology, link_errors, links_up
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Fact,
    Heading,
    LabelledFacts,
    Line,
    Table,
    Tone,
    header,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.gpu import Gpu


def machine(gpus: Sequence[Gpu]) -> list[Block]:
    """Return where each GPU sits, and how each reaches every other."""
    known = [gpu for gpu in gpus if gpu.topology]
    if not known:
        return []
    titles = ("GPU", "NVLink", "PCIe", "NUMA node", "Processors")
    rows = tuple((Cell(label(gpu)), *_place(gpu.topology)) for gpu in known if gpu.topology)
    blocks: list[Block] = [Heading("Connections"), Table(header(*titles), rows)]
    numbered = [gpu for gpu in known if gpu.identity.index is not None and not gpu.identity.mig]
    if any(gpu.topology.peers for gpu in numbered if gpu.topology):
        blocks += [Heading("From GPU to GPU"), _matrix(numbered), Line(_LEGEND, Tone.FAINT)]
    return blocks


_LEGEND = (
    "NV4: 4 NVLinks; PIX: one PCIe switch between; PXB: several; PHB: through the processor; NODE: "
    "between host bridges; SYS: between processors. Then what programs may do with that memory."
)


def _matrix(gpus: Sequence[Gpu]) -> Table:
    numbers = [gpu.identity.index for gpu in gpus]
    columns = header("From", *(f"to {number}" for number in numbers))
    return Table(columns, tuple((Cell(label(gpu)), *_ways(gpu, numbers)) for gpu in gpus))


def _ways(gpu: Gpu, numbers: Sequence[int | None]) -> list[Cell]:
    peers = {peer.index: peer for peer in gpu.topology.peers} if gpu.topology else {}
    return [
        Cell("itself") if number == gpu.identity.index
        else Cell(way(peers[number])) if number in peers
        else Cell("not known", Tone.FAINT)
        for number in numbers
    ]  # fmt: skip


def way(peer: Peer) -> str:
    """Return how a peer is reached, in a few words."""
    if peer.access:
        allowed = "access and atomics" if peer.atomics else "access"
    elif peer.access is False:
        allowed = f"no access ({peer.why_not})" if peer.why_not else "no access"
    else:
        allowed = "access not known"
    return f"{peer.path}, {allowed}" if peer.path else allowed


def gpu(topology: Topology) -> LabelledFacts:
    """Return where one GPU sits, each gap with its reason."""
    labels = ("NVLink", "PCIe at most", "NUMA node", "Nearest processors")
    fields = ("nvlinks", "pcie_own_generation", "numa_node", "cpu_affinity")
    rows = [
        Fact(label, cell, _gap(topology, field) if cell.tone is Tone.FAINT else "")
        for label, field, cell in zip(labels, fields, _place(topology), strict=True)
    ]
    if topology.pcie_path:
        rows.append(Fact("PCIe path", Cell(" > ".join(topology.pcie_path))))
    rows += [Fact(f"To GPU {peer.index}", Cell(way(peer))) for peer in topology.peers]
    return LabelledFacts(tuple(rows))


def _gap(topology: Topology, field: str) -> str:
    why = topology.reasons.get(field, "")
    return f"NVML: {why}" if why and not why.startswith("nvidia-smi") else why


def _place(topology: Topology) -> tuple[Cell, ...]:
    node = topology.numa_node
    return (
        nvlinks(topology),
        _most(topology),
        Cell("not known", Tone.FAINT) if node is None else Cell(str(node)),
        Cell(topology.cpu_affinity) if topology.cpu_affinity else Cell("not known", Tone.FAINT),
    )


def nvlinks(topology: Topology) -> Cell:
    """Return how many links are up, their rate in one direction and where they lead."""
    if topology.nvlinks is None:
        return Cell("not known", Tone.FAINT)
    up = links_up(topology)
    if not up:
        return Cell(f"none of {len(topology.nvlinks)} up", Tone.POOR)
    rates = {link.bytes_per_second for link in up}
    speed = f" at {show_rate(rate)}" if len(rates) == 1 and (rate := next(iter(rates))) else ""
    ends = dict.fromkeys(f"GPU {link.peer}" if link.peer is not None else link.to for link in up)
    to = and_list([end for end in ends if end])
    count = f"{len(up)} of {len(topology.nvlinks)} up"
    erring = _errors(topology)
    poor = len(up) < len(topology.nvlinks) or erring
    text = f"{count}{speed}{f' to {to}' if to else ''}{erring}"
    return Cell(text, Tone.POOR if poor else Tone.PLAIN)


def _errors(topology: Topology) -> str:
    """Return how often links sent packets again or were trained anew, as the end of a sentence."""
    faulty = link_errors(topology)
    replays = sum(link.replays or 0 for link in faulty)
    recoveries = sum(link.recoveries or 0 for link in faulty)
    counts = [
        plural(count, word, many)
        for count, word, many in ((replays, "replay", None), (recoveries, "recovery", "recoveries"))
        if count
    ]
    return f"; {and_list(counts)} so far" if counts else ""


def _most(topology: Topology) -> Cell:
    """Return what the GPU's own connector can and, where it is known, its slot."""
    own = _generation(topology.pcie_own_generation, topology.pcie_own_lanes)
    slot = _generation(topology.pcie_slot_generation, topology.pcie_slot_lanes)
    if own is None:
        return Cell("not known", Tone.FAINT)
    return Cell(f"{own} of the GPU" + (f", {slot} of its slot" if slot else ", its slot not known"))


def _generation(generation: int | None, lanes: int | None) -> str | None:
    return None if generation is None else f"{generation} x{lanes or '?'}"


def label(gpu: Gpu) -> str:
    """Return how *gpu* is called in a table: its number as nvidia-smi counts, and its slice."""
    own, mig = gpu.identity, gpu.identity.mig
    index = f"CUDA {own.cuda_index}" if own.index is None else own.index
    return f"{index}" if mig is None else f"{index} slice {mig.gpu_instance}/{mig.compute_instance}"
