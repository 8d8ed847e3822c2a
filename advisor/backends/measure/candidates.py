"""Launches of a user's own kernel, compiled in several ways, timed in turns on one GPU."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.measure.calls import call, driver, give_back
from gpuadvise.advisor.backends.measure.timing import in_turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.launch_arguments import LaunchArgument
    from gpuadvise.advisor.measurement import Sample

# A trial lasts so long at least: events resolve half a microsecond, and launches overlap.
_TRIAL_SECONDS = 1e-3
_MOST_LAUNCHES = 500
_REPEATS = 15
# Up to here dynamic shared memory needs no opt-in: programming guide, "Shared Memory".
_WITHOUT_OPT_IN = 48 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateLaunch:
    """One way to launch kernel *name* of the cubin *image*."""

    image: bytes
    name: str
    threads: int
    blocks: int
    dynamic_smem: int = 0


def launch_times(
    session: Session, launches: Sequence[CandidateLaunch], arguments: Iterable[LaunchArgument]
) -> list[Sample]:
    """Return the seconds of one launch each; all get the same memory, which they may change.

    Raises DriverFault when a launch fails.
    """
    with session.scope():
        stream = session.stream()
        memory = _Arguments(session, arguments)
        modules: dict[bytes, Any] = {}
        try:
            for launch in launches:
                if launch.image not in modules:
                    modules[launch.image] = call("cuModuleLoadData", launch.image)
            works = [_Work(modules[timed.image], timed, memory, stream) for timed in launches]
            trials = [session.by_events(work, [stream]) for work in works]
            for work, trial in zip(works, trials, strict=True):
                work.times = min(
                    max(1, math.ceil(_TRIAL_SECONDS / _seconds(trial))), _MOST_LAUNCHES
                )
            samples = [rows[0] for rows in in_turns(trials, _REPEATS)]
            return [s.each(work.times) for s, work in zip(samples, works, strict=True)]
        finally:
            for module in modules.values():
                give_back("cuModuleUnload", module)


def _seconds(trial: Any) -> float:
    trial()  # the first launch loads the code
    return max(float(trial()[0]), 1e-7)


class _Arguments:
    """The arguments in device memory, laid out once for every launch."""

    def __init__(self, session: Session, arguments: Iterable[LaunchArgument]) -> None:
        self._values: list[Any] = []
        for argument in arguments:
            if argument.size:
                memory = session.filled_device_bytes(argument.size, argument.content)
                self._values.append(ctypes.c_uint64(int(memory)))
            else:
                self._values.append(
                    ctypes.create_string_buffer(argument.content, len(argument.content))
                )
        pointers = [ctypes.addressof(value) for value in self._values]
        self._params = (ctypes.c_void_p * max(1, len(pointers)))(*pointers)

    @property
    def address(self) -> int:
        """Where the driver finds the addresses of the arguments."""
        return ctypes.addressof(self._params)


class _Work:
    """One launch, *times* over."""

    def __init__(
        self, module: Any, launch: CandidateLaunch, arguments: _Arguments, stream: Any
    ) -> None:
        function = call("cuModuleGetFunction", module, launch.name.encode())
        if launch.dynamic_smem > _WITHOUT_OPT_IN:
            most = driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            call("cuFuncSetAttribute", function, most, launch.dynamic_smem)
        self._arguments = arguments
        self._fixed = (
            function, launch.blocks, 1, 1, launch.threads, 1, 1, launch.dynamic_smem, stream
        )  # fmt: skip
        self.times = 1

    def __call__(self) -> None:
        for _ in range(self.times):
            call("cuLaunchKernel", *self._fixed, self._arguments.address, 0)
