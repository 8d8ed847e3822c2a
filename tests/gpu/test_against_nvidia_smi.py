"""Every value of a live GPU against what nvidia-smi says at the same moment."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from math import ceil

import pytest

from gpuadvise.advisor.backends.live import live_machine
from gpuadvise.advisor.topology import links_up

pytestmark = pytest.mark.gpu
MIB, MHZ = 1 << 20, 1e6

# What does not move must be equal: nvidia-smi's field, ours, and the unit.
FIXED = {
    "index": lambda g: g.identity.index,
    "uuid": lambda g: g.identity.uuid,
    "pci.bus_id": lambda g: g.identity.pci_bus_id.upper(),
    "name": lambda g: g.device.name,
    "compute_cap": lambda g: str(g.device.capability),
    "memory.total": lambda g: round(g.telemetry.memory_total_bytes / MIB),
    "memory.reserved": lambda g: ceil(g.telemetry.memory_reserved_bytes / MIB),  # as it rounds
    "clocks.max.sm": lambda g: round(g.device.sm_clock_max_hz / MHZ),
    "clocks.max.memory": lambda g: round(g.telemetry.memory_clock_max_hz / MHZ),
    "power.limit": lambda g: g.telemetry.power_limit_watts,
    "enforced.power.limit": lambda g: g.device.power_limit_watts,
    "power.default_limit": lambda g: g.telemetry.power_limit_default_watts,
    "power.min_limit": lambda g: g.telemetry.power_limit_min_watts,
    "power.max_limit": lambda g: g.telemetry.power_limit_max_watts,
    "pcie.link.gen.max": lambda g: g.telemetry.pcie_generation_max,
    "pcie.link.gen.gpumax": lambda g: g.topology.pcie_own_generation,
    "pcie.link.width.max": lambda g: g.telemetry.pcie_lanes_max,
    "ecc.mode.current": lambda g: "Enabled" if g.telemetry.ecc_enabled else "Disabled",
    "ecc.mode.pending": lambda g: "Enabled" if g.telemetry.ecc_enabled_after_reboot else "Disabled",
    "ecc.errors.corrected.volatile.total": lambda g: g.telemetry.ecc_corrected,
    "ecc.errors.uncorrected.volatile.total": lambda g: g.telemetry.ecc_uncorrected,
    "ecc.errors.corrected.aggregate.total": lambda g: g.telemetry.ecc_corrected_lifetime,
    "ecc.errors.uncorrected.aggregate.total": lambda g: g.telemetry.ecc_uncorrected_lifetime,
    "retired_pages.single_bit_ecc.count": lambda g: g.telemetry.pages_retired_single_bit,
    "retired_pages.double_bit.count": lambda g: g.telemetry.pages_retired_double_bit,
    "persistence_mode": lambda g: "Enabled" if g.telemetry.persistence_mode else "Disabled",
    "compute_mode": lambda g: g.telemetry.compute_mode.capitalize().replace(" p", "_P"),
    "pstate": lambda g: f"P{g.telemetry.performance_state}",
}
# What moves between two readings, and by how much it may.
MOVING = {
    "temperature.gpu": (lambda g: g.telemetry.temperature_celsius, 3),
    "temperature.memory": (lambda g: g.telemetry.memory_temperature_celsius, 3),
    "power.draw": (lambda g: g.telemetry.power_watts, 40),
    "memory.used": (lambda g: g.telemetry.memory_used_bytes / MIB, 600),
    "clocks.mem": (lambda g: g.telemetry.memory_clock_hz / MHZ, 1),
    "pcie.link.gen.current": (lambda g: g.telemetry.pcie_generation, 4),
    "pcie.link.width.current": (lambda g: g.telemetry.pcie_lanes, 0),
}
REMAPPED = {
    "remapped_rows.correctable": lambda g: g.telemetry.rows_remapped_corrected,
    "remapped_rows.uncorrectable": lambda g: g.telemetry.rows_remapped_uncorrected,
    "remapped_rows.pending": lambda g: int(g.telemetry.row_remap_pending),
    "remapped_rows.failure": lambda g: int(g.telemetry.row_remap_failed),
}


def smi(*args: str) -> str:
    return subprocess.run(("nvidia-smi", *args), capture_output=True, text=True, check=True).stdout


def asked(kind: str, names) -> list[dict[str, str]]:
    out = smi(f"--query-{kind}={','.join(names)}", "--format=csv,noheader,nounits")
    return [
        dict(zip(names, map(str.strip, row), strict=True)) for row in csv.reader(out.splitlines())
    ]


@pytest.fixture(scope="module")
def machine():
    return live_machine(telemetry=True)


def compared(ours: object, theirs: str, name: str) -> None:
    if theirs in ("N/A", "[N/A]", "[Not Supported]"):
        assert ours is None, name
    elif isinstance(ours, str):
        assert ours == theirs, name
    else:
        assert float(ours) == pytest.approx(float(theirs), abs=0.51), name


def test_what_does_not_move_is_equal(machine) -> None:
    rows = asked("gpu", FIXED)
    assert len(rows) == len(machine.gpus)
    for gpu, row in zip(machine.gpus, rows, strict=True):
        for name, ours in FIXED.items():
            compared(ours(gpu), row[name], name)
    for gpu, row in zip(machine.gpus, asked("remapped-rows", REMAPPED), strict=True):
        for name, ours in REMAPPED.items():
            compared(ours(gpu), row[name].replace("Yes", "1").replace("No", "0"), name)


def test_what_moves_is_near(machine) -> None:
    for gpu, row in zip(machine.gpus, asked("gpu", MOVING), strict=True):
        for name, (ours, room) in MOVING.items():
            assert ours(gpu) == pytest.approx(float(row[name]), abs=room), name


def test_the_matrix_of_topo(machine) -> None:
    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in smi("topo", "-m").splitlines()]
    titles = [cell.strip() for cell in lines[0].split("\t")]
    rows = [line.split("\t") for line in lines if re.match(r"GPU\d+\t", line)]
    assert len(rows) == len(machine.gpus)
    for gpu, row in zip(machine.gpus, rows, strict=True):
        cells = [cell.strip() for cell in row[1:]]
        by_title = dict(zip(titles, [row[0], *cells], strict=False))
        paths = {peer.index: peer.path for peer in gpu.topology.peers}
        for index in range(len(rows)):
            assert cells[index] == ("X" if index == gpu.identity.index else paths[index])
        assert gpu.topology.cpu_affinity == by_title["CPU Affinity"]
        assert str(gpu.topology.numa_node) == by_title["NUMA Affinity"]


def test_links_as_nvlink_says(machine) -> None:
    done = subprocess.run(("nvidia-smi", "nvlink", "-s"), capture_output=True, text=True)
    blocks = re.split(r"^GPU (\d+):", done.stdout, flags=re.M)[1:]
    theirs = {
        int(number): {
            int(link): float(rate) for link, rate in re.findall(r"Link (\d+): ([\d.]+) GB/s", text)
        }
        for number, text in zip(blocks[::2], blocks[1::2], strict=True)
    }
    for gpu in machine.gpus:
        ours = {link.number: link.bytes_per_second / 1e9 for link in links_up(gpu.topology)}
        assert ours == pytest.approx(theirs.get(gpu.identity.index, {}), abs=0.001)


# In a process of its own, so that this one never has a context.
OF_CUDA = """
import torch
size = 1 << 30
source = torch.randint(0, 256, (size,), dtype=torch.uint8, device="cuda:0")
target = torch.empty(size, dtype=torch.uint8, device="cuda:1")
seconds = []
for _ in range(13):
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.device(0):
        start.record()
        target.copy_(source, non_blocking=True)
        end.record()
        end.synchronize()
    seconds.append(start.elapsed_time(end) * 1e-3)
print(size / sorted(seconds[2:])[5])
"""
OF_OURS = "from gpuadvise.cli.main import run; run()"


def run(*words: str) -> str:
    return subprocess.run((sys.executable, "-c", *words), capture_output=True, text=True).stdout


def test_peer_copies_are_as_fast_as_cudas_own(machine) -> None:
    pytest.importorskip("torch")
    if len(machine.gpus) < 2:
        pytest.skip("one GPU")
    cuda = float(run(OF_CUDA))
    rows = json.loads(run(OF_OURS, "measure", "p2p", "--format", "json"))["result"]["rows"]
    ours = {
        (row["from"], row["to"]): row["rate"]
        for row in rows
        if row["peer_access"] and not row["both_ways"]
    }
    print(f"peer copy: CUDA's own {cuda / 1e9:.1f} GB/s, ours {ours[0, 1] / 1e9:.1f} GB/s")
    assert ours[0, 1] == pytest.approx(cuda, rel=0.03)
