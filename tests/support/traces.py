"""Chrome traces of a made-up run, in the layouts that profilers write."""

from __future__ import annotations

import json
from typing import Any

H200 = {
    "id": 0,
    "name": "NVIDIA H200",
    "totalGlobalMem": 150110011392,
    "computeMajor": 9,
    "computeMinor": 0,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 65536,
    "warpSize": 32,
    "sharedMemPerBlock": 49152,
    "numSms": 132,
}


def kernel(ts: float, dur: float, name: str = "add", **args: Any) -> dict[str, Any]:
    """Return a kernel's event; *args* replace its arguments."""
    arguments = {
        "device": 0,
        "stream": 7,
        "correlation": 1,
        "registers per thread": 32,
        "shared memory": 0,
        "grid": [264, 1, 1],
        "block": [256, 1, 1],
        "est. achieved occupancy %": 25,
    } | args
    return event("kernel", name, ts, dur, arguments)


def copy(
    ts: float, dur: float, size: int, name: str = "Memcpy HtoD (Pageable -> Device)", **args: Any
) -> dict[str, Any]:
    """Return a copy's event."""
    arguments = {"device": 0, "stream": 7, "correlation": 2, "bytes": size} | args
    return event("gpu_memcpy", name, ts, dur, arguments)


def call(ts: float, dur: float, name: str = "cudaLaunchKernel", **args: Any) -> dict[str, Any]:
    """Return the event of a call of the host."""
    return event("cuda_runtime", name, ts, dur, {"correlation": 1} | args)


def event(category: str, name: str, ts: Any, dur: Any, args: Any) -> dict[str, Any]:
    """Return one complete event."""
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 0,
        "tid": 7,
        "ts": ts,
        "dur": dur,
        "args": args,
    }


def kineto(events: list[dict[str, Any]], **header: Any) -> str:
    """Return a trace in the layout of PyTorch's profiler."""
    head = {"schemaVersion": 1, "deviceProperties": [H200], "baseTimeNanoseconds": 0} | header
    body = ",\n".join(lined(event) for event in events)
    return (
        json.dumps(head, indent=2)[:-2]
        + ',\n  "traceEvents": [\n'
        + body
        + '\n  ],\n  "traceName": "trace.json"\n}\n'
    )


def lined(event: dict[str, Any]) -> str:
    """Return one event on lines of its own, as the profiler does."""
    keys = {name: value for name, value in event.items() if name != "args"}
    first = json.dumps(keys)[1:-1]
    args = json.dumps(event["args"])
    if len(args) > 2 and args[0] == "{":
        args = f"{{\n      {args[1:-1]}\n    }}"
    return f'  {{\n    {first},\n    "args": {args}\n  }}'
