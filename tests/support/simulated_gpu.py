"""A GPU that obeys the driver's interface on paper: clocks are computed, memory is counted.

It stands in for hardware where there is none, so that measuring can be tested to the end,
faults included. What it answers follows from the rates below, not from any real device.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from cuda.bindings import driver as real

if TYPE_CHECKING:
    from collections.abc import Callable

H2D_RATE, D2H_RATE, D2D_RATE = 50e9, 40e9, 2e12
PEER_RATE, STAGED_RATE = 400e9, 25e9
COPY_LATENCY, KERNEL_LATENCY, ROUND = 4e-6, 2e-6, 1e-9
ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MULTIPROCESSOR_COUNT": 4,
    "L2_CACHE_SIZE": 1 << 20,
    "ASYNC_ENGINE_COUNT": 3,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
}


class SimulatedGpu:
    """The driver functions that measuring calls, over simulated streams and engines."""

    CUdevice_attribute = real.CUdevice_attribute
    CUdevice_P2PAttribute = real.CUdevice_P2PAttribute

    def __init__(self, memory: int = 256 << 20, gpus: int = 1) -> None:
        self.memory, self.used, self.gpus = memory, 0, gpus
        self.reachable, self.linked, self._access = True, True, 0
        self.calls = 0
        self.before_call: Callable[[int, str], str | None] = lambda number, name: None
        self._held: dict[int, Any] = {}
        self._next = 1
        self._clock = 0.0
        self._engines = dict.fromkeys(("h2d", "d2h", "kernel"), 0.0)

    def __getattr__(self, name: str) -> Callable[..., tuple[Any, ...]]:
        answer = getattr(type(self), f"_{name}", None)
        if not name.startswith("cu") or answer is None:
            raise AttributeError(name)

        def called(*args: Any) -> tuple[Any, ...]:
            self.calls += 1
            if word := self.before_call(self.calls, name):
                return (_Error(word), None)
            return (_Error(""), *answer(self, *args))

        return called

    @property
    def live(self) -> int:
        """Things handed out and not given back."""
        return len(self._held)

    def now(self) -> float:
        """Return the seconds that a host would see which takes no time itself."""
        return self._clock

    def _hand_out(self, handle: Any) -> tuple[int]:
        self._next += 1
        self._held[self._next] = handle
        return (self._next,)

    def _cuInit(self, flags: int) -> tuple[()]:
        return ()

    def _cuDeviceGetCount(self) -> tuple[int]:
        return (self.gpus,)

    def _cuDeviceCanAccessPeer(self, device: int, peer: int) -> tuple[int]:
        return (int(self.reachable),)

    def _cuDeviceGetP2PAttribute(self, attribute: Any, device: int, peer: int) -> tuple[int]:
        return (int(self.linked),)

    def _cuCtxEnablePeerAccess(self, context: int, flags: int) -> tuple[()]:
        self._access += 1
        return ()

    def _cuCtxDisablePeerAccess(self, context: int) -> tuple[()]:
        self._access -= 1
        return ()

    def _cuMemcpyPeerAsync(
        self,
        target: int,
        target_context: int,
        source: int,
        source_context: int,
        size: int,
        stream: int,
    ) -> tuple[()]:
        rate = PEER_RATE if self._access == 2 else STAGED_RATE
        return self._runs(f"from {source_context}", stream, COPY_LATENCY + size / rate)

    def _cuStreamSynchronize(self, stream: int) -> tuple[()]:
        self._clock = max(self._clock, self._held[stream].now)
        return ()

    def _cuDeviceGet(self, ordinal: int) -> tuple[int]:
        return (ordinal,)

    def _cuDeviceGetName(self, length: int, device: int) -> tuple[bytes]:
        return (b"Simulated GPU\0\0",)

    def _cuDeviceGetAttribute(self, attribute: Any, device: int) -> tuple[int]:
        return (ATTRIBUTES[attribute.name.removeprefix("CU_DEVICE_ATTRIBUTE_")],)

    def _cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int]:
        return self._hand_out("context")

    def _cuDevicePrimaryCtxRelease(self, device: int) -> tuple[()]:
        self._held = {key: held for key, held in self._held.items() if held != "context"}
        return ()

    def _cuCtxSetCurrent(self, context: int) -> tuple[()]:
        return ()

    def _cuCtxSynchronize(self) -> tuple[()]:
        streams = [held for held in self._held.values() if isinstance(held, SimpleNamespace)]
        self._clock = max([self._clock, *self._engines.values()])
        for stream in streams:
            stream.now = self._clock
        return ()

    def _cuMemGetInfo(self) -> tuple[int, int]:
        return (self.memory - self.used, self.memory)

    def _cuMemAlloc(self, size: int) -> tuple[int]:
        self.used += size
        return self._hand_out(("device", size))

    def _cuMemFree(self, address: int) -> tuple[()]:
        self.used -= self._held.pop(address)[1]
        return ()

    def _cuMemHostAlloc(self, size: int, flags: int) -> tuple[int]:
        buffer = ctypes.create_string_buffer(size)
        self._held[ctypes.addressof(buffer)] = buffer
        return (ctypes.addressof(buffer),)

    def _cuMemFreeHost(self, address: int) -> tuple[()]:
        del self._held[address]
        return ()

    def _cuStreamCreate(self, flags: int) -> tuple[int]:
        return self._hand_out(SimpleNamespace(now=self._clock))

    def _cuStreamDestroy(self, stream: int) -> tuple[()]:
        del self._held[stream]
        return ()

    def _cuEventCreate(self, flags: int) -> tuple[int]:
        return self._hand_out([0.0])

    def _cuEventDestroy(self, event: int) -> tuple[()]:
        del self._held[event]
        return ()

    def _cuEventRecord(self, event: int, stream: int) -> tuple[()]:
        self._held[event][0] = self._held[stream].now
        return ()

    def _cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> tuple[()]:
        self._held[stream].now = max(self._held[stream].now, self._held[event][0])
        return ()

    def _cuEventElapsedTime(self, start: int, end: int) -> tuple[float]:
        return ((self._held[end][0] - self._held[start][0]) * 1e3,)

    def _cuMemcpyHtoD(self, target: int, source: int, size: int) -> tuple[()]:
        return ()

    _cuMemcpyDtoH = _cuMemcpyDtoD = _cuMemcpyHtoD

    def _cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: int) -> tuple[()]:
        return self._runs("h2d", stream, COPY_LATENCY + size / H2D_RATE)

    def _cuMemcpyDtoHAsync(self, target: int, source: int, size: int, stream: int) -> tuple[()]:
        return self._runs("d2h", stream, COPY_LATENCY + size / D2H_RATE)

    def _cuMemcpyDtoDAsync(self, target: int, source: int, size: int, stream: int) -> tuple[()]:
        return self._runs("kernel", stream, COPY_LATENCY + 2 * size / D2D_RATE)

    def _cuModuleLoadData(self, image: bytes) -> tuple[bytes]:
        assert image.startswith(b"\x7fELF")
        return (image,)

    def _cuModuleGetFunction(self, module: bytes, name: bytes) -> tuple[str]:
        assert name in module
        return (name.decode(),)

    def _cuLaunchKernel(self, function: str, *launch: Any) -> tuple[()]:
        stream, params = launch[7], launch[8]
        return self._runs("kernel", stream, KERNEL_LATENCY + _rounds(function, params) * ROUND)

    def _runs(self, engine: str, stream: int, seconds: float) -> tuple[()]:
        queue = self._held[stream]
        free = self._engines.get(engine, 0.0)
        # Work starts when it is issued, and when its stream and its engine are free.
        queue.now = self._engines[engine] = max(queue.now, free, self._clock) + seconds
        return ()


class _Error(int):
    """A driver's status: falsy for success, with the driver's word otherwise."""

    name: str

    def __new__(cls, word: str) -> _Error:
        error = super().__new__(cls, 1 if word else 0)
        error.name = word
        return error


def _rounds(function: str, params: int) -> int:
    """Return the last argument of *function*: its rounds, or its stride for loads and stores."""
    place = 1 if function.startswith(("fma", "tensor")) else 2
    pointers = ctypes.cast(params, ctypes.POINTER(ctypes.c_void_p))
    return ctypes.cast(pointers[place], ctypes.POINTER(ctypes.c_int64))[0]
