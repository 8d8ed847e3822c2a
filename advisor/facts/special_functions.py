"""What the pipe of special functions serves: conversions between float and double, divisions of integers.

It converts numbers and takes reciprocals. Neither is counted by itself: a busy pipe beside few
floating-point instructions, or beside FP64 ones, tells them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import waits_for
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

CONVERTING = number(
    0.6,
    "special functions pipe beside a busy FP64 pipe",
    "share of its peak",
    "our judgement: conversions run there, and both busy together are float data in double",
    LaunchSet.RECORDED,
)
COMPUTING = number(
    0.2, "FP64 pipe beside conversions", "share of its peak", "our judgement", LaunchSet.RECORDED
)
CONVERTING_FLOATS = number(
    0.2,
    "special functions pipe of a kernel that takes float and no double",
    "share of its peak",
    "measured: 0.38 and 0.54",
    LaunchSet.RECORDED,
)
IN_FUNCTIONS = number(
    6.0,
    "FP64 instructions per conversion",
    "instructions",
    "measured in ten kernels: 2.5 to 5 where float data meet double literals, 6.3 to 34 in exp(), erf() and pow()",
    LaunchSet.SEVENTH,
)
FILLING = number(
    0.3,
    "FP64 pipe, where it is the only one named or conversions are few",
    "share of its peak",
    "our judgement",
    LaunchSet.RECORDED,
)
_NEARLY_ALL = number(
    0.8,
    "FP64 operations of all of a kernel that computes in double on purpose",
    "share",
    "our judgement",
    LaunchSet.RECORDED,
)
FEW_DOUBLES = number(
    0.25,
    "FP64 instructions per conversion, where few of them keep the pipe that converts busy",
    "instructions",
    "arithmetic: a float operand comes in and a float result goes out, each a conversion",
    LaunchSet.SEVENTH,
)
CONVERTING_MOST = number(
    0.4,
    "special functions pipe of a kernel that takes float, by conversions for few FP64 instructions",
    "share of its peak",
    "our judgement: 0.42 to 0.88 in six kernels with double literals",
    LaunchSet.SEVENTH,
)
# It converts an integer to float, takes its reciprocal and converts it back, once per division.
DIVIDING = number(
    0.18,
    "special functions",
    "share of the pipe, which converts integers and takes reciprocals for a division",
    "measured on an H100 and an H200: 0.19 to 0.6, the least with divisions of 64 bits",
    LaunchSet.SEVENTH,
)
OF_FLOATS = number(
    0.6,
    "floating-point instructions per special function, of a lane",
    "",
    "measured: 0 to 0.5 beside divisions, 0.7 where floats become bytes",
    LaunchSet.FOURTH,
)
BESIDE_FLOATS = number(
    1.75,
    "floating-point instructions per special function, beside quotients that predicates correct",
    "",
    "measured: 1.1 to 1.6 in five kernels whose places are remainders; functions of floats show 2 or more",
    LaunchSet.NINTH,
)
AMONG_FLOATS = number(
    3.4,
    "floating-point instructions per special function, beside such quotients and products of integers",
    "",
    "measured: 2.7, 2.8 and 3.2 in three kernels whose places are quotients and remainders",
    LaunchSet.TENTH,
)
OF_INTEGERS = number(
    1.4,
    "heavy half of the FMA pipe per share of the pipe, where products of integers outweigh those of floats",
    "",
    "measured: 1.45 to 2 in 25 kernels that divide, 0.8 to 1.2 in functions of floats",
    LaunchSet.TENTH,
)
FILLED_BY_PRODUCTS = number(
    0.85,
    "heavy half of the FMA pipe beside divisions whose reciprocal is kept",
    "share of what is issued",
    "measured: 0.94 to 1.26 in five kernels whose special functions are 13 % to 20 % busy",
    LaunchSet.TENTH,
)
DIVIDING_BY_PRODUCTS = number(
    0.12,
    "special functions beside so many products of integers",
    "share of the pipe",
    "measured: 0.125 with a divisor that stays, 0.18 with 64 bits",
    LaunchSet.TENTH,
)
DIVIDING_MOST = number(
    0.4,
    "special functions beside such floats",
    "share of the pipe",
    "our judgement: 0.55 in that stencil",
    LaunchSet.EIGHTH,
)
MULTIPLYING = number(
    0.4,
    "FMA pipe per share of the special functions'",
    "",
    "measured: 0.5 to 0.8 beside divisions, 0.1 where votes count bits",
    LaunchSet.FOURTH,
)
# The quotient is a product of integers, of which the heavy half of the FMA pipe takes all.
MULTIPLYING_INTEGERS = number(
    0.6,
    "heavy half of the FMA pipe per share of the special functions'",
    "",
    "measured: 0.9 to 1.6 beside divisions of integers, 0.3 beside those of floats",
    LaunchSet.SEVENTH,
)
OF_64_BITS = number(
    2.0,
    "heavy half of the FMA pipe per share of the special functions', with divisions of 64 bits",
    "",
    "measured: 2.4 and 4.2, 0.9 to 1.6 with 32 bits",
    LaunchSet.EIGHTH,
)
PER_CONVERSION = number(
    11.0,
    "instructions that go with one on that pipe",
    "instructions; the gain is bounded by what is left",
    "measured: 8 to 11 in four pairs with and without divisions",
    LaunchSet.FOURTH,
)
PER_CONVERSION_OF_64 = number(
    24.0,
    "instructions that go with one on that pipe, of 64 bits",
    "instructions; the gain is bounded by what is left",
    "measured: 15 and 23 in two pairs",
    LaunchSet.EIGHTH,
)
# What a page shows that names neither the pipe nor counts: sorts, hashes by shifts and filters of bytes lie outside.
HARDLY_FLOATS = number(
    0.01,
    "FP32 beside divisions, on a page without counts",
    "share of its peak",
    "measured on an H100 and an H200: 0 to 0.01 in nine kernels that divide",
    LaunchSet.SIXTH,
)
_SOME_FLOATS = number(
    0.065,
    "FP32 beside divisions of what loads are indexed by, on a page without counts",
    "share of its peak",
    "measured: 0.03 and 0.06 in two such kernels",
    LaunchSet.NINTH,
)
_INDEXED = number(
    0.2,
    "pipes to memory where divisions are of indices",
    "share of their peak",
    "measured: 0.24 and 0.25 in those, 0.08 where sines of large arguments look alike",
    LaunchSet.NINTH,
)
LEAST_ALU = number(
    0.5,
    "ALU pipe beside divisions",
    "share of what is issued",
    "measured in nine kernels that divide: 0.57 to 0.9",
    LaunchSet.SIXTH,
)
MOST_ALU = number(
    0.93,
    "ALU pipe beside divisions, at most",
    "share of what is issued",
    "the FMA pipe takes a part of each division",
    LaunchSet.SIXTH,
)
PREDICATED = number(
    0.925,
    "lanes that predicates leave at work beside divisions",
    "share of the active ones",
    "measured in nine kernels that divide: 0.76 to 0.92, which is how quotients are corrected",
    LaunchSet.SIXTH,
)
_ALL_LANES = number(
    0.95,
    "lanes of a warp that are active beside divisions, on a page without counts",
    "share",
    "measured in fourteen kernels that divide: 0.98 to 1; lanes that branches mask look like those of predicates",
    LaunchSet.NINTH,
)
FEW_REQUESTS = number(
    0.4,
    "pipes to memory beside divisions",
    "share of their peak",
    "measured in twelve kernels that divide: 0.06 to 0.38; 0.44 and more in others",
    LaunchSet.NINTH,
)
_BY_VALUE = re.compile(r"(?<=[(,]) ?(?:const )?double(?=[,)])(?=[^<>]*$)")
_FLOAT, _DOUBLE = re.compile(r"\bfloat[234]?\b"), re.compile(r"\bdouble[234]?\b")


def converts(profile: KernelProfile) -> bool:
    """Return whether float data are computed in double, by the pipe that converts and the one of FP64."""
    doubles = profile.pipes.get(Unit.FP64, 0.0)
    if doubles < COMPUTING and profile.pipes.get(Unit.XU, 0.0) < CONVERTING_MOST:
        return False
    floats = _takes_floats(profile.kernel)
    if floats and (Unit.XU not in profile.pipes or _mostly_doubles(profile)):
        return doubles >= FILLING
    if floats and _converts_for_few(profile):
        return True
    return (
        conversions_busy(profile) >= (CONVERTING_FLOATS if floats else CONVERTING)
        and doubles >= COMPUTING
    )


def _converts_for_few(profile: KernelProfile) -> bool:
    """Return whether few FP64 instructions explain a busy pipe of conversions: a literal or two among floats."""
    doubles, conversions = _doubles(profile), profile.special_functions
    busy = profile.pipes.get(Unit.XU, 0.0) >= CONVERTING_MOST
    return busy and conversions is not None and doubles >= FEW_DOUBLES * conversions


def _doubles(profile: KernelProfile) -> float:
    """Return the FP64 instructions of warps; 0 where nobody counted."""
    counts = profile.float_instructions.items()
    return sum(count for name, count in counts if name.startswith("d")) / WARP_SIZE


def _mostly_doubles(profile: KernelProfile) -> bool:
    """Return whether nearly all that is computed is double: of one float, a function or a polynomial."""
    operations = profile.float_operations
    return operations.get("fp64", 0.0) >= _NEARLY_ALL * sum(operations.values()) > 0


def _takes_floats(kernel: str) -> bool:
    """Return whether the parameters or template arguments of *kernel* name float and no double.

    A double that is handed over by value is no data: with it a literal or a setting came in.
    """
    return bool(_FLOAT.search(kernel)) and not _DOUBLE.search(_BY_VALUE.sub("", kernel))


def conversions_busy(profile: KernelProfile) -> float:
    """Return how busy the pipe is; a page without it shows it as what outdoes the pipes it has."""
    if Unit.XU in profile.pipes:
        return profile.pipes[Unit.XU]
    unnamed = profile.sm_busy or 0.0
    behind = waits_for(profile, Stall.MIO_THROTTLE, share=0.0)
    return unnamed if behind and unnamed > max(profile.pipes.values(), default=1.0) else 0.0


def may_be_functions(profile: KernelProfile) -> bool:
    """Return whether double functions, instead of plain arithmetic, may be what takes the time.

    A page without counts tells the two apart only where it names the pipe that converts.
    """
    doubles, conversions = _doubles(profile), profile.special_functions
    if doubles and conversions is not None:
        return doubles >= IN_FUNCTIONS * conversions
    return conversions_busy(profile) < COMPUTING


def divides(profile: KernelProfile) -> bool:
    """Return whether special functions serve integers, whose divisions then fill the issue slots."""
    functions = profile.pipes[Unit.XU]
    lanes = profile.unpredicated_threads or WARP_SIZE
    floats = sum(profile.float_instructions.values()) / lanes
    corrected = lanes <= PREDICATED * (profile.active_threads or WARP_SIZE)
    heavy = profile.pipes.get(Unit.FMA_HEAVY, 0.0)
    plain = functions >= DIVIDING_MOST or heavy >= OF_64_BITS * functions
    most = BESIDE_FLOATS if corrected and plain else OF_FLOATS
    if corrected and heavy >= OF_INTEGERS * profile.pipes.get(Unit.FMA, 1.0):
        most = AMONG_FLOATS
    filled = heavy >= FILLED_BY_PRODUCTS * (profile.issue_busy or 1.0)
    return (
        functions >= (DIVIDING_BY_PRODUCTS if filled else DIVIDING)
        and floats <= most * (profile.special_functions or 0.0)
        and profile.pipes.get(Unit.FMA, 0.0) >= MULTIPLYING * functions
        and profile.pipes.get(Unit.FMA_HEAVY, 1.0) >= MULTIPLYING_INTEGERS * functions
    )


def instructions_per_conversion(profile: KernelProfile) -> float:
    """Return the instructions that go with each on that pipe in a kernel that divides, at most.

    Quotients of 64 bits take several products of integers each.
    """
    of_64 = profile.pipes.get(Unit.FMA_HEAVY, 0.0) >= OF_64_BITS * profile.pipes[Unit.XU]
    return PER_CONVERSION_OF_64 if of_64 else PER_CONVERSION


def instructions_of_divisions(profile: KernelProfile) -> float:
    """Return the instructions, as a share of all, that may be divisions of integers; 0 beside functions of floats."""
    lanes, special = profile.unpredicated_threads or WARP_SIZE, profile.special_functions or 0.0
    floats = sum(profile.float_instructions.values()) / lanes
    if not special or not profile.instructions or floats > BESIDE_FLOATS * special:
        return 0.0
    return min(1.0, PER_CONVERSION * special / profile.instructions)


def lacking_of_divisions(profile: KernelProfile) -> str | None:
    """Return the first value that the profile lacks to tell divisions; None where it has all that decide."""
    if Unit.XU not in profile.pipes:
        return "profile.pipes"
    known = profile.pipes[Unit.XU] < DIVIDING or profile.float_instructions
    return None if known else "profile.float_instructions"


def looks_like_divisions(profile: KernelProfile) -> bool:
    """Return whether a page that counts no instructions shows integers alone, many of whose lanes a predicate stops.

    A division corrects its quotient by such steps, and leaves a part of the work to the FMA pipe.
    """
    alu, issue = profile.pipes.get(Unit.ALU, 0.0), profile.issue_busy or 0.0
    active, working = profile.active_threads or 0.0, profile.unpredicated_threads or 0.0
    requests = profile.memory_pipes_busy or 1.0
    return (
        Unit.XU not in profile.pipes
        and not profile.float_instructions
        and Unit.FP64 not in profile.pipes
        and profile.fp32_of_peak is not None
        and profile.fp32_of_peak <= (_SOME_FLOATS if requests >= _INDEXED else HARDLY_FLOATS)
        and LEAST_ALU * issue <= alu <= MOST_ALU * issue
        and active >= _ALL_LANES * WARP_SIZE
        and 0 < working <= PREDICATED * active
        and requests <= FEW_REQUESTS
    )
