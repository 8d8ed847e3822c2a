"""The page that plain ``ncu ./app`` prints, as the records of the details page.

Its tables have the sections, names, units and values of ``--page details``; the columns of a table
are told by the dashes above it. Below a table stands what the profiler's rules say, wrapped and
without the rule's name, which is told by words that only this rule uses.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# "  saxpy(float *, int) (64, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0"
_SIZE = r"\((\d+, \d+, \d+)\)"
_LAUNCH = rf"[ \t]{{1,8}}(\S.*?) {_SIZE}x{_SIZE}, Context (\d+), Stream (\d+)(?:, Device (\d+), CC ([\d.]+))?\s*$"
_SECTION = r"\s*Section: (.+?)\s*$"
_DASHES = r"\s*-+ -+ -+\s*$"
_COLUMNS = (
    "ID", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
    "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type",
    "Rule Description", "Estimated Speedup Type", "Estimated Speedup",
)  # fmt: skip
_HEAD = "Metric Name"
# "    OPT   Est. Local Speedup: 66.67%", and the words on the lines that are indented further.
_ADVICE = r"[ \t]{1,6}(OPT|INF|WRN|ERR)[ \t]+(\S.*)"
_SPEEDUP = r"Est\. (Local )?Speedup: ([\d.,]+)%\s*"
_CONTINUED = r"[ \t]{8,}(\S.*)"
_MOST_WORDS = 1 << 14
# Words of each rule's text, in ncu 2023 to 2025.
_RULES = (
    (
        "SOLBottleneck",
        "more heavily utilized than|utilizing greater than|low compute throughput|kernel grid is too small",
    ),
    ("SOLFPRoofline", "ratio of peak float"),
    ("HighPipeUtilization", "highest-utilized pipeline|compute pipelines are under-utilized"),
    ("MemoryL2Compression", "L2 Compression unit"),
    ("IssueSlotUtilization", "Every scheduler is capable"),
    ("CPIStall", "each warp of this (?:workload|kernel) spends|Warp Stall Sampling"),
    ("FPInstructions", "non-fused"),
    ("AchievedOccupancy", "difference between calculated theoretical"),
    ("MemoryCacheAccessPattern", "access pattern for (?:global|local)"),
    ("SharedMemoryConflicts", "access pattern for shared"),
    ("UncoalescedGlobalAccess", "uncoalesced global accesses"),
    ("UncoalescedSharedAccess", "uncoalesced shared accesses"),
    (
        "LaunchConfiguration",
        "wave of thread blocks|__syncthreads|threads in a block|grid for this launch",
    ),
    ("ThreadDivergence", "Instructions are executed in warps"),
    ("WorkloadImbalance", "higher number of active cycles"),
    ("TheoreticalOccupancy", "theoretical warps per scheduler|theoretical occupancy"),
)


def is_text_page(head: str) -> bool:
    """Return whether a file that begins with *head* is a page for people."""
    return re.search(f"^{_LAUNCH}", head, flags=re.MULTILINE) is not None


def details_of(lines: Iterable[str]) -> Iterator[str]:
    """Yield the text page *lines* as lines of CSV, its header first."""
    yield _row(_COLUMNS)
    launch: list[str] = []
    section = ""
    starts: list[int] = []
    said: list[str] = []  # the kind and the words of the rule that speaks
    number = -1
    for line in lines:
        if said and (match := re.match(_CONTINUED, line)) and len(said) < _MOST_WORDS:
            said.append(match[1].strip())
            continue
        if said:
            yield _rule((*launch, section), said)
            said = []
        if match := re.match(_LAUNCH, line):
            kernel, grid, block, context, stream, device, capability = match.groups("")
            number += 1
            sizes = f"({block})", f"({grid})"
            launch = [str(number), kernel, context, stream, *sizes, device or "0", capability]
            section, starts = "", []
        elif not launch:
            continue
        elif match := re.match(_SECTION, line):
            section, starts = match[1], []
        elif re.match(_DASHES, line):
            starts = [dashes.start() for dashes in re.finditer("-+", line)]
        elif not line.strip():
            starts = []
        elif match := re.match(_ADVICE, line):
            said = [match[1], match[2].strip()]
        elif section and starts and not line.lstrip().startswith(_HEAD):
            name, unit, value = (
                line[begin:end].strip()
                for begin, end in zip(starts, [*starts[1:], None], strict=True)
            )
            if name and value:
                yield _row((*launch, section, name, unit, value, *[""] * 5))
    if said:
        yield _rule((*launch, section), said)


def _rule(place: tuple[str, ...], said: list[str]) -> str:
    """Return the record of what a rule says: its kind, then its words, line by line."""
    kind, *words = said
    text = " ".join(words)
    speedup = re.match(_SPEEDUP, text)
    text = text[speedup.end() :] if speedup else text
    name = next((name for name, own in _RULES if re.search(own, text)), place[-1])
    estimate = ("local" if speedup[1] else "global", speedup[2]) if speedup else ("", "")
    return _row((*place, "", "", "", name, kind, text, *estimate))


def _row(values: Iterable[str]) -> str:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(values)
    return text.getvalue()
