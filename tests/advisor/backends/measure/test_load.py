from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.load import machine_at_work

if TYPE_CHECKING:
    import pytest


def test_a_gpu_for_which_no_thread_starts_is_said(moods, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    machine = machine_at_work()
    assert machine.gpus
    assert machine.notes[-1] == "GPU 0 could not be put to work: no thread can be started."
