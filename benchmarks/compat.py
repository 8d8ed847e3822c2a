"""Is `compat` right about whole libraries: its verdict against the kernel names of every image.

`python benchmarks/compat.py WHEEL_OR_LIBRARY... [--keep FILE.csv]`. `compat` decides from headers, and
where modules fare differently from the names in one image of each module. Here every image and every
PTX program of the file is read, and the names are gathered by target. For each GPU a name runs when
machine code for a target that fits has it, is compiled when only fitting PTX has it, and is missing when
neither has. Counted are, for each file and GPU:

- false "in part": the answer says "in part", and no name is missing;
- false "runs": the answer is complete, and a name is missing or only PTX has it, or it says that
  something runs and no name does; and the reverse, "does not run" where a name runs or can be compiled;
- wrong counts: the answer gives numbers of names, and they differ;
- idle advice: "look for a version" although every GPU of the catalogue gets it.

A file without device code that a driver loads is left out. Of a package that ships a library for each CUDA version one is
enough, and the answer is about versions: those are counted apart. The files are yours to fetch
(`pip download --no-deps NAME`): hundreds of megabytes that belong to others.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.model import Content, Damage, Entry, Kernel, Source
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.capability import Capability, parse_capability
from gpuadvise.advisor.compatibility.targets import ptx_fits, sass_fits
from gpuadvise.cli.main import main as gpuadvise

if TYPE_CHECKING:
    from collections.abc import Sequence

GPUS = ("7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
PAGE = "9.0"
IDLE = "look for a version"
COLUMNS = (
    "file", "gpu", "verdict", "complete", "names", "runs", "jit", "missing", "fault",
)  # fmt: skip


def names_by_target(path: str) -> tuple[dict[tuple[bool, Capability], set[str]], bool]:
    """Return the kernel names for each target, machine code and PTX apart, and whether all was read."""
    names: dict[tuple[bool, Capability], set[str]] = defaultdict(set)
    whole = True
    for item in read(path, ReadOptions(select=lambda module: module)):
        if isinstance(item, Damage):
            whole = False
        elif (
            isinstance(item, Kernel)
            and item.entry
            and item.capability
            and (item.linked is not False or item.source is Source.PTX)  # PTX is never linked
        ):
            names[item.source is Source.PTX, item.capability].add(item.name)
        elif isinstance(item, Entry) and item.content is Content.SASS and item.capability:
            names[False, item.capability] |= set()
    return names, whole


def by_outcome(
    names: dict[tuple[bool, Capability], set[str]], gpu: Capability
) -> tuple[set[str], set[str], set[str]]:
    """Return the names that run on *gpu*, that it must compile, and that it has in no form."""
    runs, jit, every = set(), set(), set()
    for (is_ptx, target), kernels in names.items():
        every |= kernels
        if not is_ptx and sass_fits(target, gpu):
            runs |= kernels
        elif is_ptx and ptx_fits(target, gpu):
            jit |= kernels
    return runs, jit - runs, every - runs - jit


def asked(*arguments: str) -> str:
    """Return what a command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        gpuadvise(["compat", *arguments])
    return out.getvalue()


def is_in_part(answer: dict[str, Any]) -> bool:
    """Return whether something is missing of what runs, as a row of ``--all-gpus`` says."""
    return answer["verdict"] != "fails" and (answer["kernels"] or answer)["fails"] > 0


def fault_of(answer: dict[str, Any], runs: set[str], jit: set[str], missing: set[str]) -> str:
    """Return what is wrong with a row of ``--all-gpus``; an empty text for nothing."""
    if is_in_part(answer) and not missing:
        return "false in part"
    if answer["complete"] and (jit or missing):
        return "false runs"
    best = "runs" if runs else "jit" if jit else "fails"
    if answer["verdict"] != best:
        return f"says {answer['verdict']}, names say {best}"
    counts = answer["kernels"]
    if counts and [counts[kind] for kind in ("runs", "jit", "fails")] != [
        len(runs), len(jit), len(missing)
    ]:  # fmt: skip
        return "wrong counts"
    return ""


def rows_of(path: str) -> list[dict[str, Any]]:
    """Return the comparison of one file with each GPU; none where it holds no kernels."""
    names, whole = names_by_target(path)
    if not any(names.values()):
        return []
    every = json.loads(asked(path, "--all-gpus", "--json"))["result"]["matrix"]
    by_gpu = {row["compute_capability"]: row for row in every}
    one = json.loads(asked(path, "--cc", PAGE, "--json"))["result"]
    versions = bool(one["answers"][0]["alternatives"])
    rows = []
    for gpu in GPUS:
        runs, jit, missing = by_outcome(names, parse_capability(gpu))
        answer = by_gpu[gpu]
        fault = fault_of(answer, runs, jit, missing) if whole else "damaged"
        rows.append({
            "file": Path(path).name, "gpu": gpu, "verdict": answer["verdict"],
            "complete": answer["complete"], "names": len(runs | jit | missing), "runs": len(runs),
            "jit": len(jit), "missing": len(missing), "fault": "versions" if versions else fault,
        })  # fmt: skip
        if gpu == PAGE and not versions and (" in part" in one["summary"]) != is_in_part(answer):
            rows[-1]["fault"] = "page and table differ"
    if IDLE in asked(path, "--cc", PAGE) and not any(row["verdict"] == "runs" for row in every):
        rows[0]["fault"] += " idle advice"
    return rows


def main(arguments: Sequence[str]) -> None:
    """Print one line for each file, and the counts of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--keep", help="write every comparison to this CSV file, at its end")
    options = parser.parse_args(arguments)
    faults: Counter[str] = Counter()
    files = 0
    for path in options.files:
        rows = rows_of(path)
        files += bool(rows)
        faults.update(row["fault"] or "right" for row in rows)
        wrong = [f"{row['gpu']}: {row['fault']}" for row in rows if row["fault"]]
        complete = sum(row["complete"] for row in rows)
        shown = (
            f"{rows[0]['names']:,} names, complete on {complete} of {len(rows)}" if rows else "none"
        )
        print(f"{Path(path).name}: {shown}. {'; '.join(wrong)}", flush=True)
        if options.keep and rows:
            kept = Path(options.keep)
            fresh = not kept.exists()
            with kept.open("a", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                if fresh:
                    writer.writeheader()
                writer.writerows(rows)
    print(f"{files} files, {sum(faults.values())} verdicts: {dict(faults)}")


if __name__ == "__main__":
    main(sys.argv[1:])
