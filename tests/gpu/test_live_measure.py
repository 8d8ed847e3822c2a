"""Measurements on a real GPU against CuPy, the sector model and the overlap model."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.gpu


def measured(cli, subject: str, *options: str) -> dict:
    ran = cli("measure", subject, "--format", "json", *options)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["result"]


def test_copies_agree_with_cupy_within_three_per_cent(cli) -> None:
    cupy = pytest.importorskip("cupy")
    size = 1 << 30  # large, so that an event's own time does not count
    host = cupy.cuda.alloc_pinned_memory(size)
    device, other = (cupy.full(size, 165, dtype=cupy.uint8) for _ in range(2))
    stream = cupy.cuda.Stream(non_blocking=True)
    runtime = cupy.cuda.runtime
    to_device, to_host, within = 1, 2, 3  # cudaMemcpyKind

    def seconds(target: int, source: int, kind: int) -> float:
        times = []
        for _ in range(9):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record(stream)
            runtime.memcpyAsync(target, source, size, kind, stream.ptr)
            end.record(stream)
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(start, end) * 1e-3)
        return sorted(times)[len(times) // 2]

    theirs = {
        "pinned h2d": seconds(device.data.ptr, host.ptr, to_device),
        "pinned d2h": seconds(host.ptr, device.data.ptr, to_host),
        "d2d": seconds(other.data.ptr, device.data.ptr, within),
    }
    del device, other, host
    cupy.get_default_memory_pool().free_all_blocks()
    ours = {row["kind"]: row for row in measured(cli, "copies")["rows"] if row["bytes"] == size}
    for kind, time in theirs.items():
        print(f"{kind}: {ours[kind]['seconds'] * 1e6:.1f} us here, {time * 1e6:.1f} us by CuPy")
        assert ours[kind]["seconds"] == pytest.approx(time, rel=0.03)


def test_loads_follow_the_sectors_up_to_a_stride_of_eight(cli) -> None:
    for row in measured(cli, "access")["rows"]:
        if row["move"] == "load" and row["stride"] <= 8:
            assert row["efficiency"] == pytest.approx(row["expected"], abs=0.05), row


def test_overlap_is_predicted(cli) -> None:
    result = measured(cli, "overlap")
    print(f"median error {result['median_error']:.2%}, worst {result['worst_error']:.2%}")
    for row in sorted(result["rows"], key=lambda row: abs(row["ratio"] - 1))[-8:]:
        print(row)
    assert result["median_error"] <= 0.05
    assert result["worst_error"] <= 0.15
    errors = sorted(abs(best["expected"] / best["seconds"] - 1) for best in result["best"])
    print("best times:", " ".join(f"{error:.1%}" for error in errors))
    # One job of ten may meet a busy moment of the host: docs/validation.md has the figures.
    assert errors[-2] <= 0.03, errors


def test_attained_rates_stay_below_the_peak(cli) -> None:
    for row in measured(cli, "kernel-rate")["rows"]:
        assert 0.8 <= row["ratio"] <= 1.02, row


def test_quick_is_quick(process) -> None:
    import time

    for subject in ("copies", "access", "bandwidth", "kernel-rate", "overlap"):
        start = time.perf_counter()
        assert process("measure", subject, "--quick").code == 0
        assert time.perf_counter() - start < 5, subject
