"""What Holistic Trace Analysis says of recordings, as rows of numbers.

    python tests/truth/hta_figures.py tests/truth/hta.csv

runs each of HTA's analyses on the repository's own recordings of PyTorch and writes what it answers;
it needs a Python with HTA (``pip install HolisticTraceAnalysis``) and none of ours. HTA is told not
to round times to microseconds and not to leave out the last step, so that its figures can be compared.
"""

from __future__ import annotations

import csv
import gzip
import logging
import os
import sys
import tarfile
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECORDINGS = Path(__file__).parent.parent / "recordings"
COLUMNS = ("recording", "rank", "analysis", "item", "figure", "value")
MOST_KERNELS = 5  # of each recording, by their time
# HTA knows collectives of NCCL by a name that they had up to NCCL 2.18.
NCCL_NOW, NCCL_THEN = b"ncclDevKernel_", b"ncclKernel_"
# Runs that HTA compares: the GPU's side of the profiler's steps of both.
PAIRS = (
    ("loss_item_each_batch", "loss_item_once"),
    ("adamw_loop", "adamw_fused"),
    ("norm_eager", "norm_compiled"),
)
SEQUENCES_OF = ("aten::linear", "Optimizer.step#SGD.step", "aten::softmax")

Row = tuple[str, Any, str, Any, str, Any]


def unpacked(folder: Path) -> dict[str, dict[int, str]]:
    """Return the files of each recording by rank, unpacked below *folder*."""
    files: dict[str, dict[int, str]] = {}
    for kind in ("torch", "torch_h100", "loops", "ranks"):
        with tarfile.open(RECORDINGS / f"{kind}.tar.xz") as archive:
            archive.extractall(folder / kind, filter="data")
        for path in sorted((folder / kind).rglob("*.json.gz")):
            if kind != "ranks":
                files[path.name.split(".")[0]] = {0: str(path)}
                continue
            path.write_bytes(
                gzip.compress(gzip.decompress(path.read_bytes()).replace(NCCL_NOW, NCCL_THEN), 1)
            )
            files.setdefault(path.parent.name, {})[int(path.name[4])] = str(path)
    return files


def figures(name: str, files: dict[int, str]) -> Iterator[Row]:
    """Yield what HTA answers about one recording: the class of its error where it has none."""
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_files=files, include_last_profiler_step=True)
    for title, rows in _ANALYSES.items():
        try:
            yield from [(name, rank, title, *row) for rank, *row in rows(analysis, sorted(files))]
        except Exception as error:
            yield name, "", title, "", "error", type(error).__name__


def _temporal(analysis: Any, _: list[int]) -> Iterator[tuple[Any, ...]]:
    for row in analysis.get_temporal_breakdown(visualize=False).to_dict("records"):
        for figure in ("idle", "compute", "non_compute", "kernel"):
            yield row["rank"], "", f"{figure}_us", row[f"{figure}_time(us)"]


def _overlap(analysis: Any, _: list[int]) -> Iterator[tuple[Any, ...]]:
    for row in analysis.get_comm_comp_overlap(visualize=False).to_dict("records"):
        yield row["rank"], "", "hidden_percent", row["comp_comm_overlap_pctg"]


def _kernels(analysis: Any, ranks: list[int]) -> Iterator[tuple[Any, ...]]:
    every = {"visualize": False, "num_kernels": 10_000, "duration_ratio": 1.0}
    _, kernels = analysis.get_gpu_kernel_breakdown(**every)
    for rank in ranks:
        rows = kernels[kernels["rank"] == rank].sort_values("sum (us)", ascending=False)
        for row in rows.head(MOST_KERNELS).to_dict("records"):
            for figure in ("sum", "max", "mean"):
                yield rank, row["name"], f"{figure}_us", row[f"{figure} (us)"]


def _idle(analysis: Any, ranks: list[int]) -> Iterator[tuple[Any, ...]]:
    table = analysis.get_idle_time_breakdown(ranks, visualize=False)[0]
    for row in table.to_dict("records"):
        yield row["rank"], f"stream {row['stream']}", f"{row['idle_category']}_us", row["idle_time"]


def _queue(analysis: Any, ranks: list[int]) -> Iterator[tuple[Any, ...]]:
    table = analysis.get_queue_length_summary(ranks)
    for (rank, stream), row in table.iterrows():
        for figure in ("count", "max"):
            yield rank, f"stream {stream}", figure, row["queue_length", figure]


def _full_queue(analysis: Any, ranks: list[int]) -> Iterator[tuple[Any, ...]]:
    series = analysis.get_queue_length_time_series(ranks)
    table = analysis.get_time_spent_blocked_on_full_queue(series)
    yield "", "", "seconds", 0.0 if table is None else table["duration_at_max_queue_length"].sum()


def _bandwidth(analysis: Any, ranks: list[int]) -> Iterator[tuple[Any, ...]]:
    table = analysis.get_memory_bw_summary(ranks)
    for (rank, item), row in () if table is None else table.iterrows():
        for figure in ("count", "mean"):
            yield (
                rank,
                item,
                f"{figure}_gbps" if figure == "mean" else figure,
                row["memory_bw_gbps", figure],
            )


def _launches(analysis: Any, ranks: list[int]) -> Iterator[tuple[Any, ...]]:
    only = {"include_memory_events": False, "visualize": False}
    tables = analysis.get_cuda_kernel_launch_stats(ranks=ranks, **only)
    for rank, table in tables.items():
        yield rank, "", "launches", len(table)
        yield rank, "", "host_us", table["cpu_duration"].sum()
        yield rank, "", "median_delay_us", table["launch_delay"].median()
        yield rank, "", "longest_delay_us", table["launch_delay"].max()


def _operators(analysis: Any, ranks: list[int]) -> Iterator[tuple[Any, ...]]:
    for rank in ranks:
        table = analysis.get_aten_op_kernels_and_delay([rank])[rank]
        for name, rows in table.groupby("aten_op_name"):
            yield rank, name, "calls", rows["occurrence_count"].sum()


def _annotations(analysis: Any, _: list[int]) -> Iterator[tuple[Any, ...]]:
    table = analysis.get_gpu_user_annotation_breakdown(visualize=False)
    for row in () if table is None else table.to_dict("records"):
        yield row["rank"], row["name"], "sum_us", row["sum (us)"]


def _steps(analysis: Any, _: list[int]) -> Iterator[tuple[Any, ...]]:
    yield "", "", "count", len(analysis.get_profiler_steps())


def _stragglers(analysis: Any, ranks: list[int]) -> Iterator[tuple[Any, ...]]:
    if len(ranks) > 1:
        late = analysis.get_potential_stragglers(num_candidates=1)
        yield "", "", "rank", late.idxmax() if hasattr(late, "idxmax") else late[0]


def _sequences(analysis: Any, ranks: list[int]) -> Iterator[tuple[Any, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        for operator in SEQUENCES_OF:
            table = analysis.get_frequent_cuda_kernel_sequences(operator, folder, rank=ranks[0])
            for row in table.head(1).to_dict("records"):
                yield ranks[0], operator, "count", row["count"]


_ANALYSES: dict[str, Callable[[Any, list[int]], Iterator[tuple[Any, ...]]]] = {
    "temporal breakdown": _temporal,
    "communication overlap": _overlap,
    "kernel breakdown": _kernels,
    "idle time breakdown": _idle,
    "queue length": _queue,
    "full queue": _full_queue,
    "memory bandwidth": _bandwidth,
    "launch statistics": _launches,
    "operators": _operators,
    "annotations": _annotations,
    "steps": _steps,
    "stragglers": _stragglers,
    "kernel sequences": _sequences,
}


def differences(files: dict[str, dict[int, str]]) -> Iterator[Row]:
    """Yield HTA's comparisons of pairs of runs: calls and time of each kernel, step for step."""
    from hta.common.trace import Trace
    from hta.trace_diff import DeviceType, LabeledTrace, TraceDiff

    for before, after in PAIRS:
        pair = f"{before} {after}"
        try:
            runs = [LabeledTrace(name, Trace(files[name])) for name in (before, after)]
            table = TraceDiff.compare_traces(
                *runs,
                control_iteration=runs[0].iterations(),
                test_iteration=runs[1].iterations(),
                device_type=DeviceType.GPU,
            )
            for kernel, row in table.iterrows():
                for figure in ("counts", "total_duration"):
                    for run in (before, after):
                        yield (
                            pair,
                            "",
                            "trace diff",
                            kernel,
                            f"{run} {figure}",
                            row[f"{run}_{figure}"],
                        )
        except Exception as error:
            yield pair, "", "trace diff", "", "error", type(error).__name__


def rows() -> list[tuple[str, ...]]:
    """Return all figures of all recordings as texts."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        files = unpacked(Path(folder))
        found = [row for name in files for row in figures(name, files[name])]
        found += differences(files)
    return [tuple(map(_text, row)) for row in found]


def shortened(name: str) -> str:
    """Return *name* itself, or its beginning and what tells it from others that begin so."""
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]} {crc32(name.encode()):08x}"


_LONGEST = 40


def _text(value: Any) -> str:
    try:
        return f"{float(value):.9g}"
    except ValueError:
        return shortened(str(value))


def main() -> None:
    """Write the figures to the file that the command line names."""
    with open(sys.argv[1], "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows()])


if __name__ == "__main__":
    main()
