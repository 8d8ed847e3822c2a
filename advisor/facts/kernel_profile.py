"""What a profiler measured for one launch, in base units, whichever form its report has."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.timing import Work
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.peaks import TENSOR
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.facts.counted_lines import CountedLine, LineCount
    from gpuadvise.advisor.memory.number_types import NumberType

# Issuing, and being ready while another warp issues: no wait.
_NO_WAIT = frozenset((Stall.SELECTED, Stall.NOT_SELECTED))
_PURE = number(
    0.1, "additions and products per multiply-add of a product", "", "bodies and options have more"
)
_PURE_OF_PEAK = number(
    0.85,
    "FP32 peak per share of the FMA pipe",
    "",
    "measured on an H200: 0.89 to 1.0 for matrix products, 0.8 and less for other kernels",
)
# Nsight Compute's rule on additions and products that could be fused.
_UNFUSED = "FPInstructions"
# Of these capabilities an SM has 64 FP32 lanes, later ones 128 (programming guide, arithmetic throughput):
# its 4 schedulers issue 4 warps a cycle, 128 lanes.
_HALF_FP32 = ((6, 0), (7, 0), (7, 2), (7, 5), (8, 0))
_HALF_RATE = 0.5
_SCHEDULERS = 4
_SPECIAL_FUNCTIONS = 0.5  # instructions of a warp per cycle and SM: 16 lanes
# The page rounds the share of the FP32 peak to a whole percent.
_HALF_PERCENT = 0.005
# Operations of one thread's instruction. Half-precision instructions work on pairs.
_OPERATIONS = {
    "fp64": {"dadd": 1, "dmul": 1, "dfma": 2},
    "fp32": {"fadd": 1, "fmul": 1, "ffma": 2},
    "fp16": {"hadd": 2, "hmul": 2, "hfma": 4},
}


_LSU_OF_BUSIEST = number(
    0.5,
    "L1 beside the pipe to memory that a page does not name, where it is the load/store pipe",
    "of that pipe",
    "our judgement: else it is the one that resolves addresses",
)
_LSU_BESIDE_BARRIERS = number(
    0.9,
    "L1 beside that pipe where warps wait at barriers, which go through the pipe that resolves addresses",
    "of that pipe",
    "measured: 0.7 in a tree with a barrier per step",
    LaunchSet.NINTH,
)
_HALVES_OF_FMA = (Unit.FMA_HEAVY, Unit.FMA_LITE)
_ROUNDED = number(
    0.02,
    "rounding of a page",
    "share",
    "pages round to a hundredth, and derive some shares from others",
    LaunchSet.RECORDED,
)
# Compilers set registers to constants with HFMA2, which the counters take for arithmetic: no more per
# thread than this, beside no other arithmetic on 16 bits, is none.
_MOVES_PER_THREAD = number(
    8, "HFMA2 per thread that only set registers", "", "a transposition by ptxas 13.0"
)
_HALF_TYPES = ("half", "fp16", "bf16", "bfloat16", "float16")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilerRule:
    """What the profiler's own rules said, in its words."""

    name: str
    kind: str
    message: str
    estimated_speedup: float | None = None  # percent, as printed


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpRequests:
    """Requests of warps to global or local memory, of one kind; sectors have 32 bytes."""

    requests: float | None = None
    sectors: float | None = None
    used_bytes: float | None = None  # of a sector's 32, on average

    @property
    def sectors_per_request(self) -> float | None:
        """Sectors that one request moves: 4 where 32 threads read 4 bytes each in a row."""
        if self.sectors is None or not self.requests:
            return None
        return self.sectors / self.requests

    @property
    def bytes_used(self) -> float | None:
        """Bytes of all sectors that threads asked for."""
        if self.sectors is None or self.used_bytes is None:
            return None
        return self.sectors * self.used_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRequests:
    """Requests of warps to shared memory, of one kind, and the wavefronts they took.

    *conflicts* are the wavefronts that bank conflicts added, arbitration included.
    """

    requests: float | None = None
    wavefronts: float | None = None
    conflicts: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleSpread:
    """Cycles in which the instances of one unit were active: the least, mean and most of them."""

    least: float | None = None
    mean: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLimits:
    """Blocks that fit one SM by each resource, as the profiler computed them."""

    blocks: int | None = None
    registers: int | None = None
    shared_memory: int | None = None
    warps: int | None = None
    barriers: int | None = None


class _Computed:
    """Gives a slotted class room for what its cached properties computed."""

    __slots__ = ("__dict__",)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProfile(_Computed):
    """One profiled launch. Shares are 0-1, sizes bytes, times seconds; None is not known.

    Busy shares are of a unit's peak over the elapsed time of the launch. *pipes* maps a pipe
    (alu, fma, fma_heavy, fp16, fp64, tensor, xu, lsu, uniform, tex, tma, ...) to its share.
    *stalls* maps what a warp did (long_scoreboard, barrier, ..., also selected and
    not_selected) to the share of its time between two instructions; the details page names
    the largest one only.
    """

    kernel: str = ""
    mangled: str | None = None
    device: str | None = None
    capability: Capability | None = None
    sm_count: int | None = None
    code: int | None = None  # of a report file: the `ReportedCode` that ran
    number: int | None = None  # of the launch in its recording, from 0: the profiler's ID

    # The launch
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    cluster: tuple[int, int, int] | None = None
    registers: int | None = None
    static_shared: int | None = None
    dynamic_shared: int | None = None
    shared_configured: int | None = None  # of an SM's L1, for shared memory
    barriers: int | None = None
    waves: float | None = None  # per SM
    block_limits: BlockLimits = BlockLimits()

    # Time
    seconds: float | None = None
    elapsed_cycles: float | None = None
    sm_clock: float | None = None  # hertz
    sm_clock_limit: float | None = None
    memory_clock: float | None = None

    # Occupancy and issue
    theoretical_occupancy: float | None = None
    achieved_occupancy: float | None = None
    active_warps: float | None = None  # per scheduler
    eligible_warps: float | None = None  # per scheduler
    instructions: float | None = None  # executed, of warps
    executed_ipc: float | None = None  # per SM and active cycle
    issued_ipc: float | None = None
    warp_latency: float | None = None  # cycles between two instructions of a warp
    stalls: Mapping[str, float] = field(default_factory=dict)
    active_threads: float | None = None  # per executed instruction, of 32
    unpredicated_threads: float | None = None  # of those, with a true predicate

    # How busy the units are
    sm_busy: float | None = None  # the busiest of the SM's pipes and queues
    issue_busy: float | None = None
    memory_busy: float | None = None  # the busiest unit of the memory system
    memory_access_busy: float | None = None  # the busiest of what moves data in caches and DRAM
    memory_request_busy: float | None = None  # the busiest of the paths between them
    memory_pipes_busy: float | None = None  # the busiest of the SM's pipes to memory
    dram_busy: float | None = None
    l2_busy: float | None = None
    l1_busy: float | None = None
    lsu_wavefronts_busy: float | None = None  # L1's data stage: shared memory and hits in L1
    bank_reads_busy: float | None = None
    bank_writes_busy: float | None = None
    pipes: Mapping[str, float] = field(default_factory=dict)

    # Memory
    dram_read: float | None = None
    dram_written: float | None = None
    dram_bytes: float | None = None  # both
    host_sectors_read: float | None = None  # over the link, of 32 bytes
    l1_hit_rate: float | None = None
    l1_load_hit_rate: float | None = None  # of global loads
    l2_hit_rate: float | None = None
    global_sectors: float | None = None  # by the addresses of all accesses
    global_sectors_ideal: float | None = None
    global_loads: WarpRequests = WarpRequests()
    global_stores: WarpRequests = WarpRequests()
    local_loads: WarpRequests = WarpRequests()
    local_stores: WarpRequests = WarpRequests()
    spill_requests: float | None = None
    shared_wavefronts: float | None = None  # by the addresses of all accesses
    shared_wavefronts_ideal: float | None = None
    shared_loads: SharedRequests = SharedRequests()
    shared_stores: SharedRequests = SharedRequests()
    global_reductions: WarpRequests = WarpRequests()  # atomics without a result
    global_atomics: WarpRequests = WarpRequests()
    shared_atomics: float | None = None  # instructions of warps
    shared_atomics_busy: float | None = None  # of what L1 and shared memory can pass on

    # Work: thread instructions by name (ffma, dadd, ...), operations on tensor cores by type
    float_instructions: Mapping[str, float] = field(default_factory=dict)
    tensor_operations: Mapping[NumberType, float] = field(default_factory=dict)
    fp32_of_peak: float | None = None  # outside of tensor cores; a fused multiply-add counts two

    # Balance
    sm_cycles: CycleSpread = CycleSpread()
    l1_cycles: CycleSpread = CycleSpread()
    l2_cycles: CycleSpread = CycleSpread()
    dram_cycles: CycleSpread = CycleSpread()

    rules: tuple[ProfilerRule, ...] = ()
    # Of code with line information: the lines that take most, the first the most.
    lines: Mapping[LineCount, tuple[CountedLine, ...]] = field(default_factory=dict)
    # Likewise: the share of the executed instructions at each line, by file and line.
    executed: Mapping[tuple[str, int], float] = field(default_factory=dict)
    # Of the fields above those whose counters the recording names without a number (NaN), and those of
    # a unit's busy share that it neither has nor covers by the busiest of several units
    missing: frozenset[str] = frozenset()

    @cached_property  # most rules ask for it
    def top_stall(self) -> tuple[str, float] | None:
        """What warps waited for longest, with its share of their time."""
        waits = ((why, share) for why, share in self.stalls.items() if why not in _NO_WAIT)
        return max(waits, key=lambda wait: wait[1], default=None)

    @cached_property  # and for these
    def unit_shares(self) -> Mapping[str, float]:
        """How busy each known unit is, as a share of its peak over the launch's time."""
        of_l1 = (
            self.l1_busy,
            self.lsu_wavefronts_busy,
            self.bank_reads_busy,
            self.bank_writes_busy,
        )
        known = {
            Unit.DRAM: self.dram_busy,
            Unit.L2: self.l2_busy,
            Unit.L1_SHARED: max((share for share in of_l1 if share is not None), default=None),
            Unit.ISSUE: self.issue_busy,
        }
        shares: dict[str, float] = {
            unit: share for unit, share in known.items() if share is not None
        }
        for pipe, share in self.pipes.items():
            unit = Unit.FMA if pipe in _HALVES_OF_FMA else pipe
            shares[unit] = max(share, shares.get(unit, 0.0))
        # What no named unit explains: a page may have the maximum over several units only.
        for unit, maximum in ((self._unnamed_pipe, self.sm_busy), (Unit.MEMORY, self.memory_busy)):
            if maximum is not None and maximum > max(shares.values(), default=0.0) + _ROUNDED:
                shares[unit] = maximum
        return shares

    @property
    def _unnamed_pipe(self) -> str:
        """Which pipe of the SM is busiest where a page gives its share without its name.

        Pages count the pipes to memory apart, and of the others never name the special functions',
        which warps wait for in the queue of shared memory.
        """
        busiest, to_memory = self.sm_busy or 0.0, self.memory_pipes_busy
        wait = (self.top_stall or ("", 0.0))[0]
        if to_memory is not None and to_memory >= busiest - _ROUNDED:
            least = _LSU_BESIDE_BARRIERS if wait == Stall.BARRIER else _LSU_OF_BUSIEST
            return Unit.LSU if (self.l1_busy or 0.0) >= least * busiest else Unit.ADU
        if wait in (Stall.MIO_THROTTLE, Stall.SHORT_SCOREBOARD):
            return Unit.XU
        return Unit.COMPUTE

    @property
    def busiest_pipe(self) -> tuple[str, float] | None:
        """The pipe closest to its peak, with its share of it."""
        return max(self.pipes.items(), key=lambda pipe: pipe[1], default=None)

    @cached_property  # and for this, on products
    def multiply_adds(self) -> float | None:
        """Fused multiply-adds of 16 or 32 bits as a share of all instructions; None unless pure.

        Pure is what hardly makes another addition or product. Without counts of instructions the
        FMA pipe's share stands for it, and the share of the FP32 peak says whether it is pure.
        """
        counts = self.float_instructions
        if not counts or not self.instructions:
            pipe = self.pipes.get(Unit.FMA) or 0.0
            if pipe and (self.fp32_of_peak or 0.0) >= _PURE_OF_PEAK * pipe:
                return pipe
            return self._unspoken_multiply_adds
        single, half = counts.get("ffma", 0.0), counts.get("hfma", 0.0)
        # HADD2.F32 turns a 16-bit operand into one of 32 bits; half-precision sums come with half products.
        names = ("fadd", "fmul", "hmul", *(() if single > half else ("hadd",)))
        fused, plain = single + half, sum(counts.get(name, 0.0) for name in names)
        return fused / WARP_SIZE / self.instructions if plain <= _PURE * fused else None

    @property
    def _unspoken_multiply_adds(self) -> float | None:
        """Fused multiply-adds per instruction by the FP32 peak; None where a rule names other operations.

        The profiler's rule on fusing speaks from about 0.3 other operations per fused one on.
        """
        known = self.rules and self.fp32_of_peak and self.issue_busy and self.capability
        if not known or any(rule.name == _UNFUSED for rule in self.rules):
            return None
        return min(1.0, (self.fp32_of_peak or 0.0) * self._fp32_rate / (self.issue_busy or 1.0))

    @property
    def is_without_counts(self) -> bool:
        """Whether a page with the profiler's own rules says nothing of requests to global memory."""
        return bool(self.rules) and self.global_loads.requests is None

    @property
    def single_instructions(self) -> float | None:
        """Floating-point instructions of 16 and 32 bits as a share of all, at least; None: not known.

        Without counts the share of the FP32 peak tells: as many as if each were a fused one.
        """
        counts = self.float_instructions
        if counts and self.instructions:
            single = sum(count for name, count in counts.items() if name not in _OPERATIONS["fp64"])
            return min(1.0, single / WARP_SIZE / self.instructions)
        if self.fp32_of_peak is None or not self.issue_busy:
            return None
        return max(0.0, self.fp32_of_peak - _HALF_PERCENT) * self._fp32_rate / self.issue_busy

    @property
    def arithmetic_instructions(self) -> float:
        """Floating-point instructions of any width as a share of all, at least; 0: none is known of."""
        counts = self.float_instructions
        if counts and self.instructions:
            return min(1.0, sum(counts.values()) / WARP_SIZE / self.instructions)
        return self.single_instructions or 0.0

    @property
    def special_functions(self) -> float | None:
        """Instructions of warps on the pipe of special functions and conversions; None: not known."""
        cycles = (self.elapsed_cycles or 0.0) * (self.sm_count or 0)
        if Unit.XU not in self.pipes or not cycles:
            return None
        return self.pipes[Unit.XU] * cycles * _SPECIAL_FUNCTIONS

    @property
    def kept_instructions(self) -> float:
        """Instructions as a share of all that work on 16 and 32 bits or ask global and shared memory, at least.

        No more is known of what a change leaves that takes local memory or double precision away.
        """
        ways = (self.global_loads, self.global_stores, self.shared_loads, self.shared_stores)
        requests = sum(way.requests or 0.0 for way in ways)
        asking = requests / self.instructions if self.instructions else 0.0
        return min(1.0, asking + (self.single_instructions or 0.0))

    @property
    def _fp32_rate(self) -> float:
        """FP32 instructions of warps that an SM takes per one that it issues."""
        half = self.capability and (self.capability.major, self.capability.minor) in _HALF_FP32
        return _HALF_RATE if half else 1.0

    @property
    def memory_instructions(self) -> float | None:
        """Instructions to memory as a share of all, by how busy their pipes are: one per cycle and SM."""
        if self.memory_pipes_busy is None or not self.issue_busy:
            return None
        return min(1.0, self.memory_pipes_busy / (_SCHEDULERS * self.issue_busy))

    @cached_property
    def float_operations(self) -> Mapping[str, float]:
        """Operations outside of tensor cores by type: fp64, fp32, fp16; a fused one counts two.

        Without the instructions on 16 bits that only set registers.
        """
        executed = dict(self.float_instructions)
        if self._moves_by_half_instructions:
            executed["hfma"] = 0.0
        return {
            number_type: sum(count * executed.get(name, 0.0) for name, count in counts.items())
            for number_type, counts in _OPERATIONS.items()
            if any(name in executed for name in counts)
        }

    @property
    def _moves_by_half_instructions(self) -> bool:
        """Whether the fused instructions on 16 bits are few, alone, and in no kernel of such a type."""
        executed = self.float_instructions
        if self.grid is None or self.block is None or "hfma" not in executed:
            return False
        if executed.get("hadd") or executed.get("hmul"):
            return False
        if any(name in self.kernel.lower() for name in _HALF_TYPES):
            return False
        threads = prod(self.grid) * prod(self.block)
        return executed["hfma"] <= _MOVES_PER_THREAD * threads

    @property
    def work(self) -> Work | None:
        """Operations in the busiest type, DRAM traffic and time; None where one of them is missing.

        A launch without floating-point or tensor operations, such as a transposition, has no
        place under a roofline: None, too.
        """
        if self.missing & {"float_instructions", "tensor_operations"}:
            return None  # the busiest type may be among those that were not counted
        counts = {f"{kind}{TENSOR}": count for kind, count in self.tensor_operations.items()}
        counts |= self.float_operations
        if not self.seconds or not self.dram_bytes or not any(counts.values()):
            return None
        dtype = max(counts, key=lambda kind: counts[kind])
        return Work(
            flops=counts[dtype],
            bytes=self.dram_bytes,
            dtype=dtype,
            seconds=self.seconds,
            tensor=dtype.endswith(TENSOR),
        )

    @property
    def is_idle(self) -> bool:
        """Whether all that ``work`` is about was counted, and no operation was among it."""
        if self.missing & {"float_instructions", "tensor_operations"} or not self.float_operations:
            return False
        counted = self.seconds is not None and self.dram_bytes is not None
        return counted and not any(
            (*self.float_operations.values(), *self.tensor_operations.values())
        )

    @cached_property
    def launch(self) -> Launch | None:
        """The launch as the occupancy model sees it; None where no launch can be like that."""
        if self.block is None:
            return None
        try:
            return Launch(
                threads=self.block[0] * self.block[1] * self.block[2],
                registers=self.registers,
                static_shared=self.static_shared or 0,
                dynamic_shared=self.dynamic_shared or 0,
                max_dynamic_shared=self.dynamic_shared,  # it ran, so the attribute was set
                barriers=1 if self.barriers is None else self.barriers,
                block_dim=self.block,
                grid_dim=self.grid,
                cluster_dim=self.cluster or (1, 1, 1),
            )
        except BadInput:
            return None  # a damaged report: no evidence
