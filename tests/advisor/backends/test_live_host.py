"""What kind of machine this is, read from an imaginary root."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.backends.driver_presence import driver_present
from gpuadvise.advisor.backends.live import host_notes

if TYPE_CHECKING:
    from pathlib import Path


def put(root: Path, name: str, text: str = "") -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("proc/version", "Linux 5.15.90.1-microsoft-standard-WSL2", "WSL"),
        ("etc/nv_tegra_release", "", "Jetson"),
        ("proc/device-tree/model", "NVIDIA Jetson AGX Orin\0", "Jetson"),
    ],
)
def test_special_hosts_are_named(tmp_path: Path, name: str, text: str, word: str) -> None:
    assert host_notes(str(tmp_path)) == ()
    put(tmp_path, name, text)
    (note,) = host_notes(str(tmp_path))
    assert word in note


@pytest.mark.parametrize(
    ("platform", "name"),
    [
        ("linux", "dev/nvidiactl"),
        ("linux", "dev/dxg"),
        ("linux", "proc/driver/nvidia/version"),
        ("win32", "Windows/System32/nvml.dll"),
    ],
)
def test_a_driver_leaves_traces(tmp_path: Path, platform: str, name: str) -> None:
    assert not driver_present(str(tmp_path), platform)
    put(tmp_path, name)
    assert driver_present(str(tmp_path), platform)


def test_the_windows_drive_is_the_environments(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SYSTEMDRIVE", str(tmp_path))
    assert not driver_present(platform="win32")
    put(tmp_path, "Windows/System32/nvcuda.dll")
    assert driver_present(platform="win32")
