"""A GPU's place in a tree of PCI devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.pci_tree import place

if TYPE_CHECKING:
    from pathlib import Path


def device(root: Path, path: str, **files: str) -> None:
    folder = root / "sys/devices" / path
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text + "\n")
    links = root / "sys/bus/pci/devices"
    links.mkdir(parents=True, exist_ok=True)
    (links / folder.name).symlink_to(folder)


def test_the_gpu_and_its_slot_are_told_apart(tmp_path: Path) -> None:
    device(tmp_path, "pci0000:00/0000:00:01.0", max_link_speed="16.0 GT/s PCIe", max_link_width="8")
    device(
        tmp_path,
        "pci0000:00/0000:00:01.0/0000:01:00.0",
        max_link_speed="32.0 GT/s PCIe",
        max_link_width="16",
        numa_node="1",
        local_cpulist="0-15",
    )
    assert place("00000000:01:00.0", str(tmp_path)) == {
        "pcie_path": ("0000:00:01.0", "0000:01:00.0"),
        "pcie_own_generation": 5,
        "pcie_own_lanes": 16,
        "pcie_slot_generation": 4,
        "pcie_slot_lanes": 8,
        "numa_node": 1,
        "cpu_affinity": "0-15",
    }


def test_a_guest_machine_shows_no_slot(tmp_path: Path) -> None:
    device(
        tmp_path,
        "pci0000:00/0000:00:06.0",
        max_link_speed="Unknown",
        max_link_width="63",
        numa_node="-1",
    )
    assert place("00000000:00:06.0", str(tmp_path)) == {"pcie_path": ("0000:00:06.0",)}


def test_a_gpu_that_the_kernel_does_not_list(tmp_path: Path) -> None:
    assert place("00000000:00:06.0", str(tmp_path)) == {}
