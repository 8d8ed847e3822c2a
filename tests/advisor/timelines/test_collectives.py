"""Collectives: what they are, what they reach, what hides them, and which rank holds them up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import recordings
import traces

from gpuadvise.advisor.timelines.collectives import Collective, Operation, operation_of
from gpuadvise.advisor.timelines.evidence import traced_run
from gpuadvise.advisor.timelines.ranks import RankRuns
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.timeline import timelines_of
from gpuadvise.advisor.timelines.what_if import Change, what_if
from gpuadvise.advisor.transfers.links import default_link_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gpuadvise.advisor.timelines.ranks import RankBalance
    from gpuadvise.advisor.timelines.timeline import Timeline

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def all_reduce(ts: float, dur: float, name: str = NCCL, **args: Any) -> dict[str, Any]:
    described = {
        "stream": 20,
        "Collective name": "allreduce",
        "In msg nelems": 1 << 20,
        "Out msg nelems": 1 << 20,
        "Group size": 4,
        "dtype": "BFloat16",
        "Process Group Name": "0",
        "Process Group Ranks": "[0, 1, 2, 3]",
    }
    return traces.kernel(ts, dur, name, **(described | args))


def line_of(path: Path, events: Sequence[dict[str, Any]], rank: int | None = None) -> Timeline:
    distributed = {} if rank is None else {"distributedInfo": {"rank": rank}}
    path.write_text(traces.kineto(list(events), **distributed))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    return line


# Worked by hand from the formulas of nccl-tests: size S, time t, n ranks.
@pytest.mark.parametrize(
    ("operation", "factor"),
    [
        ("allreduce", 2 * 3 / 4),
        ("_allgather_base", 3 / 4),
        ("_reduce_scatter_base", 3 / 4),
        ("all_to_allv", 3 / 4),
        ("broadcast", 1),
        ("reduce", 1),
        ("send", 1),
    ],
)
def test_bandwidths_are_those_of_nccl_tests(tmp_path: Path, operation: str, factor: float) -> None:
    event = all_reduce(0, 100, **{"Collective name": operation})
    line = line_of(tmp_path / "trace", [event, traces.kernel(200, 1)])
    assert line.communication is not None
    (traced,) = line.communication.collectives
    assert traced.collective.bytes == 2 << 20
    assert traced.algorithm_rate == pytest.approx((2 << 20) / 100e-6)
    assert traced.bus_rate == pytest.approx(factor * (2 << 20) / 100e-6)


def test_a_gather_counts_what_comes_out(tmp_path: Path) -> None:
    event = all_reduce(0, 10, **{"Collective name": "allgather", "Out msg nelems": 4 << 20})
    line = line_of(tmp_path / "trace", [event])
    assert line.communication is not None
    assert line.communication.collectives[0].collective.bytes == 8 << 20


def test_what_is_not_described_has_no_bandwidth() -> None:
    for collective in (
        Collective(operation=Operation.ALL_REDUCE, bytes=100),
        Collective(operation=Operation.ALL_REDUCE, bytes=100, ranks=1),
        Collective(operation=Operation.ALL_REDUCE, ranks=4),
    ):
        assert collective.bus_rate(10) is None


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        (NCCL, Operation.ALL_REDUCE),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", Operation.SEND_RECEIVE),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", Operation.REDUCE_SCATTER),
        ("ncclDevKernel_AllGather_RING_LL", Operation.ALL_GATHER),
        ("ncclKernel_Reduce_RING_LL_Sum_float", Operation.REDUCE),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t", Operation.BROADCAST),
        ("void vllm::cross_device_reduce_1stage<float, 4>", Operation.ALL_REDUCE),
        ("deep_ep::internode::dispatch", Operation.OTHER),
    ],
)
def test_operations_by_the_kernels_name(name: str, operation: Operation) -> None:
    assert operation_of(name) is operation


def test_time_beside_kernels_that_compute_is_hidden(tmp_path: Path) -> None:
    events = [
        traces.kernel(0, 100),
        all_reduce(50, 100),  # 50 of it beside the kernel
        all_reduce(
            120, 60, stream=21
        ),  # 30 beside the other collective: communication all the same
        traces.kernel(300, 10),
    ]
    line = line_of(tmp_path / "trace", events)
    assert line.communication is not None
    assert line.communication.total_ns == 130_000
    assert line.communication.hidden_ns == 50_000
    assert line.communication.hidden_share == pytest.approx(50 / 130)
    assert line.kernel_ns == 190_000


def test_an_unknown_name_is_known_by_its_arguments(tmp_path: Path) -> None:
    line = line_of(tmp_path / "trace", [all_reduce(0, 1000, "flux::put"), traces.kernel(1000, 50)])
    assert line.communication is not None
    assert line.communication.exposed_ns == 1_000_000
    link = default_link_model(line.device)
    changes = what_if(line, link, traced_run(line, link))
    subjects = [one.subject for one in changes if one.change is Change.FASTEN_KERNEL]
    assert subjects == ["add"]


def test_a_run_without_communication_has_none(tmp_path: Path) -> None:
    assert line_of(tmp_path / "trace", [traces.kernel(0, 1)]).communication is None


def balance_of(path: Path, arrivals: list[list[float]], **args: Any) -> RankBalance | None:
    """Return the balance of ranks that arrive at each collective so late; all end at 10 us."""
    ranks = RankRuns()
    for rank, late in enumerate(arrivals):
        events = [all_reduce(100 * at + start, 10 - start, **args) for at, start in enumerate(late)]
        line_of(path, [*events, traces.kernel(1000, 1)], rank)
        (recording,) = read_recordings(str(path))
        (line,) = timelines_of(recording)
        ranks.add(line, rank)
    return ranks.balance()


def test_who_waits_for_whom(tmp_path: Path) -> None:
    args = {"Group size": 3}
    balance = balance_of(tmp_path / "trace", [[0, 1], [2, 0], [8, 7]], **args)
    assert balance is not None
    assert balance.collectives == 2
    assert [one.waited_ns for one in balance.ranks] == [14_000, 13_000, 0]
    assert [one.last_in for one in balance.ranks] == [0, 0, 2]
    assert balance.ranks[2].caused_ns == 13_500
    assert balance.saved_ns == pytest.approx(9_000)


def test_a_rank_that_is_always_last_is_a_straggler(tmp_path: Path) -> None:
    late = [[0.0] * 10, [0.0] * 10, [9.0] * 10]
    balance = balance_of(tmp_path / "trace", late, **{"Group size": 3})
    assert balance is not None
    assert [one.rank for one in balance.stragglers] == [2]
    assert balance.speedup == pytest.approx(998 / (998 - 60))


def test_ranks_that_take_turns_are_no_stragglers(tmp_path: Path) -> None:
    turns = [[9.0 if at % 3 == rank else 0.0 for at in range(9)] for rank in range(3)]
    balance = balance_of(tmp_path / "trace", turns, **{"Group size": 3})
    assert balance is not None
    assert balance.share > 0.02
    assert not balance.stragglers


def test_collectives_of_some_ranks_only_are_not_compared(tmp_path: Path) -> None:
    balance = balance_of(tmp_path / "trace", [[0, 0, 0], [1]], **{"Group size": 2})
    assert balance is not None
    assert (balance.collectives, balance.unmatched) == (1, 2)
    assert balance_of(tmp_path / "trace", [[0], []]) is None
    assert balance_of(tmp_path / "trace", [[0]]) is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recordings.unpack(tmp_path_factory.mktemp("recordings"), ("ranks",)) / "ranks"


def test_recorded_ranks(cli, folder: Path) -> None:
    uneven = json.loads(cli("timeline", str(folder / "uneven_ranks"), "--json").out)["result"]
    assert uneven["ranks"]["stragglers"] == [1]
    assert uneven["ranks"]["collectives"] == 24
    assert uneven["communication"]["collectives"][0]["operation"] == "all-reduce"
    assert uneven["communication"]["collectives"][0]["bytes"] == 4 << 20
    assert uneven["communication"]["collectives"][0]["group_size"] == 2
    even = json.loads(cli("timeline", str(folder / "even_ranks"), "--json").out)["result"]
    assert even["ranks"]["stragglers"] == []
    # Beside the other rank its waits are measured: of that rank alone they looked like most of it.
    assert (uneven["limiter"]["name"], even["limiter"]["name"]) == ("ranks", "communication")
    assert even["ranks"]["share"] < uneven["ranks"]["share"] / 4
    hidden = json.loads(cli("timeline", str(folder / "ddp_ranks"), "--json").out)["result"]
    assert uneven["communication"]["hidden_seconds"] == 0
    assert hidden["communication"]["hidden_seconds"] > 0.3 * hidden["communication"]["seconds"]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("uneven_ranks", "Rank 1 holds the others up"),
        ("even_ranks", "none is always the last"),
        (
            "ddp_ranks",
            "The ranks are nearly even: each waits",
        ),  # less than a twentieth is no finding
        ("even_ranks", "68.7 % of 156.3 ms are communication that nothing hides. "),
        ("uneven_ranks", "that nothing hides, most of it (194.6 ms) waits for other ranks."),
        ("uneven_ranks/rank0.json.gz", "most of it (186.1 ms) perhaps waits for other ranks."),
        ("uneven_ranks/rank1.json.gz", "66.1 % of 308.3 ms are kernels that compute."),
    ],
)
def test_the_screen_says_who_holds_the_others_up(cli, folder: Path, case: str, words: str) -> None:
    out = cli("timeline", str(folder / case)).out
    assert words in out
    assert "Collectives" in out
    assert "a faster kernel" not in out or "nccl" not in out.split("What could be won")[-1]


def test_ranks_of_a_program_are_told_together(cli, folder: Path) -> None:
    out = cli("advise", str(folder / "uneven_ranks")).out
    assert "Give all ranks the same work" in out
    assert "The 2 ranks wait 98" in out
    assert "Rank 1 came last" in out
    assert out.count("[uneven-ranks]") == 1
    findings = json.loads(cli("advise", str(folder / "even_ranks"), "--json").out)["findings"]
    uneven = [one for one in findings if one["rule"] == "uneven-ranks"]
    assert [one["priority"] for one in uneven] == ["low"]
    assert "exposed-communication" in {one["rule"] for one in findings}
    rules = [one["rule"] for one in findings]
    out = cli("advise", str(folder / "even_ranks")).out
    for rule in set(rules):
        assert out.count(f"[{rule}]") <= 1 or rules.count(rule) > 2, rule
