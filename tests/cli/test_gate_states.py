"""Every gate over files in every state: the exit code is written down, and none is 0 unjudged."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from made_fatbins import fatbin_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RECORDED = Path(__file__).parent / "recorded"
BOXES = Path(__file__).parent / "boxes"
PAGE = Path(__file__).parents[1] / "advisor" / "profiles" / "recorded" / "hand_raw.csv"
LOG = """\
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    {spills} bytes stack frame, {spills} bytes spill stores, {spills} bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers, 0 bytes smem
"""
FINE = "__global__ void k(float *a) { a[threadIdx.x] = 0; }\n"
FAULTY = "__global__ void k(float *a) { if (threadIdx.x < 5) __syncthreads(); a[0] = 0; }\n"
STATES = ("fine", "faulty", "empty", "unreadable", "damaged", "foreign", "partial", "version")
# Exit codes in the order of the states; "partial": a fine file beside what cannot be judged.
TABLE = {
    "lint {} --fail-on high": (0, 1, 2, 3, 3, 2, 3, 3),
    "compat {} --cc 9.0 --fail-on fails": (0, 1, 2, 2, 2, 2, 3, 2),
    "compat {} --cc 9.0 --fail-on jit": (0, 1, 2, 2, 2, 2, 3, 2),
    "{} --fail-on high": (0, 1, 2, 2, 3, 2, 3, 3),  # the command that the file is for
    "kernels {} [limits]": (0, 1, 2, 2, 2, 2, 3, 2),  # the settings' own
    "advise {} --gpu h200 --fail-on medium": (0, 1, 2, 2, 2, 2, 3, 2),
    "kernels {} --fail-on-spills": (0, 1, 2, 2, 2, 2, 3, 2),
    "kernels {} --fail-under 50%": (0, 1, 2, 2, 2, 2, 3, 2),
    "kernels {} --max-regs 64": (0, 1, 2, 2, 2, 2, 3, 2),
    "diff {fine} {} --fail-on-spills": (0, 1, 2, 2, 2, 2, 3, 2),
    "diff {fine} {} --fail-on-regression": (0, 1, 2, 2, 2, 2, 3, 2),
    "diff {run} {} --fail-on-regression": (0, 1, 2, 2, 2, 2, 3, 2),
    "timeline {} --fail-under 90%": (0, 1, 2, 2, 2, 2, 3, 2),
    "doctor --from {} --fail-on medium": (0, 1, 3, 2, 2, 2, 3, 2),
    "occupancy --cc 9.0 --batch {} --fail-under 50%": (0, 1, 2, 2, 2, 2, 2, 2),
    "overlap --gpu h200 --fail-under 60% --from-timeline {}": (0, 1, 2, 2, 2, 2, 3, 2),
    "roofline --gpu h200 --fail-under 10% --describe {}": (0, 1, 2, 2, 2, 2, 3, 2),
    "roofline --gpu h200 --fail-under 10% --ncu {}": (0, 1, 2, 2, 2, 2, 3, 2),
    "kernels {} --max-regs 24": (0, 1, 2, 2, 2, 2, 3, 2),  # of a page, in which cells may be empty
    "fleet {} --fail-on medium": (0, 1, 1, 3, 3, 3, 3, 3),
    "fleet {} --fail-on low": (0, 1, 3, 3, 3, 3, 3, 3),  # logs of NCCL
    "diff {} {spilling} --fail-on-spills": (0, 1, 2, 2, 2, 2, 3, 2),  # what it was before
    "diff {} {spilling} --fail-on-regression": (0, 1, 2, 2, 2, 2, 3, 2),
    "diff {} {slow} --fail-on-regression": (0, 1, 2, 2, 2, 2, 3, 2),
    "lint {source} --fail-on high --baseline {}": (0, 1, 1, 2, 2, 2, 2, 2),
    "kernels {log} --fail-on-spills --baseline {}": (0, 1, 1, 2, 2, 2, 2, 2),
    "advise {toml} --fail-on medium --baseline {}": (0, 1, 1, 2, 2, 2, 2, 2),
    "lint {source} --fail-on high --baseline main": (0, 1, 1, 2, 2, 2, 2, 2),  # what has that name
    "kernels {log} --fail-on-spills --baseline main": (0, 1, 1, 2, 2, 2, 2, 2),
    "advise {toml} --fail-on medium --baseline main": (0, 1, 1, 2, 2, 2, 2, 2),
    "lint {} --fail-on high --baseline {before}": (0, 1, 2, 3, 3, 2, 3, 3),
    "kernels {} --fail-on-spills --baseline {before}": (0, 1, 2, 2, 2, 2, 3, 2),
    "advise {} --gpu h200 --fail-on medium --baseline {before}": (0, 1, 2, 2, 2, 2, 3, 2),
    "lint {} --fail-on high --since main": (0, 1, 2, 3, 3, 2, 3, 3),
}

# Names of saved answers are no gates: what no gate could compare with gets none.
OF_NAMES = {
    "baseline tag main {}": (0, 0, 0, 2, 2, 2, 2, 2),
    "baseline show main": (0, 0, 0, 2, 2, 2, 2, 2),
}

# `lint now --fail-on high --since main`, by what the commit is: it had the fault ("fine"), or not, or
# no such file, lies in no repository, has lost the content, had HIP there, has lost one of two, is none.
OF_COMMITS = dict(zip(STATES, (0, 1, 1, 2, 3, 1, 3, 2), strict=True))

# What is asked about saved machines, and the share that passes and fails: which GPU it is comes from
# the file alone. Exit codes in the order of the states, without "partial": a reading is not asked for.
OF_MACHINES = {
    "occupancy --regs 64 --block 256": ("25%", "60%"),
    "banks --word 4 --stride 2": ("50%", "51%"),
    "latency --word 4 --warps 8": ("1%", "99%"),
    "access --word 4 --stride 2": ("50%", "51%"),
    "bandwidth --read 1GiB --time 1ms": ("5%", "99%"),
    "bandwidth --h2d 1GiB --time 100ms": ("5%", "99%"),
    "roofline --flops 1e10 --bytes 1GB --time 1ms": ("1%", "99%"),
    "overlap --h2d 1ms --kernel 4ms --d2h 1ms": ("1%", "100%"),
}
OF_MACHINES_CODES = dict(zip(STATES, (0, 1, 3, 2, 2, 2, None, 2), strict=True))


@contextmanager
def unprivileged() -> Iterator[None]:
    """Read as another user where this one may read everything."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def room() -> Iterator[Path]:
    """Yield a folder that every user can enter, as those of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def closed(path: Path) -> Path:
    path.chmod(0)
    return path


def written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def states(room: Path, suffix: str, **contents: str | bytes) -> dict[str, Path]:
    """Return a file in each state; a folder where a part of it is."""
    paths = {name: written(room / f"{name}{suffix}", text) for name, text in contents.items()}
    paths["unreadable"] = closed(written(room / f"unreadable{suffix}", contents["fine"]))
    return paths


def folder_with(room: Path, suffix: str, fine: str | bytes) -> Path:
    """Return a folder with a fine file and a folder that nobody may open."""
    written(room / "partial" / f"a{suffix}", fine)
    written(room / "partial" / "deep" / f"b{suffix}", fine)
    closed(room / "partial" / "deep")
    return room / "partial"


ELF = b"\x7fELF\x02\x01\x01" + bytes(11) + b"\xbe\0" + bytes(44)


def sources(room: Path) -> dict[str, Path]:
    made = states(
        room, ".cu", fine=FINE, faulty=FAULTY,
        damaged='const char *s = "\n' + FAULTY, foreign="void f() { hipMalloc(&p, 4); }\n",
    )  # fmt: skip
    (room / "empty").mkdir()
    made["empty"] = room / "empty"
    written(room / "closed" / "k.cu", FAULTY)
    closed(room / "closed")
    made["unreadable"] = room / "closed"
    made["partial"] = folder_with(room, ".cu", FINE)
    made["version"] = written(room / "old" / "k.py", "import torch\nprint 'no Python 3'\n").parent
    return made


def binaries(room: Path) -> dict[str, Path]:
    made = states(
        room, ".bin", fine=fatbin_of("sass:90"), faulty=fatbin_of("sass:80"), empty=b"",
        damaged=ELF, foreign=b"#!/bin/sh\nexit\n", version=fatbin_of("sass:90")[:40],
    )  # fmt: skip
    made["partial"] = folder_with(room, ".bin", fatbin_of("sass:90"))
    return made


def logs(room: Path) -> dict[str, Path]:
    fine = LOG.format(spills=0, registers=32)
    made = states(
        room, ".log", fine=fine, faulty=LOG.format(spills=64, registers=168), empty="",
        damaged=ELF, foreign="a letter\n", version=".version 9.9\n.target sm_90\n",
    )  # fmt: skip
    made["partial"] = wheel_with(room, {"a.so": fine, "b.so": ELF})
    return made


def wheel_with(room: Path, members: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(room / "partial.whl", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return room / "partial.whl"


def runs(room: Path) -> dict[str, Path]:
    run = (RECORDED / "pinned.trace.json").read_text()
    return states(
        room, ".json", fine=run, faulty=run.replace('"dur": 600', '"dur": 6000'), empty="",
        damaged="{" + "x" * 100, foreign='{"a": 1}', partial=run[: run.rindex('"dur"')],
        version="SQLite format 3\0" + "x" * 200,
    )  # fmt: skip


def boxes(room: Path) -> dict[str, Path]:
    fine = json.loads((BOXES / "h200.json").read_text())
    none = fine | {"result": fine["result"] | {"devices": []}}
    blind = json.loads(json.dumps(fine))
    devices = blind["result"]["devices"]
    blind["result"]["devices"] = [*devices, devices[0] | {"telemetry": None}]
    return states(
        room, ".json", fine=json.dumps(fine), faulty=(BOXES / "h200-busy.json").read_bytes(),
        empty=json.dumps(none), damaged=json.dumps(fine)[:6000], foreign="<html></html>",
        partial=json.dumps(blind), version=json.dumps(fine | {"schema": "gpuadvise.device/2"}),
    )  # fmt: skip


def batches(room: Path) -> dict[str, Path]:
    return states(
        room, ".csv", fine="regs,block\n32,256\n", faulty="regs,block\n128,256\n", empty="",
        damaged="regs,block\nx,256\n", foreign=b"\x7fELF" + bytes(60),
        partial="regs,block\n32,256\n32,\n", version="registers_v9,block\n32,256\n",
    )  # fmt: skip


def baselines(room: Path, answer: str) -> dict[str, Path]:
    document = json.loads(answer)
    result = document["result"]
    none = document | {"result": result | {"kernels": []}, "findings": []}
    return states(
        room, ".json", fine=answer, faulty=json.dumps(none), empty=json.dumps(none),
        damaged=answer[:-30], foreign=json.dumps(document | {"schema": "gpuadvise.compat/1"}),
        partial=json.dumps(document | {"result": None, "findings": None}),
        version=json.dumps(document | {"schema": document["schema"][:-1] + "9"}),
    )  # fmt: skip


DESCRIBED = '[[kernel]]\nname = "bad"\ngpu = "h200"\nregs = 32\nblock = 100\n'


def described(room: Path) -> dict[str, Path]:
    fine = DESCRIBED.replace("100", "256") + "grid = 100000\n"
    made = states(
        room, ".toml", fine=fine, faulty=DESCRIBED, empty="", damaged="[[kernel",
        foreign="[package]\nname = 'x'\n", version=DESCRIBED.replace("regs", "registers_v9"),
    )  # fmt: skip
    made["fine"] = written(room / "fine.cu", FINE)
    log = LOG.format(spills=0, registers=32)
    made["partial"] = wheel_with(room, {"a.so": log, "b.so": ELF})
    return made


def pages(room: Path) -> dict[str, Path]:
    """Return pages of Nsight Compute: of "partial" and "version" a cell or column is not there."""
    header, units, *rows = csv.reader(io.StringIO(PAGE.read_text(encoding="utf-8")))
    kernel = header.index("Kernel Name")
    busy = next(row for row in rows if row[kernel].startswith("elementwise"))
    idle = next(row for row in rows if row[kernel].startswith("divergent"))
    transpose = next(row for row in rows if row[kernel].startswith("transpose"))

    def page(*rows: list[str], without: Sequence[str] = ()) -> str:
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL)
        writer.writerows([header, units])
        for row in rows:
            cells = zip(header, row, strict=True)
            writer.writerow(
                ["" if name.startswith(tuple(without)) else cell for name, cell in cells]
            )
        return text.getvalue()

    counters = ("launch__registers_per_thread", "dram__")
    uncounted = page(transpose, without=counters).splitlines(keepends=True)[-1]
    fine = page(busy)
    return states(
        room, ".csv", fine=fine, faulty=page(idle, transpose), empty=page(), damaged=fine[: len(fine) // 3],
        foreign="name,age\nx,3\n", partial=fine + uncounted, version=page(busy, without=counters),
    )  # fmt: skip


def worked(room: Path) -> dict[str, Path]:
    kernel = '[[kernel]]\nname = "{}"\nwork = {{ flops = 1e12, bytes = "1GB", dtype = "fp32"{} }}\n'
    fine = kernel.format("k", ', time = "20ms"')
    return states(
        room, ".toml", fine=fine, faulty=fine.replace("20ms", "900ms"), empty="", damaged=fine[:-9],
        foreign="[package]\nname = 'x'\n", partial=fine + kernel.format("untimed", ""),
        version=fine.replace("flops", "flops_v9"),
    )  # fmt: skip


def overlapped(room: Path) -> dict[str, Path]:
    """Return recorded runs: in the faulty one the pieces are too short to overlap."""
    made = runs(room)
    text = made["fine"].read_text()
    for long, short in (
        ('"dur": 310', '"dur": 4'), ('"dur": 600', '"dur": 4'), ('"dur": 900', '"dur": 4'), ("16777216", "65536"),
        ('"ts": 310', '"ts": 4'), ('"ts": 915', '"ts": 9'), ('"ts": 1820', '"ts": 14'),
    ):  # fmt: skip
        text = text.replace(long, short)
    written(made["faulty"], text)
    return made


def fleets(room: Path) -> dict[str, Path]:
    made = boxes(room)
    failed = (
        made["fine"].read_text().replace('"row_remap_failed": false', '"row_remap_failed": true')
    )
    written(made["faulty"], failed)
    for state, path in list(made.items()):
        if state == "unreadable":
            continue
        folder = room / f"{state}-fleet"
        written(folder / "node.json", path.read_bytes())
        made[state] = folder
    return made


def logs_of_nccl(room: Path) -> dict[str, Path]:
    line = "{}:1:1 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/{}/0/GDRDMA\n"
    fine = "".join(line.format(f"n{number}", "IB") for number in range(3))
    made = states(
        room, ".txt", fine=fine, faulty=fine + line.format("n3", "Socket").replace("/GDRDMA", ""), empty="",
        damaged=fine[:20], foreign="a letter\n", version=fine.replace("via NET", "over WIRE"),
    )  # fmt: skip
    made["partial"] = folder_with(room, ".txt", fine)
    return made


def before(made: dict[str, Path], room: Path) -> dict[str, Path]:
    """Return files for the old side of a comparison, where a faultless one makes the new side fail."""
    old = made["faulty"].read_text()
    if made["partial"].suffix == ".whl":
        made["partial"] = wheel_with(room, {"a.so": old, "b.so": ELF})
    else:
        written(made["partial"], old[: old.rindex('"dur"')])
    return made | {"fine": made["faulty"], "faulty": made["fine"]}


def git(folder: Path, *arguments: str) -> str:
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True,
        env=os.environ | dict.fromkeys(names, "tester"),
    )  # fmt: skip
    return done.stdout.strip()


def commit(folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make *file* the first commit of a repository in *folder*, which other users may read as well."""
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", str(file))
    git(folder, "commit", "--quiet", "--message", "first")
    for name, value in (("COUNT", "1"), ("KEY_0", "safe.directory"), ("VALUE_0", "*")):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    monkeypatch.setenv("HOME", str(folder))  # this user's may be closed to others


def files_for(line: str, room: Path, cli) -> dict[str, Path]:
    spilling = written(room / "spilling.log", LOG.format(spills=64, registers=168))
    toml = written(room / "bad.toml", DESCRIBED)
    command = line.partition(" ")[0]
    source = written(room / "baseline" / "k.cu", FAULTY)
    slow = written(
        room / "slow.json",
        (RECORDED / "pinned.trace.json").read_text().replace('"dur": 600', '"dur": 6000'),
    )
    asked = {
        "kernels": ("kernels", str(spilling)), "advise": ("advise", str(toml)), "lint": ("lint", str(source)),
    }  # fmt: skip
    if "--baseline {}" in line or "--baseline main" in line:
        made = baselines(room, cli(*asked[command], "--format", "json").out)
    elif line == "fleet {} --fail-on low":
        made = logs_of_nccl(room)
    elif line.startswith("diff {} "):
        made = before(runs(room) if "{slow}" in line else logs(room), room)
    elif "--ncu" in line or "--max-regs 24" in line:
        made = pages(room)
    elif "{run}" in line or command == "timeline":
        made = runs(room)
        if command == "timeline":  # longer kernels keep the GPU busier: here it waits
            idle = made["fine"].read_text().replace('"ts": 1820', '"ts": 9820')
            made["faulty"].write_text(idle)
    else:
        made = {
            "{}": sources, "lint": sources, "compat": binaries, "advise": described, "kernels": logs,
            "diff": logs, "doctor": boxes, "occupancy": batches,
            "roofline": worked, "overlap": overlapped, "fleet": fleets,
        }[command](room)  # fmt: skip
    others = {"log": spilling, "spilling": spilling, "toml": toml, "source": source, "slow": slow}
    if "{before}" in line:
        answer = cli(command, str(faultless(room, command)), "--json").out
        others["before"] = written(room / "before.json", answer)
    return made | others | {"run": RECORDED / "pinned.trace.json"}


def faultless(room: Path, command: str) -> Path:
    if command == "advise":
        return written(room / "before" / "k.toml", DESCRIBED.replace("100", "256"))
    if command == "lint":
        return written(room / "before" / "k.cu", FINE)
    return written(room / "before" / "k.log", LOG.format(spills=0, registers=32))


def named(path: Path, room: Path, command: str) -> None:
    """Put the saved answer *path* where `baseline tag main` leaves one of *command*."""
    kept = room / ".gpuadvise" / "baselines" / f"main.{command}.json"
    kept.parent.mkdir(parents=True)
    path.rename(kept)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("line", TABLE)
def test_a_gate_in_a_state(
    line: str, state: str, cli, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = files_for(line, room, cli)
    args = line.replace(" [limits]", "").format(made[state], **made).split()
    monkeypatch.chdir(room)
    if "[limits]" in line:
        written(room / "gpuadvise.toml", '[limits]\n"*" = {regs = 64, spills = 0}\n')
    if "--baseline main" in line:
        named(made[state], room, args[0])
    if "--since" in line:
        commit(room, faultless(room, "lint"), monkeypatch)
    if not os.geteuid():
        cli(*args)  # another user may not import all that this one may
    with unprivileged():
        ran = cli(*args)
    assert ran.code == TABLE[line][STATES.index(state)], (args, ran)
    assert "Traceback" not in ran.err
    assert "itself failed" not in ran.err
    if ran.code:
        assert ran.err
    for path in (room / "partial" / "deep", room / "closed"):
        if path.exists():
            path.chmod(0o755)


@pytest.mark.parametrize("state", [s for s in STATES if OF_MACHINES_CODES[s] is not None])
@pytest.mark.parametrize("line", OF_MACHINES)
def test_a_gate_over_a_saved_machine(line: str, state: str, cli, room: Path) -> None:
    made = boxes(room)
    passes, fails = OF_MACHINES[line]
    path = made["fine" if state == "faulty" else state]
    args = (
        *line.split(),
        "--from",
        str(path),
        "--fail-under",
        fails if state == "faulty" else passes,
    )
    if not os.geteuid():
        cli(*args)
    with unprivileged():
        ran = cli(*args)
    assert ran.code == OF_MACHINES_CODES[state], (args, ran)
    assert "itself failed" not in ran.err
    assert ran.err or not ran.code


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("line", OF_NAMES)
def test_a_name_of_a_saved_answer_in_a_state(
    line: str, state: str, cli, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(room)
    for command, asked in (
        ("kernels", written(room / "spilling.log", LOG.format(spills=64, registers=168))),
        ("advise", written(room / "bad.toml", DESCRIBED)),
        ("lint", written(room / "k.cu", FAULTY)),
    ):
        (room / command).mkdir()
        made = baselines(room / command, cli(command, str(asked), "--json").out)
        if "show" in line:
            named(made[state], room, command)
        with unprivileged() if state == "unreadable" else nullcontext():
            ran = cli(*line.format(made[state]).split())
        assert ran.code == OF_NAMES[line][STATES.index(state)], (command, ran)
        assert ran.err or not ran.code
        shutil.rmtree(room / ".gpuadvise", ignore_errors=True)


@pytest.mark.parametrize("state", STATES)
def test_lint_since_a_commit_in_a_state(
    state: str, cli, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(room)
    now, other = written(room / "now" / "k.cu", FAULTY), written(room / "now" / "z.cu", FAULTY)
    contents = {"faulty": FINE, "foreign": "void f() { hipMalloc(&p, 4); }\n"}
    if state not in ("unreadable", "empty"):
        written(now, contents.get(state, FAULTY))
        commit(room, room / "now", monkeypatch)
    elif state == "empty":
        commit(room, faultless(room, "lint"), monkeypatch)
    if state in ("damaged", "partial"):
        lost = now if state == "damaged" else other
        written(lost, lost.read_text() + "\n// of its own\n")
        git(room, "commit", "--quiet", "--all", "--message", "second")
        blob = git(room, "rev-parse", f"HEAD:now/{lost.name}")
        (room / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    written(now, FAULTY)
    if state not in ("partial", "fine"):
        other.unlink()
    since = "no-such" if state == "version" else "main"
    ran = cli("lint", "now", "--fail-on", "high", "--since", since)
    assert ran.code == OF_COMMITS[state], ran
    assert ran.err or not ran.code


def test_nothing_is_fetched_for_a_commit(cli, room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone without contents fetches them through the command that its settings name."""
    monkeypatch.chdir(room)
    written(room / "from" / "k.cu", FINE)
    commit(room / "from", room / "from" / "k.cu", monkeypatch)
    git(room / "from", "config", "uploadpack.allowFilter", "true")
    source = f"file://{room}/from"
    git(room, "clone", "--quiet", "--no-checkout", "--filter=blob:none", source, "to")
    ran = room / "ran"
    written(room / "to" / "k.cu", FAULTY)
    for name in ("remote.origin.uploadpack", "core.sshCommand"):
        git(room / "to", "config", name, f"touch {ran}; false")
    git(room / "to", "config", "protocol.file.allow", "always")
    for url in (source, "ssh://localhost/from", f"ext::touch {ran}"):
        git(room / "to", "config", "remote.origin.url", url)
        answered = cli("lint", "to/k.cu", "--fail-on", "high", "--since", "main")
        assert (answered.code, "lacks the content" in answered.err) == (3, True), answered
        assert not ran.exists()


def test_the_repository_of_another_user_is_said(cli, room: Path, monkeypatch) -> None:
    monkeypatch.chdir(room)
    commit(room, written(room / "k.cu", FINE), monkeypatch)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "0")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # git's own, for its tests
    ran = cli("lint", "k.cu", "--since", "main")
    assert (ran.code, "safe.directory" in ran.err) == (2, True)
    (room / ".gitconfig").write_text("[broken")
    ran = cli("lint", "k.cu", "--since", "main")
    assert (ran.code, "cannot read the repository" in ran.err) == (3, True)


def test_nothing_unjudged_ends_0() -> None:
    for line, codes in TABLE.items():
        for state, code in zip(STATES, codes, strict=True):
            assert (code == 0) == (state == "fine"), (line, state)


@pytest.mark.parametrize(
    "line",
    [
        "timeline {} --fail-under 1%",
        "overlap --fail-under 1% --from-timeline {}",
        "advise {} --fail-on high --ignore transfers",
        "diff {} {} --fail-on-regression",
    ],
)
def test_a_trace_that_may_not_be_opened_is_not_passed_over(line: str, room: Path, cli) -> None:
    run = (RECORDED / "pinned.trace.json").read_bytes()
    words = line.format(room / "runs", room / "runs").split()
    written(room / "runs" / "0.json", run)
    assert cli(*words).code == 0  # and what it imports is there for the other user
    closed(written(room / "runs" / "1.json", run))
    with unprivileged():
        ran = cli(*words)
    assert ran.code == 3, ran.err
    assert '1.json" cannot be read: this user may not.' in ran.err


@pytest.mark.parametrize(
    "line",
    [
        "timeline {} --fail-under 1%",
        "advise {} --fail-on high --ignore transfers",
        "diff {} {} --fail-on-regression",
    ],
)
@pytest.mark.parametrize("length", [0, 1, 2, 10, 11, 40])
def test_a_packed_trace_that_is_cut_before_it_tells_what_it_is(
    line: str, length: int, room: Path, cli
) -> None:
    run = (RECORDED / "pinned.trace.json").read_bytes()
    written(room / "runs" / "0.json", run)
    written(room / "runs" / "1.json.gz", gzip.compress(run)[:length])
    ran = cli(*line.format(room / "runs", room / "runs").split(), "--json")
    assert ran.code == 3, ran.err
    assert '"1.json.gz"' in ran.err
    assert "1.json.gz" in json.dumps(json.loads(ran.out)["result"]["not_judged"])


@pytest.mark.parametrize("words", [("kernels", "fine.log"), ("lint", "k.cu")])
def test_settings_behind_a_broken_link_are_not_passed_over(
    words: tuple[str, str], room: Path, cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(room)
    written(room / "fine.log", LOG.format(spills=0, registers=32))
    written(room / "k.cu", FINE)
    assert cli(*words).code == 0
    (room / "gpuadvise.toml").symlink_to("elsewhere.toml")
    ran = cli(*words)
    assert (ran.code, ran.out) == (2, "")
    assert '"gpuadvise.toml" is a link to a file that is not there.' in ran.err


@pytest.mark.parametrize("name", ["gpuadvise.toml", "pyproject.toml"])
@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "unreadable", "loop"])
@pytest.mark.parametrize(
    "words", [("kernels", "fine.log"), ("lint", "k.cu"), ("advise", "fine.log"), ("fine.log",)]
)
def test_settings_that_are_no_file_are_not_passed_over(
    words: tuple[str, ...], kind: str, name: str, room: Path, cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(room)
    written(room / "fine.log", LOG.format(spills=0, registers=32))
    written(room / "k.cu", FINE)
    cli(*words)
    path, said = room / name, f'"{name}" cannot be read: this user may not.'
    if kind == "folder":
        path.mkdir()
        said = f'"{name}" is a folder, and no file of settings.'
    elif kind in ("pipe", "device"):
        os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
        said = f'"{name}" is a pipe or a device, and no file of settings.'
    elif kind == "loop":
        path.symlink_to(name)
        said = f'"{name}" cannot be read: Too many levels of symbolic links.'
    else:
        closed(written(path, '[tool.gpuadvise]\nfail_on = "high"\n'))
    with unprivileged():
        ran = cli(*words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
