"""What no repair wins, and what findings of one kernel say of it in words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from judged_profiles import KERNEL, bound, findings, priority

from gpuadvise.advisor.catalogue import find
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.facts.kernel_profile import KernelProfile, SharedRequests, WarpRequests
from gpuadvise.advisor.facts.limit_words import limit_sentence
from gpuadvise.advisor.facts.limiter import AtRoof, IssueBound, limiter_of
from gpuadvise.advisor.facts.timing import Pipeline
from gpuadvise.rules.engine import run
from gpuadvise.rules.gain_bounds import bounded_by_start
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.libraries import left_to_library
from gpuadvise.rules.model import Advice, Gain

if TYPE_CHECKING:
    from pathlib import Path

BY_ID = {rule.id: rule for rule in RULES}
# Rows added up, a thread per row: each sector is asked for eight times, and read once.
ROWS = replace(
    KERNEL,
    seconds=1.4e-4,
    elapsed_cycles=2.7e5,
    stalls={"lg_throttle": 0.65, "long_scoreboard": 0.33},
    issue_busy=0.01,
    sm_busy=0.03,
    l1_busy=0.94,
    l2_busy=0.35,
    dram_busy=0.23,
    l1_load_hit_rate=0.86,
    dram_read=134e6,
    dram_written=2e6,
    dram_bytes=136e6,
    global_sectors=33.6e6,
    global_sectors_ideal=4.2e6,
    global_loads=WarpRequests(requests=1.05e6, sectors=33.5e6, used_bytes=4.0),
    global_stores=WarpRequests(requests=8e3, sectors=32e3, used_bytes=32.0),
    pipes={"fma": 0.007},
)


def test_whole_rows_are_still_read_from_device_memory() -> None:
    needed = (134e6 + 0) / 136e6 * 0.23
    assert bound(ROWS, "uncoalesced-access") == pytest.approx(1 / needed, rel=0.02)
    how = str(findings(ROWS)["uncoalesced-access"].advice.gain)
    assert "device memory stays 22.7 % busy with the bytes that threads need" in how


@pytest.mark.parametrize(
    ("changed", "needed"),
    [
        # Indices, or a list's pointers: half of what is loaded.
        ({"dram_read": 300e6, "dram_bytes": 302e6}, 134e6 / 2 / 302e6),
        (
            {"global_loads": WarpRequests(requests=1.05e6, sectors=27.4e6, used_bytes=4.9)},
            134e6 / 2 / 136e6,
        ),
        # As many stores as a third of the loads: passes over rows, which a cache may keep. L2 keeps 50 MB of them.
        (
            {
                "global_stores": WarpRequests(requests=5e5, sectors=5e6, used_bytes=16.0),
                "dram_written": 80e6,
                "dram_bytes": 214e6,
            },
            (80e6 + 80e6 - 50 * 2**20) / 214e6,
        ),
        # A page that tells neither the directions nor the requests.
        ({"dram_read": None, "dram_written": None}, 4.2e6 * 32 / 4 / 136e6),
        ({"global_sectors": 34e6, "dram_bytes": None}, 0.0),
    ],
)
def test_what_may_come_from_a_cache_after_the_repair_does_not_count(
    changed: dict[str, object], needed: float
) -> None:
    profile = replace(ROWS, **changed)  # type: ignore[arg-type]
    least = max(0.23 * needed, 0.23 / 230, 1.5e-6 / 1.4e-4, 0.007)
    assert bound(profile, "uncoalesced-access") == pytest.approx(1 / least, rel=0.03)


def test_no_change_brings_a_launch_below_an_empty_kernel() -> None:
    short = replace(KERNEL, grid=(8, 1, 1), waves=0.01, seconds=3e-6, stalls={})
    finding = findings(short)["short-launch"]
    assert finding.bound > 2.0  # one launch for several problems is fewer launches
    advice = replace(finding.advice, gain=Gain(kind="kernel time", upper_bound=100.0, how=""))
    gain = bounded_by_start(advice, BY_ID["latency-bound"], short.seconds).gain
    assert gain is not None
    assert gain.upper_bound == pytest.approx(2.0)
    assert "3 us / about 1.5 us, the time of an empty kernel" in gain.how


def test_fewer_launches_and_other_factors_are_no_time_of_one_launch() -> None:
    gain = Gain(kind="kernel time", upper_bound=100.0, how="")
    advice = Advice(message="", action="", evidence=(), gain=gain)
    assert bounded_by_start(advice, BY_ID["launch-bound"], 3e-6) is advice
    assert bounded_by_start(advice, BY_ID["latency-bound"], 1e-3) is advice
    assert bounded_by_start(advice, BY_ID["latency-bound"], None) is advice
    clock = replace(advice, gain=replace(gain, kind="SM clock"))
    assert bounded_by_start(clock, BY_ID["throttled-clocks"], 3e-6) is clock
    below = bounded_by_start(advice, BY_ID["latency-bound"], 1e-6).gain
    assert below is not None
    assert below.upper_bound == 1.0


# One warp in each of 48 blocks, which waits for shared memory 65 % of its time.
ONE_WARP = replace(
    KERNEL,
    grid=(48, 1, 1),
    block=(32, 1, 1),
    waves=0.05,
    achieved_occupancy=0.016,
    seconds=0.2,
    elapsed_cycles=4e8,
    stalls={"short_scoreboard": 0.65, "wait": 0.21, "selected": 0.08},
    issue_busy=0.007,
    sm_busy=0.01,
    l1_busy=0.12,
    shared_wavefronts=6.9e9,
    shared_wavefronts_ideal=0.41e9,
    shared_loads=SharedRequests(requests=4e8, wavefronts=6.7e9),
)


def test_conflicts_win_no_more_than_warps_wait_for_shared_memory() -> None:
    assert bound(ONE_WARP, "bank-conflicts") == pytest.approx(1 / 0.35)
    assert "65 % of a warp's time goes to shared memory" in str(
        findings(ONE_WARP)["bank-conflicts"].advice.gain
    )
    # Warps of one block wait for each other as well.
    blocks = replace(
        ONE_WARP,
        block=(64, 1, 1),
        stalls={"short_scoreboard": 0.65, "barrier": 0.1, "wait": 0.21},
    )
    assert bound(blocks, "bank-conflicts") == pytest.approx(1 / 0.25)


def test_a_busy_shared_memory_or_an_unknown_wait_leaves_the_passes() -> None:
    passes = 6.9 / 0.41
    named_alone = replace(ONE_WARP, stalls={"short_scoreboard": 0.65})
    assert bound(named_alone, "bank-conflicts") == pytest.approx(passes)
    busy = replace(ONE_WARP, l1_busy=0.7, shared_wavefronts=3.7e10, shared_wavefronts_ideal=2.2e9)
    assert "passes taken" in str(findings(busy)["bank-conflicts"].advice.gain)


BODIES = replace(
    KERNEL,
    grid=(264, 1, 1),
    block=(128, 1, 1),
    waves=0.12,
    achieved_occupancy=0.125,
    stalls={"wait": 0.37, "not_selected": 0.11, "selected": 0.31},
    issue_busy=0.62,
    sm_busy=0.62,
    pipes={"fma": 0.51},
)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "by 12.5 % of the warps that an SM has room for: fewer instructions help, and so do"),
        ({"issue_busy": 0.76, "sm_busy": 0.76}, "only fewer instructions help"),
        ({"achieved_occupancy": 0.26}, "only fewer instructions help"),
        ({"achieved_occupancy": None}, "only fewer instructions help"),
        ({"pipes": {"fma": 0.65}}, "The fma pipe is 65 % busy by 12.5 % of the warps"),
        ({"pipes": {"fma": 0.76}}, "only less work for it, or another unit, helps"),
        ({"dram_busy": 0.7}, "of about 90 % that loads reach: fewer bytes help"),
        ({"dram_busy": 0.8}, "only fewer bytes help"),
    ],
)
def test_few_warps_leave_room_below_three_quarters_of_a_pipe(
    changed: dict[str, object], words: str
) -> None:
    profile: KernelProfile = replace(BODIES, **changed)  # type: ignore[arg-type]
    limiter = limiter_of(profile)
    assert isinstance(limiter, IssueBound | AtRoof)
    assert words in limit_sentence(limiter)


def described(cli, tmp_path: Path, profile: dict[str, object], **more: object) -> str:
    path = tmp_path / "k.json"
    path.write_text(json.dumps({"gpu": "h200", "profile": profile, **more}))
    ran = cli("advise", str(path))
    assert ran.code == 0
    return ran.out


def test_nothing_to_change_is_not_said_where_more_warps_would_help(cli, tmp_path: Path) -> None:
    few = {"time": "1ms", "issue_slots_busy": 0.62, "achieved_occupancy": 0.12}
    assert "no single change found" in described(cli, tmp_path, few)
    many = {**few, "achieved_occupancy": 0.5}
    assert "no single change found" in described(cli, tmp_path, many)
    assert "nothing to change" in described(cli, tmp_path, {**many, "issue_slots_busy": 0.76})


def test_a_memory_unit_at_its_roof_without_counts_leaves_the_accesses_unknown(
    cli, tmp_path: Path
) -> None:
    roof: dict[str, object] = {"time": "1ms", "dram_throughput": 0.9}
    unknown = "no change found, but whether its accesses are coalesced is not in the profile"
    assert unknown in described(cli, tmp_path, roof)
    counted = {"global_sectors": 1e6, "global_sectors_ideal": 1e6}
    assert "nothing to change" in described(cli, tmp_path, {**roof, **counted})
    pipe = {"time": "1ms", "pipes": {"fma": 0.9}}
    assert "nothing to change" in described(cli, tmp_path, pipe)


def test_a_name_alone_promises_nothing() -> None:
    sums = replace(
        KERNEL,
        kernel="matmul_backward_bias(const float *, int)",
        dram_busy=0.08,
        fp32_of_peak=0.003,
        float_instructions={"fadd": 1e8, "ffma": 0.0, "hfma": 0.0},
    )
    assert findings(sums)["library-available"].advice.gain is None
    assert priority(sums, "library-available") == "low"


def test_a_bound_takes_tensor_cores_in_and_says_what_fp32_leaves() -> None:
    product = replace(
        KERNEL, kernel="sgemm(float *)", fp32_of_peak=0.5, float_instructions={"ffma": 32 * 5e7}
    )
    finding = findings(product)["library-available"]
    gain = finding.advice.gain
    assert gain is not None
    assert gain.upper_bound == pytest.approx(14.8, rel=0.01)
    assert gain.usual_bound == 2.0
    assert gain.how == (
        "in FP32, where multiply-adds are 50 % of the peak: 1 / 0.5, the most where no bits may be lost; "
        "up to 7.38 times that in TF32, which keeps 10 bits of the fraction"
    )
    assert finding.expectation is not None
    assert finding.expectation.high <= 2.0  # repairs that were measured kept the precision


def test_a_part_whose_tf32_is_no_faster_has_the_bound_of_fp32_alone() -> None:
    product = replace(KERNEL, fp32_of_peak=0.5, float_instructions={"ffma": 32 * 5e7})
    for device in (find("rtx-4090"), find("v100-sxm2-32"), None):
        gain = left_to_library(product, device)
        assert gain is not None
        assert gain.how == "in FP32, where multiply-adds are 50 % of the peak: 1 / 0.5"


STREAM = replace(KERNEL, dram_busy=0.5, l2_busy=0.6, stalls={"long_scoreboard": 0.9, "wait": 0.05})


@pytest.mark.parametrize(
    ("sectors", "used", "words"),
    [
        (4.0, 32.0, "Loads of 4 bytes per thread keep"),
        (1.0, 32.0, "Loads of 1 byte per thread keep"),
        (2.0, 32.0, "Loads of 2 bytes per thread keep"),
        # Half of the loads take an offset that all lanes share, or a mask of one byte.
        (2.5, 26.4, "Loads of 4 bytes per thread, beside 50 % that a warp shares, keep"),
        (2.5, 25.8, "Loads of 4 bytes per thread, beside 50 % that a warp shares, keep"),
        (2.667, 25.0, "Loads of 2.08 bytes on average per thread keep"),
    ],
)
def test_no_load_has_the_width_of_an_average(sectors: float, used: float, words: str) -> None:
    loads = WarpRequests(requests=1e7, sectors=sectors * 1e7, used_bytes=used)
    narrow = findings(replace(STREAM, global_loads=loads))["narrow-loads"]
    assert words in narrow.message
    assert narrow.bound == pytest.approx(0.95 / 0.5)


def test_many_atomics_come_before_wide_loads() -> None:
    loads = WarpRequests(requests=1e7, sectors=4e7, used_bytes=32.0)
    profile = replace(STREAM, global_loads=loads, dram_written=1e9)
    some = WarpRequests(requests=3e6, sectors=3e6)
    assert "narrow-loads" in findings(replace(profile, global_reductions=some))
    many = WarpRequests(requests=3.4e6, sectors=3.4e6)
    beside = findings(replace(profile, global_reductions=many))
    assert "narrow-loads" not in beside
    assert "latency-bound" in beside


# Updates of random words of a table that L2 does not hold.
UPDATES = replace(
    KERNEL,
    stalls={"lg_throttle": 0.8},
    dram_busy=0.32,
    l2_busy=0.2,
    global_reductions=WarpRequests(requests=2e6, sectors=64e6),
    global_sectors=64e6,
    global_sectors_ideal=16e6,
    dram_written=1e9,
)


def test_no_index_of_a_thread_brings_random_updates_together() -> None:
    found = findings(UPDATES)
    assert str(found["uncoalesced-access"].priority) == "low"
    assert "sort or bin them by address first" in found["uncoalesced-access"].advice.action
    assert {"latency-bound", "wasted-throughput"}.isdisjoint(found)
    # Loads that use sectors in part are a fault of their own.
    loads = WarpRequests(requests=2e6, sectors=64e6, used_bytes=4.0)
    beside = replace(UPDATES, global_loads=loads, global_sectors=128e6, global_sectors_ideal=24e6)
    assert "threadIdx.x" in findings(beside)["uncoalesced-access"].advice.action
    unused = replace(UPDATES, global_sectors_ideal=0.0)
    assert "uncoalesced-access" not in findings(unused)


def test_an_access_has_a_sector_per_lane_at_most() -> None:
    sent_again = replace(
        ROWS, global_loads=WarpRequests(requests=1e6, sectors=32.1e6, used_bytes=4.0)
    )
    assert "loads move 32 per request" in findings(sent_again)["uncoalesced-access"].message


def test_atomics_are_counted_in_one_unit() -> None:
    queue = replace(
        KERNEL,
        instructions=1e7,
        elapsed_cycles=46e6,
        stalls={"lg_throttle": 0.5},
        global_reductions=WarpRequests(requests=1e6, sectors=32e6),
    )
    message = findings(queue)["atomic-contention"].message
    assert "as 32,000,000 sectors: 0.696 sectors retire per cycle" in message
    lanes = replace(queue, global_reductions=WarpRequests(requests=1e6))
    assert "as 32,000,000 lanes: 0.696 lanes retire" in findings(lanes)["atomic-contention"].message


def test_one_unit_is_the_busiest_in_all_findings() -> None:
    near = replace(
        KERNEL, dram_busy=0.606, l2_busy=0.699, stalls={"long_scoreboard": 0.89, "wait": 0.03}
    )
    message = findings(near)["latency-bound"].message
    assert "no unit is at its best: device memory is 60.6 % busy" in message
    waiting = replace(near, dram_busy=0.01, l2_busy=0.02, issue_busy=0.44, sm_busy=0.44)
    latency = findings(waiting)["latency-bound"]
    assert "the busiest is the warp scheduler at 44 %" in latency.message
    assert "the warp scheduler stays 11 % busy with 16-byte loads, now 44 %" in str(
        latency.advice.gain
    )


def test_the_share_of_l2_grows_less_than_its_rate() -> None:
    barriers = replace(KERNEL, stalls={"barrier": 0.5}, l2_busy=0.26, dram_busy=0.1)
    assert bound(barriers, "latency-bound") == pytest.approx(1.3 / 0.26)
    unknown = replace(barriers, l2_busy=None)
    assert bound(unknown, "latency-bound") == pytest.approx(1 / 0.1)


def test_neighbours_a_few_words_apart_need_no_padded_rows(cli, tmp_path: Path) -> None:
    for stride, words in ((2, "not words 2 apart"), (32, "tile[32][33]")):
        access = {"name": "s", "space": "shared", "word": 4, "stride": stride}
        path = tmp_path / "k.json"
        path.write_text(json.dumps({"gpu": "h200", "accesses": [access]}))
        assert words in cli("advise", str(path)).out


def test_sectors_that_are_used_by_half_win_no_more_than_the_other_half() -> None:
    # A filter's rows: L1 is full of requests, of whose sectors 20 of 32 bytes are used.
    rows = replace(
        KERNEL,
        stalls={"lg_throttle": 0.6},
        l1_busy=0.98,
        lsu_wavefronts_busy=0.98,
        l1_hit_rate=0.9,
        dram_busy=0.05,
        l2_busy=0.2,
        issue_busy=0.5,
        global_loads=WarpRequests(requests=8e6, sectors=27e6, used_bytes=20.0),
        global_stores=WarpRequests(requests=1e5, sectors=4e5, used_bytes=32.0),
        global_sectors=27.4e6,
        global_sectors_ideal=20.3e6,
    )
    finding = findings(rows)["uncoalesced-access"]
    assert finding.bound == pytest.approx(1.6)
    assert finding.priority == "low"  # L1 has nearly all: a tile mends both
    assert findings(replace(rows, l1_hit_rate=0.5))["uncoalesced-access"].priority == "high"
    scattered = replace(
        rows,
        global_loads=WarpRequests(requests=8e6, sectors=64e6, used_bytes=15.0),
        global_sectors=64.4e6,
    )
    assert findings(scattered)["uncoalesced-access"].bound > 3


def test_the_bound_of_overlapped_copies_is_not_that_of_a_run_without_any() -> None:
    facts = completed(
        Facts(
            device=find("h200"),
            pipeline=Pipeline(
                to_device_seconds=0.0193, kernel_seconds=0.001, to_host_seconds=0.0193
            ),
        )
    )
    (finding,) = run(RULES, facts).findings
    assert finding.rule.id == "serial-transfers"
    assert finding.advice.also == ("transfer-bound-run",)
    assert finding.advice.gain is not None
    assert finding.advice.gain.upper_bound < 2.1
    assert "copies both ways at once hide each other" in finding.advice.action
