"""What the library answers is what the command line prints as JSON, over many random questions."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import traces

import gpuadvise

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDED = Path(__file__).parents[1] / "cli" / "recorded"
BOXES = Path(__file__).parents[1] / "cli" / "boxes"
GPUS = ("h100", "h200", "l4", "rtx4090", "gtx1080", "v100", "a100-40", "rtx5090", "t4")
CODE = ("two.fatbin", "80.cubin", "90a.cubin", "spilling.cubin", "small.o", "small.a",
        "small-1.0-py3-none-any.whl", "mixed.fatbin", "ptx-only.fatbin", "two.ptx", "spilling.log",
        "truncated.cubin")  # fmt: skip
KERNEL = """__global__ void k(float *x, double y, int n) {
  __shared__ float s[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = s[threadIdx.x] * 2.0 + __powf(x[i], 2.0f);
}
"""
Question = tuple["Callable[..., Any]", tuple[Any, ...], dict[str, Any], list[str]]


class Asker:
    """Draws one question after another: a call, and the command line that asks the same."""

    def __init__(self, folder: Path) -> None:
        self.draw = random.Random(1)
        self.folder = folder

    def some(self, **options: tuple[Any, str]) -> tuple[dict[str, Any], list[str]]:
        """Return some of *options*, as keywords and as words of a command line."""
        kept = {name: pair for name, pair in options.items() if self.draw.random() < 0.5}
        words = [
            word
            for name, (value, text) in kept.items()
            for word in ([f"--{name.replace('_', '-')}"] if value is True
                         else [f"--{name.replace('_', '-')}", text])
        ]  # fmt: skip
        return {name: value for name, (value, _) in kept.items()}, words

    def gpu(self) -> str:
        return self.draw.choice(GPUS)

    def occupancy(self) -> Question:
        number = self.draw.randint
        regs, threads, smem = number(1, 255), number(1, 1024), number(0, 49_000)
        x, y = 2 ** number(0, 5), number(1, 16)
        given, words = self.some(
            smem=(smem, str(smem)), dynamic_smem=("12K", "12K"), grid=((64, 9), "64x9"),
            barriers=(3, "3"), carveout=(0.5, "0.5"), cluster=(2, "2"), launch_bounds=((256, 2), "256,2"),
            no_opt_in=(True, ""),
        )  # fmt: skip
        block = self.draw.choice(((threads, str(threads)), ((x, y), f"{x}x{y}")))
        gpu = self.gpu()
        line = ["occupancy", "--regs", str(regs), "--block", block[1], "--gpu", gpu, *words]
        return gpuadvise.occupancy, (), {"regs": regs, "block": block[0], "gpu": gpu, **given}, line

    def device(self) -> Question:
        if self.draw.random() < 0.3:
            box = BOXES / "h200.json"
            return gpuadvise.gpu, (), {"from_file": box}, ["device", "--from", str(box)]
        if self.draw.random() < 0.3:
            return gpuadvise.gpu, (), {"cc": "8.9"}, ["device", "--cc", "8.9"]
        gpu = self.gpu()
        return gpuadvise.gpu, (gpu,), {}, ["device", "--gpu", gpu]

    def gpus(self) -> Question:
        query = self.draw.sample(("h100", "hopper", "ada", "l4", "laptop"), self.draw.randint(0, 2))
        return gpuadvise.gpus, tuple(query), {}, ["gpus", *query]

    def kernels(self) -> Question:
        path = str(RECORDED / self.draw.choice(CODE))
        gpu = self.gpu()
        given, words = self.some(
            gpu=(gpu, gpu), block=(128, "128"), functions=(True, ""), dynamic_smem=(1024, "1024")
        )
        if self.draw.random() < 0.2 and not path.endswith((".log", ".ptx")):
            return gpuadvise.kernels, (path,), {"list": True}, ["kernels", path, "--list"]
        if self.draw.random() < 0.2:
            given, words = {**given, "group_by": "arch"}, [*words, "--group-by", "arch"]
        return gpuadvise.kernels, (path,), given, ["kernels", path, *words]

    def compat(self) -> Question:
        path = str(RECORDED / self.draw.choice([name for name in CODE if name != "spilling.log"]))
        if self.draw.random() < 0.2:
            return gpuadvise.compat, (path,), {"all_gpus": True}, ["compat", path, "--all-gpus"]
        gpu = self.gpu()
        given, words = self.some(driver=("12.4", "12.4"))
        return (
            gpuadvise.compat,
            (path,),
            {"gpu": gpu, **given},
            ["compat", path, "--gpu", gpu, *words],
        )

    def diff(self) -> Question:
        old, new = (str(RECORDED / name) for name in self.draw.choice(
            (("old.log", "new.log"), ("80.cubin", "90a.cubin"), ("pinned.trace.json", "pageable.trace.json"))
        ))  # fmt: skip
        given, words = {}, []
        if self.draw.random() < 0.5:
            given, words = {"unchanged": True}, ["--all"]
        return gpuadvise.diff, (old, new), given, ["diff", old, new, *words]

    def lint(self) -> Question:
        lines = KERNEL.splitlines(keepends=True)
        text = "".join(line for line in lines if self.draw.random() < 0.9)
        path = self.folder / f"k{self.draw.randint(0, 9)}.cu"
        path.write_text(text, encoding="utf-8")
        given, words = self.some(ignore=(["implicit-double"], "implicit-double"))
        return gpuadvise.lint, (path,), given, ["lint", str(path), *words]

    def timeline(self) -> Question:
        events = [
            traces.kernel(at, self.draw.randint(1, 9))
            for at in range(0, self.draw.randint(20, 90), 10)
        ]
        path = self.folder / f"t{self.draw.randint(0, 9)}.json"
        path.write_text(traces.kineto(events), encoding="utf-8")
        given, words = self.some(limit=(2, "2"), gpu=("h200", "h200"))
        return gpuadvise.timeline, (path,), given, ["timeline", str(path), *words]

    def overlap(self) -> Question:
        size, micros = self.draw.randint(1, 1 << 30), self.draw.randint(1, 9000)
        gpu = self.gpu()
        given, words = self.some(
            streams=(4, "4"), ideal=(True, ""), pageable=(True, ""), d2h=(0.003, "3ms")
        )
        line = ["overlap", "--h2d", f"{size}B", "--kernel", f"{micros}us", "--gpu", gpu, *words]
        asked = {"h2d": size, "kernel": f"{micros}us", "gpu": gpu, **given}
        return gpuadvise.overlap, (), asked, line

    def roofline(self) -> Question:
        flops, moved = self.draw.uniform(1e6, 1e13), self.draw.randint(1, 10**11)
        gpu = self.gpu()
        given, words = self.some(
            time=(0.25, "0.25s"), peak=(8e13, "80TFLOP/s"), bandwidth=("2TB/s", "2TB/s")
        )
        line = ["roofline", "--flops", repr(flops), "--bytes", str(moved), "--gpu", gpu, *words]
        return gpuadvise.roofline, (), {"flops": flops, "bytes": moved, "gpu": gpu, **given}, line

    def advise(self) -> Question:
        regs, block, gpu = self.draw.randint(1, 255), self.draw.randint(1, 1024), self.gpu()
        given, words = self.some(
            grid=(96, "96"),
            syncs=(True, ""),
            stride=(2, "2"),
            time=("2ms", "2ms"),
            read=("1GiB", "1GiB"),
        )
        if ("time" in given) != ("read" in given):
            return self.advise()
        if "read" in given:
            given, words = {**given, "write": "1GiB"}, [*words, "--write", "1GiB"]
        if "stride" in given:
            given, words = {**given, "word": 4}, [*words, "--word", "4"]
        line = ["advise", "--regs", str(regs), "--block", str(block), "--gpu", gpu, *words]
        return gpuadvise.advise, (), {"regs": regs, "block": block, "gpu": gpu, **given}, line

    def advise_files(self) -> Question:
        path = str(RECORDED / self.draw.choice(
            ("kernel.toml", "pageable.trace.json", "spilling.cubin", "kernels.ndjson")
        ))  # fmt: skip
        return gpuadvise.advise, (path,), {"gpu": "h200"}, ["advise", path, "--gpu", "h200"]


KINDS = ("occupancy", "occupancy", "device", "gpus", "kernels", "kernels", "compat", "diff", "lint",
         "timeline", "overlap", "roofline", "advise", "advise", "advise_files")  # fmt: skip


@pytest.mark.parametrize("kind", sorted(set(KINDS)))
def test_the_library_answers_as_the_command_does(kind: str, cli, tmp_path: Path) -> None:
    asker = Asker(tmp_path)
    answered = 0
    for _ in range(20 * KINDS.count(kind)):
        function, values, options, line = getattr(asker, kind)()
        ran = cli(*line, "--format", "json")
        try:
            answer = function(*values, **options)
        except gpuadvise.GpuAdviseError as error:
            assert ran.code == error.exit_code, (line, error)
            assert ran.out == ""
            continue
        assert ran.out, (line, ran.err)
        assert answer.to_dict() == json.loads(ran.out), line
        assert answer.complete == (ran.code != 3)
        answered += 1
    assert answered >= 8 * KINDS.count(kind)


@pytest.mark.parametrize(
    ("command", "values"),
    [
        ("kernels", [RECORDED / "two.fatbin", "--gpu", "h200"]),
        ("kernels", [RECORDED / "spilling.cubin", "--gpu", "h200", "--advise"]),
        ("lint", [KERNEL]),
        ("gpus", ["h100", "h200"]),
        ("timeline", [RECORDED / "pinned.trace.json", "--gpu", "h200"]),
        ("advise", [RECORDED / "spilling.cubin", "--gpu", "h200"]),
        ("compat", [RECORDED / "two.fatbin", "--gpu", "h200"]),
    ],
)
def test_rows_are_those_of_ndjson(command: str, values: list[Any], cli, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    files = [tmp_path / "k.cu" if value is KERNEL else value for value in values]
    ran = cli(command, *map(str, files), "--format", "ndjson")
    named = {"gpu": "h200"} if "--gpu" in files else {}
    named |= {"advise": True} if "--advise" in files else {}
    places = [value for value in files if value not in ("--gpu", "--advise")]
    places = places[: len(places) - ("gpu" in named)]
    rows = getattr(gpuadvise, command)(*places, **named).to_rows()
    lines = [json.loads(row) for row in ran.out.splitlines()]
    if command == "kernels":  # NDJSON streams them as they are read; the answer is in order
        rows, lines = sorted(rows, key=json.dumps), sorted(lines, key=json.dumps)
    assert rows == lines
    assert rows
