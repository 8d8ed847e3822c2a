"""What a program does once: a compiler at work, and first calls of which no event tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import traces

from gpuadvise.advisor.timelines.evidence import traced_run
from gpuadvise.advisor.timelines.gaps import GapCause
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.start_up import first_calls, first_steps_end, held_up_steps_end
from gpuadvise.advisor.timelines.timeline import timelines_of
from gpuadvise.advisor.transfers.links import default_link_model

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.timeline import Timeline

_MS = 1_000_000


def line_of(path: Path, events: list[dict[str, Any]]) -> Timeline:
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    return line


def calls(gaps_ms: list[int], *, work_ms: int = 10) -> list[dict[str, Any]]:
    """Return kernels of *work_ms*, one before each of the gaps and one behind the last."""
    events, time = [], 0
    for gap in [*gaps_ms, 0]:
        events.append(traces.kernel(time, work_ms * 1000))
        time += (work_ms + gap) * 1000
    return events


def test_the_first_calls_of_a_script_are_its_start(tmp_path: Path) -> None:
    line = line_of(tmp_path / "trace", calls([400, 900, 2, 3, 2, 3, 2, 2, 3]))
    assert line.account.start_up_ns == 1300 * _MS
    assert line.account.idle_of(GapCause.HOST_WORK) == 17 * _MS
    assert (line.long_host_gaps.gaps, line.long_host_gaps.total_ns) == (7, 17 * _MS)


@pytest.mark.parametrize(
    "gaps_ms",
    [
        [400, 300, 350, 300, 350],  # as long as what comes later
        [90, 2, 2, 2, 2],  # too short to be a compiler
        [2, 2, 2, 2, 900],  # far into the run
    ],
)
def test_what_comes_again_or_late_is_the_hosts_work(tmp_path: Path, gaps_ms: list[int]) -> None:
    line = line_of(tmp_path / "trace", calls(gaps_ms))
    assert line.account.start_up_ns == 0
    assert line.account.idle_of(GapCause.HOST_WORK) == sum(gaps_ms) * _MS


@pytest.mark.parametrize(("copied_us", "starts"), [(900, True), (1_100, False)])
def test_what_ends_in_a_large_copy_is_data(tmp_path: Path, copied_us: int, *, starts: bool) -> None:
    events = calls([900, 2, 3, 2, 3, 2, 2, 3])
    events.append(traces.copy(910_000 - copied_us, copied_us, copied_us * 20_000))
    line = line_of(tmp_path / "trace", events)
    assert (line.account.start_up_ns > 0) is starts


def test_a_loader_that_starts_its_workers_is_no_start_of_the_program(tmp_path: Path) -> None:
    loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    asked = traces.event("user_annotation", loader, 11_000, 395_000, {})
    line = line_of(tmp_path / "trace", [*calls([400, 2, 2, 2, 2]), asked])
    assert line.account.start_up_ns == 0


@pytest.mark.parametrize(
    ("category", "name", "starts"),
    [
        ("cpu_op", "Torch-Compiled Region: 0/0", True),
        ("cpu_op", "entire_frame_compile (dynamo_timed)", True),
        ("python_function", "torch/_inductor/scheduler.py(1200): codegen", True),
        ("python_function", "triton/compiler/compiler.py(220): compile", True),
        ("python_function", "torch/_dynamo/eval_frame.py(400): _fn", False),
        ("python_function", "train.py(20): evaluate", False),
    ],
)
def test_a_compiler_at_work_is_known_by_name(
    tmp_path: Path, category: str, name: str, *, starts: bool
) -> None:
    gaps = [2, 2, 2, 200, 2, 2]
    outer = traces.event(category, name, 46_500, 199_000, {})
    inner = traces.event("cpu_op", "aten::empty", 47_000, 198_000, {})
    line = line_of(tmp_path / "trace", [*calls(gaps), outer, inner])
    assert line.account.start_up_ns == (200 * _MS if starts else 0)


def test_first_calls_of_nothing_are_none() -> None:
    assert first_calls([], 5) == []


def test_waiting_less_wins_nothing_of_a_start(tmp_path: Path) -> None:
    """A launch of 1 s between kernels, each of which is waited for."""
    starts = [0, 110_000, *(1_300_000 + 110_000 * at for at in range(10))]
    events = [traces.kernel(at, 100_000) for at in starts]
    events += [traces.call(at, 100_000, "cudaDeviceSynchronize") for at in starts]
    events += [traces.call(at - 10, 5) for at in starts]
    events.append(traces.call(210_000, 1_089_000))
    line = line_of(tmp_path / "trace", events)
    assert line.account.start_up_ns == pytest.approx(1090 * _MS, rel=0.01)
    between = 10 * 10 * _MS
    assert 0 < line.saved_without_waits_ns <= between


@pytest.mark.parametrize(("kinds", "loads"), [(12, True), (3, False)])
def test_launches_that_load_code_are_the_start_however_many(
    tmp_path: Path, kinds: int, *, loads: bool
) -> None:
    """Twelve launches of 20 ms: of kernels that never ran before, or of three kinds again and again."""
    events = []
    for at in range(12):
        events.append(traces.call(at * 21_000, 20_000))
        events.append(traces.kernel(at * 21_000 + 20_005, 500, f"kernel{at % kinds}"))
    for at in range(40):  # what a launch takes else
        events.append(traces.call(300_000 + at * 600, 5))
        events.append(traces.kernel(300_010 + at * 600, 500, "kernel0"))
    account = line_of(tmp_path / "trace", events).account
    assert account.idle_of(GapCause.START_UP) == pytest.approx(
        11 * 20 * _MS if loads else 0, rel=0.05
    )


def operator(name: str, ts: float, dur: float) -> dict[str, Any]:
    return traces.event("cpu_op", name, ts, dur, {})


def rounds(first_ms: list[int], later_ms: list[int], *, again: int) -> list[dict[str, Any]]:
    """Return rounds of kernels k0, k1, ..., each behind an operator of its own.

    The operators of the first round take *first_ms*, those of the *again* later ones *later_ms*;
    each kernel takes 1 ms.
    """
    events, time = [traces.kernel(0, 1000, "first")], 1000
    for taken in [first_ms, *[later_ms] * again]:
        for number, held_ms in enumerate(taken):
            events.append(operator(f"aten::op{number}", time, held_ms * 1000 + 5))
            time += held_ms * 1000
            events.append(traces.kernel(time, 1000, f"k{number}"))
            time += 1000
    return events


@pytest.mark.parametrize("again", [1, 2, 20])
def test_operators_that_take_long_once_are_called_first(tmp_path: Path, again: int) -> None:
    """Each handle of a library takes some milliseconds, however many rounds follow."""
    line = line_of(tmp_path / "trace", rounds([40, 9, 25, 800], [0, 0, 0, 0], again=again))
    assert line.account.start_up_ns == 874 * _MS
    assert line.account.idle_of(GapCause.HOST_WORK) == 0
    assert (line.long_host_gaps.gaps, line.long_host_gaps.total_ns) == (0, 0)
    assert all(gap.cause is GapCause.START_UP for gap in line.gaps)


@pytest.mark.parametrize("again", [1, 2, 20])
def test_operators_that_take_long_each_time_are_the_hosts_work(tmp_path: Path, again: int) -> None:
    line = line_of(tmp_path / "trace", rounds([40, 9], [38, 8], again=again))
    assert line.account.start_up_ns == 0
    assert line.long_host_gaps.total_ns == (49 + again * 46) * _MS


@pytest.mark.parametrize(
    ("name", "held_ms", "launched_after_us", "once"),
    [
        ("aten::cudnn_convolution", 800, 2, True),
        ("aten::cudnn_convolution", 90, 2, False),
        ("aten::cat", 800, 40, False),  # of the host: another operator's kernel follows
        ("mine::preprocess", 800, 2, False),
    ],
)
def test_of_one_pass_an_operator_of_the_framework_takes_no_tenth_of_a_second(
    tmp_path: Path, name: str, held_ms: int, launched_after_us: int, *, once: bool
) -> None:
    held = 1000 * held_ms
    events = [
        traces.kernel(0, 1000, "first"),
        operator(name, 1000, held - launched_after_us),
        traces.kernel(1000 + held, 1000, "second"),
    ]
    line = line_of(tmp_path / "trace", events)
    assert line.account.start_up_ns == (held_ms * _MS if once else 0)


def test_stalls_of_operators_now_and_then_are_the_hosts_work(tmp_path: Path) -> None:
    """Six operators, of which another one stalls for 6 ms in each round; a handle takes 90 ms in the first."""
    events, time = [traces.kernel(0, 1000, "first")], 1000
    for stalled in range(6):
        for number in range(6):
            held = 6000 if number == stalled else 0
            held += 90_000 if (number, stalled) == (5, 0) else 0
            events.append(operator(f"aten::op{number}", time, held + 5))
            time += held
            events.append(traces.kernel(time, 1000, f"k{number}"))
            time += 1000
    line = line_of(tmp_path / "trace", events)
    assert line.account.start_up_ns == 96 * _MS  # the first round is left out
    assert line.long_host_gaps.total_ns == 30 * _MS


def test_an_operator_that_is_called_once_tells_no_first_call(tmp_path: Path) -> None:
    line = line_of(tmp_path / "trace", rounds([40, 9], [], again=1))
    assert line.account.start_up_ns == 0


def test_a_search_for_the_fastest_kernel_is_the_start(tmp_path: Path) -> None:
    """Three candidates run once, behind 60 ms each, within one call; the fastest comes again."""
    events = [traces.kernel(0, 1000, "first"), operator("aten::cudnn_convolution", 1000, 183_005)]
    time = 1000
    for name in ("slow", "slower", "fastest"):
        time += 60_000
        events.append(traces.kernel(time, 1000, name))
        time += 1000
    for _ in range(2):
        events.append(traces.kernel(time + 20, 1000, "fastest"))
        time += 1020
    line = line_of(tmp_path / "trace", events)
    assert line.account.start_up_ns == 180 * _MS


def test_a_loader_in_each_step_is_not_the_start(tmp_path: Path) -> None:
    events = rounds([40], [0], again=3)
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    events.append(traces.event("user_annotation", loader, 1000, 40_000, {}))
    line = line_of(tmp_path / "trace", events)
    assert line.account.start_up_ns == 0


@pytest.mark.parametrize(
    ("lengths_ms", "steps"),
    [
        ([3000, 100], 1),  # two steps tell it
        ([3000, 100, 100, 120], 1),
        ([3000, 2000, 100, 100, 90, 100], 2),
        ([3000, 2000, 100], 1),  # no more than a half of them
        ([900, 100, 100], 0),  # not ten times
        ([40, 2, 2, 2], 0),  # little more than the profiler's own start
        ([100, 100, 3000, 100], 0),
        ([100], 0),
        ([], 0),
    ],
)
def test_first_steps_are_the_start_by_their_length(lengths_ms: list[int], steps: int) -> None:
    bounds = [5 * _MS]
    for length in lengths_ms:
        bounds.append(bounds[-1] + length * _MS)
    assert first_steps_end(bounds) == (bounds[steps] if steps else None)


@pytest.mark.parametrize(
    ("idle_ms", "computed_ms", "steps"),
    [
        ([50, 2, 3, 2], [5, 5, 5, 5], 1),
        ([50, 2, 30, 2], [5, 5, 5, 5], 1),  # another stall, once
        ([50, 2, 30, 30], [5, 5, 5, 5], 0),  # stalls come again
        ([50, 40, 2, 3, 2], [5, 5, 5, 5, 5], 2),
        ([50, 40, 30, 2, 3, 2, 1], [5] * 7, 0),  # that is a phase of the program
        ([0.9, 0, 0, 0], [5, 5, 5, 5], 0),
        ([50, 2, 3, 2], [11, 5, 5, 5], 0),  # something else was computed
        ([50, 2], [5, 0], 0),
        ([50, 2, 3], [5, 5, 5], 1),
        ([50, 10, 0], [5, 5, 5], 0),  # two that differ tell no usual one
        ([], [], 0),
    ],
)
def test_first_steps_are_the_start_by_their_idle_time(
    idle_ms: list[float], computed_ms: list[int], steps: int
) -> None:
    idle, computed = ([round(one * _MS) for one in times] for times in (idle_ms, computed_ms))
    bounds = [100 * at for at in range(len(idle) + 1)]
    assert held_up_steps_end(bounds, idle, computed) == (bounds[steps] if steps else None)


def test_an_upload_before_the_first_step_is_the_start(tmp_path: Path) -> None:
    """40 ms of copies, then four steps of 10 ms with a copy of 1 ms each."""
    events = [traces.copy(10_000 * at, 9_000, 1 << 20) for at in range(4)]
    for at in range(4):
        begin = 50_000 + 10_000 * at
        events += [traces.copy(begin, 1_000, 1 << 20), traces.kernel(begin + 1_000, 8_000, "gemm")]
        events.append(traces.event("user_annotation", f"ProfilerStep#{at}", begin, 10_000, {}))
    line = line_of(tmp_path / "trace", events)
    assert line.first_steps_ns == 36 * _MS
    assert (line.computing_ns, line.exposed_copies_ns) == (32 * _MS, 4 * _MS)
    (copies,) = line.steady_copies
    assert (copies.calls, copies.total_ns, copies.bytes) == (4, 4 * _MS, 4 << 20)
    assert line.steps_again == 4
    assert traced_run(line, default_link_model(line.device)).lasting_share(0.0195) == pytest.approx(
        0.5
    )


def test_marks_on_the_gpu_of_part_of_a_step_tell_no_first_step(tmp_path: Path) -> None:
    """Of the last step no next mark tells the end: it ends with the work of another stream."""
    events = []
    for at in range(3):
        events.append(traces.kernel(100_000 * at, 100_000, "wait"))
        mark = f"ProfilerStep#{at}"
        events.append(traces.event("gpu_user_annotation", mark, 100_000 * at, 700, {"device": 0}))
    line = line_of(tmp_path / "trace", events)
    assert line.first_steps_ns == 0
    assert line.steps is not None
    assert line.steps.shortest_ns == 100 * _MS


def test_idle_time_of_a_first_step_is_the_start_but_for_its_loader(tmp_path: Path) -> None:
    """Nothing names what the host does: 900 ms once, 20 ms for a batch; short gaps go with it."""
    events, marks = [], [0]
    for gaps_ms in ([20, 300, 300, 300, 0.2], [2, 2, 2, 2, 0.2], [2, 2, 2, 2, 0.2]):
        time = marks[-1]
        for gap in gaps_ms:
            events.append(traces.kernel(time, 500, "k"))
            time += 500 + gap * 1000
        marks.append(int(time))
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    events.append(traces.event("user_annotation", loader, 500, 20_000, {}))
    for number in range(3):
        length = marks[number + 1] - marks[number]
        step = traces.event("user_annotation", f"ProfilerStep#{number}", marks[number], length, {})
        events.append(step)
    line = line_of(tmp_path / "trace", events)
    assert line.account.start_up_ns == pytest.approx(900.2 * _MS)
    assert line.account.idle_of(GapCause.HOST_WORK) == pytest.approx(36 * _MS, rel=0.02)


def test_allocations_and_waits_of_a_search_are_the_starts(tmp_path: Path) -> None:
    """A search frees and allocates its workspace, and waits for each candidate; the loop does not."""
    events = rounds([400, 300], [0, 0], again=9)
    for at in range(50):
        events.append(traces.call(401_000 + 20 * at, 10, "cudaEventSynchronize"))
        events.append(traces.call(2000 + 40 * at, 20, "cudaFree"))
    events.append(traces.call(300_000, 300, "cudaMalloc"))
    last = max(event["ts"] for event in events if event["cat"] == "kernel")
    events += [
        traces.kernel(last + 2000, 1000, "k0"),
        traces.call(last + 1100, 800, "cudaMalloc"),
    ]
    line = line_of(tmp_path / "trace", events)
    assert line.account.start_up_ns == 700 * _MS
    assert line.account.idle_of(GapCause.ALLOCATION) > 0
    (waits,) = line.synchronizations
    assert (waits.calls, waits.again) == (50, 0)


@pytest.mark.parametrize(("kernel", "loads"), [("new", True), ("add", False)])
def test_a_query_that_loads_a_library_is_the_start(
    tmp_path: Path, kernel: str, *, loads: bool
) -> None:
    """A single call of 2 ms, behind which a kernel runs that never did, or one that did."""
    events = [
        traces.kernel(0, 1000),
        traces.call(1_000, 2_000, "cudaOccupancyMaxActiveBlocksPerMultiprocessor"),
        traces.kernel(3_020, 1_000, kernel),
        traces.kernel(4_020, 1_000),
    ]
    assert (line_of(tmp_path / "trace", events).account.start_up_ns > 0) is loads


def steps_of_a_search(search_ms: int) -> list[dict[str, Any]]:
    """Return four steps of 10 ms; in the first the GPU tries algorithms for *search_ms* before."""
    tried = "cudnn_convolve_scudnn_128x64"
    events = [traces.kernel(0, 1000 * search_ms, tried)]
    begins = [0, *(1000 * (search_ms + 10 * at) for at in range(1, 5))]
    for at, begin in enumerate(begins[:-1]):
        start = max(begin, 1000 * search_ms)
        events += [traces.kernel(start, 4_000, "gemm"), traces.kernel(start + 5_000, 4_000, "relu")]
        mark = f"ProfilerStep#{at}"
        events.append(traces.event("user_annotation", mark, begin, begins[at + 1] - begin, {}))
    return events


def test_what_the_gpu_does_in_first_steps_is_the_programs_start(tmp_path: Path) -> None:
    line = line_of(tmp_path / "trace", steps_of_a_search(150))
    assert line.first_steps_ns == 158 * _MS
    assert line.steady_ns == 29 * _MS  # three steps, the last one without what follows its work
    steady = {kernel.shape.name: kernel.steady_ns for kernel in line.kernels}
    assert steady == {"cudnn_convolve_scudnn_128x64": 0, "gemm": 12 * _MS, "relu": 12 * _MS}
    run = traced_run(line, default_link_model(line.device))
    assert run.single_precision_seconds == 0
    assert run.busy_seconds == pytest.approx(0.024)
    assert run.one_time_seconds == pytest.approx(0.160)
    assert run.recorded_seconds == pytest.approx(0.189)


def test_communication_in_first_steps_is_the_programs_start(tmp_path: Path) -> None:
    """In the first step a collective waits for 100 ms, in the others it takes 1 ms: nothing is left to judge."""
    events = steps_of_a_search(150)
    nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    made = {
        "Collective name": "allreduce",
        "In msg nelems": 1024,
        "dtype": "Float",
        "Group size": 2,
    }
    events += [
        traces.kernel(start, length, nccl, **made)
        for start, length in ((159_000, 900), *((1000 * at - 900, 800) for at in (170, 180, 190)))
    ]
    line = line_of(tmp_path / "trace", events)
    run = traced_run(line, default_link_model(line.device))
    assert line.account.communication_ns == 3_300_000
    assert line.first_steps.communication_ns == 900_000
    assert run.exposed_communication_seconds == pytest.approx(2.4e-3)
    assert run.collectives == 3
    assert run.rank_wait_seconds == 0


def test_a_first_step_somewhat_longer_than_the_others_is_judged_with_them(tmp_path: Path) -> None:
    line = line_of(tmp_path / "trace", steps_of_a_search(30))
    assert line.first_steps_ns == 0
    assert line.steady_ns == line.span_ns - line.account.start_up_ns


@pytest.mark.parametrize(
    ("name", "gap_ms", "starts"),
    [
        ("triton_poi_fused_add_0", 400, True),
        ("triton_poi_fused_add_0", 50, False),  # a compiler takes longer
        ("mine", 400, False),
    ],
)
def test_what_comes_before_the_first_run_of_a_compiled_kernel_is_compiling(
    tmp_path: Path, name: str, gap_ms: int, *, starts: bool
) -> None:
    """Late in a run, where no operator was recorded, a function of torch.compile is called for the first time."""
    before = [traces.kernel(10_000 * at, 10_000) for at in range(20)]
    begin = 200_000 + 1000 * gap_ms
    behind = [traces.kernel(begin + 10_000 * at, 10_000, name) for at in range(2)]
    line = line_of(tmp_path / "trace", [*before, *behind])
    assert line.account.start_up_ns == (gap_ms * _MS if starts else 0)
    assert line.account.idle_of(GapCause.HOST_WORK) == (0 if starts else gap_ms * _MS)


def test_what_the_host_does_before_code_is_loaded_is_its_own_work(tmp_path: Path) -> None:
    """Half a second of preparing data before a kernel's first run, at whose launch its code is loaded."""
    before = [traces.kernel(10_000 * at, 10_000) for at in range(20)]
    loading = traces.event("overhead", "Lazy Function Loading", 699_000, 900, {})
    behind = [traces.kernel(700_000 + 10_000 * at, 10_000, "other") for at in range(2)]
    line = line_of(tmp_path / "trace", [*before, loading, *behind])
    assert line.account.idle_of(GapCause.HOST_WORK) > 490 * _MS
