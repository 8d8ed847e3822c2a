"""Measurements on a real GPU against PyTorch, the sector model and the overlap model."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.gpu


def measured(cli, subject: str, *options: str) -> dict:
    ran = cli("measure", subject, "--format", "json", *options)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["result"]


def test_copies_agree_with_pytorch_within_three_per_cent(cli) -> None:
    torch = pytest.importorskip("torch")
    size = 256 << 20
    host = torch.randint(0, 255, (size,), dtype=torch.uint8).pin_memory()
    device = torch.empty(size, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(device)

    def seconds(copy) -> float:
        times = []
        for _ in range(9):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            copy()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) * 1e-3)
        return sorted(times)[len(times) // 2]

    theirs = {
        "pinned h2d": seconds(lambda: device.copy_(host, non_blocking=True)),
        "pinned d2h": seconds(lambda: host.copy_(device, non_blocking=True)),
        "d2d": seconds(lambda: other.copy_(device, non_blocking=True)),
    }
    ours = {row["kind"]: row for row in measured(cli, "copies")["rows"] if row["bytes"] == size}
    for kind, time in theirs.items():
        print(f"{kind}: {ours[kind]['seconds'] * 1e6:.1f} us here, {time * 1e6:.1f} us by PyTorch")
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
    for best in result["best"]:
        assert best["expected"] == pytest.approx(best["seconds"], rel=0.03), best


def test_attained_rates_stay_below_the_peak(cli) -> None:
    for row in measured(cli, "kernel-rate")["rows"]:
        assert 0.8 <= row["ratio"] <= 1.02, row


def test_quick_is_quick(process) -> None:
    import time

    for subject in ("copies", "access", "kernel-rate", "overlap"):
        start = time.perf_counter()
        assert process("measure", subject, "--quick").code == 0
        assert time.perf_counter() - start < 5, subject
