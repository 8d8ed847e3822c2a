"""Xid errors from a log as the kernel writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.backends.kernel_log import Unreadable, xids

if TYPE_CHECKING:
    from pathlib import Path

LOG = b"""\
4,1,1,-;NVRM: Xid (PCI:0000:06:00): 79, pid=1, name=x, GPU has fallen off the bus.
4,2,2,-;NVRM: Xid (PCI:0000:06:00): 154
4,3,3,-;NVRM: Xid (PCI:0001:c1:00.0): 31, pid='<unknown>'
4,3,3,-;NVRM: Xid (0001:c1:00): 13, 0005 00000000
4,3,3,-;NVRM: Xid (PCI:0001:c1:00 GPU-I:05): 94, contained
6,4,4,-;usb: nothing
"""


def test_codes_by_gpu_oldest_first(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    # A device gives one line for each read; a file all at once, of which one is found.
    (tmp_path / "dev/kmsg").write_bytes(LOG.splitlines()[2])
    assert xids(str(tmp_path)) == {"00000001:c1:00": (31,)}


def test_lines_come_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuadvise.advisor.backends import kernel_log

    monkeypatch.setattr(kernel_log, "_lines", lambda path: LOG.splitlines())
    assert xids() == {"00000000:06:00": (79, 154), "00000001:c1:00": (31, 13, 94)}


def test_a_log_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="an administrator may: dmesg"):
        xids(str(tmp_path))
