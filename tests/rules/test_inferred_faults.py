"""What rules infer where a page has no counts, and what they must not infer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judged_profiles import priority

from gpuadvise.advisor.facts.kernel_profile import KernelProfile, ProfilerRule, WarpRequests
from gpuadvise.advisor.facts.limit_words import limit_sentence
from gpuadvise.advisor.facts.limiter import limiter_of

# A copy by 4-byte words as its details page shows it: 61 % of DRAM, 119 bytes per memory slot.
COPY = KernelProfile(
    kernel="scale(const float *, float *, int)",
    sm_count=132,
    grid=(1056, 1, 1),
    block=(256, 1, 1),
    registers=16,
    static_shared=0,
    dynamic_shared=0,
    waves=1.0,
    seconds=85e-6,
    elapsed_cycles=168_000.0,
    achieved_occupancy=0.93,
    instructions=9.6e6,
    warp_latency=128.0,
    stalls={"long_scoreboard": 0.98},
    sm_busy=0.11,
    issue_busy=0.11,
    memory_pipes_busy=0.0945,
    dram_busy=0.61,
    l2_busy=0.74,
    l1_busy=0.23,
    dram_bytes=248.5e6,
)
# A product of half-precision matrices on FMA units, as its details page shows it.
PRODUCT = replace(
    COPY,
    kernel="product(const __half *, const __half *, float *)",
    static_shared=8448,
    stalls={"long_scoreboard": 0.35},
    sm_busy=0.45,
    issue_busy=0.45,
    pipes={"fma": 0.29},
    fp32_of_peak=0.26,
    dram_busy=0.01,
    l2_busy=0.08,
    l1_busy=0.5,
    waves=0.48,
)
# A tree of sums in shared memory: 4 bytes per thread, one word stored per block, half the lanes off.
TREE = replace(
    COPY,
    kernel="row_sums(const float *, float *)",
    block=(1024, 1, 1),
    static_shared=4096,
    waves=124.0,
    stalls={},
    rules=(ProfilerRule(name="HighPipeUtilization", kind="OPT", message=""),),
    active_threads=32.0,
    unpredicated_threads=17.0,
    global_stores=WarpRequests(used_bytes=4.0),
    sm_busy=0.7,
    memory_pipes_busy=0.7,
    l1_busy=0.73,
    dram_busy=0.15,
    l2_busy=0.2,
)
# Eight warps per SM with loads under way, DRAM at 61 %.
FEW = replace(
    COPY, grid=(132, 1, 1), waves=0.12, achieved_occupancy=0.12, stalls={"long_scoreboard": 0.89}
)


@pytest.mark.parametrize(
    ("profile", "rule", "expected"),
    [
        (COPY, "narrow-loads", "medium"),
        (replace(COPY, global_loads=WarpRequests(used_bytes=25.6), global_sectors=9.4e6,
                 global_sectors_ideal=8.4e6), "narrow-loads", "medium"),
        (PRODUCT, "unused-tensor-cores", "medium"),
        (replace(PRODUCT, kernel="product(const float *, float *)"), "unused-tensor-cores", "low"),
        (TREE, "library-available", "medium"),
        (replace(COPY, kernel="my_bitonic(int *)"), "library-available", None),
        # The product is the same fault.
        (replace(PRODUCT, kernel="my_bitonic(int *)"), "library-available", None),
        (replace(PRODUCT, kernel="my_bitonic(int *)"), "unused-tensor-cores", "low"),
        (replace(PRODUCT, kernel="my_sgemm(float *)"), "library-available", "medium"),
        (replace(PRODUCT, kernel="my_sgemm(float *)", pipes={}, fp32_of_peak=0.01),
         "library-available", "low"),
        (FEW, "underfilled-device", "medium"),
    ],
)  # fmt: skip
def test_what_a_page_shows_is_found(
    profile: KernelProfile, rule: str, expected: str | None
) -> None:
    assert priority(profile, rule, "h200") == expected


@pytest.mark.parametrize(
    ("profile", "rule"),
    [
        # Twice the bytes per instruction: 8-byte words.
        (replace(COPY, memory_pipes_busy=0.047), "narrow-loads"),
        # Unused bytes without sectors in excess: loads of several kinds.
        (replace(COPY, global_loads=WarpRequests(used_bytes=30.6)), "narrow-loads"),
        (replace(COPY, spill_requests=1e6), "narrow-loads"),
        (replace(COPY, static_shared=4096), "narrow-loads"),
        (replace(COPY, memory_pipes_busy=None), "narrow-loads"),
        # Additions beside the multiply-adds, and tensor cores at work.
        (replace(PRODUCT, fp32_of_peak=0.2), "unused-tensor-cores"),
        (replace(PRODUCT, pipes={"fma": 0.29, "tensor": 0.1}), "unused-tensor-cores"),
        (replace(PRODUCT, static_shared=0), "unused-tensor-cores"),
        (replace(TREE, unpredicated_threads=31.0), "library-available"),
        (replace(TREE, static_shared=2048), "library-available"),
        (replace(TREE, global_stores=WarpRequests(used_bytes=16.0)), "library-available"),
        (replace(TREE, kernel="at::native::reduce_kernel<512>"), "library-available"),
        (replace(FEW, waves=0.5), "underfilled-device"),
        (replace(FEW, dram_busy=0.71), "underfilled-device"),
        (replace(FEW, seconds=19e-6), "underfilled-device"),
        (replace(FEW, stalls={"long_scoreboard": 0.49}), "underfilled-device"),
    ],
)
def test_what_a_page_does_not_show_is_not_said(profile: KernelProfile, rule: str) -> None:
    assert priority(profile, rule, "h200") is None


LOOKED_AT = (ProfilerRule(name="IssueSlotUtilization", kind="OPT", message=""),)


@pytest.mark.parametrize(
    ("profile", "name"),
    [
        (KernelProfile(sm_busy=0.4, warp_latency=9.0, rules=LOOKED_AT), "latency:several"),
        (KernelProfile(sm_busy=0.4, rules=LOOKED_AT), "latency:unknown"),
        (KernelProfile(sm_busy=0.4, warp_latency=9.0), "latency:unknown"),
        (KernelProfile(sm_busy=0.9, stalls={"mio_throttle": 0.7}), "roof:xu"),
        (KernelProfile(sm_busy=0.9, stalls={"wait": 0.7}), "roof:compute"),
        (KernelProfile(sm_busy=0.9, memory_pipes_busy=0.9, l1_busy=0.01), "roof:adu"),
        (KernelProfile(sm_busy=0.9, memory_pipes_busy=0.9, l1_busy=0.6), "roof:lsu"),
    ],
)
def test_limits_without_a_name_on_the_page(profile: KernelProfile, name: str) -> None:
    limiter = limiter_of(profile=profile)
    assert limiter is not None
    assert limiter.name == name


def test_several_waits_are_said_as_such() -> None:
    profile = KernelProfile(sm_busy=0.4, warp_latency=9.0, rules=LOOKED_AT)
    assert "for none of them 30 % of their time" in limit_sentence(limiter_of(profile=profile))
    assert profile.unit_shares == {"compute": 0.4}
