"""Global bytes that one block reads several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import (
    AT_ROOF,
    L2_AT_ROOF,
    NEARLY_BUSY,
    AtRoof,
    IssueBound,
    LatencyBound,
)
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.memory.number_types import NumberType
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.occupancy.model import occupancy as model
from gpuadvise.advisor.quantity import show_bytes, show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.evidence import derived, given, profiled
from gpuadvise.rules.gain_bounds import relieved
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Conflict,
    Examples,
    Family,
    Gain,
    GainKind,
    Kind,
    Priority,
    Rule,
    Topic,
    Verdict,
    undecided,
)
from gpuadvise.rules.occupancy_words import occupancy_change
from gpuadvise.rules.sources import guide
from gpuadvise.rules.thresholds import LONG_WAIT
from gpuadvise.rules.workload import shared_memory_share

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.application import Reuse
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.occupancy.answer import Occupancy

# Caches mostly hide what is read up to twice.
TWICE = number(
    2.0,
    "reads per byte",
    "reads",
    "our judgement of guide 10.2.3.2: caches mostly hide what is read twice",
    LaunchSet.RECORDED,
)
FOUND = number(0.7, "loads found in L1", "share", "our judgement", LaunchSet.RECORDED)
_FOUND_UNCOUNTED = number(
    0.85,
    "loads found in L1, on a page that does not count them",
    "share",
    "fields of a structure, each read once, are found 74 % of the time",
    LaunchSet.RECORDED,
)
LOADS = number(
    0.2, "loads from global memory", "share of instructions", "our judgement", LaunchSet.RECORDED
)
# What L1 misses and L2 has: each sector is asked for 10 times after it came from device memory,
# for a profiler empties the caches before each launch.
FOUND_IN_L2 = number(
    0.9,
    "found in L2",
    "share",
    "our judgement: 10 reads of each sector, where caches were emptied before",
    LaunchSet.RECORDED,
)
L2_BUSY = number(
    0.3,
    "L2 at work for loads that come again",
    "share of its peak",
    "our judgement",
    LaunchSet.RECORDED,
)
DRAM_IDLE = number(
    0.05, "device memory nearly idle", "share of its peak", "our judgement", LaunchSet.RECORDED
)
# Bytes that loads use, for each that device memory reads, where L1 or L2 is the limit: profilers empty the
# caches before a launch, so that each needed byte comes from there once. A row read in three passes, or the
# taps of a filter; two passes are TWICE, which caches hide.
READS = number(
    3.0,
    "bytes asked of the caches",
    "bytes per byte read from device memory",
    "our judgement: a row in three passes; caches hide two",
    LaunchSet.FOURTH,
)
_PASS = number(
    128.0,
    "bytes that a pass of shared memory moves",
    "bytes",
    "programming guide: 32 banks of 4 bytes",
)
_WHOLE = number(
    16.0,
    "bytes used of a sector, before reuse counts",
    "bytes",
    "our judgement: with fewer, coalescing comes first",
    LaunchSet.FOURTH,
)
# Gathers: what L1 has of a sector used in part is often its other words, which a tile does not save.
_STRUCTURES = number(
    20.0,
    "bytes used of a sector that L1 hardly has",
    "bytes",
    "measured: 18 of gathers of 16 bytes by a list of indices, 25 to 30 of stencils and passes over rows",
    LaunchSet.SEVENTH,
)
_GATHERED = number(
    8.0,
    "bytes used of a sector of which L2 has the rest",
    "bytes",
    "measured: 4.0 to 4.3 of random jumps, chains and rows of a sparse product; 10.7 of state that each step reads",
    LaunchSet.SEVENTH,
)
_PARTS_READ = number(
    10.0,
    "bytes asked of the caches, by sectors used in part",
    "bytes per byte read from device memory",
    "measured: 4.5 of neighbour lists, 16 to 1000 of products and filters along the wrong axis",
    LaunchSet.SEVENTH,
)
# Passes over the same rows also fill issue slots.
REQUESTS = number(
    0.033,
    "loads and stores that fill issue slots",
    "share of instructions",
    "as for narrow-loads: with their addresses a fifth of the instructions",
    LaunchSet.SIXTH,
)
FOR_LOADS = number(
    1 / 3,
    "wait for loads beside issue slots",
    "share of a warp's time",
    "measured: 0.39 to 0.66 in two norms, a softmax and two filters that read each byte 3 to 18 times (H100, H200)",
    LaunchSet.SIXTH,
)
HALF_ISSUED = number(
    0.55,
    "issue slots of a kernel that waits",
    "share",
    "our judgement: somewhat below what counts as their roof",
    LaunchSet.SIXTH,
)
_OWN_BYTES = number(
    32.0,
    "bytes of a request, one of each lane",
    "bytes",
    "with fewer, lanes share what they load",
    LaunchSet.SIXTH,
)
_HALF_WORDS = number(
    70.0,
    "bytes of a request by words of two bytes",
    "bytes",
    "64, and what rounding adds",
    LaunchSet.SIXTH,
)
_STREAMED = number(
    1.8,
    "L2's share per DRAM's where data stream",
    "",
    "as for narrow-loads",
    LaunchSet.SIXTH,
)
# Passes of shared memory per operation on tensor cores from which on hardly an operand stays in registers: an
# instruction of 16 x 8 x 16 halves (4,096 operations) takes 512 and 256 bytes, which are 6 passes. Measured are
# 6 to 8 with tiles of 16 x 16 to 32 x 32, and 1 with tiles of 128 x 128.
_INSTRUCTION = 16 * 16 * 16
ANEW = number(
    5,
    "passes of shared memory",
    "per 4,096 tensor operations in 16 bits",
    "an instruction of 16 x 8 x 16 takes 6; measured are 1 with large tiles",
    LaunchSet.FIFTH,
)
_OWN_INSTRUCTIONS = number(
    2.0, "work of Hopper's own tensor instructions per older one", "", "data sheets: twice the rate"
)
_TILE = number(
    8.0, "loads that a tile of 8 x 8 results per thread replaces with one", "", "arithmetic"
)
# The same 16 bytes at a time: measured are 0.191 of the instructions of a product that loads two words for
# each multiply-add, where this leaves 0.199.
FEWER_LOADS = number(
    32.0,
    "loads that a tile saves",
    "of which one is left beside the floating-point instructions: what bounds the gain",
    "8 x 8 results per thread, read 16 bytes at a time; measured on an H100",
    LaunchSet.FOURTH,
)


def check(
    reuse: Reuse | None = None,
    occupancy: Occupancy | None = None,
    profile: KernelProfile | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise to stage data in shared memory that a block reads more than once."""
    if reuse is None:
        return _profiled(profile, limiter) if profile else PASSED
    if reuse.staged or reuse.factor <= TWICE:
        return PASSED
    then = _with_tile(reuse, occupancy)
    total = reuse.total_bytes
    traffic = (
        f": {show_bytes(total)} now, {show_bytes(int(total / reuse.factor))} if each is read once"
        if total
        else ""
    )
    return Advice(
        message=f"A block reads the same global bytes {reuse.factor:g} times{traffic}.",
        action=(
            f"Load a tile of {show_bytes(reuse.tile_bytes)} into shared memory with coalesced "
            f"reads, __syncthreads(), and read it there{_price(occupancy, then)}."
        ),
        evidence=(
            given("reads per byte", reuse.factor, "reads"),
            given("tile", reuse.tile_bytes, "bytes"),
        ),
        gain=Gain(kind=GainKind.GLOBAL_TRAFFIC, upper_bound=reuse.factor, how="reads per byte / 1"),
        priority=Priority.LOW if _too_dear(reuse, occupancy, then) else None,
    )


def _profiled(profile: KernelProfile, limiter: Limiter | None) -> Verdict:
    hit, share = profile.l1_load_hit_rate or profile.l1_hit_rate, _loads(profile)
    if hit is None:
        return undecided("profile.l1_hit_rate")
    reads = _reads_at_roof(profile, limiter)
    if reads is not None and reads >= READS and _by_loads(profile, reads):
        return _requested_again(profile, reads, share)
    if _from_l2(profile, hit, limiter):
        return _read_again(profile)
    if (passes := _operands_anew(profile, limiter)) is not None:
        return _through_fragments(profile, passes)
    if _fetched_again(profile, limiter):
        return _through_textures(profile)
    # Of copies straight to shared memory no used bytes are counted, which are 0 reads.
    if reads is not None or (_counted_reads(profile) or READS) < READS:
        return PASSED
    if hit < FOUND or not isinstance(limiter, AtRoof | LatencyBound):
        return PASSED
    waits = profile.top_stall
    throttled = waits is not None and waits[0] == Stall.LG_THROTTLE and waits[1] >= LONG_WAIT
    if share is None and _names_local_memory(profile):
        return PASSED  # what L1 has, and what warps queue for, are values of their own threads
    # Without a count of loads, warps that queue for them tell that there are many, or how busy the pipes to
    # memory are where nothing but loads goes through them.
    often = share >= LOADS if share is not None else throttled or _only_loads(profile, hit)
    if not often or not (isinstance(limiter, AtRoof) or throttled):
        return PASSED
    relief = relieved(profile, 1e6, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.COMPUTE)
    relief |= _asked_of_l2_once(profile)
    instructions = _instructions_left(profile, share or profile.memory_instructions or 1 / 4)
    relief |= _computing(profile, instructions)
    counted = () if share is None else (profiled("loads / instructions", share, "share"),)
    return Advice(
        message=(
            f"L1 has {show_share(hit)} of what warps load from global memory already, and they queue "
            "for it: the same bytes are read again and again."
        ),
        action=(
            "Load a tile once into shared memory, __syncthreads(), and read it there; better still, let "
            "each thread compute several results from values in registers (4 x 4 or 8 x 8 in a product)."
        ),
        evidence=(profiled("L1 hit rate", hit, "share"), *counted),
        relief=relief,
        left={Unit.ISSUE: f"with {show_share(instructions)} of the instructions"},
    )


def _operands_anew(profile: KernelProfile, limiter: Limiter | None) -> float | None:
    """Return the passes of shared memory per operation on tensor cores where hardly an operand is used twice; else None."""
    counts = profile.tensor_operations
    halves = sum(counts.get(kind) or 0.0 for kind in (NumberType.FP16, NumberType.BF16))
    others = sum(count or 0.0 for count in counts.values()) - halves
    at_l1 = isinstance(limiter, AtRoof) and limiter.unit in (Unit.L1_SHARED, Unit.LSU)
    if not halves or others or not at_l1 or _busy_with_conflicts(profile, profile.l1_busy or 0.0):
        return None
    passes = (profile.shared_wavefronts_ideal or 0.0) / halves
    return passes if passes * _INSTRUCTION >= ANEW else None


def _through_fragments(profile: KernelProfile, passes: float) -> Advice:
    busy = profile.l1_busy or 0.0
    relief = relieved(profile, 1e6, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.ADU)
    relief |= relieved(profile, _TILE, Unit.ISSUE, Unit.COMPUTE, Unit.L2, Unit.DRAM)
    return Advice(
        message=(
            f"Shared memory takes {show_number(passes * 4096)} passes per 4,096 operations on tensor cores, where an "
            f"instruction's own operands are 6, and L1 is {show_share(busy)} busy: hardly an operand is used twice."
        ),
        action=(
            "Let a warp compute a larger tile (32 x 64 results or more, 64 x 64 to 128 x 128 per block of 4 to 8 warps), "
            "so that what it loads once serves several instructions; in Triton, raise BLOCK_M and BLOCK_N."
        ),
        evidence=(
            derived("shared-memory passes per 4,096 tensor operations", passes * 4096, "passes"),
            profiled("L1 busy", busy, "share"),
        ),
        relief=relief | relieved(profile, _OWN_INSTRUCTIONS, Unit.TENSOR),
    )


def _fetched_again(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether warps queue for texture fetches, of which L1 has nearly all."""
    waits = profile.top_stall
    return (
        isinstance(limiter, AtRoof)
        and limiter.unit == Unit.L1_SHARED
        and waits is not None
        and waits[0] == Stall.TEX_THROTTLE
        and waits[1] >= LONG_WAIT
        and (profile.l1_hit_rate or 0.0) >= FOUND
    )


def _through_textures(profile: KernelProfile) -> Advice:
    hit, wait = profile.l1_hit_rate or 0.0, (profile.top_stall or ("", 0.0))[1]
    return Advice(
        message=(
            f"{show_share(wait)} of a warp's time is a queue for texture fetches, of which L1 has {show_share(hit)}: "
            "the same texels are fetched again and again."
        ),
        action=(
            "Fetch a tile and its border once into shared memory, __syncthreads(), and read it there; let a thread "
            "compute several results from what it fetched, and take 4 neighbours in one tex2Dgather()."
        ),
        evidence=(
            profiled("L1 hit rate", hit, "share"),
            profiled("stall tex_throttle", wait, "share"),
        ),
        relief=relieved(profile, 1e6, Unit.L1_SHARED, Unit.TEX, Unit.MEMORY, Unit.COMPUTE),
    )


def _from_l2(profile: KernelProfile, hit: float, limiter: Limiter | None) -> bool:
    """Return whether L1 and L2 are busy with bytes that hardly come from device memory."""
    waits = profile.top_stall
    return (
        isinstance(limiter, AtRoof)
        and limiter.unit in (Unit.L1_SHARED, Unit.LSU, Unit.L2)
        and not (limiter.unit != Unit.L2 and _busy_with_conflicts(profile, limiter.share))
        and hit < FOUND
        and not profile.spill_requests
        and not 0 < (profile.global_loads.used_bytes or 0.0) < _GATHERED
        and (profile.l2_hit_rate or 0.0) >= FOUND_IN_L2
        and (profile.l2_busy or 0.0) >= L2_BUSY
        and profile.dram_busy is not None
        and profile.dram_busy <= DRAM_IDLE
        and waits is not None
        and waits[0] in (Stall.LONG_SCOREBOARD, Stall.LG_THROTTLE)
        and waits[1] >= LONG_WAIT
    )


def _busy_with_conflicts(profile: KernelProfile, share: float) -> bool:
    """Return whether bank conflicts alone are half of L1's *share*."""
    conflicts = (profile.shared_wavefronts or 0.0) - (profile.shared_wavefronts_ideal or 0.0)
    return (shared_memory_share(profile, conflicts) or 0.0) > share / 2


def _read_again(profile: KernelProfile) -> Advice:
    hit_rate, dram = profile.l2_hit_rate or 0.0, profile.dram_busy or 0.0
    times = 1 / (1 - min(hit_rate, 0.999))
    relief = relieved(profile, 1e6, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.L2, Unit.ADU)
    if any(profile.tensor_operations.values()):  # all else works out where operands lie
        relief |= relieved(profile, _TILE, Unit.FMA, Unit.ALU)
        relief |= relieved(profile, _OWN_INSTRUCTIONS, Unit.TENSOR)
    return Advice(
        message=(
            f"L2 has {show_share(hit_rate)} of what blocks load, and device memory is {show_share(dram)} "
            f"busy: each sector is read about {show_number(times)} times from L2, while warps wait for it."
        ),
        action=(
            "Let a block compute a larger tile (64 x 64 or 128 x 128 results of a product, with 4 to 8 "
            "warps), so that what it loads once serves more results; in Triton, raise BLOCK_M and BLOCK_N."
        ),
        evidence=(
            profiled("L2 hit rate", hit_rate, "share"),
            profiled("L2 busy", profile.l2_busy or 0.0, "share"),
            profiled("device memory busy", dram, "share"),
        ),
        relief=relief | relieved(profile, _TILE, Unit.ISSUE, Unit.COMPUTE),
    )


def _reads_at_roof(profile: KernelProfile, limiter: Limiter | None) -> float | None:
    """Return the bytes that loads use for each that device memory reads, where that keeps a cache busy; else None.

    A page without counts has the sectors that all accesses need, and the bytes that device memory moved.
    """
    if not _at_roof(profile, limiter):
        return None
    loads, needed = profile.global_loads, profile.global_sectors_ideal
    if loads.requests is None and needed and profile.dram_bytes:
        return needed * SECTOR / profile.dram_bytes
    return _counted_reads(profile)


def _counted_reads(profile: KernelProfile) -> float | None:
    """Return the bytes that loads use for each that device memory reads, where a page counts both; else None."""
    loads = profile.global_loads
    if loads.sectors is None or loads.used_bytes is None or not profile.dram_read:
        return None
    return loads.sectors * loads.used_bytes / profile.dram_read


def _at_roof(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether L1 or L2 is at its roof, or issue slots with what loads need, with room in device memory."""
    l2, dram = profile.l2_busy or 0.0, profile.dram_busy or 0.0
    if isinstance(limiter, LatencyBound):
        return (profile.issue_busy or 0.0) >= HALF_ISSUED and _issues_loads(profile)
    if isinstance(limiter, IssueBound):
        at_roof = max(profile.l1_busy or 0.0, l2) >= AT_ROOF or _issues_loads(profile)
        return at_roof and dram < AT_ROOF
    if not isinstance(limiter, AtRoof):
        return False
    beside = limiter.unit == Unit.DRAM and l2 >= L2_AT_ROOF and dram < NEARLY_BUSY
    return beside or limiter.unit in (Unit.L1_SHARED, Unit.LSU, Unit.L2)


def _issues_loads(profile: KernelProfile) -> bool:
    """Return whether loads of many words, with their addresses, are a notable part of what is issued and waited for."""
    loads, stores, wait = profile.global_loads, profile.global_stores, profile.top_stall
    requests = (loads.requests or 0.0) + (stores.requests or 0.0)
    bytes_used = (loads.sectors_per_request or 0.0) * (loads.used_bytes or 0.0)
    if bytes_used <= _HALF_WORDS and (profile.l2_busy or 0.0) <= _STREAMED * (
        profile.dram_busy or 0.0
    ):
        return False  # narrow-loads says what helps
    return (
        wait is not None
        and wait[0] == Stall.LONG_SCOREBOARD
        and wait[1] >= FOR_LOADS
        and requests >= REQUESTS * (profile.instructions or 0.0)
        and bytes_used >= _OWN_BYTES
    )


def _by_loads(profile: KernelProfile, reads: float) -> bool:
    """Return whether what loads ask of the caches is neither a tile's, nor left of sectors used in part.

    What L1 has of such sectors may be their other words: there the bytes must be read more often.
    """
    held = (profile.l1_load_hit_rate or profile.l1_hit_rate or 0.0) >= FOUND
    used = profile.global_loads.used_bytes or 0.0
    again = used >= (_WHOLE if held else _STRUCTURES) or (held and reads >= _PARTS_READ)
    return again and not _staged(profile) and not _local(profile)


def _local(profile: KernelProfile) -> bool:
    """Return whether a thread's own memory is asked as often as global memory, or registers are spilled."""
    local = (profile.local_loads.requests or 0.0) + (profile.local_stores.requests or 0.0)
    return _names_local_memory(profile) or local > (profile.global_loads.requests or 0.0)


def _staged(profile: KernelProfile) -> bool:
    """Return whether as many bytes pass shared memory as loads bring: a tile is stored there and loaded.

    Where a page does not count loads, all shared memory is taken for a tile.
    """
    loads = profile.global_loads
    if loads.requests is None:
        return bool(profile.static_shared or profile.dynamic_shared)
    brought = (loads.sectors or 0.0) * (loads.used_bytes or 0.0)
    copied = brought == 0  # pages count no used bytes for copies straight to shared memory
    return copied or (profile.shared_wavefronts_ideal or 0.0) * _PASS >= brought


def _requested_again(profile: KernelProfile, reads: float, share: float | None) -> Advice:
    counted = () if share is None else (profiled("loads / instructions", share, "share"),)
    loads = share if share is not None else profile.memory_instructions or 1 / 4
    relief = relieved(profile, reads, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.ADU, Unit.COMPUTE)
    relief |= _asked_of_l2_once(profile)
    instructions = _instructions_left(profile, loads)
    relief |= _computing(profile, instructions)
    part = f", and are {show_share(share)} of the instructions" if share is not None else ""
    return Advice(
        message=(
            f"Loads ask L1 and L2 {show_number(reads)} times for each byte that comes from device memory{part}: "
            "the caches are busy with the same bytes."
        ),
        action=(
            "Load a tile with its border once into shared memory, __syncthreads(), and read it there; or let a "
            "thread compute 4 to 8 neighbouring results and keep in registers what the next one needs too. A row that "
            "several passes read fits into the registers of a block."
        ),
        evidence=(profiled("bytes loaded / bytes read from device memory", reads, ""), *counted),
        relief=relief,
        separate=True,  # the bytes are those that loads use, however many they move
        left={Unit.ISSUE: f"with {show_share(instructions)} of the instructions"},
    )


def _instructions_left(profile: KernelProfile, loads: float) -> float:
    """Return what a tile leaves of the instructions, at least, where *loads* of them load.

    What computes stays, where that is floating point; addresses and loops go with the loads. Of integer
    work nobody knows what are addresses: as many again as there are loads.
    """
    computing = profile.single_instructions
    return min(1.0, computing + loads / FEWER_LOADS) if computing else 1 - min(2 * loads, 0.9)


def _asked_of_l2_once(profile: KernelProfile) -> dict[str, float]:
    """Return how busy L2 is without what it has, which was read before: the rest comes from device memory once."""
    return relieved(profile, 1 / (1 - min(profile.l2_hit_rate or 0.0, 0.999)), Unit.L2)


def _computing(profile: KernelProfile, instructions: float) -> dict[str, float]:
    """Return how busy the SM's units are with a part of the *instructions*."""
    relief = relieved(profile, 1 / instructions, Unit.ISSUE, Unit.FMA, Unit.ALU, Unit.CBU)
    if Unit.FMA in relief:
        relief[Unit.FMA] = max(relief[Unit.FMA], profile.fp32_of_peak or 0.0)
    return relief


def _names_local_memory(profile: KernelProfile) -> bool:
    return bool(profile.spill_requests or profile.local_loads.used_bytes)


def _only_loads(profile: KernelProfile, hit: float) -> bool:
    """Return whether instructions to memory are many, and can hardly be anything but global loads."""
    shared = profile.static_shared or profile.dynamic_shared
    local = _names_local_memory(profile)
    many = (profile.memory_instructions or 0.0) >= LOADS
    return many and hit >= _FOUND_UNCOUNTED and not shared and not local


def _loads(profile: KernelProfile) -> float | None:
    """Return loads from global memory per instruction."""
    loads = profile.global_loads.requests
    return None if loads is None or not profile.instructions else loads / profile.instructions


def _with_tile(reuse: Reuse, occupancy: Occupancy | None) -> Occupancy | None:
    """Return the occupancy with the tile in shared memory beside what is there."""
    if occupancy is None or not occupancy.launchable:
        return None
    launch = occupancy.launch
    more = launch.but(dynamic_shared=launch.dynamic_shared + reuse.tile_bytes)
    return model(occupancy.hardware, more)


def _too_dear(reuse: Reuse, occupancy: Occupancy | None, then: Occupancy | None) -> bool:
    """Return whether the tile costs more warps than it saves reads."""
    if occupancy is None or then is None:
        return False
    return then.occupancy * reuse.factor < occupancy.occupancy


def _price(occupancy: Occupancy | None, then: Occupancy | None) -> str:
    if occupancy is None or then is None:
        return ""
    return f"; {occupancy_change(occupancy, then)}"


RULE = Rule(
    id="redundant-global-loads",
    title="Keep reused data in shared memory",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.APPLICATION, Kind.PROFILE),
    family=Family.REUSE,
    recommendation=True,
    why="Shared memory serves repeated reads at many times the rate of device memory.",
    when=(
        "A block reads the same global bytes more than twice and does not stage them, or a profile shows a fifth of the "
        "instructions loading from global memory, 70 % of it found in L1, as the limit; or L1 or L2 at its roof, with 90 % "
        "of it found in L2 and device memory idle, or with each byte loaded 3 times that passes no tile in shared memory, 10 times "
        "where less than half a sector is used (at "
        "60 % beside issue slots that are busier, while device memory is not; or at issue slots of 55 % and more of which loads and "
        "stores of whole words are 3.3 %, where warps wait for loads a third of their time), or by products of halves on tensor cores whose "
        "operands are loaded from shared memory for each instruction; "
        "or texture fetches at that roof for which warps wait 40 % of their time, 70 % of them found in L1."
    ),
    citations=guide("10.2.3.2", "9.2.2.2"),
    silenced_by=("uncoalesced-access",),
    conflicts_with=(
        Conflict(
            rule="shared-memory-limited-occupancy",
            decide=(
                "These pull in opposite directions: a tile in shared memory saves global traffic, but"
                " shared memory already limits occupancy. Keep the tile if the traffic it saves "
                "shortens the run time."
            ),
            implied="low-occupancy",
        ),
    ),
    author_only=True,
    check=check,
    either=("reuse", "profile"),
    examples=Examples(
        fires={
            "gpu": "h200",
            "regs": 32,
            "block": 256,
            "reuse": {"factor": 16, "tile": "8KiB", "bytes": "4GiB"},
        },
        quiet={"reuse": {"factor": 16, "tile": "8KiB", "staged": True}},
        edges=(
            {"reuse": {"factor": 2.1, "tile": "8KiB"}},
            {"reuse": {"factor": 2, "tile": "8KiB"}},
        ),
    ),
)
