"""Elements of one or two bytes that neighbouring lanes take one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.load_width import HALF_WORD, WIDEST
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import plural
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.guide.memory.narrow_loads import WIDE_LOADS
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import programming_guide
from gpuadvise.rules.thresholds import KEPT_IN_L1

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile


def check(global_accesses: tuple[Access, ...], profile: KernelProfile | None = None) -> Verdict:
    """Advise on each described access of a word per lane; a profile shows whether the loads matter."""
    if profile is not None:
        return PASSED
    return tuple(_described(access) for access in global_accesses if _is_narrow(access))


def _is_narrow(access: Access) -> bool:
    """Return whether neighbouring lanes take neighbouring elements of one or two bytes."""
    in_l1 = access.array_bytes is not None and access.array_bytes <= KEPT_IN_L1
    return (
        access.word_bytes <= HALF_WORD and access.stride == 1 and not access.indices and not in_l1
    )


def _described(access: Access) -> Advice:
    size, widest = access.word_bytes, int(WIDEST)
    return Advice(
        message=(
            f'"{access.name}" takes {plural(size, "byte")} per lane: a warp moves {WARP_SIZE * size} bytes by an '
            f"instruction that could move {WARP_SIZE * widest}."
        ),
        action=WIDE_LOADS,
        evidence=(given("element size", size, "bytes"),),
        gain=Gain(
            kind=GainKind.LOADS_AND_STORES,
            upper_bound=WIDEST / size,
            how=f"widest load / element = {widest} / {size}",
        ),
        priority=Priority.LOW,  # whether the kernel waits for memory, nobody said
    )


def _elements(word: int, stride: int = 1) -> dict[str, object]:
    access = {"name": "x[i]", "word": word, "stride": stride}
    return {"gpu": "h200", "accesses": [access]}


RULE = Rule(
    id="narrow-accesses",
    title="Load several small elements at once",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    kinds=(Kind.PATTERN,),
    family=Family.WIDTH,
    why="An instruction can load 16 bytes per thread, and a kernel of bytes needs one for each element.",
    when="Neighbouring lanes take neighbouring elements of one or two bytes, of an array beyond 16 KiB.",
    citations=(programming_guide("Device Memory Accesses"),),
    formerly="narrow-loads",
    silenced_by=("uncoalesced-access",),
    author_only=True,
    check=check,
    examples=Examples(
        fires=_elements(1), quiet=_elements(4), edges=(_elements(2), _elements(2, stride=2))
    ),
)
