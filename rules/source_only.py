"""Rules whose evidence is one place in a source file and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.model import (
    Citation,
    Description,
    Examples,
    Kind,
    Priority,
    Rule,
    Topic,
    Verdict,
)
from gpuadvise.rules.observed import advised
from gpuadvise.rules.sources import cited, guide, programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Observation


def _pytorch(section: str, page: str) -> tuple[Citation, ...]:
    url = f"https://docs.pytorch.org/{page}"
    return (cited("PyTorch documentation", section, url),)


_TUNING = _pytorch("Performance Tuning Guide", "tutorials/recipes/recipes/tuning_guide.html")
_NOTES = _pytorch("CUDA semantics", "docs/stable/notes/cuda.html")


def _rule(
    name: str, title: str, topic: Topic, priority: Priority, why: str, when: str,
    citations: tuple[Citation, ...], *, seen: str, act: str, correctness: bool = False, folds_into: str | None = None,
) -> Rule:  # fmt: skip
    """Return the rule *name*; *seen* is a place where it fires, *act* what to do there."""

    def check(observations: tuple[Observation, ...]) -> Verdict:
        """Advise at each place that the source reader marked."""
        return advised(observations, name, lambda _: (f"{why} {when}", act))

    return Rule(
        id=name, title=title, topic=topic, priority=priority, kinds=(Kind.SOURCE,), why=why,
        when=when, citations=citations, check=check,
        examples=Examples(fires=_example(name, seen), quiet=_example("another-fault", seen)),
        correctness=correctness, folds_into=folds_into,
    )  # fmt: skip


def _example(fault: str, seen: str) -> Description:
    file = "train.py" if any(w in seen for w in ("torch", "loss", "images", "time.")) else "blur.cu"
    place = {"fault": fault, "file": file, "line": 12, "column": 5, "seen": seen}
    return {"observations": [place]}


SOURCE_ONLY = (
    _rule(
        "legacy-warp-intrinsics", "Give warp intrinsics a mask", Topic.CONTROL_FLOW, Priority.HIGH,
        "Compute capability 7.0 schedules lanes apart and has no intrinsics without a mask.",
        "Device code calls a shuffle or a vote without _sync.",
        (programming_guide("Warp Shuffle Functions"), *guide("13.1")),
        seen="__shfl_down(sum, 16)",
        correctness=True,
        act="Call the form with _sync and a mask of the lanes that take part, 0xffffffff where all do.",
    ),
    _rule(
        "unsynchronized-timers", "Synchronise before reading a CPU timer", Topic.MEASUREMENT, Priority.MEDIUM,
        "Launches and asynchronous copies return before the GPU has done the work.",
        "A CPU timer is read after a launch without anything that waits for it.",
        guide("9.1", "8.1.1"),
        seen="clock_gettime(CLOCK_MONOTONIC, &end)",
        correctness=True,
        act="Call cudaDeviceSynchronize() before each reading, or time with cudaEventRecord().",
    ),
    _rule(
        "misplaced-events", "Record events in the stream they time", Topic.MEASUREMENT, Priority.MEDIUM,
        "An event marks a point of its own stream and says nothing about another.",
        "Two events that are subtracted stand in another stream than the work between them.",
        guide("9.1", "8.1.2"),
        seen="cudaEventRecord(stop, other)",
        correctness=True,
        act="Record both events in the stream of the work.",
    ),
    _rule(
        "default-stream-work", "Keep the default stream out of concurrent work", Topic.TRANSFERS, Priority.MEDIUM,
        "The default stream waits for all blocking streams, and they wait for it.",
        "A loop over several streams also launches or copies in the default stream.",
        guide("10.1.2", "9.1.2"),
        seen="reduce<<<grid, block>>>(sums)",
        act="Put the work into one of the streams, or make those with cudaStreamNonBlocking.",
    ),
    _rule(
        "scalar-half-arithmetic", "Compute on pairs of 16-bit floats", Topic.INSTRUCTIONS, Priority.LOW,
        "One instruction works on two 16-bit values; scalar code uses half of it.",
        "A kernel computes elementwise on 16-bit floats, one per thread.",
        guide("12.1"),
        seen="out[i] = __hadd(a[i], b[i])",
        act="Let each thread take two neighbours as __half2 and use __hadd2, __hmul2 and __hfma2.",
    ),
    _rule(
        "narrow-elements", "Move several narrow elements at once", Topic.MEMORY, Priority.LOW,
        "A load can carry 16 bytes per thread; one of a byte costs as many instructions.",
        "Each thread of a kernel moves one contiguous element of one or two bytes.",
        (programming_guide("Size and Alignment Requirement"),),
        seen="out[i] = in[i]", folds_into="narrow-loads",
        act="Let each thread take several neighbours through a vector type such as uchar4 or int4.",
    ),
    _rule(
        "unrestricted-pointers", "Say that arrays do not overlap", Topic.MEMORY, Priority.LOW,
        "Without __restrict__ every store may change what a later load reads, so loads cannot move up.",
        "A load through a pointer that a kernel only reads may follow a store through another.",
        (programming_guide("__restrict__"),),
        seen="const float *in",
        act="If the arrays never overlap, declare all pointers __restrict__, and const where they are only read.",
    ),
    _rule(
        "unpinned-loaders", "Let loaders pin their batches", Topic.TRANSFERS, Priority.MEDIUM,
        "Copies from pageable memory are staged by the driver and cannot overlap.",
        "A DataLoader without pin_memory hands out batches that the file moves to a GPU.", _TUNING,
        seen="torch.utils.data.DataLoader(images, batch_size=64)",
        act="Give the DataLoader pin_memory=True, and move batches with non_blocking=True.",
    ),
    _rule(
        "blocking-moves", "Move batches without waiting", Topic.TRANSFERS, Priority.LOW,
        "From pinned memory a copy with non_blocking=True overlaps with queued work.",
        "A batch of a DataLoader is moved to a GPU without non_blocking.", _NOTES,
        seen="images.to(device)",
        act="Write .to(device, non_blocking=True), with pin_memory=True in the loader.",
    ),
    _rule(
        "synchronizing-reads", "Read values of the GPU rarely", Topic.TRANSFERS, Priority.MEDIUM,
        "Reading a value makes the host wait until the GPU has done everything before it.",
        "A training loop reads or prints its loss in every step.", _TUNING,
        seen="loss.item()",
        act="Keep the running sum as a tensor (total += loss.detach()) and read it once per epoch, or every n steps.",
    ),
    _rule(
        "full-precision-matmuls", "Let matrix products use TF32", Topic.INSTRUCTIONS, Priority.LOW,
        "FP32 products leave the tensor cores idle, which is the default.",
        "A program trains on a GPU in FP32 and never chooses the precision of matrix products.", _NOTES,
        seen="torch.nn.Linear(1024, 1024)",
        act='Call torch.set_float32_matmul_precision("high") at the start and compare results: TF32 keeps 10 bits of the mantissa.',
    ),
    _rule(
        "host-built-tensors", "Build tensors where they are used", Topic.TRANSFERS, Priority.MEDIUM,
        "A tensor built in host memory has to be copied before it is used.",
        "A loop builds a tensor in host memory and moves it to the GPU.", _TUNING,
        seen="torch.zeros(64, 10).cuda()",
        act="Give the factory its device, so that the GPU makes the tensor itself.",
    ),
    _rule(
        "synchronizations-in-loops", "Do not wait in every iteration", Topic.TRANSFERS, Priority.MEDIUM,
        "While the host waits nothing new is queued, and the GPU idles afterwards.",
        "A loop that measures nothing calls torch.cuda.synchronize() in every iteration.", _NOTES,
        seen="torch.cuda.synchronize()",
        act="Leave it out: work in one stream runs in order, and reading a value waits by itself.",
    ),
    _rule(
        "unsynchronized-timing", "Synchronise before reading the clock", Topic.MEASUREMENT, Priority.MEDIUM,
        "Calls return before the GPU has done the work.",
        "A clock is read after GPU work without anything that waits for it.", _NOTES,
        seen="time.time() - start",
        correctness=True,
        act="Call torch.cuda.synchronize() before each reading, or time with torch.cuda.Event(enable_timing=True).",
    ),
)  # fmt: skip
