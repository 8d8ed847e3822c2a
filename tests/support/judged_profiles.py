"""What the rules say of one kernel of a profile, for tests of their edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.kernel_profile import KernelProfile, SharedRequests, WarpRequests
from gpuadvise.advisor.profiles.launch_facts import profiled_facts
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.rules.report import Finding

NONE = WarpRequests(requests=0.0, sectors=0.0, used_bytes=0.0)
# A kernel of 1e8 instructions that waits for loads, with no unit near its roof.
KERNEL = KernelProfile(
    kernel="work(const float *, float *, int)",
    capability=Capability(9, 0),
    sm_count=132,
    grid=(32768, 1, 1),
    block=(256, 1, 1),
    registers=24,
    static_shared=0,
    dynamic_shared=0,
    waves=31.0,
    seconds=1e-3,
    elapsed_cycles=1.8e6,
    theoretical_occupancy=1.0,
    achieved_occupancy=0.9,
    instructions=1e8,
    warp_latency=60.0,
    stalls={"long_scoreboard": 0.8},
    active_threads=32.0,
    unpredicated_threads=32.0,
    sm_busy=0.2,
    issue_busy=0.2,
    dram_busy=0.001,
    l2_busy=0.01,
    l1_busy=0.1,
    l1_load_hit_rate=0.0,
    l1_hit_rate=0.0,
    l2_hit_rate=0.3,
    dram_read=1e6,
    dram_written=1e6,
    dram_bytes=2e6,
    global_loads=NONE,
    global_stores=NONE,
    local_loads=NONE,
    local_stores=NONE,
    spill_requests=0.0,
    global_reductions=NONE,
    global_atomics=NONE,
    shared_loads=SharedRequests(requests=0.0, wavefronts=0.0),
    shared_stores=SharedRequests(requests=0.0, wavefronts=0.0),
    shared_atomics=0.0,
    float_instructions={"ffma": 0.0},
)


def findings(profile: KernelProfile, gpu: str = "h100-sxm") -> dict[str, Finding]:
    """Return the findings of all rules on a kernel measured on *gpu*, by rule."""
    return findings_on(profiled_facts(profile, device=find(gpu)))


def findings_on(facts: Facts) -> dict[str, Finding]:
    """Return the findings of all rules on *facts*, by rule; the former id of one stands for it as well."""
    found = run(RULES, facts).findings
    former = {finding.rule.formerly: finding for finding in found if finding.rule.formerly}
    return former | {finding.rule.id: finding for finding in found}


def priority(profile: KernelProfile, rule: str, gpu: str = "h100-sxm") -> str | None:
    """Return how urgent *rule* is for a kernel measured on *gpu*; None where it says nothing."""
    finding = findings(profile, gpu).get(rule)
    return None if finding is None else str(finding.priority)


def bound(profile: KernelProfile, rule: str) -> float:
    """Return the bound of what *rule* says of *profile*."""
    return findings(profile)[rule].bound
