"""Questions to drivers, asked by child processes so that none can hang or crash this one."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

# A cold driver without persistence mode takes one to three seconds per GPU.
PATIENCE_SECONDS = 30.0
_FAREWELL_SECONDS = 0.5
# What a child that has answered in time gets to hand its answer over.
_GRACE_SECONDS = 0.2
_CHILD = "import sys; from gpuadvise.advisor.backends.probe_child import main; main(sys.argv[1])"


class Probe(StrEnum):
    """What can be asked."""

    DRIVER = "driver"
    NVML = "nvml"
    NVML_LIVE = "nvml-live"
    NVML_IDENTITY = "nvml-identity"


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """The JSON value that a probe printed, or the *problem* as a sentence."""

    answer: Any = None
    problem: str | None = None


def ask_all(
    probes: Sequence[Probe],
    *,
    patience: float = PATIENCE_SECONDS,
    python: Sequence[str] = (sys.executable, "-P", "-c", _CHILD),
) -> list[ProbeOutcome]:
    """Return the outcome of each of *probes*; they run side by side, *patience* seconds at most."""
    deadline = time.monotonic() + patience
    children = [
        subprocess.Popen(
            [*python, probe],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for probe in probes
    ]
    pairs = zip(probes, children, strict=True)
    return [_outcome(probe, child, patience, deadline) for probe, child in pairs]


def _outcome(
    probe: Probe, child: subprocess.Popen[bytes], patience: float, deadline: float
) -> ProbeOutcome:
    label = "The CUDA driver" if probe is Probe.DRIVER else "NVML"
    try:
        out, errors = child.communicate(timeout=max(_GRACE_SECONDS, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        _abandon(child)
        return ProbeOutcome(
            problem=f"{label} did not answer within {patience:g} s and was left alone."
        )
    if child.returncode < 0:
        return ProbeOutcome(problem=f"{label} crashed when asked (signal {-child.returncode}).")
    try:
        return ProbeOutcome(answer=json.loads(out))
    except ValueError:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        return ProbeOutcome(problem=f"{label} could not be asked: {last or 'no answer'}.")


def _abandon(child: subprocess.Popen[bytes]) -> None:
    # A child stuck inside the kernel cannot be killed; waiting for it would hang us as well.
    child.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.communicate(timeout=_FAREWELL_SECONDS)
    for pipe in filter(None, (child.stdout, child.stderr)):
        pipe.close()
    child.poll()
