"""What a recorded run shows of one GPU as a whole, as far as rules ask for it."""

from __future__ import annotations

from dataclasses import dataclass

from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.advisor.transfers.links import LAUNCH_COST, PAGEABLE_D2H_SPREAD

WORTH_SAYING = number(
    0.02,
    "part of the span that is worth a word",
    "share of the span",
    "below it no measurement would show the change",
    LaunchSet.RECORDED,
)
NOTICEABLE = number(0.05, "noticeable", "share of the run", "our judgement")
# Fewer waits let a queue build up, and the host gets ahead of the GPU.
_LAUNCHES_PER_WAIT = number(
    25, "launches per wait, at most", "", "our judgement: about one per layer of a model"
)
_FEWEST_WAITS = number(20, "waits of a run, at least", "", "our judgement")
LAUNCH_BOUND_BUSY = number(0.5, "busy", "share", "our judgement", LaunchSet.RECORDED)
LAUNCH_BOUND_IDLE = number(
    0.2, "idle between launches", "share", "our judgement", LaunchSet.RECORDED
)
SHORT_KERNEL = number(3 * LAUNCH_COST, "short kernel", "s", "three launches, measured on a H200")
_MOSTLY_IDLE = number(2.0, "idle time per time of kernels", "", "our judgement")
_WIDEST_HEAD = number(
    256, "elements of a head, at most", "elements", "FlashAttention: heads of up to 256"
)
_FEWEST_KERNELS = number(20, "kernels of a run, at least", "", "our judgement")
# A timer's and a launch's noise are a tenth of it, and one start of a library more than all of it.
_LEAST_WORK = number(0.1e-3, "work of the GPU in a run, at least", "s", "our judgement")
_LEAST_LAUNCHED = number(
    0.5e-3,
    "work of the GPU in a run that launches are judged by, at least",
    "s",
    "our judgement: readers of public recordings called less than this a test",
)
_LEAST_WITH_STACKS = number(
    2e-3,
    "likewise where stacks were recorded, at least",
    "s",
    "our judgement: the stacks of 48 kernels held the host up for as long as the kernels ran",
)
_A_LOOP = number(200, "kernels whose launches tell of a loop", "", "our judgement")
_LEAST_WORK_OF_FEW = number(
    1e-3, "work of the GPU in a run of few kernels, at least", "s", "our judgement"
)
_NOT_LITTLE = number(
    10e-3,
    "work of the GPU in a run of few kernels that is enough, however little of the run it is",
    "s",
    "our judgement: thousands of launches' time; what takes the rest of the run is known then, too",
)
# What it takes the GPU to start and to end a kernel, which kernels of a graph share with their
# neighbours, and fused ones pay once: an empty one is recorded with 1 us, on any part since 2017.
# The profilers add more to a launch inside of a framework's modules: up to 36 us were seen.
_PROFILER_AT_MOST = number(
    3, "profiler's part of a launch, of that which is always there", "times", "our judgement"
)
_START_AND_END = number(
    0.5e-6, "start and end of a kernel, saved in a graph or by fusion", "s", "half of an empty one"
)
_LEAST_BESIDE = number(
    5e-3,
    "one-time work, or the host's code beside the run, at least",
    "s",
    "our judgement: contexts take tens of milliseconds, the first launch of a profiler half of one",
)
_LONGEST_LAUNCH_GAP = number(
    1e-3,
    "idle time for each launch of a launch-bound run, less than",
    "s",
    "our judgement: between two operators of PyTorch, under its profiler, up to 0.4 ms were seen; what takes more is no launch",
)
GAPS_OF_A_LOOP = number(3, "gaps that tell of a loop", "gaps", "fewer tell no typical one")
HOST_BOUND_IDLE = number(0.1, "idle in gaps", "share", "our judgement", LaunchSet.RECORDED)
_HALF_PRECISION = frozenset({"half", "bfloat16", "c10::half", "c10::bfloat16", "fp16", "bf16"})
_SINGLE_PRECISION = frozenset({"float", "fp32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedProduct:
    """A matrix product of rows x inner by inner x columns, *batch* of them, in all its calls.

    *seconds* is the time of all calls, None where it is not known.
    """

    rows: int
    columns: int
    inner: int
    dtype: str
    batch: int = 1
    calls: int = 1
    seconds: float | None = None

    @property
    def flops(self) -> float:
        """Operations of all calls; a multiplication and an addition count two."""
        return 2.0 * self.rows * self.columns * self.inner * self.batch * self.calls

    @property
    def half_precision(self) -> bool:
        """Whether the elements have 16 bits."""
        return self.dtype.lower() in _HALF_PRECISION

    @property
    def single_precision(self) -> bool:
        """Whether the elements are FP32."""
        return self.dtype.lower() in _SINGLE_PRECISION


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleCause:
    """Idle time of one cause, without the one-time work of a program's start.

    ``culprit`` is what the host did for most of its long gaps, *culprit_seconds* of them, called
    from a line of the program; None where the recording does not say.
    """

    cause: str
    seconds: float
    culprit: str | None = None
    culprit_seconds: float = 0.0
    file: str | None = None
    line: int | None = None
    function: str | None = None
    # "itself" or "workers": who makes the batches it waits for; "files": it reads some.
    loader: str | None = None
    communicates: bool = False  # the host sends to other ranks meanwhile, or waits for them


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedRun:
    """Where the time of one GPU went in a recorded run, in seconds and counts.

    The span goes from the first activity to the last, without the idle time of what the program
    does once. Idle times are attributed: to the launch of what follows, to a wait of the host that
    had just ended, to long work of the host, to allocations, to copies (their staging and
    queueing) and to the loading of code. What a replay of the recorded times saves is None where
    only sums are known.
    """

    span_seconds: float
    start_up_seconds: float = 0.0  # idle, beside the span
    before_seconds: float = 0.0  # of the host in its own code, before the GPU's first work
    after_seconds: float = 0.0  # likewise behind its last
    outside_calls_seconds: float = 0.0  # of the host in calls, before or behind
    outside_call: str | None = None  # the one that took most of what is done once
    queued_seconds: float = 0.0  # before the GPU's first work, though it had been launched
    silent_before_seconds: float = 0.0  # of the program, before its first call of CUDA
    silent_after_seconds: float = 0.0  # likewise behind its last
    frame_period_seconds: float | None = None  # of work that a clock paces; None: none does
    calls_pytorch: bool | None = None  # None: not known
    lost_launches: int = 0  # of kernels that the recording does not hold
    sampled: bool = False  # most of its events were left out, so that idle time is not known
    steps: int = 0  # that come again behind what is done once; 0: too few are known
    start_cause: IdleCause | None = None  # what took most of what is done once
    before_cause: IdleCause | None = None  # what the host did for most of the time before
    busy_seconds: float = 0.0
    recorder: str = "profiler"

    kernels: int = 0  # runs
    median_kernel_seconds: float = 0.0
    launches: int = 0  # calls that launch one kernel
    graph_launches: int = 0
    hidden_graphs: bool = False  # their kernels were not recorded
    launch_overhead_seconds: float = 0.0  # what the profiler adds to a launch, at least
    recording_seconds: float = 0.0  # what it added to the span, about; 0: not known

    launch_idle_seconds: float = 0.0
    in_turn_seconds: float = 0.0  # of kernels in several streams, which late launches kept apart
    host_idle_seconds: float = 0.0
    host_gaps: int = 0
    host_copy_seconds: float = 0.0  # of copies between such gaps in which the host does one thing
    wait_idle_seconds: float = 0.0
    allocation_idle_seconds: float = 0.0
    copy_idle_seconds: float = 0.0
    queueing_idle_seconds: float = 0.0  # of the launches' idle time, while copies were queued
    copy_wait_idle_seconds: float = 0.0  # of those after waits, where copies are waited for
    release_idle_seconds: float = 0.0  # of the launches', where frees that wait empty the queue
    load_idle_seconds: float = 0.0
    idle_causes: tuple[IdleCause, ...] = ()  # the longest first
    has_stacks: bool | None = None  # None: the recorder keeps none
    saved_without_waits_seconds: float | None = None
    saved_without_copy_calls_seconds: float | None = None

    waits: int = 0  # calls in which the host waited, or single values that it read back
    waited_seconds: float = 0.0  # of the host in them
    values_read: int = 0  # copies to the host of a value or two
    values_read_seconds: float = 0.0

    communication_seconds: float = 0.0  # hidden or not
    link_copy_seconds: float = 0.0  # of copies over the link, hidden or not
    exposed_communication_seconds: float = 0.0  # no kernel computes meanwhile
    rank_wait_seconds: float = 0.0  # of that, waiting for other ranks
    collectives: int = 0

    exposed_copy_seconds: float = 0.0  # of copies, inside of the GPU too, while no kernel runs
    migration_seconds: float = 0.0  # saved if managed memory came at the link's rate
    has_tensor_cores: bool = False  # by the names of its kernels
    single_precision_seconds: float = 0.0  # of matrix kernels outside of tensor cores
    short_products_seconds: float = 0.0  # of those, in kernels of less than 10 us
    double_precision_seconds: float = 0.0  # of FP64 matrix kernels
    unaligned_seconds: float = 0.0  # of 16-bit matrix kernels that load an element or two at once
    layout_seconds: float = 0.0  # of conversions between NCHW and NHWC
    elementwise_seconds: float = 0.0  # of passes over memory for one operation each
    fused_seconds: float = 0.0  # what one pass in place of each chain of them takes at least
    softmax_seconds: float = 0.0  # of those, passes of a softmax
    fused_attention_seconds: float = 0.0  # of kernels that keep scores on the chip
    concatenation_seconds: float = 0.0
    sort_seconds: float = 0.0  # of whole arrays that the program asks PyTorch to sort
    embedding_gradient_seconds: float = 0.0  # of those with a row for each of the table
    many_tensors_seconds: float = 0.0  # of an optimizer's passes over many parameters at once
    fill_seconds: float = 0.0  # of fills of an array with one value
    double_passes_seconds: float = 0.0  # in FP64, of PyTorch, cuFFT and CuPy, that are no products
    # Of an optimizer that no kernel updates many parameters for: kernels of a step, and from the
    # first to the last of each step.
    lone_updates: int = 0
    lone_updates_seconds: float = 0.0
    products: tuple[TracedProduct, ...] = ()

    @property
    def score_products(self) -> tuple[TracedProduct, ...]:
        """The products of attention written out: of queries and keys, and of the scores and the values.

        Both are batches, and the sequence that the first makes the second sums over. A matrix product
        with weights has no batch; one of experts has wider rows than a head.
        """
        batches = [product for product in self.products if product.batch > 1]
        shapes = {(one.batch, one.rows, one.inner, one.columns) for one in batches}
        return tuple(
            product
            for product in batches
            if min(product.inner, product.columns)
            <= _WIDEST_HEAD
            < max(product.inner, product.columns)
            and product.rows > 1
            and (product.batch, product.rows, product.columns, product.inner) in shapes
        )

    @property
    def waits_often(self) -> bool:
        """Whether the host waits so often that it cannot queue work ahead of the GPU."""
        often = self.waits * _LAUNCHES_PER_WAIT >= max(self.launches, self.kernels)
        return self.waits >= _FEWEST_WAITS and self.kernels > 0 and often and not self.sampled

    @property
    def launch_bound(self) -> bool:
        """Whether launches, rather than what they do, take the time."""
        starving = self.launch_idle_seconds >= _MOSTLY_IDLE * self.busy_seconds
        short = self.median_kernel_seconds < SHORT_KERNEL or starving
        idle = self.share(self.launch_idle_seconds) >= LAUNCH_BOUND_IDLE
        starved = self._by_launch and short and idle
        return starved and self.share(self.busy_seconds) < LAUNCH_BOUND_BUSY

    @property
    def _outlasts_profiler(self) -> bool:
        """Whether more than the profiler's own part of the launches would be won."""
        left = self.span_seconds - self.launch_idle_seconds
        bound = self.bound_without_profiler(self.launch_idle_seconds)
        without = self.span_seconds - self.recording_seconds
        least = 1 / (1 - WORTH_SAYING)
        return bound is None or (bound >= least and without >= least * left)

    @property
    def _by_launch(self) -> bool:
        enough = self.kernels >= _FEWEST_KERNELS and self.launches >= self.kernels / 2
        as_launches = self.launch_idle_seconds < _LONGEST_LAUNCH_GAP * self.launches
        return enough and as_launches and self._outlasts_profiler and not self.sampled

    @property
    def late_launches(self) -> bool:
        """Whether longer kernels than those of a launch-bound run wait for their launches too."""
        cost = _PROFILER_AT_MOST * self.launches * self.launch_overhead_seconds
        left = self.span_seconds - cost
        late = left > 0 and self.launch_idle_seconds - cost >= LAUNCH_BOUND_IDLE * left
        return late and self._by_launch and not self.launch_bound

    @property
    def waits_for_launches(self) -> bool:
        """Whether launches that come late are worth a word, be they what takes the time or not."""
        cost = _PROFILER_AT_MOST * self.launches * self.launch_overhead_seconds
        late = self.launch_idle_seconds - cost >= HOST_BOUND_IDLE * self.span_seconds
        return (late and self._by_launch) or self.launch_bound or self.late_launches

    @property
    def paced(self) -> bool:
        """Whether a clock paces the work, and the GPU does it in less than half of the time."""
        return self.frame_period_seconds is not None and self.share(self.busy_seconds) < (
            LAUNCH_BOUND_BUSY
        )

    @property
    def host_bound(self) -> bool:
        """Whether the host's own work, in long gaps, leaves the GPU idle."""
        long = self.share(self.host_idle_seconds) >= HOST_BOUND_IDLE and self.host_gaps > 0
        return long and self.kernels > 0 and not self.too_short and not self.sampled

    @property
    def too_short(self) -> bool:
        """Whether so little ran on the GPU that any bound says more of the recording than of it."""
        few = self.kernels < _FEWEST_KERNELS
        beside = self.share(self.busy_seconds) < WORTH_SAYING
        little = few and beside and self.busy_seconds < _NOT_LITTLE
        return little or self.busy_seconds < (_LEAST_WORK_OF_FEW if few else _LEAST_WORK)

    @property
    def is_a_test(self) -> bool:
        """Whether so little was launched that how late it was says little of work of the usual size."""
        # Recorded stacks add as much to each operator as its launch takes.
        least = _LEAST_WITH_STACKS if self.has_stacks else _LEAST_LAUNCHED
        computing = self.busy_seconds - self.exposed_communication_seconds
        little = self.kernels < _A_LOOP and computing < least
        return self.too_short or little

    @property
    def recorded_seconds(self) -> float:
        """From the host's first call to its last, or the GPU's work where that is longer."""
        return (
            self.span_seconds
            + self.start_up_seconds
            + self.before_seconds
            + self.after_seconds
            + self.queued_seconds
            + self.outside_calls_seconds
        )

    @property
    def one_time_seconds(self) -> float:
        """What a program does once: contexts, allocations, the loading of code, and freeing all of it."""
        return self.start_up_seconds + self.outside_calls_seconds

    @property
    def outside_code_seconds(self) -> float:
        """The host's own code before the GPU's first work and behind its last."""
        return self.before_seconds + self.after_seconds

    @property
    def silent_seconds(self) -> float:
        """What the program ran before its first call of CUDA and behind its last, beside what is recorded."""
        return self.silent_before_seconds + self.silent_after_seconds

    def share_of_process(self, seconds: float) -> float:
        """Return the share (0 to 1) of all that the program was seen to run that *seconds* are."""
        whole = self.recorded_seconds + self.silent_seconds
        return min(1.0, max(0.0, seconds / whole)) if whole > 0 else 0.0

    def much_beside(self, seconds: float) -> bool:
        """Return whether *seconds* of the recording that are not of the run are worth a word."""
        return seconds >= _LEAST_BESIDE and self.share_of_recording(seconds) >= HOST_BOUND_IDLE

    def share_of_recording(self, seconds: float) -> float:
        """Return the share (0 to 1) of all that was recorded that *seconds* are."""
        whole = self.recorded_seconds
        return min(1.0, max(0.0, seconds / whole)) if whole > 0 else 0.0

    def lasting_share(self, seconds: float) -> float:
        """Return the share (0 to 1) that *seconds* are of a run that goes on for longer than its recording.

        Of the span where steps are known to come again, for what is done once comes no more; else of all
        that was recorded.
        """
        lasts = self.steps and not self.is_a_test
        return self.share(seconds) if lasts else self.share_of_recording(seconds)

    @property
    def lost_to_waits(self) -> float:
        """The seconds that waits cost at most: the host's own work and the GPU's remain.

        Beside waits the profiler's part of each launch costs nothing, without them it does. Where
        no call that waits was recorded, only the values show them: the host's work after each then
        holds the wait, but for the launches themselves.
        """
        replayed = self.wait_idle_seconds or self.waited_seconds
        if self.saved_without_waits_seconds is not None and replayed:
            recorder = self.launches * self.launch_overhead_seconds
            lost = self.saved_without_waits_seconds + recorder
            # Allocating and freeing take their time with or without waits beside them.
            most = self.span_seconds - self.busy_seconds - self.allocation_idle_seconds
            return max(0.0, min(lost, most)) + self.values_read_seconds
        lost = self.wait_idle_seconds + self.values_read_seconds + self.copy_idle_seconds
        host = self.host_idle_seconds + self.launch_idle_seconds
        if self.values_read and not self.wait_idle_seconds:
            lost += host
            host = self.launches * LAUNCH_COST
        remain = max(self.busy_seconds - self.values_read_seconds, host)
        return max(0.0, min(lost, self.span_seconds - remain))

    @property
    def waits_cost(self) -> bool:
        """Whether waits are often and cost what is worth a word, beside the host's long work too."""
        lost = min(self.share(self.lost_to_waits), self.share(self.lost_to_waits_alone))
        return self.waits_often and lost >= WORTH_SAYING

    @property
    def lost_to_waits_alone(self) -> float:
        """The seconds that waits cost beside the host's long work, where that is named for itself."""
        return min(self.lost_to_waits, self.waits_beside_host_work + self.values_read_seconds)

    @property
    def waits_beside_host_work(self) -> float:
        """The idle seconds that long work of the host leaves to waits, where it is named for itself."""
        idle = self.span_seconds - self.busy_seconds
        return max(0.0, idle - self.host_idle_seconds) if self.host_bound else idle

    @property
    def lost_to_launches(self) -> float:
        """The seconds that single launches cost at most: idle time, starts and ends, and streams kept apart."""
        once = min(_START_AND_END, self.median_kernel_seconds / 2)
        beside_kernels = min(self.launches, self.kernels) * once + self.in_turn_seconds
        return self.launch_idle_seconds + beside_kernels

    @property
    def streams_kept_apart(self) -> bool:
        """Whether kernels of several streams take a part of the span one after the other that is worth a word."""
        return self.share(self.in_turn_seconds) >= WORTH_SAYING

    @property
    def around_copies(self) -> float:
        """The idle seconds that copies cost at most: queued, held up in their calls, waited for."""
        return self.queueing_idle_seconds + self.copy_idle_seconds + self.copy_wait_idle_seconds

    @property
    def lost_to_pageable_copies(self) -> float:
        """The idle seconds that copies from pageable memory cost at most, beside their own time.

        A replay is of a program that asks for asynchronous copies too.
        """
        return max(self.copy_idle_seconds, self.saved_without_copy_calls_seconds or 0.0)

    @property
    def lost_to_allocations(self) -> float:
        """The seconds that allocations cost at most: also those of launches not queued ahead."""
        return self.allocation_idle_seconds + self.release_idle_seconds

    def idle_while(self, cause: str) -> float:
        """Return the idle seconds of one cause."""
        return sum(idle.seconds for idle in self.idle_causes if idle.cause == cause)

    def share(self, seconds: float) -> float:
        """Return the share (0 to 1) of the span that *seconds* are."""
        return min(1.0, max(0.0, seconds / self.span_seconds)) if self.span_seconds > 0 else 0.0

    def bound(self, saved: float) -> float | None:
        """Return the speed-up of the span if *saved* seconds of it went; None: nothing is left."""
        left = 1.0 - self.share(saved)
        return 1 / left if left > 0 else None

    def bound_of_slower_copies(self, bound: float, taken: float) -> float:
        """Return the *bound* where copies of *taken* seconds take longer in other runs.

        No more is won than all of the copies' time, as it was recorded.
        """
        slower = (PAGEABLE_D2H_SPREAD - 1) * taken
        longer = 1 + slower / self.span_seconds if self.span_seconds else 1.0
        without = self.bound(taken + self.lost_to_pageable_copies)
        return max(bound, bound * longer if without is None else min(bound * longer, without))

    def bound_without_profiler(self, saved: float) -> float | None:
        """Return the speed-up if *saved* idle seconds went, the profiler's part taken off first."""
        cost = min(self.launches * self.launch_overhead_seconds, saved)
        left = self.span_seconds - saved
        return (self.span_seconds - cost) / left if left > 0 else None

    @property
    def bound_without_host_gaps(self) -> float | None:
        """The speed-up if the long gaps went; a loop has one more than lie between its kernels.

        Fewer than three tell of no loop. With the gaps go the copies that are part of the same work, and where the GPU
        has mostly work in what is left, the idle time too that launches take until the host is ahead again.
        """
        loop = self.host_gaps >= GAPS_OF_A_LOOP
        gap = self.host_idle_seconds / self.host_gaps if loop else 0.0
        left = self._without_host_gaps
        if self.launches_go_with_host_work:
            left = max(left - self.launch_idle_seconds, self._busy_without_host_gaps)
        return (self.span_seconds + gap) / left if left > 0 else None

    @property
    def launches_go_with_host_work(self) -> bool:
        """Whether the GPU has mostly work without the host's long gaps, so that the host gets ahead."""
        return self._busy_without_host_gaps >= LAUNCH_BOUND_BUSY * self._without_host_gaps

    @property
    def _busy_without_host_gaps(self) -> float:
        return max(0.0, self.busy_seconds - self.host_copy_seconds)

    @property
    def _without_host_gaps(self) -> float:
        return max(self.span_seconds - self.lost_to_host_work, self._busy_without_host_gaps)

    @property
    def lost_to_host_work(self) -> float:
        """The seconds of the host's long gaps, and of the copies, with their calls, that are part of the same work."""
        copies = self.host_copy_seconds
        part = min(1.0, copies / self.exposed_copy_seconds) if self.exposed_copy_seconds else 0.0
        return self.host_idle_seconds + copies + part * self.copy_idle_seconds
